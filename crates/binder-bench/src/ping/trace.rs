//! A follower of the driver's trace, which reads all that it tells and makes nothing of it.

use std::fs::{File, OpenOptions};
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rustix::fs::OFlags;

use crate::error::BenchError;
use crate::logs;

/// How often it reads: as often as the driver writes.
const READ_EVERY: Duration = Duration::from_millis(10);
/// Bytes that it reads in one go, as `anybinder trace` does.
const READ_BYTES: usize = 64 << 10;

/// Follows until it is dropped.
pub(super) struct StreamFollower {
    end: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl StreamFollower {
    /// From here on, all that happens on the device is traced, with all on its binderfs.
    pub(super) fn start(device: &Path) -> Result<Self, BenchError> {
        let flags = OFlags::NONBLOCK.bits().cast_signed();
        let mut answer = std::io::ErrorKind::NotFound.into();
        for path in logs::places(device, "anybinder/trace.stream") {
            match OpenOptions::new().read(true).custom_flags(flags).open(path) {
                Ok(file) => {
                    let (end, ended) = channel();
                    let thread = Some(thread::spawn(move || follow(file, &ended)));
                    return Ok(Self { end: Some(end), thread });
                }
                Err(error) => answer = error,
            }
        }
        Err(BenchError::Trace { device: device.to_owned(), source: answer })
    }
}

fn follow(mut file: File, ended: &Receiver<()>) {
    let mut bytes = vec![0; READ_BYTES];
    while ended.recv_timeout(READ_EVERY) == Err(RecvTimeoutError::Timeout) {
        // A read that is not full had all until now. One more would have the next call, and so on without end.
        while file.read(&mut bytes).is_ok_and(|len| len == READ_BYTES) {}
    }
}

impl Drop for StreamFollower {
    fn drop(&mut self) {
        drop(self.end.take());
        // A follower that has panicked has told so.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}
