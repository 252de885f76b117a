//! The registers of a thread that leaves a system call, on x86-64.

use rustix::io::Errno;

/// The registers as ptrace(2) shows them.
#[derive(Clone, Copy)]
pub(super) struct Registers(libc::user_regs_struct);

/// The instruction `syscall`, as the low bytes of a word of memory.
const SYSCALL: u64 = 0x050f;
const SYSCALL_BYTES: u64 = 2;
/// The code segment of 64-bit programs.
const USER_CS: u64 = 0x33;
/// In the place of the number of a system call: there is none that could be repeated.
const NO_CALL: u64 = u64::MAX;
const ERRORS: std::ops::RangeInclusive<i64> = -4095..=-1;

/// Where ptrace(2) has the number of the call that a thread makes, or is to repeat.
pub(super) const PLACE_OF_NUMBER: u64 =
    std::mem::offset_of!(libc::user_regs_struct, orig_rax) as u64;

impl Registers {
    pub(super) fn new(registers: libc::user_regs_struct) -> Self {
        Self(registers)
    }

    pub(super) fn as_ptr(&self) -> *const libc::user_regs_struct {
        &raw const self.0
    }

    /// Where the instruction should be that entered the kernel.
    pub(super) fn call_site(&self) -> u64 {
        self.0.rip.wrapping_sub(SYSCALL_BYTES)
    }

    /// Whether the thread is a 64-bit one that entered by `syscall`; `instruction` is what lies at
    /// [`call_site`](Self::call_site).
    pub(super) fn is_behind_call(&self, instruction: u64) -> bool {
        self.0.cs == USER_CS && instruction & 0xffff == SYSCALL && self.0.orig_rax != NO_CALL
    }

    /// Whether both are at the same instruction.
    pub(super) fn is_at(&self, other: &Self) -> bool {
        self.0.rip == other.0.rip
    }

    /// The registers with which the same instruction makes another call.
    pub(super) fn for_call(&self, number: libc::c_long, arguments: [u64; 3]) -> Self {
        let [rdi, rsi, rdx] = arguments;
        let rax = number.cast_unsigned();
        let rip = self.call_site();
        Self(libc::user_regs_struct { rip, rax, orig_rax: NO_CALL, rdi, rsi, rdx, ..self.0 })
    }

    /// The registers with which the call has returned `result`.
    pub(super) fn returning(&self, result: i32) -> Self {
        let rax = i64::from(result).cast_unsigned();
        Self(libc::user_regs_struct { rax, orig_rax: NO_CALL, ..self.0 })
    }

    /// The registers of a thread that is to make call `number` in the place of what it did last,
    /// unless a signal comes first: as the kernel shows it.
    pub(super) fn repeating(&self, number: libc::c_long) -> Self {
        let rax = i64::from(super::REPEAT).cast_unsigned();
        Self(libc::user_regs_struct { rax, orig_rax: number.cast_unsigned(), ..self.0 })
    }

    /// What a call returned.
    pub(super) fn value(&self) -> Result<u32, Errno> {
        let value = self.0.rax.cast_signed();
        match u32::try_from(value) {
            Ok(value) => Ok(value),
            Err(_) if ERRORS.contains(&value) => {
                let number = i32::try_from(-value).expect("at most 4095");
                Err(Errno::from_raw_os_error(number))
            }
            // No call of ours returns an address.
            Err(_) => Err(Errno::IO),
        }
    }
}

impl std::fmt::Debug for Registers {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "Registers({:#x})", self.0.rip)
    }
}
