//! What /proc tells of a thread: who and where it is, and what it may do.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;

use rustix::thread::ThreadNameSpaceType;

use crate::proc_files::{field, malformed, number, words};

/// The bit of the signal that ends a process for good; each of its threads has it pending until then.
const SIGKILL: u64 = 1 << 8;
/// The bit of CAP_SYS_PTRACE.
const CAP_SYS_PTRACE: u64 = 1 << 19;

/// What /proc/TID/status tells of a thread at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ThreadStatus {
    /// Its process.
    pub tgid: u32,
    /// Whom it belongs to: its real numbers.
    pub user: UserAndGroup,
    /// Whose files it may touch.
    pub fs_user: UserAndGroup,
    /// Its seccomp filters, which are also its children's; strict mode counts as more than there
    /// can be.
    pub filters: u32,
    /// Its number in its own pid namespace.
    pub(crate) innermost_number: u32,
    /// It is to end, and does not return to its program any more.
    pub is_killed: bool,
    /// Another process traces it.
    pub(crate) has_tracer: bool,
    /// The signals that its process ignores, one bit each, from signal 1.
    pub(crate) ignored_signals: u64,
    /// The capabilities that it has in its user namespace, one bit each.
    pub(crate) effective: u64,
    /// Those that it may have there.
    permitted: u64,
}

/// A user and a group, as our namespace numbers them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct UserAndGroup {
    /// The uid.
    pub uid: u32,
    /// The gid.
    pub gid: u32,
}

/// Where a process knows others, and rights count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ThreadNamespaces {
    pid_namespace: u64,
    user_namespace: u64,
}

impl ThreadNamespaces {
    /// Finds out where thread `tid` is.
    ///
    /// # Errors
    ///
    /// `NotFound` if the thread has ended, `PermissionDenied` if we may not inspect it.
    pub fn of(tid: u32) -> io::Result<Self> {
        let namespace = |kind| fs::metadata(format!("/proc/{tid}/ns/{kind}"));
        let (pid, user) = (namespace("pid")?, namespace("user")?);
        Ok(Self { pid_namespace: pid.ino(), user_namespace: user.ino() })
    }

    /// The namespaces to enter that differ from those of `other`.
    pub(crate) fn beyond(&self, other: &Self) -> ThreadNameSpaceType {
        let mut kinds = ThreadNameSpaceType::empty();
        if self.pid_namespace != other.pid_namespace {
            kinds |= ThreadNameSpaceType::PROCESS_ID;
        }
        if self.user_namespace != other.user_namespace {
            kinds |= ThreadNameSpaceType::USER;
        }
        kinds
    }
}

impl ThreadStatus {
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
        let word =
            |name: &str, at| words(field(status, name.as_bytes())?).nth(at).ok_or_else(malformed);
        let decimal = |name| number::<u32>(word(name, 0)?);
        let bits = |name| {
            let digits = str::from_utf8(word(name, 0)?).ok();
            digits.and_then(|hex| u64::from_str_radix(hex, 16).ok()).ok_or_else(malformed)
        };
        // Real, effective, saved, of the file system.
        let user = |at| {
            let (uid, gid) = (number(word("Uid:", at)?)?, number(word("Gid:", at)?)?);
            Ok::<_, io::Error>(UserAndGroup { uid, gid })
        };
        let innermost = words(field(status, b"NSpid:")?).last().ok_or_else(malformed)?;
        // Strict mode knows no filters and allows nothing.
        let is_strict = decimal("Seccomp:").unwrap_or(0) == 1;
        let filters = decimal("Seccomp_filters:").unwrap_or(0);
        Ok(Self {
            tgid: decimal("Tgid:")?,
            user: user(0)?,
            fs_user: user(3)?,
            filters: if is_strict { u32::MAX } else { filters },
            innermost_number: number(innermost)?,
            is_killed: bits("SigPnd:")? & SIGKILL != 0,
            has_tracer: decimal("TracerPid:")? != 0,
            ignored_signals: bits("SigIgn:")?,
            effective: bits("CapEff:")?,
            permitted: bits("CapPrm:")?,
        })
    }

    /// Whether it may trace `other` of its own namespaces, as far as that is a matter of users and
    /// capabilities, and `other` lets others of its user do so.
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
        let text = b"Name:\tx\nTgid:\t40\nTracerPid:\t0\nUid:\t1000\t1\t2\t3\n\
            Gid:\t100\t4\t5\t6\nNSpid:\t41\t7\n\
            SigPnd:\t0000000000000100\nSigIgn:\t0000000000000010\nCapPrm:\t0000000000080001\n\
            CapEff:\t0000000000000001\nSeccomp:\t2\nSeccomp_filters:\t3\n";
        let status = ThreadStatus::parse(text).unwrap();
        assert_eq!((status.tgid, status.innermost_number), (40, 7));
        assert_eq!(status.user, UserAndGroup { uid: 1000, gid: 100 });
        assert_eq!(status.fs_user, UserAndGroup { uid: 3, gid: 6 });
        assert_eq!((status.permitted, status.effective), (0x80001, 1));
        assert_eq!(status.filters, 3);
        assert_eq!((status.ignored_signals, status.has_tracer), (0x10, false));
        assert!(status.is_killed);
        let strict =
            String::from_utf8(text.to_vec()).unwrap().replace("Seccomp:\t2", "Seccomp:\t1");
        assert_eq!(ThreadStatus::parse(strict.as_bytes()).unwrap().filters, u32::MAX);
        assert!(ThreadStatus::parse(b"Name:\tx\n").is_err());
    }

    #[test]
    fn a_process_with_fewer_capabilities_may_not_trace() {
        let own = ThreadStatus::own().unwrap();
        let weak = ThreadStatus { permitted: 0, effective: 0, ..own };
        let strong = ThreadStatus { permitted: !0, effective: !0, ..own };
        let stranger = ThreadStatus { user: UserAndGroup { uid: 77, gid: 77 }, ..weak };
        assert!(strong.may_trace(&weak) && strong.may_trace(&strong));
        assert!(!weak.may_trace(&strong) && !weak.may_trace(&stranger));
        assert!(strong.may_trace(&stranger));
    }
}
