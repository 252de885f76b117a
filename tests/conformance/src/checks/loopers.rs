//! The pool of loopers.

use binder_testkit::Return::{SpawnLooper, Transaction};
use binder_testkit::{Message, Party, Stage, commands, expect};

use rustix::io::Errno;

use crate::registry::checks;

checks! {
    Device c254_an_unknown_request_is_a_threads_first_too,
    Both c163_a_pool_of_none_is_never_extended,
    Both c164_a_read_that_leaves_nobody_waiting_asks_for_a_looper,
    Both c164_a_read_that_leaves_somebody_waiting_does_not,
    Both c165_a_looper_is_asked_for_once,
    Both c166_a_full_pool_is_not_extended,
    Both c167_voluntary_loopers_do_not_count,
    Both c168_a_wrong_registration_does_no_harm,
    Both c169_only_loopers_are_asked,
}

/// Sends a oneway to the manager, from a sender of its own.
fn ring(p: &Party<'_>) {
    p.write(commands().oneway(0, Message::new(1)));
}

/// Reads a oneway and frees it; whether a looper was asked for.
fn serve(m: &Party<'_>) -> bool {
    let (is_asked, call) = match m.read()[..] {
        [Transaction(call)] => (false, call),
        [SpawnLooper, Transaction(call)] => (true, call),
        ref other => panic!("read {other:#x?}"),
    };
    m.write(commands().free(call.buffer));
    is_asked
}

fn c163_a_pool_of_none_is_never_extended(stage: &Stage) {
    let m = stage.manager();
    let p = stage.party();
    m.write(commands().enter_looper());
    ring(&p);
    assert!(!serve(&m));
}

fn c164_a_read_that_leaves_nobody_waiting_asks_for_a_looper(stage: &Stage) {
    let m = stage.manager();
    let p = stage.party();
    m.set_max_threads(1);
    m.write(commands().enter_looper());
    ring(&p);
    let attempt = m.attempt(m.reading(Default::default()));
    expect!(attempt.returns => [SpawnLooper, Transaction(_)]);
    assert_eq!(attempt.argument.read_consumed, 4 + 4 + 64);
}

fn c164_a_read_that_leaves_somebody_waiting_does_not(stage: &Stage) {
    let m = stage.manager();
    let p = stage.party();
    m.set_max_threads(1);
    m.thread().park_with(commands().enter_looper());
    m.park_with(commands().enter_looper());
    ring(&p);
    expect!(m.woken() => [Transaction(_)]);
}

fn c165_a_looper_is_asked_for_once(stage: &Stage) {
    let m = stage.manager();
    let p = stage.party();
    m.set_max_threads(3);
    m.write(commands().enter_looper());
    ring(&p);
    assert!(serve(&m));
    ring(&p);
    assert!(!serve(&m));
    m.thread().write(commands().register_looper());
    ring(&p);
    assert!(serve(&m));
}

fn c166_a_full_pool_is_not_extended(stage: &Stage) {
    let m = stage.manager();
    let p = stage.party();
    m.set_max_threads(2);
    m.write(commands().enter_looper());
    for _ in 0..2 {
        ring(&p);
        assert!(serve(&m));
        let looper = m.thread();
        looper.write(commands().register_looper());
        looper.exit_thread();
    }
    ring(&p);
    assert!(!serve(&m));
}

fn c167_voluntary_loopers_do_not_count(stage: &Stage) {
    let m = stage.manager();
    let p = stage.party();
    m.set_max_threads(1);
    for _ in 0..3 {
        m.thread().write(commands().enter_looper());
    }
    m.write(commands().enter_looper());
    ring(&p);
    assert!(serve(&m));
}

fn c168_a_wrong_registration_does_no_harm(stage: &Stage) {
    let m = stage.manager();
    let p = stage.party();
    m.write(commands().register_looper());
    ring(&p);
    assert!(!serve(&m));
    let n = m.thread();
    n.write(commands().enter_looper().register_looper());
    ring(&p);
    assert!(!serve(&n));
}

fn c169_only_loopers_are_asked(stage: &Stage) {
    let m = stage.manager();
    let p = stage.party();
    m.set_max_threads(1);
    ring(&p);
    assert!(!serve(&m));
}

fn c254_an_unknown_request_is_a_threads_first_too(stage: &Stage) {
    let p = stage.party();
    let cold = p.cold_thread();
    let argument = p.place(&[0; 64]);
    assert_eq!(cold.ioctl_at(0xc008_6263, argument), Err(Errno::INVAL));
    // Its reads wait from here on.
    cold.assert_idle();
}
