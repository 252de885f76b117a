//! What the allocator gives back, in a process of its own: the test looks at its memory, and tests
//! beside these would change it.

#![cfg(target_env = "gnu")]

use std::sync::{Mutex, PoisonError};

use binder_os::heap;

/// Held by a test that looks at the memory of the process.
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
    heap::trim();
    let gone = before.saturating_sub(resident_bytes());
    assert!(gone > PIECES * PIECE_BYTES / 2, "{gone} bytes went back");
    assert!(between.iter().all(|kept| **kept == [1; 200]));
}

#[test]
fn what_is_kept_for_a_thread_goes_back_when_it_is_given_up() {
    // What the allocator keeps for a thread: seven of each size.
    const PIECES: usize = 64 * 7;
    const SPACE_BYTES: usize = 16 << 10;
    let _looking = LOOKING.lock().unwrap_or_else(PoisonError::into_inner);
    // Each piece on pages of its own.
    let pieces: Vec<(Vec<u8>, Vec<u8>)> = (0..PIECES)
        .map(|nth| (nth / 7 + 1) * 16)
        .map(|len| (vec![1; len], vec![1; SPACE_BYTES]))
        .collect();
    drop(pieces);
    heap::trim();
    let before = resident_bytes();
    heap::empty_own_cache();
    heap::trim();
    let gone = before.saturating_sub(resident_bytes());
    assert!(gone > PIECES / 2 * rustix::param::page_size(), "{gone} bytes went back");
}
