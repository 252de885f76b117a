//! Freezing where we differ from the kernel's C driver, or promise more.

use binder_testkit::Return::{FrozenBinder, TransactionComplete, TransactionPendingFrozen};
use binder_testkit::{CoreRig, Message, Party, Progress, Stage, commands, expect, introduce};
use binder_uapi::{BINDER_FREEZE, BinderFreezeInfo, TF_CLEAR_BUF, TF_UPDATE_TXN};
use rustix::io::Errno;
use zerocopy::IntoBytes;

const OBJECTS: [(u64, u64); 2] = [(0x1000, 0x2000), (0x3000, 0x4000)];

fn stage() -> Stage {
    Stage::new(Box::new(CoreRig::default()))
}

fn request(pid: i32, is_wanted: bool, timeout_ms: u32) -> BinderFreezeInfo {
    BinderFreezeInfo { pid: pid.unsigned_abs(), enable: is_wanted.into(), timeout_ms }
}

fn set_frozen(by: &Party<'_>, pid: i32, is_wanted: bool) {
    assert_eq!(by.ioctl(BINDER_FREEZE, &mut request(pid, is_wanted, 0)), Ok(()));
}

/// Starts a freeze that waits.
fn wait_to_freeze(stage: &Stage, by: &Party<'_>, pid: i32) {
    let argument = by.place(request(pid, true, 1000).as_bytes());
    assert_eq!(stage.rig().ioctl(by.caller(), BINDER_FREEZE, argument), Progress::Parked);
}

#[test]
fn a_change_that_was_undone_before_the_acknowledgement_is_not_told() {
    let stage = stage();
    let (m, s, p) = (stage.manager(), stage.party(), stage.party());
    let handle = introduce(&m, &s, OBJECTS[0], &p);
    expect!(p.exchange(commands().request_freeze(handle, 7)) => [FrozenBinder { .. }]);
    set_frozen(&m, s.pid(), true);
    set_frozen(&m, s.pid(), false);
    p.write(commands().freeze_done(7));
    p.assert_idle();
    // One that stands is told as soon as that is possible.
    set_frozen(&m, s.pid(), true);
    expect!(p.read() => [FrozenBinder { is_frozen: true, .. }]);
    set_frozen(&m, s.pid(), false);
    p.assert_idle();
    expect!(p.exchange(commands().freeze_done(7)) => [FrozenBinder { is_frozen: false, .. }]);
    stage.tear_down();
}

#[test]
fn a_freeze_that_waits_is_told_to_nobody() {
    let stage = stage();
    let (m, s, p, q) = (stage.manager(), stage.party(), stage.party(), stage.party());
    let handle = introduce(&m, &s, OBJECTS[0], &p);
    p.write(commands().oneway(handle, Message::new(1)));
    expect!(p.read() => [TransactionComplete]);
    wait_to_freeze(&stage, &q, s.pid());
    let registration = p.exchange(commands().request_freeze(handle, 7));
    expect!(registration => [FrozenBinder { is_frozen: false, .. }]);
    p.write(commands().freeze_done(7));
    s.read_call();
    expect!(p.read() => [FrozenBinder { is_frozen: true, .. }]);
    stage.tear_down();
}

#[test]
fn a_freeze_does_not_wait_for_a_process_that_ends() {
    let stage = stage();
    let (m, s, p, q) = (stage.manager(), stage.party(), stage.party(), stage.party());
    let handle = introduce(&m, &s, OBJECTS[0], &p);
    p.write(commands().call(handle, Message::new(1)));
    wait_to_freeze(&stage, &q, s.pid());
    s.close();
    assert_eq!(stage.rig().finish(q.caller().thread), Ok(()));
    stage.tear_down();
}

#[test]
fn a_file_that_cannot_be_frozen_leaves_those_before_it_frozen() {
    let stage = stage();
    let (m, s, p, q) = (stage.manager(), stage.party(), stage.party(), stage.party());
    let sibling = s.second_open();
    let [one, two] = [(&s, OBJECTS[0]), (&sibling, OBJECTS[1])]
        .map(|(owner, object)| introduce(&m, owner, object, &p));
    p.write(commands().oneway(one, Message::new(1)));
    expect!(p.read() => [TransactionComplete]);
    assert_eq!(q.ioctl(BINDER_FREEZE, &mut request(s.pid(), true, 0)), Err(Errno::AGAIN));
    expect!(p.exchange(commands().oneway(one, Message::new(2))) => [TransactionComplete]);
    expect!(p.exchange(commands().oneway(two, Message::new(3))) => [TransactionPendingFrozen]);
    stage.tear_down();
}

#[test]
fn a_superseded_buffer_is_cleared_and_free() {
    let stage = stage();
    let (m, p) = (stage.manager(), stage.party());
    let core = stage.rig().core().unwrap();
    p.write(commands().oneway(0, Message::new(1)));
    expect!(p.read() => [TransactionComplete]);
    let in_flight = m.read_call();
    set_frozen(&p, m.pid(), true);
    let update = |bytes| Message::new(2).flags(TF_UPDATE_TXN | TF_CLEAR_BUF).bytes(bytes);
    for secret in [b"first secret", b"later secret"] {
        let sent = p.exchange(commands().oneway(0, update(secret)));
        expect!(sent => [TransactionPendingFrozen]);
    }
    let secret_at = m.area().base + 8;
    assert_eq!(m.peek(secret_at, 12), [0; 12]);
    assert_eq!((core.live_objects().buffers, core.live_objects().transactions), (2, 1));
    set_frozen(&p, m.pid(), false);
    m.write(commands().free(in_flight.buffer));
    assert_eq!(m.data(&m.read_call()), b"later secret");
    stage.tear_down();
}

#[test]
fn clearings_that_nobody_reads_are_bounded() {
    let stage = stage();
    let (m, s, p) = (stage.manager(), stage.party(), stage.party());
    let handle = introduce(&m, &s, OBJECTS[0], &p);
    let attempts = (0..100_000).map(|cookie| {
        let both = commands().request_freeze(handle, cookie).clear_freeze(handle, cookie);
        p.try_write(both).result
    });
    let refused = attempts.take_while(Result::is_ok).count();
    assert_eq!(refused, 1 << 16);
    assert_eq!(p.try_write(commands().request_freeze(handle, 1)).result, Err(Errno::NOMEM));
    p.read();
    assert_eq!(p.try_write(commands().request_freeze(handle, 1 << 20)).result, Ok(()));
    stage.tear_down();
}
