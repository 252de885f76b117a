//! Whether the program runs under Valgrind.
//!
//! Valgrind reports a program's accesses to memory. Those of this library look odd to it: a shared segment to which the
//! driver writes, unknown to Valgrind, and a canary below the stack. So there a program makes its ioctls.

#![expect(unsafe_code, reason = "the question is a sequence of instructions")]

use core::arch::asm;

/// `VG_USERREQ__RUNNING_ON_VALGRIND`, a request without arguments.
static REQUEST: [usize; 6] = [0x1001, 0, 0, 0, 0, 0];

/// Whether it does.
pub(crate) fn is_there() -> bool {
    // How deep Valgrinds are nested; 0 without any.
    let mut depth = 0_usize;
    // SAFETY: Valgrind, if it is there, takes the sequence for a question about `REQUEST`, and answers in one register. To a
    // machine it is nothing: the turns of a register add up to two whole ones.
    unsafe {
        #[cfg(target_arch = "x86_64")]
        asm!(
            "rol rdi, 3",
            "rol rdi, 13",
            "rol rdi, 61",
            "rol rdi, 51",
            "xchg rbx, rbx",
            in("rax") &raw const REQUEST,
            inout("rdx") depth,
            options(nostack),
        );
        #[cfg(target_arch = "aarch64")]
        asm!(
            "ror x12, x12, 3",
            "ror x12, x12, 13",
            "ror x12, x12, 51",
            "ror x12, x12, 61",
            "orr x10, x10, x10",
            in("x4") &raw const REQUEST,
            inout("x3") depth,
            options(nostack),
        );
    }
    depth != 0
}
