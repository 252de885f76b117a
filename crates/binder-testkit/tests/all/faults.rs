//! A fault at every step of a call leaves nothing behind.

use binder_core::LiveObjects;
use binder_testkit::Return::Transaction;
use binder_testkit::{CoreRig, Message, Mode, Party, Stage, commands, introduce, settle_down};
use binder_uapi::TF_CLEAR_BUF;

struct Scene<'s> {
    m: Party<'s>,
    p: Party<'s>,
    /// The client's handle to an object of the manager's.
    handle: u32,
}

/// Plays `act` once for each access to memory that it makes, which then faults. What is held
/// afterwards must be what was held before.
fn with_a_fault_at_every_step(act: impl Fn(&Scene<'_>)) {
    for rig in CoreRig::BOTH {
        with_a_fault_at_every_step_on(rig, &act);
    }
}

fn with_a_fault_at_every_step_on(rig: fn() -> CoreRig, act: impl Fn(&Scene<'_>)) {
    for step in 0.. {
        let stage = Stage::new(Box::new(rig()));
        let core = stage.rig().core().expect("a rig on the core");
        let m = stage.manager();
        let p = stage.party();
        let scene = Scene { m, p, handle: introduce(&m, &m, (0x10, 0x20), &p) };
        settle_down(&[m, p]);
        let before = core.live_objects();

        core.fault_after(Some(step));
        act(&scene);
        let has_faulted = core.has_faulted();
        core.fault_after(None);
        settle_down(&[m, p]);

        // A notice that could not be written is lost, as in Linux, and its node with it until its
        // owner leaves; everything else is as it was.
        let after = core.live_objects();
        assert!(after.nodes <= before.nodes + 2, "step {step}: {before:?} {after:?}");
        let without_nodes =
            |live_objects: LiveObjects| LiveObjects { nodes: 0, references: 0, ..live_objects };
        assert_eq!(without_nodes(after), without_nodes(before), "after a fault at step {step}");
        stage.tear_down();
        if !has_faulted {
            assert!(step > 4, "the act touches memory");
            return;
        }
    }
}

fn request(scene: &Scene<'_>) -> Message {
    let objects = Message::new(1).bytes(b"request").binder(0x1000, 1).weak_binder(0x2000, 2);
    objects.handle(scene.handle).flags(TF_CLEAR_BUF)
}

#[test]
fn of_a_call() {
    with_a_fault_at_every_step(|scene| {
        let _ = scene.p.try_write(commands().call(0, request(scene)));
    });
}

#[test]
fn of_a_oneway_behind_another() {
    with_a_fault_at_every_step(|scene| {
        let write = commands().oneway(0, request(scene)).oneway(0, request(scene));
        let _ = scene.p.try_write(write);
    });
}

#[test]
fn of_a_delivery() {
    with_a_fault_at_every_step(|scene| {
        let write = commands().oneway(scene.handle, request(scene)).call(0, request(scene));
        let _ = scene.p.try_write(write);
        settle_down(&[scene.m]);
    });
}

#[test]
fn of_a_reply() {
    with_a_fault_at_every_step(|scene| {
        let _ = scene.p.try_write(commands().call(0, request(scene)));
        scene.m.set_mode(Mode::Nonblocking);
        for returned in scene.m.try_read().returns {
            if let Transaction(call) = returned {
                // Each command twice: the fault may have hit the first.
                let reply = Message::new(0).bytes(b"reply").binder(0x3000, 3).handle(1);
                let (free, reply) = (commands().free(call.buffer), commands().reply(reply));
                for command in [&free, &free, &reply, &reply] {
                    let _ = scene.m.try_write(command.clone());
                    settle_down(&[scene.p]);
                }
            }
        }
    });
}
