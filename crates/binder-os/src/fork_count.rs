//! How a process knows that it is a fork of the process that made its objects.

#![expect(unsafe_code, reason = "pthread_atfork has no safe wrapper")]

use std::io;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

static FORKS: AtomicU32 = AtomicU32::new(0);

/// Starts counting, for this process and all that are forked from it.
///
/// # Errors
///
/// As pthread_atfork(3): there is no memory.
pub fn start() -> io::Result<()> {
    static STARTED: OnceLock<i32> = OnceLock::new();
    // SAFETY: the handler takes no lock and calls nothing, so it may run in a child whose other
    // threads are gone; it is never unloaded.
    let errno = *STARTED.get_or_init(|| unsafe { libc::pthread_atfork(None, None, Some(count)) });
    if errno == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(errno)) }
}

/// Returns how many forks lie between this process and the process that [`start`]ed counting.
///
/// Costs a load. A child that shares its parent's memory, as between vfork(2) and exec(2), is not
/// counted.
#[must_use]
pub fn forks() -> u32 {
    FORKS.load(Ordering::Relaxed)
}

extern "C" fn count() {
    FORKS.fetch_add(1, Ordering::Relaxed);
}
