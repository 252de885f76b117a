//! What others may do while a call waits for memory of its own process.

use binder_testkit::Return::{DeadReply, Reply, Transaction, TransactionComplete};
use binder_testkit::{CoreRig, Message, Party, Stage, commands, expect};

fn stage() -> Stage {
    Stage::new(Box::new(CoreRig::default()))
}

fn core(stage: &Stage) -> &CoreRig {
    stage.rig().core().expect("a rig on the core")
}

fn reads(party: &Party<'_>) {
    party.start(party.reading(party.writing(&commands())));
}

#[test]
fn a_long_write_lets_others_go_in_between() {
    let stage = stage();
    let m = stage.manager();
    let (p, q) = (stage.party(), stage.party());
    m.park();
    core(&stage).hold_windows();
    let many = (0..100).fold(commands(), |all, _| all.oneway(0, Message::new(1)));
    p.start(p.writing(&many));
    q.start(q.writing(&commands().oneway(0, Message::new(2))));
    let mut windows = 0;
    while q.is_parked() {
        assert!(core(&stage).pass_window());
        windows += 1;
    }
    assert!(windows <= 4, "one comes to its turn after a piece or two of another's write");
    assert!(p.is_parked(), "which is not over");
    core(&stage).let_windows_pass();
    assert!(!p.is_parked());
    assert_eq!(core(&stage).snapshot().processes.len(), 3);
    stage.tear_down();
}

#[test]
fn a_receiver_that_is_killed_before_it_has_the_call_answers_it_by_its_death() {
    let stage = stage();
    let m = stage.manager();
    let p = stage.party();
    // They have read before, and need not find out whether they can.
    p.assert_idle();
    m.assert_idle();
    // Before the read begins, whose returns might else go back with its answer.
    core(&stage).hold_windows();
    m.park();
    p.start(p.reading(p.writing(&commands().call(0, Message::new(1).bytes(b"for a while")))));
    assert!(core(&stage).pass_window(), "the call is fetched");
    assert_eq!(core(&stage).live_objects().transactions, 1);
    assert!(m.is_parked(), "it is about to be handed over");
    m.kill();
    core(&stage).let_windows_pass();
    expect!(p.woken() => [TransactionComplete, DeadReply]);
    stage.tear_down();
}

#[test]
fn a_sender_that_is_killed_before_its_call_was_taken_has_sent_nothing() {
    let stage = stage();
    let m = stage.manager();
    let p = stage.party();
    m.park();
    core(&stage).hold_windows();
    p.start(p.reading(p.writing(&commands().call(0, Message::new(1)))));
    p.kill();
    core(&stage).let_windows_pass();
    m.assert_parked();
    assert_eq!(core(&stage).live_objects().transactions, 0);
    stage.tear_down();
}

#[test]
fn a_sender_that_is_killed_while_its_call_is_handed_over_is_not_missed() {
    let stage = stage();
    let m = stage.manager();
    let p = stage.party();
    m.park();
    core(&stage).hold_windows();
    p.start(p.reading(p.writing(&commands().call(0, Message::new(1)))));
    assert!(core(&stage).pass_window());
    p.kill();
    core(&stage).let_windows_pass();
    let call = m.woken_by_call();
    m.write(commands().free(call.buffer).reply(Message::new(2)));
    stage.tear_down();
}

/// The first one-way of an object keeps the others back until its buffer is freed, also while its reader
/// waits for its own memory.
#[test]
fn oneways_of_an_object_keep_their_order_through_windows() {
    let stage = stage();
    let m = stage.manager();
    let p = stage.party();
    m.park();
    let helper = m.thread();
    core(&stage).hold_windows();
    p.start(p.writing(&commands().oneway(0, Message::new(1)).oneway(0, Message::new(2))));
    assert!(core(&stage).pass_window(), "both are sent");
    reads(&helper);
    helper.assert_parked();
    core(&stage).let_windows_pass();
    assert!(helper.is_parked(), "the second waits for the first");
    let first = m.woken_by_call();
    assert_eq!(first.code, 1);
    m.write(commands().free(first.buffer));
    assert_eq!(helper.woken_by_call().code, 2);
    stage.tear_down();
}

#[test]
fn a_reply_that_is_handed_over_leaves_its_sender_free() {
    let stage = stage();
    let m = stage.manager();
    let p = stage.party();
    p.park_with(commands().call(0, Message::new(1)));
    let call = m.read_call();
    core(&stage).hold_windows();
    m.start(m.writing(&commands().free(call.buffer).reply(Message::new(2))));
    assert!(core(&stage).pass_window());
    assert!(!m.is_parked() && p.is_parked());
    m.kill();
    core(&stage).let_windows_pass();
    expect!(p.woken() => [TransactionComplete, Reply(reply)]);
    assert_eq!(reply.code, 2);
    stage.tear_down();
}

#[test]
fn a_thread_that_waits_for_its_memory_is_not_taken_for_an_idle_one() {
    let stage = stage();
    let m = stage.manager();
    let (p, q) = (stage.party(), stage.party());
    m.park();
    core(&stage).hold_windows();
    p.start(p.writing(&commands().call(0, Message::new(1))));
    assert!(core(&stage).pass_window(), "fetched");
    q.start(q.writing(&commands().call(0, Message::new(2))));
    core(&stage).let_windows_pass();
    assert_eq!(m.woken_by_call().code, 1);
    let helper = m.thread();
    expect!(helper.read() => [Transaction(second)]);
    assert_eq!(second.code, 2);
    stage.tear_down();
}
