//! What no request asks for: a look at whether requests are answered, at what the kernel does not tell
//! of, and at memory that can go back.
//!
//! The kernel keeps fcntl(2) to itself, so a read that falls asleep may do so against an
//! `O_NONBLOCK` that was set after the open. The housekeeper looks at the files of reads that have
//! slept through a round, each once, and ends those that should not sleep.

use std::io;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use binder_os::{heap, proc_files, processes};

use crate::device::{DeviceState, DeviceWork, Job};
use crate::housekeeping::{ROUND, give_up_own};
use crate::readers;
use crate::shared::SessionShared;
use crate::thread_look::{ThreadLook, find_ended_threads};

/// Rounds from one look at threads that cannot be watched to the next.
const ROUNDS_TO_LOOK: u32 = 5;
/// A look at what clients have open may take one part in this many of a processor's time.
const LOOK_SHARE: u32 = 10;
/// Rounds from one such look to the next at most: before it rests, no thread is to be left.
const ROUNDS_TO_LOOK_AGAIN: u32 = ROUNDS_TO_REST / 4;
/// Rounds without a request after which idle memory is given back and the housekeeper rests.
const ROUNDS_TO_REST: u32 = 100;
/// Rounds of a turn by which the idleness of pages is told.
const ROUNDS_TO_TURN: u32 = 200;
/// Rounds after which a reader has its real-time priority again that had run for too long.
const ROUNDS_TO_PROMOTE: u32 = 100;
/// Turns through which a page may be idle beside others that are used.
const IDLE_TURNS: u32 = 2;
/// The same while memory is short: what was used since the last turn ended is hot, and stays.
const IDLE_TURNS_IF_SHORT: u32 = 1;

/// A running housekeeper.
pub(crate) struct Housekeeper {
    thread: JoinHandle<()>,
    shared: Arc<SessionShared>,
}

impl Housekeeper {
    /// Starts the housekeeper of a session.
    pub(crate) fn start(shared: &Arc<SessionShared>) -> io::Result<Self> {
        let kept = shared.clone();
        let thread =
            thread::Builder::new().name("housekeeper".into()).spawn(move || keep(&kept))?;
        Ok(Self { thread, shared: shared.clone() })
    }

    /// Ends it and waits for its end.
    pub(crate) fn stop(self) {
        self.shared.housekeeping.stop();
        if self.thread.join().is_err() {
            tracing::error!("the housekeeper met a bug");
        }
    }
}

fn keep(shared: &Arc<SessionShared>) {
    let (mut seen, mut quiet_rounds) = (0, 0);
    let (mut busy, mut looks) = (Vec::new(), ThreadLook::default());
    let (mut rounds_to_look, mut has_unwatched) = (ROUNDS_TO_LOOK, false);
    // Since the look at threads found that no thread is left to be looked at; it takes several if there
    // are many.
    let mut rounds_of_look = 0;
    let mut rounds_to_turn = ROUNDS_TO_TURN;
    let mut rounds_to_sleepers = 0;
    let mut rounds_to_promote = ROUNDS_TO_PROMOTE;
    let mut rest_at = None;
    while shared.housekeeping.sleep(&shared.readers, rest_at.take()) {
        // At the same request as a round ago, others must read on.
        readers::replace_stuck(shared, &busy);
        shared.readers.busy_steps(&mut busy);
        let steps = shared.readers.steps();
        if rounds_to_sleepers > 0 {
            rounds_to_sleepers -= 1;
        } else {
            rounds_to_sleepers = look_at_sleepers(shared);
        }
        rounds_to_look -= 1;
        if rounds_to_look == 0 {
            rounds_to_look = ROUNDS_TO_LOOK;
            rounds_of_look += ROUNDS_TO_LOOK;
            let are_left = find_ended_threads(shared, &mut looks);
            // What was seen before the last request may have changed by it.
            has_unwatched = are_left || rounds_of_look > quiet_rounds || has_interrupted(shared);
            if !are_left {
                rounds_of_look = 0;
            }
        }
        while go_on_releasing(shared) {}
        if shared.housekeeping.take_pressure() {
            tracing::debug!("memory is short: what is idle goes back");
            reclaim_idle_pages(shared, IDLE_TURNS_IF_SHORT);
        }
        // Clients of another mount need the pages that are idle here.
        if shared.budget.excess_bytes() > 0 {
            reclaim_idle_pages(shared, 0);
        }
        rounds_to_promote -= 1;
        if rounds_to_promote == 0 {
            rounds_to_promote = ROUNDS_TO_PROMOTE;
            readers::promote(shared);
        }
        rounds_to_turn -= 1;
        if rounds_to_turn == 0 {
            rounds_to_turn = ROUNDS_TO_TURN;
            reclaim_idle_pages(shared, IDLE_TURNS);
            end_idle_turn(shared);
            heap::trim();
        }
        quiet_rounds = if steps == seen { quiet_rounds + 1 } else { 0 };
        seen = steps;
        if quiet_rounds == ROUNDS_TO_REST {
            readers::promote(shared);
            reclaim_idle_pages(shared, 0);
            end_idle_turn(shared);
            give_up_own();
            heap::trim();
            quiet_rounds = 0;
            // Threads whose ends the kernel does not report must be looked at on and on.
            rest_at = (!has_unwatched).then_some(seen);
        }
    }
}

/// Ends what clients have left behind, a slice of it on each device; in between, others have their turn. Says
/// whether more is left.
fn go_on_releasing(shared: &Arc<SessionShared>) -> bool {
    let release = |state: &mut DeviceState| state.frontend.go_on_releasing(&mut state.clients);
    let mut is_more = false;
    for device in shared.devices_in_use() {
        is_more |= readers::ask(shared, &device, release).unwrap_or(false);
    }
    is_more
}

/// Gives pages back that have been idle through that many turns; in between, others have their turn.
fn reclaim_idle_pages(shared: &Arc<SessionShared>, least_turns: u32) {
    for device in shared.devices_in_use() {
        let reclaim = move |state: &mut DeviceState| state.reclaim_idle_pages(least_turns);
        while readers::ask(shared, &device, reclaim).unwrap_or(false) {}
    }
}

/// Ends a turn by which idleness is told, and gives up what was needed for a burst.
fn end_idle_turn(shared: &SessionShared) {
    for device in shared.devices() {
        let end: DeviceWork = Box::new(|state| {
            state.end_idle_turn_of_lanes();
            state.frontend.end_idle_turn();
            state.frontend.shrink();
            state.clients.shrink();
        });
        shared.submit(&device, Job::Work(end));
    }
    shared.io_queue.shrink();
    shared.shrink();
}

/// Whether there are calls that signals want to end and could not: their threads may be killed yet.
fn has_interrupted(shared: &Arc<SessionShared>) -> bool {
    if shared.detached_calls.has_interrupted() {
        return true;
    }
    let has_some = |state: &mut DeviceState| state.frontend.has_interrupted();
    let has_some = |device| readers::ask(shared, &device, has_some).unwrap_or(false);
    shared.devices_in_use().into_iter().any(has_some)
}

/// Looks at the files of reads that sleep. Says for how many rounds that was enough: while many fall
/// asleep one by one, each look goes through all that their process has open.
fn look_at_sleepers(shared: &Arc<SessionShared>) -> u32 {
    let start = processes::own_thread_time();
    let mut sleepers = Vec::new();
    shared.cancel_interrupted_calls();
    for device in shared.devices_in_use() {
        let list = |state: &mut DeviceState| {
            state.frontend.cancel_interrupted();
            state.frontend.end_round()
        };
        sleepers.extend(readers::ask(shared, &device, list).unwrap_or_default());
    }
    // One walk serves all files of a process.
    sleepers.sort_unstable_by_key(|(_, file)| file.pid);
    for of_process in sleepers.chunk_by(|(_, one), (_, other)| one.pid == other.pid) {
        let files = of_process.iter().map(|(_, file)| file.id);
        let open = proc_files::open_files(of_process[0].1.pid, files).unwrap_or_default();
        for (process, file) in of_process {
            if let Some(found) = open.get(&file.id).copied() {
                shared.note_mode(file, *process, Some(found));
            }
        }
    }
    let took = processes::own_thread_time().saturating_sub(start);
    let rounds = (LOOK_SHARE * took).as_micros() / ROUND.as_micros();
    u32::try_from(rounds).map_or(ROUNDS_TO_LOOK_AGAIN, |rounds| rounds.min(ROUNDS_TO_LOOK_AGAIN))
}
