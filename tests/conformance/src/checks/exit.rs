//! Threads and processes that leave.

use binder_testkit::Return::{
    Acquire, DeadBinder, DeadReply, Decrefs, Increfs, Release, Reply, Transaction,
    TransactionComplete,
};
use binder_testkit::{Message, Stage, commands, expect, introduce};

use crate::registry::checks;

const PTR: u64 = 0x1000;
const COOKIE: u64 = 0x2000;
const OBJECT: (u64, u64) = (PTR, COOKIE);

checks! {
    Both c255_a_death_is_told_before_the_references_of_the_dead_go,
    Both c255_unread_transactions_of_the_dead_go_last,
    Both c214_a_server_that_leaves_while_serving_fails_its_caller,
    Both c215_a_server_that_leaves_fails_the_calls_in_its_queue,
    Both c216_a_serving_thread_that_exits_fails_its_caller,
    Both c217_a_reply_to_a_client_that_left_is_complete,
    Both c218_the_death_in_the_middle_of_a_chain_reaches_its_start,
    Both c219_a_client_that_leaves_gives_up_its_references,
    Both c220_a_thread_that_exited_starts_afresh,
    Both c222_the_notices_of_a_thread_that_exited_reach_another,
    Both c223_the_close_of_a_duplicate_wakes_readers_and_nothing_else,
    Both c224_unfreed_buffers_are_gone_with_their_process,
}

fn c214_a_server_that_leaves_while_serving_fails_its_caller(stage: &Stage) {
    let m = stage.manager();
    let p = stage.party();
    p.park_with(commands().call(0, Message::new(1)));
    m.read_call();
    m.kill();
    expect!(p.woken() => [TransactionComplete, DeadReply]);
}

fn c215_a_server_that_leaves_fails_the_calls_in_its_queue(stage: &Stage) {
    let m = stage.manager();
    let p = stage.party();
    p.park_with(commands().call(0, Message::new(1)));
    m.close();
    expect!(p.woken() => [TransactionComplete, DeadReply]);
}

fn c216_a_serving_thread_that_exits_fails_its_caller(stage: &Stage) {
    let m = stage.manager();
    let n = m.thread();
    let p = stage.party();
    let q = stage.party();
    p.park_with(commands().call(0, Message::new(1)));
    m.read_call();
    q.park_with(commands().call(0, Message::new(2)));
    let other = n.read_call();
    m.exit_thread();
    expect!(p.woken() => [TransactionComplete, DeadReply]);
    n.answer(&other, Message::new(0));
    expect!(q.woken() => [TransactionComplete, Reply(_)]);
}

fn c217_a_reply_to_a_client_that_left_is_complete(stage: &Stage) {
    let m = stage.manager();
    let p = stage.party();
    let handle = introduce(&m, &p, OBJECT, &m);
    p.write(commands().call(0, Message::new(1)));
    let call = m.read_call();
    let n = m.thread();
    n.park_with(commands().request_death(handle, 7));
    p.close();
    expect!(n.woken() => [DeadBinder(7)]);
    m.answer(&call, Message::new(0));
    m.assert_idle();
}

fn c218_the_death_in_the_middle_of_a_chain_reaches_its_start(stage: &Stage) {
    let m = stage.manager();
    let s = stage.party();
    let p = stage.party();
    let s_at_p = introduce(&m, &s, OBJECT, &p);
    p.park_with(commands().call(s_at_p, Message::new(1)));
    s.read_call();
    s.write(commands().call(0, Message::new(2)));
    let last = m.read_call();
    s.kill();
    m.answer(&last, Message::new(0));
    expect!(p.woken() => [TransactionComplete, DeadReply]);
}

fn c219_a_client_that_leaves_gives_up_its_references(stage: &Stage) {
    let m = stage.manager();
    let p = stage.party();
    introduce(&m, &m, OBJECT, &p);
    m.park();
    p.kill();
    expect!(m.woken() => [Release(PTR, COOKIE), Decrefs(PTR, COOKIE)]);
}

fn c220_a_thread_that_exited_starts_afresh(stage: &Stage) {
    let m = stage.manager();
    let p = stage.party();
    m.set_max_threads(1);
    m.write(commands().enter_looper());
    m.exit_thread();
    m.write(commands());
    p.write(commands().oneway(0, Message::new(1)));
    // A looper would be asked for another; this thread is none any more.
    expect!(m.read() => [Transaction(_)]);
}

fn c222_the_notices_of_a_thread_that_exited_reach_another(stage: &Stage) {
    let _m = stage.manager();
    let p = stage.party();
    let other = p.thread();
    p.write(commands().oneway(0, Message::new(1).binder(PTR, COOKIE)));
    p.exit_thread();
    expect!(other.read() => [Increfs(PTR, COOKIE), Acquire(PTR, COOKIE)]);
}

fn c223_the_close_of_a_duplicate_wakes_readers_and_nothing_else(stage: &Stage) {
    let m = stage.manager();
    let p = stage.party();
    m.park_with(commands().enter_looper());
    stage.rig().close_duplicate(m.caller().process);
    expect!(m.woken() => []);
    p.write(commands().call(0, Message::new(1)));
    let call = m.read_call();
    m.answer(&call, Message::new(0));
    p.read_reply();
}

fn c224_unfreed_buffers_are_gone_with_their_process(stage: &Stage) {
    let m = stage.manager();
    let p = stage.party();
    let handle = introduce(&m, &m, OBJECT, &p);
    let message = Message::new(1).binder(0x10, 0).handle(handle).bytes(&[1; 1000]);
    p.write(commands().oneway(0, message.clone()).oneway(0, message.clone()).call(0, message));
    m.read_call();
    // The stage is torn down with buffers delivered, queued and waiting.
}

fn c255_a_death_is_told_before_the_references_of_the_dead_go(stage: &Stage) {
    let m = stage.manager();
    let s = stage.party();
    let p = stage.party();
    let theirs = introduce(&m, &s, (0x10, 0), &p);
    introduce(&m, &p, OBJECT, &s);
    p.park_with(commands().request_death(theirs, 7));
    s.close();
    expect!(p.woken() => [DeadBinder(7)]);
    expect!(p.read() => [Release(PTR, COOKIE), Decrefs(PTR, COOKIE)]);
}

fn c255_unread_transactions_of_the_dead_go_last(stage: &Stage) {
    let m = stage.manager();
    let s = stage.party();
    let p = stage.party();
    let theirs = introduce(&m, &s, (0x10, 0), &p);
    let write = commands().oneway(theirs, Message::new(1).binder(PTR, COOKIE));
    expect!(p.exchange(write) => [
        Increfs(PTR, COOKIE), Acquire(PTR, COOKIE), TransactionComplete
    ]);
    p.write(commands().increfs_done(PTR, COOKIE).acquire_done(PTR, COOKIE));
    p.park_with(commands().request_death(theirs, 7));
    s.close();
    expect!(p.woken() => [DeadBinder(7)]);
    expect!(p.read() => [Release(PTR, COOKIE), Decrefs(PTR, COOKIE)]);
}
