//! What /proc tells of a thread's rights and restrictions.

use std::fs;
use std::io;

use rustix::io::Errno;

use crate::proc_files;

/// The bit of CAP_SYS_PTRACE.
const CAP_SYS_PTRACE: u64 = 1 << 19;

/// A thread's rights and restrictions at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ThreadRights {
    /// Somebody traces it.
    pub(crate) has_tracer: bool,
    /// The signals that its process ignores, one bit each, from signal 1.
    pub(crate) ignored_signals: u64,
    /// Its seccomp filters; strict mode counts as more than there can be.
    pub(crate) filters: u32,
    /// In how many pid namespaces it has a number, from the one of /proc.
    pid_levels: usize,
    user: UserAndGroup,
    permitted: u64,
    effective: u64,
}

/// Whom a process belongs to: its real numbers, as our namespace has them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct UserAndGroup {
    /// The real uid.
    pub uid: u32,
    /// The real gid.
    pub gid: u32,
}

impl ThreadRights {
    /// Reads the status of thread `tid`.
    ///
    /// # Errors
    ///
    /// `NotFound` if the thread has ended.
    pub fn of(tid: u32) -> io::Result<Self> {
        Self::parse(&fs::read(format!("/proc/{tid}/status"))?)
    }

    /// Reads the status of the calling thread.
    ///
    /// # Errors
    ///
    /// As reading /proc.
    pub fn own() -> io::Result<Self> {
        Self::parse(&fs::read("/proc/thread-self/status")?)
    }

    fn parse(status: &[u8]) -> io::Result<Self> {
        let words = |name: &str| {
            let line = proc_files::field(status, name.as_bytes())?;
            let line = str::from_utf8(line).map_err(|_| io::Error::from(Errno::PROTO))?;
            io::Result::Ok(line.split_ascii_whitespace())
        };
        let number = |name: &str, radix: u32| {
            let word = words(name)?.next().and_then(|word| u64::from_str_radix(word, radix).ok());
            word.ok_or_else(|| io::Error::from(Errno::PROTO))
        };
        let narrow = |number: u64| u32::try_from(number).map_err(|_| Errno::PROTO);
        // Strict mode knows no filters and allows nothing.
        let is_strict = number("Seccomp:", 10).unwrap_or(0) == 1;
        let filters = narrow(number("Seccomp_filters:", 10).unwrap_or(0))?;
        Ok(Self {
            has_tracer: number("TracerPid:", 10)? != 0,
            ignored_signals: number("SigIgn:", 16)?,
            filters: if is_strict { u32::MAX } else { filters },
            pid_levels: words("NSpid:")?.count(),
            user: UserAndGroup {
                uid: narrow(number("Uid:", 10)?)?,
                gid: narrow(number("Gid:", 10)?)?,
            },
            permitted: number("CapPrm:", 16)?,
            effective: number("CapEff:", 16)?,
        })
    }

    /// Its seccomp filters. Those of a process are also its children's.
    #[must_use]
    pub fn filters(&self) -> u32 {
        self.filters
    }

    /// Whom it belongs to.
    #[must_use]
    pub fn user(&self) -> UserAndGroup {
        self.user
    }

    /// Whether it sees the processes of the pid namespace that /proc shows under the same numbers.
    #[must_use]
    pub fn sees_our_numbers(&self) -> bool {
        self.pid_levels == 1
    }

    /// Whether it may trace `other`, as far as that is a matter of users and capabilities, and `other`
    /// lets others of its user do so.
    #[must_use]
    pub fn may_trace(&self, other: &Self) -> bool {
        let is_privileged = self.effective & CAP_SYS_PTRACE != 0;
        let is_stronger = other.permitted & !self.permitted == 0;
        // What Yama restricts, it does not for the privileged.
        is_stronger && (is_privileged || (self.user == other.user && !has_yama()))
    }
}

fn has_yama() -> bool {
    let scope = fs::read("/proc/sys/kernel/yama/ptrace_scope");
    scope.is_ok_and(|scope| scope.trim_ascii() != b"0")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_is_understood() {
        let text = b"Name:\tx\nTracerPid:\t0\nUid:\t1000\t1\t2\t3\nGid:\t100\t0\t0\t0\n\
            NSpid:\t77\t3\nSigIgn:\t0000000000000010\nCapPrm:\t0000000000080001\n\
            CapEff:\t0000000000000001\nSeccomp:\t2\nSeccomp_filters:\t3\n";
        let status = ThreadRights::parse(text).unwrap();
        assert_eq!(status.user(), UserAndGroup { uid: 1000, gid: 100 });
        assert_eq!((status.filters(), status.sees_our_numbers()), (3, false));
        assert_eq!((status.ignored_signals, status.has_tracer), (0x10, false));
        let strict =
            String::from_utf8(text.to_vec()).unwrap().replace("Seccomp:\t2", "Seccomp:\t1");
        assert_eq!(ThreadRights::parse(strict.as_bytes()).unwrap().filters(), u32::MAX);
        assert!(ThreadRights::parse(b"Name:\tx\n").is_err());
    }

    #[test]
    fn whoever_can_less_may_not_trace() {
        let own = ThreadRights::own().unwrap();
        let weak = ThreadRights { permitted: 0, effective: 0, ..own };
        let strong = ThreadRights { permitted: !0, effective: !0, ..own };
        let stranger = ThreadRights { user: UserAndGroup { uid: 77, gid: 77 }, ..weak };
        assert!(strong.may_trace(&weak) && strong.may_trace(&strong));
        assert!(!weak.may_trace(&strong) && !weak.may_trace(&stranger));
        assert!(strong.may_trace(&stranger));
    }
}
