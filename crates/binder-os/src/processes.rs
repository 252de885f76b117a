//! Processes of our own: forking, ending, waiting, limits.

#![expect(unsafe_code, reason = "fork has no safe wrapper")]

use std::ffi::CStr;
use std::fmt;
use std::fs::{self, File};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::time::Duration;

use rustix::io::Errno;
use rustix::process::{DumpableBehavior, Gid, Pid, PidfdFlags, Resource, Rlimit, Uid, WaitOptions};

pub use crate::signals::Signal;

/// Which of the two processes that fork(2) leaves is running.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fork {
    /// The new one.
    Child,
    /// The old one, which must wait for the child.
    Parent(Child),
}

/// A child process that was not waited for yet, so that its number is still its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Child {
    pid: Pid,
}

/// What became of a child.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// It ended by itself with this status.
    Exited(u8),
    /// It was ended by this signal.
    Killed(i32),
    /// It was stopped by this signal and may be continued.
    Stopped(i32),
}

/// Divides the process in two, both of which return from here.
///
/// # Errors
///
/// `ResourceBusy` if the process has more than one thread: in the child the others would be
/// missing, with their locks held for ever. Else as fork(2).
pub fn fork() -> io::Result<Fork> {
    if fs::read_dir("/proc/self/task")?.count() != 1 {
        return Err(io::ErrorKind::ResourceBusy.into());
    }
    // SAFETY: this is the only thread, as just counted, and only it could start another;
    // so the child has all threads of the parent and every lock is in a state it can go on from.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => Ok(Fork::Child),
        pid => {
            let pid = Pid::from_raw(pid).expect("fork returns a positive number to the parent");
            Ok(Fork::Parent(Child { pid }))
        }
    }
}

impl Child {
    /// Returns the process number.
    #[must_use]
    pub fn pid(self) -> u32 {
        self.pid.as_raw_nonzero().get().unsigned_abs()
    }

    /// Sends `signal`; a child that has ended takes no notice.
    ///
    /// # Errors
    ///
    /// As kill(2).
    pub fn signal(self, signal: Signal) -> io::Result<()> {
        match rustix::process::kill_process(self.pid, signal) {
            Err(Errno::SRCH) => Ok(()),
            result => Ok(result?),
        }
    }

    /// Waits for the child's end.
    ///
    /// # Errors
    ///
    /// As waitpid(2).
    pub fn wait(self) -> io::Result<Change> {
        loop {
            let options = WaitOptions::empty();
            let waited =
                rustix::io::retry_on_intr(|| rustix::process::waitpid(Some(self.pid), options))?;
            if let Some(change) = waited.and_then(|(_, status)| Change::of(status)) {
                return Ok(change);
            }
        }
    }
}

/// Collects the next child that ended or stopped, whichever it is, without waiting.
///
/// # Errors
///
/// As waitpid(2); having no children is not an error.
pub fn next_change() -> io::Result<Option<(u32, Change)>> {
    loop {
        let options = WaitOptions::NOHANG | WaitOptions::UNTRACED;
        match rustix::io::retry_on_intr(|| rustix::process::wait(options)) {
            Ok(Some((pid, status))) => {
                if let Some(change) = Change::of(status) {
                    return Ok(Some((pid.as_raw_nonzero().get().unsigned_abs(), change)));
                }
            }
            Ok(None) | Err(Errno::CHILD) => return Ok(None),
            Err(errno) => return Err(errno.into()),
        }
    }
}

/// Ends all children but `spared` with SIGKILL, and collects them. Descendants end as well where this
/// process [adopts](adopt_orphans) them: they become children when their parents end.
///
/// A child keeps its number until it is collected, so no other process is signalled; nor does this
/// look at any other.
///
/// # Errors
///
/// As reading /proc/self/task/TID/children, which some kernels do not have, and as waitpid(2).
pub fn end_children(spared: Option<u32>) -> io::Result<()> {
    loop {
        let mut children = children()?;
        children.retain(|child| Some(child.pid()) != spared);
        if children.is_empty() {
            return Ok(());
        }
        for child in children {
            child.signal(Signal::KILL)?;
        }
        // Waits for one of them, and then collects all others that have ended by then.
        rustix::io::retry_on_intr(|| rustix::process::wait(WaitOptions::empty()))?;
        while next_change()?.is_some() {}
    }
}

/// Lists the children of this process that were not collected yet.
fn children() -> io::Result<Vec<Child>> {
    let mut children = Vec::new();
    for task in fs::read_dir("/proc/self/task")? {
        let list = fs::read_to_string(task?.path().join("children"))?;
        let pids = list.split_ascii_whitespace().filter_map(|pid| Pid::from_raw(pid.parse().ok()?));
        children.extend(pids.map(|pid| Child { pid }));
    }
    Ok(children)
}

impl fmt::Display for Change {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exited(status) => write!(formatter, "it ended with status {status}"),
            Self::Killed(signal) => write!(formatter, "it was killed by signal {signal}"),
            Self::Stopped(signal) => write!(formatter, "it was stopped by signal {signal}"),
        }
    }
}

impl Change {
    fn of(status: rustix::process::WaitStatus) -> Option<Self> {
        if let Some(code) = status.exit_status() {
            return Some(Self::Exited(u8::try_from(code & 0xff).expect("masked")));
        }
        let killed = status.terminating_signal().map(Self::Killed);
        killed.or_else(|| status.stopping_signal().map(Self::Stopped))
    }

    /// Returns the exit status by which a shell tells of this end: 128 and the signal for a
    /// violent one; `None` for a child that has not ended.
    #[must_use]
    pub fn exit_status(self) -> Option<u8> {
        match self {
            Self::Exited(status) => Some(status),
            Self::Killed(signal) => Some(128 | u8::try_from(signal & 0x7f).expect("masked")),
            Self::Stopped(_) => None,
        }
    }
}

/// The number of the calling thread.
pub fn own_thread() -> u32 {
    thread_local! {
        static NUMBER: u32 = rustix::thread::gettid().as_raw_nonzero().get().unsigned_abs();
    }
    NUMBER.with(|number| *number)
}

/// The processor on which the calling thread runs.
#[must_use]
pub fn own_cpu() -> u32 {
    u32::try_from(rustix::thread::sched_getcpu()).unwrap_or(0)
}

/// Whether a thread is one of this process.
#[must_use]
pub fn is_own(thread: u32) -> bool {
    fs::exists(format!("/proc/self/task/{thread}")).unwrap_or(false)
}

/// How long the calling thread has run on a processor.
#[must_use]
pub fn own_thread_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::try_from(time).unwrap_or_default()
}

/// Whether a thread of this process sleeps in a system call.
pub fn is_blocked(thread: u32) -> bool {
    current_call(thread).is_some()
}

/// Whether a thread of this process sleeps in a transfer to or from the memory of another process,
/// which the call has hold of before it first sleeps.
pub(crate) fn waits_in_transfer(thread: u32) -> bool {
    let transfers = [
        libc::SYS_process_vm_readv,
        libc::SYS_process_vm_writev,
        libc::SYS_pread64,
        libc::SYS_pwrite64,
    ];
    current_call(thread).is_some_and(|call| transfers.contains(&call))
}

/// The system call in which a thread of this process sleeps; `None` if it runs, or is about to.
fn current_call(thread: u32) -> Option<libc::c_long> {
    let told = fs::read_to_string(format!("/proc/self/task/{thread}/syscall")).ok()?;
    // "running", or -1 for a sleep outside of any call.
    let number = told.split_ascii_whitespace().next()?.parse::<libc::c_long>().ok()?;
    (number >= 0).then_some(number)
}

/// Stops the calling process until another process continues it.
///
/// # Errors
///
/// As kill(2).
pub fn stop_self() -> io::Result<()> {
    Ok(rustix::process::kill_process(rustix::process::getpid(), Signal::STOP)?)
}

/// Opens a descriptor that stays with the process even when its number goes to another.
///
/// # Errors
///
/// As pidfd_open(2).
pub fn pidfd(pid: u32) -> io::Result<OwnedFd> {
    Ok(rustix::process::pidfd_open(pid_of(pid)?, PidfdFlags::empty())?)
}

/// Sends SIGKILL to the process behind a descriptor.
///
/// # Errors
///
/// As pidfd_send_signal(2): an error, too, if it has ended.
pub fn kill(process: &OwnedFd) -> io::Result<()> {
    Ok(rustix::process::pidfd_send_signal(process, Signal::KILL)?)
}

/// Returns the numbers of all processes but the calling one.
pub(crate) fn all() -> io::Result<impl Iterator<Item = u32>> {
    let own_pid = std::process::id();
    let entries = fs::read_dir("/proc")?.flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    Ok(pids.filter(move |&pid| pid != own_pid))
}

/// Returns whether process `pid` runs or may run again: zombies only wait to be collected.
pub(crate) fn is_alive(pid: u32) -> bool {
    let Ok(stat) = fs::read(format!("/proc/{pid}/stat")) else { return false };
    // The name, in parentheses, may hold anything, parentheses too.
    let after_name = stat.rsplit(|&byte| byte == b')').next().unwrap_or_default();
    after_name.trim_ascii().first().is_some_and(|state| !matches!(state, b'Z' | b'X'))
}

/// Has the kernel send `signal` to this process when the thread that created it ends.
///
/// The wish is forgotten by executing a program that gains privileges. It does not look back: the
/// caller must check afterwards that its parent is still the one it knew.
///
/// # Errors
///
/// As prctl(2).
pub fn die_with_parent(signal: Signal) -> io::Result<()> {
    Ok(rustix::process::set_parent_process_death_signal(Some(signal))?)
}

/// Returns the number of the parent, or `None` if that is outside our pid namespace.
#[must_use]
pub fn parent() -> Option<u32> {
    rustix::process::getppid().map(|pid| pid.as_raw_nonzero().get().unsigned_abs())
}

/// Makes this process the new parent of descendants whose parent ends.
///
/// # Errors
///
/// As prctl(2).
pub fn adopt_orphans() -> io::Result<()> {
    Ok(rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?)
}

/// Lets others with our rights inspect this process, as they may inspect any. A process loses that by
/// gaining rights, as in a user namespace of its own, until it executes a program.
///
/// # Errors
///
/// As prctl(2).
pub fn allow_inspection() -> io::Result<()> {
    Ok(rustix::process::set_dumpable_behavior(DumpableBehavior::Dumpable)?)
}

/// Leaves the session of the terminal, and with it the reach of its signals.
///
/// # Errors
///
/// As setsid(2): `PermissionDenied` for the leader of a process group.
pub fn leave_session() -> io::Result<()> {
    rustix::process::setsid()?;
    Ok(())
}

/// Names the calling thread for ps(1); 15 bytes are kept.
///
/// # Errors
///
/// As prctl(2).
pub fn set_name(name: &CStr) -> io::Result<()> {
    Ok(rustix::thread::set_name(name)?)
}

/// Lets this process open as many files as the administrator allows.
///
/// # Errors
///
/// As setrlimit(2).
pub fn raise_open_file_limit() -> io::Result<()> {
    let limit = rustix::process::getrlimit(Resource::Nofile);
    let raised = Rlimit { current: limit.maximum, maximum: limit.maximum };
    Ok(rustix::process::setrlimit(Resource::Nofile, raised)?)
}

/// How long the children that were waited for, and theirs, have run: in user mode and in the kernel.
#[must_use]
pub fn children_cpu_time() -> Duration {
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: getrusage(2) writes one `rusage` through its argument, which has room for that; it
    // refuses nothing but unknown words, and RUSAGE_CHILDREN is none.
    unsafe { libc::getrusage(libc::RUSAGE_CHILDREN, usage.as_mut_ptr()) };
    // SAFETY: zeroes are a valid `rusage`, and so is what the kernel wrote over them.
    let usage = unsafe { usage.assume_init() };
    let time = |it: libc::timeval| {
        let micros = u64::try_from(it.tv_usec).unwrap_or(0);
        Duration::from_secs(u64::try_from(it.tv_sec).unwrap_or(0)) + Duration::from_micros(micros)
    };
    time(usage.ru_utime) + time(usage.ru_stime)
}

/// How many files this process may have open.
#[must_use]
pub fn open_file_limit() -> u64 {
    rustix::process::getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX)
}

/// Returns how many bytes a file of this process may have. The kernel ends a process that makes one longer by SIGXFSZ, files
/// in memory included.
#[must_use]
pub fn file_size_limit() -> u64 {
    rustix::process::getrlimit(Resource::Fsize).current.unwrap_or(u64::MAX)
}

/// A standard stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stream {
    /// Descriptor 0.
    Input,
    /// Descriptor 1.
    Output,
    /// Descriptor 2.
    Error,
}

/// Connects a standard stream to /dev/null.
///
/// # Errors
///
/// As open(2) and dup2(2).
pub fn silence(stream: Stream) -> io::Result<()> {
    let null = File::options().read(true).write(true).open("/dev/null")?;
    Ok(match stream {
        Stream::Input => rustix::stdio::dup2_stdin(null),
        Stream::Output => rustix::stdio::dup2_stdout(null),
        Stream::Error => rustix::stdio::dup2_stderr(null),
    }?)
}

/// Connects a standard stream to a file.
///
/// # Errors
///
/// As dup2(2).
pub fn connect(stream: Stream, file: BorrowedFd<'_>) -> io::Result<()> {
    Ok(match stream {
        Stream::Input => rustix::stdio::dup2_stdin(file),
        Stream::Output => rustix::stdio::dup2_stdout(file),
        Stream::Error => rustix::stdio::dup2_stderr(file),
    }?)
}

/// Closes all files that this process has inherited, but for the standard streams.
///
/// Must come before this process opens any.
///
/// # Errors
///
/// As close_range(2), which is there from Linux 5.9 on.
pub fn close_inherited_files() -> io::Result<()> {
    close_above_standard(0)
}

/// Calls close_range(2) for all descriptors but the standard streams, of which this process must own none, or must use
/// none any more.
pub(crate) fn close_above_standard(how: libc::c_uint) -> io::Result<()> {
    const FIRST: libc::c_uint = 3;
    // SAFETY: by the rule above no value of this process uses any of these descriptors.
    let result = unsafe { libc::syscall(libc::SYS_close_range, FIRST, libc::c_uint::MAX, how) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Attributes that a process inherits beside its environment and its files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Inheritable {
    /// The permissions that files made by it do not get.
    pub umask: u32,
    /// Whether it may gain no rights by executing programs.
    pub no_new_privileges: bool,
}

impl Inheritable {
    /// What this process has.
    ///
    /// # Errors
    ///
    /// As prctl(2).
    pub fn own() -> io::Result<Self> {
        let umask = rustix::process::umask(rustix::fs::Mode::empty());
        rustix::process::umask(umask);
        Ok(Self { umask: umask.bits(), no_new_privileges: rustix::thread::no_new_privs()? })
    }

    /// Has this process have the same.
    ///
    /// # Errors
    ///
    /// As prctl(2).
    pub fn take_over(self) -> io::Result<()> {
        rustix::process::umask(rustix::fs::Mode::from_bits_truncate(self.umask));
        if self.no_new_privileges {
            rustix::thread::set_no_new_privs(true)?;
        }
        Ok(())
    }
}

/// Has the calling process, of one thread, go on as another user, in no further groups.
///
/// # Errors
///
/// As setresuid(2): `InvalidInput` for a user that does not exist in this user namespace.
pub fn become_user(uid: u32, gid: u32) -> io::Result<()> {
    let (uid, gid) = (Uid::from_raw(uid), Gid::from_raw(gid));
    match rustix::thread::set_thread_groups(&[]) {
        // Of a user namespace of one user, whose groups mean nothing there. A process that may not change groups at all meets the
        // next call.
        Ok(()) | Err(Errno::PERM) => {}
        Err(errno) => return Err(errno.into()),
    }
    rustix::thread::set_thread_res_gid(gid, gid, gid)?;
    Ok(rustix::thread::set_thread_res_uid(uid, uid, uid)?)
}

/// Sends `signal` to a child and all others of the process group that it leads.
///
/// # Errors
///
/// As kill(2); a group that has ended takes no notice.
pub fn signal_group(leader: Child, signal: Signal) -> io::Result<()> {
    match rustix::process::kill_process_group(leader.pid, signal) {
        Err(Errno::SRCH) => Ok(()),
        result => Ok(result?),
    }
}

/// How many children this process has, but for `except`: those too that have ended and were not collected.
///
/// # Errors
///
/// As reading /proc.
pub fn count_children(except: u32) -> io::Result<usize> {
    Ok(children()?.into_iter().filter(|child| child.pid() != except).count())
}

/// Returns the effective user and group of this process.
#[must_use]
pub fn user() -> (u32, u32) {
    (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw())
}

fn pid_of(pid: u32) -> io::Result<Pid> {
    let raw = i32::try_from(pid).ok().and_then(Pid::from_raw);
    // Zero would name our own group, a negative number another one.
    raw.ok_or_else(|| Errno::SRCH.into())
}
