//! The system calls that a program makes, beside those of its own, to call by shared memory, and whether filters let all of them pass.
//!
//! The library by which unmodified programs do this makes each of them in a thread of the program. A filter under which the program was
//! started may refuse one, or end the program for it.

use binder_ring_client::PIDFD_GET_INFO;
use binder_uapi::{
    ANYBINDER_LANE_ACCEPT, ANYBINDER_LANE_ADOPT, ANYBINDER_LANE_CLOSE, ANYBINDER_LANE_OPEN,
    ANYBINDER_LANE_ROOM, ANYBINDER_RING_WAIT, BINDER_WRITE_READ,
};
use libc::c_long;
use rustix::fs::OFlags;

use super::evaluation::FilteredCall;
use super::filter::{ARCHITECTURES, number};
use super::foreign_filter::SeccompFilter;

/// Which argument, and its value.
type KnownArgument = (usize, u32);

/// A call, and what is known of its arguments. One that is made with several values is there for each.
type LibraryCall = (c_long, &'static [KnownArgument]);

/// What a program does that has a ring.
#[rustfmt::skip]
const RING_CALLS: &[LibraryCall] = &[
    // The ring of a file, and the thread's slot.
    (libc::SYS_lseek, &[]),
    (libc::SYS_gettid, &[]),
    (libc::SYS_getcpu, &[]),
    // Sleeping and waking.
    (libc::SYS_futex, &[]),
    (libc::SYS_rt_sigprocmask, &[]),
    (libc::SYS_ioctl, &[(1, BINDER_WRITE_READ)]),
    (libc::SYS_ioctl, &[(1, ANYBINDER_RING_WAIT)]),
    // Making a segment.
    (libc::SYS_memfd_create, &[]),
    (libc::SYS_ftruncate, &[]),
    (libc::SYS_fcntl, &[(1, libc::F_ADD_SEALS.unsigned_abs())]),
    (libc::SYS_fcntl, &[(1, libc::F_GET_SEALS.unsigned_abs())]),
    (libc::SYS_fstat, &[]),
    (libc::SYS_fstatfs, &[]),
    (libc::SYS_prlimit64, &[]),
    (libc::SYS_getrandom, &[]),
    (libc::SYS_mmap, &[(2, PROT_READ | PROT_WRITE)]),
    (libc::SYS_madvise, &[]),
    (libc::SYS_munmap, &[]),
    // Files that come with a call.
    (libc::SYS_socketpair, &[(0, libc::AF_UNIX.unsigned_abs())]),
    (libc::SYS_recvmsg, &[]),
    (libc::SYS_dup3, &[]),
    (libc::SYS_close, &[]),
];

/// What one does beside that whose calls pass the driver by, or that is called so.
#[rustfmt::skip]
const LANE_CALLS: &[LibraryCall] = &[
    // Who a thread is, and on which stack it runs.
    (libc::SYS_getpid, &[]),
    (libc::SYS_prctl, &[(0, PR_GET_TID_ADDRESS)]),
    (libc::SYS_sigaltstack, &[]),
    // Sleeping until one of several threads calls, or for a time.
    (libc::SYS_futex_waitv, &[]),
    (libc::SYS_clock_gettime, &[]),
    (libc::SYS_ioctl, &[(1, ANYBINDER_LANE_OPEN)]),
    (libc::SYS_ioctl, &[(1, ANYBINDER_LANE_ACCEPT)]),
    (libc::SYS_ioctl, &[(1, ANYBINDER_LANE_ADOPT)]),
    (libc::SYS_ioctl, &[(1, ANYBINDER_LANE_CLOSE)]),
    (libc::SYS_ioctl, &[(1, ANYBINDER_LANE_ROOM)]),
    // Putting memory in the place of a receive buffer's.
    (libc::SYS_mremap, &[]),
    (libc::SYS_mprotect, &[(2, PROT_READ)]),
    // What /proc tells of the program's memory, and a pidfd of a caller.
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_open, &[(1, READ_ONLY), (2, 0)]),
    #[cfg(not(target_arch = "x86_64"))]
    (libc::SYS_openat, &[(2, READ_ONLY), (3, 0)]),
    (libc::SYS_read, &[]),
    (libc::SYS_ioctl, &[(1, PROCMAP_QUERY)]),
    (libc::SYS_ioctl, &[(1, PIDFD_GET_INFO)]),
    (libc::SYS_readlinkat, &[]),
    (libc::SYS_statfs, &[]),
    (libc::SYS_statx, &[]),
];

/// Of linux/prctl.h.
const PR_GET_TID_ADDRESS: u32 = 40;
const PROT_READ: u32 = libc::PROT_READ.unsigned_abs();
const PROT_WRITE: u32 = libc::PROT_WRITE.unsigned_abs();
const READ_ONLY: u32 = OFlags::RDONLY.union(OFlags::CLOEXEC).union(OFlags::LARGEFILE).bits();
/// Of linux/fs.h, since Linux 6.11.
const PROCMAP_QUERY: u32 = 0xc068_6611;

/// System calls of a library in a program that it does not know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LibraryCalls {
    /// Those by which a ring is made and used.
    OfRings,
    /// Those that lanes take beside them, also before Linux 6.13.
    OfLanes,
}

impl SeccompFilter {
    /// The number of the first of these calls that it does not let pass, whatever the arguments are that are not known.
    #[must_use]
    pub fn first_refused(&self, calls: LibraryCalls) -> Option<u32> {
        let calls = match calls {
            LibraryCalls::OfRings => RING_CALLS,
            LibraryCalls::OfLanes => LANE_CALLS,
        };
        let passes = |call: &LibraryCall| seen(call).is_some_and(|call| self.lets_pass(&call));
        let refused = calls.iter().find(|call| !passes(call))?;
        Some(number(refused.0))
    }
}

/// The call as a filter sees it.
fn seen((call, known): &LibraryCall) -> Option<FilteredCall> {
    let (architecture, _) = ARCHITECTURES?;
    let mut arguments = [None; 6];
    known.iter().for_each(|&(at, value)| arguments[at] = Some(value.into()));
    Some(FilteredCall { architecture, number: number(*call), arguments })
}

#[cfg(test)]
mod tests {
    use libc::sock_filter;

    use super::super::filter::{JUMP, LOAD, NUMBER, RETURN, low, program};
    use super::*;

    const IF_EQUAL: u32 = JUMP | libc::BPF_JEQ;
    const IF_ANY_BIT: u32 = JUMP | libc::BPF_JSET;

    /// A filter by its steps: a jump that holds goes on, one that does not skips so many.
    fn filter(steps: &[(u32, u32, u8)]) -> SeccompFilter {
        let step =
            |&(code, k, jf)| sock_filter { code: u16::try_from(code).unwrap(), jt: 0, jf, k };
        SeccompFilter::new(steps.iter().map(step).collect())
    }

    /// One that returns `action` for a call, and lets all others pass.
    fn filter_against(call: c_long, action: u32) -> SeccompFilter {
        filter(&[
            (LOAD, NUMBER, 0),
            (IF_EQUAL, number(call), 1),
            (RETURN, action, 0),
            (RETURN, libc::SECCOMP_RET_ALLOW, 0),
        ])
    }

    /// Whether a filter lets all calls pass of a program that has lanes.
    fn allows_all(filter: &SeccompFilter) -> bool {
        let calls = [LibraryCalls::OfRings, LibraryCalls::OfLanes];
        calls.map(|it| filter.first_refused(it)) == [None; 2]
    }

    #[test]
    fn a_filter_that_does_not_let_a_call_pass_is_known_by_it() {
        let ends = libc::SECCOMP_RET_KILL_PROCESS;
        assert!(allows_all(&filter_against(libc::SYS_reboot, ends)));
        let refusals = [
            ends,
            libc::SECCOMP_RET_KILL_THREAD,
            libc::SECCOMP_RET_TRAP,
            libc::SECCOMP_RET_ERRNO | 38,
            libc::SECCOMP_RET_USER_NOTIF,
            libc::SECCOMP_RET_TRACE,
        ];
        let of_rings = RING_CALLS.iter().map(|it| (LibraryCalls::OfRings, it.0));
        let of_lanes = LANE_CALLS.iter().map(|it| (LibraryCalls::OfLanes, it.0));
        for (calls, call) in of_rings.chain(of_lanes) {
            for action in refusals {
                let refused = filter_against(call, action).first_refused(calls);
                assert_eq!(refused, Some(number(call)), "{action:#x}");
            }
            for action in [libc::SECCOMP_RET_LOG, libc::SECCOMP_RET_ALLOW | 7] {
                assert!(allows_all(&filter_against(call, action)), "{call}: {action:#x}");
            }
        }
        let of_supervisor = SeccompFilter::new(program().unwrap());
        assert!(allows_all(&of_supervisor));
    }

    #[test]
    fn filters_may_decide_by_arguments_that_are_always_the_same() {
        // One that refuses a call by a bit of an argument.
        let allows = |call, at, bit| {
            allows_all(&filter(&[
                (LOAD, NUMBER, 0),
                (IF_EQUAL, number(call), 3),
                (LOAD, low(at), 0),
                (IF_ANY_BIT, bit, 1),
                (RETURN, libc::SECCOMP_RET_ERRNO | 1, 0),
                (RETURN, libc::SECCOMP_RET_ALLOW, 0),
            ]))
        };
        // No memory is to be both writable and executable, and no file to get a set-user-ID bit.
        assert!(allows(libc::SYS_mmap, 2, libc::PROT_EXEC.unsigned_abs()));
        assert!(allows(libc::SYS_mprotect, 2, libc::PROT_EXEC.unsigned_abs()));
        assert!(!allows(libc::SYS_mmap, 2, libc::PROT_WRITE.unsigned_abs()));
        assert!(allows(libc::SYS_openat, 3, 0o4000));
        assert!(!allows(libc::SYS_memfd_create, 1, 1), "it is not always so");
    }
}
