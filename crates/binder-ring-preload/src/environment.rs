//! The environment, read once: before the program can change it.

#![expect(
    unsafe_code,
    reason = "the environment is C strings, and its reader is named in a section of its own"
)]

use core::ffi::{CStr, c_char};
use core::num::NonZero;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use crate::weak::weak_symbol;

/// A program with this in its environment uses no ring.
const OFF: &CStr = c"ANYBINDER_NO_RING=1";
/// What comes before the number of calls in a row to an object after which a thread asks for a lane: never after 0, or what is no number.
const LANES: &[u8] = b"ANYBINDER_LANES=";

/// The same without that variable. A lane costs as much as some dozens of calls.
const USUAL_CALLS: u32 = 32;

static IS_OFF: AtomicBool = AtomicBool::new(false);
static BUSY_CALLS: AtomicU32 = AtomicU32::new(0);

/// Whether the ring is not to be used.
pub(crate) fn has_no_ring() -> bool {
    IS_OFF.load(Ordering::Relaxed)
}

/// How many calls in a row to an object a thread makes before it asks for a lane. None if lanes are not to be used.
pub(crate) fn busy_calls() -> Option<NonZero<u32>> {
    NonZero::new(BUSY_CALLS.load(Ordering::Relaxed))
}

/// The dynamic linker calls this before the program begins.
#[used]
#[unsafe(link_section = ".init_array")]
static AT_START: unsafe extern "C" fn() = {
    unsafe extern "C" fn at_start() {
        // SAFETY: nothing else runs yet that could change the environment.
        let off = unsafe { find_entry(OFF.to_bytes_with_nul()) };
        IS_OFF.store(off.is_some(), Ordering::Relaxed);
        // SAFETY: as above.
        let lanes = unsafe { find_entry(LANES) };
        // SAFETY: it is the rest of a string, which the environment keeps.
        let said = lanes.map(|number| unsafe { parse(number) }.unwrap_or(0));
        BUSY_CALLS.store(said.unwrap_or(USUAL_CALLS), Ordering::Relaxed);
    }
    at_start
};

/// What follows this beginning of an entry of the environment, if there is one.
///
/// # Safety
///
/// Nothing changes the environment meanwhile.
unsafe fn find_entry(beginning: &[u8]) -> Option<*const u8> {
    let environ = weak_symbol!("environ")?;
    // SAFETY: `environ` is a pointer to an array of strings, or null, in all C libraries.
    let entries: Option<NonNull<*const c_char>> = unsafe { environ.cast().read() };
    let mut entry = entries?;
    loop {
        // SAFETY: it is one of the array, which ends with null.
        let text = unsafe { entry.read() };
        if text.is_null() {
            return None;
        }
        // Byte by byte, since the C library's own ways to look at strings are not ours to call.
        let is_like = |(at, wanted): (usize, &u8)| {
            // SAFETY: the bytes before were not the end, as they are equal to those of `beginning`, of which only the last
            // may be a NUL.
            let byte = unsafe { text.add(at) };
            // SAFETY: as above.
            unsafe { byte.cast::<u8>().read() == *wanted }
        };
        if beginning.iter().enumerate().all(is_like) {
            // SAFETY: that many bytes were there.
            return Some(unsafe { text.add(beginning.len()) }.cast());
        }
        // SAFETY: it was not the last.
        entry = unsafe { entry.add(1) };
    }
}

/// The number that a string is, if it is one.
///
/// # Safety
///
/// It is a string, which does not change meanwhile.
unsafe fn parse(text: *const u8) -> Option<u32> {
    let mut number = None;
    for at in 0.. {
        // SAFETY: the bytes before were digits, not the end.
        let digit = unsafe { text.add(at) };
        // SAFETY: as above.
        let digit = match unsafe { digit.read() } {
            0 => break,
            digit => char::from(digit).to_digit(10)?,
        };
        number = Some(number.unwrap_or(0_u32).checked_mul(10)?.checked_add(digit)?);
    }
    number
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_numbers_are_taken_for_such() {
        let numbers =
            [(c"32", Some(32)), (c"0", Some(0)), (c"", None), (c"4x", None), (c"-1", None)];
        for (text, number) in numbers {
            // SAFETY: it is a constant string.
            assert_eq!(unsafe { parse(text.as_ptr().cast()) }, number, "{text:?}");
        }
        // SAFETY: as above.
        assert_eq!(unsafe { parse(c"4294967296".as_ptr().cast()) }, None);
    }
}
