//! The symbol by which a program comes to us.

#![expect(unsafe_code, reason = "a symbol of the C library is defined")]

use binder_uapi::{BINDER_SET_CONTEXT_MGR, BINDER_THREAD_EXIT, BINDER_WRITE_READ};

use crate::thread_exit::thread_exit;
use crate::write_read::write_read;
use crate::{errno, syscall};

/// ioctl(2). In C it takes any number of arguments; both of our machines pass the third as that of any function.
///
/// # Safety
///
/// As of ioctl(2).
#[expect(clippy::cast_possible_truncation, reason = "the kernel looks at the lower halves, too")]
#[unsafe(no_mangle)]
unsafe extern "C" fn ioctl(fd: i32, request: usize, argument: usize) -> i32 {
    let result = match request as u32 {
        // SAFETY: the caller's promise.
        BINDER_WRITE_READ => unsafe { write_read(fd, argument) },
        // SAFETY: as above.
        BINDER_THREAD_EXIT => unsafe { thread_exit(fd, argument) },
        // SAFETY: as above.
        BINDER_SET_CONTEXT_MGR => unsafe { syscall::ioctl_without_argument(fd, request, argument) },
        // SAFETY: as above.
        _ => unsafe { syscall::ioctl(fd, request, argument) },
    };
    if (-4095..0).contains(&result) {
        errno::set(-(result as i32));
        -1
    } else {
        result as i32
    }
}
