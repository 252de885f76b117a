//! Scheduling policies and priorities of clients' threads.
//!
//! The kernel lets a process with CAP_SYS_NICE give any thread any priority. So this module asks what the thread's
//! own process might give it: by that capability, or by its `RLIMIT_RTPRIO` and `RLIMIT_NICE`.

#![expect(unsafe_code, reason = "sched_getattr(2) and sched_setattr(2) have no safe wrapper")]

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;

use rustix::process::{Pid, Resource, Rlimit};
use rustix::thread::{self, CapabilitySet};
use zerocopy::{FromBytes, FromZeros, Immutable, IntoBytes, KnownLayout};

use crate::proc_files;

/// The bit of CAP_SYS_NICE.
const CAP_SYS_NICE: u32 = 23;
const MIN_NICE: i32 = -20;
const MAX_NICE: i32 = 19;
/// The inode number of the first user namespace of a machine (Linux `include/linux/proc_ns.h`).
const FIRST_USER_NAMESPACE: u64 = 0xEFFF_FFFD;
const NORMAL: u32 = libc::SCHED_OTHER.unsigned_abs();
const FIFO: u32 = libc::SCHED_FIFO.unsigned_abs();
const ROUND_ROBIN: u32 = libc::SCHED_RR.unsigned_abs();
const BATCH: u32 = libc::SCHED_BATCH.unsigned_abs();
/// `SCHED_FLAG_RESET_ON_FORK` of `linux/sched.h`.
const RESET_ON_FORK: u64 = 1;

/// How a thread is scheduled.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ThreadPriority {
    /// The number of its policy, a `SCHED_*`.
    pub policy: u32,
    /// Its priority, 1 to 99 (the highest), under a real-time policy; else its nice value, 19 to -20 (the highest).
    pub level: i8,
    /// Whether the threads that it starts are ordinary ones (`SCHED_RESET_ON_FORK`).
    pub resets_on_fork: bool,
}

impl ThreadPriority {
    /// Whether the kernel runs the thread before all under other policies.
    const fn is_realtime(self) -> bool {
        matches!(self.policy, FIFO | ROUND_ROBIN)
    }
}

/// `struct sched_attr` of `linux/sched/types.h`, in its first version.
#[derive(FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
struct SchedAttr {
    size: u32,
    policy: u32,
    flags: u64,
    nice: i32,
    priority: u32,
    runtime: u64,
    deadline: u64,
    period: u64,
}

const ATTR_BYTES: u32 = 48;
const _: () = assert!(size_of::<SchedAttr>() == ATTR_BYTES as usize);

/// Returns how thread `tid` is scheduled; `None` under a policy whose threads cannot be compared by a number, as
/// `SCHED_IDLE` and `SCHED_DEADLINE`.
///
/// # Errors
///
/// As sched_getattr(2).
pub fn of(tid: u32) -> io::Result<Option<ThreadPriority>> {
    let SchedAttr { policy, flags, nice, priority, .. } = attributes(tid)?;
    let level = match policy {
        NORMAL | BATCH => i8::try_from(nice).ok(),
        FIFO | ROUND_ROBIN => i8::try_from(priority).ok(),
        _ => return Ok(None),
    };
    let level = level.ok_or(io::ErrorKind::InvalidData)?;
    Ok(Some(ThreadPriority { policy, level, resets_on_fork: flags & RESET_ON_FORK != 0 }))
}

/// Returns how nice thread `tid` is, whatever its policy.
///
/// # Errors
///
/// As getpriority(2).
pub fn nice_of(tid: u32) -> io::Result<i8> {
    let nice = rustix::process::getpriority_process(number(tid))?;
    i8::try_from(nice).map_err(|_| io::ErrorKind::InvalidData.into())
}

/// Gives thread `tid` of process `tgid` this priority, or as much of it as that process may have: of a real-time
/// priority as much as `RLIMIT_RTPRIO` allows, else the least nice value that `RLIMIT_NICE` does, else nothing.
///
/// A thread that this process could not make again what it is stays as it is.
///
/// # Errors
///
/// As sched_setattr(2), `PermissionDenied` where this process may not change such a thread; as reading /proc,
/// `NotFound` if the thread has ended.
pub fn inherit(tgid: u32, tid: u32, priority: ThreadPriority) -> io::Result<()> {
    check_thread(tgid, tid)?;
    let Some(own) = of(tid)? else { return Ok(()) };
    let limits = PriorityLimits::of(tgid)?;
    let is_privileged = is_privileged();
    let mut allowed = limits.allow(priority);
    if allowed != Some(priority) && is_client_privileged(tgid, tid)? {
        if is_privileged {
            allowed = Some(priority);
        } else if allowed.is_none() {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
    }
    let Some(allowed) = allowed else { return Ok(()) };
    if !is_privileged && !limits.allow_back(own, allowed) {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    let resets_on_fork = own.resets_on_fork || allowed.is_realtime();
    set(tid, ThreadPriority { resets_on_fork, ..allowed })
}

/// Gives thread `tid` of process `tgid` the priority that it had before it [inherited](inherit) another.
///
/// # Errors
///
/// As sched_setattr(2); `NotFound` if the thread has ended.
pub fn restore(tgid: u32, tid: u32, priority: ThreadPriority) -> io::Result<()> {
    check_thread(tgid, tid)?;
    let result = set(tid, priority);
    let is_refused =
        matches!(&result, Err(error) if error.kind() == io::ErrorKind::PermissionDenied);
    if is_refused && !priority.resets_on_fork {
        // What the thread starts stays ordinary: only a privileged process takes that back.
        return set(tid, ThreadPriority { resets_on_fork: true, ..priority });
    }
    result
}

/// Makes thread `tid` of process `tgid` as nice as that process may make it: what `RLIMIT_NICE` does not allow
/// becomes the least that it does.
///
/// # Errors
///
/// As setpriority(2); as reading /proc.
pub fn set_nice(tgid: u32, tid: u32, nice: i8) -> io::Result<()> {
    let wanted = i32::from(nice);
    let allowed = if is_client_privileged(tgid, tid)? {
        Some(wanted)
    } else {
        PriorityLimits::of(tgid)?.allow_nice(wanted)
    };
    let Some(nice) = allowed else { return Ok(()) };
    Ok(rustix::process::setpriority_process(number(tid), nice)?)
}

/// Finds out whether this process may give threads of others a priority beyond their own limits, and whether there
/// may be real-time threads here at all, by making one. To be tried in a process of its own: it limits itself.
///
/// # Errors
///
/// As sched_setattr(2), `PermissionDenied` without CAP_SYS_NICE, or in a cgroup without real-time processor time.
pub fn probe() -> io::Result<()> {
    let maximum = rustix::process::getrlimit(Resource::Rtprio).maximum;
    rustix::process::setrlimit(Resource::Rtprio, Rlimit { current: Some(0), maximum })?;
    set(0, ThreadPriority { policy: FIFO, level: 1, resets_on_fork: true })
}

fn number(tid: u32) -> Option<Pid> {
    i32::try_from(tid).ok().and_then(Pid::from_raw)
}

fn attributes(tid: u32) -> io::Result<SchedAttr> {
    let mut attr = SchedAttr::new_zeroed();
    // SAFETY: the kernel writes as many bytes through the pointer as it is told, which is the size of the struct,
    // and keeps nothing of it; the struct may hold any bytes.
    let result =
        unsafe { libc::syscall(libc::SYS_sched_getattr, tid, &raw mut attr, ATTR_BYTES, 0) };
    if result == 0 { Ok(attr) } else { Err(io::Error::last_os_error()) }
}

fn set(tid: u32, priority: ThreadPriority) -> io::Result<()> {
    let ThreadPriority { policy, level, resets_on_fork } = priority;
    let invalid = |_| io::Error::from(io::ErrorKind::InvalidInput);
    let attr = SchedAttr {
        size: ATTR_BYTES,
        policy,
        flags: if resets_on_fork { RESET_ON_FORK } else { 0 },
        nice: if priority.is_realtime() { 0 } else { level.into() },
        priority: if priority.is_realtime() { level.try_into().map_err(invalid)? } else { 0 },
        ..SchedAttr::new_zeroed()
    };
    // SAFETY: the kernel reads as many bytes through the pointer as the struct says that it has, and keeps nothing
    // of it.
    let result = unsafe { libc::syscall(libc::SYS_sched_setattr, tid, &raw const attr, 0) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Checks that the number is that of a thread of this process still, and of no other's since.
fn check_thread(tgid: u32, tid: u32) -> io::Result<()> {
    fs::metadata(format!("/proc/{tgid}/task/{tid}")).map(drop)
}

/// Whether the kernel lets this process set any priority: CAP_SYS_NICE counts in the first user namespace only.
fn is_privileged() -> bool {
    let has_capability = thread::capabilities(None)
        .is_ok_and(|sets| sets.effective.contains(CapabilitySet::SYS_NICE));
    let namespace = || fs::metadata("/proc/self/ns/user").map(|metadata| metadata.ino());
    has_capability && namespace().is_ok_and(|inode| inode == FIRST_USER_NAMESPACE)
}

/// Whether a thread has the privilege to go beyond its limits, in our own user namespace.
fn is_client_privileged(tgid: u32, tid: u32) -> io::Result<bool> {
    let shares_ours = proc_files::shares_user_namespace(tgid).unwrap_or(false);
    Ok(shares_ours
        && has_capability(&fs::read_to_string(format!("/proc/{tgid}/task/{tid}/status"))?))
}

fn has_capability(status: &str) -> bool {
    let line = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let bits = line.and_then(|line| u64::from_str_radix(line.trim(), 16).ok());
    bits.is_some_and(|bits| bits >> CAP_SYS_NICE & 1 != 0)
}

/// What a process without privilege may have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct PriorityLimits {
    /// `RLIMIT_NICE`: 20 less the least nice value, 0 if it may change none.
    nice: i32,
    /// `RLIMIT_RTPRIO`: the highest real-time priority, 0 if it may have none.
    realtime: i8,
}

impl PriorityLimits {
    fn of(tgid: u32) -> io::Result<Self> {
        Ok(Self::read(&fs::read_to_string(format!("/proc/{tgid}/limits"))?))
    }

    /// Reads a `limits` of /proc.
    fn read(limits: &str) -> Self {
        let soft = |name: &str, most: i8| {
            let line = limits.lines().find_map(|line| line.strip_prefix(name));
            match line.and_then(|line| line.split_whitespace().next()) {
                Some("unlimited") => most,
                Some(number) => {
                    let number: u64 = number.parse().unwrap_or(0);
                    i8::try_from(number).unwrap_or(most).min(most)
                }
                None => 0,
            }
        };
        Self {
            nice: soft("Max nice priority", 40).into(),
            realtime: soft("Max realtime priority", 99),
        }
    }

    /// What a process may have that wants this priority, as the kernel sees it; `None` if nothing.
    fn allow(self, wanted: ThreadPriority) -> Option<ThreadPriority> {
        if wanted.is_realtime() && self.realtime > 0 {
            return Some(ThreadPriority { level: wanted.level.min(self.realtime), ..wanted });
        }
        let (policy, nice) = if wanted.is_realtime() {
            (NORMAL, MIN_NICE)
        } else {
            (wanted.policy, wanted.level.into())
        };
        let level = i8::try_from(self.allow_nice(nice)?).ok()?;
        Some(ThreadPriority { policy, level, ..wanted })
    }

    /// Likewise of a nice value.
    fn allow_nice(self, wanted: i32) -> Option<i32> {
        let allowed = wanted.max(MAX_NICE + 1 - self.nice);
        (allowed <= MAX_NICE).then_some(allowed)
    }

    /// Whether the kernel lets a process without privilege make a thread again what it was.
    fn allow_back(self, was: ThreadPriority, is: ThreadPriority) -> bool {
        let level = was.level;
        if was.is_realtime() {
            return level <= self.realtime;
        }
        let is_no_rise = is.is_realtime() || is.level <= level;
        is_no_rise || self.allow_nice(level.into()) == Some(level.into())
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;
    use crate::processes;

    const fn fifo(level: i8) -> ThreadPriority {
        ThreadPriority { policy: FIFO, level, resets_on_fork: true }
    }

    const fn nice(nice: i8) -> ThreadPriority {
        ThreadPriority { policy: NORMAL, level: nice, resets_on_fork: false }
    }

    #[test]
    fn a_limit_of_nice_values_holds() {
        let allowed = |nice, limit| PriorityLimits { nice: limit, realtime: 0 }.allow_nice(nice);
        assert_eq!(allowed(-5, 40), Some(-5));
        assert_eq!(allowed(-5, 20), Some(0));
        assert_eq!(allowed(5, 20), Some(5));
        // Without any limit set, the kernel lets the driver change nothing.
        assert_eq!(allowed(5, 0), None);
    }

    #[test]
    fn a_limit_of_realtime_priorities_holds_and_without_one_there_are_none() {
        let allowed = |wanted, realtime, nice| PriorityLimits { nice, realtime }.allow(wanted);
        assert_eq!(allowed(fifo(5), 99, 0), Some(fifo(5)));
        assert_eq!(allowed(fifo(50), 10, 0), Some(fifo(10)));
        assert_eq!(allowed(fifo(1), 0, 0), None);
        assert_eq!(
            allowed(fifo(1), 0, 30),
            Some(ThreadPriority { resets_on_fork: true, ..nice(-10) })
        );
        assert_eq!(allowed(nice(-5), 99, 20), Some(nice(0)));
    }

    #[test]
    fn without_privilege_only_what_is_below_a_limit_can_be_given_back() {
        let may_go_back =
            |was, is, realtime, nice| PriorityLimits { nice, realtime }.allow_back(was, is);
        assert!(may_go_back(nice(0), fifo(5), 10, 0));
        assert!(may_go_back(nice(0), nice(-5), 0, 0));
        assert!(!may_go_back(nice(0), nice(5), 0, 19));
        assert!(may_go_back(nice(0), nice(5), 0, 20));
        assert!(!may_go_back(fifo(50), fifo(5), 10, 0));
        assert!(!may_go_back(fifo(50), nice(0), 0, 40));
        assert!(may_go_back(fifo(10), nice(0), 10, 40));
    }

    #[test]
    fn limits_and_capabilities_are_found() {
        let limits = "Max cpu time  unlimited unlimited\nMax nice priority  30  40  \n\
                      Max realtime priority  10  99  \n";
        assert_eq!(PriorityLimits::read(limits), PriorityLimits { nice: 30, realtime: 10 });
        let unlimited = "Max nice priority         unlimited            0 \n\
                         Max realtime priority     18446744073709551614  0 \n";
        assert_eq!(PriorityLimits::read(unlimited), PriorityLimits { nice: 40, realtime: 99 });
        assert_eq!(PriorityLimits::read(""), PriorityLimits { nice: 0, realtime: 0 });
        assert!(has_capability("CapInh:\t0\nCapEff:\t0000000000800000\n"));
        assert!(!has_capability("CapEff:\tffffffffff7fffff\n"));
    }

    #[test]
    fn a_thread_may_always_stay_as_nice_as_it_is() {
        let pid = std::process::id();
        let nice = nice_of(pid).unwrap();
        set_nice(pid, pid, nice).unwrap();
        assert_eq!(nice_of(pid).unwrap(), nice);
    }

    #[test]
    fn a_thread_inherits_a_policy_and_has_its_own_back_as_it_was() {
        thread::scope(|scope| {
            scope.spawn(|| {
                let (pid, own) = (std::process::id(), processes::own_thread());
                let before = of(own).unwrap().expect("a thread as most are");
                let batch = ThreadPriority { policy: BATCH, ..before };
                let Ok(()) = inherit(pid, own, batch) else {
                    return println!("SKIPPED: this process may not change its threads");
                };
                let inherited = of(own).unwrap().unwrap();
                restore(pid, own, before).unwrap();
                assert_eq!(of(own).unwrap(), Some(before));
                match inherit(pid, own, fifo(3)) {
                    Ok(()) if of(own).unwrap() == Some(fifo(3)) => {
                        let started = thread::spawn(|| of(processes::own_thread()).unwrap());
                        assert_eq!(started.join().unwrap(), Some(nice(0)));
                    }
                    result => println!("SKIPPED: no thread may be real-time here: {result:?}"),
                }
                restore(pid, own, before).unwrap();
                assert_eq!(of(own).unwrap().map(|own| own.level), Some(before.level));
                if is_privileged() {
                    assert_eq!((inherited, of(own).unwrap()), (batch, Some(before)));
                }
            });
        });
    }

    #[test]
    fn a_number_that_is_no_thread_of_the_process_is_left_alone() {
        let parent = std::os::unix::process::parent_id();
        let error = restore(std::process::id(), parent, nice(0)).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
    }
}
