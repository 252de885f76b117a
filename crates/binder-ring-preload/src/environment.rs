//! The environment, read once: before the program can change it.

#![expect(
    unsafe_code,
    reason = "the environment is C strings, and its reader is named in a section of its own"
)]

use core::ffi::{CStr, c_char};
use core::ptr::NonNull;
use core::sync::atomic::{AtomicBool, Ordering};

use crate::weak::weak_symbol;

/// A program with this in its environment uses no ring.
const OFF: &CStr = c"ANYBINDER_NO_RING=1";

static IS_OFF: AtomicBool = AtomicBool::new(false);

/// Whether the ring is not to be used.
pub(crate) fn has_no_ring() -> bool {
    IS_OFF.load(Ordering::Relaxed)
}

/// The dynamic linker calls this before the program begins.
#[used]
#[unsafe(link_section = ".init_array")]
static AT_START: unsafe extern "C" fn() = {
    unsafe extern "C" fn at_start() {
        // SAFETY: nothing else runs yet that could change the environment.
        IS_OFF.store(unsafe { has_entry(OFF) }, Ordering::Relaxed);
    }
    at_start
};

/// Whether the environment has this entry.
///
/// # Safety
///
/// Nothing changes the environment meanwhile.
unsafe fn has_entry(wanted: &CStr) -> bool {
    let Some(environ) = weak_symbol!("environ") else { return false };
    // SAFETY: `environ` is a pointer to an array of strings, or null, in all C libraries.
    let entries: Option<NonNull<*const c_char>> = unsafe { environ.cast().read() };
    let Some(mut entry) = entries else { return false };
    loop {
        // SAFETY: it is one of the array, which ends with null.
        let text = unsafe { entry.read() };
        if text.is_null() {
            return false;
        }
        // Byte by byte, since the C library's own ways to look at strings are not ours to call.
        let is_like = |(at, wanted): (usize, &u8)| {
            // SAFETY: the bytes before were not the end, as they are equal to those of `wanted`.
            let byte = unsafe { text.add(at) };
            // SAFETY: as above.
            unsafe { byte.cast::<u8>().read() == *wanted }
        };
        if wanted.to_bytes_with_nul().iter().enumerate().all(is_like) {
            return true;
        }
        // SAFETY: it was not the last.
        entry = unsafe { entry.add(1) };
    }
}
