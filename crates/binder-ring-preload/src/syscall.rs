//! System calls, without a C library.

#![expect(unsafe_code, reason = "system calls are instructions")]

use core::arch::asm;

/// Their numbers.
#[cfg(target_arch = "x86_64")]
mod number {
    pub(super) const IOCTL: usize = 16;
}

/// Their numbers.
#[cfg(target_arch = "aarch64")]
mod number {
    pub(super) const IOCTL: usize = 29;
}

/// Makes an ioctl. What it returns is what it returns, or a negative error number.
///
/// # Safety
///
/// As of ioctl(2) itself: what the request does with `argument` is the caller's responsibility.
pub(crate) unsafe fn ioctl(fd: i32, request: usize, argument: usize) -> isize {
    // SAFETY: the caller's promise.
    unsafe { call3(number::IOCTL, fd as isize as usize, request, argument) }
}

/// # Safety
///
/// As of the call itself.
#[cfg(target_arch = "x86_64")]
unsafe fn call3(number: usize, first: usize, second: usize, third: usize) -> isize {
    let result;
    // SAFETY: the kernel changes these registers, and what memory the call says.
    unsafe {
        asm!(
            "syscall",
            inlateout("rax") number => result,
            in("rdi") first,
            in("rsi") second,
            in("rdx") third,
            lateout("rcx") _,
            lateout("r11") _,
            options(nostack),
        );
    }
    result
}

/// # Safety
///
/// As of the call itself.
#[cfg(target_arch = "aarch64")]
unsafe fn call3(number: usize, first: usize, second: usize, third: usize) -> isize {
    let result;
    // SAFETY: the kernel changes these registers, and what memory the call says.
    unsafe {
        asm!(
            "svc 0",
            in("x8") number,
            inlateout("x0") first => result,
            in("x1") second,
            in("x2") third,
            options(nostack),
        );
    }
    result
}
