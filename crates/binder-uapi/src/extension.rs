//! What this driver offers beyond Linux's. A kernel's own driver answers `EINVAL`, so a client may
//! ask without knowing whom it asks.

use crate::code::{iow, iowr};
use crate::layout::layouts;
use crate::transaction::{TF_ACCEPT_FDS, TF_STATUS_CODE};

/// The calling thread lets the completions of its replies ride along (a `u32`, non-zero for yes).
///
/// `BR_TRANSACTION_COMPLETE` for a `BC_REPLY` then waits for the next thing that the thread reads,
/// as it does for a call. A server thread that replies and reads in one ioctl so sleeps until the
/// next call, where it would otherwise return for the completion alone: one ioctl a call, not two.
/// Replies with objects or files complete at once: until then their sender has to hold them.
pub const ANYBINDER_DEFER_COMPLETIONS: u32 = iow::<u32>(b'B', 1);

/// The layout of a ring's segment, as `binder-ring` describes it, and of the segments of lanes (`binder-lane`), which are offered to a
/// process that has a ring alone. Programs that have the library of another version, from a file, and ours meet at one driver.
pub const RING_VERSION: u32 = 4;

/// Offers a segment for an open device: a memfd whose size is sealed and which can get no further seal. The driver takes a
/// reference; the client may close its own. Where it would take one, the offer of a descriptor that cannot be, `u32::MAX`, fails with `EBADF`. See
/// `binder-ring`.
pub const ANYBINDER_RING_ATTACH: u32 = iow::<RingAttach>(b'B', 2);

/// Waits, in the driver, until the call in a slot of the segment is answered; returns at once if it is, or if nothing is
/// posted there.
///
/// It also rings the bell, and tells whose the slot is: the thread that calls. With [`RING_INTERRUPT`] the call ends as
/// by a signal.
pub const ANYBINDER_RING_WAIT: u32 = iow::<RingWait>(b'B', 3);

/// The calling thread has a signal to handle: its call is to end, as far as calls do that have begun.
pub const RING_INTERRUPT: u32 = 1;

/// Asks for a lane: calls of the calling thread to the object behind a handle, past the driver. The thread offers a segment, as
/// for a ring, and is told the lane's number and its place among those of its ring. See `binder-lane`.
pub const ANYBINDER_LANE_OPEN: u32 = iowr::<LaneOpen>(b'B', 4);

/// Takes a lane to an object of this process's, that another has opened. Its segment and a pidfd of its caller's thread are sent
/// to a socket.
pub const ANYBINDER_LANE_ACCEPT: u32 = iowr::<LaneAccept>(b'B', 5);

/// Has the driver take over the call of this number's lane, which the calling thread makes or serves.
pub const ANYBINDER_LANE_ADOPT: u32 = iow::<u32>(b'B', 6);

/// Gives the lane of this number back, which the calling process calls by.
pub const ANYBINDER_LANE_CLOSE: u32 = iow::<u32>(b'B', 7);

/// Sets pages of the calling process's receive buffer aside, for what comes to it by lanes: nothing else will ever lie there, and the
/// process may map memory of its own in their place. `EPERM` if it may not use lanes, however many pages it asks for.
pub const ANYBINDER_LANE_ROOM: u32 = iowr::<LaneRoom>(b'B', 8);

/// The size of a page in [`LaneRoom`], in bytes, whatever the size of the kernel's.
pub const LANE_PAGE_BYTES: u32 = 4096;

/// The flags with which a call or a reply may take a lane. A status is a reply's.
pub const LANE_FLAGS: u32 = TF_ACCEPT_FDS | TF_STATUS_CODE;

layouts! {
    /// The argument of [`ANYBINDER_LANE_OPEN`].
    #[repr(C)]
    struct LaneOpen[20] {
        /// Which object is called.
        handle: u32,
        /// The number of the segment's memfd.
        fd: u32,
        /// The driver's answer: the lane's number.
        id: u32,
        /// The driver's answer: its place in the ring's list of lanes.
        place: u32,
        /// The driver's answer: the user as whom the object's owner has opened the device.
        server_euid: u32,
    }

    /// The argument of [`ANYBINDER_LANE_ACCEPT`].
    #[repr(C)]
    struct LaneAccept[40] {
        /// The number of the socket.
        socket: u32,
        /// The driver's answer: the lane's number.
        id: u32,
        /// The driver's answer: its place in the ring's list of lanes.
        place: u32,
        /// The driver's answer: the process that calls, as numbered here.
        sender_pid: u32,
        /// The driver's answer: the user that the calling thread was when it got the lane, as seen here. Of calls by another user, the memory that
        /// they come by is no proof.
        sender_euid: u32,
        /// The driver's answer: the thread that calls, as numbered here, of the process by whose pidfd it is told then; 0 if it has a
        /// pidfd of its own.
        sender_tid: u32,
        /// The driver's answer: which object it calls.
        ptr: u64,
        /// The driver's answer: what belongs to that.
        cookie: u64,
    }

    /// The argument of [`ANYBINDER_LANE_ROOM`].
    #[repr(C)]
    struct LaneRoom[16] {
        /// How many pages of [`LANE_PAGE_BYTES`] there are to be at least. The driver's answer: how many there are, for it sets
        /// aside what the kernel takes for whole pages.
        pages: u64,
        /// The driver's answer: where they start.
        address: u64,
    }

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
