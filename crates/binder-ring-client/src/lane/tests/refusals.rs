//! Calls that do not go by a lane, and lanes that a thread does not have, or no longer.

use binder_lane::layout::DATA_BYTES;
use binder_ring::layout::IS_LOOPER;

use super::super::commands::LaneReturns;
use super::*;

/// What the driver has to run.
fn others() -> Vec<u8> {
    [&BC_FREE_BUFFER.to_ne_bytes()[..], &4096_u64.to_ne_bytes()].concat()
}

#[test]
fn what_a_lane_cannot_take_goes_by_the_ring() {
    let process = Process::new();
    let mut caller = process.with_lane();
    let mut end_of = |commands: &[u8], read_consumed: u64, read_size: u64| {
        let write_size = commands.len() as u64;
        let read = BinderWriteRead { write_size, read_size, read_consumed, ..Default::default() };
        let mut call = read;
        let end = caller.call(&process, &mut call, &LaneCommands::parse(commands, &process));
        assert!(end != LaneEnd::ByRing || call == read);
        end
    };
    let least = LaneReturns::MIN_ROOM as u64;
    process.is_in_use.set(true);
    for (commands, consumed, size) in [
        (send(), 0, 0),
        (send(), 0, least - 1),
        (send(), 4, 256),
        (free(), 0, 256),
        (send_bytes(DATA_BYTES as u64 + 1), 0, 256),
        (send_bytes(u64::MAX), 0, 256),
        (send_to(8, 4), 0, 256),
    ] {
        assert_eq!(end_of(&commands, consumed, size), LaneEnd::ByRing);
        assert!(process.is_in_use.get(), "nothing is run");
    }
    process.is_in_use.set(false);
    for standing in [0, IS_LOOPER] {
        process.standing().store(standing, Ordering::Relaxed);
        assert_eq!(end_of(&send(), 0, 256), LaneEnd::ByRing, "it is in a call");
    }
    process.standing().store(IN_NO_CALL, Ordering::Relaxed);
    process.play(&[(reply, SleepEnd::Woken)]);
    assert_eq!(end_of(&send(), 0, least), LaneEnd::Done);
}

#[test]
fn what_the_driver_has_first_is_run_before_a_call() {
    let process = Process::new();
    let mut caller = process.with_lane();
    process.driver.set(|process, call| {
        assert_eq!((call.write_size, call.read_size), (others().len() as u64, 0));
        run_all(process, call)
    });
    process.play(&[(reply, SleepEnd::Woken)]);
    let (end, call) = process.call(&mut caller, &[others(), send()].concat());
    assert_eq!((end, call.write_consumed), (LaneEnd::Done, call.write_size));
    assert_eq!((process.by_ring.get(), call.read_size), (1, 256));
}

#[test]
fn a_call_before_which_the_driver_wants_an_ioctl_goes_on_by_that() {
    let process = Process::new();
    let mut caller = process.with_lane();
    let commands = [others(), send()].concat();
    process.driver.set(run_but_for_closing);
    let (end, call) = process.call(&mut caller, &commands);
    assert_eq!((end, call.write_consumed), (LaneEnd::Ended(RingOutcome::Ioctl), 12));
    assert_eq!((call.write_size, call.read_size), (commands.len() as u64, 256));
}

#[test]
fn a_call_is_the_drivers_if_what_it_has_first_ends_otherwise() {
    let cases: [(Driver, LaneEnd, u64); 3] = [
        // The thread is in a call now.
        (
            |process, call| {
                process.standing().store(0, Ordering::Relaxed);
                run_all(process, call)
            },
            LaneEnd::ByRing,
            12,
        ),
        // It is refused, which the driver is to tell.
        (
            |_, call| {
                call.write_consumed = 4;
                RingOutcome::Done(Ok(()))
            },
            LaneEnd::ByRing,
            4,
        ),
        (|_, _| RingOutcome::Done(Err(Errno::EINTR)), INTERRUPTED, 0),
    ];
    for (driver, end, consumed) in cases {
        let process = Process::new();
        let mut caller = process.with_lane();
        process.driver.set(driver);
        let (ended, call) = process.call(&mut caller, &[others(), send()].concat());
        assert_eq!((ended, call.write_consumed), (end, consumed));
        assert_eq!((call.write_size, call.read_size), (12 + send().len() as u64, 256));
        let is_told_by_driver = process.standing().load(Ordering::Relaxed) == 0;
        assert_eq!(is_told_by_driver, end == LaneEnd::ByRing);
    }
}

#[test]
fn a_thread_that_is_refused_asks_less_and_less() {
    let process = Process::new();
    process.opens.set(Err(Errno::EMFILE));
    process.standing().store(IN_NO_CALL, Ordering::Relaxed);
    let mut caller = LaneCaller::new();
    let mut asked = Vec::new();
    for at in 0..40 {
        assert_eq!(process.call(&mut caller, &send()).0, LaneEnd::ByRing);
        caller.open_if_worthwhile(&process, 3);
        if process.asked.replace(0) > 0 {
            asked.push(at);
        }
    }
    assert_eq!(asked, [2, 8, 20]);
}

/// Makes calls in a row, and asks for a lane if they suggest it.
fn call_in_a_row(process: &Process, caller: &mut LaneCaller<()>, handle: u32, calls: u32) {
    for _ in 0..calls {
        assert_eq!(process.call(caller, &send_to(handle, 4)).0, LaneEnd::ByRing);
        caller.open_if_worthwhile(process, calls);
    }
}

#[test]
fn a_lane_at_which_no_thread_looks_is_given_back() {
    let process = Process::new();
    let mut caller = process.with_lane();
    for _ in 0..3 {
        for _ in 0..3 {
            assert!(process.lane().head().word.cool());
            call_in_a_row(&process, &mut caller, 0, 5);
            assert!(process.lane().head().word.warm());
        }
        assert_eq!((process.asked.get(), process.closed.get()), (1, 0));
        // One call in between, and it is one that is used.
        process.play(&[(reply, SleepEnd::Woken)]);
        assert_eq!(process.call(&mut caller, &send()).0, LaneEnd::Done);
        process.is_in_use.set(false);
    }
    assert!(process.lane().head().word.cool());
    for closed in [0, 0, 0, 1] {
        call_in_a_row(&process, &mut caller, 0, 5);
        assert_eq!((process.asked.get(), process.closed.get()), (1, closed));
    }
    // The thread asks for another after twice as many calls.
    for asked in [1, 2] {
        call_in_a_row(&process, &mut caller, 0, 5);
        assert_eq!((process.asked.get(), process.closed.get()), (asked, 1));
    }
    assert_eq!(caller.end(), Some(()));
    assert_eq!(caller.end(), None);
}

#[test]
fn a_lane_that_is_of_no_use_makes_way_for_another_at_once() {
    // The driver has taken it back, or the thread calls another object.
    for handle in [0, 8] {
        let process = Process::new();
        let mut caller = process.with_lane();
        if handle == 0 {
            process.ring.segment.header().lanes[2].store(0, Ordering::Relaxed);
        }
        call_in_a_row(&process, &mut caller, handle, 5);
        let opened = (process.asked.get(), process.closed.get(), process.wished.get());
        assert_eq!(opened, (2, 1, handle));
        process.play(&[(reply, SleepEnd::Woken)]);
        assert_eq!(process.call(&mut caller, &send_to(handle, 4)).0, LaneEnd::Done);
    }
}
