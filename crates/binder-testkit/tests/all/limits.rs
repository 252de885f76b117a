//! Every table that a client can make longer ends somewhere, and the client alone feels it.

mod users;

use binder_core::{Amounts, Limits, LiveObjects, Resource, SendEnd};
use binder_testkit::Return::{
    self, Acquire, ClearDeathDone, DeadBinder, DeadReply, Error, FailedReply, FrozenBinder,
    Increfs, Reply, Transaction, TransactionComplete,
};
use binder_testkit::{
    CoreRig, Device, Entrance, Message, Mode, Party, Stage, commands, expect, introduce,
    settle_down,
};
use binder_uapi::{
    BINDER_TYPE_BINDER, BR_FAILED_REPLY, BR_OK, FLAT_BINDER_FLAG_ACCEPTS_FDS, FlatBinderObject,
    TF_ACCEPT_FDS,
};
use rustix::io::Errno;

const FEW: Limits = Limits {
    per_file: Amounts::of_each(4).with(Resource::Unread, 8),
    per_user: Amounts::of_each(100).with(Resource::Bytes, 1 << 20),
    all_bytes: 1 << 20,
};

fn stage() -> Stage {
    Stage::new(Box::new(CoreRig::with_limits(FEW)))
}

fn live_objects(stage: &Stage) -> LiveObjects {
    stage.rig().core().expect("a rig on the core").live_objects()
}

/// Sends and reads what came of it, the acknowledgements made.
fn outcome(p: &Party<'_>, message: Message) -> Vec<Return> {
    let mut outcome = Vec::new();
    for returned in p.exchange(commands().oneway(0, message)) {
        match returned {
            Increfs(ptr, cookie) => p.write(commands().increfs_done(ptr, cookie)),
            Acquire(ptr, cookie) => p.write(commands().acquire_done(ptr, cookie)),
            other => outcome.push(other),
        }
    }
    outcome
}

fn assert_no_memory(p: &Party<'_>) {
    let error = p.extended_error();
    assert_eq!((error.command, error.param), (BR_FAILED_REPLY, -Errno::NOMEM.raw_os_error()));
}

/// Another client is not concerned.
fn assert_served(m: &Party<'_>, q: &Party<'_>) {
    q.write(commands().call(0, Message::new(7)));
    loop {
        let returns = m.read();
        let call = returns.iter().find_map(|returned| match returned {
            Transaction(call) if call.code == 7 => Some(*call),
            Transaction(oneway) => {
                m.write(commands().free(oneway.buffer));
                None
            }
            _ => None,
        });
        if let Some(call) = call {
            m.answer(&call, Message::new(8));
            break;
        }
    }
    let reply = q.read_reply();
    assert_eq!(reply.code, 8);
    q.write(commands().free(reply.buffer));
}

/// A manager that takes files.
fn manager_of_files(stage: &Stage) -> Party<'_> {
    let (kind, flags) = (BINDER_TYPE_BINDER, FLAT_BINDER_FLAG_ACCEPTS_FDS);
    stage.manager_named(FlatBinderObject { kind, flags, ..FlatBinderObject::default() })
}

#[test]
fn files_beyond_the_limit_fail_their_transaction_until_some_arrive() {
    let stage = stage();
    let m = manager_of_files(&stage);
    let (p, q) = (stage.party(), stage.party());
    let files = |count| (0..count).fold(Message::new(1), |message, _| message.descriptor(0, 0));
    let captured = || stage.rig().core().expect("a rig on the core").captured_files();
    assert_eq!(outcome(&p, files(5)), [FailedReply]);
    assert_no_memory(&p);
    assert_eq!(captured(), 0);
    assert_eq!(outcome(&p, files(4)), [TransactionComplete]);
    assert_eq!(outcome(&p, files(1)), [FailedReply]);
    assert_no_memory(&p);
    assert_eq!(outcome(&q, files(1)), [TransactionComplete]);
    assert_eq!(captured(), 5);
    assert_served(&m, &q);
    assert_eq!(outcome(&p, files(1)), [TransactionComplete]);
    stage.tear_down();
}

#[test]
fn threads_beyond_the_limit_are_refused_until_one_exits() {
    let stage = stage();
    let m = stage.manager();
    let (p, q) = (stage.party(), stage.party());
    let others = [p.thread(), p.thread(), p.thread()];
    let late = p.cold_thread();
    assert_eq!(late.try_write(commands()).result, Err(Errno::NOMEM));
    assert_served(&m, &q);
    others[0].exit_thread();
    late.write(commands());
    stage.tear_down();
}

#[test]
fn a_transaction_with_one_node_too_many_fails_whole() {
    let stage = stage();
    let m = stage.manager();
    let (p, q) = (stage.party(), stage.party());
    for object in 1..=3 {
        let sent = outcome(&p, Message::new(1).binder(object * 8, 0));
        expect!(sent => [TransactionComplete]);
        let received = m.read_call();
        m.write(commands().acquire(m.objects(&received)[0].handle()).free(received.buffer));
    }
    let before = live_objects(&stage);
    expect!(outcome(&p, Message::new(1).binder(0x100, 0).binder(0x200, 0)) => [FailedReply]);
    assert_no_memory(&p);
    assert_eq!(live_objects(&stage), before);
    assert_served(&m, &q);
    stage.tear_down();
}

#[test]
fn a_receiver_with_all_its_handles_costs_the_sender_its_transaction() {
    let stage = stage();
    let m = stage.manager();
    let (p, q) = (stage.party(), stage.party());
    for (sender, object) in [(&p, 8), (&p, 16), (&q, 8), (&q, 16)] {
        expect!(outcome(sender, Message::new(1).binder(object, 0)) => [TransactionComplete]);
        let received = m.read_call();
        m.write(commands().acquire(m.objects(&received)[0].handle()).free(received.buffer));
    }
    expect!(outcome(&p, Message::new(1).binder(24, 0)) => [FailedReply]);
    assert_no_memory(&p);
    // What it knows already takes no handle.
    expect!(outcome(&p, Message::new(1).binder(8, 0)) => [TransactionComplete]);
    assert_served(&m, &q);
    stage.tear_down();
}

#[test]
fn a_death_link_too_many_is_told_by_an_error_and_stops_the_write() {
    let stage = stage();
    let m = stage.manager();
    let p = stage.party();
    let handle = introduce(&m, &m, (0x10, 0x20), &p);
    // Each clear waits to be read, and its link with it.
    let mut write = commands();
    for cookie in 0..4 {
        write = write.request_death(handle, cookie).clear_death(handle, cookie);
    }
    p.write(write);
    let attempt = p.try_write(commands().request_death(handle, 5).acquire(handle));
    assert_eq!(attempt.result, Ok(()));
    assert_eq!(attempt.argument.write_consumed, 16, "the command is taken, and none after it");
    expect!(p.read() => [Error]);
    assert_eq!(p.read(), [0, 1, 2, 3].map(ClearDeathDone));
    p.write(commands().request_death(handle, 6));
    m.close();
    expect!(p.read() => [DeadBinder(6)]);
    stage.tear_down();
}

#[test]
fn calls_that_call_back_nest_to_a_limit() {
    let stage = stage();
    let m = stage.manager();
    let (p, q) = (stage.party(), stage.party());
    let handle = {
        p.write(commands().call(0, Message::new(1).binder(8, 0)));
        let call = m.read_call();
        let handle = m.objects(&call)[0].handle();
        m.write(commands().acquire(handle));
        m.answer(&call, Message::new(0));
        settle_down(&[p]);
        handle
    };
    // Buffers are freed on the way: nothing but the calls themselves is left of it.
    let ends = |depth: u32| if depth.is_multiple_of(2) { (&p, 0, &m) } else { (&m, handle, &p) };
    for depth in 0..8 {
        let (caller, target, server) = ends(depth);
        caller.write(commands().call(target, Message::new(2)));
        let returns = server.read();
        let Some(Transaction(call)) = returns.last() else { panic!("read {returns:#x?}") };
        server.write(commands().free(call.buffer));
    }
    let before = live_objects(&stage);
    expect!(p.exchange(commands().call(0, Message::new(2))) => [FailedReply]);
    assert_no_memory(&p);
    assert_eq!(live_objects(&stage).charged, before.charged);
    // All come back, the last first.
    for depth in (0..8).rev() {
        let (caller, _, server) = ends(depth);
        server.write(commands().reply(Message::new(3)));
        let returns = caller.read();
        let Some(Reply(reply)) = returns.last() else { panic!("read {returns:#x?}") };
        caller.write(commands().free(reply.buffer));
    }
    settle_down(&[m, p]);
    assert_served(&m, &q);
    stage.tear_down();
}

#[test]
fn oneways_that_nobody_reads_are_charged_to_their_sender() {
    let stage = stage();
    let m = stage.manager();
    let (p, q) = (stage.party(), stage.party());
    for _ in 0..4 {
        expect!(outcome(&p, Message::new(1)) => [TransactionComplete]);
    }
    expect!(outcome(&p, Message::new(1)) => [FailedReply]);
    assert_no_memory(&p);
    expect!(outcome(&q, Message::new(1)) => [TransactionComplete]);
    // One that was read is no longer under way.
    let first = m.read_call();
    expect!(outcome(&p, Message::new(1)) => [TransactionComplete]);
    m.write(commands().free(first.buffer));
    assert_served(&m, &q);
    stage.tear_down();
}

#[test]
fn a_thread_that_never_reads_cannot_send_for_ever() {
    let stage = stage();
    let m = stage.manager();
    let p = stage.party();
    for _ in 0..8 {
        p.write(commands().oneway(0, Message::new(1)));
        m.write(commands().free(m.read_call().buffer));
    }
    p.write(commands().oneway(0, Message::new(1)));
    let returns = p.read();
    assert_eq!(returns[..8], [TransactionComplete; 8]);
    assert_eq!(returns[8..], [FailedReply]);
    assert_no_memory(&p);
    stage.tear_down();
}

#[test]
fn a_process_with_many_objects_ends_in_slices_and_is_dead_from_the_first() {
    const OBJECTS: u64 = 5000;
    let stage = Stage::new(Box::new(CoreRig::default()));
    let core = stage.rig().core().expect("a rig on the core");
    let m = stage.enter(Entrance { mode: Mode::Nonblocking, ..Entrance::default() });
    stage.appoint(&m);
    let p = stage.enter(Entrance { mode: Mode::Nonblocking, ..Entrance::default() });
    let q = stage.party();
    let mut handles = Vec::new();
    for object in 1..=OBJECTS {
        p.write(commands().oneway(0, Message::new(1).binder(object * 8, 0)));
        let _ = p.try_read();
        let Some(Transaction(oneway)) = m.try_read().returns.last().copied() else {
            panic!("one-way {object} does not arrive")
        };
        let handle = m.objects(&oneway)[0].handle();
        m.write(commands().acquire(handle).free(oneway.buffer).request_death(handle, object));
        handles.push(handle);
    }
    m.write(commands().oneway(handles[0], Message::new(1)));
    m.write(commands().oneway(handles[0], Message::new(1)));
    let _ = m.try_read();

    core.end_slowly();
    p.close();
    assert!(live_objects(&stage).nodes > 1000, "not at once");
    let last = *handles.last().expect("many");
    for handle in [handles[0], last] {
        m.write(commands().call(handle, Message::new(1)));
        assert_eq!(m.try_read().returns.iter().filter(|r| **r == DeadReply).count(), 1);
        assert_eq!(m.extended_error().param, -Errno::INVAL.raw_os_error());
    }
    // A link that is made in between is told, too.
    m.write(commands().clear_death(last, OBJECTS).request_death(last, 1 << 32));
    // Others are served between two slices.
    let mut deaths = 0;
    let mut read_on = || {
        let attempt = m.try_read();
        let is_death = |returned: &&Return| matches!(returned, DeadBinder(_));
        deaths += attempt.returns.iter().filter(is_death).count();
        if let Some(Transaction(call)) = attempt.returns.last() {
            m.write(commands().free(call.buffer).reply(Message::new(8)));
        }
        attempt.result.is_ok()
    };
    q.write(commands().call(0, Message::new(7)));
    while core.end_some() {
        read_on();
    }
    while read_on() {}
    assert_eq!(deaths as u64, OBJECTS);
    assert_eq!(q.read_reply().code, 8);
    m.write(commands().call(last, Message::new(1)));
    assert!(m.try_read().returns.contains(&DeadReply));
    assert_eq!(BR_OK, q.extended_error().command);
    stage.tear_down();
}
