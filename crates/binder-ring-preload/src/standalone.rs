//! The parts of a program that a library would bring otherwise: an end for panics, and the functions that compilers
//! take for granted.

#![expect(unsafe_code, reason = "symbols that the compiler calls are defined")]

use core::arch::{asm, global_asm};
use core::panic::PanicInfo;

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

// Hidden: the program's own must stay what other libraries call.
#[cfg(target_arch = "x86_64")]
global_asm!(
    ".pushsection .text.memcpy, \"ax\", @progbits",
    ".globl memcpy, memset",
    ".hidden memcpy, memset",
    ".type memcpy, @function",
    "memcpy:",
    "mov rax, rdi",
    "mov rcx, rdx",
    "cmp rdx, 16",
    "jb 4f",
    // The last 16 bytes, which may overlap with those before.
    "movups xmm1, [rsi + rdx - 16]",
    "lea r8, [rdi + rdx - 16]",
    "cmp rdx, 1024",
    "jae 3f",
    "2:",
    "cmp rdi, r8",
    "jae 5f",
    "movups xmm0, [rsi]",
    "movups [rdi], xmm0",
    "add rsi, 16",
    "add rdi, 16",
    "jmp 2b",
    // By words of 8 bytes: as fast as by bytes where the processor does these well, and faster where it does not.
    "3:",
    "shr rcx, 3",
    "rep movsq",
    "5:",
    "movups [r8], xmm1",
    "ret",
    "4:",
    "rep movsb",
    "ret",
    ".size memcpy, . - memcpy",
    ".type memset, @function",
    "memset:",
    "mov r8, rdi",
    "mov eax, esi",
    "mov rcx, rdx",
    "rep stosb",
    "mov rax, r8",
    "ret",
    ".size memset, . - memset",
    ".popsection",
);

#[cfg(target_arch = "aarch64")]
global_asm!(
    ".pushsection .text.memcpy, \"ax\", @progbits",
    ".globl memcpy, memset",
    ".hidden memcpy, memset",
    ".type memcpy, @function",
    "memcpy:",
    "mov x3, x0",
    "2:",
    "cmp x2, #16",
    "b.lo 3f",
    "ldr q0, [x1], #16",
    "str q0, [x3], #16",
    "sub x2, x2, #16",
    "b 2b",
    "3:",
    "cbz x2, 4f",
    "ldrb w4, [x1], #1",
    "strb w4, [x3], #1",
    "sub x2, x2, #1",
    "b 3b",
    "4:",
    "ret",
    ".size memcpy, . - memcpy",
    ".type memset, @function",
    "memset:",
    "mov x3, x0",
    "5:",
    "cbz x2, 6f",
    "strb w1, [x3], #1",
    "sub x2, x2, #1",
    "b 5b",
    "6:",
    "ret",
    ".size memset, . - memset",
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
