//! A transaction or reply in the receive buffer, until it is freed.

#![expect(unsafe_code, reason = "received bytes are lent where they lie, and numbers become files")]

use std::ffi::CString;
use std::io;
use std::os::fd::{FromRawFd, OwnedFd};
use std::sync::Arc;

use binder_uapi::{
    BINDER_TYPE_BINDER, BINDER_TYPE_FD, BINDER_TYPE_HANDLE, BinderPtrCookie, BinderTransactionData,
    FlatBinderObject,
};
use zerocopy::FromBytes;

use crate::binder_device::{BinderDevice, ReceivedData};
use crate::fork_count;

/// A transaction or reply that has come to this process.
///
/// There is one for each that the driver delivers, and it is used up by
/// [`Conversation::push_free`](crate::Conversation::push_free); so its bytes stay as they are while it
/// lives. One that is dropped otherwise keeps its part of the receive buffer for ever.
#[derive(Debug)]
#[must_use = "its part of the receive buffer is to be freed"]
pub struct IncomingTransaction {
    device: Arc<BinderDevice>,
    head: BinderTransactionData,
    security_context: Option<u64>,
    are_objects_taken: bool,
    /// How many forks there had been when it came.
    forks: u32,
}

/// An object of a received transaction.
#[derive(Debug)]
pub struct ReceivedObject {
    /// Where it stands among the bytes.
    pub offset: usize,
    /// What it is.
    pub kind: ObjectKind,
}

/// What an object of a received transaction is.
#[derive(Debug)]
pub enum ObjectKind {
    /// An object of this process.
    Own(BinderPtrCookie),
    /// An object of another process, by handle.
    Handle(u32),
    /// A file.
    File(OwnedFd),
    /// Nothing that calls are sent with these days.
    Other(u32),
}

impl IncomingTransaction {
    /// What `device` says that it has delivered, once for each time that it says so.
    pub(crate) fn new(
        device: &Arc<BinderDevice>,
        head: BinderTransactionData,
        security_context: Option<u64>,
    ) -> Self {
        Self {
            device: Arc::clone(device),
            head,
            security_context,
            are_objects_taken: false,
            forks: fork_count::forks(),
        }
    }

    pub(crate) fn device(&self) -> &Arc<BinderDevice> {
        &self.device
    }

    /// What the driver says of it.
    #[must_use]
    pub fn head(&self) -> &BinderTransactionData {
        &self.head
    }

    /// How much of the receive buffer it keeps.
    #[must_use]
    pub fn buffer_bytes(&self) -> usize {
        let bytes = self.head.data_size.saturating_add(self.head.offsets_size);
        usize::try_from(bytes).unwrap_or(usize::MAX)
    }

    /// Lends its bytes.
    ///
    /// # Errors
    ///
    /// If they do not lie in the receive buffer, or belong to the process that this one was forked
    /// from.
    pub fn bytes(&self) -> io::Result<&[u8]> {
        self.lend(self.head.buffer, self.head.data_size)
    }

    /// Whether there are objects among its bytes.
    #[must_use]
    pub fn has_objects(&self) -> bool {
        self.head.offsets_size != 0
    }

    /// Takes the objects among its bytes; the second time there are none.
    ///
    /// # Errors
    ///
    /// If they are not among its bytes.
    pub fn take_objects(&mut self) -> io::Result<Vec<ReceivedObject>> {
        if !self.has_objects() || std::mem::replace(&mut self.are_objects_taken, true) {
            return Ok(Vec::new());
        }
        let bytes = self.bytes()?;
        let offsets = self.lend(self.head.offsets, self.head.offsets_size)?;
        let offsets = offsets.as_chunks().0.iter().map(|offset| u64::from_ne_bytes(*offset));
        let objects = offsets.map(|offset| {
            let offset = usize::try_from(offset).map_err(io::Error::other)?;
            let bytes = bytes.get(offset..).unwrap_or_default();
            let object = FlatBinderObject::read_from_prefix(bytes).map_err(|_| {
                io::Error::other(format!("the driver names an object at {offset}, past the end"))
            })?;
            Ok(ReceivedObject { offset, kind: kind_of(&object.0) })
        });
        objects.collect()
    }

    /// Copies the caller's security context, if the object asked for it.
    ///
    /// # Errors
    ///
    /// If it does not lie in the receive buffer.
    pub fn security_context(&self) -> io::Result<Option<CString>> {
        self.security_context.map(|address| self.device.copy_text(address)).transpose()
    }

    fn lend(&self, address: u64, len_bytes: u64) -> io::Result<&[u8]> {
        if self.forks != fork_count::forks() {
            return Err(io::Error::other("received before fork, by the parent"));
        }
        // SAFETY: the driver has delivered this transaction, for that is what a `Delivery` is made
        // of, and to this process, which therefore is the one that frees it. Only `Conversation` tells a device that delivers such what to free, and it uses the
        // `Delivery` up, from which the slice is borrowed.
        unsafe { self.device.lend(ReceivedData { address, len_bytes }) }
    }
}

/// Tells what an object of a delivered transaction is.
fn kind_of(object: &FlatBinderObject) -> ObjectKind {
    match object.kind {
        BINDER_TYPE_BINDER => {
            ObjectKind::Own(BinderPtrCookie { ptr: object.binder, cookie: object.cookie })
        }
        BINDER_TYPE_HANDLE => ObjectKind::Handle(object.handle()),
        // The descriptor shares its place with a handle.
        BINDER_TYPE_FD if object.handle().cast_signed() >= 0 => {
            let fd = object.handle().cast_signed();
            // SAFETY: to deliver the transaction the driver has installed a file in this process
            // and written its number here, into memory that is not writable otherwise. A
            // `Delivery` is made once for each transaction, and `take_objects`, the only caller,
            // goes through its objects once, so no other value owns the number.
            ObjectKind::File(unsafe { OwnedFd::from_raw_fd(fd) })
        }
        other => ObjectKind::Other(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Conversation;
    use crate::binder_device::fake_device;

    /// The last bytes of the receive buffer, and as many before them as offsets.
    fn delivery(device: &Arc<BinderDevice>, data: u64, offsets: u64) -> IncomingTransaction {
        let end = device.start() + device.buffer_bytes() as u64;
        let head = BinderTransactionData {
            buffer: end - data,
            data_size: data,
            offsets: end - data - offsets,
            offsets_size: offsets,
            ..Default::default()
        };
        IncomingTransaction::new(device, head, None)
    }

    #[test]
    fn bytes_are_lent_from_the_receive_buffer_alone() {
        let device = fake_device(4096);
        let last = delivery(&device, 4, 0);
        assert_eq!(last.bytes().unwrap(), [1, 2, 3, 4]);
        let all = delivery(&device, 4096, 0);
        assert_eq!(all.bytes().unwrap().len(), 4096);
        assert!(delivery(&device, 4097, 0).bytes().is_err());
        let mut conversation = Conversation::new(device);
        [last, all].into_iter().for_each(|delivery| conversation.push_free(delivery));
        assert!(conversation.has_commands());
    }

    #[test]
    fn objects_are_taken_once_and_lie_among_the_bytes() {
        let device = fake_device(4096);
        let object = size_of::<FlatBinderObject>() as u64;
        // The offset is 0, and so is the kind.
        let mut whole = delivery(&device, object, 8);
        let taken = whole.take_objects().unwrap();
        assert!(matches!(taken[..], [ReceivedObject { offset: 0, kind: ObjectKind::Other(0) }]));
        assert!(whole.take_objects().unwrap().is_empty() && whole.has_objects());
        assert!(delivery(&device, object - 1, 8).take_objects().is_err());
        assert!(delivery(&device, object, 4096).take_objects().is_err());
    }

    #[test]
    #[should_panic(expected = "somebody may be reading there")]
    fn nothing_is_freed_by_its_address() {
        let address = 4096_u64;
        let free = binder_uapi::BC_FREE_BUFFER;
        Conversation::new(fake_device(4096)).push(free, &address);
    }
}
