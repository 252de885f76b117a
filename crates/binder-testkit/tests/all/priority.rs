//! A thread runs at the priority of the caller whom it serves, and not below what the node asks.

use binder_core::{Inheritance, Policy, Priority};
use binder_testkit::Return::{DeadReply, Reply, Transaction, TransactionComplete};
use binder_testkit::{CoreRig, Message, Party, Stage, commands, expect, introduce};
use binder_uapi::{BINDER_TYPE_BINDER, FLAT_BINDER_FLAG_INHERIT_RT, FlatBinderObject};

/// The least nice value that there is.
const NICEST: u32 = 19;
/// What a node asks for that is to be served at `SCHED_FIFO` 3.
const MIN_FIFO_3: u32 = 0x203;

fn stage_inheriting(inheritance: Inheritance) -> Stage {
    Stage::new(Box::new(CoreRig::default().inheriting(inheritance)))
}

/// One whose threads inherit nice values.
fn nice_stage() -> Stage {
    stage_inheriting(Inheritance::Nice)
}

/// One whose threads inherit policies and priorities.
fn stage() -> Stage {
    stage_inheriting(Inheritance::Priority)
}

fn set(stage: &Stage, party: &Party<'_>, priority: Priority) {
    stage.rig().core().expect("a rig on the core").set_priority(party.caller().thread, priority);
}

fn priority_of(stage: &Stage, party: &Party<'_>) -> Option<Priority> {
    stage.rig().core().expect("a rig on the core").priority_of(party.caller().thread)
}

const fn nice(nice: i8) -> Priority {
    Priority::nice(nice)
}

/// As a thread has it by itself.
const fn fifo(level: i8) -> Priority {
    Priority { policy: Policy::Fifo, level, resets_on_fork: false }
}

/// As a thread inherits it: what it starts is ordinary.
const fn inherited_fifo(level: i8) -> Priority {
    Priority { resets_on_fork: true, ..fifo(level) }
}

/// A manager that asks those who serve it for this value.
fn manager(stage: &Stage, asked: u32) -> Party<'_> {
    let (kind, flags, binder, cookie) = (BINDER_TYPE_BINDER, asked, 0x10, 0x20);
    let m = stage.manager_named(FlatBinderObject { kind, flags, binder, cookie });
    set(stage, &m, nice(0));
    m
}

#[test]
fn a_server_is_as_nice_as_its_caller_until_it_answers() {
    for stage in [nice_stage(), stage()] {
        let (m, p) = (manager(&stage, NICEST), stage.party());
        set(&stage, &p, nice(-7));
        p.write(commands().call(0, Message::new(1)));
        let call = m.read_call();
        assert_eq!(priority_of(&stage, &m), Some(nice(-7)));
        m.answer(&call, Message::new(0));
        assert_eq!(priority_of(&stage, &m), Some(nice(0)));
        expect!(p.read() => [TransactionComplete, Reply(_)]);
        assert_eq!(priority_of(&stage, &p), Some(nice(-7)));
        stage.tear_down();
    }
}

#[test]
fn a_caller_that_is_nicer_than_the_node_asks_is_served_as_the_node_asks() {
    for stage in [nice_stage(), stage()] {
        let (m, p) = (manager(&stage, 5), stage.party());
        set(&stage, &p, nice(10));
        p.write(commands().call(0, Message::new(1)));
        m.read_call();
        assert_eq!(priority_of(&stage, &m), Some(nice(5)));
        stage.tear_down();
    }
}

#[test]
fn a_oneway_is_served_as_the_node_asks_until_the_thread_is_free() {
    for stage in [nice_stage(), stage()] {
        let (m, p) = (manager(&stage, 3), stage.party());
        set(&stage, &p, nice(-7));
        set(&stage, &m, nice(8));
        p.write(commands().oneway(0, Message::new(1)));
        m.read_call();
        // The reading itself made it what its process is; that is less nice than was asked.
        assert_eq!(priority_of(&stage, &m), Some(nice(0)));
        stage.tear_down();
    }
}

#[test]
fn a_nested_call_leaves_a_thread_as_nice_as_it_found_it() {
    for stage in [nice_stage(), stage()] {
        let (m, p, q) = (manager(&stage, NICEST), stage.party(), stage.party());
        let handle = introduce(&m, &p, (0x1000, 0x2000), &q);
        let to_q = introduce(&m, &q, (0x3000, 0x4000), &p);
        for (party, value) in [(&p, -3), (&q, 4)] {
            set(&stage, party, nice(value));
        }
        p.write(commands().call(to_q, Message::new(1)));
        let outer = q.read_call();
        assert_eq!(priority_of(&stage, &q), Some(nice(-3)));
        q.write(commands().call(handle, Message::new(2)));
        expect!(p.read() => [TransactionComplete, Transaction(nested)]);
        assert_eq!(priority_of(&stage, &p), Some(nice(-3)));
        p.answer(&nested, Message::new(0));
        expect!(q.read() => [TransactionComplete, Reply(_)]);
        assert_eq!(priority_of(&stage, &q), Some(nice(-3)));
        q.answer(&outer, Message::new(0));
        // Before it took the call it was free, and then as its process is.
        assert_eq!(priority_of(&stage, &q), Some(nice(0)));
        stage.tear_down();
    }
}

#[test]
fn no_thread_is_changed_that_does_not_take_part() {
    let stage = stage();
    let m = stage.manager();
    let p = stage.party();
    set(&stage, &p, nice(-7));
    p.write(commands().call(0, Message::new(1)));
    m.read_call();
    assert_eq!(priority_of(&stage, &m), None);
    stage.tear_down();
}

#[test]
fn a_realtime_caller_is_served_by_a_realtime_thread_where_the_node_inherits_that() {
    let stage = stage();
    let (m, p) = (manager(&stage, NICEST | FLAT_BINDER_FLAG_INHERIT_RT), stage.party());
    set(&stage, &p, fifo(5));
    p.write(commands().call(0, Message::new(1)));
    let call = m.read_call();
    assert_eq!(priority_of(&stage, &m), Some(inherited_fifo(5)));
    m.answer(&call, Message::new(0));
    assert_eq!(priority_of(&stage, &m), Some(nice(0)));
    expect!(p.read() => [TransactionComplete, Reply(_)]);
    assert_eq!(priority_of(&stage, &p), Some(fifo(5)));
    stage.tear_down();
}

#[test]
fn a_realtime_caller_of_any_other_node_is_served_by_an_ordinary_thread() {
    let stage = stage();
    let (m, p) = (manager(&stage, NICEST), stage.party());
    set(&stage, &p, fifo(5));
    p.write(commands().call(0, Message::new(1)));
    m.read_call();
    assert_eq!(priority_of(&stage, &m), Some(nice(0)));
    stage.tear_down();
}

#[test]
fn an_ordinary_caller_is_served_at_least_as_the_node_asks() {
    let stage = stage();
    let (m, p) = (manager(&stage, MIN_FIFO_3), stage.party());
    set(&stage, &p, nice(0));
    p.write(commands().call(0, Message::new(1)));
    let call = m.read_call();
    assert_eq!(priority_of(&stage, &m), Some(inherited_fifo(3)));
    m.answer(&call, Message::new(0));
    assert_eq!(priority_of(&stage, &m), Some(nice(0)));
    stage.tear_down();
}

#[test]
fn where_only_nice_values_are_inherited_a_node_asks_for_no_policy() {
    let stage = nice_stage();
    let (m, p) = (manager(&stage, MIN_FIFO_3), stage.party());
    set(&stage, &p, nice(10));
    p.write(commands().call(0, Message::new(1)));
    m.read_call();
    assert_eq!(priority_of(&stage, &m), Some(nice(3)));
    stage.tear_down();
}

#[test]
fn a_oneway_of_a_realtime_caller_is_served_as_the_node_asks_until_the_next_read() {
    let stage = stage();
    let (m, p) = (manager(&stage, MIN_FIFO_3 | FLAT_BINDER_FLAG_INHERIT_RT), stage.party());
    set(&stage, &p, fifo(50));
    p.write(commands().oneway(0, Message::new(1)));
    m.read_call();
    assert_eq!(priority_of(&stage, &m), Some(inherited_fifo(3)));
    m.park();
    assert_eq!(priority_of(&stage, &m), Some(nice(0)));
    stage.tear_down();
}

#[test]
fn a_thread_that_changed_itself_while_it_served_is_what_it_was_before() {
    let stage = stage();
    let (m, p) = (manager(&stage, NICEST), stage.party());
    set(&stage, &p, nice(4));
    p.write(commands().call(0, Message::new(1)));
    let call = m.read_call();
    assert_eq!(priority_of(&stage, &m), Some(nice(4)));
    set(&stage, &m, fifo(9));
    m.answer(&call, Message::new(0));
    assert_eq!(priority_of(&stage, &m), Some(nice(0)));
    stage.tear_down();
}

#[test]
fn a_thread_that_gives_up_its_calls_is_what_it_was_before_the_first() {
    let stage = stage();
    let (m, p, q) = (manager(&stage, NICEST), stage.party(), stage.party());
    let to_p = introduce(&m, &p, (0x1000, 0x2000), &q);
    let to_q = introduce(&m, &q, (0x3000, 0x4000), &p);
    set(&stage, &p, nice(-3));
    set(&stage, &q, nice(0));
    p.write(commands().call(to_q, Message::new(1)));
    q.read_call();
    assert_eq!(priority_of(&stage, &q), Some(nice(-3)));
    set(&stage, &q, nice(-5));
    q.write(commands().call(to_p, Message::new(2)));
    expect!(p.read() => [TransactionComplete, Transaction(_)]);
    assert_eq!(priority_of(&stage, &p), Some(nice(-5)));
    p.exit_thread();
    assert_eq!(priority_of(&stage, &p), Some(nice(-3)));
    expect!(q.read() => [TransactionComplete, DeadReply]);
    q.exit_thread();
    assert_eq!(priority_of(&stage, &q), Some(nice(0)));
    stage.tear_down();
}

#[test]
fn a_thread_whose_file_is_closed_is_what_it_was_before() {
    let stage = stage();
    let (m, p) = (manager(&stage, MIN_FIFO_3), stage.party());
    set(&stage, &p, nice(0));
    p.write(commands().call(0, Message::new(1)));
    m.read_call();
    assert_eq!(priority_of(&stage, &m), Some(inherited_fifo(3)));
    m.close();
    assert_eq!(priority_of(&stage, &m), Some(nice(0)));
    expect!(p.read() => [TransactionComplete, DeadReply]);
    stage.tear_down();
}

#[test]
fn a_server_keeps_what_it_inherited_from_a_caller_that_dies_until_it_answers() {
    let stage = stage();
    let (m, p) = (manager(&stage, NICEST | FLAT_BINDER_FLAG_INHERIT_RT), stage.party());
    set(&stage, &p, fifo(5));
    p.write(commands().call(0, Message::new(1)));
    let call = m.read_call();
    p.kill();
    assert_eq!(priority_of(&stage, &m), Some(inherited_fifo(5)));
    m.write(commands().reply(Message::new(0)));
    assert_eq!(priority_of(&stage, &m), Some(nice(0)));
    expect!(m.read() => [TransactionComplete]);
    m.write(commands().free(call.buffer));
    stage.tear_down();
}
