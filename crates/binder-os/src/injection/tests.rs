//! Against real processes: children of the test that wait in a system call.

#![cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
#![expect(unsafe_code, reason = "the children are forked, and look at their registers")]

use std::arch::asm;
use std::fs;
use std::io::{PipeWriter, Read, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicU32, Ordering};
use std::{io, ptr};

use rustix::process::{Pid, Resource, Rlimit, Signal};

use super::*;

/// Words that a child shares with the test.
#[repr(C)]
struct Board {
    signals: AtomicU32,
    interruptions: AtomicU32,
    unexpected: AtomicU32,
}

static BOARD: std::sync::atomic::AtomicPtr<Board> =
    std::sync::atomic::AtomicPtr::new(ptr::null_mut());

/// A forked child that waits in read(2) for the number of a descriptor, to which it writes then.
struct Waiter {
    pid: i32,
    board: &'static Board,
    orders: PipeWriter,
}

#[derive(Clone, Copy)]
enum Entry {
    Syscall {
        ignores_traps: bool,
    },
    #[cfg(target_arch = "x86_64")]
    Interrupt,
}

/// How the kernel begins to tell that a thread is in read(2).
const READ: &str = if cfg!(target_arch = "x86_64") { "0 " } else { "63 " };
/// The same, of 32-bit programs of PCs.
#[cfg(target_arch = "x86_64")]
const READ_OF_OLD: &str = "3 ";

const PLAIN: Entry = Entry::Syscall { ignores_traps: false };

extern "C" fn count_signal(_: libc::c_int) {
    // SAFETY: set before the handler was, and never unmapped.
    let board = unsafe { &*BOARD.load(Ordering::Relaxed) };
    board.signals.fetch_add(1, Ordering::Relaxed);
}

impl Waiter {
    fn new(entry: Entry) -> Self {
        let (from_test, orders) = io::pipe().unwrap();
        // SAFETY: a null hint lets the kernel choose a free range.
        let board = unsafe {
            rustix::mm::mmap_anonymous(
                ptr::null_mut(),
                4096,
                rustix::mm::ProtFlags::READ | rustix::mm::ProtFlags::WRITE,
                rustix::mm::MapFlags::SHARED,
            )
        };
        let board: *mut Board = board.unwrap().cast();
        // SAFETY: the child only runs system calls and touches what it shares with us.
        let pid = unsafe { libc::fork() };
        if pid == 0 {
            BOARD.store(board, Ordering::Relaxed);
            // SAFETY: the handler only counts.
            unsafe { libc::signal(libc::SIGUSR1, count_signal as *const () as usize) };
            // SAFETY: zeros are an action without flags: calls are not made again after it.
            let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
            action.sa_sigaction = count_signal as *const () as usize;
            // SAFETY: the handler only counts; the old one is not asked for.
            unsafe { libc::sigaction(libc::SIGUSR2, &raw const action, ptr::null_mut()) };
            match entry {
                Entry::Syscall { ignores_traps } => {
                    let action = if ignores_traps { libc::SIG_IGN } else { libc::SIG_DFL };
                    // SAFETY: no handler, so nothing runs.
                    unsafe { libc::signal(libc::SIGTRAP, action) };
                    // SAFETY: mapped above, zeros, for ever.
                    obey(from_test.as_raw_fd(), unsafe { &*board })
                }
                #[cfg(target_arch = "x86_64")]
                // SAFETY: mapped above, zeros, for ever.
                Entry::Interrupt => wait_as_of_old(from_test.as_raw_fd(), unsafe { &*board }),
            }
        }
        assert!(pid > 0);
        // SAFETY: mapped above, zeros, for ever.
        let waiter = Self { pid, board: unsafe { &*board }, orders };
        let awaited = match entry {
            Entry::Syscall { .. } => READ,
            #[cfg(target_arch = "x86_64")]
            Entry::Interrupt => READ_OF_OLD,
        };
        waiter.wait_for("syscall", |call| call.starts_with(awaited));
        waiter
    }

    fn tid(&self) -> u32 {
        self.pid.cast_unsigned()
    }

    fn wait_for(&self, file: &str, is_so: impl Fn(&str) -> bool) {
        let read = || fs::read_to_string(format!("/proc/{}/{file}", self.pid)).unwrap();
        for _ in 0..10_000 {
            if is_so(&read()) {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        panic!("{file} stays {}", read());
    }

    fn is_waiting(&self) {
        self.wait_for("syscall", |call| call.starts_with(READ));
    }

    fn hold(&self) -> StoppedThread {
        self.is_waiting();
        self.stop(|| ()).unwrap()
    }

    fn stop(&self, answer: impl FnOnce()) -> Result<StoppedThread, InjectionError> {
        let answer = || {
            answer();
            Answered::Itself
        };
        let filters = ThreadStatus::own().unwrap().filters;
        let status = ThreadStatus::of(self.tid()).map_err(|_| InjectionError::Gone)?;
        StoppedThread::stop(self.tid(), &status, filters, answer)
    }

    fn write_to(&mut self, number: u32) {
        self.orders.write_all(&[u8::try_from(number).unwrap()]).unwrap();
    }

    fn file(&self, number: u32) -> Option<std::path::PathBuf> {
        fs::read_link(format!("/proc/{}/fd/{number}", self.pid)).ok()
    }

    fn open_files(&self) -> usize {
        fs::read_dir(format!("/proc/{}/fd", self.pid)).unwrap().count()
    }

    fn signal(&self, signal: Signal) {
        rustix::process::kill_process(Pid::from_raw(self.pid).unwrap(), signal).unwrap();
    }

    fn limit_files(&self, limit: u64) {
        let limit = Rlimit { current: Some(limit), maximum: Some(limit) };
        rustix::process::prlimit(Pid::from_raw(self.pid), Resource::Nofile, limit).unwrap();
    }
}

impl Drop for Waiter {
    fn drop(&mut self) {
        // SAFETY: `pid` is a child that was not waited for, so its number is still its own.
        unsafe { libc::kill(self.pid, libc::SIGKILL) };
        // SAFETY: a null pointer asks for no status.
        unsafe { libc::waitpid(self.pid, ptr::null_mut(), libc::__WALL) };
        if !std::thread::panicking() {
            assert_eq!(self.board.unexpected.load(Ordering::Relaxed), 0, "registers have changed");
        }
    }
}

/// Reads numbers and writes to the files behind them, and checks every register around the read.
fn obey(orders: i32, board: &Board) -> ! {
    let mut number = 0_u8;
    loop {
        let (result, as_before) = read_checked(orders, &mut number);
        if !as_before || ![1, -i64::from(libc::EINTR)].contains(&result) {
            board.unexpected.fetch_add(1, Ordering::Relaxed);
        }
        if result != 1 {
            board.interruptions.fetch_add(1, Ordering::Relaxed);
            continue;
        }
        // SAFETY: one byte of ours.
        unsafe { libc::write(number.into(), (&raw const number).cast(), 1) };
    }
}

/// Reads a byte. Returns what the kernel has answered, and whether all other registers are as they were.
#[cfg(target_arch = "x86_64")]
fn read_checked(orders: i32, number: &mut u8) -> (i64, bool) {
    let place = ptr::from_mut(number);
    let (mut rdi, mut rsi, mut rdx) = (u64::from(orders.cast_unsigned()), place, 1_u64);
    let (mut r8, mut r9, mut r10, mut r12) = (0x1111_u64, 0x2222_u64, 0x3333_u64, 0x4444_u64);
    let (mut r13, mut r14, mut r15, mut rax) = (0x5555_u64, 0x6666_u64, 0x7777_u64, 0_i64);
    let mut xmm = 1.5_f64;
    // SAFETY: read(2) of one byte into `number`; the kernel changes rax, rcx and r11 only.
    unsafe {
        asm!("syscall", inout("rax") rax, inout("rdi") rdi, inout("rsi") rsi, inout("rdx") rdx,
            inout("r8") r8, inout("r9") r9, inout("r10") r10, inout("r12") r12,
            inout("r13") r13, inout("r14") r14, inout("r15") r15, inout("xmm7") xmm,
            out("rcx") _, out("r11") _);
    }
    let as_before = (rdi, rsi, rdx) == (u64::from(orders.cast_unsigned()), place, 1)
        && (r8, r9, r10, r12) == (0x1111, 0x2222, 0x3333, 0x4444)
        && (r13, r14, r15) == (0x5555, 0x6666, 0x7777)
        && xmm.to_bits() == 1.5_f64.to_bits();
    (rax, as_before)
}

/// Reads a byte. Returns what the kernel has answered, and whether all other registers are as they were.
#[cfg(target_arch = "aarch64")]
fn read_checked(orders: i32, number: &mut u8) -> (i64, bool) {
    let place = ptr::from_mut(number);
    let mut x0 = i64::from(orders);
    let (mut x1, mut x2, mut x8) = (place, 1_u64, libc::SYS_read);
    let (mut x3, mut x4, mut x5, mut x6) = (0x1111_u64, 0x2222_u64, 0x3333_u64, 0x4444_u64);
    let (mut x7, mut x9, mut x17, mut x28) = (0x5555_u64, 0x6666_u64, 0x7777_u64, 0x8888_u64);
    let mut v7 = 1.5_f64;
    // SAFETY: read(2) of one byte into `number`; the kernel changes x0 only.
    unsafe {
        asm!("svc #0", inout("x0") x0, inout("x1") x1, inout("x2") x2, inout("x3") x3,
            inout("x4") x4, inout("x5") x5, inout("x6") x6, inout("x7") x7, inout("x8") x8,
            inout("x9") x9, inout("x17") x17, inout("x28") x28, inout("v7") v7);
    }
    let as_before = (x1, x2, x8) == (place, 1, libc::SYS_read)
        && (x3, x4, x5, x6) == (0x1111, 0x2222, 0x3333, 0x4444)
        && (x7, x9, x17, x28) == (0x5555, 0x6666, 0x7777, 0x8888)
        && v7.to_bits() == 1.5_f64.to_bits();
    (x0, as_before)
}

/// Waits by the entry of 32-bit programs, counts each answer, and checks every register around the call.
#[cfg(target_arch = "x86_64")]
fn wait_as_of_old(orders: i32, board: &Board) -> ! {
    loop {
        let (mut eax, mut rcx, mut rdx) = (3_i64, 0_u64, 1_u64);
        let (mut rbx, mut rsi, mut rdi) = (i64::from(orders), 0x1111_u64, 0x2222_u64);
        let (mut r12, mut r13, mut r15) = (0x3333_u64, 0x4444_u64, 0x5555_u64);
        // SAFETY: read(2), of 32-bit programs, to where nothing is; rbx is put back.
        unsafe {
            asm!("xchg rbx, {0}", "int 0x80", "xchg rbx, {0}", inout(reg) rbx, inout("rax") eax,
                inout("rcx") rcx, inout("rdx") rdx, inout("rsi") rsi, inout("rdi") rdi,
                inout("r12") r12, inout("r13") r13, inout("r15") r15,
                out("r8") _, out("r9") _, out("r10") _, out("r11") _);
        }
        let as_before = (rbx, rcx, rdx) == (i64::from(orders), 0, 1)
            && (rsi, rdi) == (0x1111, 0x2222)
            && (r12, r13, r15) == (0x3333, 0x4444, 0x5555);
        if eax != -i64::from(libc::EFAULT) || !as_before {
            board.unexpected.fetch_add(1, Ordering::Relaxed);
        }
        board.interruptions.fetch_add(1, Ordering::Relaxed);
        // The byte is still there, and to be taken.
        let mut byte = 0_u8;
        // SAFETY: one byte of ours.
        unsafe { libc::read(orders, (&raw mut byte).cast(), 1) };
    }
}

/// What both sides of the test are: a process of the same user.
fn offer(numbers: &[RawFd]) -> RemoteFiles<'_> {
    RemoteFiles { pid: std::process::id(), numbers }
}

fn memfd() -> OwnedFd {
    rustix::fs::memfd_create("passed", rustix::fs::MemfdFlags::CLOEXEC).unwrap()
}

#[test]
fn files_arrive_two_hundred_times_and_work() {
    let mut waiter = Waiter::new(PLAIN);
    let before = waiter.open_files();
    let lowest = (0..).find(|number| waiter.file(*number).is_none()).unwrap();
    for _ in 0..200 {
        let (mut ours, passed) = UnixStream::pair().unwrap();
        let memory = memfd();
        let mut held = waiter.hold();
        let numbers = held.install(offer(&[passed.as_raw_fd(), memory.as_raw_fd()])).unwrap();
        drop((held, passed));
        assert_eq!(numbers, [lowest, numbers[1]]);
        assert!(numbers[0] < numbers[1]);
        assert!(waiter.file(numbers[1]).unwrap().to_string_lossy().contains("passed"));
        for number in &numbers {
            let info = fs::read_to_string(format!("/proc/{}/fdinfo/{number}", waiter.pid)).unwrap();
            let flags = info.lines().find_map(|line| line.strip_prefix("flags:")).unwrap();
            let flags = i32::from_str_radix(flags.trim(), 8).unwrap();
            assert_ne!(flags & libc::O_CLOEXEC, 0);
        }
        waiter.write_to(numbers[0]);
        let mut byte = [0];
        ours.read_exact(&mut byte).unwrap();
        assert_eq!(u32::from(byte[0]), numbers[0]);
        let mut held = waiter.hold();
        for number in numbers {
            held.close(number).unwrap();
        }
        drop(held);
        assert_eq!(ours.read(&mut byte).unwrap(), 0, "no descriptor of the other end is left");
        assert_eq!(waiter.open_files(), before);
    }
}

#[test]
fn files_come_all_or_none() {
    let waiter = Waiter::new(PLAIN);
    let before = waiter.open_files();
    let mut free = (0..).filter(|number| waiter.file(*number).is_none());
    let memory = memfd();
    let memory = memory.as_raw_fd();
    assert!(waiter.hold().install(offer(&[memory, memory, 9999])).is_err());
    assert_eq!(waiter.open_files(), before);
    waiter.limit_files(free.nth(3).unwrap().into());
    assert_eq!(waiter.hold().install(offer(&[memory; 3])), Err(InstallError::NoRoom));
    assert_eq!(waiter.open_files(), before);
    assert_eq!(waiter.hold().install(offer(&[memory; 2])).map(|numbers| numbers.len()), Ok(2));
    assert!(waiter.hold().install(RemoteFiles { pid: u32::MAX >> 1, numbers: &[0] }).is_err());
}

#[test]
fn signals_wait_until_the_thread_goes_on() {
    let waiter = Waiter::new(PLAIN);
    let memory = memfd();
    for sent in 1..20 {
        let mut held = waiter.hold();
        waiter.signal(Signal::USR1);
        held.install(offer(&[memory.as_raw_fd()])).unwrap();
        assert_eq!(waiter.board.signals.load(Ordering::Relaxed), sent - 1);
        drop(held);
        while waiter.board.signals.load(Ordering::Relaxed) != sent {
            std::thread::yield_now();
        }
    }
    let mut held = waiter.hold();
    waiter.signal(Signal::STOP);
    held.install(offer(&[memory.as_raw_fd()])).unwrap();
    drop(held);
    waiter.wait_for("status", |status| status.contains("T (stopped)"));
    waiter.signal(Signal::CONT);
    waiter.is_waiting();
}

#[test]
fn a_signal_interrupts_a_call_that_would_be_repeated() {
    let waiter = Waiter::new(PLAIN);
    let memory = memfd();
    for sent in 1..20 {
        let mut held = waiter.hold();
        held.install(offer(&[memory.as_raw_fd()])).unwrap();
        waiter.signal(Signal::USR2);
        drop(held);
        while waiter.board.interruptions.load(Ordering::Relaxed) != sent {
            std::thread::yield_now();
        }
    }
}

#[test]
fn a_thread_that_is_killed_is_gone() {
    let memory = memfd();
    for calls in 0..3 {
        let waiter = Waiter::new(PLAIN);
        let mut held = waiter.hold();
        for _ in 0..calls {
            held.install(offer(&[memory.as_raw_fd()])).unwrap();
        }
        waiter.signal(Signal::KILL);
        let gone = held.install(offer(&[memory.as_raw_fd()])).unwrap_err();
        assert_eq!(gone, InstallError::Injection(InjectionError::Gone));
        drop(held);
        let killed = waiter.stop(|| unreachable!("no thread to answer")).unwrap_err();
        assert!(matches!(killed, InjectionError::Gone | InjectionError::Refused { .. }));
    }
}

#[test]
fn a_thread_that_ignores_traps_goes_on_ignoring_them() {
    let waiter = Waiter::new(Entry::Syscall { ignores_traps: true });
    let memory = memfd();
    for _ in 0..10 {
        waiter.hold().install(offer(&[memory.as_raw_fd()])).unwrap();
    }
    let status = ThreadStatus::of(waiter.tid()).unwrap();
    assert_ne!(status.ignored_signals & (1 << (libc::SIGTRAP - 1)), 0);
}

#[test]
fn a_traced_thread_is_left_alone() {
    let waiter = Waiter::new(PLAIN);
    let held = waiter.hold();
    let refused = std::thread::scope(|scope| {
        let second = || waiter.stop(|| unreachable!("it is not stopped")).unwrap_err();
        scope.spawn(second).join().unwrap()
    });
    assert_eq!(refused, InjectionError::Traced);
    drop(held);
}

#[cfg(target_arch = "x86_64")]
#[test]
fn a_thread_that_calls_as_32_bit_programs_do_takes_files() {
    let mut waiter = Waiter::new(Entry::Interrupt);
    let memory = memfd();
    let before = waiter.open_files();
    for sent in 1..20 {
        let mut held = waiter.stop(|| ()).unwrap();
        let numbers = held.install(offer(&[memory.as_raw_fd(); 2])).unwrap();
        drop(held);
        assert_eq!(waiter.open_files(), before + 2);
        assert!(waiter.file(numbers[0]).unwrap().to_string_lossy().contains("passed"));
        waiter.wait_for("syscall", |call| call.starts_with(READ_OF_OLD));
        waiter.write_to(0);
        while waiter.board.interruptions.load(Ordering::Relaxed) != sent {
            std::thread::yield_now();
        }
        waiter.wait_for("syscall", |call| call.starts_with(READ_OF_OLD));
        let mut held = waiter.stop(|| ()).unwrap();
        for number in numbers {
            held.close(number).unwrap();
        }
        drop(held);
        assert_eq!(waiter.open_files(), before);
        waiter.wait_for("syscall", |call| call.starts_with(READ_OF_OLD));
    }
}
