//! What nobody asks for: a look at whether requests are answered, at what the kernel does not tell
//! of, and at memory that can go back.
//!
//! The kernel keeps fcntl(2) to itself, so a read that falls asleep may do so against an
//! `O_NONBLOCK` that was set after the open. The housekeeper looks at the files of reads that have
//! slept through a round, each once, and ends those that should not sleep.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::mpsc;
use std::sync::{Arc, Condvar, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use binder_os::{heap, proc_files, processes};

use crate::driver::{Job, SleepingFile};
use crate::readers;
use crate::session::SessionShared;

/// How often it looks while requests come in.
pub(crate) const ROUND: Duration = Duration::from_millis(10);
/// Rounds from one look at threads that cannot be watched to the next.
const ROUNDS_TO_LOOK: u32 = 5;
/// A look at what clients have open may take one part in so many of a processor's time.
const LOOK_SHARE: u32 = 10;
/// Rounds from one such look to the next at most: before it rests, nobody is to be left.
const ROUNDS_TO_LOOK_AGAIN: u32 = ROUNDS_TO_REST / 4;
/// Rounds without a request after which idle memory is given back and the housekeeper rests.
const ROUNDS_TO_REST: u32 = 100;
/// How long a thread rests after clients have ended before it gives up what the allocator keeps for it:
/// less than it takes to rest.
pub(crate) const SPENT_AFTER: Duration = Duration::from_millis(500);
/// How often garbage is looked through: each time for some hundreds, and three times for what is new.
const RECLAIMS: usize = 8;
/// Rounds of a turn by which the idleness of pages is told.
const ROUNDS_TO_TURN: u32 = 200;
/// Rounds after which a reader has its real-time priority again that had run for too long.
const ROUNDS_TO_PROMOTE: u32 = 100;
/// Turns through which a page may be idle beside others that are used.
const IDLE_TURNS: u32 = 2;
/// The same while memory is short: what was used since the last turn ended is hot, and stays.
const IDLE_TURNS_IF_SHORT: u32 = 1;

/// Where the reader stands, as the housekeeper sees it.
#[derive(Debug)]
pub(crate) struct Watch {
    /// Odd while it answers a request, even while it waits for one. Only the reader takes steps, and
    /// whoever takes its place.
    steps: AtomicU64,
    /// The reader.
    reader: AtomicU32,
    /// The process in whose memory it is; 0 if in none.
    client: AtomicU32,
    /// The latest request was that a file is closed or forgotten.
    has_closed: AtomicBool,
    is_resting: AtomicBool,
    /// Memory is short, and idle memory has not been given back since.
    is_short: AtomicBool,
    must_stop: Mutex<bool>,
    changed: Condvar,
}

impl Default for Watch {
    fn default() -> Self {
        Self {
            // The first reader takes over from nobody.
            steps: AtomicU64::new(1),
            reader: AtomicU32::new(0),
            client: AtomicU32::new(0),
            has_closed: AtomicBool::new(false),
            is_resting: AtomicBool::new(false),
            is_short: AtomicBool::new(false),
            must_stop: Mutex::new(false),
            changed: Condvar::new(),
        }
    }
}

impl Watch {
    /// Where the reader is.
    pub(crate) fn step(&self) -> u64 {
        self.steps.load(Ordering::Acquire)
    }

    /// The number of its thread.
    pub(crate) fn reader(&self) -> u32 {
        self.reader.load(Ordering::Relaxed)
    }

    /// Puts the calling thread in the place of the reader that is busy with `step`, if it still is.
    /// Returns where it begins, and in whose memory the other is stuck.
    pub(crate) fn take_over(&self, mut step: u64) -> Option<(u64, Option<u32>)> {
        let client = self.client.load(Ordering::Acquire);
        if !self.take_step(&mut step, 2) {
            return None;
        }
        self.client.store(0, Ordering::Release);
        self.reader.store(processes::own_thread(), Ordering::Relaxed);
        Some((step, (client != 0).then_some(client)))
    }

    fn take_step(&self, step: &mut u64, by: u64) -> bool {
        let next = *step + by;
        let taken =
            self.steps.compare_exchange(*step, next, Ordering::AcqRel, Ordering::Relaxed).is_ok();
        *step = next;
        taken
    }

    /// The thread at `step`, which is busy, goes on to something else: the memory of process `client`,
    /// unless that is 0. Says whether it is the reader still.
    pub(crate) fn advance(&self, step: &mut u64, client: u32) -> bool {
        let is_reader = self.take_step(step, 2);
        if is_reader {
            self.client.store(client, Ordering::Release);
        }
        is_reader
    }

    /// The thread at `step` waits for a request. Says whether it is the reader still.
    pub(crate) fn begin_wait(&self, step: &mut u64) -> bool {
        self.take_step(step, 1)
    }

    /// The reader, at `step`, has a request.
    pub(crate) fn end_wait(&self, step: &mut u64) {
        *step += 1;
        self.steps.store(*step, Ordering::SeqCst);
        if self.is_resting.load(Ordering::SeqCst) {
            self.notify();
        }
    }

    /// A file is closed, or forgotten.
    pub(crate) fn note_close(&self) {
        self.has_closed.store(true, Ordering::Relaxed);
    }

    /// Whether that was the latest request; for the reader, which then does not ask again.
    pub(crate) fn take_close(&self) -> bool {
        let has_closed = self.has_closed.load(Ordering::Relaxed);
        if has_closed {
            self.has_closed.store(false, Ordering::Relaxed);
        }
        has_closed
    }

    /// Memory is short. One who rests has none to give back.
    pub(crate) fn note_pressure(&self) {
        self.is_short.store(true, Ordering::Relaxed);
    }

    fn notify(&self) {
        drop(self.must_stop.lock());
        self.changed.notify_one();
    }

    /// Sleeps for a round, or, to `rest`, until a request comes in. Says whether to go on.
    fn sleep(&self, rest_at: Option<u64>) -> bool {
        let Ok(must_stop) = self.must_stop.lock() else { return false };
        let is_stopped = match rest_at {
            None => {
                self.changed.wait_timeout_while(must_stop, ROUND, |stop| !*stop).map(|(s, _)| *s)
            }
            Some(steps) => {
                self.is_resting.store(true, Ordering::SeqCst);
                let is_idle =
                    |stop: &mut bool| !*stop && self.steps.load(Ordering::SeqCst) == steps;
                let woken = self.changed.wait_while(must_stop, is_idle).map(|stop| *stop);
                self.is_resting.store(false, Ordering::SeqCst);
                return woken.is_ok_and(|stop| !stop);
            }
        };
        is_stopped.is_ok_and(|stop| !stop)
    }
}

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
        if let Ok(mut must_stop) = self.shared.watch.must_stop.lock() {
            *must_stop = true;
        }
        self.shared.watch.notify();
        if self.thread.join().is_err() {
            tracing::error!("the housekeeper met a bug");
        }
    }
}

fn keep(shared: &Arc<SessionShared>) {
    let watch = &shared.watch;
    let (mut seen, mut quiet_rounds) = (0, 0);
    let (mut rounds_to_look, mut has_unwatched) = (ROUNDS_TO_LOOK, false);
    // Since the look at threads found that nobody is left to be looked at; it takes several if there
    // are many.
    let mut rounds_of_look = 0;
    let mut rounds_to_turn = ROUNDS_TO_TURN;
    let mut rounds_to_sleepers = 0;
    let mut rounds_to_promote = ROUNDS_TO_PROMOTE;
    let mut rest_at = None;
    while watch.sleep(rest_at.take()) {
        let steps = watch.steps.load(Ordering::Acquire);
        if steps % 2 == 1 && steps == seen {
            // The same request as a round ago: somebody else must read on.
            readers::replace_stuck_reader(shared, steps);
        }
        if rounds_to_sleepers > 0 {
            rounds_to_sleepers -= 1;
        } else {
            rounds_to_sleepers = look_at_sleepers(shared);
        }
        rounds_to_look -= 1;
        if rounds_to_look == 0 {
            rounds_to_look = ROUNDS_TO_LOOK;
            rounds_of_look += ROUNDS_TO_LOOK;
            let are_left = find_ended_threads(shared);
            // What was seen before the last request may have changed by it.
            has_unwatched = are_left || rounds_of_look > quiet_rounds;
            if !are_left {
                rounds_of_look = 0;
            }
        }
        while go_on_releasing(shared) {}
        if watch.is_short.swap(false, Ordering::Relaxed) {
            tracing::debug!("memory is short: what is idle goes back");
            reclaim_idle_pages(shared, IDLE_TURNS_IF_SHORT);
        }
        // Clients of another mount need what is idle here.
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
            // Threads whose ends nobody tells of must be looked at on and on.
            rest_at = (!has_unwatched).then_some(seen);
        }
    }
}

/// Has the driver do a job that answers, and waits for the answer for a round at most: if another
/// thread has the state, that thread does the job, and a round later is soon enough.
fn ask<T: Send + 'static>(
    shared: &SessionShared,
    job: impl FnOnce(Box<dyn FnOnce(T) + Send>) -> Job,
) -> Option<T> {
    let (tell, told) = mpsc::channel();
    shared.submit(job(Box::new(move |answer| {
        let _ = tell.send(answer);
    })));
    told.recv_timeout(ROUND).ok()
}

/// Ends threads whose ends nobody tells of. Says whether there are such.
fn find_ended_threads(shared: &SessionShared) -> bool {
    ask(shared, |are_left| Job::FindEndedThreads { are_left }).unwrap_or(true)
}

/// Ends some of what clients have left behind; in between, others have their turn. Says whether more
/// is left.
fn go_on_releasing(shared: &SessionShared) -> bool {
    ask(shared, |is_left| Job::GoOnReleasing { is_left }).unwrap_or(false)
}

/// Gives pages back that have been idle through so many turns; in between, others have their turn.
fn reclaim_idle_pages(shared: &SessionShared, least_turns: u32) {
    while ask(shared, |is_left| Job::ReclaimIdlePages { least_turns, is_left }).unwrap_or(false) {}
}

/// Ends a turn by which idleness is told, and gives up what was needed for a burst.
fn end_idle_turn(shared: &SessionShared) {
    shared.submit(Job::EndIdleTurn);
    shared.shrink();
}

/// Gives up what is kept for the calling thread: entries of the table of processes that somebody might have
/// been reading, and free pieces of the heap.
pub(crate) fn give_up_own() {
    for _ in 0..RECLAIMS {
        pidns::reclaim();
    }
    heap::empty_own_cache();
}

/// Looks at the files of reads that sleep. Says for how many rounds that was enough: while many fall
/// asleep one by one, each look goes through all that their process has open.
fn look_at_sleepers(shared: &SessionShared) -> u32 {
    let start = processes::own_thread_time();
    let mut sleepers = ask(shared, |found| Job::ListSleepers { found }).unwrap_or_default();
    // One walk serves all files of a process.
    sleepers.sort_unstable_by_key(|sleeper| sleeper.pid);
    for of_process in sleepers.chunk_by(|one, other| one.pid == other.pid) {
        let files = of_process.iter().map(|sleeper| sleeper.file);
        let open = proc_files::open_files(of_process[0].pid, files).unwrap_or_default();
        for &SleepingFile { device, process, file, .. } in of_process {
            if let Some(found) = open.get(&file).copied() {
                shared.submit(Job::SetNonblocking { device, process, found: Some(found) });
            }
        }
    }
    let took = processes::own_thread_time().saturating_sub(start);
    let rounds = (LOOK_SHARE * took).as_micros() / ROUND.as_micros();
    u32::try_from(rounds).map_or(ROUNDS_TO_LOOK_AGAIN, |rounds| rounds.min(ROUNDS_TO_LOOK_AGAIN))
}
