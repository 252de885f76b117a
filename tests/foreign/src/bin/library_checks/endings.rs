//! What happens when processes end, freeze, or divide.

use std::cell::RefCell;
use std::io::{self, Read as _, Write as _};
use std::process::Command;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, TryRecvError};
use std::thread;
use std::time::Duration;

use binder::binder_impl::{IBinderInternal as _, Parcel};
use binder::transport::driver::DriverDevice;
use binder::{
    DeathRecipient, FrozenState, FrozenStateChangeCallback, IBinder as _, SpIBinder, StatusCode,
};
use binder_os::processes::{self, Change, Fork};
use binder_testkit::HANG_TIMEOUT;
use foreign::READY;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::time::Timespec;

use crate::manager::{ECHO, FORGET, KEEP, LAST, LIVING, NOTHING, ask, new_object, tell};
use crate::{Check, Outcome, Program, connect, device, device_path, expect};

pub(crate) const CHECKS: &[Check] = &[
    ("a_death_is_told_once_to_all_who_asked", a_death_is_told_once_to_all_who_asked),
    ("who_no_longer_asks_is_not_told", who_no_longer_asks_is_not_told),
    ("links_come_and_go_while_the_object_dies", links_come_and_go_while_the_object_dies),
    ("another_manager_is_another_object", another_manager_is_another_object),
    ("freezes_are_told", freezes_are_told),
    ("a_child_opens_the_device_anew", a_child_opens_the_device_anew),
    ("threads_end_without_a_trace", threads_end_without_a_trace),
    ("what_an_ending_thread_drops_is_not_its_own_any_more", what_an_ending_thread_drops),
];

const A_MOMENT: Duration = Duration::from_millis(50);

/// Gives the manager an object and waits to be ended.
pub(crate) fn own() -> Outcome {
    tell(&connect()?, KEEP, &new_object(Ok))?;
    println!("{READY}");
    io::stdout().flush()?;
    io::stdin().read_to_end(&mut Vec::new())?;
    Ok(())
}

/// Starts an owner and returns its object.
fn start_owner() -> Outcome<(Program, SpIBinder)> {
    let manager = connect()?;
    let owner = Program::start("owner")?;
    let object: Option<SpIBinder> = ask(&manager, LAST, &NOTHING)?;
    tell(&manager, FORGET, &NOTHING)?;
    Ok((owner, object.ok_or("the owner's object is not there")?))
}

fn recipient() -> (DeathRecipient, Receiver<()>) {
    let (sender, deaths) = mpsc::channel();
    // The receiver may be gone.
    (
        DeathRecipient::new(move || {
            let _ = sender.send(());
        }),
        deaths,
    )
}

fn a_death_is_told_once_to_all_who_asked() -> Outcome {
    let (owner, object) = start_owner()?;
    expect("answer", ask::<i32>(&object, 1, &5)?, 5)?;
    let (first, second) = (recipient(), recipient());
    object.link_to_death(&first.0)?;
    object.clone().link_to_death(&second.0)?;
    expect("alive", object.is_binder_alive(), true)?;
    drop(owner);
    first.1.recv_timeout(HANG_TIMEOUT)?;
    second.1.recv_timeout(HANG_TIMEOUT)?;
    expect("told again", first.1.recv_timeout(A_MOMENT), Err(RecvTimeoutError::Timeout))?;
    expect("alive", object.is_binder_alive(), false)?;
    expect("call", ask::<i32>(&object, 1, &5), Err(StatusCode::DEAD_OBJECT))?;
    expect("link", object.link_to_death(&first.0), Err(StatusCode::DEAD_OBJECT))?;
    expect("unlink", object.unlink_to_death(&first.0), Err(StatusCode::DEAD_OBJECT))
}

fn who_no_longer_asks_is_not_told() -> Outcome {
    let (owner, object) = start_owner()?;
    let (first, second, third) = (recipient(), recipient(), recipient());
    object.link_to_death(&first.0)?;
    object.unlink_to_death(&first.0)?;
    expect("unlink", object.unlink_to_death(&first.0), Err(StatusCode::NAME_NOT_FOUND))?;
    object.link_to_death(&first.0)?;
    object.link_to_death(&second.0)?;
    object.unlink_to_death(&second.0)?;
    let (third, deaths) = third;
    object.link_to_death(&third)?;
    drop(third);
    drop(owner);
    first.1.recv_timeout(HANG_TIMEOUT)?;
    expect("unlinked", second.1.recv_timeout(A_MOMENT), Err(RecvTimeoutError::Timeout))?;
    // Its sender went with the recipient.
    expect("dropped", deaths.recv_timeout(A_MOMENT), Err(RecvTimeoutError::Disconnected))?;
    let local = new_object(Ok);
    let linked = local.link_to_death(&second.0);
    expect("an object of our own", linked, Err(StatusCode::INVALID_OPERATION))
}

fn links_come_and_go_while_the_object_dies() -> Outcome {
    for round in 0..10 {
        let (owner, object) = start_owner()?;
        let threads: Vec<_> = (0..4)
            .map(|_| {
                let object = object.clone();
                thread::spawn(move || {
                    loop {
                        let (recipient, deaths) = recipient();
                        if object.link_to_death(&recipient).is_err() {
                            return Ok(());
                        }
                        if object.unlink_to_death(&recipient).is_err() {
                            // The death was faster, so it is told.
                            return deaths.recv_timeout(HANG_TIMEOUT);
                        }
                    }
                })
            })
            .collect();
        let (steady, deaths) = recipient();
        object.link_to_death(&steady)?;
        thread::sleep(Duration::from_millis(round));
        drop(owner);
        deaths.recv_timeout(HANG_TIMEOUT)?;
        for thread in threads {
            thread.join().map_err(|_| "a thread panicked")??;
        }
    }
    Ok(())
}

/// Handle 0 is theirs in turn, and who held the one before may hold it still.
fn another_manager_is_another_object() -> Outcome {
    let path = device_path().with_file_name("hwbinder");
    if !path.exists() {
        binder_testkit::skip("there is no second device");
        return Ok(());
    }
    let first = Program::start_on(&path, "manager")?;
    let device = DriverDevice::open(&path)?;
    device.setup_polling()?;
    let before = device.context_object()?;
    let (recipient_before, deaths_before) = recipient();
    before.link_to_death(&recipient_before)?;
    drop(first);
    // That it has died is known, the word of the driver is not read.
    expect("ping", before.ping_binder(), Err(StatusCode::DEAD_OBJECT))?;

    let second = Program::start_on(&path, "manager")?;
    let now = device.context_object()?;
    expect("the same", before == now, false)?;
    let (recipient_now, deaths_now) = recipient();
    now.link_to_death(&recipient_now)?;
    let poll = || -> Outcome {
        if poll(&mut [PollFd::new(&device, PollFlags::IN)], Some(&Timespec::default()))? > 0 {
            device.handle_polled_commands()?;
        }
        Ok(())
    };
    crate::becomes("told of the first", &Ok(()), || {
        poll()?;
        Ok(deaths_before.try_recv())
    })?;
    expect("alive", now.is_binder_alive(), true)?;
    drop(before);
    now.ping_binder()?;
    expect("told of the second", deaths_now.try_recv(), Err(TryRecvError::Empty))?;
    drop(second);
    crate::becomes("told of the second", &Ok(()), || {
        poll()?;
        Ok(deaths_now.try_recv())
    })
}

fn freezes_are_told() -> Outcome {
    let device = device()?;
    let (owner, object) = start_owner()?;
    let (sender, states) = mpsc::channel();
    // The receiver may be gone.
    let callback = FrozenStateChangeCallback::new(move |state| {
        let _ = sender.send(state);
    });
    match object.add_frozen_state_change_callback(&callback) {
        Err(StatusCode::INVALID_OPERATION) => {
            binder_testkit::skip("this driver does not tell of freezes");
            return Ok(());
        }
        added => added?,
    }
    expect("at first", states.recv_timeout(HANG_TIMEOUT)?, FrozenState::Unfrozen)?;
    for _ in 0..3 {
        device.freeze(owner.pid(), true, 1000)?;
        expect("frozen", states.recv_timeout(HANG_TIMEOUT)?, FrozenState::Frozen)?;
        expect("call", ask::<i32>(&object, 1, &5), Err(StatusCode::FAILED_TRANSACTION))?;
        device.freeze(owner.pid(), false, 0)?;
        expect("thawed", states.recv_timeout(HANG_TIMEOUT)?, FrozenState::Unfrozen)?;
        expect("call", ask::<i32>(&object, 1, &5)?, 5)?;
    }
    // Another who comes later hears it at once.
    let (sender, later) = mpsc::channel();
    let another = FrozenStateChangeCallback::new(move |state| {
        let _ = sender.send(state);
    });
    object.add_frozen_state_change_callback(&another)?;
    expect("later", later.recv_timeout(HANG_TIMEOUT)?, FrozenState::Unfrozen)?;
    object.remove_frozen_state_change_callback(&callback)?;
    let again = object.remove_frozen_state_change_callback(&callback);
    expect("twice", again, Err(StatusCode::NAME_NOT_FOUND))?;
    device.freeze(owner.pid(), true, 1000)?;
    expect("frozen", later.recv_timeout(HANG_TIMEOUT)?, FrozenState::Frozen)?;
    device.freeze(owner.pid(), false, 0)?;
    expect("thawed", later.recv_timeout(HANG_TIMEOUT)?, FrozenState::Unfrozen)?;
    let removed = states.recv_timeout(A_MOMENT);
    expect("removed", removed, Err(RecvTimeoutError::Timeout))
}

fn a_child_opens_the_device_anew() -> Outcome {
    let status = Command::new(std::env::current_exe()?).arg("child").status()?;
    expect("the role succeeds", status.success(), true)
}

/// Forks with an open device; each side uses its own.
pub(crate) fn fork() -> Outcome {
    let device = DriverDevice::open(&device_path())?;
    let manager = device.context_object()?;
    let sent = vec![7_u8; 30_000];
    let reply = manager.transact(ECHO, 0, |data| data.write(&sent))?;
    match processes::fork()? {
        Fork::Child => {
            let result = in_child(&device, &manager, &reply);
            if let Err(error) = &result {
                eprintln!("in the child: {error}");
            }
            drop((reply, manager, device));
            std::process::exit(i32::from(result.is_err()));
        }
        Fork::Parent(child) => {
            expect("the child", child.wait()?, Change::Exited(0))?;
            expect("the reply", reply.read::<Vec<u8>>()? == sent, true)?;
            Ok(manager.ping_binder()?)
        }
    }
}

fn in_child(device: &DriverDevice, manager: &SpIBinder, reply: &Parcel) -> Outcome {
    // It lies in the receive buffer, which the parent may use again at any time.
    expect("reply", reply.read::<Vec<u8>>(), Err(StatusCode::NOT_ENOUGH_DATA))?;
    expect("call", manager.ping_binder(), Err(StatusCode::INVALID_OPERATION))?;
    expect("ours", device.is_of_this_process(), false)?;
    expect("thread pool", device.start_thread_pool().is_err(), true)?;
    let (recipient, _deaths) = recipient();
    let linked = manager.link_to_death(&recipient);
    expect("link", linked, Err(StatusCode::INVALID_OPERATION))?;
    let own = DriverDevice::open(&device_path())?;
    Ok(own.context_object()?.ping_binder()?)
}

fn threads_end_without_a_trace() -> Outcome {
    let manager = connect()?;
    for _ in 0..100 {
        let manager = manager.clone();
        let thread = thread::spawn(move || {
            let thing: Result<SpIBinder, _> = ask(&manager, crate::manager::NEW, &NOTHING);
            // Dropped when the thread's part of the library has gone, perhaps.
            thread_local!(static LATE: RefCell<Vec<SpIBinder>> = Default::default());
            LATE.with(|late| late.borrow_mut().extend(thing));
        });
        thread.join().map_err(|_| "a thread panicked")?;
    }
    crate::becomes("living", &0, || Ok(ask::<i32>(&manager, LIVING, &NOTHING)?))
}

/// How many threads of this process the driver knows, if it tells.
fn known_threads() -> Outcome<Option<usize>> {
    let logs = device_path().canonicalize()?.with_file_name("binder_logs/proc");
    match std::fs::read_to_string(logs.join(std::process::id().to_string())) {
        Ok(log) => Ok(Some(log.lines().filter(|line| line.starts_with("  thread ")).count())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// The destructors of a thread run after the library has told the driver of the thread's end.
fn what_an_ending_thread_drops() -> Outcome {
    /// Tells what a call is answered when it is dropped, drops its object, and waits for a word.
    struct Late {
        object: Option<SpIBinder>,
        dropped: mpsc::Sender<Result<(), StatusCode>>,
        go_on: Receiver<()>,
    }
    impl Drop for Late {
        fn drop(&mut self) {
            let called = self.object.take().map_or(Ok(()), |object| object.ping_binder());
            // A receiver that is gone has failed.
            let _ = self.dropped.send(called);
            let _ = self.go_on.recv();
        }
    }
    thread_local!(static LATE: RefCell<Option<Late>> = const { RefCell::new(None) });
    let manager = connect()?;
    let Some(before) = known_threads()? else {
        binder_testkit::skip("this driver does not tell of threads");
        return Ok(());
    };
    let (dropped, is_dropped) = mpsc::channel();
    let (go_on, may_go_on) = mpsc::channel();
    let above = manager.clone();
    let thread = thread::spawn(move || -> Result<(), StatusCode> {
        // What is used first ends last.
        LATE.with(|_| ());
        let object = Some(ask(&above, crate::manager::NEW, &NOTHING)?);
        LATE.set(Some(Late { object, dropped, go_on: may_go_on }));
        Ok(())
    });
    let called = is_dropped.recv_timeout(HANG_TIMEOUT)?;
    expect("a call", called, Err(StatusCode::INVALID_OPERATION))?;
    expect("threads", known_threads()?, Some(before))?;
    crate::becomes("living", &0, || Ok(ask::<i32>(&manager, LIVING, &NOTHING)?))?;
    drop(go_on);
    Ok(thread.join().map_err(|_| "the thread panicked")??)
}
