//! Objects: their references are counted, and given back.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use binder::binder_impl::{IBinderInternal as _, Parcel};
use binder::transport::driver::DriverDevice;
use binder::{SpIBinder, StatusCode};

use crate::manager::{
    COUNTS, ECHO, FORGET, KEEP, LAST, LIVING, NEW, NOTHING, ask, new_object, tell,
};
use crate::{Check, Outcome, becomes, connect, device, device_path, expect};

pub(crate) const CHECKS: &[Check] = &[
    ("an_object_of_others_lives_as_long_as_its_proxies", an_object_of_others_lives),
    ("an_object_of_ours_lives_as_long_as_others_hold_it", an_object_of_ours_lives),
    ("a_refused_object_is_not_kept", a_refused_object_is_not_kept),
    ("what_is_written_over_is_not_kept", what_is_written_over_is_not_kept),
    ("objects_that_no_device_has_named_are_refused", unnamed_objects_are_refused),
    ("threads_take_and_drop_one_object_at_the_same_time", threads_take_and_drop_one_object),
    ("an_object_goes_back_and_forth_between_threads", an_object_goes_back_and_forth),
    ("a_thousand_clients_leave_nothing", a_thousand_clients_leave_nothing),
];

fn living(manager: &SpIBinder) -> Outcome<i32> {
    Ok(ask(manager, LIVING, &NOTHING)?)
}

fn an_object_of_others_lives() -> Outcome {
    let (device, manager) = (device()?, connect()?);
    let before = device.handle_count();
    let things: Vec<SpIBinder> =
        (0..100).map(|_| ask(&manager, NEW, &NOTHING)).collect::<Result<_, _>>()?;
    expect("handles", device.handle_count(), before + 100)?;
    expect("living", living(&manager)?, 100)?;
    let copies = things.clone();
    drop(things);
    expect("living while there are copies", living(&manager)?, 100)?;
    let weak: Vec<_> = copies.iter().map(SpIBinder::downgrade).collect();
    drop(copies);
    expect("handles", device.handle_count(), before)?;
    expect("promoted", weak.iter().filter(|weak| weak.promote().is_some()).count(), 0)?;
    becomes("living", &0, || living(&manager))
}

/// An object that says when it is dropped.
fn counted(drops: &Arc<AtomicUsize>) -> SpIBinder {
    struct Counted(Arc<AtomicUsize>);
    impl Drop for Counted {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
    let counted = Counted(Arc::clone(drops));
    new_object(move |number| {
        let _held = &counted;
        Ok(number)
    })
}

fn an_object_of_ours_lives() -> Outcome {
    let (device, manager) = (device()?, connect()?);
    let (before, drops) = (device.node_count(), Arc::default());
    for _ in 0..50 {
        tell(&manager, KEEP, &counted(&drops))?;
    }
    expect("dropped while others hold them", drops.load(Ordering::Relaxed), 0)?;
    expect("objects", device.node_count(), before + 50)?;
    let last: Option<SpIBinder> = ask(&manager, LAST, &NOTHING)?;
    expect("it comes back as itself", last.is_some_and(|last| !last.is_remote()), true)?;
    tell(&manager, FORGET, &NOTHING)?;
    becomes("dropped", &50, || Ok(drops.load(Ordering::Relaxed)))?;
    becomes("objects", &before, || Ok(device.node_count()))
}

fn a_refused_object_is_not_kept() -> Outcome {
    let (device, manager) = (device()?, connect()?);
    let (before, drops) = (device.node_count(), Arc::default());
    let object = counted(&drops);
    let padding = vec![0_u8; 1_100_000];
    let refused = manager.transact(KEEP, 0, |data| {
        data.write(&object)?;
        data.write(&padding)
    });
    expect("too large", refused.err(), Some(StatusCode::FAILED_TRANSACTION))?;
    // Not even sent.
    let mut parcel = manager.prepare_transact()?;
    parcel.write(&object)?;
    drop(parcel);
    drop(object);
    becomes("dropped", &1, || Ok(drops.load(Ordering::Relaxed)))?;
    becomes("objects", &before, || Ok(device.node_count()))
}

fn what_is_written_over_is_not_kept() -> Outcome {
    let (device, manager) = (device()?, connect()?);
    let (before, drops) = (device.node_count(), Arc::default());
    let mut parcel = manager.prepare_transact()?;
    let start = parcel.get_data_position();
    parcel.write(&counted(&drops))?;
    parcel.set_data_position(start)?;
    parcel.write(&counted(&drops))?;
    expect("dropped", drops.load(Ordering::Relaxed), 1)?;
    manager.submit_transact(KEEP, parcel, 0)?;
    tell(&manager, FORGET, &NOTHING)?;
    becomes("dropped", &2, || Ok(drops.load(Ordering::Relaxed)))?;
    becomes("objects", &before, || Ok(device.node_count()))
}

/// The names in a parcel for calls within the process are those of other objects elsewhere.
fn unnamed_objects_are_refused() -> Outcome {
    let manager = connect()?;
    let mut parcel = Parcel::new();
    parcel.write_interface_token("checks.IManager")?;
    parcel.write(&new_object(Ok))?;
    let refused = manager.submit_transact(KEEP, parcel, 0);
    expect("refused", refused.err(), Some(StatusCode::BAD_VALUE))
}

fn threads_take_and_drop_one_object() -> Outcome {
    let (device, manager) = (device()?, connect()?);
    let before = device.handle_count();
    tell(&manager, KEEP, &ask::<SpIBinder>(&manager, NEW, &NOTHING)?)?;
    let threads: Vec<_> = (0..8)
        .map(|_| {
            let manager = manager.clone();
            thread::spawn(move || -> Result<(), StatusCode> {
                for number in 0..300 {
                    let object: Option<SpIBinder> = ask(&manager, LAST, &NOTHING)?;
                    let object = object.ok_or(StatusCode::UNEXPECTED_NULL)?;
                    let copy = object.clone();
                    drop(object);
                    if ask::<i32>(&copy, 1, &number)? != number {
                        return Err(StatusCode::BAD_VALUE);
                    }
                }
                Ok(())
            })
        })
        .collect();
    for thread in threads {
        thread.join().map_err(|_| "a thread panicked")??;
    }
    tell(&manager, FORGET, &NOTHING)?;
    expect("handles", device.handle_count(), before)?;
    becomes("living", &0, || living(&manager))
}

/// Its last reference elsewhere may be going while it is sent anew.
fn an_object_goes_back_and_forth() -> Outcome {
    let (device, manager) = (device()?, connect()?);
    let (before, drops) = (device.node_count(), Arc::default());
    let object = counted(&drops);
    let threads: Vec<_> = (0..6)
        .map(|_| {
            let (manager, object) = (manager.clone(), object.clone());
            thread::spawn(move || -> Result<(), StatusCode> {
                for _ in 0..200 {
                    tell(&manager, KEEP, &object)?;
                    tell(&manager, FORGET, &NOTHING)?;
                }
                Ok(())
            })
        })
        .collect();
    for thread in threads {
        thread.join().map_err(|_| "a thread panicked")??;
    }
    becomes("objects", &before, || Ok(device.node_count()))?;
    expect("dropped while we hold it", drops.load(Ordering::Relaxed), 0)?;
    drop(object);
    // A thread that was told that no other process holds it may be about to let go.
    becomes("dropped", &1, || Ok(drops.load(Ordering::Relaxed)))
}

fn a_thousand_clients_leave_nothing() -> Outcome {
    let manager = connect()?;
    let counts = || Ok(ask::<Vec<i32>>(&manager, COUNTS, &NOTHING)?);
    let before = counts()?;
    for _ in 0..125 {
        let clients: Vec<_> = (0..8).map(|_| thread::spawn(be_a_client)).collect();
        for client in clients {
            client.join().map_err(|_| "a client panicked")??;
        }
    }
    tell(&manager, FORGET, &NOTHING)?;
    becomes("living", &0, || living(&manager))?;
    becomes("handles and objects of the manager", &before, counts)
}

/// Opens the device, takes an object, gives one, and goes without a word.
fn be_a_client() -> Outcome {
    let device = DriverDevice::open(&device_path())?;
    let manager = device.context_object()?;
    let thing: SpIBinder = ask(&manager, NEW, &NOTHING)?;
    expect("answer", ask::<i32>(&thing, 1, &7)?, 7)?;
    tell(&manager, KEEP, &new_object(Ok))?;
    expect("echo", ask::<Vec<u8>>(&manager, ECHO, &vec![1_u8; 100])?.len(), 100)
}
