//! A thread is as nice as the caller whom it serves.

use binder_testkit::Return::{Reply, Transaction, TransactionComplete};
use binder_testkit::{CoreRig, Message, Party, Stage, commands, expect, introduce};
use binder_uapi::{BINDER_TYPE_BINDER, FlatBinderObject};

fn stage() -> Stage {
    Stage::new(Box::new(CoreRig::default()))
}

fn set_nice(stage: &Stage, party: &Party<'_>, nice: i8) {
    stage.rig().core().expect("a rig on the core").set_nice(party.caller().thread, nice);
}

fn nice_of(stage: &Stage, party: &Party<'_>) -> Option<i8> {
    stage.rig().core().expect("a rig on the core").nice_of(party.caller().thread)
}

/// A manager that asks those who serve it for this value.
fn manager(stage: &Stage, asked: u32) -> Party<'_> {
    let (kind, flags, binder, cookie) = (BINDER_TYPE_BINDER, asked, 0x10, 0x20);
    let m = stage.manager_named(FlatBinderObject { kind, flags, binder, cookie });
    set_nice(stage, &m, 0);
    m
}

#[test]
fn a_server_is_as_nice_as_its_caller_until_it_answers() {
    let stage = stage();
    let (m, p) = (manager(&stage, 19), stage.party());
    set_nice(&stage, &p, -7);
    p.write(commands().call(0, Message::new(1)));
    let call = m.read_call();
    assert_eq!(nice_of(&stage, &m), Some(-7));
    m.answer(&call, Message::new(0));
    assert_eq!(nice_of(&stage, &m), Some(0));
    expect!(p.read() => [TransactionComplete, Reply(_)]);
    assert_eq!(nice_of(&stage, &p), Some(-7));
    stage.tear_down();
}

#[test]
fn a_caller_that_is_nicer_than_the_node_asks_is_served_as_the_node_asks() {
    let stage = stage();
    let (m, p) = (manager(&stage, 5), stage.party());
    set_nice(&stage, &p, 10);
    p.write(commands().call(0, Message::new(1)));
    m.read_call();
    assert_eq!(nice_of(&stage, &m), Some(5));
    stage.tear_down();
}

#[test]
fn a_oneway_is_served_as_the_node_asks_until_the_thread_is_free() {
    let stage = stage();
    let (m, p) = (manager(&stage, 3), stage.party());
    set_nice(&stage, &p, -7);
    set_nice(&stage, &m, 8);
    p.write(commands().oneway(0, Message::new(1)));
    m.read_call();
    // The reading itself made it what its process is; that is less nice than was asked.
    assert_eq!(nice_of(&stage, &m), Some(0));
    stage.tear_down();
}

#[test]
fn a_nested_call_leaves_a_thread_as_nice_as_it_found_it() {
    let stage = stage();
    let (m, p, q) = (manager(&stage, 19), stage.party(), stage.party());
    let handle = introduce(&m, &p, (0x1000, 0x2000), &q);
    let to_q = introduce(&m, &q, (0x3000, 0x4000), &p);
    for (party, nice) in [(&p, -3), (&q, 4)] {
        set_nice(&stage, party, nice);
    }
    p.write(commands().call(to_q, Message::new(1)));
    let outer = q.read_call();
    assert_eq!(nice_of(&stage, &q), Some(-3));
    q.write(commands().call(handle, Message::new(2)));
    expect!(p.read() => [TransactionComplete, Transaction(nested)]);
    assert_eq!(nice_of(&stage, &p), Some(-3));
    p.answer(&nested, Message::new(0));
    expect!(q.read() => [TransactionComplete, Reply(_)]);
    assert_eq!(nice_of(&stage, &q), Some(-3));
    q.answer(&outer, Message::new(0));
    // Before it took the call it was free, and then as its process is.
    assert_eq!(nice_of(&stage, &q), Some(0));
    stage.tear_down();
}

#[test]
fn nobody_is_made_nice_who_does_not_take_part() {
    let stage = stage();
    let m = stage.manager();
    let p = stage.party();
    set_nice(&stage, &p, -7);
    p.write(commands().call(0, Message::new(1)));
    m.read_call();
    assert_eq!(nice_of(&stage, &m), None);
    stage.tear_down();
}
