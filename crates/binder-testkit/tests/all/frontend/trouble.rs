//! Calls of which each step goes wrong in each way.

use std::collections::BTreeMap;

use binder_testkit::{CoreRig, Message, Mode, Stage, Trouble, commands, introduce};
use rustix::io::Errno;

use super::actor::{Actor, manager, message};

/// A client calls the manager, which answers, and both send one-ways: with reads that wait, and with reads that
/// find that nothing is there.
fn play(m: &mut Actor<'_>, p: &mut Actor<'_>, handle: u32) {
    // The manager sleeps in a read, and is woken by the call.
    m.set_mode(Mode::Blocking);
    m.begin(commands(), true);
    p.set_mode(Mode::Blocking);
    p.begin(commands().call(0, message()), true);
    m.serve();
    p.serve();
    // Its reply wakes the client.
    p.set_mode(Mode::Blocking);
    // It goes where it belongs at once, for it is large.
    p.begin(commands().call(handle, Message::new(2).bytes(&[7; 20_000])), true);
    m.serve();
    let oneway = || Message::new(3).bytes(b"oneway").binder(0x2000, 2);
    p.begin(commands().oneway(handle, oneway()).oneway(handle, oneway()), false);
    m.serve();
    p.serve();
    m.serve();
}

/// How the calls of the parties ended, and whether something went wrong at all.
fn play_with(trouble: Trouble, step: usize, slices: usize) -> (Vec<Result<(), Errno>>, bool) {
    let stage = Stage::new(Box::new(CoreRig::default().in_slices_of(slices)));
    let core = stage.rig().core().expect("a rig on the core");
    let (m, p) = (manager(&stage), stage.party());
    let handle = introduce(&m, &m, (0x10, 0x20), &p);
    let (mut m, mut p) = (Actor::new(&stage, m), Actor::new(&stage, p));
    core.set_trouble(Some((step, trouble)));
    play(&mut m, &mut p, handle);
    let has_come = !core.has_trouble_to_come();
    core.set_trouble(None);

    // A later client is served, if the manager is there.
    if core.is_open(m.party.caller().process) {
        let mut server = Actor::new(&stage, m.party.thread());
        let mut later = Actor::new(&stage, stage.party());
        later.begin(commands().call(0, message()), true);
        // Calls of the others may be before it.
        for _ in 0..4 {
            server.serve();
            later.serve();
        }
        assert_eq!(later.replies, 1, "{trouble:?} at step {step}");
    }
    for actor in [&mut m, &mut p] {
        actor.interrupt();
    }
    assert_eq!(
        core.live_objects().early_reservations,
        0,
        "no reservation is kept: {trouble:?} at step {step}"
    );
    let results = m.results.iter().chain(&p.results).copied().collect();
    if !has_come {
        assert_eq!((p.replies, m.is_free(), p.is_free()), (2, true, true), "all went well");
    }
    stage.tear_down();
    (results, has_come)
}

/// Plays once for each step that goes wrong. Returns how the calls ended, and how often so.
fn at_each_step(trouble: Trouble) -> BTreeMap<Option<i32>, usize> {
    let mut ends = BTreeMap::new();
    for slices in [1, 256] {
        for step in 0.. {
            let (results, has_come) = play_with(trouble, step, slices);
            for result in results {
                *ends.entry(result.err().map(Errno::raw_os_error)).or_default() += 1;
            }
            if !has_come {
                assert!(step > 20, "the play has steps");
                break;
            }
        }
    }
    ends
}

fn ends_with(ends: &BTreeMap<Option<i32>, usize>, errno: Errno) -> bool {
    ends.contains_key(&Some(errno.raw_os_error()))
}

#[test]
fn a_signal_at_any_step_is_heard_when_that_has_ended() {
    let ends = at_each_step(Trouble::Signal);
    assert!(ends_with(&ends, Errno::INTR), "{ends:?}");
}

#[test]
fn a_signal_that_cuts_off_a_fetch_ends_its_call_once() {
    let ends = at_each_step(Trouble::Cut);
    assert!(ends_with(&ends, Errno::INTR), "{ends:?}");
}

#[test]
fn a_fetch_that_ends_before_its_signal_is_told_ends_its_call_once() {
    let ends = at_each_step(Trouble::CutLate);
    assert!(ends_with(&ends, Errno::INTR), "{ends:?}");
}

#[test]
fn memory_that_is_missing_at_any_step_harms_no_later_call() {
    let ends = at_each_step(Trouble::Fault);
    assert!(ends_with(&ends, Errno::FAULT), "{ends:?}");
}

#[test]
fn a_bug_at_any_step_fails_its_call_alone() {
    let ends = at_each_step(Trouble::Bug);
    assert!(ends_with(&ends, Errno::IO), "{ends:?}");
}

#[test]
fn a_client_that_is_killed_at_any_step_leaves_nothing() {
    at_each_step(Trouble::Kill);
}

#[test]
fn a_step_that_never_ends_keeps_nobody_else_waiting() {
    at_each_step(Trouble::Stall);
}
