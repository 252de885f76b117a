//! Calls and one-ways.

use binder_core::{Amounts, Limits, Resource, SendEnd};
use binder_testkit::Return::{
    Acquire, DeadReply, FailedReply, FrozenReply, Increfs, Reply, TransactionComplete,
};
use binder_testkit::{
    CoreRig, Message, Party, Return, Stage, commands, expect, introduce, settle_down,
};
use binder_uapi::{BINDER_FREEZE, BinderFreezeInfo, TF_ONE_WAY};

use super::{Scene, at_each_slice, begin_call, loaded};

/// How many objects are in [`loaded`], with the files of its array; one slice more stores nothing.
const OBJECTS: usize = 9;

fn read_without_notices(party: &Party<'_>) -> Vec<Return> {
    let mut returns = party.read();
    returns.retain(|it| !matches!(it, Increfs(..) | Acquire(..)));
    returns
}

/// Whether there is something to read.
fn is_called(party: &Party<'_>) -> bool {
    party.is_readable()
}

/// The call came and is whole: everything in it can be used, and goes with its buffer.
fn assert_served(scene: &Scene<'_>, m: &Party<'_>) {
    let Scene { p, .. } = scene;
    let call = m.read_call();
    assert_eq!(call.code, 1);
    let objects = m.objects(&call);
    assert_eq!(objects.len(), 7);
    let handles: Vec<u32> = objects[..5].iter().map(|object| object.handle()).collect();
    let (references, _) = scene.known_to(m);
    assert_eq!(references, 5, "{handles:?}");
    m.start(m.writing(&commands().free(call.buffer).reply(Message::new(2))));
    scene.core().let_windows_pass();
    assert_eq!(scene.known_to(m).0, 0, "all went with the buffer");
    expect!(read_without_notices(p) => [TransactionComplete, Reply(reply)]);
    p.write(commands().free(reply.buffer));
    settle_down(&[*m, *p]);
    scene.assert_nothing_under_way();
}

#[test]
fn a_call_of_many_slices_arrives_whole() {
    let stage = Stage::new(Box::new(CoreRig::default().in_slices_of(2)));
    let scene = Scene::new(&stage);
    assert!(begin_call(&scene, 2));
    assert_eq!(scene.live_objects().unfinished, 1);
    scene.core().let_windows_pass();
    assert_served(&scene, &scene.m);
    stage.tear_down();
}

#[test]
fn the_call_of_another_process_completes_between_two_slices() {
    let stage = Stage::new(Box::new(CoreRig::default().in_slices_of(2)));
    let scene = Scene::new(&stage);
    let (m, p, q) = (scene.m, scene.p, stage.party());
    m.park();
    scene.core().hold_windows();
    let many = (0..200).fold(Message::new(1), |all, ptr| all.binder(0x10 * (ptr + 1), ptr));
    p.start(p.writing(&commands().call(0, many)));
    assert!(scene.play_slices(&p, 3));
    q.start(q.reading(q.writing(&commands().call(0, Message::new(2)))));
    let pass_until = |party: &Party<'_>| {
        while party.is_parked() {
            assert!(scene.core().pass_window());
        }
    };
    pass_until(&m);
    let call = m.woken_by_call();
    assert_eq!(call.code, 2);
    m.start(m.writing(&commands().free(call.buffer).reply(Message::new(3))));
    pass_until(&m);
    pass_until(&q);
    expect!(q.woken() => [TransactionComplete, Reply(reply)]);
    assert!(p.is_parked(), "the first to send is not half through");
    scene.core().let_windows_pass();
    q.write(commands().free(reply.buffer));
    let [ended, _] = scene.core().transaction_logs();
    let codes: Vec<u32> = ended.iter().rev().take(3).map(|entry| entry.code).collect();
    assert_eq!(codes, [1, 3, 2], "it was sent when it was complete");
    assert!(ended.iter().all(|entry| entry.end == SendEnd::Accepted));
    expect!(m.read() => [TransactionComplete]);
    let big = m.read_call();
    assert_eq!(m.objects(&big).len(), 200);
    assert_eq!(scene.known_to(&m).0, 200);
    m.write(commands().free(big.buffer).reply(Message::new(2)));
    settle_down(&[m, p]);
    assert_eq!(scene.known_to(&m).0, 0);
    stage.tear_down();
}

#[test]
fn a_sender_that_is_killed_between_slices_has_sent_nothing() {
    at_each_slice(OBJECTS, |scene, slices| {
        if !begin_call(scene, slices) {
            return false;
        }
        scene.p.kill();
        assert_eq!(scene.known_to(&scene.m).0, 0);
        scene.assert_nothing_under_way();
        scene.core().let_windows_pass();
        scene.m.assert_idle();
        true
    });
}

#[test]
fn a_sending_thread_that_ends_between_slices_has_sent_nothing() {
    at_each_slice(OBJECTS, |scene, slices| {
        let nodes = scene.known_to(&scene.p);
        if !begin_call(scene, slices) {
            return false;
        }
        scene.end_thread(scene.p.caller());
        assert_eq!(scene.known_to(&scene.m).0, 0);
        scene.assert_nothing_under_way();
        scene.core().let_windows_pass();
        assert_eq!(scene.known_to(&scene.p), nodes, "nobody knows of its objects");
        scene.m.assert_idle();
        // Another thread can send the same.
        let helper = scene.p.thread();
        helper.write(commands().oneway(0, loaded(&[scene.handle])));
        let oneway = scene.m.read_call();
        scene.m.write(commands().free(oneway.buffer));
        settle_down(&[helper]);
        true
    });
}

#[test]
fn a_receiver_that_dies_between_slices_is_found_dead() {
    at_each_slice(OBJECTS, |scene, slices| {
        let was_begun = begin_call(scene, slices);
        if was_begun {
            scene.m.kill();
            scene.core().let_windows_pass();
            expect!(read_without_notices(&scene.p) => [DeadReply]);
            scene.assert_nothing_under_way();
        }
        was_begun
    });
}

#[test]
fn a_receiver_that_unmaps_between_slices_is_found_dead() {
    at_each_slice(OBJECTS, |scene, slices| {
        let was_begun = begin_call(scene, slices);
        if was_begun {
            scene.core().lose_mapping(scene.m.caller().process);
            scene.core().let_windows_pass();
            expect!(read_without_notices(&scene.p) => [DeadReply]);
            assert_eq!(scene.known_to(&scene.m).0, 0);
            scene.assert_nothing_under_way();
        }
        was_begun
    });
}

#[test]
fn a_receiver_that_is_frozen_between_slices_takes_no_call() {
    at_each_slice(OBJECTS, |scene, slices| {
        let was_begun = begin_call(scene, slices);
        if was_begun {
            let pid = scene.m.pid().unsigned_abs();
            let mut freeze = BinderFreezeInfo { pid, enable: 1, timeout_ms: 0 };
            scene.t.ioctl(BINDER_FREEZE, &mut freeze).expect("nothing is outstanding");
            scene.core().let_windows_pass();
            expect!(read_without_notices(&scene.p) => [FrozenReply]);
            assert_eq!(scene.known_to(&scene.m).0, 0);
            scene.assert_nothing_under_way();
        }
        was_begun
    });
}

/// A call goes to the thread that waits for its sender; which that is shows when it is sent.
#[test]
fn a_thread_that_waits_for_the_sender_and_ends_between_slices_is_not_called() {
    at_each_slice(OBJECTS, |scene, slices| {
        let Scene { m, p, t, .. } = scene;
        let known = introduce(m, p, (0x8000, 8), m);
        m.park_with(commands().call(known, Message::new(3)));
        let outer = p.read_call();
        let was_begun = begin_call(scene, slices);
        let helper = m.thread();
        if was_begun {
            scene.end_thread(m.caller());
            scene.core().let_windows_pass();
            let call = helper.read_call();
            assert_eq!(call.code, 1);
            helper.write(commands().free(call.buffer).reply(Message::new(2)));
            expect!(read_without_notices(p) => [TransactionComplete, Reply(reply)]);
            p.write(commands().free(reply.buffer).free(outer.buffer).reply(Message::new(4)));
            settle_down(&[helper, *p, *t]);
            scene.assert_nothing_under_way();
        }
        was_begun
    });
}

#[test]
fn the_owner_of_an_object_that_dies_between_slices_does_not_stop_it() {
    at_each_slice(OBJECTS, |scene, slices| {
        let was_begun = begin_call(scene, slices);
        if was_begun {
            scene.t.kill();
            scene.core().let_windows_pass();
            let knows = |returns: Vec<Return>| returns.contains(&FailedReply);
            // Of an object that is dead before it is counted nothing can be sent.
            if is_called(&scene.m) {
                assert_served(scene, &scene.m);
            } else {
                assert!(knows(scene.p.read()));
                assert_eq!(scene.known_to(&scene.m).0, 0);
                scene.assert_nothing_under_way();
            }
        }
        was_begun
    });
}

#[test]
fn a_handle_that_is_released_between_slices_was_sent_if_it_was_translated() {
    at_each_slice(OBJECTS, |scene, slices| {
        let Scene { p, m, handle, .. } = scene;
        let helper = p.thread();
        let was_begun = begin_call(scene, slices);
        if was_begun {
            helper.start(helper.writing(&commands().release(*handle)));
            scene.core().let_windows_pass();
            if is_called(m) {
                assert_served(scene, m);
            } else {
                expect!(read_without_notices(p) => [FailedReply]);
                assert_eq!(scene.known_to(m).0, 0);
                scene.assert_nothing_under_way();
            }
        }
        was_begun
    });
}

#[test]
fn another_thread_of_the_sender_sends_between_slices() {
    at_each_slice(OBJECTS, |scene, slices| {
        let Scene { p, m, .. } = scene;
        let helper = p.thread();
        let was_begun = begin_call(scene, slices);
        if was_begun {
            helper.start(helper.writing(&commands().oneway(0, loaded(&[]))));
            scene.core().let_windows_pass();
            settle_down(&[helper]);
            // One that serves a call takes no one-way.
            let readers = [*m, m.thread()];
            let mut read = readers.map(|reader| (reader, reader.read_call()));
            read.sort_by_key(|(_, call)| call.flags & TF_ONE_WAY);
            let [(server, call), (_, oneway)] = read;
            m.write(commands().free(oneway.buffer));
            assert_eq!(scene.known_to(m).0, 5, "each buffer holds what is in it");
            server.write(commands().free(call.buffer).reply(Message::new(2)));
            assert_eq!(scene.known_to(m).0, 0);
            expect!(read_without_notices(p) => [TransactionComplete, Reply(reply)]);
            p.write(commands().free(reply.buffer));
            settle_down(&[server, *p]);
            scene.assert_nothing_under_way();
        }
        was_begun
    });
}

#[test]
fn a_send_that_is_refused_at_its_last_object_leaves_nothing() {
    for objects in 1..8 {
        let stage = Stage::new(Box::new(CoreRig::default().in_slices_of(objects)));
        let scene = Scene::new(&stage);
        let (m, p) = (scene.m, scene.p);
        let nodes = scene.known_to(&p);
        p.write(commands().call(0, loaded(&[scene.handle]).handle(77)));
        expect!(p.read() => [FailedReply]);
        assert_eq!(scene.known_to(&m).0, 0);
        assert_eq!(scene.known_to(&p), nodes);
        scene.assert_nothing_under_way();
        m.assert_idle();
        stage.tear_down();
    }
}

/// A thread that has too much to read may send nothing; that it will read of its objects does not count.
#[test]
fn what_a_sender_hears_of_the_objects_in_its_send_does_not_keep_that_back() {
    let few = Amounts::of_each(usize::MAX).with(Resource::Unread, 8);
    let limits =
        Limits { per_file: few, per_user: Amounts::of_each(usize::MAX), ..Limits::default() };
    for objects in [2, 256] {
        let rig = CoreRig::with_limits(limits).in_slices_of(objects);
        let stage = Stage::new(Box::new(rig));
        let (m, p) = (stage.manager(), stage.party());
        let many = (0..20).fold(Message::new(1), |all, ptr| all.binder(0x10 * (ptr + 1), ptr));
        p.write(commands().call(0, many.clone()));
        let call = m.read_call();
        assert_eq!(m.objects(&call).len(), 20);
        m.write(commands().free(call.buffer).reply(many));
        let returns = read_without_notices(&p);
        expect!(returns => [TransactionComplete, Reply(reply)]);
        p.write(commands().free(reply.buffer));
        settle_down(&[m, p]);
        stage.tear_down();
    }
}

/// Data is stored in slices as well, with objects and without.
#[test]
fn long_data_arrives_whole() {
    let stage = Stage::new(Box::new(CoreRig::default()));
    let scene = Scene::new(&stage);
    let (m, p) = (scene.m, scene.p);
    let bytes: Vec<u8> = (0..600_000_u32).map(|at| at.to_le_bytes()[1]).collect();
    for message in [Message::new(1).bytes(&bytes), Message::new(1).bytes(&bytes).binder(0x1000, 1)]
    {
        scene.core().hold_windows();
        p.start(p.writing(&commands().call(0, message)));
        let mut windows = 0;
        while p.is_parked() {
            assert!(scene.core().pass_window());
            windows += 1;
        }
        assert_eq!(windows, 3, "two slices of 256 KiB, and one with the rest");
        scene.core().let_windows_pass();
        let call = m.read_call();
        assert!(m.data(&call).starts_with(&bytes));
        m.write(commands().free(call.buffer).reply(Message::new(2)));
        settle_down(&[m, p]);
        scene.assert_nothing_under_way();
    }
    stage.tear_down();
}
