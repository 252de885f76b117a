//! Frozen processes.

use binder_testkit::Return::{
    ClearFreezeDone, FrozenBinder, FrozenReply, Reply, Transaction, TransactionComplete,
    TransactionPendingFrozen,
};
use binder_testkit::{
    Device, Entrance, Message, Party, Progress, Stage, close_before, commands, expect, introduce,
};
use binder_uapi::{
    BINDER_FREEZE, BINDER_GET_FROZEN_INFO, BR_FROZEN_REPLY, BinderExtendedError, BinderFreezeInfo,
    BinderFrozenStatusInfo, TF_UPDATE_TXN,
};
use rustix::io::Errno;
use zerocopy::IntoBytes;

use crate::registry::checks;

const OBJECT: (u64, u64) = (0x1000, 0x2000);
const NOBODY: i32 = 0x3fff_ffff;

checks! {
    Both c196_nobody_cannot_be_frozen,
    Both c197_a_call_to_a_frozen_process_is_refused,
    Both c198_a_oneway_to_a_frozen_process_waits,
    Both c199_a_process_with_a_pending_call_is_not_frozen,
    Both c199_a_second_freeze_that_fails_thaws,
    Both c199_a_freeze_ends_with_its_time,
    Both c199_an_interrupted_freeze_leaves_no_trace,
    Both c200_a_freeze_waits_for_a_pending_call,
    Both c200_calls_are_refused_while_a_freeze_waits,
    Both c201_a_process_that_waits_for_a_reply_is_not_frozen,
    Both c202_thawing_forgets_what_arrived,
    Both c203_a_reply_reaches_a_process_that_is_being_frozen,
    Both c204_c206_an_update_takes_the_place_of_an_older_one,
    Both c205_another_code_or_flag_is_no_update,
    Both c207_a_registration_tells_the_state_at_once,
    Both c208_every_change_is_told,
    Both c209_unread_changes_are_told_as_one,
    Both c210_misuse_fails_the_ioctl,
    Both c210_two_registrations_may_have_one_cookie,
    Both c211_a_clearing_waits_for_the_acknowledgement,
    Both c212_a_death_is_no_freeze,
    Both c213_a_freeze_holds_for_all_files_of_a_process,
    Both c213_the_newest_file_of_a_process_is_frozen_first,
}

fn request(pid: i32, is_wanted: bool, timeout_ms: u32) -> BinderFreezeInfo {
    BinderFreezeInfo { pid: pid.unsigned_abs(), enable: is_wanted.into(), timeout_ms }
}

fn freeze(by: &Party<'_>, pid: i32) -> Result<(), Errno> {
    by.ioctl(BINDER_FREEZE, &mut request(pid, true, 0))
}

fn thaw(by: &Party<'_>, pid: i32) {
    by.ioctl(BINDER_FREEZE, &mut request(pid, false, 0)).unwrap();
}

/// What arrived at a frozen process: calls (with work that is pending), oneways.
fn arrived(by: &Party<'_>, pid: i32) -> Result<(u32, u32), Errno> {
    let mut info = BinderFrozenStatusInfo { pid: pid.unsigned_abs(), ..Default::default() };
    by.ioctl(BINDER_GET_FROZEN_INFO, &mut info).map(|()| (info.sync_recv, info.async_recv))
}

fn c196_nobody_cannot_be_frozen(stage: &Stage) {
    let p = stage.party();
    assert_eq!(freeze(&p, NOBODY), Err(Errno::INVAL));
    assert_eq!(arrived(&p, NOBODY), Err(Errno::INVAL));
}

fn c197_a_call_to_a_frozen_process_is_refused(stage: &Stage) {
    let m = stage.manager();
    let p = stage.party();
    freeze(&p, m.pid()).unwrap();
    assert_eq!(arrived(&p, m.pid()), Ok((0, 0)));
    expect!(p.exchange(commands().call(0, Message::new(1))) => [FrozenReply]);
    let BinderExtendedError { command, param, .. } = p.extended_error();
    assert_eq!((command, param), (BR_FROZEN_REPLY, 0));
    assert_eq!(arrived(&p, m.pid()), Ok((1, 0)));
}

fn c198_a_oneway_to_a_frozen_process_waits(stage: &Stage) {
    let m = stage.manager();
    let p = stage.party();
    freeze(&p, m.pid()).unwrap();
    expect!(p.exchange(commands().oneway(0, Message::new(1))) => [TransactionPendingFrozen]);
    assert_eq!(arrived(&p, m.pid()).map(|(_, oneways)| oneways), Ok(1));
    thaw(&p, m.pid());
    assert_eq!(m.read_call().code, 1);
}

fn c199_a_process_with_a_pending_call_is_not_frozen(stage: &Stage) {
    let m = stage.manager();
    let p = stage.party();
    let q = stage.party();
    p.write(commands().call(0, Message::new(1)));
    assert_eq!(freeze(&q, m.pid()), Err(Errno::AGAIN));
    expect!(q.exchange(commands().oneway(0, Message::new(2))) => [TransactionComplete]);
    m.read_call();
    assert_eq!(freeze(&q, m.pid()), Err(Errno::AGAIN));
}

/// Its own oneways are in the way, and it is told of nothing.
fn c199_a_second_freeze_that_fails_thaws(stage: &Stage) {
    let m = stage.manager();
    let p = stage.party();
    freeze(&p, m.pid()).unwrap();
    expect!(p.exchange(commands().oneway(0, Message::new(1))) => [TransactionPendingFrozen]);
    assert_eq!(arrived(&p, m.pid()), Ok((2, 1)));
    assert_eq!(freeze(&p, m.pid()), Err(Errno::AGAIN));
    assert_eq!(arrived(&p, m.pid()), Ok((2, 0)));
    p.write(commands().call(0, Message::new(2)));
    assert_eq!(m.read_call().code, 1);
}

/// Starts a freeze of `pid`, which has to wait.
fn wait_to_freeze(stage: &Stage, by: &Party<'_>, pid: i32, timeout_ms: u32) {
    let argument = by.place(request(pid, true, timeout_ms).as_bytes());
    assert_eq!(stage.rig().ioctl(by.caller(), BINDER_FREEZE, argument), Progress::Parked);
}

fn c199_a_freeze_ends_with_its_time(stage: &Stage) {
    let m = stage.manager();
    let p = stage.party();
    let q = stage.party();
    p.write(commands().call(0, Message::new(1)));
    wait_to_freeze(stage, &q, m.pid(), 700);
    if let Some(core) = stage.rig().core() {
        core.let_time_pass();
    }
    assert_eq!(stage.rig().finish(q.caller().thread), Err(Errno::AGAIN));
    expect!(q.exchange(commands().oneway(0, Message::new(2))) => [TransactionComplete]);
}

fn c199_an_interrupted_freeze_leaves_no_trace(stage: &Stage) {
    let m = stage.manager();
    let p = stage.party();
    let q = stage.party();
    p.write(commands().call(0, Message::new(1)));
    wait_to_freeze(stage, &q, m.pid(), 60_000);
    stage.rig().interrupt(q.caller().thread);
    assert_eq!(stage.rig().finish(q.caller().thread), Err(Errno::INTR));
    expect!(q.exchange(commands().oneway(0, Message::new(2))) => [TransactionComplete]);
}

fn c200_calls_are_refused_while_a_freeze_waits(stage: &Stage) {
    let m = stage.manager();
    let p = stage.party();
    let q = stage.party();
    p.write(commands().call(0, Message::new(1)));
    let call = m.read_call();
    wait_to_freeze(stage, &q, m.pid(), 60_000);
    let late = stage.party();
    expect!(late.exchange(commands().call(0, Message::new(2))) => [FrozenReply]);
    m.answer(&call, Message::new(0));
    assert_eq!(stage.rig().finish(q.caller().thread), Ok(()));
    assert_eq!(arrived(&p, m.pid()), Ok((1, 0)));
}

fn c200_a_freeze_waits_for_a_pending_call(stage: &Stage) {
    let m = stage.manager();
    let p = stage.party();
    let q = stage.party();
    p.write(commands().call(0, Message::new(1)));
    let call = m.read_call();
    let argument = q.place(request(m.pid(), true, 10_000).as_bytes());
    assert_eq!(stage.rig().ioctl(q.caller(), BINDER_FREEZE, argument), Progress::Parked);
    m.answer(&call, Message::new(0));
    assert_eq!(stage.rig().finish(q.caller().thread), Ok(()));
    expect!(q.exchange(commands().call(0, Message::new(2))) => [FrozenReply]);
}

fn c201_a_process_that_waits_for_a_reply_is_not_frozen(stage: &Stage) {
    let _m = stage.manager();
    let p = stage.party();
    p.write(commands().call(0, Message::new(1)));
    assert_eq!(freeze(&stage.party(), p.pid()), Err(Errno::AGAIN));
}

fn c202_thawing_forgets_what_arrived(stage: &Stage) {
    let m = stage.manager();
    let p = stage.party();
    freeze(&p, m.pid()).unwrap();
    expect!(p.exchange(commands().call(0, Message::new(1))) => [FrozenReply]);
    thaw(&p, m.pid());
    assert_eq!(arrived(&p, m.pid()), Ok((0, 0)));
    p.write(commands().call(0, Message::new(2)));
    m.read_call();
}

fn c203_a_reply_reaches_a_process_that_is_being_frozen(stage: &Stage) {
    let m = stage.manager();
    let p = stage.party();
    let q = stage.party();
    let handle = introduce(&m, &p, OBJECT, &q);
    p.write(commands().call(0, Message::new(1)));
    let call = m.read_call();
    q.write(commands().oneway(handle, Message::new(2)));
    expect!(q.read() => [TransactionComplete]);
    let argument = q.place(request(p.pid(), true, 10_000).as_bytes());
    assert_eq!(stage.rig().ioctl(q.caller(), BINDER_FREEZE, argument), Progress::Parked);
    m.answer(&call, Message::new(0));
    expect!(p.read() => [TransactionComplete, Reply(_)]);
    assert_eq!(p.read_call().code, 2);
    assert_eq!(stage.rig().finish(q.caller().thread), Ok(()));
}

/// Sends oneways with `TF_UPDATE_TXN` and these codes and flags to a frozen manager that has one
/// in flight; the data of those that arrive.
fn updates(stage: &Stage, sends: [(u32, u32); 3]) -> Vec<u8> {
    let m = stage.manager();
    let p = stage.party();
    p.write(commands().oneway(0, Message::new(9)));
    expect!(p.read() => [TransactionComplete]);
    let in_flight = m.read_call();
    freeze(&p, m.pid()).unwrap();
    for (byte, (code, flags)) in (0_u8..).zip(sends) {
        let message = Message::new(code).flags(TF_UPDATE_TXN | flags).bytes(&[byte; 8]);
        expect!(p.exchange(commands().oneway(0, message)) => [TransactionPendingFrozen]);
    }
    thaw(&p, m.pid());
    // The mark of the one in flight is still there.
    m.assert_idle();
    m.write(commands().free(in_flight.buffer).enter_looper());
    let mut seen = Vec::new();
    while m.is_readable() {
        expect!(m.read() => [Transaction(oneway)]);
        seen.push(m.data(&oneway)[0]);
        m.write(commands().free(oneway.buffer));
    }
    seen
}

fn c204_c206_an_update_takes_the_place_of_an_older_one(stage: &Stage) {
    assert_eq!(updates(stage, [(1, 0), (1, 0), (1, 0)]), [2]);
}

fn c205_another_code_or_flag_is_no_update(stage: &Stage) {
    assert_eq!(updates(stage, [(1, 0), (2, 0), (1, 0x100)]), [0, 1, 2]);
}

/// A client with a handle to an object of `s`, registered for freezes with cookie 7.
fn registered<'s>(stage: &'s Stage) -> (Party<'s>, Party<'s>, Party<'s>, u32) {
    let m = stage.manager();
    let s = stage.party();
    let p = stage.party();
    let handle = introduce(&m, &s, OBJECT, &p);
    let registration = p.exchange(commands().request_freeze(handle, 7));
    expect!(registration => [FrozenBinder { cookie: 7, is_frozen: false }]);
    (m, s, p, handle)
}

fn c207_a_registration_tells_the_state_at_once(stage: &Stage) {
    let (m, s, p, _) = registered(stage);
    let q = stage.party();
    let handle = introduce(&m, &s, OBJECT, &q);
    freeze(&p, s.pid()).unwrap();
    expect!(q.exchange(commands().request_freeze(handle, 8)) => [
        FrozenBinder { cookie: 8, is_frozen: true }
    ]);
}

fn c208_every_change_is_told(stage: &Stage) {
    let (m, s, p, _) = registered(stage);
    for is_wanted in [true, false, true] {
        p.write(commands().freeze_done(7));
        m.ioctl(BINDER_FREEZE, &mut request(s.pid(), is_wanted, 0)).unwrap();
        expect!(p.read() => [FrozenBinder { cookie: 7, is_frozen }]);
        assert_eq!(is_frozen, is_wanted);
        p.assert_idle();
    }
}

fn c209_unread_changes_are_told_as_one(stage: &Stage) {
    let (m, s, p, _) = registered(stage);
    p.write(commands().freeze_done(7));
    freeze(&m, s.pid()).unwrap();
    thaw(&m, s.pid());
    expect!(p.read() => [FrozenBinder { cookie: 7, is_frozen: false }]);
    p.write(commands().freeze_done(7));
    p.assert_idle();
}

fn c210_misuse_fails_the_ioctl(stage: &Stage) {
    let (_m, _s, p, handle) = registered(stage);
    p.write(commands().freeze_done(7));
    let misuses = [
        commands().request_freeze(handle, 8),
        commands().request_freeze(99, 8),
        commands().clear_freeze(handle, 8),
        commands().clear_freeze(99, 7),
        commands().freeze_done(7),
        commands().freeze_done(8),
    ];
    for misuse in misuses {
        let shown = format!("{misuse:?}");
        let attempt = p.try_write(misuse);
        assert_eq!(attempt.result, Err(Errno::INVAL), "{shown}");
        assert_eq!(attempt.argument.write_consumed, 0);
    }
}

fn c210_two_registrations_may_have_one_cookie(stage: &Stage) {
    let (m, s, p, handle) = registered(stage);
    let other = introduce(&m, &s, (0x3000, 0x4000), &p);
    assert_ne!(other, handle);
    expect!(p.exchange(commands().request_freeze(other, 7)) => [
        FrozenBinder { cookie: 7, is_frozen: false }
    ]);
    // Nor does one that was cleared, and waits to be acknowledged, keep another from it.
    p.write(commands().clear_freeze(other, 7));
    expect!(p.exchange(commands().request_freeze(other, 7)) => [FrozenBinder { cookie: 7, .. }]);
    p.write(commands().freeze_done(7));
    expect!(p.exchange(commands().freeze_done(7)) => [ClearFreezeDone(7)]);
    p.write(commands().freeze_done(7));
    assert_eq!(p.try_write(commands().freeze_done(7)).result, Err(Errno::INVAL));
}

fn c211_a_clearing_waits_for_the_acknowledgement(stage: &Stage) {
    let (_m, _s, p, handle) = registered(stage);
    p.write(commands().clear_freeze(handle, 7));
    p.assert_idle();
    expect!(p.exchange(commands().freeze_done(7)) => [ClearFreezeDone(7)]);
    // Once more, acknowledged before it is cleared.
    expect!(p.exchange(commands().request_freeze(handle, 7)) => [FrozenBinder { .. }]);
    p.write(commands().freeze_done(7));
    expect!(p.exchange(commands().clear_freeze(handle, 7)) => [ClearFreezeDone(7)]);
}

fn c212_a_death_is_no_freeze(stage: &Stage) {
    let (_m, s, p, handle) = registered(stage);
    p.write(commands().freeze_done(7));
    close_before(&s, &p, handle);
    p.assert_idle();
}

fn c213_a_freeze_holds_for_all_files_of_a_process(stage: &Stage) {
    let m = stage.manager();
    let s = stage.party();
    let p = stage.party();
    let elsewhere = Entrance { device: Device::Second, ..Entrance::default() };
    let n = stage.enter(Entrance { host: Some(s.host()), ..elsewhere });
    stage.appoint(&n);
    let q = stage.enter(elsewhere);
    let sibling = s.second_open();
    let one = introduce(&m, &s, OBJECT, &p);
    let two = introduce(&m, &sibling, OBJECT, &p);
    freeze(&m, s.pid()).unwrap();
    expect!(p.exchange(commands().call(one, Message::new(1))) => [FrozenReply]);
    expect!(p.exchange(commands().call(two, Message::new(1))) => [FrozenReply]);
    expect!(q.exchange(commands().call(0, Message::new(1))) => [FrozenReply]);
}

/// A file that cannot be frozen keeps older ones from it, on whichever device, and not newer ones.
fn c213_the_newest_file_of_a_process_is_frozen_first(stage: &Stage) {
    let m = stage.manager();
    let q = stage.party();
    let gone = stage.party();
    let oldest = stage.party();
    let elsewhere = Entrance { device: Device::Second, ..Entrance::default() };
    let middle = stage.enter(Entrance { host: Some(oldest.host()), ..elsewhere });
    stage.appoint(&middle);
    // A driver may keep the newest where another was.
    let handle = introduce(&m, &gone, OBJECT, &q);
    close_before(&gone, &q, handle);
    let newest = oldest.second_open();
    let one = introduce(&m, &oldest, OBJECT, &q);
    let two = introduce(&m, &newest, OBJECT, &q);
    let caller = stage.enter(elsewhere);
    caller.write(commands().call(0, Message::new(1)));
    assert_eq!(freeze(&m, oldest.pid()), Err(Errno::AGAIN));
    expect!(q.exchange(commands().call(two, Message::new(2))) => [FrozenReply]);
    q.write(commands().call(one, Message::new(3)));
    assert_eq!(oldest.read_call().code, 3);
    assert_eq!(middle.read_call().code, 1);
}
