//! vfork(2), which is counted.
//!
//! A child of vfork(2) has all memory of its parent's thread until it executes a program, its record at the C library included. It
//! returns from the call like its parent, on the same stack, so no function of Rust's can be between.

#![cfg_attr(
    all(feature = "interpose", target_arch = "x86_64"),
    expect(unsafe_code, reason = "a symbol of the C library is defined, in assembly")
)]

use core::sync::atomic::{AtomicU32, Ordering};

#[cfg(all(feature = "interpose", target_arch = "x86_64"))]
use crate::errno;

/// Whether there is a `vfork` here that counts.
pub(crate) const COUNTS_CHILDREN: bool = cfg!(target_arch = "x86_64");

/// How many threads wait for children that have their memory.
static CHILDREN: AtomicU32 = AtomicU32::new(0);

/// Whether any thread of the process may be a child.
#[inline(always)]
pub(crate) fn is_any_child() -> bool {
    CHILDREN.load(Ordering::Relaxed) != 0
}

/// vfork(2), as a C library has it: the return address is in a register while the child has the stack.
///
/// # Safety
///
/// As of vfork(2).
#[cfg(all(feature = "interpose", target_arch = "x86_64"))]
#[unsafe(naked)]
#[unsafe(no_mangle)]
unsafe extern "C" fn vfork() -> i32 {
    const VFORK: i32 = 58;
    core::arch::naked_asm!(
        "lock inc dword ptr [rip + {children}]",
        "pop rdx",
        "mov eax, {number}",
        "syscall",
        "push rdx",
        "test eax, eax",
        "jz 2f",
        // The parent goes on once its child has memory of its own, or there is none.
        "lock dec dword ptr [rip + {children}]",
        "test eax, eax",
        "js 3f",
        "2:",
        "ret",
        "3:",
        "sub rsp, 8",
        "mov edi, eax",
        "call {fail}",
        "add rsp, 8",
        "ret",
        children = sym CHILDREN,
        number = const VFORK,
        fail = sym fail,
    );
}

/// Notes why the call has failed, and returns what it returns then.
#[cfg(all(feature = "interpose", target_arch = "x86_64"))]
extern "C" fn fail(result: i32) -> i32 {
    errno::set(-result);
    -1
}
