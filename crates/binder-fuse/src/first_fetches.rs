//! Calls whose first commands are being fetched: no front end knows them yet, and signals find them here.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use binder_frontend::{Answer, Cancelled, IoctlData, RequestContext};

use crate::client_file::ClientFile;
use crate::session::SessionShared;

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
    /// The caller's struct, as it came.
    data: IoctlData,
    was_interrupted: bool,
}

/// How a call goes on whose first commands were fetched.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum AfterFetch {
    /// It begins; a signal may want to end it.
    Begins { was_interrupted: bool },
    /// It was answered, because of a signal.
    IsOver,
}

impl FirstFetches {
    pub(crate) fn begin(&self, file: &Arc<ClientFile>, request: &RequestContext, data: IoctlData) {
        let RequestContext { unique, tid, .. } = *request;
        let file = file.clone();
        self.begun().push(FirstFetch { file, unique, tid, data, was_interrupted: false });
    }

    pub(crate) fn end(&self, unique: u64) -> AfterFetch {
        let mut begun = self.begun();
        match begun.iter().position(|it| it.unique == unique) {
            Some(at) => {
                let FirstFetch { was_interrupted, .. } = begun.swap_remove(at);
                AfterFetch::Begins { was_interrupted }
            }
            None => AfterFetch::IsOver,
        }
    }

    pub(crate) fn has_interrupted(&self) -> bool {
        self.begun().iter().any(|it| it.was_interrupted)
    }

    fn begun(&self) -> MutexGuard<'_, Vec<FirstFetch>> {
        self.begun.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SessionShared {
    /// A signal wants to end the call behind a request. Says whether its first commands are being fetched.
    pub(crate) fn interrupt_first_fetch(&self, unique: u64) -> bool {
        let mut begun = self.first_fetches.begun();
        let Some(fetch) = begun.iter_mut().find(|it| it.unique == unique) else { return false };
        fetch.was_interrupted = true;
        drop(begun);
        self.cancel_interrupted_fetches();
        true
    }

    /// Gives up the fetches whose calls signals want to end, as far as can be: their threads may have been killed since.
    /// Such a call is over at once, for what it waits for may never come.
    pub(crate) fn cancel_interrupted_fetches(&self) {
        let is_given_up = |it: &mut FirstFetch| {
            it.was_interrupted && it.file.cancel(it.unique, it.tid, Cancelled::Fetch)
        };
        let given_up: Vec<_> = self.first_fetches.begun().extract_if(.., is_given_up).collect();
        for FirstFetch { unique, data, .. } in given_up {
            self.answer(unique, Answer::Interrupted, data.bytes(), &[]);
        }
    }
}
