//! How nice the threads of clients are.

use std::fs;
use std::io;

use rustix::process::Pid;

use crate::proc_files;

/// The bit of CAP_SYS_NICE.
const CAP_SYS_NICE: u32 = 23;
const MAX_NICE: i32 = 19;

/// Returns how nice thread `tid` is.
///
/// # Errors
///
/// As getpriority(2).
pub fn of(tid: u32) -> io::Result<i8> {
    let nice = rustix::process::getpriority_process(thread(tid))?;
    i8::try_from(nice).map_err(|_| io::ErrorKind::InvalidData.into())
}

/// Makes thread `tid` of process `tgid` as nice as that process may make it: what `RLIMIT_NICE`
/// does not allow becomes the least that it does.
///
/// # Errors
///
/// As setpriority(2); as reading /proc.
pub fn set(tgid: u32, tid: u32, nice: i8) -> io::Result<()> {
    let is_privileged = proc_files::shares_user_namespace(tgid).unwrap_or(false)
        && has_capability(&fs::read_to_string(format!("/proc/{tgid}/status"))?);
    let limit = limit_of(&fs::read_to_string(format!("/proc/{tgid}/limits"))?);
    let Some(nice) = allowed(nice.into(), limit, is_privileged) else { return Ok(()) };
    Ok(rustix::process::setpriority_process(thread(tid), nice)?)
}

fn thread(tid: u32) -> Option<Pid> {
    i32::try_from(tid).ok().and_then(Pid::from_raw)
}

/// What a process may become that wants to be this nice, as the kernel sees it; `None` if nothing.
fn allowed(nice: i32, limit: i32, is_privileged: bool) -> Option<i32> {
    let least = MAX_NICE + 1 - limit;
    let allowed = if is_privileged { nice } else { nice.max(least) };
    (allowed <= MAX_NICE).then_some(allowed)
}

fn limit_of(limits: &str) -> i32 {
    let line = limits.lines().find_map(|line| line.strip_prefix("Max nice priority"));
    let soft = line.and_then(|line| line.split_whitespace().next());
    match soft {
        Some("unlimited") => 40,
        Some(number) => number.parse().unwrap_or(0).clamp(0, 40),
        None => 0,
    }
}

fn has_capability(status: &str) -> bool {
    let line = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let bits = line.and_then(|line| u64::from_str_radix(line.trim(), 16).ok());
    bits.is_some_and(|bits| bits >> CAP_SYS_NICE & 1 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_holds_unless_there_is_the_privilege() {
        assert_eq!(allowed(-5, 0, true), Some(-5));
        assert_eq!(allowed(-5, 40, false), Some(-5));
        assert_eq!(allowed(-5, 20, false), Some(0));
        assert_eq!(allowed(5, 20, false), Some(5));
        // Without any limit set, the kernel lets the driver change nothing.
        assert_eq!(allowed(5, 0, false), None);
    }

    #[test]
    fn limits_and_capabilities_are_found() {
        assert_eq!(
            limit_of("Max cpu time  unlimited unlimited\nMax nice priority  30  40  \n"),
            30
        );
        assert_eq!(limit_of("Max nice priority         unlimited            0 \n"), 40);
        assert!(has_capability("CapInh:\t0\nCapEff:\t0000000000800000\n"));
        assert!(!has_capability("CapEff:\tffffffffff7fffff\n"));
    }

    #[test]
    fn a_thread_may_always_stay_as_nice_as_it_is() {
        let pid = std::process::id();
        let nice = of(pid).unwrap();
        set(pid, pid, nice).unwrap();
        assert_eq!(of(pid).unwrap(), nice);
    }
}
