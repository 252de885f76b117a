//! The driver's word: whether calls may be made and served.

use crate::atomic::{AtomicU32, Ordering, fence};

/// Written by the driver. Caller and server have one each, in memory that they can only read.
#[derive(Debug, Default)]
#[repr(transparent)]
pub struct GrantWord(AtomicU32);

const REVOKED: u32 = 1;

impl GrantWord {
    /// Takes the grant back. The driver looks at all calls after that: one that it does not see was posted, or claimed, by
    /// someone who [sees this](Self::is_revoked). For the driver.
    pub fn revoke(&self) {
        self.0.store(REVOKED, Ordering::Relaxed);
        fence(Ordering::SeqCst);
    }

    /// Whether the grant was taken back. A caller asks after it has posted, and has the driver adopt its call then; a server
    /// asks after it has claimed, and gives its call back.
    pub fn is_revoked(&self) -> bool {
        fence(Ordering::SeqCst);
        self.0.load(Ordering::Relaxed) != 0
    }
}
