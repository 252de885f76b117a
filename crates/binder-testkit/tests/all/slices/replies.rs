//! Replies: their call is served until they are complete.

use binder_testkit::Return::{self, Acquire, DeadReply, Increfs, Reply, TransactionComplete};
use binder_testkit::{Message, Party, commands, expect, settle_down};

use super::{Scene, at_each_slice, loaded};

/// Own objects, and a piece; callers take no files unless they say so.
const OBJECTS: usize = 5;

fn without_notices(mut returns: Vec<Return>) -> Vec<Return> {
    returns.retain(|it| !matches!(it, Increfs(..) | Acquire(..)));
    returns
}

/// `p` calls with leave for files, and the manager begins to reply. Says whether it is at that still.
fn begin_reply(scene: &Scene<'_>, slices: usize) -> bool {
    let Scene { m, p, .. } = scene;
    p.park_with(commands().call(0, Message::new(9).flags(binder_uapi::TF_ACCEPT_FDS)));
    let call = m.read_call();
    m.write(commands().free(call.buffer));
    scene.core().hold_windows();
    m.start(m.writing(&commands().reply(loaded(&[]))));
    scene.play_slices(m, slices)
}

fn replies_of(party: &Party<'_>) -> Vec<Return> {
    without_notices(party.read())
}

#[test]
fn a_reply_of_many_slices_arrives_whole() {
    at_each_slice(OBJECTS, |scene, slices| {
        let was_begun = begin_reply(scene, slices);
        scene.core().let_windows_pass();
        let (m, p) = (scene.m, scene.p);
        expect!(p.woken() => [TransactionComplete, Reply(reply)]);
        assert_eq!(scene.known_to(&p).0, 1 + 4, "an object that it knew, and four new ones");
        p.write(commands().free(reply.buffer));
        expect!(replies_of(&m) => [TransactionComplete]);
        settle_down(&[m, p]);
        scene.assert_nothing_under_way();
        was_begun
    });
}

#[test]
fn a_caller_that_dies_between_slices_is_not_answered() {
    at_each_slice(OBJECTS, |scene, slices| {
        let was_begun = begin_reply(scene, slices);
        if was_begun {
            scene.p.kill();
            scene.core().let_windows_pass();
            expect!(replies_of(&scene.m) => [TransactionComplete]);
            settle_down(&[scene.m]);
            scene.assert_nothing_under_way();
            // It serves no call any more.
            scene.t.write(commands().call(0, Message::new(3)));
            let call = scene.m.read_call();
            scene.m.answer(&call, Message::new(4));
            assert_eq!(scene.t.read_reply().code, 4);
        }
        was_begun
    });
}

#[test]
fn a_calling_thread_that_ends_between_slices_is_not_answered() {
    at_each_slice(OBJECTS, |scene, slices| {
        let was_begun = begin_reply(scene, slices);
        if was_begun {
            let known = scene.known_to(&scene.p).0;
            scene.end_thread(scene.p.caller());
            scene.core().let_windows_pass();
            expect!(replies_of(&scene.m) => [TransactionComplete]);
            assert!(scene.known_to(&scene.p).0 <= known, "the process keeps nothing of it");
            settle_down(&[scene.m]);
            scene.assert_nothing_under_way();
        }
        was_begun
    });
}

#[test]
fn a_replier_that_dies_between_slices_leaves_its_call_dead() {
    at_each_slice(OBJECTS, |scene, slices| {
        let was_begun = begin_reply(scene, slices);
        if was_begun {
            scene.m.kill();
            scene.core().let_windows_pass();
            expect!(scene.p.woken() => [TransactionComplete, DeadReply]);
            scene.assert_nothing_under_way();
        }
        was_begun
    });
}

#[test]
fn a_replying_thread_that_ends_between_slices_leaves_its_call_dead() {
    at_each_slice(OBJECTS, |scene, slices| {
        let was_begun = begin_reply(scene, slices);
        if was_begun {
            scene.end_thread(scene.m.caller());
            scene.core().let_windows_pass();
            expect!(scene.p.woken() => [TransactionComplete, DeadReply]);
            assert_eq!(scene.known_to(&scene.p).0, 1, "as before");
            scene.assert_nothing_under_way();
        }
        was_begun
    });
}
