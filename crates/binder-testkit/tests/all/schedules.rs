//! Orders of events that only a busy machine shows: a reader that was woken does not run at once. A front end
//! leaves no time between the two.

use binder_testkit::Return::{Reply, TransactionComplete};
use binder_testkit::{CoreRig, Message, Stage, commands, expect};

fn stage() -> Stage {
    Stage::new(Box::new(CoreRig::default().without_frontend()))
}

/// C221 of the specification.
#[test]
fn a_thread_that_exits_before_it_reads_its_oneway_does_not_block_the_node() {
    let stage = stage();
    let core = stage.rig().core().unwrap();
    let m = stage.manager();
    let looper = m.thread();
    let p = stage.party();
    looper.park_with(commands().enter_looper());
    core.hold();
    p.write(commands().oneway(0, Message::new(1)).oneway(0, Message::new(2)));
    assert!(looper.interrupted().result.is_err());
    looper.exit_thread();
    core.let_go();
    let first = m.read_call();
    if first.code == 1 {
        m.write(commands().free(first.buffer));
        assert_eq!(m.read_call().code, 2);
    } else {
        assert_eq!(first.code, 2);
    }
    stage.tear_down();
}

#[test]
fn a_call_handed_to_a_thread_that_exits_fails_or_finds_another() {
    let stage = stage();
    let core = stage.rig().core().unwrap();
    let m = stage.manager();
    let looper = m.thread();
    let p = stage.party();
    looper.park_with(commands().enter_looper());
    core.hold();
    p.write(commands().call(0, Message::new(1)));
    assert!(looper.interrupted().result.is_err());
    looper.exit_thread();
    core.let_go();
    expect!(p.read() => [TransactionComplete, binder_testkit::Return::DeadReply]);
    stage.tear_down();
}

#[test]
fn a_signal_after_the_reply_does_not_lose_it() {
    let stage = stage();
    let core = stage.rig().core().unwrap();
    let m = stage.manager();
    let p = stage.party();
    p.park_with(commands().call(0, Message::new(1)));
    let call = m.read_call();
    core.hold();
    m.answer(&call, Message::new(7));
    assert!(p.interrupted().result.is_err());
    core.let_go();
    expect!(p.read() => [TransactionComplete, Reply(reply)]);
    assert_eq!(reply.code, 7);
    stage.tear_down();
}

#[test]
fn work_that_a_woken_thread_leaves_behind_wakes_another() {
    let stage = stage();
    let core = stage.rig().core().unwrap();
    let m = stage.manager();
    let loopers = [m.thread(), m.thread()];
    for looper in &loopers {
        looper.park_with(commands().enter_looper());
    }
    let senders = [stage.party(), stage.party(), stage.party()];
    core.hold();
    for sender in &senders {
        sender.write(commands().call(0, Message::new(1)));
    }
    core.let_go();
    for looper in &loopers {
        let call = looper.woken_by_call();
        looper.answer(&call, Message::new(0));
    }
    let call = m.read_call();
    m.answer(&call, Message::new(0));
    for sender in &senders {
        sender.read_reply();
    }
    stage.tear_down();
}
