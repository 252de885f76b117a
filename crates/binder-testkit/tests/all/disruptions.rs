//! Scenarios of which every step is disrupted in turn: by a fault of memory, by a thread that exits,
//! by a file that is closed.
//!
//! Whatever happens, the others hear what the specification says (3.10, 6.2 to 6.4), the next call
//! of each of them works, and nothing is left of any of them once all have gone.

mod cast;
mod scenario;

use binder_testkit::CoreRig;
use cast::Cast;
use scenario::{SCENARIOS, Scenario, Who};

/// Says on failure what was being played.
struct Situation(String);

impl Drop for Situation {
    fn drop(&mut self) {
        if std::thread::panicking() {
            println!("{}", self.0);
        }
    }
}

/// Each scenario, through front ends and past them.
fn scenarios() -> impl Iterator<Item = (&'static Scenario, fn() -> CoreRig)> {
    SCENARIOS.iter().flat_map(|scenario| CoreRig::BOTH.map(|rig| (scenario, rig)))
}

#[test]
fn a_scenario_comes_to_its_end_if_nothing_disrupts_it() {
    for (scenario, rig) in scenarios() {
        let _told = Situation(scenario.name.into());
        Cast::assembled_on(rig(), |cast| {
            scenario.acts.iter().for_each(|act| cast.play(act));
            cast.assert_no_failure();
            cast.end();
        });
    }
}

#[test]
fn memory_that_faults_at_any_access_harms_nobody_else() {
    for (scenario, rig) in scenarios() {
        for access in 0.. {
            let _told = Situation(format!("{}, a fault at access {access}", scenario.name));
            let mut has_faulted = false;
            Cast::assembled_on(rig(), |cast| {
                cast.core().fault_after(Some(access));
                for act in scenario.acts {
                    cast.play(act);
                    if !has_faulted && cast.core().has_faulted() {
                        has_faulted = true;
                        cast.forgive_faults();
                    }
                }
                cast.core().fault_after(None);
                cast.end();
            });
            if !has_faulted {
                assert!(access > 5, "{} touches memory", scenario.name);
                break;
            }
        }
    }
}

/// Plays each scenario once for each party and each place where it may leave.
fn with_somebody_leaving(how: &str, leave: impl Fn(&mut Cast<'_>, Who)) {
    for (scenario, rig) in scenarios() {
        for who in Who::ALL {
            for step in 0..=scenario.acts.len() {
                let _told =
                    Situation(format!("{}: {who:?} {how} before step {step}", scenario.name));
                Cast::assembled_on(rig(), |cast| {
                    let (before, after) = scenario.acts.split_at(step);
                    before.iter().for_each(|act| cast.play(act));
                    leave(cast, who);
                    after.iter().for_each(|act| cast.play(act));
                    cast.end();
                });
            }
        }
    }
}

/// Plays each scenario once for each party and each access to the memory of another, during which it
/// leaves, or place between two slices of another's call. Each slice is of two objects.
fn with_somebody_leaving_in_a_window(
    how: &str,
    order: impl Fn(&Cast<'_>, usize, Who),
    note: impl Fn(&mut Cast<'_>, Who),
) {
    for (scenario, rig) in scenarios() {
        for who in Who::ALL {
            for window in 0.. {
                let _told =
                    Situation(format!("{}: {who:?} {how} in window {window}", scenario.name));
                let mut has_left = false;
                let rig = rig().in_slices_of(2);
                Cast::assembled_on(rig, |cast| {
                    order(cast, window, who);
                    for act in scenario.acts {
                        cast.play(act);
                        if !has_left && !cast.core().is_to_be_disrupted() {
                            has_left = true;
                            note(cast, who);
                        }
                    }
                    cast.core().call_off_disruption();
                    cast.end();
                });
                if !has_left {
                    break;
                }
            }
        }
    }
}

#[test]
fn a_process_that_ends_while_memory_of_another_is_awaited_leaves_nobody_waiting() {
    with_somebody_leaving_in_a_window(
        "closes",
        |cast, window, who| cast.core().close_in_window(window, cast.caller(who).process),
        |cast, who| cast.note_closed(who),
    );
}

#[test]
fn a_thread_that_exits_while_memory_of_another_is_awaited_leaves_nobody_waiting() {
    with_somebody_leaving_in_a_window(
        "exits",
        |cast, window, who| cast.core().exit_in_window(window, cast.caller(who)),
        |cast, who| cast.note_exited(who),
    );
}

#[test]
fn a_freeze_while_memory_of_another_is_awaited_leaves_nobody_waiting() {
    with_somebody_leaving_in_a_window(
        "is frozen",
        |cast, window, who| {
            let by = Who::ALL.into_iter().find(|by| *by != who).expect("there are others");
            let frozen = cast.caller(who).process;
            cast.core().freeze_in_window(window, cast.caller(by), frozen);
        },
        |_, _| (),
    );
}

#[test]
fn a_thread_that_exits_at_any_step_leaves_nobody_waiting() {
    with_somebody_leaving("exits", |cast, who| cast.exit_thread(who));
}

#[test]
fn a_process_that_ends_at_any_step_leaves_nobody_waiting() {
    with_somebody_leaving("closes", |cast, who| cast.close(who));
}
