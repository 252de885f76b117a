//! The objects inside a transaction's data.

use crate::layout::layouts;

/// The type word of an object: three characters over a byte that marks large types.
const fn kind(name: &[u8; 3]) -> u32 {
    u32::from_be_bytes([name[0], name[1], name[2], 0x85])
}

/// An object of the sender, strong.
pub const BINDER_TYPE_BINDER: u32 = kind(b"sb*");
/// An object of the sender, weak.
pub const BINDER_TYPE_WEAK_BINDER: u32 = kind(b"wb*");
/// An object known by handle, strong.
pub const BINDER_TYPE_HANDLE: u32 = kind(b"sh*");
/// An object known by handle, weak.
pub const BINDER_TYPE_WEAK_HANDLE: u32 = kind(b"wh*");
/// A file descriptor.
pub const BINDER_TYPE_FD: u32 = kind(b"fd*");
/// An array of file descriptors inside a buffer.
pub const BINDER_TYPE_FDA: u32 = kind(b"fda");
/// A buffer of scatter-gather data.
pub const BINDER_TYPE_PTR: u32 = kind(b"pt*");

/// The lowest priority at which calls to the node run.
pub const FLAT_BINDER_FLAG_PRIORITY_MASK: u32 = 0xff;
/// The node takes file descriptors.
pub const FLAT_BINDER_FLAG_ACCEPTS_FDS: u32 = 0x100;
/// Where the policy begins in [`FLAT_BINDER_FLAG_SCHED_POLICY_MASK`].
pub const FLAT_BINDER_FLAG_SCHED_POLICY_SHIFT: u32 = 9;
/// The scheduling policy to which the priority belongs: in Android's kernels only.
pub const FLAT_BINDER_FLAG_SCHED_POLICY_MASK: u32 = 3 << FLAT_BINDER_FLAG_SCHED_POLICY_SHIFT;
/// Calls of real-time callers run at their priorities: in Android's kernels only.
pub const FLAT_BINDER_FLAG_INHERIT_RT: u32 = 0x800;
/// The node wants the security context of its callers.
pub const FLAT_BINDER_FLAG_TXN_SECURITY_CTX: u32 = 0x1000;

/// The buffer's address must be written into another buffer.
pub const BINDER_BUFFER_FLAG_HAS_PARENT: u32 = 0x01;

layouts! {
    /// `BINDER_TYPE_{,WEAK_}{BINDER,HANDLE}`: an object or a handle to one.
    #[repr(C)]
    struct FlatBinderObject[24] {
        /// One of the four types.
        kind: u32,
        /// `FLAT_BINDER_FLAG_*`; they count when a node is first seen.
        flags: u32,
        /// The owner's pointer, or a handle in the low half.
        binder: u64,
        /// The owner's cookie; 0 with a handle.
        cookie: u64,
    }

    /// [`BINDER_TYPE_FD`]: a file descriptor.
    #[repr(C)]
    struct BinderFdObject[24] {
        /// [`BINDER_TYPE_FD`].
        kind: u32,
        /// Unused.
        pad_flags: u32,
        /// The descriptor's number.
        fd: u32,
        /// Unused.
        pad: u32,
        /// Passed through.
        cookie: u64,
    }

    /// [`BINDER_TYPE_FDA`]: descriptors that lie inside a buffer.
    #[repr(C)]
    struct BinderFdArrayObject[32] {
        /// [`BINDER_TYPE_FDA`].
        kind: u32,
        /// Unused.
        pad: u32,
        /// How many descriptors of four bytes each.
        num_fds: u64,
        /// The index of the buffer's offset among the offsets.
        parent: u64,
        /// Where in that buffer they start, in bytes.
        parent_offset: u64,
    }

    /// [`BINDER_TYPE_PTR`]: a buffer copied along with the data.
    #[repr(C)]
    struct BinderBufferObject[40] {
        /// [`BINDER_TYPE_PTR`].
        kind: u32,
        /// [`BINDER_BUFFER_FLAG_HAS_PARENT`] or 0.
        flags: u32,
        /// Its address: the sender's going in, the receiver's coming out.
        buffer: u64,
        /// Its length in bytes.
        length: u64,
        /// The index of the parent's offset among the offsets.
        parent: u64,
        /// Where in the parent the address belongs, in bytes.
        parent_offset: u64,
    }
}

impl FlatBinderObject {
    /// An object that names `handle`: the upper half and the cookie are zero.
    #[must_use]
    pub const fn from_handle(kind: u32, flags: u32, handle: u32) -> Self {
        Self { kind, flags, binder: handle as u64, cookie: 0 }
    }

    /// The handle: the low half of `binder`.
    #[must_use]
    #[expect(clippy::cast_possible_truncation, reason = "a C union: the handle is the low half")]
    pub const fn handle(&self) -> u32 {
        self.binder as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn type_words_are_those_of_the_header() {
        let kinds = [
            (BINDER_TYPE_BINDER, 0x7362_2A85),
            (BINDER_TYPE_WEAK_BINDER, 0x7762_2A85),
            (BINDER_TYPE_HANDLE, 0x7368_2A85),
            (BINDER_TYPE_WEAK_HANDLE, 0x7768_2A85),
            (BINDER_TYPE_FD, 0x6664_2A85),
            (BINDER_TYPE_FDA, 0x6664_6185),
            (BINDER_TYPE_PTR, 0x7074_2A85),
        ];
        for (ours, theirs) in kinds {
            assert_eq!(ours, theirs, "{ours:#x}");
        }
    }

    #[test]
    fn a_handle_is_the_low_half_of_the_union() {
        let object = FlatBinderObject { binder: 0xdead_beef_0000_0007, ..Default::default() };
        assert_eq!(object.handle(), 7);
        let object = FlatBinderObject::from_handle(BINDER_TYPE_HANDLE, 0, u32::MAX);
        assert_eq!((object.binder, object.handle()), (0xffff_ffff, u32::MAX));
    }
}
