//! The registers of a thread that leaves a system call, on x86-64.

use rustix::io::Errno;

/// The registers as ptrace(2) shows them.
#[derive(Clone, Copy)]
pub(in crate::injection) struct X86Registers(libc::user_regs_struct);

/// The instruction `syscall`, as the low bytes of a word of memory.
const SYSCALL: u64 = 0x050f;
const SYSCALL_BYTES: u64 = 2;
/// The code segment of 64-bit programs.
const USER_CS: u64 = 0x33;
/// In the place of the number of a system call: there is none that could be repeated.
const NO_CALL: u64 = u64::MAX;

/// Where ptrace(2) has the number of the call that a thread makes, or is to repeat.
pub(in crate::injection) const PLACE_OF_NUMBER: u64 =
    std::mem::offset_of!(libc::user_regs_struct, orig_rax) as u64;

impl X86Registers {
    pub(in crate::injection) fn new(registers: libc::user_regs_struct) -> Self {
        Self(registers)
    }

    pub(in crate::injection) fn as_ptr(&self) -> *const libc::user_regs_struct {
        &raw const self.0
    }

    /// Where the word is that [`settled`](Self::settled) wants to know.
    pub(in crate::injection) fn place_of_call(&self) -> u64 {
        self.call_site()
    }

    /// The registers, if the thread is a 64-bit one that entered by `syscall`; `word` is what lies at
    /// [`place_of_call`](Self::place_of_call).
    pub(in crate::injection) fn settled(self, word: u64) -> Option<Self> {
        let is_behind_call =
            self.0.cs == USER_CS && word & 0xffff == SYSCALL && self.0.orig_rax != NO_CALL;
        is_behind_call.then_some(self)
    }

    /// Where the instruction should be that entered the kernel.
    fn call_site(&self) -> u64 {
        self.0.rip.wrapping_sub(SYSCALL_BYTES)
    }

    /// Whether both are at the same instruction.
    pub(in crate::injection) fn is_at(&self, other: &Self) -> bool {
        self.0.rip == other.0.rip
    }

    /// The registers with which the same instruction makes another call.
    pub(in crate::injection) fn for_call(&self, number: libc::c_long, arguments: [u64; 3]) -> Self {
        let [rdi, rsi, rdx] = arguments;
        let rax = number.cast_unsigned();
        let rip = self.call_site();
        Self(libc::user_regs_struct { rip, rax, orig_rax: NO_CALL, rdi, rsi, rdx, ..self.0 })
    }

    /// The registers with which the call has returned `result`.
    pub(in crate::injection) fn returning(&self, result: i32) -> Self {
        let rax = i64::from(result).cast_unsigned();
        Self(libc::user_regs_struct { rax, orig_rax: NO_CALL, ..self.0 })
    }

    /// The registers of a thread that is to make call `number` in the place of what it did last,
    /// unless a signal comes first: as the kernel shows it.
    pub(in crate::injection) fn repeating(&self, number: libc::c_long) -> Self {
        let rax = i64::from(crate::injection::REPEAT).cast_unsigned();
        Self(libc::user_regs_struct { rax, orig_rax: number.cast_unsigned(), ..self.0 })
    }

    /// The arguments that a call of ours must have had for the kernel to repeat the thread's own: any, for all are in
    /// the registers.
    pub(in crate::injection) fn arguments_to_repeat(&self) -> Option<[u64; 3]> {
        None
    }

    /// The registers before the kernel has looked whether the call is to be repeated: as they were found.
    pub(in crate::injection) fn leaving(&self) -> Self {
        *self
    }

    /// What a call returned.
    pub(in crate::injection) fn value(&self) -> Result<u32, Errno> {
        super::value(self.0.rax.cast_signed())
    }
}

impl std::fmt::Debug for X86Registers {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "Registers({:#x})", self.0.rip)
    }
}
