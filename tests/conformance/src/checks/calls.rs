//! Calls and replies.

use binder_testkit::Return::{FailedReply, Reply, Transaction, TransactionComplete};
use binder_testkit::{Message, Stage, commands, expect};
use binder_uapi::TF_ACCEPT_FDS;

use crate::registry::checks;

checks! {
    Both c081_a_call_and_its_reply,
    Both c082_the_completion_of_a_call_wakes_nobody,
    Both c083_code_and_flags_arrive_unchanged,
    Both c085_c086_a_call_names_its_sender_and_a_reply_does_not,
    Both c091_an_unknown_handle_fails,
    Both c094_a_reply_without_a_call_fails,
    Both c103_the_most_recently_parked_looper_gets_the_call,
}

fn c081_a_call_and_its_reply(stage: &Stage) {
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
    assert!(p.is_parked());
}

fn c083_code_and_flags_arrive_unchanged(stage: &Stage) {
    let m = stage.manager();
    let p = stage.party();
    p.write(commands().call(0, Message::new(0xdead_beef).flags(0xffff_ff00)));
    let call = m.read_call();
    assert_eq!((call.code, call.flags), (0xdead_beef, 0xffff_ff00));
}

fn c085_c086_a_call_names_its_sender_and_a_reply_does_not(stage: &Stage) {
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

fn c091_an_unknown_handle_fails(stage: &Stage) {
    let p = stage.party();
    expect!(p.exchange(commands().call(99, Message::new(1))) => [FailedReply]);
    p.assert_idle();
}

fn c094_a_reply_without_a_call_fails(stage: &Stage) {
    let p = stage.party();
    expect!(p.exchange(commands().reply(Message::new(1))) => [FailedReply]);
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
    assert!(loopers[0].is_parked());
    assert!(loopers[1].is_parked());
}
