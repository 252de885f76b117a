//! The core and the naive model read the same, whatever processes write, with front ends between or without.

use binder_testkit::game::{Game, SLOTS, Step, acquaintance};
use binder_testkit::{CoreRig, FdWorkState, Stage};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

/// Steps, of whose sends that share are oneways.
fn step(oneways: f64) -> impl Strategy<Value = Step> {
    let slot = 0..SLOTS;
    let is_oneway = prop::bool::weighted(oneways);
    let objects = vec((0..5_u8, 0..8_usize), 0..3);
    let which = 0..8_usize;
    prop_oneof![
        6 => (slot.clone(), which.clone(), is_oneway, objects.clone()).prop_map(
            |(slot, handle, is_oneway, objects)| Step::Send { slot, handle, is_oneway, objects }
        ),
        2 => (slot.clone(), which.clone()).prop_map(|(slot, handle)| Step::Adopt { slot, handle }),
        3 => (slot.clone(), objects).prop_map(|(slot, objects)| Step::Reply { slot, objects }),
        4 => (slot.clone(), which.clone()).prop_map(|(slot, which)| Step::Free { slot, which }),
        2 => (slot.clone(), which.clone(), any::<bool>())
            .prop_map(|(slot, handle, is_strong)| Step::Add { slot, handle, is_strong }),
        2 => (slot.clone(), which.clone()).prop_map(|(slot, which)| Step::Remove { slot, which }),
        3 => (slot.clone(), which.clone())
            .prop_map(|(slot, which)| Step::Acknowledge { slot, which }),
        2 => frozen(),
        1 => (slot.clone(), which.clone())
            .prop_map(|(slot, handle)| Step::RequestDeath { slot, handle }),
        1 => (slot.clone(), which.clone())
            .prop_map(|(slot, handle)| Step::ClearDeath { slot, handle }),
        1 => (slot.clone(), which)
            .prop_map(|(slot, handle)| Step::DeathDone { slot, handle }),
        12 => slot.clone().prop_map(|slot| Step::Read { slot }),
        1 => slot.clone().prop_map(|slot| Step::ExitThread { slot }),
        1 => (slot.clone(), any::<bool>())
            .prop_map(|(slot, is_full)| Step::Fill { slot, is_full }),
        1 => slot.prop_map(|slot| Step::Replace { slot }),
    ]
}

/// Steps about calls that the driver adopts.
fn adopted() -> impl Strategy<Value = Step> {
    let (slot, which) = (0..SLOTS, 0..8_usize);
    prop_oneof![
        (slot.clone(), which.clone()).prop_map(|(slot, handle)| Step::Adopt { slot, handle }),
        slot.clone().prop_map(|slot| Step::Reply { slot, objects: Vec::new() }),
        slot.clone().prop_map(|slot| Step::Read { slot }),
        (slot, which).prop_map(|(slot, which)| Step::Free { slot, which }),
    ]
}

/// Steps about freezing.
fn frozen() -> impl Strategy<Value = Step> {
    let (slot, whom, handle) = (0..SLOTS, 0..SLOTS, 0..8_usize);
    let objects = vec((0..4_u8, 0..8_usize), 0..2);
    prop_oneof![
        (slot.clone(), whom.clone()).prop_map(|(slot, whom)| Step::Freeze { slot, whom }),
        (slot.clone(), whom.clone()).prop_map(|(slot, whom)| Step::Thaw { slot, whom }),
        (slot.clone(), whom).prop_map(|(slot, whom)| Step::AskForFrozen { slot, whom }),
        (slot.clone(), handle.clone(), objects).prop_map(|(slot, handle, objects)| Step::Update {
            slot,
            handle,
            objects
        }),
        (slot.clone(), handle.clone())
            .prop_map(|(slot, handle)| Step::RequestFreeze { slot, handle }),
        (slot.clone(), handle.clone())
            .prop_map(|(slot, handle)| Step::ClearFreeze { slot, handle }),
        (slot, handle).prop_map(|(slot, handle)| Step::FreezeDone { slot, handle }),
    ]
}

/// Slices shorter than most messages, and longer than all.
fn slices() -> impl Strategy<Value = usize> {
    prop_oneof![Just(1), Just(2), Just(256)]
}

/// A snapshot tells of every object that there is.
fn assert_snapshot_is_complete(core: &CoreRig) {
    let (live_objects, snapshot) = (core.live_objects(), core.snapshot());
    let processes = &snapshot.processes;
    let threads = || processes.iter().flat_map(|process| &process.threads);
    let nodes = processes.iter().map(|process| process.nodes.len()).sum::<usize>();
    assert_eq!(processes.len(), live_objects.processes);
    assert_eq!(threads().count(), live_objects.threads);
    assert_eq!(nodes + snapshot.dead_nodes.len(), live_objects.nodes);
    let references = processes.iter().map(|process| process.references.len());
    assert_eq!(references.sum::<usize>(), live_objects.references);
    assert_eq!(processes.iter().map(|it| it.buffers.len()).sum::<usize>(), live_objects.buffers);
    let queued = processes.iter().map(|process| process.todo.len()).sum::<usize>();
    assert_eq!(
        queued + threads().map(|thread| thread.todo.len()).sum::<usize>(),
        live_objects.queued
    );
}

/// Plays the steps in slices of that many objects; no party can tell.
fn compare(steps: &[Step], objects: usize) {
    for rig in CoreRig::BOTH {
        compare_on(rig().in_slices_of(objects), steps);
    }
    let way = [FdWorkState::Stopped, FdWorkState::Moved][steps.len() % 2];
    compare_on(CoreRig::default().with_fd_work(way).in_slices_of(objects), steps);
}

fn compare_on(rig: CoreRig, steps: &[Step]) {
    let stage = Stage::new(Box::new(rig));
    let mut game = Game::new(&stage);
    for step in steps {
        game.play(step);
        assert_snapshot_is_complete(stage.rig().core().expect("a rig on the core"));
    }
    game.read_the_rest();
    let live_objects = stage.rig().core().expect("a rig on the core").live_objects();
    let counted = (live_objects.nodes, live_objects.references, live_objects.buffers);
    assert_eq!(counted, game.model().live_objects());
    stage.tear_down();
}

#[test]
fn after_the_acquaintance_everybody_can_call_everybody() {
    let stage = Stage::new(Box::new(CoreRig::default()));
    let mut game = Game::new(&stage);
    for step in &acquaintance() {
        game.play(step);
    }
    for slot in 1..SLOTS {
        assert_eq!(game.model().handles(game.pid(slot)), [1, 2]);
    }
}

#[test]
fn what_a_buffer_alone_holds_is_looked_into_before_a_later_death() {
    let steps = [
        Step::Replace { slot: 2 },
        Step::Send { slot: 0, handle: 6, is_oneway: false, objects: vec![] },
        Step::Replace { slot: 0 },
        Step::Read { slot: 1 },
        Step::Replace { slot: 3 },
        Step::RequestDeath { slot: 1, handle: 0 },
        Step::Free { slot: 1, which: 0 },
        Step::Reply { slot: 1, objects: vec![] },
    ];
    for objects in [1, 2, 256] {
        compare(&[&acquaintance()[..], &steps].concat(), objects);
    }
}

fn games() -> ProptestConfig {
    let config = ProptestConfig { failure_persistence: None, ..ProptestConfig::default() };
    let rng_seed = match config.rng_seed {
        RngSeed::Random => RngSeed::Fixed(1),
        chosen => chosen,
    };
    ProptestConfig { rng_seed, ..config }
}

proptest! {
    // A failure is to become a test of its own, not a seed in a file. The games are the same each time: others are for hand,
    // by PROPTEST_RNG_SEED.
    #![proptest_config(games())]

    #[test]
    fn those_who_freeze_each_other_read_what_the_model_reads(
        steps in vec(prop_oneof![2 => frozen(), 3 => step(0.6)], 1..150),
        objects in slices(),
    ) {
        compare(&[acquaintance(), steps].concat(), objects);
    }

    // Callers that mostly do nothing else may be in a call that the driver does not know of.
    #[test]
    fn those_whose_calls_are_adopted_read_what_the_model_reads(
        steps in vec(prop_oneof![3 => adopted(), 1 => step(0.2)], 1..150),
        objects in slices(),
    ) {
        compare(&[acquaintance(), steps].concat(), objects);
    }

    #[test]
    fn strangers_read_what_the_model_reads(
        steps in vec(step(0.5), 1..120),
        objects in slices(),
    ) {
        compare(&steps, objects);
    }

    #[test]
    fn acquainted_callers_read_what_the_model_reads(
        steps in vec(step(0.1), 1..120),
        objects in slices(),
    ) {
        compare(&[acquaintance(), steps].concat(), objects);
    }
}
