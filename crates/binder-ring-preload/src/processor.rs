//! Where a thread runs.

#![expect(unsafe_code, reason = "a function of the C library is called, if there is one")]

use core::ffi::c_void;
use core::mem;
use core::ptr::NonNull;

use crate::weak::weak_symbol;

/// The processor that the calling thread runs on, or 0 where the C library does not know. The C library knows without a
/// system call.
pub(crate) fn own() -> u32 {
    let Some(function) = weak_symbol!("sched_getcpu") else { return 0 };
    // SAFETY: in all C libraries it takes nothing and returns a number, negative if it is not known.
    let function = unsafe { mem::transmute::<NonNull<c_void>, OwnProcessor>(function) };
    // SAFETY: as above.
    let number = unsafe { function() };
    u32::try_from(number).unwrap_or(0)
}

type OwnProcessor = unsafe extern "C" fn() -> i32;
