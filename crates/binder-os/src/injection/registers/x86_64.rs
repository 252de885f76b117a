//! The registers of a thread that leaves a system call, on x86-64.

use rustix::io::Errno;

use super::InjectedCall;

/// The registers as ptrace(2) shows them.
#[derive(Clone, Copy)]
pub(in crate::injection) struct X86Registers {
    shown: libc::user_regs_struct,
    entry: KernelEntry,
}

/// How a thread enters the kernel: which numbers its calls have, and which registers their arguments.
#[derive(Clone, Copy, PartialEq, Eq)]
enum KernelEntry {
    /// By `syscall`, as 64-bit programs.
    Syscall,
    /// By `int 0x80`, as 32-bit programs. A call through the vDSO, by whichever instruction, returns behind
    /// one, too (Linux `arch/x86/entry/vdso/vdso32/system_call.S`).
    Interrupt,
}

/// The instruction `syscall`, as the low bytes of a word of memory.
const SYSCALL: u64 = 0x050f;
/// The instruction `int 0x80`, likewise.
const INTERRUPT: u64 = 0x80cd;
/// The length of both.
const INSTRUCTION_BYTES: u64 = 2;
/// The code segment of 64-bit programs.
const USER_CS: u64 = 0x33;
/// In the place of the number of a system call: there is none that could be repeated.
const NO_CALL: u64 = u64::MAX;

/// Where ptrace(2) has the number of the call that a thread makes, or is to repeat.
pub(in crate::injection) const PLACE_OF_NUMBER: u64 =
    std::mem::offset_of!(libc::user_regs_struct, orig_rax) as u64;

impl X86Registers {
    /// What ptrace(2) has shown, all of it.
    pub(in crate::injection) fn new(shown: libc::user_regs_struct, _len_bytes: usize) -> Self {
        Self { shown, entry: KernelEntry::Syscall }
    }

    pub(in crate::injection) fn as_ptr(&self) -> *const libc::user_regs_struct {
        &raw const self.shown
    }

    /// How many bytes of it there are.
    pub(in crate::injection) fn len_bytes(&self) -> usize {
        size_of_val(&self.shown)
    }

    /// Where the word is that [`settled`](Self::settled) wants to know.
    pub(in crate::injection) fn place_of_call(&self) -> u64 {
        self.call_site()
    }

    /// The registers, if the thread has made a system call; `word` is what lies at
    /// [`place_of_call`](Self::place_of_call).
    pub(in crate::injection) fn settled(self, word: u64) -> Option<Self> {
        if self.shown.orig_rax == NO_CALL {
            return None;
        }
        let entry = match word & 0xffff {
            SYSCALL if self.shown.cs == USER_CS => KernelEntry::Syscall,
            INTERRUPT => KernelEntry::Interrupt,
            _ => return None,
        };
        Some(Self { entry, ..self })
    }

    /// Where the instruction should be that entered the kernel.
    fn call_site(&self) -> u64 {
        self.shown.rip.wrapping_sub(INSTRUCTION_BYTES)
    }

    /// Whether both are at the same instruction.
    pub(in crate::injection) fn is_at(&self, other: &Self) -> bool {
        self.shown.rip == other.shown.rip
    }

    /// The registers with which the same instruction makes another call.
    pub(in crate::injection) fn for_call(&self, call: InjectedCall, arguments: [u64; 3]) -> Self {
        let [first, second, third] = arguments;
        let rip = self.call_site();
        let mut shown = libc::user_regs_struct { rip, orig_rax: NO_CALL, ..self.shown };
        match self.entry {
            KernelEntry::Syscall => {
                shown.rax = call.number();
                (shown.rdi, shown.rsi, shown.rdx) = (first, second, third);
            }
            KernelEntry::Interrupt => {
                shown.rax = call.number_of_32_bit();
                (shown.rbx, shown.rcx, shown.rdx) = (first, second, third);
            }
        }
        Self { shown, ..*self }
    }

    /// The registers with which the call has returned `result`.
    pub(in crate::injection) fn returning(&self, result: i32) -> Self {
        let rax = i64::from(result).cast_unsigned();
        let shown = libc::user_regs_struct { rax, orig_rax: NO_CALL, ..self.shown };
        Self { shown, ..*self }
    }

    /// The registers of a thread that is to make call `number` in the place of what it did last,
    /// unless a signal comes first: as the kernel shows it.
    pub(in crate::injection) fn repeating(&self, number: libc::c_long) -> Self {
        let rax = i64::from(crate::injection::REPEAT).cast_unsigned();
        let orig_rax = number.cast_unsigned();
        Self { shown: libc::user_regs_struct { rax, orig_rax, ..self.shown }, ..*self }
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
        super::value(self.shown.rax.cast_signed())
    }
}

impl std::fmt::Debug for X86Registers {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "Registers({:#x})", self.shown.rip)
    }
}
