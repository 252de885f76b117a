//! What this driver offers beyond Linux's. A kernel's own driver answers `EINVAL`, so a client may
//! ask without knowing whom it asks.

use crate::code::iow;

/// The calling thread lets the completions of its replies ride along (a `u32`, non-zero for yes).
///
/// `BR_TRANSACTION_COMPLETE` for a `BC_REPLY` then waits for the next thing that the thread reads,
/// as it does for a call. A server thread that replies and reads in one ioctl so sleeps until the
/// next call, where it would otherwise return for the completion alone: one ioctl a call, not two.
/// Replies with objects or files complete at once: until then their sender has to hold them.
pub const ANYBINDER_DEFER_COMPLETIONS: u32 = iow::<u32>(b'B', 1);
