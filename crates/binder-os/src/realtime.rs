//! A thread that answers others at a real-time priority, and gives it up when it runs for too long.
//!
//! The guard is the kernel's: it counts how long a real-time thread runs without sleeping (`RLIMIT_RTTIME`), and
//! sends SIGXCPU to that very thread, which makes itself ordinary. So neither a loop of ours nor a flood of
//! requests keeps a processor from others for longer, and no other thread must get to run for that.

#![expect(unsafe_code, reason = "signal handlers and scheduling policies have no safe wrapper")]

use std::io;
use std::marker::PhantomData;
use std::mem;
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use rustix::process::{Resource, Rlimit};
use rustix::time::{ClockId, clock_gettime};

use crate::processes;

/// The lowest: every other real-time thread comes first.
const PRIORITY: libc::c_int = 1;
/// How long a real-time thread may run without sleeping. The kernel counts in ticks, of 10 ms at most.
const MAX_US: u64 = 20_000;
/// How long a thread that has run for too long has no [`Boost`].
const REST_MS: u64 = 1000;
/// What a thread starts is ordinary.
const RESET_ON_FORK: libc::c_int = libc::SCHED_RESET_ON_FORK;

thread_local! {
    /// Until when the calling thread has no boost, by the steady clock. It needs neither to be made nor to be
    /// dropped, so that a signal handler may use it.
    static ORDINARY_UNTIL_MS: AtomicU64 = const { AtomicU64::new(0) };
}

fn now_ms() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    let ms = now.tv_sec * 1000 + now.tv_nsec / 1_000_000;
    u64::try_from(ms).unwrap_or(0)
}

/// Finds out whether threads of this process may be real-time threads, by making one.
///
/// # Errors
///
/// As [`promote`].
pub fn probe() -> io::Result<()> {
    let tried =
        thread::Builder::new().name("probe".into()).spawn(|| promote(processes::own_thread()))?;
    tried.join().unwrap_or_else(|_| Err(io::Error::other("it met a bug")))
}

/// Makes a thread of this process a real-time thread, and what it starts ordinary ones.
///
/// # Errors
///
/// As sched_setscheduler(2), `EPERM` without CAP_SYS_NICE, an `RLIMIT_RTPRIO`, or a share of the real-time
/// processor time of a cgroup; as setrlimit(2) and sigaction(2).
pub fn promote(tid: u32) -> io::Result<()> {
    handle_overruns()?;
    limit_runs()?;
    set_policy(tid, libc::SCHED_FIFO, PRIORITY)
}

/// Makes a real-time thread of this process an ordinary one.
///
/// # Errors
///
/// As sched_setscheduler(2).
pub fn demote(tid: u32) -> io::Result<()> {
    set_policy(tid, libc::SCHED_OTHER, 0)
}

/// The calling thread as a real-time thread for a while: for as long as it has what real-time threads wait for.
/// It ends with this, or as [`promote`] says, which must have been called before.
#[derive(Debug)]
pub struct Boost(PhantomData<*const ()>);

impl Boost {
    /// Begins it. `None` if the thread is a real-time thread already, may not be one, or has run for too long
    /// within the last second: boosts without sleep between them count as one run.
    pub fn begin() -> Option<Self> {
        let is_late = ORDINARY_UNTIL_MS.with(|until| now_ms() < until.load(Ordering::Relaxed));
        if is_late || is_realtime(0).unwrap_or(true) {
            return None;
        }
        set_policy(0, libc::SCHED_FIFO, PRIORITY).ok().map(|()| Self(PhantomData))
    }
}

impl Drop for Boost {
    fn drop(&mut self) {
        // It has the right to be ordinary.
        let _ = demote(0);
    }
}

/// Whether a thread is a real-time thread.
///
/// # Errors
///
/// As sched_getscheduler(2).
pub fn is_realtime(tid: u32) -> io::Result<bool> {
    // SAFETY: the call has no pointers, and changes nothing.
    let policy = unsafe { libc::syscall(libc::SYS_sched_getscheduler, tid) };
    if policy < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(policy & !libc::c_long::from(RESET_ON_FORK) == libc::c_long::from(libc::SCHED_FIFO))
}

/// By way of the system call: the function of that name does nothing in some C libraries.
fn set_policy(tid: u32, policy: libc::c_int, priority: libc::c_int) -> io::Result<()> {
    let parameter = SchedParam { priority };
    // SAFETY: the kernel reads one `sched_param` through the pointer, which is an int, and keeps nothing of it.
    let result = unsafe {
        libc::syscall(
            libc::SYS_sched_setscheduler,
            tid,
            policy | RESET_ON_FORK,
            &raw const parameter,
        )
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// `struct sched_param`, as the kernel has it.
#[repr(C)]
struct SchedParam {
    priority: libc::c_int,
}

/// Has the kernel tell a real-time thread that has run for too long. It puts the limit off each time that it does.
fn limit_runs() -> io::Result<()> {
    let maximum = rustix::process::getrlimit(Resource::Rttime).maximum;
    let current = Some(maximum.map_or(MAX_US, |maximum| maximum.min(MAX_US)));
    Ok(rustix::process::setrlimit(Resource::Rttime, Rlimit { current, maximum })?)
}

fn handle_overruns() -> io::Result<()> {
    // SAFETY: a `sigaction` of zeroes has an empty mask, no flags and the default action.
    let mut action: libc::sigaction = unsafe { mem::zeroed() };
    action.sa_sigaction = end_overrun as *const () as usize;
    action.sa_flags = libc::SA_RESTART;
    // SAFETY: the action is initialised and only read; its handler does only what handlers may (see there).
    let result = unsafe { libc::sigaction(libc::SIGXCPU, &raw const action, ptr::null_mut()) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Makes the thread ordinary that has run for too long: the one that the signal comes to. It may have become
/// ordinary by itself since.
///
/// It may interrupt anything, so it takes no lock and no memory: it makes system calls, and leaves `errno` as it
/// was. The signal also comes when the process has used up `RLIMIT_CPU`, and then has its default action.
extern "C" fn end_overrun(_: libc::c_int) {
    let errno = io::Error::last_os_error().raw_os_error().unwrap_or(0);
    if is_at_cpu_limit() {
        // SAFETY: signal(2) and raise(3) may be called in a handler; they have no pointers here.
        unsafe { libc::signal(libc::SIGXCPU, libc::SIG_DFL) };
        // SAFETY: as above.
        unsafe { libc::raise(libc::SIGXCPU) };
    } else {
        // The thread has the right to be ordinary, and the limit is below its maximum.
        if is_realtime(0).unwrap_or(false) {
            let _ = demote(0);
        }
        ORDINARY_UNTIL_MS.with(|until| until.store(now_ms() + REST_MS, Ordering::Relaxed));
        let _ = limit_runs();
    }
    // SAFETY: the function has no condition.
    let place = unsafe { libc::__errno_location() };
    // SAFETY: the address of this thread's `errno` is valid for as long as the thread is.
    unsafe { *place = errno };
}

/// Whether the process has used up all the time of processors that it may have. The kernel puts that limit off
/// by a second whenever it sends the signal.
fn is_at_cpu_limit() -> bool {
    let used = clock_gettime(ClockId::ProcessCPUTime);
    let used_s = u64::try_from(used.tv_sec).unwrap_or(0);
    let limit_s = rustix::process::getrlimit(Resource::Cpu).current;
    limit_s.is_some_and(|limit_s| used_s + 1 >= limit_s)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// Runs `act` in a real-time thread, if there may be one here.
    fn in_realtime_thread(act: impl FnOnce(u32) + Send) {
        thread::scope(|scope| {
            scope.spawn(|| {
                let own = processes::own_thread();
                match promote(own) {
                    Ok(()) => act(own),
                    Err(error) => binder_testkit::skip(format_args!(
                        "no thread may be real-time here: {error}"
                    )),
                }
            });
        });
    }

    #[test]
    fn a_realtime_thread_that_runs_for_too_long_becomes_ordinary_each_time() {
        in_realtime_thread(|own| {
            for _ in 0..2 {
                let start = processes::own_thread_time();
                promote(own).unwrap();
                while is_realtime(own).unwrap() {
                    let took = processes::own_thread_time() - start;
                    assert!(took < Duration::from_secs(1), "nothing ends it");
                }
            }
        });
    }

    #[test]
    fn threads_that_a_realtime_thread_starts_are_ordinary() {
        in_realtime_thread(|own| {
            assert!(is_realtime(own).unwrap());
            let started = thread::spawn(|| is_realtime(processes::own_thread()).unwrap());
            assert!(!started.join().unwrap());
            demote(own).unwrap();
            assert!(!is_realtime(own).unwrap());
        });
    }

    #[test]
    fn a_boost_lasts_for_as_long_as_it_is_kept_and_leaves_a_realtime_thread_as_it_is() {
        in_realtime_thread(|own| {
            assert!(Boost::begin().is_none(), "it has that priority");
            demote(own).unwrap();
            let boost = Boost::begin();
            assert!(boost.is_some() && is_realtime(own).unwrap());
            drop(boost);
            assert!(!is_realtime(own).unwrap());
        });
    }

    #[test]
    fn boosts_without_sleep_between_them_are_one_run_and_end_for_a_while() {
        in_realtime_thread(|own| {
            demote(own).unwrap();
            let start = processes::own_thread_time();
            while let Some(boost) = Boost::begin() {
                drop(boost);
                let took = processes::own_thread_time() - start;
                assert!(took < Duration::from_secs(1), "nothing ends them");
            }
            assert!(Boost::begin().is_none());
        });
    }

    #[test]
    fn an_overrun_that_is_told_when_the_thread_is_ordinary_again_ends_nobody() {
        in_realtime_thread(|own| {
            demote(own).unwrap();
            let process = rustix::process::getpid();
            rustix::process::kill_process(process, rustix::process::Signal::XCPU).unwrap();
            assert!(!is_realtime(own).unwrap());
        });
    }

    #[test]
    fn a_probe_leaves_the_thread_that_asks_as_it_is() {
        let _ = probe();
        assert!(!is_realtime(processes::own_thread()).unwrap());
    }
}
