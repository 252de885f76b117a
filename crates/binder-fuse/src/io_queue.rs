//! Accesses and other things that may take their time, in line until a thread does them.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use binder_frontend::{AccessRequest, Call, CallingThread};

use crate::client_file::ClientFile;
use crate::fd_task::FdTask;
use crate::files::HeldFile;

/// Something that may take its time, since a client has a say in that.
pub(crate) enum IoRequest {
    /// Of the memory of the process that has a file open.
    Access(Arc<ClientFile>, Box<AccessRequest>),
    /// To fetch the first commands of a call that begins, and to have it begin.
    Begin {
        file: Arc<ClientFile>,
        call: Box<Call>,
        thread: CallingThread,
        fetch: Box<AccessRequest>,
    },
    /// To send a thread to the supervisor.
    AddFd(Box<FdTask>),
    /// To close files of clients.
    Close(Vec<HeldFile>),
}

/// The requests in line for the readers of a mount.
#[derive(Default)]
pub(crate) struct IoQueue {
    line: Mutex<VecDeque<IoRequest>>,
    /// How long the line was a moment ago, for a look without the lock.
    len: AtomicUsize,
}

impl IoQueue {
    pub(crate) fn push(&self, request: IoRequest) {
        let mut line = self.line();
        line.push_back(request);
        self.len.store(line.len(), Ordering::Relaxed);
    }

    pub(crate) fn pop(&self) -> Option<IoRequest> {
        // Mostly there is none, and a lock is saved. A thread that puts something there comes here
        // afterwards, and does not miss it.
        if self.len.load(Ordering::Relaxed) == 0 {
            return None;
        }
        let mut line = self.line();
        let request = line.pop_front();
        self.len.store(line.len(), Ordering::Relaxed);
        request
    }

    /// Shrinks the queue after it has held many.
    pub(crate) fn shrink(&self) {
        self.line().shrink_to_fit();
    }

    fn line(&self) -> MutexGuard<'_, VecDeque<IoRequest>> {
        self.line.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}
