//! Access to the memory of a client, as it is lent to the thread of ours that needs it.

use binder_os::ClientMemory;

use crate::quota::Charge;
use crate::read_ahead::Habits;

/// Access to the memory of a client, and what was learned about it.
#[derive(Debug)]
pub(crate) struct MemoryHandle {
    pub(crate) memory: ClientMemory,
    /// For the descriptor that it keeps open, if it does.
    pub(crate) _charge: Option<Charge>,
    pub(crate) habits: Habits,
}
