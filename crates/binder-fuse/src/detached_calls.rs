//! Calls that no front end has: their first commands are being fetched, or their last returns are being written. Signals
//! find them here.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use binder_frontend::{Cancelled, IoctlData, RequestContext};

use crate::client_file::ClientFile;

/// Calls of all devices whose clients' memory is being accessed before they begin, or after they have ended.
#[derive(Debug, Default)]
pub(crate) struct DetachedCalls {
    calls: Mutex<Vec<DetachedCall>>,
}

#[derive(Debug)]
struct DetachedCall {
    file: Arc<ClientFile>,
    unique: u64,
    tid: u32,
    /// The caller's struct, as it goes back.
    data: IoctlData,
    /// What the call waits for.
    access: Cancelled,
    was_interrupted: bool,
}

/// How a call goes on whose client's memory was accessed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum AfterAccess {
    /// It goes on; a signal may want to end it.
    GoesOn { was_interrupted: bool },
    /// It was answered, because of a signal.
    IsOver,
}

impl DetachedCalls {
    /// Notes an access for a call before it is begun.
    pub(crate) fn begin(
        &self,
        file: &Arc<ClientFile>,
        request: &RequestContext,
        data: IoctlData,
        access: Cancelled,
    ) {
        let RequestContext { unique, tid, .. } = *request;
        let file = file.clone();
        let call = DetachedCall { file, unique, tid, data, access, was_interrupted: false };
        self.calls().push(call);
    }

    /// Forgets it once it was made.
    pub(crate) fn end(&self, unique: u64) -> AfterAccess {
        let mut calls = self.calls();
        match calls.iter().position(|it| it.unique == unique) {
            Some(at) => {
                let DetachedCall { was_interrupted, .. } = calls.swap_remove(at);
                AfterAccess::GoesOn { was_interrupted }
            }
            None => AfterAccess::IsOver,
        }
    }

    /// Whether there are calls that signals want to end.
    pub(crate) fn has_interrupted(&self) -> bool {
        self.calls().iter().any(|it| it.was_interrupted)
    }

    /// Notes that a signal wants to end a call. Says whether it is here.
    pub(crate) fn interrupt(&self, unique: u64) -> bool {
        let mut calls = self.calls();
        let call = calls.iter_mut().find(|it| it.unique == unique);
        call.map(|call| call.was_interrupted = true).is_some()
    }

    /// Takes the calls out that signals want to end, as far as their accesses can be given up. Returns their requests, with
    /// the structs as they go back.
    pub(crate) fn take_cancelled(&self) -> Vec<(u64, IoctlData)> {
        let is_given_up = |it: &mut DetachedCall| {
            it.was_interrupted && it.file.cancel(it.unique, it.tid, it.access)
        };
        let mut calls = self.calls();
        let given_up = calls.extract_if(.., is_given_up);
        given_up.map(|DetachedCall { unique, data, .. }| (unique, data)).collect()
    }

    fn calls(&self) -> MutexGuard<'_, Vec<DetachedCall>> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
