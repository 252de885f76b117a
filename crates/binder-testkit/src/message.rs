//! The payload of a transaction as a check writes it.

use binder_uapi::{
    BINDER_TYPE_BINDER, BINDER_TYPE_HANDLE, BINDER_TYPE_WEAK_BINDER, BINDER_TYPE_WEAK_HANDLE,
    FlatBinderObject,
};
use zerocopy::IntoBytes;

/// Code, flags, data and objects of a call, a oneway or a reply.
///
/// What a well-behaved client would compute (sizes, addresses) can be claimed otherwise.
#[derive(Clone, Debug, Default)]
pub struct Message {
    pub(crate) code: u32,
    pub(crate) flags: u32,
    pub(crate) data: Vec<u8>,
    pub(crate) offsets: Vec<u64>,
    pub(crate) claimed_data_size: Option<u64>,
    pub(crate) claimed_offsets_size: Option<u64>,
    pub(crate) claimed_buffer: Option<u64>,
    pub(crate) buffers_size: Option<u64>,
}

impl Message {
    /// An empty message.
    #[must_use]
    pub fn new(code: u32) -> Self {
        Self { code, ..Self::default() }
    }

    /// Adds `TF_*` flags.
    #[must_use]
    pub fn flags(mut self, flags: u32) -> Self {
        self.flags |= flags;
        self
    }

    /// Appends plain bytes.
    #[must_use]
    pub fn bytes(mut self, bytes: &[u8]) -> Self {
        self.data.extend_from_slice(bytes);
        self
    }

    /// Appends an object at the next multiple of eight, and its offset.
    #[must_use]
    pub fn object(mut self, object: FlatBinderObject) -> Self {
        self.data.resize(self.data.len().next_multiple_of(8), 0);
        self.offsets.push(self.data.len() as u64);
        self.bytes(object.as_bytes())
    }

    /// Appends an object of the sender's own.
    #[must_use]
    pub fn binder(self, ptr: u64, cookie: u64) -> Self {
        self.object(own(BINDER_TYPE_BINDER, ptr, cookie))
    }

    /// Appends an object of the sender's own, weakly.
    #[must_use]
    pub fn weak_binder(self, ptr: u64, cookie: u64) -> Self {
        self.object(own(BINDER_TYPE_WEAK_BINDER, ptr, cookie))
    }

    /// Appends a handle of the sender's.
    #[must_use]
    pub fn handle(self, handle: u32) -> Self {
        self.object(FlatBinderObject::from_handle(BINDER_TYPE_HANDLE, 0, handle))
    }

    /// Appends a handle of the sender's, weakly.
    #[must_use]
    pub fn weak_handle(self, handle: u32) -> Self {
        self.object(FlatBinderObject::from_handle(BINDER_TYPE_WEAK_HANDLE, 0, handle))
    }

    /// Appends an offset alone.
    #[must_use]
    pub fn offset(mut self, offset: u64) -> Self {
        self.offsets.push(offset);
        self
    }

    /// Claims another size of the data.
    #[must_use]
    pub fn claim_data_size(mut self, bytes: u64) -> Self {
        self.claimed_data_size = Some(bytes);
        self
    }

    /// Claims another size of the offsets.
    #[must_use]
    pub fn claim_offsets_size(mut self, bytes: u64) -> Self {
        self.claimed_offsets_size = Some(bytes);
        self
    }

    /// Claims that the data is at `address`.
    #[must_use]
    pub fn claim_buffer(mut self, address: u64) -> Self {
        self.claimed_buffer = Some(address);
        self
    }

    /// Sends by the scatter-gather command with that much extra room.
    #[must_use]
    pub fn buffers_size(mut self, bytes: u64) -> Self {
        self.buffers_size = Some(bytes);
        self
    }
}

fn own(kind: u32, ptr: u64, cookie: u64) -> FlatBinderObject {
    FlatBinderObject { kind, flags: 0, binder: ptr, cookie }
}
