//! What only the front end decides: signals, looks at modes, threads that are too many, freezes, and ends of
//! files, while calls wait.

use alloc::vec::Vec;

use binder_core::{CallerMemory, ClaimedAddr, CopyFault, Errno, Limits, Resource, Standing};
use binder_uapi::{
    BC_ENTER_LOOPER, BINDER_FREEZE, BINDER_GET_FROZEN_INFO, BINDER_WRITE_READ, BR_NOOP,
    BinderFreezeInfo, BinderFrozenStatusInfo, BinderWriteRead,
};
use zerocopy::{FromBytes as _, IntoBytes};

use super::*;
use crate::access::{AccessEnd, AccessRequest, MemoryAccess};
use crate::action::Cancelled;
use crate::test_frontend::{NoMemory, TestFrontend, access, answers};

const TID: u32 = 7;

fn failed(unique: u64, error: Errno) -> [(u64, Answer); 1] {
    [(unique, Answer::Failed(error))]
}

fn is_look(actions: &[Action<u32>], of: u64) -> bool {
    matches!(actions, [Action::LookAtMode { file: 70, unique, .. }] if *unique == of)
}

fn is_cancel(actions: &[Action<u32>], of: u64, of_what: Cancelled) -> bool {
    matches!(actions, [Action::Cancel { file: 70, unique, what, .. }]
        if *unique == of && *what == of_what)
}

/// Commands of a client, each of which enters the looper.
struct Loopers;

impl CallerMemory for Loopers {
    fn read(&mut self, _: ClaimedAddr, into: &mut [u8]) -> Result<(), CopyFault> {
        for (at, byte) in into.iter_mut().enumerate() {
            *byte = BC_ENTER_LOOPER.to_le_bytes()[at % 4];
        }
        Ok(())
    }
}

fn fetched(mut access: Box<AccessRequest>) -> Box<AccessRequest> {
    let MemoryAccess::Commands(call, commands) = &mut access.access else {
        panic!("nothing is to be fetched: {access:?}")
    };
    commands.fetch_next(call, &mut Loopers);
    access
}

// --- O_NONBLOCK ---

#[test]
fn a_read_that_finds_nothing_fails_if_its_file_is_still_non_blocking() {
    let mut device = TestFrontend::new(true);
    assert!(is_look(&device.read(2, TID), 2));
    assert_eq!(answers(&device.see_mode(2, Some(true))), failed(2, Errno::EAGAIN));
    assert!(device.see_mode(2, Some(true)).is_empty() && !device.frontend.interrupt(2));
}

#[test]
fn a_read_sleeps_if_its_file_is_no_longer_non_blocking_and_so_does_the_next() {
    let mut device = TestFrontend::new(true);
    device.read(2, TID);
    assert!(device.see_mode(2, Some(false)).is_empty());
    assert_eq!(answers(&device.interrupt(2)), failed(2, Errno::EINTR));
    assert!(device.read(4, TID + 1).is_empty(), "there is no other look");
}

#[test]
fn a_thread_that_comes_by_two_doors_sleeps_in_one_read() {
    let mut device = TestFrontend::new(false);
    assert!(device.read(2, TID).is_empty() && device.read(4, TID + 1).is_empty());
    // It has read before: there is memory for what it reads.
    let read = BinderWriteRead { read_size: 256, ..BinderWriteRead::default() };
    let again = device.ioctl(6, TID, BINDER_WRITE_READ, read.as_bytes());
    assert_eq!(answers(&again), failed(2, Errno::EINTR));
    assert!(!device.frontend.interrupt(2));
    assert_eq!(answers(&device.interrupt(4)), failed(4, Errno::EINTR));
    device.frontend.shrink();
    assert_eq!(answers(&device.interrupt(6)), failed(6, Errno::EINTR));
}

#[test]
fn a_read_sleeps_while_a_look_takes_long_and_fails_when_that_tells_so() {
    let mut device = TestFrontend::new(true);
    device.read(2, TID);
    assert!(device.see_mode(2, None).is_empty());
    device.frontend.set_nonblocking(device.process, true);
    assert_eq!(answers(&device.actions()), failed(2, Errno::EAGAIN));
}

#[test]
fn a_signal_during_a_look_ends_the_read_after_it() {
    for (seen, error) in
        [(Some(true), Errno::EAGAIN), (Some(false), Errno::EINTR), (None, Errno::EINTR)]
    {
        let mut device = TestFrontend::new(true);
        device.read(2, TID);
        assert!(device.interrupt(2).is_empty(), "a look is soon over");
        assert_eq!(answers(&device.see_mode(2, seen)), failed(2, error));
        assert!(!device.frontend.interrupt(2));
    }
}

#[test]
fn a_read_at_once_finds_nothing_and_does_not_sleep() {
    let mut device = TestFrontend::new(false);
    assert_eq!(answers(&device.call(1, TID)), [(1, Answer::Done)]);
    let read = BinderWriteRead { read_size: 256, ..BinderWriteRead::default() };
    let (request, bytes) = (device.request(2, TID), read.as_bytes());
    let begun = device.prepared_ioctl(request, BINDER_WRITE_READ, bytes, Call::read_at_once);
    let written = access(begun);
    assert_eq!(answers(&device.accessed(written, AccessEnd::Done)), failed(2, Errno::EAGAIN));
    // The next one sleeps, as any.
    assert!(device.ioctl(4, TID, BINDER_WRITE_READ, read.as_bytes()).is_empty());
}

// --- What comes by doors that carry more than a request ---

/// A `BINDER_WRITE_READ` that such a door has prepared.
fn prepared(
    device: &mut TestFrontend,
    read_size: u64,
    prepare: impl FnOnce(&mut Call),
) -> Vec<Action<u32>> {
    let read = BinderWriteRead { read_size, read_buffer: 0x1000, ..BinderWriteRead::default() };
    device.prepared_ioctl(device.request(2, TID), BINDER_WRITE_READ, read.as_bytes(), prepare)
}

fn answered(mut actions: Vec<Action<u32>>) -> (Box<Call>, Answer) {
    match actions.pop() {
        Some(Action::Answer { call, answer }) if actions.is_empty() => (call, answer),
        other => panic!("no answer: {other:?}, {actions:?}"),
    }
}

#[test]
fn returns_go_back_with_the_answer_where_there_is_room() {
    for (start, room) in [(0x1000, 4), (0x1000, 3), (0x1004, 4)] {
        let mut device = TestFrontend::new(false);
        // A thread returns from its first read at once.
        let mut actions = prepared(&mut device, 256, |call| call.carry_returns(start, room));
        let mut written = Vec::new();
        while matches!(actions[..], [Action::Access { .. }]) {
            let copy_out = access(actions);
            if let MemoryAccess::CopyOut(it) = &copy_out.access {
                written = it.bytes.clone();
            }
            actions = device.accessed(copy_out, AccessEnd::Done);
        }
        let (call, answer) = answered(actions);
        assert_eq!(answer, Answer::Done);
        let all = BR_NOOP.to_ne_bytes();
        let is_carried = (start, room) == (0x1000, 4);
        let (carried, other) = if is_carried { (&all[..], &[][..]) } else { (&[][..], &all[..]) };
        assert_eq!((call.returns(), &written[..]), (carried, other));
    }
}

#[test]
fn an_answer_tells_where_its_thread_stands_if_it_is_to() {
    for tells in [false, true] {
        let mut device = TestFrontend::new(false);
        let entering = fetched(device.write(1, TID, 4));
        assert_eq!(answers(&device.accessed(entering, AccessEnd::Done)), [(1, Answer::Done)]);
        let (call, _) = answered(prepared(&mut device, 0, |call| {
            if tells {
                call.tell_standing();
            }
        }));
        let Standing { is_in_no_call, is_looper } = call.standing();
        assert_eq!((is_in_no_call, is_looper), (tells, tells));
    }
}

#[test]
fn a_signal_that_comes_before_its_call_ends_the_wait_of_that() {
    let mut device = TestFrontend::new(false);
    assert_eq!(answers(&device.call(1, TID)), [(1, Answer::Done)]);
    let written = access(prepared(&mut device, 256, Call::note_interruption));
    assert_eq!(answers(&device.accessed(written, AccessEnd::Done)), failed(2, Errno::EINTR));
    // What need not wait is done all the same.
    let (_, answer) = answered(prepared(&mut device, 0, Call::note_interruption));
    assert_eq!(answer, Answer::Done);
}

#[test]
fn a_signal_ends_a_long_write_between_two_pieces() {
    let long = 1 << 20;
    for is_interrupted in [false, true] {
        let mut device = TestFrontend::new(false);
        let first = fetched(device.write(2, TID, long));
        if is_interrupted {
            assert!(is_cancel(&device.interrupt(2), 2, Cancelled::Fetch));
        }
        let actions = device.accessed(first, AccessEnd::Done);
        if is_interrupted {
            let (call, answer) = answered(actions);
            assert_eq!(answer, Answer::Interrupted);
            let consumed =
                BinderWriteRead::read_from_bytes(call.data()).expect("a struct").write_consumed;
            assert!((1..long).contains(&consumed), "{consumed}");
        } else {
            fetched(access(actions));
        }
    }
}

// --- Threads that are too many ---

/// One thread has called, and may be the only one.
fn device_of_one_thread() -> TestFrontend {
    let mut limits = Limits::default();
    limits.per_file[Resource::Threads] = 1;
    let mut device = TestFrontend::with_limits(limits, false);
    assert_eq!(answers(&device.call(2, TID)), [(2, Answer::Done)]);
    device
}

/// The event to repeat after the executor has looked for ended threads.
fn pruned(mut actions: Vec<Action<u32>>) -> Event {
    match actions.pop() {
        Some(Action::Prune { file: 70, event }) if actions.is_empty() => event,
        other => panic!("nothing is pruned: {other:?}, {actions:?}"),
    }
}

#[test]
fn a_thread_too_many_is_admitted_once_another_has_ended() {
    let mut device = device_of_one_thread();
    let again = pruned(device.call(4, TID + 1));
    device.frontend.end_thread(device.process, TID, &mut NoMemory);
    assert_eq!(answers(&device.handle(again)), [(4, Answer::Done)]);
}

#[test]
fn a_thread_too_many_is_refused_and_forgotten_if_none_has_ended() {
    let mut device = device_of_one_thread();
    let again = pruned(device.call(4, TID + 1));
    let actions = device.handle(again);
    let [
        Action::ForgetThread { file: 70, tid: 8 },
        Action::Answer { call, answer: Answer::Failed(Errno::ENOMEM) },
        Action::Warn(excess),
    ] = &actions[..]
    else {
        panic!("not refused: {actions:?}")
    };
    assert_eq!((call.unique(), excess.resource), (4, Resource::Threads));
}

#[test]
fn a_poll_of_a_thread_too_many_is_answered_once() {
    let mut device = device_of_one_thread();
    let (request, thread) = (device.request(4, TID + 1).into(), CallingThread::default());
    let again = pruned(device.handle(Event::Poll { request, thread, handle: Some(9) }));
    device.frontend.end_thread(device.process, TID, &mut NoMemory);
    let actions = device.handle(again);
    assert!(matches!(actions[..], [Action::AnswerPoll { unique: 4, is_readable: Ok(_) }]));
}

// --- Freezes ---

#[test]
fn a_freeze_is_answered_once() {
    let mut device = TestFrontend::new(false);
    let info = BinderFreezeInfo { pid: 7, enable: 1, timeout_ms: 1 };
    let actions = device.ioctl(2, TID, BINDER_FREEZE, info.as_bytes());
    assert!(matches!(&actions[..], [Action::Freeze { request, info: asked }]
            if request.unique == 2 && *asked == info));
    device.frontend.end_freeze(2, Answer::Failed(Errno::EAGAIN));
    assert_eq!(answers(&device.actions()), failed(2, Errno::EAGAIN));
    device.frontend.end_freeze(2, Answer::Done);
    assert!(device.actions().is_empty());
}

#[test]
fn a_signal_has_a_freeze_cancelled_which_ends_then_or_has_ended_before() {
    for end in [Answer::Restart, Answer::Done] {
        let mut device = TestFrontend::new(false);
        let info = BinderFreezeInfo { pid: 7, enable: 1, timeout_ms: 1 };
        device.ioctl(2, TID, BINDER_FREEZE, info.as_bytes());
        assert!(matches!(device.interrupt(2)[..], [Action::CancelFreeze { unique: 2 }]));
        device.frontend.end_freeze(2, end);
        assert_eq!(answers(&device.actions()), [(2, end)]);
        assert!(!device.frontend.interrupt(2), "it is over");
    }
}

#[test]
fn whether_a_program_is_frozen_is_answered_once_despite_a_signal() {
    let mut device = TestFrontend::new(false);
    let info = BinderFrozenStatusInfo { pid: 7, ..Default::default() };
    let actions = device.ioctl(2, TID, BINDER_GET_FROZEN_INFO, info.as_bytes());
    assert!(matches!(actions[..], [Action::FrozenInfo { .. }]));
    device.interrupt(2);
    let frozen = BinderFrozenStatusInfo { pid: 7, sync_recv: 1, async_recv: 2 };
    device.frontend.end_frozen_info(2, Ok(frozen));
    let actions = device.actions();
    let [Action::Answer { call, answer: Answer::Done }] = &actions[..] else {
        panic!("no answer: {actions:?}")
    };
    assert_eq!((call.unique(), call.data()), (2, frozen.as_bytes()));
    device.frontend.end_frozen_info(2, Err(Errno::EINVAL));
    assert!(device.actions().is_empty());
}

// --- Fetches that are cut off ---

#[test]
fn a_fetch_that_is_cut_off_ends_its_call_whichever_is_told_first() {
    for is_access_first in [false, true] {
        let mut device = TestFrontend::new(false);
        let access = device.write(2, TID, 4);
        assert!(is_cancel(&device.interrupt(2), 2, Cancelled::Fetch));
        let cancelled = Event::Cancelled { unique: 2 };
        let (first, second) = if is_access_first {
            (device.accessed(access, AccessEnd::Cut), device.handle(cancelled))
        } else {
            (device.handle(cancelled), device.accessed(access, AccessEnd::Cut))
        };
        assert_eq!(answers(&first), [(2, Answer::Interrupted)]);
        assert!(second.is_empty(), "{second:?}");
    }
}

#[test]
fn a_fetch_that_was_done_when_the_signal_came_has_its_commands_run() {
    let mut device = TestFrontend::new(false);
    let access = fetched(device.write(2, TID, 4));
    assert!(is_cancel(&device.interrupt(2), 2, Cancelled::Fetch));
    assert!(device.frontend.has_interrupted());
    assert_eq!(answers(&device.accessed(access, AccessEnd::Done)), [(2, Answer::Done)]);
    assert!(device.handle(Event::Cancelled { unique: 2 }).is_empty());
    assert!(!device.frontend.has_interrupted());
}

#[test]
fn returns_on_their_way_end_their_call_only_once_its_thread_is_killed() {
    let mut device = TestFrontend::new(false);
    let access = device.begin_read(2, TID);
    assert!(is_cancel(&device.interrupt(2), 2, Cancelled::CopyOut));
    // It is looked again, for the thread may have been killed since.
    device.frontend.cancel_interrupted();
    assert!(is_cancel(&device.actions(), 2, Cancelled::CopyOut));
    let cancelled = device.handle(Event::Cancelled { unique: 2 });
    assert_eq!(answers(&cancelled), failed(2, Errno::EINTR));
    assert!(device.accessed(access, AccessEnd::Done).is_empty());
}

#[test]
fn a_bug_in_an_access_fails_its_call() {
    let mut device = TestFrontend::new(false);
    let access = device.write(2, TID, 4);
    assert_eq!(answers(&device.accessed(access, AccessEnd::Bug)), failed(2, Errno::EIO));
    assert_eq!(answers(&device.call(4, TID)), [(4, Answer::Done)]);
}

// --- Ends of files ---

#[test]
fn calls_that_wait_when_their_file_ends_fail_when_what_they_wait_for_comes() {
    let mut device = TestFrontend::new(true);
    let fetch = fetched(device.write(2, TID, 4));
    let copy_out = device.begin_read(4, TID + 1);
    assert!(is_look(&device.read(6, TID + 2), 6));
    assert!(is_look(&device.read(8, TID + 3), 8));
    let info = BinderFreezeInfo { pid: 7, enable: 1, timeout_ms: 1 };
    device.ioctl(10, TID + 4, BINDER_FREEZE, info.as_bytes());
    assert!(device.end_file().is_empty());

    assert_eq!(answers(&device.accessed(fetch, AccessEnd::Done)), failed(2, Errno::EINVAL));
    assert_eq!(answers(&device.accessed(copy_out, AccessEnd::Done)), failed(4, Errno::EINVAL));
    assert_eq!(answers(&device.see_mode(6, Some(false))), failed(6, Errno::EINVAL));
    assert_eq!(answers(&device.see_mode(8, Some(true))), failed(8, Errno::EINVAL));
    device.frontend.end_freeze(10, Answer::Failed(Errno::EAGAIN));
    assert_eq!(answers(&device.actions()), failed(10, Errno::EAGAIN));
    assert_eq!(answers(&device.call(12, TID)), failed(12, Errno::EINVAL));
    assert!((2..=12).all(|unique| !device.frontend.interrupt(unique)), "no call is left");
}

#[test]
fn a_sleeping_call_fails_when_its_file_ends_after_a_bug() {
    let mut device = TestFrontend::new(false);
    assert!(device.read(2, TID).is_empty());
    device.frontend.end_file_after_bug(device.process, &[], &mut NoMemory);
    assert_eq!(answers(&device.actions()), failed(2, Errno::EIO));
    assert!(!device.frontend.interrupt(2));
}
