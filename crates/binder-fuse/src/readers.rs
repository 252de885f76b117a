//! The thread that reads requests, and who follows it if it is stuck.
//!
//! One thread answers all requests; with two, every other request would cost a switch between them.
//! But the one may be stuck: in client memory, say, a page of which may even be served by this very file
//! system. The housekeeper then has another take its place, for good. Whoever comes back and finds
//! itself replaced hands on what it has, and ends.
//!
//! Where it may, the reader has a real-time priority, so that clients do not wait for what else the machine does.
//! One that runs on and on loses it ([`realtime`]), and has it again a second later.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;

use binder_os::{ReadError, processes, realtime};

use crate::housekeeper::{self, SPENT_AFTER};
use crate::session::{ServeError, SessionShared};

/// Room for one request: the kernel wants 8 KiB at least.
const REQUEST_BYTES: usize = 16 << 10;

/// How reading came to its end.
#[derive(Default)]
pub(crate) struct SessionEnd {
    result: Mutex<Option<Result<(), ServeError>>>,
    has_come: Condvar,
}

impl SessionEnd {
    fn come(&self, result: Result<(), ServeError>) {
        *self.result.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = Some(result);
        self.has_come.notify_all();
    }

    /// Waits for it.
    pub(crate) fn wait(&self) -> Result<(), ServeError> {
        let mut result = self.result.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        loop {
            match result.take() {
                Some(result) => return result,
                None => {
                    let waited = self.has_come.wait(result);
                    result = waited.unwrap_or_else(|poisoned| poisoned.into_inner());
                }
            }
        }
    }
}

/// Starts the first reader of a session.
pub(crate) fn start(shared: &Arc<SessionShared>) -> io::Result<()> {
    follow(shared, shared.watch.step())
}

/// Has another thread read if the reader is stuck at `step`. If it only takes long, another would be no
/// faster.
pub(crate) fn replace_stuck_reader(shared: &Arc<SessionShared>, step: u64) {
    if processes::is_blocked(shared.watch.reader())
        && let Err(error) = follow(shared, step)
    {
        tracing::warn!(%error, "requests wait: the reader is stuck, and none can follow it");
    }
}

/// Starts a reader that takes the place of the one that was at `step`, if that still is.
fn follow(shared: &Arc<SessionShared>, step: u64) -> io::Result<()> {
    let kept = shared.clone();
    let read = move || {
        let Some((step, stuck_at)) = kept.watch.take_over(step) else { return };
        if let Some(pid) = stuck_at {
            tracing::debug!(pid, "the memory of a client takes its time");
            kept.slow.begin_wait(pid);
        }
        promote(&kept);
        let reading = catch_unwind(AssertUnwindSafe(|| kept.read_requests(step)));
        match reading {
            Ok(Some(result)) => kept.end.come(result.map_err(ServeError::Read)),
            Ok(None) => {}
            Err(_) => kept.end.come(Err(ServeError::Thread(io::Error::other("it met a bug")))),
        }
    };
    thread::Builder::new().name("reader".into()).spawn(read).map(drop)
}

/// Gives the reader its real-time priority, or gives it back after it has run for too long.
pub(crate) fn promote(shared: &SessionShared) {
    let reader = shared.watch.reader();
    if !shared.has_realtime_reader || realtime::is_realtime(reader).unwrap_or(true) {
        return;
    }
    match realtime::promote(reader) {
        Ok(()) => tracing::debug!(reader, "requests are read at a real-time priority"),
        // It goes on as others do.
        Err(error) => tracing::debug!(%error, reader, "the reader stays an ordinary thread"),
    }
}

impl SessionShared {
    /// Reads and answers requests until the file system is unmounted, or another does so.
    fn read_requests(&self, mut step: u64) -> Option<Result<(), ReadError>> {
        let mut buffer = vec![0; REQUEST_BYTES];
        let mut left = None;
        loop {
            if !self.do_what_is_left(&mut step, left.take()) || !self.watch.begin_wait(&mut step) {
                return None;
            }
            if self.watch.take_close() && !self.fuse.has_request_within(SPENT_AFTER) {
                housekeeper::give_up_own();
            }
            let read = self.fuse.read(&mut buffer);
            self.watch.end_wait(&mut step);
            match read {
                Ok(len) => left = self.answer_request(&buffer[..len]),
                Err(ReadError::Unmounted) => return Some(Ok(())),
                Err(error) => return Some(Err(error)),
            }
        }
    }
}
