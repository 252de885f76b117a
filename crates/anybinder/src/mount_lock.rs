//! Mounting in turns: of several `mount`s at one place, one at a time looks what is there and mounts.
//!
//! Two that replaced the same mount at once would leave one driver beneath the other, where no process finds it.

use std::fs::File;
use std::io;
use std::path::Path;
use std::time::Duration;

use binder_os::file_lock;

/// Any process that may read a directory may lock it for ever, so a turn is waited for no longer than this.
const WAIT_AT_MOST: Duration = Duration::from_secs(5);

/// The turn of this `mount`, until it is dropped, here or in a process that was forked meanwhile and did not [leave](Self::leave) it.
#[derive(Debug)]
pub(crate) struct MountLock {
    /// The directory that `dir` is in, locked: it stays the same, whatever is mounted at `dir`.
    parent: Option<File>,
}

impl MountLock {
    /// Waits for the turn at `dir`, an absolute path without symbolic links. One that does not come is done without, and the
    /// log says so.
    pub(crate) fn wait_at(dir: &Path) -> Self {
        let parent = dir.parent().unwrap_or(dir);
        let parent = lock(parent).inspect_err(|error| {
            tracing::warn!(dir = %parent.display(), %error, "not locked: others may mount at the same moment");
        });
        Self { parent: parent.ok() }
    }

    /// In a process that was forked meanwhile: the turn is that of the one that forked it. Elsewhere it is over.
    pub(crate) fn leave(mut self) {
        // A lock ends with the last descriptor of the file, unless it is unlocked before.
        drop(self.parent.take());
    }
}

fn lock(dir: &Path) -> io::Result<File> {
    let file = File::open(dir)?;
    match file_lock::lock_within(&file, WAIT_AT_MOST)? {
        true => Ok(file),
        false => Err(io::ErrorKind::TimedOut.into()),
    }
}

impl Drop for MountLock {
    fn drop(&mut self) {
        if let Some(parent) = &self.parent
            && let Err(error) = file_lock::unlock(parent)
        {
            tracing::debug!(%error, "the directory is locked until its descriptors are closed");
        }
    }
}
