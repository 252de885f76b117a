//! The heap of this process: what the allocator keeps of it, and gives back.

#![cfg_attr(
    target_env = "gnu",
    expect(unsafe_code, reason = "the allocator's settings have no safe wrapper")
)]

use std::{io, thread};

/// The allocator keeps pieces of this many sizes for a thread, at this distance, and of each this many.
const KEPT_SIZES: usize = 64;
const KEPT_STEP_BYTES: usize = 16;
const KEPT_OF_EACH: usize = 7;

/// Has all threads allocate from one heap, whose end can be given back: those that glibc makes for
/// threads keep what a burst has left at their end. To be called before there are threads.
///
/// # Errors
///
/// `InvalidInput` if the allocator refuses.
pub fn use_one() -> io::Result<()> {
    #[cfg(target_env = "gnu")]
    {
        // SAFETY: the call takes two numbers and no memory.
        let is_set = unsafe { libc::mallopt(libc::M_ARENA_MAX, 1) } == 1;
        if !is_set {
            return Err(io::ErrorKind::InvalidInput.into());
        }
    }
    Ok(())
}

/// Gives pages that hold nothing back to the system, where the allocator does not do so by itself.
///
/// Takes the longer the more free pieces there are; threads that allocate meanwhile wait.
pub fn trim() {
    #[cfg(target_env = "gnu")]
    // SAFETY: the call takes a number, and gives back only memory that is not allocated.
    unsafe {
        libc::malloc_trim(0);
    }
}

/// Gives up the free pieces that the allocator keeps for the calling thread, wherever they lie: each
/// keeps a page from going back. A thread that allocates gets them first; and the thread that frees
/// them here ends, so that they are kept for none.
pub fn empty_own_cache() {
    if cfg!(target_env = "gnu") {
        let sizes = (1..=KEPT_SIZES).map(|nth| nth * KEPT_STEP_BYTES);
        let pieces: Vec<Vec<u8>> = sizes
            .flat_map(|len| {
                std::iter::repeat_with(move || Vec::with_capacity(len)).take(KEPT_OF_EACH)
            })
            .collect();
        let free = thread::Builder::new().name("freeing".into()).spawn(move || drop(pieces));
        // Without a thread they are kept as before.
        let _ = free.map(thread::JoinHandle::join);
    }
}
