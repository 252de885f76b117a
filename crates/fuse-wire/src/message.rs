//! What goes to the kernel in one write.

use zerocopy::{Immutable, IntoBytes};

use crate::abi::{CreateOut, OutHeader};

/// The header and the largest structure after it.
const HEAD_MAX: usize = size_of::<OutHeader>() + size_of::<CreateOut>();

/// A reply or a notification: a head of our own and data of the caller's.
///
/// The kernel takes it whole or not at all, so both slices belong into one `writev`.
#[derive(Clone, Copy)]
pub struct Message<'a> {
    head: [u8; HEAD_MAX],
    head_len: usize,
    data: &'a [u8],
}

impl<'a> Message<'a> {
    /// Both parts, in order; the second may be empty.
    #[must_use]
    pub fn slices(&self) -> [&[u8]; 2] {
        [&self.head[..self.head_len], self.data]
    }

    /// The length of both parts, in bytes.
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "there is always a header")]
    pub const fn len(&self) -> usize {
        self.head_len + self.data.len()
    }

    /// Puts a header before `body` and `data`.
    ///
    /// `error` is 0 or a negative errno in a reply, and the code of a notification.
    pub(crate) fn new<T>(unique: u64, error: i32, body: &T, data: &'a [u8]) -> Self
    where
        T: IntoBytes + Immutable,
    {
        const { assert!(size_of::<T>() <= size_of::<CreateOut>()) };
        let (header_len, body) = (size_of::<OutHeader>(), body.as_bytes());
        let head_len = header_len + body.len();
        // The kernel refuses a message whose length it does not find, and so one beyond 4 GiB.
        let len = u32::try_from(head_len + data.len()).unwrap_or(u32::MAX);
        let mut head = [0; HEAD_MAX];
        head[..header_len].copy_from_slice(OutHeader { len, error, unique }.as_bytes());
        head[header_len..head_len].copy_from_slice(body);
        Self { head, head_len, data }
    }
}

impl core::fmt::Debug for Message<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Message")
            .field("head", &&self.head[..self.head_len])
            .field("data_bytes", &self.data.len())
            .finish()
    }
}
