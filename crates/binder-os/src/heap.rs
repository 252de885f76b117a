//! The heap of this process: what the allocator keeps of it, and gives back.

#![expect(unsafe_code, reason = "the allocator's settings have no safe wrapper")]

use std::{io, thread};

/// The allocator keeps pieces of so many sizes for a thread, at this distance, and of each this many.
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
/// Takes as long as there are free pieces; whoever allocates meanwhile waits.
pub fn trim() {
    #[cfg(target_env = "gnu")]
    // SAFETY: the call takes a number, and only memory that nobody has allocated.
    unsafe {
        libc::malloc_trim(0);
    }
}

/// Gives up the free pieces that the allocator keeps for the calling thread, wherever they lie: each
/// keeps a page from going back. A thread that asks gets them first; and who frees them here ends, so that
/// they are kept for nobody.
pub fn empty_own_cache() {
    #[cfg(target_env = "gnu")]
    {
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

#[cfg(all(test, target_env = "gnu"))]
mod tests {
    use std::sync::{Mutex, PoisonError};

    use super::*;

    /// Held by who looks at the memory of all.
    static LOOKING: Mutex<()> = Mutex::new(());

    /// How much of this process's memory is in use, in bytes.
    fn resident_bytes() -> usize {
        let statm = std::fs::read_to_string("/proc/self/statm").expect("our own");
        let pages = statm.split(' ').nth(1).and_then(|pages| pages.parse::<usize>().ok());
        pages.expect("the second number") * rustix::param::page_size()
    }

    #[test]
    fn what_a_burst_has_left_goes_back() {
        const PIECES: usize = 2048;
        const PIECE_BYTES: usize = 16 << 10;
        let _looking = LOOKING.lock().unwrap_or_else(PoisonError::into_inner);
        // What lies between the pieces keeps them from going back by themselves.
        let (burst, between): (Vec<_>, Vec<_>) =
            (0..PIECES).map(|_| (vec![1_u8; PIECE_BYTES], Box::new([1_u8; 200]))).unzip();
        drop(burst);
        let before = resident_bytes();
        trim();
        let gone = before.saturating_sub(resident_bytes());
        assert!(gone > PIECES * PIECE_BYTES / 2, "{gone} bytes went back");
        assert!(between.iter().all(|kept| **kept == [1; 200]));
    }

    #[test]
    fn what_is_kept_for_a_thread_goes_back_when_it_is_given_up() {
        const SPACE_BYTES: usize = 16 << 10;
        let _looking = LOOKING.lock().unwrap_or_else(PoisonError::into_inner);
        // Each piece on pages of its own.
        let pieces: Vec<(Vec<u8>, Vec<u8>)> = (0..KEPT_SIZES * KEPT_OF_EACH)
            .map(|nth| (nth / KEPT_OF_EACH + 1) * KEPT_STEP_BYTES)
            .map(|len| (vec![1; len], vec![1; SPACE_BYTES]))
            .collect();
        drop(pieces);
        trim();
        let before = resident_bytes();
        empty_own_cache();
        trim();
        let gone = before.saturating_sub(resident_bytes());
        assert!(
            gone > KEPT_SIZES * KEPT_OF_EACH / 2 * rustix::param::page_size(),
            "{gone} bytes went back"
        );
    }
}
