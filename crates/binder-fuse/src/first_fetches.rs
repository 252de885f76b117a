//! Calls whose first commands are being fetched: no front end knows them yet, and signals find them here.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use binder_frontend::{Cancelled, RequestContext};

use crate::client_file::ClientFile;

/// Fetches that have begun.
#[derive(Debug, Default)]
pub(crate) struct FirstFetches {
    begun: Mutex<Vec<FirstFetch>>,
}

#[derive(Debug)]
struct FirstFetch {
    file: Arc<ClientFile>,
    unique: u64,
    tid: u32,
    was_interrupted: bool,
}

impl FirstFetches {
    pub(crate) fn begin(&self, file: &Arc<ClientFile>, request: &RequestContext) {
        let RequestContext { unique, tid, .. } = *request;
        let file = file.clone();
        self.begun().push(FirstFetch { file, unique, tid, was_interrupted: false });
    }

    /// Says whether a signal wants to end the call.
    pub(crate) fn end(&self, unique: u64) -> bool {
        let mut begun = self.begun();
        let at = begun.iter().position(|it| it.unique == unique);
        at.is_some_and(|at| begun.swap_remove(at).was_interrupted)
    }

    /// A signal wants to end the call behind a request. Says whether its first commands are being fetched.
    pub(crate) fn interrupt(&self, unique: u64) -> bool {
        let mut begun = self.begun();
        let Some(fetch) = begun.iter_mut().find(|it| it.unique == unique) else { return false };
        fetch.was_interrupted = true;
        fetch.cancel();
        true
    }

    /// Gives up those that signals want to end, as far as can be: their threads may have been killed since.
    pub(crate) fn cancel_interrupted(&self) {
        self.begun().iter().filter(|it| it.was_interrupted).for_each(FirstFetch::cancel);
    }

    pub(crate) fn has_interrupted(&self) -> bool {
        self.begun().iter().any(|it| it.was_interrupted)
    }

    fn begun(&self) -> MutexGuard<'_, Vec<FirstFetch>> {
        self.begun.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl FirstFetch {
    /// Has the fetch be cut off. Its call goes on with that, or with what was fetched.
    fn cancel(&self) {
        self.file.cancel(self.unique, self.tid, Cancelled::Fetch);
    }
}
