//! What this driver offers beyond Linux's. A kernel's own driver answers `EINVAL`, so a client may
//! ask without knowing whom it asks.

use crate::code::iow;
use crate::layout::layouts;

/// The calling thread lets the completions of its replies ride along (a `u32`, non-zero for yes).
///
/// `BR_TRANSACTION_COMPLETE` for a `BC_REPLY` then waits for the next thing that the thread reads,
/// as it does for a call. A server thread that replies and reads in one ioctl so sleeps until the
/// next call, where it would otherwise return for the completion alone: one ioctl a call, not two.
/// Replies with objects or files complete at once: until then their sender has to hold them.
pub const ANYBINDER_DEFER_COMPLETIONS: u32 = iow::<u32>(b'B', 1);

/// The layout of a ring's segment, as `binder-ring` describes it.
pub const RING_VERSION: u32 = 2;

/// Offers a segment for an open device: a memfd whose size is sealed and which can get no further seal. The driver takes a
/// reference; the client may close its own. See `binder-ring`.
pub const ANYBINDER_RING_ATTACH: u32 = iow::<RingAttach>(b'B', 2);

/// Waits, in the driver, until the call in a slot of the segment is answered; returns at once if it is, or if nothing is
/// posted there.
///
/// It also rings the bell, and tells whose the slot is: the thread that calls. With [`RING_INTERRUPT`] the call ends as
/// by a signal.
pub const ANYBINDER_RING_WAIT: u32 = iow::<RingWait>(b'B', 3);

/// The calling thread has a signal to handle: its call is to end, as far as calls do that have begun.
pub const RING_INTERRUPT: u32 = 1;

layouts! {
    /// The argument of [`ANYBINDER_RING_ATTACH`].
    #[repr(C)]
    struct RingAttach[8] {
        /// [`RING_VERSION`].
        version: u32,
        /// The number of the memfd.
        fd: u32,
    }

    /// The argument of [`ANYBINDER_RING_WAIT`].
    #[repr(C)]
    struct RingWait[8] {
        /// The slot of the calling thread.
        slot: u32,
        /// [`RING_INTERRUPT`], or 0.
        flags: u32,
    }
}
