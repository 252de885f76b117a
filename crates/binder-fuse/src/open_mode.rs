//! `O_NONBLOCK` of an open file: as it was opened, and as it was last seen, since the kernel does not tell
//! of changes by fcntl(2).

use binder_os::FileId;
use binder_os::proc_files::{self, OpenFile};

/// The bit of open(2) as the kernel shows it everywhere.
pub(crate) const O_NONBLOCK: u32 = 0o4000;

/// The mode of an open file, as it was last seen.
#[derive(Debug)]
pub(crate) struct OpenMode {
    is_nonblocking: bool,
    /// The descriptor by which the process was last seen to have the file open.
    descriptor: Option<u32>,
    /// A thread looks for that.
    is_looked_for: bool,
}

impl OpenMode {
    pub(crate) fn new(is_nonblocking: bool) -> Self {
        Self { is_nonblocking, descriptor: None, is_looked_for: false }
    }

    /// Whether `O_NONBLOCK` was set when it was last looked for.
    pub(crate) fn is_nonblocking(&self) -> bool {
        self.is_nonblocking
    }

    /// Looks whether `O_NONBLOCK` is set, at the one descriptor that process `pid` was seen to have `file`
    /// open as. `None` if it was not seen, or has it open as that no more.
    pub(crate) fn look(&mut self, pid: u32, file: FileId) -> Option<bool> {
        let found = proc_files::open_file(pid, self.descriptor?, file).ok().flatten();
        self.take(found);
        found.map(|_| self.is_nonblocking)
    }

    /// Whether to look for the file through all that the process has open: not while another thread does so.
    #[must_use = "the thread that begins a look is to note what it finds"]
    pub(crate) fn begin_search(&mut self) -> bool {
        !std::mem::replace(&mut self.is_looked_for, true)
    }

    /// Notes how the process has the file open. If that was not found, as when a thread has a table of
    /// descriptors of its own, the mode is as it was.
    pub(crate) fn note(&mut self, found: Option<OpenFile>) {
        self.is_looked_for = false;
        self.take(found);
    }

    fn take(&mut self, found: Option<OpenFile>) {
        self.descriptor = found.map(|open| open.number);
        if let Some(open) = found {
            self.is_nonblocking = open.flags & O_NONBLOCK != 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io;
    use std::os::fd::{AsFd, AsRawFd};

    use super::*;

    #[test]
    fn a_file_that_was_seen_is_found_again_at_one_descriptor_until_it_is_closed() {
        let file = File::open("/proc/self/maps").expect("it is there");
        let id = proc_files::id_of(file.as_fd()).expect("it is open");
        let number = u32::try_from(file.as_raw_fd()).expect("it is a descriptor");
        let pid = std::process::id();
        let mut mode = OpenMode::new(true);
        assert_eq!(mode.look(pid, id), None, "it was not seen yet");
        assert!(mode.begin_search() && !mode.begin_search());
        mode.note(Some(OpenFile { number, flags: O_NONBLOCK }));
        assert!(mode.is_nonblocking());
        assert_eq!(mode.look(pid, id), Some(false));
        drop(file);
        let (_reader, _writer) = io::pipe().expect("there is room");
        assert_eq!(mode.look(pid, id), None);
        assert!(!mode.is_nonblocking() && mode.begin_search());
        mode.note(None);
        assert!(!mode.is_nonblocking(), "as it was");
    }
}
