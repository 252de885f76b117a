//! The program's `errno`, which its C library has.

#![expect(unsafe_code, reason = "a function of the C library is called, if there is one")]

use core::ffi::c_void;
use core::mem;
use core::ptr::NonNull;

use crate::weak::weak_symbol;

/// Stores an error number, if there is a C library that has a place for it.
pub(crate) fn set(errno: i32) {
    // glibc and musl have one name for it, bionic has another.
    let found = weak_symbol!("__errno_location").or_else(|| weak_symbol!("__errno"));
    let Some(location) = found else { return };
    // SAFETY: functions of these names take nothing, and return the address of the calling thread's `errno`.
    let location = unsafe { mem::transmute::<NonNull<c_void>, ErrnoLocation>(location) };
    // SAFETY: as above.
    let place = unsafe { location() };
    // SAFETY: as above.
    unsafe { place.write(errno) }
}

type ErrnoLocation = unsafe extern "C" fn() -> *mut i32;
