//! A thread of another process, stopped on its way out of a system call by ptrace(2).

#![expect(unsafe_code, reason = "ptrace and waitpid for threads have no safe wrapper")]

use std::io;
use std::marker::PhantomData;
use std::mem::MaybeUninit;

use rustix::io::Errno;
use rustix::process::{Pid, Signal};

use super::registers::{InjectedCall, Registers};
use super::{Answered, InjectionError};
use crate::seccomp::{MAX_INSTRUCTIONS, SeccompFilter};
use crate::thread_status::ThreadStatus;

/// A request of ptrace(2).
type PtraceRequest = libc::c_long;

const PEEK_TEXT: PtraceRequest = 1;
#[cfg(target_arch = "x86_64")]
const POKE_USER: PtraceRequest = 6;
const CONTINUE: PtraceRequest = 7;
const SINGLE_STEP: PtraceRequest = 9;
/// Here these have registers of their own kind only, and every kernel has them.
#[cfg(target_arch = "x86_64")]
const GET_REGISTERS: PtraceRequest = 12;
#[cfg(target_arch = "x86_64")]
const SET_REGISTERS: PtraceRequest = 13;
/// Here there are requests for sets of registers alone.
#[cfg(target_arch = "aarch64")]
const GET_REGISTERS: PtraceRequest = 0x4204;
#[cfg(target_arch = "aarch64")]
const SET_REGISTERS: PtraceRequest = 0x4205;
const DETACH: PtraceRequest = 17;
const TO_SYSTEM_CALL: PtraceRequest = 24;
const SEIZE: PtraceRequest = 0x4206;
const INTERRUPT: PtraceRequest = 0x4207;
const GET_SIGNAL_MASK: PtraceRequest = 0x420a;
const SET_SIGNAL_MASK: PtraceRequest = 0x420b;
/// PTRACE_SECCOMP_GET_FILTER, for CAP_SYS_ADMIN only.
const GET_FILTER: PtraceRequest = 0x420c;

/// PTRACE_O_SUSPEND_SECCOMP: the thread's own filters let our calls pass. For CAP_SYS_ADMIN only.
const SUSPEND_SECCOMP: u64 = 1 << 21;
/// PTRACE_O_TRACESYSGOOD: stops at system calls are known from signals.
const MARK_SYSTEM_CALLS: u64 = 1;
/// The bit of SIGTRAP in the masks of /proc and of ptrace(2).
const TRAP_BIT: u64 = 1 << (libc::SIGTRAP - 1);
const MASK_BYTES: u64 = 8;

/// A stopped thread. Dropped, it goes on: the system call that it was leaving has the result that
/// it had, or is repeated if that is what the result says.
#[derive(Debug)]
pub(super) struct Tracee {
    tid: u32,
    stepping: Stepping,
    /// What it was stopped with, once that is known.
    kept: Option<KeptRegisters>,
    /// What its system call is to return instead.
    result: Option<i32>,
    is_alive: bool,
    /// It was about to be stopped by a SIGSTOP, which must not be lost.
    is_to_stop: bool,
    /// To the kernel, the tracer is a thread.
    not_send: PhantomData<*mut ()>,
}

#[derive(Debug, Clone, Copy)]
struct KeptRegisters {
    registers: Registers,
    signal_mask: u64,
    /// It can be made to call.
    is_callable: bool,
}

/// How the thread is made to run one call.
#[derive(Debug, Clone, Copy)]
enum Stepping {
    /// One instruction. It ends in a SIGTRAP, for which the kernel would change what a program does
    /// that ignores or blocks that signal.
    Instruction,
    /// To the entry of the call, then to its exit: twice the switches, and no signal. On aarch64 always.
    EntryAndExit,
}

/// How a thread stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TraceeStop {
    Trap,
    Signal(i32),
    /// Because it was told to, or together with its process.
    Event,
}

impl Tracee {
    /// Stops thread `tid` on its way out of the system call in which it waits until `answer` was
    /// called.
    ///
    /// # Errors
    ///
    /// [`InjectionError`]; `answer` was called unless the thread could not even be traced.
    pub(super) fn stop(
        tid: u32,
        status: &ThreadStatus,
        expected_filters: u32,
        answer: impl FnOnce() -> Answered,
    ) -> Result<Self, InjectionError> {
        let stepping = seize(tid, status, expected_filters)?;
        let (mut tracee, answered) = Self::await_stop(tid, stepping, answer)?;
        tracee.settle(answered)?;
        Ok(tracee)
    }

    /// Has thread `tid` make call `number` next, with the arguments of the call that it leaves. `ready`
    /// runs before it can.
    ///
    /// # Errors
    ///
    /// As [`stop`](Self::stop); if `ready` was called, the thread is gone.
    pub(super) fn divert(
        tid: u32,
        number: i32,
        answer: impl FnOnce(),
        ready: impl FnOnce(),
    ) -> Result<(), InjectionError> {
        ptrace(SEIZE, tid, 0, MARK_SYSTEM_CALLS).map_err(refused_to_seize)?;
        let (mut tracee, ()) = Self::await_stop(tid, Stepping::Instruction, answer)?;
        let signal = tracee.replace_call(number)?;
        ready();
        ptrace(DETACH, tid, 0, signal).map_err(|_| tracee.lost())?;
        tracee.is_alive = false;
        Ok(())
    }

    /// Replaces the call that a stopped thread is about to repeat: the kernel keeps its number apart from the registers.
    /// Returns the signal with which the thread is to go on; none.
    #[cfg(target_arch = "x86_64")]
    fn replace_call(&mut self, number: i32) -> Result<u64, InjectionError> {
        let number = i64::from(number).cast_unsigned();
        let replaced = ptrace(POKE_USER, self.tid, super::registers::PLACE_OF_NUMBER, number);
        replaced.map_err(|_| self.lost())?;
        Ok(0)
    }

    /// Replaces the call that a stopped thread is about to repeat. Its number is in a register, which the program may expect to
    /// find unchanged; but once the thread has entered the call, the kernel has a copy, which filters see. Returns the signal
    /// with which the thread is to go on: one that comes first leaves the call as it was.
    #[cfg(target_arch = "aarch64")]
    fn replace_call(&mut self, number: i32) -> Result<u64, InjectionError> {
        /// The number of a stop at a system call, of which it is known that it is no signal.
        const AT_SYSTEM_CALL: i32 = libc::SIGTRAP | 0x80;
        /// NT_ARM_SYSTEM_CALL: the number of the call that a thread has entered.
        const CALL: u64 = 0x404;
        loop {
            self.resume(TO_SYSTEM_CALL)?;
            match self.wait()? {
                TraceeStop::Signal(AT_SYSTEM_CALL) => break,
                TraceeStop::Signal(signal) => return Ok(i64::from(signal).cast_unsigned()),
                TraceeStop::Trap => return Ok(i64::from(libc::SIGTRAP).cast_unsigned()),
                TraceeStop::Event => {}
            }
        }
        let mut range = libc::iovec {
            iov_base: (&raw const number).cast_mut().cast(),
            iov_len: size_of_val(&number),
        };
        let place = (&raw mut range).expose_provenance() as u64;
        // SAFETY: the request wants a range, which lives through the call, and reads the number that is in it.
        let replaced = unsafe { raw_ptrace(SET_REGISTERS, self.tid, CALL, place) };
        replaced.map_err(|_| self.lost())?;
        Ok(0)
    }

    /// Has a thread stop that we trace, and waits for it.
    fn await_stop<T>(
        tid: u32,
        stepping: Stepping,
        answer: impl FnOnce() -> T,
    ) -> Result<(Self, T), InjectionError> {
        // Should this fail, the thread has been killed, and waiting for it tells so.
        let _ = ptrace(INTERRUPT, tid, 0, 0);
        let answered = answer();
        let mut tracee = Self {
            tid,
            stepping,
            kept: None,
            result: None,
            is_alive: true,
            is_to_stop: false,
            not_send: PhantomData,
        };
        loop {
            match tracee.wait()? {
                TraceeStop::Event => return Ok((tracee, answered)),
                // The stop that we asked for comes before any signal; this one is not expected.
                TraceeStop::Trap | TraceeStop::Signal(_) => tracee.resume(CONTINUE)?,
            }
        }
    }

    /// Prepares a stopped thread to make calls of ours.
    fn settle(&mut self, answered: Answered) -> Result<(), InjectionError> {
        let registers = match answered {
            Answered::Itself => self.registers()?,
            Answered::Diverted => self.registers()?.repeating(libc::SYS_ioctl),
        };
        let mut instruction = 0_u64;
        let place = (&raw mut instruction).expose_provenance() as u64;
        // SAFETY: the kernel writes one word to `place`, which is one and lives through the call.
        let peeked = unsafe { raw_ptrace(PEEK_TEXT, self.tid, registers.place_of_call(), place) };
        let settled = peeked.ok().and_then(|_| registers.settled(instruction));
        let is_callable = settled.is_some();
        let registers = settled.unwrap_or(registers);
        let mut signal_mask = 0_u64;
        let place = (&raw mut signal_mask).expose_provenance() as u64;
        // SAFETY: the kernel writes eight bytes to `place`, a word that lives through the call.
        let got = unsafe { raw_ptrace(GET_SIGNAL_MASK, self.tid, MASK_BYTES, place) };
        got.map_err(|_| self.lost())?;
        self.kept = Some(KeptRegisters { registers, signal_mask, is_callable });
        // Signals wait until the thread is back in its own program.
        self.set_signal_mask(!TRAP_BIT)
    }

    /// Has the thread make one system call, and returns what that answers.
    ///
    /// # Errors
    ///
    /// [`InjectionError::Gone`]; [`InjectionError::Foreign`] if it is no thread that can do this.
    pub(super) fn call(
        &mut self,
        call: InjectedCall,
        arguments: [u64; 3],
    ) -> Result<Result<u32, Errno>, InjectionError> {
        let Some(kept) = self.kept.filter(|kept| kept.is_callable) else {
            return Err(InjectionError::Foreign);
        };
        self.set_registers(&kept.registers.for_call(call, arguments))?;
        let (request, mut stops) = match self.stepping {
            Stepping::Instruction => (SINGLE_STEP, 1),
            Stepping::EntryAndExit => (TO_SYSTEM_CALL, 2),
        };
        loop {
            self.resume(request)?;
            match self.wait()? {
                TraceeStop::Trap => {
                    let registers = self.registers()?;
                    // Another process may have sent a SIGTRAP before the instruction.
                    stops -= u32::from(registers.is_at(&kept.registers));
                    if stops == 0 {
                        return Ok(registers.value());
                    }
                }
                TraceeStop::Signal(signal) => self.is_to_stop |= signal == libc::SIGSTOP,
                TraceeStop::Event => {}
            }
        }
    }

    /// Lets the thread go on: the system call that it was leaving returns `result`.
    pub(super) fn finish(mut self, result: i32) {
        self.result = Some(result);
    }

    /// Brings the thread to where the kernel looks for signals and for a call to repeat. After a call
    /// of ours it would do neither.
    fn stop_before_signals(&mut self) -> Result<(), InjectionError> {
        ptrace(INTERRUPT, self.tid, 0, 0).map_err(|_| self.lost())?;
        loop {
            self.resume(CONTINUE)?;
            match self.wait()? {
                TraceeStop::Event => return Ok(()),
                TraceeStop::Trap => {}
                TraceeStop::Signal(signal) => self.is_to_stop |= signal == libc::SIGSTOP,
            }
        }
    }

    fn wait(&mut self) -> Result<TraceeStop, InjectionError> {
        let mut status = 0;
        let waited = loop {
            let tid = self.tid.cast_signed();
            // SAFETY: the kernel writes the status to a word that lives through the call.
            let waited = unsafe { libc::waitpid(tid, &raw mut status, libc::__WALL) };
            if waited >= 0 || io::Error::last_os_error().raw_os_error() != Some(libc::EINTR) {
                break waited;
            }
        };
        if waited < 0 || !libc::WIFSTOPPED(status) {
            self.is_alive = false;
            return Err(InjectionError::Gone);
        }
        Ok(match (status >> 16, libc::WSTOPSIG(status)) {
            (0, libc::SIGTRAP) => TraceeStop::Trap,
            (0, signal) => TraceeStop::Signal(signal),
            (_, _) => TraceeStop::Event,
        })
    }

    fn resume(&mut self, request: PtraceRequest) -> Result<(), InjectionError> {
        ptrace(request, self.tid, 0, 0).map_err(|_| self.lost())
    }

    /// A stopped thread that takes no request has been killed, and has yet to be waited for.
    fn lost(&mut self) -> InjectionError {
        while self.is_alive {
            let _ = self.wait();
        }
        InjectionError::Gone
    }

    fn registers(&mut self) -> Result<Registers, InjectionError> {
        let mut registers = MaybeUninit::<libc::user_regs_struct>::zeroed();
        let place = registers.as_mut_ptr().expose_provenance() as u64;
        // SAFETY: the kernel writes a `user_regs_struct` to `place`, which is one.
        let got =
            unsafe { move_registers(GET_REGISTERS, self.tid, place, size_of_val(&registers)) };
        let len_bytes = got.map_err(|_| self.lost())?;
        // SAFETY: it is made of integers, for which zeros are values too.
        Ok(Registers::new(unsafe { registers.assume_init() }, len_bytes))
    }

    fn set_registers(&mut self, registers: &Registers) -> Result<(), InjectionError> {
        let place = registers.as_ptr().expose_provenance() as u64;
        // SAFETY: the kernel reads a `user_regs_struct` from `place`, which is one.
        let set = unsafe { move_registers(SET_REGISTERS, self.tid, place, registers.len_bytes()) };
        set.map(drop).map_err(|_| self.lost())
    }

    fn set_signal_mask(&mut self, mask: u64) -> Result<(), InjectionError> {
        let place = (&raw const mask).expose_provenance() as u64;
        // SAFETY: the kernel reads eight bytes from `place`, a word that lives through the call.
        let set = unsafe { raw_ptrace(SET_SIGNAL_MASK, self.tid, MASK_BYTES, place) };
        set.map(drop).map_err(|_| self.lost())
    }

    /// The seccomp filters of the thread.
    ///
    /// # Errors
    ///
    /// [`InjectionError::Gone`]; [`InjectionError::Refused`] if we may not read them, or the kernel does not show them.
    pub(super) fn filters(&mut self) -> Result<Vec<SeccompFilter>, InjectionError> {
        let mut filters = Vec::new();
        let mut instructions =
            vec![libc::sock_filter { code: 0, jt: 0, jf: 0, k: 0 }; MAX_INSTRUCTIONS];
        let place = instructions.as_mut_ptr().expose_provenance() as u64;
        loop {
            let index = filters.len() as u64;
            // SAFETY: the kernel writes the instructions of a filter to `place`, where there is room for as many as one can have.
            match unsafe { raw_ptrace(GET_FILTER, self.tid, index, place) } {
                Ok(len) => filters.push(SeccompFilter::new(instructions[..len].to_vec())),
                Err(Errno::NOENT) => return Ok(filters),
                Err(Errno::SRCH) => return Err(self.lost()),
                Err(errno) => {
                    return Err(InjectionError::Refused { step: "reading seccomp filters", errno });
                }
            }
        }
    }

    fn release(&mut self) -> Result<(), InjectionError> {
        if let Some(kept) = self.kept {
            match self.result {
                Some(result) => self.set_registers(&kept.registers.returning(result))?,
                None => {
                    if let Some(arguments) = kept.registers.arguments_to_repeat() {
                        // That it succeeds changes nothing.
                        let _ = self.call(InjectedCall::Getpid, arguments)?;
                    }
                    self.set_registers(&kept.registers.leaving())?;
                    self.stop_before_signals()?;
                }
            }
            self.set_signal_mask(kept.signal_mask)?;
        }
        if self.is_to_stop
            && let Some(pid) = Pid::from_raw(self.tid.cast_signed())
        {
            let _ = rustix::process::kill_process(pid, Signal::STOP);
        }
        self.resume(DETACH)
    }
}

impl Drop for Tracee {
    fn drop(&mut self) {
        if self.is_alive {
            // All that can fail is that the thread ends meanwhile.
            let _ = self.release();
        }
    }
}

/// Becomes the tracer of a thread.
fn seize(
    tid: u32,
    status: &ThreadStatus,
    expected_filters: u32,
) -> Result<Stepping, InjectionError> {
    if status.has_tracer {
        return Err(InjectionError::Traced);
    }
    let is_filtered = status.filters > expected_filters;
    let options = if is_filtered { SUSPEND_SECCOMP } else { 0 };
    ptrace(SEIZE, tid, 0, options).map_err(|errno| match errno {
        Errno::PERM | Errno::INVAL if is_filtered => InjectionError::Filtered,
        errno => refused_to_seize(errno),
    })?;
    let ignores_trap = status.ignored_signals & TRAP_BIT != 0;
    Ok(if ignores_trap || cfg!(target_arch = "aarch64") {
        Stepping::EntryAndExit
    } else {
        Stepping::Instruction
    })
}

fn refused_to_seize(errno: Errno) -> InjectionError {
    match errno {
        Errno::SRCH => InjectionError::Gone,
        errno => InjectionError::Refused { step: "tracing the thread", errno },
    }
}

/// A request that touches no memory of ours.
fn ptrace(request: PtraceRequest, tid: u32, address: u64, data: u64) -> Result<(), Errno> {
    debug_assert!(!matches!(request, PEEK_TEXT | GET_REGISTERS | GET_SIGNAL_MASK));
    // SAFETY: the other requests take numbers only, or are made with a pointer elsewhere.
    unsafe { raw_ptrace(request, tid, address, data) }.map(drop)
}

/// Reads or writes all registers of a thread, and returns how many bytes these are.
///
/// # Safety
///
/// `place` must be the address of a `user_regs_struct`, to be written to or read from.
#[cfg(target_arch = "x86_64")]
unsafe fn move_registers(
    request: PtraceRequest,
    tid: u32,
    place: u64,
    len_bytes: usize,
) -> Result<usize, Errno> {
    // SAFETY: the caller vouches for `place`, which is what these requests want.
    unsafe { raw_ptrace(request, tid, 0, place) }.map(|_| len_bytes)
}

/// Reads or writes all registers of a thread, and returns how many bytes these are: a 32-bit program has fewer.
///
/// # Safety
///
/// `place` must be the address of a `user_regs_struct`, to be written to or read from, and `len_bytes` at most its length.
#[cfg(target_arch = "aarch64")]
unsafe fn move_registers(
    request: PtraceRequest,
    tid: u32,
    place: u64,
    len_bytes: usize,
) -> Result<usize, Errno> {
    /// NT_PRSTATUS: the general registers.
    const GENERAL: u64 = 1;
    let place = usize::try_from(place).map_err(|_| Errno::FAULT)?;
    let mut range =
        libc::iovec { iov_base: std::ptr::with_exposed_provenance_mut(place), iov_len: len_bytes };
    let place_of_range = (&raw mut range).expose_provenance() as u64;
    // SAFETY: these requests want a range, which lives through the call, and touch no more than is in it; for that
    // the caller vouches.
    unsafe { raw_ptrace(request, tid, GENERAL, place_of_range) }?;
    // SAFETY: the kernel has written the length that it moved, an integer, to a range that is still ours.
    Ok(unsafe { (&raw const range.iov_len).read_volatile() })
}

/// # Safety
///
/// `data` must be what the request wants: often a pointer, to be read from or written to.
unsafe fn raw_ptrace(
    request: PtraceRequest,
    tid: u32,
    address: u64,
    data: u64,
) -> Result<usize, Errno> {
    // SAFETY: the caller vouches for `data`; nothing else is a pointer of ours.
    let result = unsafe { libc::syscall(libc::SYS_ptrace, request, tid, address, data) };
    usize::try_from(result)
        .map_err(|_| Errno::from_io_error(&io::Error::last_os_error()).unwrap_or(Errno::IO))
}
