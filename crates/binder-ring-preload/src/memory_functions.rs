//! `memcpy` and `memset`, which compilers take for granted, under names that are given: tests have them beside the C library's.

/// Defines a function by its instructions, hidden: a program's own must stay what other libraries call.
macro_rules! define_function {
    ($name:literal, $($instruction:literal,)*) => {
        core::arch::global_asm!(
            concat!(".pushsection .text.", $name, ", \"ax\", @progbits"),
            concat!(".globl ", $name),
            concat!(".hidden ", $name),
            concat!(".type ", $name, ", @function"),
            concat!($name, ":"),
            $($instruction,)*
            concat!(".size ", $name, ", . - ", $name),
            ".popsection",
        );
    };
}

/// Defines both.
#[cfg(target_arch = "x86_64")]
macro_rules! define_memory_functions {
    ($memcpy:literal, $memset:literal) => {
        $crate::memory_functions::define_function!(
            $memcpy,
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
        );
        $crate::memory_functions::define_function!(
            $memset,
            "mov r8, rdi",
            "mov eax, esi",
            "mov rcx, rdx",
            "rep stosb",
            "mov rax, r8",
            "ret",
        );
    };
}

/// Defines both.
#[cfg(target_arch = "aarch64")]
macro_rules! define_memory_functions {
    ($memcpy:literal, $memset:literal) => {
        $crate::memory_functions::define_function!(
            $memcpy,
            "add x4, x1, x2",
            "add x5, x0, x2",
            "cmp x2, #16",
            "b.lo 6f",
            // The last 16 bytes, which may overlap with those before.
            "ldur q4, [x4, #-16]",
            "mov x3, x0",
            "subs x2, x2, #64",
            "b.lo 3f",
            "2:",
            "ldp q0, q1, [x1], #32",
            "ldp q2, q3, [x1], #32",
            "stp q0, q1, [x3], #32",
            "stp q2, q3, [x3], #32",
            "subs x2, x2, #64",
            "b.hs 2b",
            "3:",
            "add x2, x2, #64",
            "4:",
            "cmp x2, #16",
            "b.ls 5f",
            "ldr q0, [x1], #16",
            "str q0, [x3], #16",
            "sub x2, x2, #16",
            "b 4b",
            "5:",
            "stur q4, [x5, #-16]",
            "ret",
            // Fewer than 16: both ends, which may overlap.
            "6:",
            "tbz x2, #3, 7f",
            "ldr x6, [x1]",
            "ldur x7, [x4, #-8]",
            "str x6, [x0]",
            "stur x7, [x5, #-8]",
            "ret",
            "7:",
            "tbz x2, #2, 8f",
            "ldr w6, [x1]",
            "ldur w7, [x4, #-4]",
            "str w6, [x0]",
            "stur w7, [x5, #-4]",
            "ret",
            "8:",
            "cbz x2, 9f",
            // Of one to three bytes the first, the last and that in the middle.
            "lsr x8, x2, #1",
            "ldrb w6, [x1]",
            "ldrb w7, [x1, x8]",
            "ldurb w9, [x4, #-1]",
            "strb w6, [x0]",
            "strb w7, [x0, x8]",
            "sturb w9, [x5, #-1]",
            "9:",
            "ret",
        );
        $crate::memory_functions::define_function!(
            $memset,
            "add x5, x0, x2",
            "mov x3, x0",
            "cmp x2, #16",
            "b.lo 5f",
            "dup v0.16b, w1",
            "2:",
            "cmp x2, #32",
            "b.lo 3f",
            "stp q0, q0, [x3], #32",
            "sub x2, x2, #32",
            "b 2b",
            "3:",
            "cmp x2, #16",
            "b.lo 4f",
            "str q0, [x3]",
            "4:",
            "stur q0, [x5, #-16]",
            "ret",
            "5:",
            "cmp x3, x5",
            "b.hs 6f",
            "strb w1, [x3], #1",
            "b 5b",
            "6:",
            "ret",
        );
    };
}

pub(crate) use define_function;
#[cfg(feature = "interpose")]
pub(crate) use define_memory_functions;

#[cfg(test)]
mod tests {
    #![expect(unsafe_code, reason = "the functions take addresses")]

    use std::vec;
    use std::vec::Vec;

    define_memory_functions!("memcpy_under_test", "memset_under_test");

    unsafe extern "C" {
        fn memcpy_under_test(to: *mut u8, from: *const u8, len: usize) -> *mut u8;
        fn memset_under_test(to: *mut u8, byte: i32, len: usize) -> *mut u8;
    }

    /// Beside what is written, as much stays as it was.
    const MARGIN: usize = 64;
    const UNTOUCHED: u8 = 0xee;

    /// Lengths about all that decide how something is done.
    fn lengths() -> impl Iterator<Item = usize> {
        (0..=300).chain(1000..1100).chain([4095, 4096, 4097, 16384])
    }

    /// What lies there after `write` has written so many bytes, at an address that ends so.
    fn written(len: usize, to_offset: usize, write: impl FnOnce(*mut u8) -> *mut u8) -> Vec<u8> {
        let mut memory = vec![UNTOUCHED; len + 2 * MARGIN];
        let at = MARGIN + to_offset;
        // SAFETY: it is within `memory`.
        let to = unsafe { memory.as_mut_ptr().add(at) };
        assert_eq!(write(to), to, "{len} bytes");
        let is_untouched = |bytes: &[u8]| bytes.iter().all(|byte| *byte == UNTOUCHED);
        assert!(is_untouched(&memory[..at]) && is_untouched(&memory[at + len..]), "{len} bytes");
        memory[at..at + len].to_vec()
    }

    #[test]
    fn all_bytes_are_copied_and_no_others() {
        let source: Vec<u8> = (0..=250).cycle().take(20_000).collect();
        for len in lengths() {
            for (from, to) in [(0, 0), (1, 0), (0, 3), (5, 8), (15, 15)] {
                let expected = &source[from..from + len];
                // SAFETY: so many bytes are at both places, of which one is new.
                let copy = |to| unsafe { memcpy_under_test(to, expected.as_ptr(), len) };
                assert_eq!(written(len, to, copy), expected, "from {from} to {to}");
            }
        }
    }

    #[test]
    fn all_bytes_are_set_and_no_others() {
        for len in lengths() {
            for to in [0, 1, 8, 15] {
                // SAFETY: so many bytes are there. Of the number the lowest byte counts.
                let set = |to| unsafe { memset_under_test(to, 0x15a, len) };
                assert_eq!(written(len, to, set), vec![0x5a; len], "to {to}");
            }
        }
    }
}
