//! Access to the memory of a client, as it is lent to the thread of ours that needs it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use binder_os::{CancelToken, ClientMemory};

use crate::quota::Charge;
use crate::read_ahead::ReadAheadCache;

/// How many memory handles of a client are kept for the next calls.
const MAX_KEPT: usize = 2;

/// Access to the memory of a client, and what was learned about it.
#[derive(Debug)]
pub(crate) struct MemoryHandle {
    pub(crate) memory: ClientMemory,
    /// For the descriptor that it keeps open, if it does.
    pub(crate) _charge: Option<Charge>,
    pub(crate) read_ahead: ReadAheadCache,
}

/// The memory handles of a client.
#[derive(Debug, Default)]
pub(crate) struct MemoryHandles(Mutex<Handles>);

#[derive(Debug, Default)]
struct Handles {
    places: Vec<HandlePlace>,
    /// Requests that are to get no handle any more.
    given_up: Vec<u64>,
}

/// The place of a memory handle, which is lent in its box: that moves cheaply.
#[derive(Debug)]
struct HandlePlace {
    /// None while it is in use, for this request.
    handle: Option<Box<MemoryHandle>>,
    unique: u64,
    token: Arc<CancelToken>,
}

impl MemoryHandles {
    /// Lends one for this request of thread `tid`, which `make` makes if all are in use.
    pub(crate) fn lend(
        &self,
        unique: u64,
        tid: u32,
        make: impl FnOnce() -> Box<MemoryHandle>,
    ) -> Box<MemoryHandle> {
        lend_of(self.handles(), unique, tid, make)
    }

    /// The same, unless the access for that request was [given up](Self::cancel) before it was begun.
    pub(crate) fn lend_if_wanted(
        &self,
        unique: u64,
        tid: u32,
        make: impl FnOnce() -> Box<MemoryHandle>,
    ) -> Option<Box<MemoryHandle>> {
        let mut handles = self.handles();
        if let Some(at) = handles.given_up.iter().position(|it| *it == unique) {
            handles.given_up.swap_remove(at);
            return None;
        }
        Some(lend_of(handles, unique, tid, make))
    }

    /// Takes one back, for the next. Says whether it was cut off meanwhile.
    pub(crate) fn take_back(&self, unique: u64, handle: Box<MemoryHandle>) -> bool {
        let mut handles = self.handles();
        let is_cut = handle.memory.cancel_token().is_cancelled();
        if let Some(at) = handles.places.iter().position(|place| place.is_used_for(unique)) {
            if is_cut || at >= MAX_KEPT {
                handles.places.swap_remove(at);
            } else {
                handles.places[at].handle = Some(handle);
            }
        }
        is_cut
    }

    /// Gives up the access for a request, as far as can be: that of a thread that was killed, begun or not, and a fetch that is
    /// under way. Says whether it did.
    pub(crate) fn cancel(&self, unique: u64, is_killed: bool, is_fetch: bool) -> bool {
        let mut handles = self.handles();
        match handles.places.iter().find(|place| place.is_used_for(unique)) {
            Some(HandlePlace { token, .. }) => {
                let may_end = is_killed || (is_fetch && token.is_in_use());
                may_end && token.cancel()
            }
            None => {
                if is_killed {
                    handles.given_up.push(unique);
                }
                is_killed
            }
        }
    }

    fn handles(&self) -> MutexGuard<'_, Handles> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl HandlePlace {
    fn is_used_for(&self, unique: u64) -> bool {
        self.handle.is_none() && self.unique == unique
    }
}

fn lend_of(
    mut handles: MutexGuard<'_, Handles>,
    unique: u64,
    tid: u32,
    make: impl FnOnce() -> Box<MemoryHandle>,
) -> Box<MemoryHandle> {
    let idle = handles.places.iter_mut().find_map(|place| {
        let handle = place.handle.take()?;
        place.unique = unique;
        Some(handle)
    });
    let mut handle = idle.unwrap_or_else(|| {
        let handle = make();
        let token = handle.memory.cancel_token().clone();
        handles.places.push(HandlePlace { handle: None, unique, token });
        handle
    });
    drop(handles);
    handle.memory.use_thread(tid);
    handle
}
