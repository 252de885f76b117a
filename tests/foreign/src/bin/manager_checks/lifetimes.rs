//! Services that come and go, their manager too.

use std::process::Command;
use std::sync::{Arc, Barrier};
use std::thread;

use binder::binder_impl::IBinderInternal as _;
use binder::{SpIBinder, Status, StatusCode};
use binder_testkit::HANG_TIMEOUT;

use crate::served::{ADD, DESCRIPTOR, new_adder};
use crate::{Check, Outcome, Place, beside, contains, same, soon};

pub(crate) const CHECKS: &[Check] = &[
    ("services_are_found_called_and_listed_and_forgotten_when_they_die", come_and_go),
    ("who_waits_is_told_and_may_have_begun_before", wait),
    ("a_name_belongs_to_the_last_who_registered_it", replace),
    ("what_is_wrong_is_refused", refuse),
    ("who_may_not_is_refused", obey_policy),
    ("services_survive_their_manager", restart),
    ("a_lazy_service_ends_with_its_last_client_and_survives_its_manager_too", lazy),
    ("one_context_has_one_manager", second),
];

/// Has an adder add.
pub(crate) fn add(adder: &SpIBinder, a: i32, b: i32) -> Result<i32, StatusCode> {
    let reply = adder.transact(ADD, 0, |data| {
        data.write(&a)?;
        data.write(&b)
    })?;
    let _status: Status = reply.read()?;
    reply.read()
}

fn come_and_go(place: &Place) -> Outcome {
    let _manager = place.manager(&[])?;
    let (_device, manager) = place.connect()?;
    same(manager.list()?, vec!["manager".to_owned()])?;
    same(manager.check("checks.IAdder/default")?.is_some(), false)?;
    let service = place.program("serve", "checks.IAdder/default")?;
    let adder = manager.check("checks.IAdder/default")?.ok_or("it is there")?;
    same(adder.interface_descriptor()?, DESCRIPTOR.to_owned())?;
    same(add(&adder, 20, 22)?, 42)?;
    same(manager.list()?, vec!["checks.IAdder/default".to_owned(), "manager".to_owned()])?;
    same(manager.list_by_priority(1)?, Vec::<String>::new())?;
    let infos = manager.debug_info()?;
    let pid = infos.iter().find(|info| info.name == "checks.IAdder/default");
    same(pid.map(|info| info.debug_pid.cast_unsigned()), Some(service.pid()))?;
    service.kill()?;
    soon("its death is noticed", || {
        manager.check("checks.IAdder/default").is_ok_and(|found| found.is_none())
    })?;
    same(manager.list()?, vec!["manager".to_owned()])
}

fn wait(place: &Place) -> Outcome {
    let _manager = place.manager(&[])?;
    let (_device, manager) = place.connect()?;
    let started = Arc::new(Barrier::new(2));
    let waiter = {
        let (manager, started) = (manager.clone(), Arc::clone(&started));
        thread::spawn(move || {
            started.wait();
            manager.wait("late", Some(HANG_TIMEOUT))
        })
    };
    started.wait();
    let _service = place.program("serve", "late")?;
    let found = waiter.join().map_err(|_| "the waiter panicked")??;
    same(add(&found.ok_or("it came")?, 1, 2)?, 3)?;
    same(manager.wait("late", None)?.is_some(), true)?;
    same(manager.wait("never", Some(std::time::Duration::ZERO))?.is_some(), false)
}

fn replace(place: &Place) -> Outcome {
    let _manager = place.manager(&[])?;
    let (_device, manager) = place.connect()?;
    let first = place.program("serve", "x")?;
    let before = manager.check("x")?.ok_or("it is there")?;
    let second = place.program("serve", "x")?;
    let now = manager.check("x")?.ok_or("it is there")?;
    same(before == now, false)?;
    first.kill()?;
    soon("the first is gone", || add(&before, 1, 1) == Err(StatusCode::DEAD_OBJECT))?;
    same(add(&now, 1, 1)?, 2)?;
    same(manager.check("x")?.is_some(), true)?;
    drop(second);
    soon("the second too", || manager.check("x").is_ok_and(|found| found.is_none()))
}

fn refuse(place: &Place) -> Outcome {
    let _manager = place.manager(&[])?;
    let (_device, manager) = place.connect()?;
    for name in ["", "a b", "sch\u{f6}n", &"x".repeat(128)] {
        same(manager.add(name, &new_adder()), Err(StatusCode::BAD_VALUE))?;
    }
    same(manager.add(&"x".repeat(127), &new_adder()), Ok(()))?;
    same(manager.is_declared("x")?, false)?;
    same(manager.declared_instances("x")?, Vec::new())
}

fn obey_policy(place: &Place) -> Outcome {
    let file = std::env::temp_dir().join(format!("manager-policy-{}", std::process::id()));
    std::fs::write(&file, "allow find * open*\nallow add * open*\n")?;
    let policy = file.to_string_lossy();
    let _manager = place.manager(&["--policy", &policy])?;
    std::fs::remove_file(&file)?;
    let (_device, manager) = place.connect()?;
    same(manager.list(), Err(StatusCode::PERMISSION_DENIED))?;
    same(manager.add("closed", &new_adder()), Err(StatusCode::PERMISSION_DENIED))?;
    same(manager.add("open.x", &new_adder()), Ok(()))?;
    same(manager.check("open.x")?.is_some(), true)?;
    same(manager.check("closed")?.is_some(), false)?;
    same(manager.wait("closed", Some(HANG_TIMEOUT)).is_err(), true)
}

fn restart(place: &Place) -> Outcome {
    let manager = place.manager(&[])?;
    let service = place.program("serve", "x")?;
    let own = new_adder();
    let (device, asked) = place.connect()?;
    asked.add("own", &own)?;
    for _ in 0..3 {
        drop(asked.clone());
        let before = place.connect()?.1;
        same(before.check("x")?.is_some(), true)?;
    }
    drop(asked);
    manager.kill()?;
    let _manager = place.manager(&[])?;
    let (_other, asked) = place.connect()?;
    for name in ["x", "own"] {
        soon("services register again", || asked.check(name).is_ok_and(|found| found.is_some()))?;
        let adder = asked.check(name)?.ok_or("it is there")?;
        same(add(&adder, 2, 3)?, 5)?;
    }
    drop((service, device));
    Ok(())
}

fn lazy(place: &Place) -> Outcome {
    let manager = place.manager(&[])?;
    let service = place.program("lazy", "x")?;
    let (device, asked) = place.connect()?;
    let adder = asked.check("x")?.ok_or("it is there")?;
    same(add(&adder, 2, 3)?, 5)?;
    drop(asked);
    manager.kill()?;
    let _manager = place.manager(&[])?;
    let (other, asked) = place.connect()?;
    soon("it registers again", || asked.check("x").is_ok_and(|found| found.is_some()))?;
    same(add(&adder, 2, 3)?, 5)?;
    drop((adder, asked, device, other));
    service.succeed()
}

fn second(place: &Place) -> Outcome {
    let _manager = place.manager(&[])?;
    let mut command = Command::new(beside("anybinder")?);
    let output = command.arg("servicemanager").arg(&place.device).output()?;
    let said = String::from_utf8_lossy(&output.stderr);
    same(output.status.code(), Some(1))?;
    contains(&said, "becoming the service manager")?;
    contains(&said, "EBUSY says that there is one")?;
    Ok(())
}
