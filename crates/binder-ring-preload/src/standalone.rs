//! The parts of a program that a library would bring otherwise: an end for panics, and the functions that compilers
//! take for granted.

#![expect(unsafe_code, reason = "symbols that the compiler calls are defined")]

use core::arch::asm;
use core::panic::PanicInfo;

#[cfg(target_arch = "aarch64")]
use crate::memory_functions::define_function;
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

// Asked by what comes with the compiler, which of two kinds of atomic instructions there are: the older one does.
#[cfg(target_arch = "aarch64")]
define_function!("getauxval", "mov x0, #0", "ret",);
