//! Readiness.

use binder_testkit::Return::{Reply, TransactionComplete};
use binder_testkit::{Message, Progress, Stage, Waiter, commands, expect};

use crate::registry::checks;

checks! {
    Both c225_a_looper_with_a_call_is_readable,
    Both c226_work_of_a_thread_is_its_own,
    Both c227_every_polling_thread_hears_of_work_for_the_process,
    Both c228_a_reply_wakes_an_epoll_of_its_thread,
    Both c229_a_thread_that_exits_leaves_no_stale_event,
}

fn c225_a_looper_with_a_call_is_readable(stage: &Stage) {
    let m = stage.manager();
    let p = stage.party();
    m.write(commands().enter_looper());
    let readiness = || stage.rig().poll(m.caller());
    assert!(!readiness().is_readable);
    p.write(commands().call(0, Message::new(1)));
    assert!(readiness().is_readable);
    assert!(!readiness().is_writable && !readiness().has_failed);
    let call = m.read_call();
    assert!(!readiness().is_readable);
    m.answer(&call, Message::new(0));
}

fn c226_work_of_a_thread_is_its_own(stage: &Stage) {
    let _m = stage.manager();
    let p = stage.party();
    let other = p.thread();
    p.write(commands().oneway(0, Message::new(1)));
    assert!(!other.is_readable());
    assert!(p.is_readable());
}

fn c227_every_polling_thread_hears_of_work_for_the_process(stage: &Stage) {
    let m = stage.manager();
    let n = m.thread();
    let p = stage.party();
    for looper in [&m, &n] {
        looper.write(commands().enter_looper());
        let waiting = stage.rig().wait_readable(looper.caller(), Waiter::Poll);
        assert_eq!(waiting, Progress::Parked);
    }
    p.write(commands().oneway(0, Message::new(1)));
    for looper in [&m, &n] {
        assert_eq!(stage.rig().finish(looper.caller().thread), Ok(()));
    }
    m.read_call();
    assert!(!n.is_readable());
}

fn c228_a_reply_wakes_an_epoll_of_its_thread(stage: &Stage) {
    let m = stage.manager();
    let p = stage.party();
    p.write(commands().call(0, Message::new(1)));
    assert_eq!(stage.rig().wait_readable(p.caller(), Waiter::Epoll), Progress::Parked);
    let call = m.read_call();
    m.answer(&call, Message::new(0));
    assert_eq!(stage.rig().finish(p.caller().thread), Ok(()));
    expect!(p.read() => [TransactionComplete, Reply(_)]);
}

fn c229_a_thread_that_exits_leaves_no_stale_event(stage: &Stage) {
    let m = stage.manager();
    let p = stage.party();
    p.write(commands().oneway(0, Message::new(1)));
    assert!(p.is_readable());
    p.exit_thread();
    p.write(commands());
    assert!(!p.is_readable());
    assert_eq!(stage.rig().wait_readable(p.caller(), Waiter::Epoll), Progress::Parked);
    stage.rig().interrupt(p.caller().thread);
    assert!(stage.rig().finish(p.caller().thread).is_err());
    m.read_call();
}
