//! The payload of a transaction as a check writes it.

use std::mem::offset_of;

use binder_uapi::{
    BINDER_BUFFER_FLAG_HAS_PARENT, BINDER_TYPE_BINDER, BINDER_TYPE_FD, BINDER_TYPE_FDA,
    BINDER_TYPE_HANDLE, BINDER_TYPE_PTR, BINDER_TYPE_WEAK_BINDER, BINDER_TYPE_WEAK_HANDLE,
    BinderBufferObject, BinderFdArrayObject, FlatBinderObject,
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
    /// Scatter-gather buffers: where in the data their addresses belong, and their bytes.
    pub(crate) buffers: Vec<(usize, Vec<u8>)>,
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

    /// Appends a scatter-gather buffer, and makes room for it.
    #[must_use]
    pub fn buffer(self, bytes: &[u8]) -> Self {
        self.gathered(bytes, 0, 0, 0)
    }

    /// Appends a scatter-gather buffer whose address belongs into another, `parent` among the
    /// objects, at `parent_offset`.
    #[must_use]
    pub fn child(self, bytes: &[u8], parent: u64, parent_offset: u64) -> Self {
        self.gathered(bytes, BINDER_BUFFER_FLAG_HAS_PARENT, parent, parent_offset)
    }

    /// Appends a file descriptor.
    #[must_use]
    pub fn descriptor(self, fd: u64, cookie: u64) -> Self {
        self.object(FlatBinderObject { kind: BINDER_TYPE_FD, flags: 0, binder: fd, cookie })
    }

    /// Appends an array of descriptors, which lies in the buffer `parent` among the objects.
    #[must_use]
    pub fn descriptors(mut self, count: u64, parent: u64, parent_offset: u64) -> Self {
        self.data.resize(self.data.len().next_multiple_of(8), 0);
        self.offsets.push(self.data.len() as u64);
        let (kind, num_fds) = (BINDER_TYPE_FDA, count);
        let object = BinderFdArrayObject { kind, pad: 0, num_fds, parent, parent_offset };
        self.bytes(object.as_bytes())
    }

    fn gathered(mut self, bytes: &[u8], flags: u32, parent: u64, parent_offset: u64) -> Self {
        self.data.resize(self.data.len().next_multiple_of(8), 0);
        self.offsets.push(self.data.len() as u64);
        let address_at = self.data.len() + offset_of!(BinderBufferObject, buffer);
        let object = BinderBufferObject {
            kind: BINDER_TYPE_PTR,
            flags,
            buffer: 0,
            length: bytes.len() as u64,
            parent,
            parent_offset,
        };
        self.buffers.push((address_at, bytes.to_vec()));
        let room = self.buffers_size.unwrap_or(0) + (bytes.len() as u64).next_multiple_of(8);
        self.bytes(object.as_bytes()).buffers_size(room)
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
