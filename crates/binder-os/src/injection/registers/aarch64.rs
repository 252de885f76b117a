//! The registers of a thread that leaves a system call, on aarch64: of a 64-bit program, or of a 32-bit one.

use rustix::io::Errno;

use super::InjectedCall;
use crate::injection::REPEAT;

/// The registers as ptrace(2) shows them, and the state of the call.
#[derive(Clone, Copy)]
pub(in crate::injection) struct Aarch64Registers {
    /// Those of a 32-bit program are words of half the size, two in each of the first of these.
    shown: libc::user_regs_struct,
    state: ExecutionState,
    call: StoppedCall,
}

/// The execution state of a thread: which registers it has, and which instruction enters the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ExecutionState {
    /// A 64-bit program.
    A64,
    /// A 32-bit program in ARM code.
    A32,
    /// A 32-bit program in Thumb code.
    T32,
}

impl ExecutionState {
    /// The instruction `svc #0`.
    fn instruction(self) -> u64 {
        match self {
            Self::A64 => 0xd400_0001,
            Self::A32 => 0xef00_0000,
            Self::T32 => 0xdf00,
        }
    }

    /// Its length.
    fn instruction_bytes(self) -> u64 {
        match self {
            Self::A64 | Self::A32 => 4,
            Self::T32 => 2,
        }
    }
}

/// Where a thread is with the call for which it was stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StoppedCall {
    /// Unknown.
    Unknown,
    /// Behind the instruction, with a result.
    Made,
    /// Before the instruction, with what it had when it came there first: the kernel has seen to it that the call is
    /// made again.
    ToRepeat,
}

/// The register with the number of a system call.
const NUMBER: usize = 8;

/// Of a 32-bit program, the register with the number of a system call, the program counter and the status.
const NUMBER_32: usize = 7;
const PC_32: usize = 15;
const STATUS_32: usize = 16;
/// The bit of the status that tells of Thumb code.
const THUMB: u32 = 1 << 5;
/// How many registers a 32-bit program is shown to have, and their length.
const COUNT_32: usize = 18;
const BYTES_32: usize = COUNT_32 * size_of::<u32>();

impl Aarch64Registers {
    /// The first `len_bytes` are those that ptrace(2) has shown.
    pub(in crate::injection) fn new(shown: libc::user_regs_struct, len_bytes: usize) -> Self {
        let mut new = Self { shown, state: ExecutionState::A64, call: StoppedCall::Unknown };
        if len_bytes == BYTES_32 {
            let is_thumb = new.short(STATUS_32) & THUMB != 0;
            new.state = if is_thumb { ExecutionState::T32 } else { ExecutionState::A32 };
        }
        new
    }

    pub(in crate::injection) fn as_ptr(&self) -> *const libc::user_regs_struct {
        &raw const self.shown
    }

    /// How many bytes of it there are.
    pub(in crate::injection) fn len_bytes(&self) -> usize {
        if self.is_long() { size_of_val(&self.shown) } else { BYTES_32 }
    }

    /// Where the word is that [`settled`](Self::settled) wants to know.
    pub(in crate::injection) fn place_of_call(&self) -> u64 {
        self.pc().wrapping_sub(self.state.instruction_bytes())
    }

    /// The registers with what the word says of the call; nothing if there is none.
    ///
    /// Should a program have the instruction twice in a row, its call counts as one to be repeated: no answer is
    /// lost by that, for threads are stopped with [`REPEAT`](crate::injection::REPEAT).
    pub(in crate::injection) fn settled(self, word: u64) -> Option<Self> {
        let bits = 8 * self.state.instruction_bytes();
        let mask = (1 << bits) - 1;
        let [before, after] =
            [word & mask, word >> bits & mask].map(|it| it == self.state.instruction());
        let call = match (before, after) {
            (_, true) => StoppedCall::ToRepeat,
            (true, false) => StoppedCall::Made,
            (false, false) => return None,
        };
        Some(Self { call, ..self })
    }

    /// Whether both are behind the same instruction.
    pub(in crate::injection) fn is_at(&self, other: &Self) -> bool {
        self.pc() == other.behind_call()
    }

    /// The registers with which the same instruction makes another call.
    pub(in crate::injection) fn for_call(&self, call: InjectedCall, arguments: [u64; 3]) -> Self {
        let mut new = *self;
        for (register, argument) in arguments.into_iter().enumerate() {
            new.set(register, argument);
        }
        if new.is_long() {
            new.set(NUMBER, call.number());
        } else {
            new.set(NUMBER_32, call.number_of_32_bit());
        }
        new.set_pc(self.behind_call().wrapping_sub(self.state.instruction_bytes()));
        new
    }

    /// The registers with which the call has returned `result`.
    pub(in crate::injection) fn returning(&self, result: i32) -> Self {
        let mut new = *self;
        if self.call != StoppedCall::Unknown {
            new.set(0, i64::from(result).cast_unsigned());
        }
        new.set_pc(self.behind_call());
        new
    }

    /// The registers of a thread that is to make call `number` in the place of what it did last: the kernel has seen to
    /// all but the number.
    pub(in crate::injection) fn repeating(&self, number: libc::c_long) -> Self {
        let mut new = *self;
        new.set(NUMBER, number.cast_unsigned());
        new
    }

    /// The arguments that a call of ours must have had for the kernel to repeat the thread's own: it knows the
    /// first as the last call had it, and only that.
    pub(in crate::injection) fn arguments_to_repeat(&self) -> Option<[u64; 3]> {
        (self.call == StoppedCall::ToRepeat).then(|| [0, 1, 2].map(|register| self.get(register)))
    }

    /// The registers before the kernel has looked whether the call is to be repeated.
    pub(in crate::injection) fn leaving(&self) -> Self {
        match self.call {
            StoppedCall::ToRepeat => self.returning(REPEAT),
            StoppedCall::Made | StoppedCall::Unknown => *self,
        }
    }

    /// What a call returned.
    pub(in crate::injection) fn value(&self) -> Result<u32, Errno> {
        super::value(if self.is_long() {
            self.get(0).cast_signed()
        } else {
            self.short(0).cast_signed().into()
        })
    }

    fn behind_call(&self) -> u64 {
        match self.call {
            StoppedCall::ToRepeat => self.pc().wrapping_add(self.state.instruction_bytes()),
            StoppedCall::Made | StoppedCall::Unknown => self.pc(),
        }
    }

    fn is_long(&self) -> bool {
        self.state == ExecutionState::A64
    }

    fn pc(&self) -> u64 {
        if self.is_long() { self.shown.pc } else { self.short(PC_32).into() }
    }

    fn set_pc(&mut self, pc: u64) {
        if self.is_long() {
            self.shown.pc = pc;
        } else {
            self.set(PC_32, pc);
        }
    }

    fn get(&self, register: usize) -> u64 {
        if self.is_long() { self.shown.regs[register] } else { self.short(register).into() }
    }

    /// Sets a register; of a 32-bit program, to the low half of the value.
    fn set(&mut self, register: usize, value: u64) {
        if self.is_long() {
            self.shown.regs[register] = value;
        } else {
            let (pair, shift) = (&mut self.shown.regs[register / 2], register % 2 * 32);
            *pair = *pair & !(LOW_HALF << shift) | (value & LOW_HALF) << shift;
        }
    }

    /// A register of a 32-bit program.
    fn short(&self, register: usize) -> u32 {
        let value = self.shown.regs[register / 2] >> (register % 2 * 32) & LOW_HALF;
        u32::try_from(value).unwrap_or_default()
    }
}

const LOW_HALF: u64 = 0xffff_ffff;

impl std::fmt::Debug for Aarch64Registers {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "Registers({:#x}, {:?}, {:?})", self.pc(), self.state, self.call)
    }
}
