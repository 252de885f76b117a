//! The symbols by which a program comes to us.

#![expect(unsafe_code, reason = "symbols of a C library are defined")]

use crate::{errno, syscall};

/// ioctl(2). In C it takes any number of arguments; both of our machines pass the third as that of any function.
///
/// # Safety
///
/// As of ioctl(2).
#[unsafe(no_mangle)]
unsafe extern "C" fn ioctl(fd: i32, request: usize, argument: usize) -> i32 {
    // SAFETY: the caller's promise.
    let result = unsafe { syscall::ioctl(fd, request, argument) };
    match i32::try_from(result) {
        Ok(result @ 0..) => result,
        Ok(errno) => {
            errno::set(-errno);
            -1
        }
        Err(_) => result as i32,
    }
}
