//! The parts of a program that a library would bring otherwise: an end for panics, and the functions that compilers
//! take for granted.

#![expect(unsafe_code, reason = "symbols that the compiler calls are defined")]

use core::arch::asm;
#[cfg(target_arch = "aarch64")]
use core::arch::global_asm;
use core::panic::PanicInfo;

use crate::memory_functions::define_memory_functions;

/// Ends the program where it stands: it has a debugger or a core file look at it.
#[panic_handler]
fn panic(_: &PanicInfo<'_>) -> ! {
    // SAFETY: it is an instruction that ends the program.
    unsafe {
        #[cfg(target_arch = "x86_64")]
        asm!("ud2", options(noreturn, nomem, nostack));
        #[cfg(target_arch = "aarch64")]
        asm!("brk #1", options(noreturn, nomem, nostack));
    }
}

define_memory_functions!("memcpy", "memset");

#[cfg(target_arch = "aarch64")]
global_asm!(
    ".pushsection .text.getauxval, \"ax\", @progbits",
    // Asked by what comes with the compiler, which of two kinds of atomic instructions there are: the older one does.
    ".globl getauxval",
    ".hidden getauxval",
    ".type getauxval, @function",
    "getauxval:",
    "mov x0, #0",
    "ret",
    ".size getauxval, . - getauxval",
    ".popsection",
);
