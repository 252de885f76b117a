//! Open files of `binder_logs/`: a text each, taken down when its first byte is read.

use std::sync::atomic::Ordering;
use std::sync::{Arc, RwLock};

use binder_core::Errno;
use binder_os::FuseDevice;
use fuse_wire::flags::{FOPEN_DIRECT_IO, FOPEN_STREAM, FUSE_POLL_SCHEDULE_NOTIFY};
use fuse_wire::{Header, Read, reply};
use slab::Slab;

use crate::log_queue::LogRead;
use crate::logs::LogFile;
use crate::quota::Account;
use crate::shared::{File, SessionShared, index};
use crate::stream_reads::StreamRead;
use crate::texts::KeptText;
use crate::wire::{answer_poll, send};

/// Answers a read of `log` with a new text, in which the open file reads on.
pub(super) fn answer(
    fuse: &FuseDevice,
    files: &RwLock<Slab<File>>,
    log: LogFile,
    text: Option<&Arc<KeptText>>,
    read: &LogRead,
) {
    let LogRead { unique, fh, offset, size, .. } = *read;
    let Some(kept) = text else {
        tracing::warn!("logs are refused: too many are being read");
        return send(fuse, &reply::error(unique, Errno::ENOMEM.number()));
    };
    let mut files = files.write().unwrap_or_else(|poisoned| poisoned.into_inner());
    if let Some(File::Log { log: place, text }) = files.get_mut(index(fh))
        && *place == log
    {
        *text = Some(kept.clone());
    }
    drop(files);
    send(fuse, &reply::data(unique, kept.slice(offset, size)));
}

impl SessionShared {
    pub(super) fn open_log(&self, header: &Header, log: LogFile) {
        let unique = header.unique;
        match log {
            LogFile::TraceStream(data) => self.open_trace(header, data),
            LogFile::EventStream => {
                let follower = self.next_follower.fetch_add(1, Ordering::Relaxed);
                // A stream has no offset that one reader would keep from the others.
                self.opened(unique, File::Events(follower), FOPEN_DIRECT_IO | FOPEN_STREAM, 0);
            }
            LogFile::Long(_) | LogFile::Short(_) => {
                self.opened(unique, File::Log { log, text: None }, FOPEN_DIRECT_IO, 0);
            }
        }
    }

    /// Reads a log. A read from the beginning gets a new text, and later reads go on in that.
    pub(super) fn read_log(
        &self,
        header: &Header,
        read: &Read,
        log: LogFile,
        text: Option<Arc<KeptText>>,
    ) {
        let Header { unique, pid: tid, .. } = *header;
        if let Some(text) = text
            && read.offset > 0
        {
            return send(&self.fuse, &reply::data(unique, text.slice(read.offset, read.size)));
        }
        let Read { fh, offset, size, .. } = *read;
        let read = LogRead { unique, tid, fh, offset, size };
        match log {
            LogFile::Long(log) => self.queue_log_read(log, read),
            LogFile::Short(log) => {
                let reader = Account { pid: tid, uid: header.uid };
                self.run_in_pool(reader, move |shared| {
                    let text = shared.texts.keep(shared.short_log(log));
                    answer(&shared.fuse, &shared.files, LogFile::Short(log), text.as_ref(), &read);
                });
            }
            LogFile::EventStream | LogFile::TraceStream(_) => {
                debug_assert!(false, "an open stream is no log");
                self.refuse(unique, Errno::EIO);
            }
        }
    }

    /// Polls a file that is no device.
    pub(super) fn poll_log(&self, header: &Header, fh: u64, handle: u64, flags: u32) -> bool {
        let unique = header.unique;
        let follower = match self.files().get(index(fh)) {
            Some(File::Events(follower)) => *follower,
            Some(File::Trace(follower)) => {
                let follower = *follower;
                let handle = (flags & FUSE_POLL_SCHEDULE_NOTIFY != 0).then_some(handle);
                let is_readable = self.trace.is_readable(follower, handle);
                answer_poll(&self.fuse, unique, is_readable);
                return true;
            }
            Some(File::Log { .. }) => {
                answer_poll(&self.fuse, unique, true);
                return true;
            }
            Some(File::Device { .. } | File::Control | File::Feature(_)) | None => return false,
        };
        self.events().poll(follower, unique, handle, flags);
        true
    }

    pub(super) fn read_events(&self, unique: u64, follower: u64, read: &Read) {
        self.events().read(follower, StreamRead::new(unique, read));
    }
}
