//! Calls: data, order, nesting, threads, identity, errors.

use std::os::unix::fs::FileTypeExt as _;
use std::sync::mpsc;
use std::sync::{Arc, Barrier, Mutex};
use std::thread;
use std::time::Duration;

use aidl_tests::aidl::anybinder::test::ITest::ITest;
use aidl_tests::suite::{self, Without};
use binder::binder_impl::{FLAG_CLEAR_BUF, FLAG_ONEWAY, IBinderInternal as _, Parcel};
use binder::transport::driver::{DeviceOptions, DriverDevice};
use binder::transport::rpc::{FileDescriptorTransportMode, RpcServer, RpcSession};
use binder::{
    DeathRecipient, FromIBinder, IBinder as _, ParcelFileDescriptor, SpIBinder, StatusCode, Strong,
};
use binder_testkit::HANG_TIMEOUT;
use rustix::event::{PollFd, PollFlags, poll};

use crate::manager::{
    CALL, COUNTS, ECHO, FORGET, KEEP, MEET, NOTHING, PANIC, STATUS, TELL, TEST, WHO, ask,
    new_object, tell,
};
use crate::{Check, Outcome, becomes, connect, device_path, expect};

pub(crate) const CHECKS: &[Check] = &[
    ("every_type_of_a_test_interface_passes", every_type_of_a_test_interface_passes),
    ("large_data_passes_and_its_room_is_given_back", large_data_passes),
    ("large_parcels_stay_as_they_are_while_they_are_kept", large_parcels_stay_as_they_are),
    ("large_one_ways_give_their_room_back", large_one_ways_give_their_room_back),
    ("threads_that_rest_hold_little_back", threads_that_rest_hold_little_back),
    ("one_way_calls_keep_their_order", one_way_calls_keep_their_order),
    ("calls_nest_on_the_thread_that_waits", calls_nest_on_the_thread_that_waits),
    ("the_driver_gets_the_threads_that_it_asks_for", the_driver_gets_its_threads),
    ("the_driver_says_who_calls", the_driver_says_who_calls),
    ("a_status_arrives_as_it_was_sent", a_status_arrives_as_it_was_sent),
    ("a_service_that_panics_serves_on", a_service_that_panics_serves_on),
    ("a_thread_that_polls_serves", a_thread_that_polls_serves),
    ("a_thread_that_polls_waits_for_nothing_else", a_thread_that_polls_waits_for_nothing),
    ("a_thread_that_polls_owes_nothing_between_events", a_thread_that_polls_owes_nothing),
    ("a_thread_that_polls_gives_objects_away", a_thread_that_polls_gives_objects_away),
    ("calls_end_in_time_though_the_driver_knows_no_deadlines", calls_end_in_time),
    ("a_gateway_forwards_between_the_driver_and_sockets", a_gateway_forwards),
    ("devices_do_not_share_handles", devices_do_not_share_handles),
];

fn every_type_of_a_test_interface_passes() -> Outcome {
    let test: SpIBinder = ask(&connect()?, TEST, &NOTHING)?;
    suite::run(&test.into_interface()?, Without::default());
    Ok(())
}

fn bytes(len: usize) -> Vec<u8> {
    (0..=250_u8).cycle().take(len).collect()
}

fn large_data_passes() -> Outcome {
    let manager = connect()?;
    for len in [0, 1, 4096, 100_000, 450_000] {
        expect("echo", ask::<Vec<u8>>(&manager, ECHO, &bytes(len))? == bytes(len), true)?;
    }
    // Were one of the buffers kept, the third call would fail.
    for _ in 0..20 {
        expect("echo", ask::<Vec<u8>>(&manager, ECHO, &bytes(400_000))?.len(), 400_000)?;
    }
    let refused = ask::<Vec<u8>>(&manager, ECHO, &bytes(1_100_000));
    expect("too much", refused.err(), Some(StatusCode::FAILED_TRANSACTION))?;
    for len in [5000, 50_000] {
        let reply = manager.transact(ECHO, FLAG_CLEAR_BUF, |data| data.write(&bytes(len)))?;
        expect("sensitive", reply.read::<Vec<u8>>()? == bytes(len), true)?;
    }
    Ok(())
}

/// They may lie in the receive buffer, but not so many that it is full.
fn large_parcels_stay_as_they_are() -> Outcome {
    let manager = connect()?;
    let mut kept = Vec::new();
    for number in 0..40 {
        let mut sent = bytes(30_000);
        sent[0] = number;
        let reply = manager.transact(ECHO, 0, |data| data.write(&sent))?;
        kept.push((sent, reply));
    }
    // Some end on a thread that makes no calls.
    let others = kept.split_off(3);
    let check = |kept: &[(Vec<u8>, Parcel)]| {
        let mut replies = kept.iter().map(|(sent, reply)| Ok(reply.read::<Vec<u8>>()? == *sent));
        replies.all(|is_as_sent| is_as_sent == Ok::<_, StatusCode>(true))
    };
    let other = thread::spawn(move || check(&others));
    expect("others", other.join().map_err(|_| "a thread panicked")?, true)?;
    expect("large reply", ask::<Vec<u8>>(&manager, ECHO, &bytes(450_000))?.len(), 450_000)?;
    expect("kept", check(&kept), true)?;
    drop(kept);
    expect("large reply", ask::<Vec<u8>>(&manager, ECHO, &bytes(450_000))?.len(), 450_000)
}

fn large_one_ways_give_their_room_back() -> Outcome {
    let manager = connect()?;
    for _ in 0..20 {
        // One-ways may fill half of a receive buffer: there is room for four.
        becomes("accepted", &Ok(()), || {
            let sent = manager.transact(ECHO, FLAG_ONEWAY, |data| data.write(&bytes(100_000)));
            Ok(sent.map(drop))
        })?;
    }
    Ok(())
}

fn threads_that_rest_hold_little_back() -> Outcome {
    let manager = connect()?;
    let rest = Arc::new(Barrier::new(41));
    // All calls at once would fill the receive buffer of whom they call.
    let turn = Arc::new(Mutex::new(()));
    let threads: Vec<_> = (0..40)
        .map(|_| {
            let (manager, rest, turn) = (manager.clone(), Arc::clone(&rest), Arc::clone(&turn));
            thread::spawn(move || {
                let reply = {
                    let _turn = turn.lock();
                    ask::<Vec<u8>>(&manager, ECHO, &bytes(30_000))
                };
                rest.wait();
                rest.wait();
                reply.map(|reply| reply.len())
            })
        })
        .collect();
    rest.wait();
    // 40 replies would fill the receive buffer.
    let reply = ask::<Vec<u8>>(&manager, ECHO, &bytes(450_000));
    rest.wait();
    for thread in threads {
        expect("reply", thread.join().map_err(|_| "a thread panicked")??, 30_000)?;
    }
    expect("large reply", reply?.len(), 450_000)
}

fn one_way_calls_keep_their_order() -> Outcome {
    let manager = connect()?;
    let (sender, told) = mpsc::channel();
    let listener = new_object(move |number| {
        // The receiver is gone once all have come.
        let _ = sender.send(number);
        Ok(0)
    });
    manager.transact(TELL, FLAG_ONEWAY, |data| {
        data.write(&listener)?;
        data.write(&1000)
    })?;
    for wanted in 0..1000 {
        expect("told", told.recv_timeout(HANG_TIMEOUT)?, wanted)?;
    }
    Ok(())
}

fn call(manager: &SpIBinder, object: &SpIBinder, number: i32) -> Result<i32, StatusCode> {
    let reply = manager.transact(CALL, 0, |data| {
        data.write(object)?;
        data.write(&number)
    });
    reply?.read()
}

fn calls_nest_on_the_thread_that_waits() -> Outcome {
    let manager = connect()?;
    let (caller, above) = (thread::current().id(), manager.clone());
    // Asks the manager to ask back, until the number is used up.
    let object = Arc::new(std::sync::OnceLock::<SpIBinder>::new());
    let myself = Arc::clone(&object);
    let asked = new_object(move |number| match number {
        _ if thread::current().id() != caller => Err(StatusCode::INVALID_OPERATION),
        ..=0 => Ok(100),
        _ => Ok(1 + call(&above, myself.get().ok_or(StatusCode::NO_INIT)?, number - 1)?),
    });
    let asked = object.get_or_init(|| asked);
    expect("answer", call(&manager, asked, 20)?, 120)
}

fn calls_end_in_time() -> Outcome {
    let manager = connect()?;
    let (open, gate) = mpsc::channel();
    let gate = Mutex::new(gate);
    let object = new_object(move |_| {
        let gate = gate.lock().map_err(|_| StatusCode::UNKNOWN_ERROR)?;
        gate.recv_timeout(HANG_TIMEOUT).map_err(|_| StatusCode::TIMED_OUT)?;
        Ok(5)
    });
    let late = binder::with_timeout(Duration::from_millis(20), || call(&manager, &object, 1));
    expect("in time", late, Err(StatusCode::TIMED_OUT))?;
    let by_reference = manager.clone().with_timeout(Duration::from_millis(20));
    expect("in time", call(&by_reference, &object, 1), Err(StatusCode::TIMED_OUT))?;
    expect("echo", ask::<Vec<u8>>(&manager, ECHO, &bytes(10))?, bytes(10))?;
    (0..3).try_for_each(|_| open.send(()))?;
    let answered = binder::with_timeout(HANG_TIMEOUT, || call(&manager, &object, 1));
    expect("answer", answered, Ok(5))
}

/// Serves an object over a socket, and returns a proxy of it.
fn by_socket(name: &str, object: SpIBinder) -> Outcome<(RpcServer, SpIBinder)> {
    let name = format!("\0library-checks-{name}-{}", std::process::id());
    let server = RpcServer::new_unix(object, &name)?;
    server.set_supported_file_descriptor_transport_modes(&[FileDescriptorTransportMode::Unix]);
    server.start()?;
    let session = RpcSession::new();
    session.set_file_descriptor_transport_mode(FileDescriptorTransportMode::Unix);
    Ok((server, session.connect_unix(&name)?))
}

fn a_gateway_forwards() -> Outcome {
    let manager = connect()?;
    // An object behind a socket, called by another process over the device.
    let (_server, object) = by_socket("object", new_object(|number| Ok(number + 1)))?;
    expect("by the device", call(&manager, &object, 4), Ok(5))?;
    // An object of another process, called over a socket.
    let (_gateway, test) = by_socket("test", ask(&manager, TEST, &NOTHING)?)?;
    let test: Strong<dyn ITest> = test.into_interface()?;
    expect("text", test.repeatString("by the socket")?, "by the socket".to_owned())?;
    let error = test.failSpecific(7, "why").err().map(|it| it.service_specific_error());
    expect("exception", error, Some(7))?;
    let long = "x".repeat(100_000);
    expect("long text", test.repeatUtf8(&long)? == long, true)?;
    let file = ParcelFileDescriptor::new(std::fs::File::open("/dev/null")?);
    test.repeatFile(&file)?;
    // An object of this process goes there and comes back as itself.
    let own = new_object(Ok);
    expect("home", test.repeatBinder(&own)? == own, true)?;
    expect("home", test.repeatBinder(&test.as_binder())? == test.as_binder(), true)
}

fn the_driver_gets_its_threads() -> Outcome {
    let manager = connect()?;
    for _ in 0..3 {
        let callers: Vec<_> = (0..12)
            .map(|_| {
                let manager = manager.clone();
                thread::spawn(move || tell(&manager, MEET, &12))
            })
            .collect();
        for caller in callers {
            caller.join().map_err(|_| "a caller panicked")??;
        }
    }
    Ok(())
}

fn the_driver_says_who_calls() -> Outcome {
    let reply = connect()?.transact(WHO, 0, |_| Ok(()))?;
    expect("pid", reply.read()?, std::process::id().cast_signed())?;
    expect("uid", reply.read()?, rustix::process::geteuid().as_raw().cast_signed())?;
    let sid: Option<String> = reply.read()?;
    // A kernel has security contexts if something gives them.
    let is_of_kernel = device_path().metadata()?.file_type().is_char_device();
    expect(
        "there is a security context",
        is_of_kernel || sid.is_some_and(|it| !it.is_empty()),
        true,
    )
}

fn a_status_arrives_as_it_was_sent() -> Outcome {
    let manager = connect()?;
    for status in [StatusCode::BAD_VALUE, StatusCode::PERMISSION_DENIED, StatusCode::BAD_TYPE] {
        expect("status", tell(&manager, STATUS, &status.code()), Err(status))?;
    }
    expect("unknown", tell(&manager, 4711, &0), Err(StatusCode::UNKNOWN_TRANSACTION))?;
    let not_mine: Result<Strong<dyn ITest>, _> = FromIBinder::try_from(manager);
    expect("another interface", not_mine.err(), Some(StatusCode::BAD_TYPE))
}

fn a_service_that_panics_serves_on() -> Outcome {
    let manager = connect()?;
    expect("panic", tell(&manager, PANIC, &0), Err(StatusCode::UNKNOWN_ERROR))?;
    Ok(manager.ping_binder()?)
}

fn a_thread_that_polls_serves() -> Outcome {
    let manager = connect()?;
    // A device of its own: the pool of the other would take the calls.
    let device = DriverDevice::open(&device_path())?;
    device.setup_polling()?;
    let own = thread::current().id();
    // Threads that the driver asks for would take calls, too.
    let object =
        new_object(move |number| Ok(if thread::current().id() == own { number } else { -1 }));
    tell(&device.context_object()?, KEEP, &object)?;
    let caller = thread::spawn(move || -> Result<Vec<i32>, StatusCode> {
        let object: Option<SpIBinder> = ask(&manager, crate::manager::LAST, &NOTHING)?;
        let object = object.ok_or(StatusCode::UNEXPECTED_NULL)?;
        (0..50).map(|number| ask(&object, 1, &number)).collect()
    });
    while !caller.is_finished() {
        let timeout = rustix::time::Timespec { tv_sec: 0, tv_nsec: 20_000_000 };
        let mut watched = [PollFd::new(&device, PollFlags::IN)];
        if poll(&mut watched, Some(&timeout))? > 0 {
            device.handle_polled_commands()?;
        }
    }
    let answers = caller.join().map_err(|_| "the caller panicked")??;
    expect("answers", answers, (0..50).collect())?;
    tell(&connect()?, FORGET, &NOTHING)?;
    Ok(())
}

/// Waits until poll(2) has something to tell, and handles that, once.
fn poll_once(device: &DriverDevice) -> Outcome {
    let timeout = rustix::time::Timespec::try_from(HANG_TIMEOUT)?;
    let mut watched = [PollFd::new(device, PollFlags::IN)];
    expect("devices to read", poll(&mut watched, Some(&timeout))?, 1)?;
    Ok(device.handle_polled_commands()?)
}

fn a_thread_that_polls_waits_for_nothing() -> Outcome {
    let (done, outcome) = mpsc::channel();
    thread::spawn(move || {
        let handle = || {
            let device = DriverDevice::open(&device_path())?;
            device.setup_polling()?;
            let manager = device.context_object()?;
            let recipient = DeathRecipient::new(|| ());
            manager.link_to_death(&recipient)?;
            manager.unlink_to_death(&recipient)?;
            // All there is to read is that the link is gone.
            poll_once(&device)
        };
        // The receiver is gone if it has taken too long.
        let _ = done.send(handle());
    });
    outcome.recv_timeout(HANG_TIMEOUT)?
}

/// Polls until no object of the device is known to the driver any more.
fn poll_until_forgotten(device: &DriverDevice) -> Outcome {
    becomes("objects of a thread that polls", &0, || {
        let at_once = rustix::time::Timespec::default();
        if poll(&mut [PollFd::new(device, PollFlags::IN)], Some(&at_once))? > 0 {
            device.handle_polled_commands()?;
        }
        Ok(device.node_count())
    })
}

/// The driver says that an object is let go of once it was told that taking it is known: if that
/// word waited for the next event, there would be none.
fn a_thread_that_polls_owes_nothing() -> Outcome {
    let manager = connect()?;
    let device = DriverDevice::open(&device_path())?;
    device.setup_polling()?;
    let polled = device.context_object()?;
    for kept in 1..=3 {
        for _ in 0..kept {
            tell(&polled, KEEP, &new_object(Ok))?;
        }
        tell(&manager, FORGET, &NOTHING)?;
        poll_until_forgotten(&device)?;
    }
    Ok(())
}

/// Its objects come and go while it rests, so that it hears of several things at once.
fn a_thread_that_polls_gives_objects_away() -> Outcome {
    let manager = connect()?;
    let device = DriverDevice::open(&device_path())?;
    device.setup_polling()?;
    tell(&device.context_object()?, KEEP, &aidl_tests::service::new_test_service())?;
    let client = thread::spawn(move || -> Outcome {
        let test: Option<SpIBinder> = ask(&manager, crate::manager::LAST, &NOTHING)?;
        let test: Strong<dyn ITest> = test.ok_or(StatusCode::UNEXPECTED_NULL)?.into_interface()?;
        for number in 0..200 {
            let made = test.makeCallback(number)?;
            made.notice(number)?;
            drop(made);
            let mut kept = Vec::new();
            for number in 0..3 {
                kept.push(test.makeCallback(number)?);
                expect("answer", kept[0].ask(number)?, number)?;
            }
        }
        Ok(tell(&manager, FORGET, &NOTHING)?)
    });
    while !client.is_finished() {
        let timeout = rustix::time::Timespec { tv_sec: 0, tv_nsec: 20_000_000 };
        if poll(&mut [PollFd::new(&device, PollFlags::IN)], Some(&timeout))? > 0 {
            device.handle_polled_commands()?;
        }
        thread::yield_now();
    }
    client.join().map_err(|_| "the client panicked")??;
    poll_until_forgotten(&device)
}

fn devices_do_not_share_handles() -> Outcome {
    let manager = connect()?;
    let options = DeviceOptions { buffer_bytes: 64 * 1024, ..DeviceOptions::default() };
    let other = DriverDevice::open_with(&device_path(), &options)?;
    let same = other.context_object()?;
    expect("one object, two devices", same == manager, false)?;
    // A handle of another device is forwarded, and its name is not taken for one of this device.
    tell(&same, KEEP, &manager)?;
    tell(&same, FORGET, &NOTHING)?;
    expect("what fits", ask::<Vec<u8>>(&same, ECHO, &bytes(40_000))?.len(), 40_000)?;
    let refused = ask::<Vec<u8>>(&same, ECHO, &bytes(70_000)).err();
    expect("what does not", refused, Some(StatusCode::FAILED_TRANSACTION))?;
    expect("it goes on", ask::<Vec<i32>>(&same, COUNTS, &NOTHING)?.len(), 2)
}
