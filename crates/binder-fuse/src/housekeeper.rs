//! What nobody asks for: notices changes that the kernel does not tell of, and returns memory.
//!
//! The kernel keeps fcntl(2) to itself, so a read that falls asleep may do so against an
//! `O_NONBLOCK` that was set after the open. The housekeeper looks at the files of reads that have
//! slept for a moment, each once, and ends those that should not sleep. Calls that are answered at
//! once pay nothing for it.

use std::io;
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use binder_os::proc_files;

use crate::driver::Job;
use crate::session::Shared;

/// How often it looks.
const ROUND: Duration = Duration::from_millis(20);
/// How long a read sleeps before its file is looked at.
const SLEPT_FOR: Duration = Duration::from_millis(2);
/// How many rounds pass between returns of idle memory.
const ROUNDS_PER_RECLAIM: u32 = 50;
const O_NONBLOCK: u32 = 0o4000;

/// A running housekeeper.
pub(crate) struct Housekeeper {
    thread: JoinHandle<()>,
    stop: Sender<()>,
}

impl Housekeeper {
    /// Ends it and waits for its end.
    pub(crate) fn stop(self) {
        drop(self.stop);
        if self.thread.join().is_err() {
            tracing::error!("the housekeeper met a bug");
        }
    }
}

/// Starts the housekeeper of a session.
pub(crate) fn start(shared: &Arc<Shared>) -> io::Result<Housekeeper> {
    let (stop, stopped) = mpsc::channel();
    let shared = Arc::downgrade(shared);
    let thread = thread::Builder::new().name("housekeeper".into()).spawn(move || {
        let mut round = 0;
        while stopped.recv_timeout(ROUND) == Err(RecvTimeoutError::Timeout) {
            let Some(shared) = shared.upgrade() else { return };
            look_at_sleepers(&shared);
            round += 1;
            if round % ROUNDS_PER_RECLAIM == 0 {
                shared.submit(Job::ReclaimIdlePages);
            }
        }
    })?;
    Ok(Housekeeper { thread, stop })
}

fn look_at_sleepers(shared: &Arc<Shared>) {
    let (found, sleepers) = mpsc::channel();
    let found = Box::new(move |list| {
        let _ = found.send(list);
    });
    shared.submit(Job::ListSleepers { slept_for: SLEPT_FOR, found });
    for sleeper in sleepers.recv().unwrap_or_default() {
        let flags = proc_files::file_flags(sleeper.pid, sleeper.file);
        if let Ok(Some(flags)) = flags {
            let (device, process) = (sleeper.device, sleeper.process);
            let is_nonblocking = flags & O_NONBLOCK != 0;
            shared.submit(Job::SetNonblocking { device, process, is_nonblocking });
        }
    }
}
