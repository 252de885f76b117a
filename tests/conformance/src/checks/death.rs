//! Death notifications.

use binder_testkit::Return::{ClearDeathDone, DeadBinder};
use binder_testkit::{
    Entrance, Party, Stage, close_before, commands, expect, introduce, kill_before,
};

use crate::registry::checks;

const OBJECT: (u64, u64) = (0x1000, 0x2000);

checks! {
    Both c182_a_death_is_told_once,
    Both c183_a_death_in_the_past_is_told_at_once,
    Both c184_a_reference_is_registered_once,
    Both c185_a_cleared_registration_is_silent,
    Both c186_a_wrong_clearing_is_ignored,
    Both c187_a_clearing_waits_for_the_acknowledgement,
    Both c188_a_queued_death_is_told_though_cleared,
    Both c189_an_acknowledged_death_is_cleared_at_once,
    Both c190_an_unknown_acknowledgement_is_ignored,
    Both c191_a_reference_may_be_registered_again,
    Both c192_a_weak_reference_suffices,
    Both c193_the_last_count_takes_the_registration_along,
    Both c194_a_hundred_processes_are_told_once_each,
    Both c195_a_killed_owner_is_dead,
}

/// The manager, an owner, a client and the client's handle to the owner's object.
fn acquainted(stage: &Stage) -> (Party<'_>, Party<'_>, Party<'_>, u32) {
    let m = stage.manager();
    let s = stage.party();
    let p = stage.party();
    let handle = introduce(&m, &s, OBJECT, &p);
    (m, s, p, handle)
}

/// Closes `s`, and returns once a second client has heard of it.
fn close_in_view<'s>(stage: &'s Stage, m: &Party<'s>, s: &Party<'s>) {
    let witness = stage.party();
    let handle = introduce(m, s, OBJECT, &witness);
    close_before(s, &witness, handle);
}

fn c182_a_death_is_told_once(stage: &Stage) {
    let (_m, s, p, handle) = acquainted(stage);
    p.park_with(commands().request_death(handle, 7));
    s.close();
    expect!(p.woken() => [DeadBinder(7)]);
    p.assert_idle();
    p.write(commands().dead_binder_done(7));
    p.assert_idle();
}

fn c183_a_death_in_the_past_is_told_at_once(stage: &Stage) {
    let (_m, s, p, handle) = acquainted(stage);
    close_before(&s, &p, handle);
    expect!(p.exchange(commands().request_death(handle, 7)) => [DeadBinder(7)]);
}

fn c184_a_reference_is_registered_once(stage: &Stage) {
    let (_m, s, p, handle) = acquainted(stage);
    p.park_with(commands().request_death(handle, 7).request_death(handle, 8));
    s.close();
    expect!(p.woken() => [DeadBinder(7)]);
    p.write(commands().dead_binder_done(7));
    p.assert_idle();
}

fn c185_a_cleared_registration_is_silent(stage: &Stage) {
    let (m, s, p, handle) = acquainted(stage);
    p.write(commands().request_death(handle, 7));
    expect!(p.exchange(commands().clear_death(handle, 7)) => [ClearDeathDone(7)]);
    close_in_view(stage, &m, &s);
    p.assert_idle();
}

fn c186_a_wrong_clearing_is_ignored(stage: &Stage) {
    let (_m, s, p, handle) = acquainted(stage);
    p.write(commands().clear_death(handle, 7).clear_death(99, 7));
    p.write(commands().request_death(handle, 7).clear_death(handle, 8));
    p.park();
    s.close();
    expect!(p.woken() => [DeadBinder(7)]);
}

fn c187_a_clearing_waits_for_the_acknowledgement(stage: &Stage) {
    let (_m, s, p, handle) = acquainted(stage);
    p.park_with(commands().request_death(handle, 7));
    s.close();
    expect!(p.woken() => [DeadBinder(7)]);
    p.write(commands().clear_death(handle, 7));
    p.assert_idle();
    expect!(p.exchange(commands().dead_binder_done(7)) => [ClearDeathDone(7)]);
}

fn c188_a_queued_death_is_told_though_cleared(stage: &Stage) {
    let (_m, s, p, handle) = acquainted(stage);
    p.write(commands().request_death(handle, 7));
    s.close();
    p.await_readable();
    p.write(commands().clear_death(handle, 7));
    expect!(p.read() => [DeadBinder(7)]);
    p.assert_idle();
    expect!(p.exchange(commands().dead_binder_done(7)) => [ClearDeathDone(7)]);
}

fn c189_an_acknowledged_death_is_cleared_at_once(stage: &Stage) {
    let (_m, s, p, handle) = acquainted(stage);
    p.park_with(commands().request_death(handle, 7));
    s.close();
    expect!(p.woken() => [DeadBinder(7)]);
    p.write(commands().dead_binder_done(7));
    expect!(p.exchange(commands().clear_death(handle, 7)) => [ClearDeathDone(7)]);
}

fn c190_an_unknown_acknowledgement_is_ignored(stage: &Stage) {
    let p = stage.party();
    p.write(commands().dead_binder_done(7));
    p.assert_idle();
}

fn c191_a_reference_may_be_registered_again(stage: &Stage) {
    let (_m, s, p, handle) = acquainted(stage);
    let write = commands().request_death(handle, 7).clear_death(handle, 7);
    p.write(write.request_death(handle, 7));
    expect!(p.read() => [ClearDeathDone(7)]);
    p.park();
    s.close();
    expect!(p.woken() => [DeadBinder(7)]);
}

fn c192_a_weak_reference_suffices(stage: &Stage) {
    let (_m, s, p, handle) = acquainted(stage);
    p.write(commands().increfs(handle).release(handle));
    p.park_with(commands().request_death(handle, 7));
    s.close();
    expect!(p.woken() => [DeadBinder(7)]);
}

fn c193_the_last_count_takes_the_registration_along(stage: &Stage) {
    let (m, s, p, handle) = acquainted(stage);
    p.write(commands().request_death(handle, 7).release(handle));
    s.read(); // It is told of the release.
    close_in_view(stage, &m, &s);
    p.assert_idle();
}

fn c194_a_hundred_processes_are_told_once_each(stage: &Stage) {
    let m = stage.manager();
    let host = stage.rig().start_host();
    let entrance = Entrance { host: Some(host), area_len: None, ..Entrance::default() };
    let crowd: Vec<Party<'_>> = (0..100).map(|_| stage.enter(entrance)).collect();
    for (cookie, p) in (0..).zip(&crowd) {
        p.write(commands().acquire(0).request_death(0, cookie));
    }
    m.close();
    for (cookie, p) in (0..).zip(&crowd) {
        p.await_readable();
        assert_eq!(p.read(), [DeadBinder(cookie)]);
    }
    for p in &crowd {
        p.assert_idle();
    }
}

fn c195_a_killed_owner_is_dead(stage: &Stage) {
    let (_m, s, p, handle) = acquainted(stage);
    kill_before(&s, &p, handle);
}
