//! The rings of a session, and calls that were taken out of their slots.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, Weak};

use binder_core::ProcessKey;
use binder_frontend::{Call, IoctlData, RequestContext};
use binder_ring::SlotIndex;
use binder_ring::layout::RETURNS_BYTES;
use binder_uapi::BinderWriteRead;
use slab::Slab;

use super::file::{RingCallId, RingFile, TakenRequest};
use crate::client_file::ClientFile;
use crate::device::Batch;

/// The rings of a session.
#[derive(Default)]
pub(crate) struct Rings {
    files: RwLock<Slab<RingOfFile>>,
    /// Calls for whose answer a thread waits in an ioctl, by the number of that request.
    waits: Mutex<HashMap<u64, RingCallId>>,
    /// Of the last call.
    sequence: AtomicU32,
}

/// A ring, and its open file.
struct RingOfFile {
    ring: Arc<RingFile>,
    file: Weak<ClientFile>,
    /// The file, once that is closed and until it is ended.
    closed: Option<Arc<ClientFile>>,
}

/// A request that was taken out of its slot.
pub(crate) struct BegunCall {
    pub(super) file: Arc<ClientFile>,
    pub(super) ring: Arc<RingFile>,
    pub(super) request: TakenRequest,
}

impl BegunCall {
    /// Takes the request out of a slot, if there is one.
    pub(super) fn take(
        file: &Arc<ClientFile>,
        ring: &Arc<RingFile>,
        slot: SlotIndex,
        sequence: u32,
    ) -> Option<Self> {
        let request = ring.take_request(slot, sequence)?;
        Some(Self { file: file.clone(), ring: ring.clone(), request })
    }
}

impl Rings {
    /// Adds the ring of a file, which `make` makes of its number.
    pub(super) fn add(
        &self,
        file: &Arc<ClientFile>,
        make: impl FnOnce(usize) -> RingFile,
    ) -> Arc<RingFile> {
        let mut files = self.files.write().unwrap_or_else(PoisonError::into_inner);
        let entry = files.vacant_entry();
        let ring = Arc::new(make(entry.key()));
        let file = Arc::downgrade(file);
        entry.insert(RingOfFile { ring: ring.clone(), file, closed: None });
        ring
    }

    /// The ring of a call.
    pub(super) fn get(&self, id: RingCallId) -> Option<Arc<RingFile>> {
        let files = self.files.read().unwrap_or_else(PoisonError::into_inner);
        files.get(id.file()).map(|it| it.ring.clone())
    }

    /// The open file of a call.
    pub(super) fn file_of(&self, id: RingCallId) -> Option<Arc<ClientFile>> {
        let files = self.files.read().unwrap_or_else(PoisonError::into_inner);
        files.get(id.file())?.file.upgrade()
    }

    /// Has the file of a ring, which is closed, end with the ring's last call.
    pub(super) fn close(&self, ring: &Arc<RingFile>, file: Arc<ClientFile>) {
        let mut files = self.files.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = files.get_mut(ring.number()).filter(|it| Arc::ptr_eq(&it.ring, ring)) {
            known.closed = Some(file);
        }
    }

    /// Forgets a ring. Returns its file if that is to be ended.
    pub(super) fn remove(&self, ring: &Arc<RingFile>) -> Option<(Arc<ClientFile>, ProcessKey)> {
        let mut files = self.files.write().unwrap_or_else(PoisonError::into_inner);
        files.get(ring.number()).filter(|it| Arc::ptr_eq(&it.ring, ring))?;
        let file = files.try_remove(ring.number())?.closed?;
        Some((file, ring.process()))
    }

    pub(super) fn next_sequence(&self) -> u32 {
        self.sequence.fetch_add(1, Ordering::Relaxed)
    }

    pub(super) fn waits(&self) -> MutexGuard<'_, HashMap<u64, RingCallId>> {
        self.waits.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A call by a ring, whose returns go back with its answer as far as they have room: unless the client's own pages are to be
/// written first, as they are before returns are written to memory.
pub(super) fn new_call(
    batch: &mut Batch,
    file: &ClientFile,
    request: RequestContext,
    posted: &BinderWriteRead,
) -> Box<Call> {
    let mut call = batch.free_lists.call(request, IoctlData::of(posted));
    if !file.has_private_mapping() {
        call.carry_returns(posted.read_buffer.wrapping_add(posted.read_consumed), RETURNS_BYTES);
    }
    call
}
