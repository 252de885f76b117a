//! The registers of a thread that leaves a system call, on aarch64.

use rustix::io::Errno;

use crate::injection::REPEAT;

/// The registers as ptrace(2) shows them, and the state of the call.
#[derive(Clone, Copy)]
pub(in crate::injection) struct Aarch64Registers {
    shown: libc::user_regs_struct,
    call: Call,
}

/// Where a thread is with the call for which it was stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Call {
    /// Unknown.
    Unknown,
    /// Behind the instruction, with a result.
    Made,
    /// Before the instruction, with what it had when it came there first: the kernel has seen to it that the call is
    /// made again.
    ToRepeat,
}

/// The instruction `svc #0`.
const SVC: u32 = 0xd400_0001;
const SVC_BYTES: u64 = 4;
/// The register with the number of a system call.
const NUMBER: usize = 8;

impl Aarch64Registers {
    pub(in crate::injection) fn new(shown: libc::user_regs_struct) -> Self {
        Self { shown, call: Call::Unknown }
    }

    pub(in crate::injection) fn as_ptr(&self) -> *const libc::user_regs_struct {
        &raw const self.shown
    }

    /// Where the word is that [`settled`](Self::settled) wants to know.
    pub(in crate::injection) fn place_of_call(&self) -> u64 {
        self.shown.pc.wrapping_sub(SVC_BYTES)
    }

    /// The registers with what the word says of the call; nothing if there is none, as before a thread of a 32-bit
    /// program, whose registers are fewer.
    ///
    /// Should a program have the instruction twice in a row, its call counts as one to be repeated: no answer is
    /// lost by that, for threads are stopped with [`REPEAT`](crate::injection::REPEAT).
    pub(in crate::injection) fn settled(self, word: u64) -> Option<Self> {
        let [before, after] = [word & 0xffff_ffff, word >> 32].map(|it| it == u64::from(SVC));
        let call = match (before, after) {
            (_, true) => Call::ToRepeat,
            (true, false) => Call::Made,
            (false, false) => return None,
        };
        Some(Self { call, ..self })
    }

    /// Whether both are behind the same instruction.
    pub(in crate::injection) fn is_at(&self, other: &Self) -> bool {
        self.shown.pc == other.behind_call()
    }

    /// The registers with which the same instruction makes another call.
    pub(in crate::injection) fn for_call(&self, number: libc::c_long, arguments: [u64; 3]) -> Self {
        let mut shown = self.shown;
        shown.regs[..3].copy_from_slice(&arguments);
        shown.regs[NUMBER] = number.cast_unsigned();
        shown.pc = self.behind_call().wrapping_sub(SVC_BYTES);
        Self { shown, ..*self }
    }

    /// The registers with which the call has returned `result`.
    pub(in crate::injection) fn returning(&self, result: i32) -> Self {
        let mut shown = self.shown;
        if self.call != Call::Unknown {
            shown.regs[0] = i64::from(result).cast_unsigned();
        }
        shown.pc = self.behind_call();
        Self { shown, ..*self }
    }

    /// The registers of a thread that is to make call `number` in the place of what it did last.
    pub(in crate::injection) fn repeating(&self, number: libc::c_long) -> Self {
        let mut shown = self.shown;
        shown.regs[NUMBER] = number.cast_unsigned();
        Self { shown, ..*self }
    }

    /// The arguments that a call of ours must have had for the kernel to repeat the thread's own: it knows the
    /// first as the last call had it, and only that.
    pub(in crate::injection) fn arguments_to_repeat(&self) -> Option<[u64; 3]> {
        let [first, second, third, ..] = self.shown.regs;
        (self.call == Call::ToRepeat).then_some([first, second, third])
    }

    /// The registers before the kernel has looked whether the call is to be repeated.
    pub(in crate::injection) fn leaving(&self) -> Self {
        match self.call {
            Call::ToRepeat => self.returning(REPEAT),
            Call::Made | Call::Unknown => *self,
        }
    }

    /// What a call returned.
    pub(in crate::injection) fn value(&self) -> Result<u32, Errno> {
        super::value(self.shown.regs[0].cast_signed())
    }

    fn behind_call(&self) -> u64 {
        match self.call {
            Call::ToRepeat => self.shown.pc.wrapping_add(SVC_BYTES),
            Call::Made | Call::Unknown => self.shown.pc,
        }
    }
}

impl std::fmt::Debug for Aarch64Registers {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "Registers({:#x}, {:?})", self.shown.pc, self.call)
    }
}
