//! The end of buffers: freed by their receiver, or with it.

use binder_testkit::{CoreRig, Message, Stage, commands, settle_down};

use super::{Scene, at_each_slice, loaded};

/// Handles and nodes in a buffer: each is let go of.
const HELD: usize = 5;

/// The manager has read a one-way with everything, and begins to free its buffer. Says whether it is at
/// that still.
fn begin_free(scene: &Scene<'_>, slices: usize) -> (u64, bool) {
    let Scene { m, p, handle, .. } = scene;
    p.write(commands().oneway(0, loaded(&[*handle])));
    let oneway = m.read_call();
    assert_eq!(scene.known_to(m).0, HELD);
    scene.core().hold_windows();
    m.start(m.writing(&commands().free(oneway.buffer)));
    (oneway.buffer, scene.play_slices(m, slices))
}

#[test]
fn a_buffer_is_free_when_the_call_returns() {
    at_each_slice(HELD, |scene, slices| {
        let (buffer, was_begun) = begin_free(scene, slices);
        if was_begun {
            assert!(scene.live_objects().pages_in_use > 0, "its room is taken until then");
            // A client frees it once more: there is none of that address.
            let helper = scene.m.thread();
            helper.start(helper.writing(&commands().free(buffer)));
        }
        scene.core().let_windows_pass();
        assert_eq!(scene.known_to(&scene.m).0, 0);
        assert_eq!(scene.live_objects().pages_in_use, 0);
        settle_down(&[scene.m, scene.p]);
        scene.assert_nothing_under_way();
        was_begun
    });
}

#[test]
fn a_thread_that_ends_while_it_frees_a_buffer_has_freed_it() {
    at_each_slice(HELD, |scene, slices| {
        let (_, was_begun) = begin_free(scene, slices);
        if was_begun {
            scene.end_thread(scene.m.caller());
            scene.core().let_windows_pass();
            assert_eq!(scene.known_to(&scene.m).0, 0);
            settle_down(&[scene.m.thread(), scene.p]);
            scene.assert_nothing_under_way();
        }
        was_begun
    });
}

#[test]
fn a_process_that_dies_while_it_frees_a_buffer_takes_the_rest_along() {
    at_each_slice(HELD, |scene, slices| {
        let (_, was_begun) = begin_free(scene, slices);
        if was_begun {
            scene.m.kill();
            scene.core().let_windows_pass();
            settle_down(&[scene.p]);
            scene.assert_nothing_under_way();
        }
        was_begun
    });
}

#[test]
fn owners_that_die_while_a_buffer_is_freed_are_let_go_of_as_well() {
    at_each_slice(HELD, |scene, slices| {
        let (_, was_begun) = begin_free(scene, slices);
        if was_begun {
            scene.p.kill();
            scene.t.kill();
            scene.core().let_windows_pass();
            assert_eq!(scene.known_to(&scene.m).0, 0);
            settle_down(&[scene.m]);
            scene.assert_nothing_under_way();
        }
        was_begun
    });
}

/// The next one-way of an object does not wait for all that the one before it held.
#[test]
fn a_oneway_comes_out_when_the_one_before_it_begins_to_be_freed() {
    let stage = Stage::new(Box::new(CoreRig::default().in_slices_of(1)));
    let scene = Scene::new(&stage);
    let (m, p) = (scene.m, scene.p);
    p.write(commands().oneway(0, loaded(&[scene.handle])).oneway(0, Message::new(2)));
    let oneway = m.read_call();
    scene.core().hold_windows();
    m.start(m.writing(&commands().free(oneway.buffer)));
    assert!(scene.play_slices(&m, 1));
    let helper = m.thread();
    helper.start(helper.reading(helper.writing(&commands())));
    scene.core().let_windows_pass();
    let second = helper.woken_by_call();
    assert_eq!(second.code, 2);
    helper.write(commands().free(second.buffer));
    settle_down(&[m, p]);
    scene.assert_nothing_under_way();
    stage.tear_down();
}

/// A buffer whose receiver ends goes slice by slice as well, and its room is taken until then.
#[test]
fn a_call_that_nobody_read_is_let_go_of_in_slices() {
    let stage = Stage::new(Box::new(CoreRig::default().in_slices_of(2)));
    let scene = Scene::new(&stage);
    let (m, p) = (scene.m, scene.p);
    p.write(commands().oneway(0, loaded(&[scene.handle])));
    scene.core().end_slowly();
    scene.core().lose_mapping(m.caller().process);
    let mut slices = 0;
    let mut known = scene.known_to(&m).0;
    assert_eq!((known, scene.live_objects().unfinished), (HELD - 2, 1));
    while scene.live_objects().unfinished > 0 {
        assert!(scene.live_objects().pages_in_use > 0);
        scene.core().end_some();
        slices += 1;
        assert!(scene.known_to(&m).0 < known);
        known = scene.known_to(&m).0;
    }
    assert_eq!((known, slices), (0, 2));
    settle_down(&[p]);
    scene.assert_nothing_under_way();
    stage.tear_down();
}
