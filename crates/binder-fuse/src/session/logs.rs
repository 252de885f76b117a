//! Open files of `binder_logs/`: a text each, taken down when its first byte is read.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, RwLock};

use binder_core::Errno;
use binder_os::FuseDevice;
use fuse_wire::flags::{FOPEN_DIRECT_IO, FOPEN_STREAM, FUSE_POLL_SCHEDULE_NOTIFY};
use fuse_wire::{Header, Read, reply};
use slab::Slab;

use super::{File, SessionShared, index};
use crate::logs::LogFile;
use crate::quota::Account;
use crate::stream_reads::StreamRead;
use crate::wire::{answer_poll, send};

/// What all texts that are being read may take, for clients may open a file as often as they
/// like. A single one may be longer: it is as long as what there is to tell.
const TEXTS_MAX_BYTES: usize = 64 << 20;

/// The memory that texts take, all together.
#[derive(Clone, Debug, Default)]
pub(super) struct TextBudget(Arc<AtomicUsize>);

/// A text that is being read, and the memory that it takes.
#[derive(Debug)]
pub(super) struct KeptText {
    text: String,
    budget: TextBudget,
}

impl TextBudget {
    /// Keeps a text, unless there are too many.
    pub(super) fn keep(&self, text: String) -> Option<Arc<KeptText>> {
        let before = self.0.fetch_add(text.len(), Ordering::Relaxed);
        let kept = KeptText { text, budget: self.clone() };
        let is_room = before == 0 || before + kept.text.len() <= TEXTS_MAX_BYTES;
        is_room.then(|| Arc::new(kept))
    }
}

impl Drop for KeptText {
    fn drop(&mut self) {
        self.budget.0.fetch_sub(self.text.len(), Ordering::Relaxed);
    }
}

impl KeptText {
    fn slice(&self, offset: u64, size: u32) -> &[u8] {
        part(self.text.as_bytes(), offset, size)
    }
}

/// The part of a file that a read asks for.
pub(super) fn part(bytes: &[u8], offset: u64, size: u32) -> &[u8] {
    let start = usize::try_from(offset).unwrap_or(usize::MAX).min(bytes.len());
    &bytes[start..start.saturating_add(size as usize).min(bytes.len())]
}

/// A read of a log from its beginning on.
#[derive(Clone, Copy, Debug)]
pub(super) struct LogRead {
    pub(super) unique: u64,
    /// The reading thread.
    pub(super) tid: u32,
    /// The open file.
    pub(super) fh: u64,
    pub(super) offset: u64,
    pub(super) size: u32,
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_share_a_budget_and_give_back_what_they_took() {
        let budget = TextBudget::default();
        let text = |len| "x".repeat(len);
        let long = budget.keep(text(TEXTS_MAX_BYTES + 1));
        assert!(long.is_some(), "one may be as long as it must");
        assert!(budget.keep(text(1)).is_none());
        drop(long);
        let half = budget.keep(text(TEXTS_MAX_BYTES / 2));
        let other_half = budget.keep(text(TEXTS_MAX_BYTES / 2));
        assert!(half.is_some() && other_half.is_some());
        assert!(budget.keep(text(1)).is_none());
        drop(half);
        assert!(budget.keep(text(1)).is_some());
    }

    #[test]
    fn a_part_ends_with_the_text() {
        let text = b"abcdef";
        for (offset, size, expected) in
            [(0, 3, &b"abc"[..]), (3, 100, b"def"), (6, 1, b""), (u64::MAX, u32::MAX, b"")]
        {
            assert_eq!(part(text, offset, size), expected);
        }
    }
}
