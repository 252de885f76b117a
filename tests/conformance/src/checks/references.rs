//! What owners hear of references, and what references keep alive.

use binder_testkit::Return::{
    Acquire, Decrefs, FailedReply, Increfs, Release, Transaction, TransactionComplete,
};
use binder_testkit::{Message, Party, Progress, Stage, commands, expect, introduce};
use binder_uapi::{
    BINDER_GET_NODE_DEBUG_INFO, BINDER_GET_NODE_INFO_FOR_REF, BINDER_TYPE_WEAK_HANDLE,
    BinderNodeDebugInfo, BinderNodeInfoForRef, BinderTransactionData, BinderWriteRead,
};
use rustix::io::Errno;

use crate::registry::checks;

const PTR: u64 = 0x1000;
const COOKIE: u64 = 0x2000;

checks! {
    Both c260_a_strong_count_among_others_is_no_loss,
    Both c259_an_acknowledgement_that_is_not_due_queues_the_loss_again,
    Both c258_a_read_that_found_nothing_to_tell_sleeps_on,
    Both c257_the_first_acknowledgement_of_a_lost_object_takes_the_place_in_the_queue,
    Both c060_c061_a_sender_hears_of_the_first_references,
    Both c062_a_known_object_brings_no_notice,
    Both c063_a_loss_that_was_made_good_is_not_told,
    Both c063_the_last_strong_and_the_last_weak_reference_are_told,
    Both c064_a_release_waits_for_the_acknowledgement,
    Both c065_a_decrement_waits_for_the_acknowledgement,
    Both c066_any_looper_hears_of_the_release,
    Both c067_c180_a_freed_buffer_takes_its_handles_along,
    Both c068_an_acquired_handle_outlives_its_buffer,
    Both c069_a_weak_reference_cannot_be_acquired,
    Both c070_a_weak_count_keeps_the_handle_but_not_the_object,
    Both c071_counts_do_not_fall_below_zero,
    Both c072_unknown_handles_are_ignored,
    Both c073_a_wrong_acknowledgement_is_ignored,
    Both c074_an_object_keeps_its_cookie,
    Both c075_a_weak_object_arrives_as_a_weak_handle,
    Both c076_an_unfreed_buffer_holds_its_objects,
    Both c077_a_forgotten_object_starts_over,
    Both c078_own_nodes_can_be_listed,
    Both c079_only_the_manager_may_ask_for_counts,
    Both c080_a_process_counts_once,
}

/// `p` has sent one object to the manager, which holds it by the buffer alone; `p` has been told.
fn sent<'s>(stage: &'s Stage) -> (Party<'s>, Party<'s>, BinderTransactionData) {
    let m = stage.manager();
    let p = stage.party();
    let sent = p.exchange(commands().oneway(0, Message::new(1).binder(PTR, COOKIE)));
    expect!(sent => [Increfs(PTR, COOKIE), Acquire(PTR, COOKIE), TransactionComplete]);
    let received = m.read_call();
    (m, p, received)
}

fn acknowledge(p: &Party<'_>) {
    p.write(commands().increfs_done(PTR, COOKIE).acquire_done(PTR, COOKIE));
}

fn c060_c061_a_sender_hears_of_the_first_references(stage: &Stage) {
    sent(stage);
}

fn c062_a_known_object_brings_no_notice(stage: &Stage) {
    let (_m, p, _received) = sent(stage);
    let again = p.exchange(commands().oneway(0, Message::new(1).binder(PTR, COOKIE)));
    expect!(again => [TransactionComplete]);
}

fn c063_a_loss_that_was_made_good_is_not_told(stage: &Stage) {
    let (m, p, received) = sent(stage);
    acknowledge(&p);
    m.write(commands().free(received.buffer));
    // Before any thread reads of the loss, the object is out again.
    let again = commands().oneway(0, Message::new(2).binder(PTR, COOKIE));
    expect!(p.thread().exchange(again) => [TransactionComplete]);
    p.assert_idle();
}

fn c063_the_last_strong_and_the_last_weak_reference_are_told(stage: &Stage) {
    let (m, p, received) = sent(stage);
    acknowledge(&p);
    m.write(commands().acquire(1).increfs(1).free(received.buffer));
    p.assert_idle();
    m.write(commands().release(1));
    expect!(p.read() => [Release(PTR, COOKIE)]);
    m.write(commands().decrefs(1));
    expect!(p.read() => [Decrefs(PTR, COOKIE)]);
}

fn c064_a_release_waits_for_the_acknowledgement(stage: &Stage) {
    let (m, p, received) = sent(stage);
    m.write(commands().free(received.buffer));
    p.assert_idle();
    p.write(commands().increfs_done(PTR, COOKIE));
    p.assert_idle();
    expect!(p.exchange(commands().acquire_done(PTR, COOKIE)) => [
        Release(PTR, COOKIE),
        Decrefs(PTR, COOKIE)
    ]);
}

fn c065_a_decrement_waits_for_the_acknowledgement(stage: &Stage) {
    let (m, p, received) = sent(stage);
    m.write(commands().free(received.buffer));
    expect!(p.exchange(commands().acquire_done(PTR, COOKIE)) => [Release(PTR, COOKIE)]);
    p.assert_idle();
    expect!(p.exchange(commands().increfs_done(PTR, COOKIE)) => [Decrefs(PTR, COOKIE)]);
}

fn c066_any_looper_hears_of_the_release(stage: &Stage) {
    let (m, p, received) = sent(stage);
    acknowledge(&p);
    let looper = p.thread();
    looper.park_with(commands().enter_looper());
    m.write(commands().free(received.buffer));
    expect!(looper.woken() => [Release(PTR, COOKIE), Decrefs(PTR, COOKIE)]);
}

fn c067_c180_a_freed_buffer_takes_its_handles_along(stage: &Stage) {
    let (m, _p, received) = sent(stage);
    let handle = m.objects(&received)[0].handle();
    m.write(commands().free(received.buffer));
    expect!(m.exchange(commands().call(handle, Message::new(1))) => [FailedReply]);
}

fn c068_an_acquired_handle_outlives_its_buffer(stage: &Stage) {
    let (m, p, received) = sent(stage);
    let handle = m.objects(&received)[0].handle();
    m.write(commands().acquire(handle).free(received.buffer));
    m.write(commands().call(handle, Message::new(7)));
    assert_eq!(p.read_call().code, 7);
}

fn c069_a_weak_reference_cannot_be_acquired(stage: &Stage) {
    let m = stage.manager();
    let p = stage.party();
    p.write(commands().oneway(0, Message::new(1).weak_binder(PTR, COOKIE)));
    let received = m.read_call();
    m.write(commands().acquire(1));
    expect!(m.exchange(commands().call(1, Message::new(1))) => [FailedReply]);
    m.write(commands().increfs(1).free(received.buffer).acquire(1));
    expect!(m.exchange(commands().call(1, Message::new(1))) => [FailedReply]);
}

fn c070_a_weak_count_keeps_the_handle_but_not_the_object(stage: &Stage) {
    let m = stage.manager();
    let p = stage.party();
    let handle = introduce(&m, &m, (PTR, COOKIE), &p);
    p.write(commands().increfs(handle).release(handle));
    expect!(p.exchange(commands().call(handle, Message::new(1))) => [FailedReply]);
    expect!(p.exchange(commands().oneway(0, Message::new(1).weak_handle(handle))) => [
        TransactionComplete
    ]);
}

fn c071_counts_do_not_fall_below_zero(stage: &Stage) {
    let m = stage.manager();
    let p = stage.party();
    let handle = introduce(&m, &m, (PTR, COOKIE), &p);
    p.write(commands().decrefs(handle).decrefs(handle));
    p.write(commands().oneway(handle, Message::new(1)));
    expect!(p.read() => [TransactionComplete]);
    p.write(commands().increfs(handle).release(handle).release(handle).release(handle));
    expect!(p.exchange(commands().oneway(0, Message::new(1).weak_handle(handle))) => [
        TransactionComplete
    ]);
}

fn c072_unknown_handles_are_ignored(stage: &Stage) {
    let p = stage.party();
    p.write(commands().increfs(9).acquire(9).release(9).decrefs(9));
    p.assert_idle();
}

fn c073_a_wrong_acknowledgement_is_ignored(stage: &Stage) {
    let (m, p, received) = sent(stage);
    m.write(commands().free(received.buffer));
    p.write(commands().increfs_done(PTR, 1).acquire_done(PTR, 1).acquire_done(1, COOKIE));
    p.assert_idle();
    acknowledge(&p);
    expect!(p.read() => [Release(PTR, COOKIE), Decrefs(PTR, COOKIE)]);
    acknowledge(&p);
    p.assert_idle();
}

fn c074_an_object_keeps_its_cookie(stage: &Stage) {
    let (_m, p, _received) = sent(stage);
    let other = Message::new(1).binder(PTR, COOKIE + 1);
    expect!(p.exchange(commands().oneway(0, other)) => [FailedReply]);
    assert_eq!(p.extended_error().param, -Errno::INVAL.raw_os_error());
}

fn c075_a_weak_object_arrives_as_a_weak_handle(stage: &Stage) {
    let m = stage.manager();
    let p = stage.party();
    let sent = p.exchange(commands().oneway(0, Message::new(1).weak_binder(PTR, COOKIE)));
    expect!(sent => [Increfs(PTR, COOKIE), TransactionComplete]);
    let received = m.read_call();
    assert_eq!(m.objects(&received)[0].kind, BINDER_TYPE_WEAK_HANDLE);
}

fn c076_an_unfreed_buffer_holds_its_objects(stage: &Stage) {
    let (m, p, received) = sent(stage);
    acknowledge(&p);
    p.assert_idle();
    m.write(commands().free(received.buffer));
    expect!(p.read() => [Release(PTR, COOKIE), Decrefs(PTR, COOKIE)]);
}

fn c077_a_forgotten_object_starts_over(stage: &Stage) {
    let (m, p, received) = sent(stage);
    acknowledge(&p);
    m.write(commands().free(received.buffer));
    expect!(p.read() => [Release(PTR, COOKIE), Decrefs(PTR, COOKIE)]);
    // Not the same object: another cookie is as good.
    let sent = p.exchange(commands().oneway(0, Message::new(1).binder(PTR, COOKIE + 1)));
    expect!(sent => [Increfs(PTR, _), Acquire(PTR, _), TransactionComplete]);
}

fn c078_own_nodes_can_be_listed(stage: &Stage) {
    let _m = stage.manager();
    let p = stage.party();
    let message = Message::new(1).binder(0x30, 3).binder(0x10, 1).weak_binder(0x20, 2);
    p.write(commands().oneway(0, message));
    assert_eq!(p.read().len(), 6);
    let mut info = BinderNodeDebugInfo::default();
    let mut seen = Vec::new();
    loop {
        p.ioctl(BINDER_GET_NODE_DEBUG_INFO, &mut info).unwrap();
        if info.ptr == 0 {
            break;
        }
        seen.push((info.ptr, info.cookie, info.has_strong_ref, info.has_weak_ref));
    }
    assert_eq!(seen, [(0x10, 1, 1, 1), (0x20, 2, 0, 1), (0x30, 3, 1, 1)]);
    assert_eq!(info, BinderNodeDebugInfo::default());
}

fn c079_only_the_manager_may_ask_for_counts(stage: &Stage) {
    let m = stage.manager();
    let p = stage.party();
    let theirs = introduce(&m, &m, (PTR, COOKIE), &p);
    let ours = introduce(&m, &p, (PTR, COOKIE), &m);
    let ask = |party: &Party<'_>, mut request: BinderNodeInfoForRef| {
        party.ioctl(BINDER_GET_NODE_INFO_FOR_REF, &mut request)
    };
    let plain = |handle| BinderNodeInfoForRef { handle, ..Default::default() };
    assert_eq!(ask(&p, plain(theirs)), Err(Errno::PERM));
    assert_eq!(ask(&m, plain(ours)), Ok(()));
    assert_eq!(ask(&m, plain(99)), Err(Errno::INVAL));
    let claims = [
        BinderNodeInfoForRef { strong_count: 1, ..plain(ours) },
        BinderNodeInfoForRef { weak_count: 1, ..plain(ours) },
        BinderNodeInfoForRef { reserved1: 1, ..plain(ours) },
        BinderNodeInfoForRef { reserved2: 1, ..plain(ours) },
        BinderNodeInfoForRef { reserved3: 1, ..plain(ours) },
    ];
    for claim in claims {
        assert_eq!(ask(&m, claim), Err(Errno::INVAL), "{claim:?}");
    }
}

fn c080_a_process_counts_once(stage: &Stage) {
    let m = stage.manager();
    let p = stage.party();
    let q = stage.party();
    let ours = introduce(&m, &p, (PTR, COOKIE), &m);
    introduce(&m, &p, (PTR, COOKIE), &q);
    m.write(commands().acquire(ours).acquire(ours));
    let mut request = BinderNodeInfoForRef { handle: ours, ..Default::default() };
    m.ioctl(BINDER_GET_NODE_INFO_FOR_REF, &mut request).unwrap();
    assert_eq!(request.strong_count, 2);
}

fn c257_the_first_acknowledgement_of_a_lost_object_takes_the_place_in_the_queue(stage: &Stage) {
    let m = stage.manager();
    let p = stage.party();
    let known = introduce(&m, &p, (0x20, 0), &m);
    let notices = p.exchange(commands().oneway(0, Message::new(1).binder(0x10, 0)));
    assert_eq!(notices, [Increfs(0x10, 0), Acquire(0x10, 0), TransactionComplete]);
    let oneway = m.read_call();
    m.write(commands().free(oneway.buffer));
    // It has no reference any more, and its owner learns of that once it has acknowledged both.
    p.write(commands().increfs_done(0x10, 0));
    m.write(commands().oneway(known, Message::new(2)));
    p.write(commands().acquire_done(0x10, 0));
    expect!(p.read() => [Release(0x10, 0), Decrefs(0x10, 0), Transaction(_)]);
}

fn c258_a_read_that_found_nothing_to_tell_sleeps_on(stage: &Stage) {
    let m = stage.manager();
    let p = stage.party();
    let lost = |ptr| {
        let notices = p.exchange(commands().oneway(0, Message::new(1).binder(ptr, 0)));
        assert_eq!(notices, [Increfs(ptr, 0), Acquire(ptr, 0), TransactionComplete]);
        let oneway = m.read_call();
        m.write(commands().free(oneway.buffer));
        // The owner is told once it has acknowledged the strong reference, too.
        p.write(commands().increfs_done(ptr, 0));
    };
    for (ptr, read_consumed) in [(0x10, 0), (0x20, 4)] {
        lost(ptr);
        let argument = p.reading(BinderWriteRead { read_consumed, ..BinderWriteRead::default() });
        assert_eq!(p.start(argument), Progress::Parked, "from {read_consumed}");
        assert_eq!(p.interrupted().result, Err(Errno::INTR));
    }
    // Behind more than a noop it returns.
    lost(0x30);
    let argument = p.reading(BinderWriteRead { read_consumed: 8, ..BinderWriteRead::default() });
    assert_eq!(p.start(argument), Progress::Done(Ok(())));
}

fn c259_an_acknowledgement_that_is_not_due_queues_the_loss_again(stage: &Stage) {
    let m = stage.manager();
    let p = stage.party();
    let notices = p.exchange(commands().oneway(0, Message::new(1).binder(0x10, 0)));
    assert_eq!(notices, [Increfs(0x10, 0), Acquire(0x10, 0), TransactionComplete]);
    let oneway = m.read_call();
    m.write(commands().free(oneway.buffer));
    for cookie in [0, 0, 1] {
        p.write(commands().increfs_done(0x10, cookie));
        assert!(p.is_readable(), "by the cookie {cookie}");
        // The strong acknowledgement is due still, so there is nothing to tell.
        assert_eq!(p.start(p.reading(BinderWriteRead::default())), Progress::Parked);
        assert_eq!(p.interrupted().result, Err(Errno::INTR));
        assert!(!p.is_readable(), "by the cookie {cookie}");
    }
    p.write(commands().acquire_done(0x10, 0));
    assert_eq!(p.read(), [Release(0x10, 0), Decrefs(0x10, 0)]);
}

fn c260_a_strong_count_among_others_is_no_loss(stage: &Stage) {
    let m = stage.manager();
    let p = stage.party();
    let known = introduce(&m, &p, (PTR, COOKIE), &m);
    for _ in 0..2 {
        m.write(commands().oneway(known, Message::new(1)));
    }
    m.write(commands().release(known));
    let first = p.read_call();
    // That the last reference is gone comes to nothing, for the first holds the object.
    assert_eq!(p.start(p.reading(BinderWriteRead::default())), Progress::Parked);
    assert_eq!(p.interrupted().result, Err(Errno::INTR));
    // So does the second.
    p.write(commands().free(first.buffer));
    let second = p.read_call();
    assert!(!p.is_readable());
    p.write(commands().free(second.buffer));
    assert_eq!(p.read(), [Release(PTR, COOKIE), Decrefs(PTR, COOKIE)]);
}
