//! The threads that read requests, and the replacement of a reader that is stuck.
//!
//! One reader answers all requests while it keeps up; with two, every other request would cost a switch between
//! them. A further one reads only while the others find the next request there already, time after time, and
//! there is a processor for it.
//!
//! A reader may be stuck: in client memory, say, a page of which may even be served by this very file
//! system. The housekeeper then has another take its place, for good. A thread that comes back and finds
//! itself replaced hands on what it has, and ends.
//!
//! Where they may, readers have a real-time priority, so that clients do not wait for what else the machine does.
//! One that runs on and on loses it ([`realtime`]), and has it again a second later.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::RecvTimeoutError;
use std::thread;
use std::time::Duration;

use binder_os::{ReadError, processes, realtime};

use crate::device::{Batch, Device, DeviceState};
use crate::error::ServeError;
use crate::housekeeping::{ROUND, SPENT_AFTER, give_up_own};
use crate::io_queue::IoRequest;
use crate::reader_places::ReaderPlace;
use crate::ring::watcher::RingWatcher;
use crate::shared::SessionShared;

/// Bytes of one request's buffer: the kernel wants 8 KiB at least.
const REQUEST_BYTES: usize = 16 << 10;

/// After this many requests a reader looks whether the next is there already.
const LOOK_EVERY: u32 = 8;
/// After this many looks in a row that found one it is behind.
const BEHIND_AFTER: u32 = 4;
/// After this many that found none a further reader is not needed.
const AHEAD_AFTER: u32 = 2;

/// Another has taken the place of the thread that was a reader.
pub(crate) struct Replaced;

/// A thread in the place of a reader.
pub(crate) struct RequestReader<'s> {
    pub(crate) shared: &'s SessionShared,
    place: &'s ReaderPlace,
    /// Where it stands.
    step: u64,
    backlog: Backlog,
    /// Memory for the actions of an event.
    batch: Batch,
}

/// Whether requests come faster than they are answered, as a reader sees it.
#[derive(Debug, Default)]
struct Backlog {
    /// Requests since the last look.
    requests: u32,
    /// Looks in a row that found another request, and that found none.
    found: u32,
    missed: u32,
}

impl Backlog {
    /// Counts a request, and looks now and then whether there is another.
    fn count(&mut self, has_another: impl FnOnce() -> bool) {
        self.requests += 1;
        if self.requests < LOOK_EVERY {
            return;
        }
        self.requests = 0;
        let found = has_another();
        (self.found, self.missed) = if found { (self.found + 1, 0) } else { (0, self.missed + 1) };
    }

    /// Whether another reader is wanted; not again for a while, then.
    fn is_behind(&mut self) -> bool {
        let is_behind = self.found >= BEHIND_AFTER;
        if is_behind {
            self.found = 0;
        }
        is_behind
    }

    fn is_ahead(&self) -> bool {
        self.missed >= AHEAD_AFTER
    }
}

impl RequestReader<'_> {
    /// Goes on to something else: the memory of process `client`, unless that is 0. Says whether it is a
    /// reader still.
    pub(crate) fn advance(&mut self, client: u32) -> bool {
        let is_reader = self.take_step(2);
        if is_reader {
            self.place.client.store(client, Ordering::Release);
        }
        is_reader
    }

    /// Memory for the actions of an event.
    pub(crate) fn batch(&mut self) -> &mut Batch {
        &mut self.batch
    }

    /// Begins to wait. Says whether it is a reader still.
    pub(crate) fn begin_wait(&mut self) -> bool {
        self.take_step(1)
    }

    /// Has waited, for something to do.
    pub(crate) fn end_wait(&mut self) {
        self.step += 1;
        self.place.steps.store(self.step, Ordering::SeqCst);
        self.shared.housekeeping.note_request();
    }

    fn take_step(&mut self, by: u64) -> bool {
        let next = self.step + by;
        let steps = &self.place.steps;
        let taken =
            steps.compare_exchange(self.step, next, Ordering::AcqRel, Ordering::Relaxed).is_ok();
        self.step = next;
        taken
    }

    /// Does `left` and all that is in line. Says whether the thread is a reader still.
    pub(crate) fn do_what_is_left(&mut self, mut left: Option<IoRequest>) -> bool {
        let shared = self.shared;
        while let Some(next) = left.take().or_else(|| shared.io_queue.pop()) {
            let done = match next {
                IoRequest::Access(file, access) => shared.access(self, file, access),
                IoRequest::Begin { file, call, thread, fetch } => {
                    shared.begin(self, file, call, thread, fetch)
                }
                IoRequest::AddFd(task) => shared.add_fd(self, *task),
                IoRequest::Close(files) => shared.close_files(self, files),
            };
            match done {
                Ok(next) => left = next,
                Err(Replaced) => {
                    // Its follower may wait for a request already.
                    while let Some(next) = shared.io_queue.pop() {
                        shared.leave(next);
                    }
                    return false;
                }
            }
        }
        true
    }

    /// Looks now and then whether requests come faster than they are answered.
    fn look_at_backlog(&mut self) {
        let fuse = &self.shared.fuse;
        self.backlog.count(|| fuse.has_request_within(Duration::ZERO));
    }

    /// Reads a request, which may take until there is one.
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize, ReadError> {
        let read = self.shared.fuse.read(buffer);
        self.end_wait();
        read
    }
}

/// Starts the readers of a session.
pub(crate) fn start(shared: &Arc<SessionShared>) -> io::Result<()> {
    for (at, place) in shared.readers.places.iter().enumerate() {
        follow(shared, at, place.steps.load(Ordering::Acquire))?;
    }
    Ok(())
}

/// Has other threads read for readers that are where they were before: stuck. One that only takes long would be
/// no faster.
pub(crate) fn replace_stuck(shared: &Arc<SessionShared>, before: &[u64]) {
    for (at, (place, step)) in shared.readers.places.iter().zip(before).enumerate() {
        if *step != 0
            && place.steps.load(Ordering::Acquire) == *step
            && processes::is_blocked(place.tid.load(Ordering::Relaxed))
            && let Err(error) = follow(shared, at, *step)
        {
            tracing::warn!(%error, "requests wait: a reader is stuck, and none can follow it");
        }
    }
}

/// Has `work` done on a device, and waits for what it returns. `None` if it met a bug.
///
/// A reader that has the device may be stuck until a request is read, and be the only one that reads. So this is for the
/// housekeeper, which has others follow it meanwhile.
pub(crate) fn ask<T: Send + 'static>(
    shared: &Arc<SessionShared>,
    device: &Arc<Device>,
    work: impl FnOnce(&mut DeviceState) -> T + Send + 'static,
) -> Option<T> {
    let told = shared.begin_to_ask(device, work);
    let mut busy = Vec::new();
    loop {
        match told.recv_timeout(ROUND) {
            Err(RecvTimeoutError::Timeout) => {
                replace_stuck(shared, &busy);
                shared.readers.busy_steps(&mut busy);
            }
            told => return told.ok(),
        }
    }
}

/// Starts a thread that takes the place of the reader that was at `step` there, if it still is.
fn follow(shared: &Arc<SessionShared>, at: usize, step: u64) -> io::Result<()> {
    let kept = shared.clone();
    let ring_thread = shared.readers.ring_thread(at);
    let name = if ring_thread.is_some() { "ring" } else { "reader" };
    let read = move || {
        let place = &kept.readers.places[at];
        let Some((step, stuck_at)) = place.take_over(step) else { return };
        if let Some(pid) = stuck_at {
            tracing::debug!(pid, "the memory of a client takes its time");
            kept.slow.begin_wait(pid);
        }
        if ring_thread.is_none() {
            promote_one(&kept, place);
        }
        let mut reader = RequestReader {
            shared: &kept,
            place,
            step,
            backlog: Backlog::default(),
            batch: Batch::default(),
        };
        let reading = catch_unwind(AssertUnwindSafe(|| {
            // The thread before may have got stuck with more in line.
            if !reader.do_what_is_left(None) {
                return None;
            }
            match (at, ring_thread) {
                (0, _) => reader.read_requests(),
                (_, Some(thread)) => {
                    reader.watch_rings(kept.ring_watchers.of_thread(thread));
                    None
                }
                (_, None) => reader.read_when_wanted(),
            }
        }));
        let end = match reading {
            Ok(Some(result)) => result.map_err(ServeError::Read),
            Ok(None) => return,
            Err(_) => Err(ServeError::Thread(io::Error::other("it met a bug"))),
        };
        kept.readers.end();
        kept.end.come(end);
    };
    thread::Builder::new().name(name.into()).spawn(read).map(drop)
}

/// Gives readers their real-time priority, or gives it back after they have run for too long.
pub(crate) fn promote(shared: &SessionShared) {
    // Threads that watch rings see to that by themselves.
    for (at, place) in shared.readers.places.iter().enumerate() {
        if shared.readers.ring_thread(at).is_none() {
            promote_one(shared, place);
        }
    }
}

fn promote_one(shared: &SessionShared, place: &ReaderPlace) {
    let reader = place.tid.load(Ordering::Relaxed);
    if !shared.has_realtime_reader || realtime::is_realtime(reader).unwrap_or(true) {
        return;
    }
    match realtime::promote(reader) {
        Ok(()) => tracing::debug!(reader, "requests are read at a real-time priority"),
        // It goes on as others do.
        Err(error) => tracing::debug!(%error, reader, "the reader stays an ordinary thread"),
    }
}

/// How reading ended; `None` if another thread goes on.
type ReadingEnd = Option<Result<(), ReadError>>;

impl RequestReader<'_> {
    /// Reads and answers requests until the file system is unmounted, or another does so.
    fn read_requests(&mut self) -> ReadingEnd {
        let mut buffer = vec![0; REQUEST_BYTES];
        let mut left = None;
        loop {
            if !self.do_what_is_left(left.take()) || !self.begin_wait() {
                return None;
            }
            let shared = self.shared;
            if shared.housekeeping.take_close() && !shared.fuse.has_request_within(SPENT_AFTER) {
                give_up_own();
            }
            // Without a further reader there is nothing to find out.
            if shared.readers.parked.has_one() {
                self.look_at_backlog();
            }
            match self.read(&mut buffer) {
                Ok(len) => left = shared.answer_request(&buffer[..len], &mut self.batch),
                Err(ReadError::Unmounted) => return Some(Ok(())),
                Err(error) => return Some(Err(error)),
            }
            if self.backlog.is_behind() {
                shared.readers.parked.want_another();
            }
        }
    }

    /// The same while the others are behind, and again when they are once more.
    fn read_when_wanted(&mut self) -> ReadingEnd {
        let mut buffer = vec![0; REQUEST_BYTES];
        // It waits, as for a request.
        if !self.begin_wait() {
            return None;
        }
        while self.shared.readers.parked.park() {
            self.backlog = Backlog::default();
            while !self.backlog.is_ahead() {
                self.look_at_backlog();
                let left = match self.read(&mut buffer) {
                    Ok(len) => self.shared.answer_request(&buffer[..len], &mut self.batch),
                    Err(ReadError::Unmounted) => return Some(Ok(())),
                    Err(error) => return Some(Err(error)),
                };
                if !self.do_what_is_left(left) || !self.begin_wait() {
                    return None;
                }
            }
        }
        None
    }

    /// Runs the requests of busy clients until the session ends, or another thread takes its place.
    fn watch_rings(&mut self, watcher: &RingWatcher) {
        let shared = self.shared;
        let mut found = Vec::new();
        while !watcher.is_over() {
            let mut list = watcher.list();
            list.take_news(watcher, &shared.rings, &mut found);
            let is_idle = !list.look(&shared.rings, &mut found) && found.is_empty();
            if is_idle && !list.look_longer() {
                // While it waits no thread takes its place.
                if !self.begin_wait() {
                    return;
                }
                let slept = list.sleep(watcher, &shared.rings, &mut found);
                self.end_wait();
                if let Err(error) = slept {
                    tracing::warn!(%error, "rings cannot be watched");
                    list.leave_all();
                    return;
                }
                if shared.has_realtime_reader {
                    list.note_wake_up();
                }
            }
            drop(list);
            // All are run before the memory of a client is touched: a thread that gets stuck there keeps none to itself.
            let left = shared.run_all(found.drain(..), self.batch());
            if !self.do_what_is_left(left) {
                return;
            }
        }
        watcher.list().leave_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reader_is_behind_after_looks_that_all_find_another_request() {
        let mut backlog = Backlog::default();
        let mut count = |times: u32, has_another: bool| {
            (0..times * LOOK_EVERY).for_each(|_| backlog.count(|| has_another));
            (backlog.is_behind(), backlog.is_ahead())
        };
        assert_eq!(count(BEHIND_AFTER - 1, true), (false, false));
        assert_eq!(count(1, false), (false, false));
        assert_eq!(count(BEHIND_AFTER - 1, true), (false, false));
        assert_eq!(count(1, true), (true, false));
        assert_eq!(count(1, true), (false, false), "one was wanted just now");
        assert_eq!(count(AHEAD_AFTER, false), (false, true));
    }
}
