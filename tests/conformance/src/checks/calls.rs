//! Calls and replies.

use binder_testkit::Return::{DeadReply, FailedReply, Reply, Transaction, TransactionComplete};
use binder_testkit::{Message, Party, Stage, close_before, commands, expect, introduce};
use binder_uapi::{BINDER_TYPE_BINDER, BR_FAILED_REPLY, BR_OK, BinderExtendedError, TF_ACCEPT_FDS};
use rustix::io::Errno;

use crate::registry::checks;

const PTR: u64 = 0x1000;
const COOKIE: u64 = 0x2000;
const OBJECT: (u64, u64) = (PTR, COOKIE);

checks! {
    Both c081_c107_a_call_and_its_reply,
    Both c082_the_completion_of_a_call_wakes_nobody,
    Both c083_code_and_flags_arrive_unchanged,
    Both c084_a_call_names_the_node,
    Both c085_c086_c097_a_call_names_its_sender_and_a_reply_does_not,
    Both c088_a_call_names_the_effective_user,
    Both c089_the_data_lies_in_the_receivers_mapping,
    Both c090_an_empty_call_gets_a_buffer_of_its_own,
    Both c091_an_unknown_handle_fails,
    Both c092_a_handle_of_the_dead_is_dead,
    Both c093_an_own_object_comes_back_as_itself,
    Both c094_a_reply_without_a_call_fails,
    Both c095_a_reply_while_waiting_for_one_fails,
    Both c096_a_second_call_while_waiting_fails,
    Both c098_a_nested_call_reaches_the_waiting_thread,
    Both c099_a_nested_call_over_three_processes_reaches_the_waiting_thread,
    Both c100_a_stranger_does_not_reach_the_waiting_thread,
    Both c101_fifty_nested_calls_unwind_in_order,
    Both c102_a_waiting_thread_takes_no_other_work,
    Both c103_the_most_recently_parked_looper_gets_the_call,
    Both c104_work_of_the_thread_comes_before_work_of_the_process,
    Both c105_a_reply_that_does_not_fit_fails_the_caller,
    Both c106_c108_a_reply_with_a_bad_object_fails_the_caller,
    Both c108_of_two_unread_failures_the_first_is_told,
    Both c109_a_failed_call_leaves_an_extended_error,
    Both c110_a_call_that_went_out_leaves_its_id,
}

fn c081_c107_a_call_and_its_reply(stage: &Stage) {
    let m = stage.manager();
    let p = stage.party();
    m.park_with(commands().enter_looper());
    p.park_with(commands().call(0, Message::new(1).flags(TF_ACCEPT_FDS).bytes(b"question")));
    let call = m.woken_by_call();
    assert_eq!(m.data(&call), b"question");
    let reply = commands().free(call.buffer).reply(Message::new(0).bytes(b"yes"));
    expect!(m.exchange(reply) => [TransactionComplete]);
    expect!(p.woken() => [TransactionComplete, Reply(reply)]);
    assert_eq!(p.data(&reply), b"yes");
    p.write(commands().free(reply.buffer));
}

fn c082_the_completion_of_a_call_wakes_nobody(stage: &Stage) {
    let _m = stage.manager();
    let p = stage.party();
    p.park_with(commands().call(0, Message::new(1)));
    p.assert_parked();
}

fn c083_code_and_flags_arrive_unchanged(stage: &Stage) {
    let m = stage.manager();
    let p = stage.party();
    p.write(commands().call(0, Message::new(0xdead_beef).flags(0xffff_ff00)));
    let call = m.read_call();
    assert_eq!((call.code, call.flags), (0xdead_beef, 0xffff_ff00));
}

fn c084_a_call_names_the_node(stage: &Stage) {
    let m = stage.manager();
    let p = stage.party();
    let handle = introduce(&m, &p, OBJECT, &m);
    m.write(commands().call(handle, Message::new(1)));
    let call = p.read_call();
    assert_eq!((call.target, call.cookie), OBJECT);
}

fn c085_c086_c097_a_call_names_its_sender_and_a_reply_does_not(stage: &Stage) {
    let m = stage.manager();
    let p = stage.party();
    p.write(commands().call(0, Message::new(1)).oneway(0, Message::new(2)));
    let call = m.read_call();
    assert_eq!(call.sender_pid, p.pid());
    expect!(p.read() => [TransactionComplete, TransactionComplete]);
    m.answer(&call, Message::new(3));
    let oneway = m.read_call();
    assert_eq!((oneway.code, oneway.sender_pid), (2, 0));
    expect!(p.read() => [Reply(reply)]);
    assert_eq!((reply.target, reply.cookie, reply.sender_pid), (0, 0, 0));
}

fn c088_a_call_names_the_effective_user(stage: &Stage) {
    let m = stage.manager();
    let p = stage.party();
    if stage.rig().set_user(p.host(), 1000).is_err() {
        stage.skip("only root can become another user");
    }
    p.write(commands().call(0, Message::new(1)));
    assert_eq!(m.read_call().sender_euid, 1000);
}

fn c089_the_data_lies_in_the_receivers_mapping(stage: &Stage) {
    let m = stage.manager();
    let p = stage.party();
    p.write(commands().call(0, Message::new(1).binder(PTR, COOKIE).bytes(b"abc")));
    let call = m.read_call();
    let area = m.area();
    assert!((area.base..area.base + area.len as u64).contains(&call.buffer));
    assert_eq!((call.data_size, call.offsets_size), (24 + 3, 8));
    assert_eq!(call.offsets, call.buffer + 32);
    assert_eq!(m.offsets(&call), [0]);
}

fn c090_an_empty_call_gets_a_buffer_of_its_own(stage: &Stage) {
    let m = stage.manager();
    let n = m.thread();
    let p = stage.party();
    p.write(commands().call(0, Message::new(1)));
    p.thread().write(commands().call(0, Message::new(1)));
    let one = m.read_call();
    let two = n.read_call();
    assert!(one.buffer != 0 && two.buffer != 0);
    assert_ne!(one.buffer, two.buffer);
    m.answer(&one, Message::new(0));
    n.answer(&two, Message::new(0));
}

fn c091_an_unknown_handle_fails(stage: &Stage) {
    let p = stage.party();
    expect!(p.exchange(commands().call(99, Message::new(1))) => [FailedReply]);
    p.assert_idle();
}

fn c092_a_handle_of_the_dead_is_dead(stage: &Stage) {
    let m = stage.manager();
    let s = stage.party();
    let p = stage.party();
    let handle = introduce(&m, &s, OBJECT, &p);
    close_before(&s, &p, handle);
    expect!(p.exchange(commands().call(handle, Message::new(1))) => [DeadReply]);
    assert_eq!(p.extended_error().param, -Errno::INVAL.raw_os_error());
}

fn c093_an_own_object_comes_back_as_itself(stage: &Stage) {
    let m = stage.manager();
    let p = stage.party();
    let handle = introduce(&m, &p, OBJECT, &m);
    p.write(commands().call(0, Message::new(1)));
    let call = m.read_call();
    m.answer(&call, Message::new(0).handle(handle));
    let object = p.objects(&p.read_reply())[0];
    assert_eq!((object.kind, object.binder, object.cookie), (BINDER_TYPE_BINDER, PTR, COOKIE));
}

fn c094_a_reply_without_a_call_fails(stage: &Stage) {
    let p = stage.party();
    expect!(p.exchange(commands().reply(Message::new(1))) => [FailedReply]);
    assert_eq!(p.extended_error().param, -Errno::PROTO.raw_os_error());
}

fn c095_a_reply_while_waiting_for_one_fails(stage: &Stage) {
    let m = stage.manager();
    let p = stage.party();
    let q = stage.party();
    let handle = introduce(&m, &q, OBJECT, &m);
    p.write(commands().call(0, Message::new(1)));
    let call = m.read_call();
    m.write(commands().call(handle, Message::new(2)));
    expect!(m.exchange(commands().reply(Message::new(0))) => [TransactionComplete, FailedReply]);
    let nested = q.read_call();
    q.answer(&nested, Message::new(0));
    expect!(m.read() => [Reply(_)]);
    m.answer(&call, Message::new(0));
    p.read_reply();
}

fn c096_a_second_call_while_waiting_fails(stage: &Stage) {
    let m = stage.manager();
    let p = stage.party();
    p.write(commands().call(0, Message::new(1)).call(0, Message::new(2)));
    expect!(p.read() => [TransactionComplete, FailedReply]);
    assert_eq!(p.extended_error().param, -Errno::PROTO.raw_os_error());
    let call = m.read_call();
    m.answer(&call, Message::new(0));
    expect!(p.read() => [Reply(_)]);
    m.assert_idle();
}

fn c098_a_nested_call_reaches_the_waiting_thread(stage: &Stage) {
    let m = stage.manager();
    let p = stage.party();
    let handle = introduce(&m, &p, OBJECT, &m);
    let idle = p.thread();
    idle.park_with(commands().enter_looper());
    p.park_with(commands().call(0, Message::new(1)));
    let call = m.read_call();
    m.write(commands().call(handle, Message::new(2)));
    expect!(p.woken() => [TransactionComplete, Transaction(nested)]);
    idle.assert_parked();
    p.answer(&nested, Message::new(0));
    m.read_reply();
    m.answer(&call, Message::new(0));
    expect!(p.read() => [Reply(_)]);
}

fn c099_a_nested_call_over_three_processes_reaches_the_waiting_thread(stage: &Stage) {
    let m = stage.manager();
    let p = stage.party();
    let t = stage.party();
    let t_at_m = introduce(&m, &t, OBJECT, &m);
    let p_at_t = introduce(&m, &p, OBJECT, &t);
    let idle = p.thread();
    idle.park_with(commands().enter_looper());
    p.park_with(commands().call(0, Message::new(1)));
    let first = m.read_call();
    m.write(commands().call(t_at_m, Message::new(2)));
    let second = t.read_call();
    t.write(commands().call(p_at_t, Message::new(3)));
    expect!(p.woken() => [TransactionComplete, Transaction(third)]);
    idle.assert_parked();
    assert_eq!((third.code, third.sender_pid), (3, t.pid()));
    p.answer(&third, Message::new(0));
    t.read_reply();
    t.answer(&second, Message::new(0));
    m.read_reply();
    m.answer(&first, Message::new(0));
    expect!(p.read() => [Reply(_)]);
}

fn c100_a_stranger_does_not_reach_the_waiting_thread(stage: &Stage) {
    let m = stage.manager();
    let p = stage.party();
    let q = stage.party();
    let handle = introduce(&m, &p, OBJECT, &q);
    p.park_with(commands().call(0, Message::new(1)));
    q.write(commands().call(handle, Message::new(2)));
    p.assert_parked();
    let other = p.thread();
    let call = other.read_call();
    assert_eq!(call.code, 2);
    // With a looper at hand it goes there at once.
    q.thread().write(commands().call(handle, Message::new(3)));
    let third = p.thread();
    assert_eq!(third.read_call().code, 3);
    p.assert_parked();
}

fn c101_fifty_nested_calls_unwind_in_order(stage: &Stage) {
    const DEPTH: u32 = 50;
    let m = stage.manager();
    let p = stage.party();
    let handle = introduce(&m, &p, OBJECT, &m);
    let mut calls = Vec::new();
    let read_nested = |party: &Party<'_>| match party.read()[..] {
        [Transaction(call)] | [TransactionComplete, Transaction(call)] => call,
        ref other => panic!("read {other:#x?}"),
    };
    for depth in 0..DEPTH {
        let (from, handle, to) = if depth % 2 == 0 { (&p, 0, &m) } else { (&m, handle, &p) };
        from.write(commands().call(handle, Message::new(depth)));
        let call = read_nested(to);
        assert_eq!(call.code, depth);
        calls.push(call);
    }
    let mut is_first = true;
    for depth in (0..DEPTH).rev() {
        let (from, to) = if depth % 2 == 0 { (&p, &m) } else { (&m, &p) };
        to.answer(&calls[depth as usize], Message::new(depth));
        let reply = match from.read()[..] {
            [Reply(reply)] if !is_first => reply,
            [TransactionComplete, Reply(reply)] if is_first => reply,
            ref other => panic!("read {other:#x?}"),
        };
        is_first = false;
        assert_eq!(reply.code, depth);
        from.write(commands().free(reply.buffer));
    }
}

fn c102_a_waiting_thread_takes_no_other_work(stage: &Stage) {
    let m = stage.manager();
    let p = stage.party();
    let q = stage.party();
    let handle = introduce(&m, &p, OBJECT, &q);
    for code in 0..10 {
        q.write(commands().oneway(handle, Message::new(code)));
    }
    p.park_with(commands().call(0, Message::new(1)));
    p.assert_parked();
    let call = m.read_call();
    m.answer(&call, Message::new(0));
    expect!(p.woken() => [TransactionComplete, Reply(_)]);
    assert_eq!(p.read_call().code, 0);
}

fn c103_the_most_recently_parked_looper_gets_the_call(stage: &Stage) {
    let m = stage.manager();
    let loopers = [m, m.thread(), m.thread()];
    for looper in &loopers {
        looper.park_with(commands().enter_looper());
    }
    let p = stage.party();
    p.write(commands().call(0, Message::new(1)));
    expect!(loopers[2].woken() => [Transaction(_)]);
    loopers[0].assert_parked();
    loopers[1].assert_parked();
}

fn c104_work_of_the_thread_comes_before_work_of_the_process(stage: &Stage) {
    let m = stage.manager();
    let p = stage.party();
    let q = stage.party();
    let handle = introduce(&m, &p, OBJECT, &q);
    q.write(commands().oneway(handle, Message::new(1)));
    p.write(commands().oneway(0, Message::new(2)));
    expect!(p.read() => [TransactionComplete]);
    assert_eq!(p.read_call().code, 1);
}

fn c105_a_reply_that_does_not_fit_fails_the_caller(stage: &Stage) {
    let m = stage.manager();
    // Whole pages, whatever their size.
    const AREA: usize = 64 << 10;
    let p = stage.party_with_area(AREA);
    p.write(commands().call(0, Message::new(1)));
    let call = m.read_call();
    m.answer(&call, Message::new(0).bytes(&[0; AREA + 8]));
    expect!(p.read() => [TransactionComplete, FailedReply]);
    assert_eq!(p.extended_error().param, -Errno::NOSPC.raw_os_error());
}

fn c106_c108_a_reply_with_a_bad_object_fails_the_caller(stage: &Stage) {
    let m = stage.manager();
    let p = stage.party();
    p.write(commands().call(0, Message::new(1)));
    let call = m.read_call();
    m.answer(&call, Message::new(0).handle(77));
    expect!(p.read() => [TransactionComplete, FailedReply]);
    m.assert_idle();
}

fn c108_of_two_unread_failures_the_first_is_told(stage: &Stage) {
    let m = stage.manager();
    let s = stage.party();
    let p = stage.party();
    let handle = introduce(&m, &s, OBJECT, &p);
    p.write(commands().call(handle, Message::new(1)));
    close_before(&s, &p.thread(), handle);
    p.write(commands().call(0, Message::new(2)));
    let call = m.read_call();
    m.answer(&call, Message::new(0).handle(77));
    expect!(p.read() => [TransactionComplete, DeadReply, TransactionComplete]);
    p.assert_idle();
}

fn c109_a_failed_call_leaves_an_extended_error(stage: &Stage) {
    let p = stage.party();
    expect!(p.exchange(commands().call(99, Message::new(1))) => [FailedReply]);
    let error = p.extended_error();
    assert_ne!(error.id, 0);
    assert_eq!((error.command, error.param), (BR_FAILED_REPLY, -22));
    let none = BinderExtendedError { id: 0, command: BR_OK, param: 0 };
    assert_eq!(p.extended_error(), none);
}

fn c110_a_call_that_went_out_leaves_its_id(stage: &Stage) {
    let _m = stage.manager();
    let p = stage.party();
    p.write(commands().call(0, Message::new(1)));
    let error = p.extended_error();
    assert_ne!(error.id, 0);
    assert_eq!((error.command, error.param), (BR_OK, 0));
}
