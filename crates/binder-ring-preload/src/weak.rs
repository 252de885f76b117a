//! Symbols that a C library defines, or does not.

/// The address of a symbol, or null. It is read out of the table that the dynamic linker has filled.
macro_rules! weak_symbol {
    ($symbol:literal) => {{
        let address: *mut core::ffi::c_void;
        #[cfg(target_arch = "x86_64")]
        // SAFETY: it loads a word of the table.
        unsafe {
            core::arch::asm!(
                concat!(".weak ", $symbol),
                concat!("mov {}, qword ptr [rip + ", $symbol, "@GOTPCREL]"),
                out(reg) address,
                options(pure, readonly, nostack, preserves_flags),
            );
        }
        #[cfg(target_arch = "aarch64")]
        // SAFETY: it loads a word of the table.
        unsafe {
            core::arch::asm!(
                concat!(".weak ", $symbol),
                concat!("adrp {0}, :got:", $symbol),
                concat!("ldr {0}, [{0}, :got_lo12:", $symbol, "]"),
                out(reg) address,
                options(pure, readonly, nostack, preserves_flags),
            );
        }
        core::ptr::NonNull::new(address)
    }};
}

pub(crate) use weak_symbol;
