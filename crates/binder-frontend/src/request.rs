//! The thread that makes a request.

use binder_core::{Priority, ProcessKey};

/// The calling thread of a request, as the door through which it came shows it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RequestContext {
    /// The number of the request: no other has it while this one is not answered.
    pub unique: u64,
    /// The open file.
    pub process: ProcessKey,
    /// The number of the thread.
    pub tid: u32,
    /// Its effective uid.
    pub uid: u32,
    /// The argument of the ioctl: where the caller's struct lies.
    pub argument: u64,
    /// It called as 32-bit programs do.
    pub is_compat: bool,
}

impl RequestContext {
    /// The open file through which it came, and the number of the calling thread.
    pub fn caller(&self) -> (ProcessKey, u32) {
        (self.process, self.tid)
    }
}

/// What the executor has found out about the calling thread. It belongs to the process that opened the file.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct CallingThread {
    /// Its number was that of another thread, which has ended without a word.
    pub replaces_ended: bool,
    /// Threads of its process that have ended without a word were looked for just now.
    pub was_pruned: bool,
    /// How it is scheduled, if threads are to inherit that: `None` within is one to be left alone.
    pub priority: Option<Option<Priority>>,
}

impl CallingThread {
    /// The same thread, after ended threads were looked for and an earlier thread of its number was removed.
    pub(crate) fn once_pruned(self) -> Self {
        Self { was_pruned: true, replaces_ended: false, ..self }
    }
}
