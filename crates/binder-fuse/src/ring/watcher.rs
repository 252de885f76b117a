//! The bells of busy clients, as a thread that watches them sees them.
//!
//! That is a reader, but that its requests come from slots: one that is stuck in a client's memory is followed by another
//! ([`readers`](crate::readers)). Clients that post nothing for a while are watched no longer: their next call comes by an
//! ioctl.

use std::hint;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use binder_os::{affinity, processes, ring_memory};
use binder_ring::layout::NO_CPU;
use binder_ring::{BellState, SlotIndex};

use super::bell_places::BellPlace;
use super::file::RingFile;
use super::recent_threads::RecentThreads;
use super::rings::{BegunCall, Rings};
use super::urgency::Urgency;
use crate::client_file::ClientFile;

/// A client that has posted nothing for this long is watched no longer.
const IDLE_AFTER: Duration = Duration::from_millis(50);
/// After this many wake-ups in a row for nothing a client is never watched again.
const MAX_IN_VAIN: u32 = 1000;
/// How often the thread looks again before it sleeps, when clients run on other processors: to be woken there takes longer.
/// An [urgent](Urgency) thread does not.
const LOOKS: u32 = 2000;

/// The bells that are watched.
#[derive(Debug, Default)]
pub(crate) struct RingWatcher {
    /// What the thread sleeps on, beside the bells: not 0 if there is news.
    news: AtomicU32,
    newcomers: Mutex<Vec<WatchedClient>>,
    /// For the thread, and for one that takes its place.
    list: Mutex<WatchList>,
    is_over: AtomicBool,
}

#[derive(Debug, Default)]
pub(crate) struct WatchList {
    watched: Vec<WatchedClient>,
    recent_threads: RecentThreads,
    urgency: Urgency,
    /// When it last woke up, which stands for the time of all requests until it sleeps again.
    woken_at: Option<Instant>,
    /// The processor that it last told its clients.
    published_cpu: u32,
}

/// A client that is watched.
#[derive(Debug)]
struct WatchedClient {
    place: BellPlace,
    file: Arc<ClientFile>,
    ring: Arc<RingFile>,
    /// When it last posted something.
    seen_at: Instant,
    /// Where its threads ran then; `NO_CPU` if not on one processor.
    cpu: u32,
    /// The slots in which something was posted, in this period of the recent threads.
    recent: u32,
    /// Wake-ups in a row for nothing.
    in_vain: u32,
}

impl RingWatcher {
    /// Has the thread watch a client.
    pub(super) fn add(&self, place: BellPlace, file: Arc<ClientFile>, ring: Arc<RingFile>) {
        let seen_at = Instant::now();
        let watched = WatchedClient { place, file, ring, seen_at, cpu: 0, recent: 0, in_vain: 0 };
        self.newcomers.lock().unwrap_or_else(PoisonError::into_inner).push(watched);
        self.tell();
    }

    /// Has the thread end.
    pub(super) fn stop(&self) {
        self.is_over.store(true, Ordering::Release);
        self.tell();
    }

    /// Has the thread look whether there are newcomers, and rings that have ended.
    pub(super) fn tell(&self) {
        self.news.store(1, Ordering::Release);
        ring_memory::wake_one(&self.news);
    }

    /// Whether the thread is to end.
    pub(crate) fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Acquire)
    }

    pub(crate) fn list(&self) -> MutexGuard<'_, WatchList> {
        self.list.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl WatchList {
    /// Takes up rings that are to be watched from here on, and forgets those that have ended.
    pub(crate) fn take_news(
        &mut self,
        watcher: &RingWatcher,
        rings: &Rings,
        found: &mut Vec<BegunCall>,
    ) {
        if watcher.news.swap(0, Ordering::Acquire) == 0 {
            return;
        }
        self.watched.retain(|watched| {
            let is_over = watched.ring.is_over.load(Ordering::Acquire);
            if is_over {
                // A thread that posts from now on makes an ioctl, for which the file is closed.
                watched.leave();
                watched.ring.end_posted();
            }
            !is_over
        });
        let mut newcomers = watcher.newcomers.lock().unwrap_or_else(PoisonError::into_inner);
        for newcomer in newcomers.drain(..) {
            let loser = self.watched.iter().position(|it| newcomer.place.replaces(&it.place));
            if let Some(loser) = loser {
                let mut loser = self.watched.swap_remove(loser);
                loser.leave();
                loser.take_posted(rings, found, self.woken_at);
            }
            newcomer.ring.set_driver_cpu(self.published_cpu);
            newcomer.ring.bell().set_awake();
            self.watched.push(newcomer);
            // It may be another user's.
            note_move(affinity::release());
        }
    }

    /// Takes out the requests that were posted. Says whether there were any.
    pub(crate) fn look(&mut self, rings: &Rings, found: &mut Vec<BegunCall>) -> bool {
        let (mut requests, mut newcomers) = (0, 0);
        for watched in &mut self.watched {
            let posted = watched.take_posted(rings, found, self.woken_at);
            if posted == 0 {
                continue;
            }
            self.recent_threads.note_cpu(watched.cpu);
            requests += posted.count_ones();
            newcomers += (posted & !watched.recent).count_ones();
            watched.recent |= posted;
        }
        let elsewhere = || self.watched.first().map_or(0, |it| it.place.watched_by_others());
        if self.recent_threads.note(requests, newcomers, elsewhere) {
            // All begin another period.
            let all_waited = self.watched.iter_mut().fold(true, |all, it| it.end_period() & all);
            self.follow_clients(all_waited);
            self.tell_cpu();
        }
        requests > 0
    }

    /// Waits for a moment whether something is posted, if to sleep would take longer. Says whether it is.
    pub(crate) fn look_longer(&self) -> bool {
        let latest = self.watched.iter().max_by_key(|it| it.seen_at);
        let own_cpu = processes::own_cpu();
        if self.urgency.is_urgent() || latest.is_none_or(|latest| latest.cpu == own_cpu) {
            return false;
        }
        (0..LOOKS).any(|_| {
            hint::spin_loop();
            self.watched.iter().any(|it| it.ring.bell().has_posted())
        })
    }

    /// Sleeps until a bell is rung, and gives up those that were not for long.
    pub(crate) fn sleep(
        &mut self,
        watcher: &RingWatcher,
        rings: &Rings,
        found: &mut Vec<BegunCall>,
    ) -> io::Result<()> {
        if self.watched.is_empty() {
            note_move(affinity::release());
        }
        self.tell_cpu();
        for watched in &self.watched {
            watched.ring.bell().set(BellState::Asleep);
        }
        if !self.watched.iter().any(|it| it.ring.bell().has_posted()) {
            let bells = self.watched.iter().map(|it| it.ring.bell().word());
            let within = (!self.watched.is_empty()).then_some(IDLE_AFTER);
            ring_memory::sleep(&watcher.news, bells, within)?;
        }
        self.tell_cpu();
        let now = Instant::now();
        self.woken_at = Some(now);
        self.watched.retain_mut(|watched| {
            watched.in_vain += u32::from(watched.ring.bell().is_rung());
            let is_kept = watched.in_vain < MAX_IN_VAIN && now - watched.seen_at < IDLE_AFTER;
            if is_kept {
                watched.ring.bell().set_awake();
            } else {
                watched.leave();
                // A thread that posts from now on makes the ioctl.
                watched.take_posted(rings, found, self.woken_at);
            }
            is_kept
        });
        Ok(())
    }

    /// The thread has slept, and may have a real-time priority: looks whether it needs that.
    pub(crate) fn note_wake_up(&mut self) {
        if let Some(now) = self.woken_at {
            self.urgency.note_wake_up(now);
        }
    }

    /// Tells all clients that their bells are not heard.
    pub(crate) fn leave_all(&mut self) {
        self.watched.drain(..).for_each(|watched| watched.leave());
    }

    /// Goes to the processor of two threads that make all requests, if each has waited for the other; stays there while there are
    /// such. What else runs on their processor may be theirs: so not while another user is watched.
    fn follow_clients(&self, all_waited: bool) {
        let mut users = self.watched.iter().map(WatchedClient::user);
        let first = users.next();
        let is_one_users = users.all(|user| Some(user) == first);
        let pair = self.recent_threads.common_cpu().filter(|_| all_waited && is_one_users);
        note_move(pair.map_or_else(affinity::release, affinity::bind));
    }

    /// Tells clients where the thread runs, or that none of their threads is to look for its answer.
    fn tell_cpu(&mut self) {
        let cpu =
            if self.recent_threads.exceed_processors() { NO_CPU } else { processes::own_cpu() };
        if cpu != self.published_cpu {
            self.published_cpu = cpu;
            self.watched.iter().for_each(|watched| watched.ring.set_driver_cpu(cpu));
        }
    }
}

/// Where the thread cannot be moved it is where the scheduler says.
fn note_move(moved: io::Result<()>) {
    if let Err(error) = moved {
        tracing::debug!(%error, "the thread that watches rings stays where it is");
    }
}

impl WatchedClient {
    fn user(&self) -> u32 {
        self.file.payer().uid
    }

    /// Says whether each thread that has made a request in this period has waited for an answer, and begins another.
    fn end_period(&mut self) -> bool {
        let recent = std::mem::take(&mut self.recent);
        recent & !self.ring.take_waited() == 0
    }

    /// Takes out the requests that were posted since the thread woke up. Returns their slots.
    fn take_posted(
        &mut self,
        rings: &Rings,
        found: &mut Vec<BegunCall>,
        woken_at: Option<Instant>,
    ) -> u32 {
        let posted = self.ring.take_posted();
        if posted == 0 {
            return 0;
        }
        let before = found.len();
        let mut cpus = SlotIndex::of_bits(posted).map(|slot| self.ring.client_cpu(slot));
        let first = cpus.next().unwrap_or(NO_CPU);
        self.cpu = if cpus.all(|cpu| cpu == first) { first } else { NO_CPU };
        for slot in SlotIndex::of_bits(posted) {
            found.extend(BegunCall::take(&self.file, &self.ring, slot, rings.next_sequence()));
        }
        self.in_vain = if found.len() > before { 0 } else { self.in_vain + 1 };
        self.seen_at = woken_at.unwrap_or(self.seen_at);
        // One that rings for nothing, again and again, is given up before the thread sleeps.
        if self.in_vain < MAX_IN_VAIN { posted } else { 0 }
    }

    /// Tells the client's threads that their bell is not heard.
    fn leave(&self) {
        self.ring.bell().set(BellState::Unwatched);
        let is_trusted = self.in_vain < MAX_IN_VAIN;
        self.ring.is_watched.store(!is_trusted, Ordering::Release);
    }
}
