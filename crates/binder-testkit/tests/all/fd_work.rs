//! Transactions with files, and what may happen while a thread is on its descriptor work for them.

use binder_testkit::Return::{
    Acquire, DeadReply, Decrefs, FailedReply, Increfs, Release, Reply, Transaction,
    TransactionComplete,
};
use binder_testkit::{
    Attempt, CoreRig, Message, Mode, Party, Progress, Stage, commands, expect, introduce,
};
use binder_uapi::{
    BINDER_TYPE_BINDER, BinderBufferObject, FLAT_BINDER_FLAG_ACCEPTS_FDS, FlatBinderObject,
    TF_ACCEPT_FDS,
};
use rustix::io::Errno;

/// The descriptor that every host has.
const OWN: u64 = 0;

fn stage() -> Stage {
    Stage::new(Box::new(CoreRig::default()))
}

fn core(stage: &Stage) -> &CoreRig {
    stage.rig().core().expect("a rig on the core")
}

fn accepting(binder: u64, cookie: u64) -> FlatBinderObject {
    let flags = FLAT_BINDER_FLAG_ACCEPTS_FDS;
    FlatBinderObject { kind: BINDER_TYPE_BINDER, flags, binder, cookie }
}

/// A manager that accepts descriptors.
fn manager(stage: &Stage) -> Party<'_> {
    stage.manager_named(accepting(1, 0))
}

fn with_file() -> Message {
    Message::new(1).descriptor(OWN, 0)
}

/// A piece that holds `count` descriptors, behind eight bytes of its own.
fn with_array(count: u32) -> Message {
    let bytes = vec![0; 8 + 4 * usize::try_from(count).expect("a small number")];
    Message::new(2).buffer(&bytes).descriptors(count.into(), 0, 8)
}

/// Lets a host have no descriptor more than it has, or as many as it likes.
fn set_full(stage: &Stage, party: &Party<'_>, is_full: bool) {
    let descriptors = stage.rig().descriptors();
    let count = descriptors.open_descriptors(party.host()) as u64;
    descriptors.limit_descriptors(party.host(), if is_full { count } else { 4096 });
}

fn open_descriptors(stage: &Stage, party: &Party<'_>) -> usize {
    stage.rig().descriptors().open_descriptors(party.host())
}

#[test]
fn a_reader_without_room_sleeps_on_until_there_is_something_else() {
    let stage = stage();
    let m = manager(&stage);
    let p = stage.party();
    set_full(&stage, &m, true);
    m.park();
    p.write(commands().call(0, with_file()));
    expect!(p.read() => [TransactionComplete, FailedReply]);
    p.write(commands().oneway(0, with_file()).oneway(0, with_file()));
    m.assert_parked();
    p.write(commands().oneway(0, Message::new(7)));
    assert_eq!(m.woken_by_call().code, 7);
    stage.tear_down();
}

#[test]
fn a_reader_without_room_that_does_not_wait_is_told_to_come_again() {
    let stage = stage();
    let m = manager(&stage);
    let p = stage.party();
    set_full(&stage, &m, true);
    m.set_mode(Mode::Nonblocking);
    p.write(commands().call(0, with_file()));
    assert_eq!(m.try_read().result, Err(Errno::AGAIN));
    stage.tear_down();
}

#[test]
fn what_precedes_a_transaction_is_told_once_and_in_order() {
    for is_full in [false, true] {
        // Where woken readers can be held.
        let stage = Stage::new(Box::new(CoreRig::default().without_frontend()));
        let m = manager(&stage);
        let p = stage.party();
        // The manager owns an object, whose last reference goes just before a file comes.
        let handle = introduce(&m, &m, (0x10, 0x20), &p);
        set_full(&stage, &m, is_full);
        m.park();
        core(&stage).hold();
        p.write(commands().release(handle).oneway(0, with_file()).oneway(0, Message::new(3)));
        core(&stage).let_go();
        if is_full {
            expect!(m.woken() => [Release(0x10, 0x20), Decrefs(0x10, 0x20), Transaction(next)]);
            assert_eq!(next.code, 3);
        } else {
            expect!(m.woken() => [Release(0x10, 0x20), Decrefs(0x10, 0x20), Transaction(first)]);
            assert_eq!(first.code, 1);
        }
        stage.tear_down();
    }
}

#[test]
fn a_call_within_a_call_that_fails_leaves_the_outer_one_waiting() {
    let stage = stage();
    let m = manager(&stage);
    let p = stage.party();
    p.write(commands().call(0, Message::new(1).object(accepting(0x30, 0x40))));
    let call = m.read_call();
    let back = m.objects(&call)[0].handle();
    set_full(&stage, &p, true);
    m.write(commands().call(back, with_file()));
    expect!(p.read() => [Increfs(0x30, 0x40), Acquire(0x30, 0x40), TransactionComplete]);
    expect!(m.read() => [TransactionComplete, FailedReply]);
    p.park();
    m.answer(&call, Message::new(0));
    expect!(p.woken() => [Reply(_)]);
    stage.tear_down();
}

#[test]
fn a_receiver_that_dies_amid_descriptor_work_fails_the_call() {
    let stage = stage();
    let m = manager(&stage);
    let p = stage.party();
    core(&stage).hold_fd_work();
    p.write(commands().call(0, with_file()).oneway(0, with_file()));
    m.park();
    m.kill();
    expect!(p.read() => [TransactionComplete, TransactionComplete, DeadReply]);
    core(&stage).let_fd_work_go();
    assert_eq!(core(&stage).captured_files(), 0);
    stage.tear_down();
}

#[test]
fn a_thread_that_comes_back_before_its_descriptor_work_forgets_it() {
    let stage = stage();
    let m = manager(&stage);
    let p = stage.party();
    core(&stage).hold_fd_work();
    p.write(commands().oneway(0, with_file()).oneway(0, Message::new(3)));
    m.park();
    // Its number is another thread's by now.
    m.write(commands());
    core(&stage).let_fd_work_go();
    assert_eq!(m.read_call().code, 3, "the next one-way is not held up");

    core(&stage).hold_fd_work();
    p.write(commands().call(0, with_file()));
    let looper = m.thread();
    looper.park();
    looper.exit_thread();
    expect!(p.read() => [TransactionComplete, TransactionComplete, TransactionComplete, DeadReply]);
    stage.tear_down();
}

/// Has threads begin calls whose descriptor work a signal comes before.
fn with_signals_first(stage: &Stage, begin: impl FnOnce()) {
    core(stage).hold_fd_work();
    begin();
    core(stage).retract_fd_work();
    core(stage).let_fd_work_go();
}

#[test]
fn a_delivery_that_a_signal_comes_before_goes_on_with_the_next_read() {
    let stage = stage();
    let m = manager(&stage);
    let p = stage.party();
    let before = open_descriptors(&stage, &m);
    with_signals_first(&stage, || {
        p.write(commands().oneway(0, with_file()));
        m.park();
    });
    assert_eq!(open_descriptors(&stage, &m), before);
    // What does not read leaves it.
    m.write(commands());
    assert!(m.is_readable());
    let oneway = m.read_call();
    assert_eq!((oneway.code, open_descriptors(&stage, &m)), (1, before + 1));
    m.write(commands().free(oneway.buffer));

    core(&stage).hold_fd_work();
    p.write(commands().call(0, with_file()));
    let looper = m.thread();
    looper.park();
    core(&stage).retract_fd_work();
    looper.exit_thread();
    expect!(p.read() => [TransactionComplete, TransactionComplete, DeadReply]);
    assert_eq!(core(&stage).captured_files(), 0);
    stage.tear_down();
}

#[test]
fn a_sender_that_dies_meanwhile_changes_nothing_for_the_receiver() {
    let stage = stage();
    let m = manager(&stage);
    let p = stage.party();
    core(&stage).hold_fd_work();
    p.write(commands().call(0, with_file()));
    m.park();
    p.kill();
    core(&stage).let_fd_work_go();
    let call = m.woken_by_call();
    assert_eq!(open_descriptors(&stage, &m), 2);
    m.answer(&call, Message::new(0));
    stage.tear_down();
}

#[test]
fn a_signal_does_not_end_descriptor_work() {
    let stage = stage();
    let m = manager(&stage);
    let p = stage.party();
    core(&stage).hold_fd_work();
    p.write(commands().oneway(0, with_file()));
    m.park();
    stage.rig().interrupt(m.caller().thread);
    core(&stage).let_fd_work_go();
    assert_eq!(m.woken_by_call().code, 1);
    stage.tear_down();
}

#[test]
fn work_of_the_process_does_not_wait_for_descriptor_work() {
    let stage = stage();
    let m = manager(&stage);
    let p = stage.party();
    let looper = m.thread();
    looper.park();
    core(&stage).hold_fd_work();
    p.write(commands().oneway(0, with_file()));
    looper.assert_parked();
    let q = stage.party();
    q.write(commands().call(0, Message::new(9)));
    assert_eq!(m.read_call().code, 9);
    stage.tear_down();
}

/// A receiver with an array of two descriptors, and the buffer to free.
fn received_array<'s>(stage: &'s Stage) -> (Party<'s>, u64) {
    let m = manager(stage);
    let p = stage.party();
    p.write(commands().oneway(0, with_array(2)));
    let oneway = m.read_call();
    assert_eq!(open_descriptors(stage, &m), 3);
    let piece: BinderBufferObject = m.peek_value(oneway.buffer + m.offsets(&oneway)[0]);
    assert_eq!(m.peek_value::<[u32; 4]>(piece.buffer), [0, 0, 1, 2]);
    (m, oneway.buffer)
}

#[test]
fn a_thread_that_frees_an_array_does_not_sleep_before_it_is_closed() {
    let stage = stage();
    let (m, buffer) = received_array(&stage);
    let Attempt { result, returns, .. } = m.attempt(m.reading(m.writing(&commands().free(buffer))));
    assert_eq!((result, returns), (Ok(()), vec![binder_testkit::Return::Noop]));
    assert_eq!(open_descriptors(&stage, &m), 1);
    m.assert_idle();
    stage.tear_down();
}

#[test]
fn what_a_signal_leaves_open_is_closed_by_the_next_call() {
    let stage = stage();
    let (m, buffer) = received_array(&stage);
    with_signals_first(&stage, || m.park_with(commands().free(buffer)));
    assert_eq!(open_descriptors(&stage, &m), 3);
    // It does not sleep before.
    expect!(m.read() => []);
    assert_eq!(open_descriptors(&stage, &m), 1);
    m.assert_idle();
    stage.tear_down();
}

#[test]
fn what_a_signal_leaves_open_is_closed_with_the_files_that_it_kept_out() {
    let stage = stage();
    let (m, buffer) = received_array(&stage);
    stage.party().write(commands().oneway(0, with_file()));
    with_signals_first(&stage, || m.park_with(commands().free(buffer)));
    m.write(commands());
    assert_eq!(open_descriptors(&stage, &m), 3, "it has its place");
    assert_eq!(m.read_call().code, 1);
    assert_eq!(open_descriptors(&stage, &m), 2);
    stage.tear_down();
}

#[test]
fn a_call_that_fails_closes_what_it_has_freed() {
    let stage = stage();
    let (m, buffer) = received_array(&stage);
    let attempt = m.try_write(commands().free(buffer).raw(&[0xff; 4]));
    assert_eq!(attempt.result, Err(Errno::INVAL));
    assert_eq!(attempt.argument.write_consumed, 12);
    assert_eq!(open_descriptors(&stage, &m), 1);
    stage.tear_down();
}

#[test]
fn one_piece_of_descriptor_work_closes_and_installs() {
    let stage = stage();
    let (m, buffer) = received_array(&stage);
    let p = stage.party();
    p.write(commands().call(0, with_file()));
    expect!(m.exchange(commands().free(buffer)) => [Transaction(call)]);
    // The lowest of those that were closed.
    assert_eq!(m.objects(&call)[0].binder, 1);
    assert_eq!(open_descriptors(&stage, &m), 2);
    stage.tear_down();
}

#[test]
fn the_numbers_of_the_sender_are_never_visible() {
    let stage = stage();
    let m = manager(&stage);
    let p = stage.party();
    let descriptors = stage.rig().descriptors();
    descriptors.limit_descriptors(p.host(), 4096);
    let fd = (1..700).map(|_| descriptors.duplicate(p.host(), OWN)).last().unwrap();
    let array = fd.to_le_bytes()[..4].repeat(2);
    let message = Message::new(1).descriptor(fd, 5).buffer(&array).descriptors(2, 1, 0);
    core(&stage).hold_fd_work();
    p.write(commands().oneway(0, message));
    m.park();
    let seen = m.peek(m.area().base, 4096);
    let fd = u32::try_from(fd).unwrap().to_le_bytes();
    assert!(seen.chunks(4).all(|word| word != fd), "the sender's number shows");
    core(&stage).let_fd_work_go();
    let oneway = m.woken_by_call();
    assert_eq!(m.objects(&oneway)[0].binder, 1, "the lowest number, and zeros above it");
    stage.tear_down();
}

#[test]
fn a_fault_on_the_way_installs_nothing_and_keeps_nothing() {
    let message = || with_array(2).descriptor(OWN, 0).flags(TF_ACCEPT_FDS);
    for step in 0.. {
        let stage = stage();
        let m = manager(&stage);
        let p = stage.party();
        core(&stage).fault_after(Some(step));
        let _ = p.try_write(commands().call(0, message()));
        m.set_mode(Mode::Nonblocking);
        let reads = || m.try_read().returns.iter().any(|it| matches!(it, Transaction(_)));
        let is_read = reads();
        let has_faulted = core(&stage).has_faulted();
        core(&stage).fault_after(None);
        // A fault of the read's beginning left the call where it was.
        let is_delivered = is_read || reads();
        assert_eq!(open_descriptors(&stage, &m), if is_delivered { 4 } else { 1 }, "step {step}");
        assert_eq!(core(&stage).captured_files(), 0, "step {step}");
        stage.tear_down();
        if !has_faulted {
            assert!(is_read && step > 12, "the act touches memory");
            return;
        }
    }
}

#[test]
fn files_that_nobody_receives_are_given_up() {
    let stage = stage();
    let m = manager(&stage);
    let p = stage.party();
    p.write(commands().oneway(0, with_file()).oneway(0, with_file()).call(0, with_array(3)));
    assert_eq!(core(&stage).captured_files(), 5);
    assert_eq!(core(&stage).live_objects().files, 5);
    // A refusal at the last object.
    let q = stage.party();
    expect!(q.exchange(commands().oneway(0, with_file().descriptor(99, 0))) => [FailedReply]);
    assert_eq!(core(&stage).captured_files(), 5);
    m.close();
    assert_eq!(core(&stage).captured_files(), 0);
    stage.tear_down();
}

#[test]
fn descriptor_work_that_ends_while_its_process_does_is_in_vain() {
    let stage = stage();
    let m = manager(&stage);
    let p = stage.party();
    // Enough for the last not to be in the first slice.
    let others: Vec<_> = (0..3000).map(|_| m.cold_thread()).collect();
    for other in &others {
        other.write(commands());
    }
    core(&stage).hold_fd_work();
    core(&stage).end_slowly();
    p.write(commands().call(0, with_file()));
    others.last().expect("many").park();
    m.close();
    core(&stage).let_fd_work_go();
    assert_eq!(core(&stage).captured_files(), 0);
    assert_eq!(core(&stage).live_objects().suspended_calls, 1);
    while core(&stage).end_some() {}
    expect!(p.read() => [TransactionComplete, DeadReply]);
    stage.tear_down();
}

#[test]
fn a_reply_amid_descriptor_work_is_still_awaited() {
    let stage = stage();
    let m = manager(&stage);
    let p = stage.party();
    core(&stage).hold_fd_work();
    p.park_with(commands().call(0, Message::new(1).flags(TF_ACCEPT_FDS)));
    let call = m.read_call();
    m.answer(&call, with_array(1));
    assert_eq!(stage.rig().settle(p.caller().thread), Progress::Parked);
    m.kill();
    core(&stage).let_fd_work_go();
    expect!(p.woken() => [TransactionComplete, Reply(_)]);
    assert_eq!(open_descriptors(&stage, &p), 2);
    stage.tear_down();
}
