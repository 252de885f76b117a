//! System calls that the kernel asks us about before it carries them out (seccomp_unotify(2)).
//!
//! A process installs the filter on itself and on all that it will become and start; another holds
//! the listener and answers. A thread whose call is trapped sleeps until it is answered or killed.

#![expect(unsafe_code, reason = "the calls and ioctls of seccomp have no safe wrapper")]

mod evaluation;
mod filter;
mod foreign_filter;
mod library_calls;

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;

pub(crate) use foreign_filter::MAX_INSTRUCTIONS;
pub use foreign_filter::SeccompFilter;
pub use library_calls::LibraryCalls;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::event::{self, PollFd, PollFlags, Timespec};
use rustix::io::Errno;
use rustix::ioctl::opcode;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags,
};

/// Where the trapped calls of some processes are told and answered.
#[derive(Debug)]
pub struct NotifyFd {
    fd: OwnedFd,
    is_steadfast: bool,
}

/// By which a thread waits for calls. It can be paused: then other threads take them.
#[derive(Debug)]
pub struct NotifyPoll {
    epoll: OwnedFd,
}

/// A call that waits for its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SeccompNotification {
    id: u64,
    /// The calling thread, as numbered in our pid namespace; 0 if it has no number there.
    pub tid: u32,
    /// What it asks for.
    pub call: TrappedCall,
}

/// The call. Addresses are the caller's, and the memory there may change at any time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TrappedCall {
    /// ioctl(2) with nothing as its argument.
    Ioctl {
        /// The descriptor.
        fd: u32,
        /// What to do.
        request: u32,
    },
    /// mount(2) of a file system, or a change of its options.
    Mount {
        /// The address of the source.
        source: u64,
        /// The address of the path of the directory.
        target: u64,
        /// The address of the type.
        kind: u64,
        /// `MS_*`.
        flags: u32,
        /// The address of the options.
        data: u64,
    },
    /// fsopen(2).
    OpenContext {
        /// The address of the type.
        kind: u64,
        /// `FSOPEN_*`.
        flags: u32,
    },
    /// fsconfig(2).
    Configure {
        /// The context.
        fd: u32,
        /// `FSCONFIG_*`.
        command: u32,
        /// The address of the option's name.
        key: u64,
        /// The address of its value.
        value: u64,
    },
    /// fsmount(2).
    MakeMount {
        /// The context.
        fd: u32,
        /// `FSMOUNT_*`.
        flags: u32,
    },
    /// move_mount(2).
    MoveMount {
        /// The mount, if it is named by a descriptor.
        from: u32,
        /// The directory in which the path of the place begins.
        to: i32,
        /// The address of that path.
        path: u64,
        /// `MOVE_MOUNT_*`.
        flags: u32,
    },
    /// restart_syscall(2) in the place of an ioctl: a [diversion](crate::injection::divert).
    Diversion {
        /// The address of the ioctl's argument.
        argument: u64,
    },
    /// A filter of the caller's own is about to be installed.
    Filter {
        /// The address of its [program](SeccompFilter::read). There is none in strict mode, in which no other program can be started,
        /// and where a library tries what the kernel knows.
        program: Option<u64>,
    },
    /// Something that our filter does not trap.
    Other,
}

/// What becomes of a trapped call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TrapAnswer {
    /// The kernel carries it out as if it had not been trapped.
    Proceed,
    /// It returns 0.
    Done,
    /// It fails with this errno.
    Refuse(i32),
}

#[expect(clippy::cast_possible_truncation, reason = "libc has these flags in the wrong width")]
const CONTINUE: u32 = libc::SECCOMP_USER_NOTIF_FLAG_CONTINUE as u32;
#[expect(clippy::cast_possible_truncation, reason = "libc has these flags in the wrong width")]
const ADD_AND_ANSWER: u32 = libc::SECCOMP_ADDFD_FLAG_SEND as u32;

/// `SECCOMP_IOCTL_NOTIF_SET_FLAGS`, with its one flag: the thread that is told of a call is woken
/// on the processor of the caller, which is about to sleep (Linux 6.6).
const SET_FLAGS: libc::Ioctl = opcode::write::<u64>(b'!', 4) as libc::Ioctl;
const SYNC_WAKE_UP: u64 = 1;

/// By these bytes a listener is handed over.
const STEADFAST: u8 = b'!';
const UNSTEADY: u8 = b'?';

/// Has the kernel ask about calls of this thread, and of whatever it starts or becomes.
///
/// The kernel asks the process that [receives](NotifyFd::receive) the listener; until that answers,
/// a trapped call sleeps.
///
/// # Errors
///
/// `ResourceBusy` if there is a listener already, `PermissionDenied` without CAP_SYS_ADMIN,
/// `Unsupported` or `InvalidInput` where the kernel or this program cannot.
pub fn install() -> io::Result<NotifyFd> {
    let mut program = filter::program().ok_or(io::ErrorKind::Unsupported)?;
    let len = libc::c_ushort::try_from(program.len()).map_err(io::Error::other)?;
    let program = libc::sock_fprog { len, filter: program.as_mut_ptr() };
    let listen = libc::SECCOMP_FILTER_FLAG_NEW_LISTENER;
    // A signal must not end a call that is being carried out: it would be repeated.
    let wait = libc::SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV;
    let (installed, is_steadfast) = match set_filter(listen | wait, &program) {
        Err(Errno::INVAL) => (set_filter(listen, &program), false),
        installed => (installed, true),
    };
    Ok(NotifyFd { fd: installed?, is_steadfast })
}

fn set_filter(flags: libc::c_ulong, program: &libc::sock_fprog) -> Result<OwnedFd, Errno> {
    let mode = libc::SECCOMP_SET_MODE_FILTER;
    // SAFETY: the kernel reads `program` and the instructions it points to, which our callers keep
    // alive, during the call.
    let fd = unsafe { libc::syscall(libc::SYS_seccomp, mode, flags, std::ptr::from_ref(program)) };
    let fd = i32::try_from(fd).ok().filter(|fd| *fd >= 0).ok_or_else(last_error)?;
    // SAFETY: with the flag for a listener the call returns a new descriptor, which is ours alone.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

impl NotifyFd {
    /// Hands the listener over to the process that [receives](Self::receive) at the other end.
    ///
    /// # Errors
    ///
    /// As sendmsg(2).
    pub fn send(self, to: &UnixStream) -> io::Result<()> {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut rights = SendAncillaryBuffer::new(&mut space);
        let fds = [self.fd.as_fd()];
        rights.push(SendAncillaryMessage::ScmRights(&fds));
        let kind = [if self.is_steadfast { STEADFAST } else { UNSTEADY }];
        let data = [io::IoSlice::new(&kind)];
        rustix::net::sendmsg(to, &data, &mut rights, SendFlags::NOSIGNAL)?;
        Ok(())
    }

    /// Waits for a listener; `None` if the other end has none and is closed.
    ///
    /// # Errors
    ///
    /// As recvmsg(2).
    pub fn receive(from: &UnixStream) -> io::Result<Option<Self>> {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut rights = RecvAncillaryBuffer::new(&mut space);
        let mut byte = [0];
        let flags = RecvFlags::CMSG_CLOEXEC;
        rustix::io::retry_on_intr(|| {
            rustix::net::recvmsg(from, &mut [io::IoSliceMut::new(&mut byte)], &mut rights, flags)
        })?;
        let fds = rights.drain().filter_map(|message| match message {
            RecvAncillaryMessage::ScmRights(fds) => Some(fds),
            _ => None,
        });
        let received = fds.flatten().next();
        Ok(received.map(|fd| {
            // SAFETY: the kernel takes the flags as a number. Without them it wakes us elsewhere.
            unsafe { libc::ioctl(fd.as_raw_fd(), SET_FLAGS, SYNC_WAKE_UP) };
            Self { fd, is_steadfast: byte[0] == STEADFAST }
        }))
    }

    /// Whether a call that we were told of waits for its answer whatever signals come.
    #[must_use]
    pub fn is_steadfast(&self) -> bool {
        self.is_steadfast
    }

    /// Makes a [`NotifyPoll`], which is not paused.
    ///
    /// # Errors
    ///
    /// As epoll_create(2) and epoll_ctl(2).
    pub fn poll(&self) -> io::Result<NotifyPoll> {
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        epoll::add(&epoll, &self.fd, EventData::new_u64(0), EventFlags::IN)?;
        Ok(NotifyPoll { epoll })
    }

    /// Waits until a trapped call can be [taken](Self::take). Says whether any process is left that
    /// could make one.
    ///
    /// # Errors
    ///
    /// As epoll_wait(2).
    pub fn wait(&self, poll: &NotifyPoll) -> io::Result<bool> {
        let mut events = [Event { flags: EventFlags::empty(), data: EventData::new_u64(0) }];
        rustix::io::retry_on_intr(|| epoll::wait(&poll.epoll, &mut events[..], None))?;
        let flags = events[0].flags;
        Ok(flags.contains(EventFlags::IN))
    }

    /// Pauses `poll`, so that no thread is woken there by a call that another thread is about to take.
    ///
    /// # Errors
    ///
    /// As epoll_ctl(2).
    pub fn pause(&self, poll: &NotifyPoll) -> io::Result<()> {
        Ok(epoll::modify(&poll.epoll, &self.fd, EventData::new_u64(0), EventFlags::empty())?)
    }

    /// Resumes `poll`; a call that has come meanwhile wakes its thread.
    ///
    /// # Errors
    ///
    /// As epoll_ctl(2).
    pub fn resume(&self, poll: &NotifyPoll) -> io::Result<()> {
        Ok(epoll::modify(&poll.epoll, &self.fd, EventData::new_u64(0), EventFlags::IN)?)
    }

    /// Takes the next trapped call, if one comes `within` some time. Of all who share a listener one may do
    /// so at a time: another could be left with nothing, and wait for more.
    ///
    /// # Errors
    ///
    /// As the ioctl of the kernel.
    pub fn take(&self, within: Duration) -> io::Result<Option<SeccompNotification>> {
        let timeout = Timespec::try_from(within).map_err(io::Error::other)?;
        let mut listener = [PollFd::new(&self.fd, PollFlags::IN)];
        rustix::io::retry_on_intr(|| event::poll(&mut listener, Some(&timeout)))?;
        if !listener[0].revents().contains(PollFlags::IN) {
            return Ok(None);
        }
        let mut told = MaybeUninit::<libc::seccomp_notif>::zeroed();
        // SAFETY: the kernel writes one `seccomp_notif`, whose size is part of the ioctl's number,
        // into memory of that size, which it wants zeroed.
        let result = unsafe {
            libc::ioctl(self.fd.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_RECV, told.as_mut_ptr())
        };
        if result == 0 {
            // SAFETY: integers only, zeroed by us and written by the kernel.
            return Ok(Some(SeccompNotification::of(&unsafe { told.assume_init() })));
        }
        match last_error() {
            // The caller was killed, or a signal came to one of us.
            Errno::NOENT | Errno::INTR => Ok(None),
            errno => Err(errno.into()),
        }
    }

    /// Whether the caller still waits: only then is its number known to be its own.
    #[must_use]
    pub fn is_pending(&self, notification: &SeccompNotification) -> bool {
        let request = libc::SECCOMP_IOCTL_NOTIF_ID_VALID;
        // SAFETY: the kernel reads one u64 through the pointer, to a live value.
        let result =
            unsafe { libc::ioctl(self.fd.as_raw_fd(), request, &raw const notification.id) };
        result == 0
    }

    /// Ends the wait of a caller; one that was killed meanwhile is no error.
    ///
    /// # Errors
    ///
    /// As the ioctl of the kernel.
    pub fn answer(&self, notification: &SeccompNotification, answer: TrapAnswer) -> io::Result<()> {
        let (error, flags) = match answer {
            TrapAnswer::Proceed => (0, CONTINUE),
            TrapAnswer::Done => (0, 0),
            TrapAnswer::Refuse(errno) => (-errno, 0),
        };
        let mut response = libc::seccomp_notif_resp { id: notification.id, val: 0, error, flags };
        // SAFETY: the kernel reads one `seccomp_notif_resp`, whose size is part of the number.
        let result = unsafe {
            libc::ioctl(self.fd.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_SEND, &raw mut response)
        };
        if result == 0 { Ok(()) } else { unless_gone(last_error()) }
    }

    /// Ends the wait of a caller with a descriptor of its own of `file`, which its call returns.
    ///
    /// # Errors
    ///
    /// As the ioctl of the kernel, for instance `TooManyOpenFiles` for want of a free number; the
    /// caller waits on then.
    pub fn give(
        &self,
        notification: &SeccompNotification,
        file: BorrowedFd<'_>,
        is_cloexec: bool,
    ) -> io::Result<()> {
        let given = self.add_with(notification, file, is_cloexec, ADD_AND_ANSWER);
        given.map(drop).or_else(unless_gone)
    }

    /// Adds a descriptor of `file` to those of a caller, close-on-exec and as the lowest free number,
    /// which is returned. The caller waits on.
    ///
    /// # Errors
    ///
    /// As the ioctl of the kernel: `NotFound` if the caller was killed, EMFILE for want of a free
    /// number.
    pub fn add(&self, notification: &SeccompNotification, file: BorrowedFd<'_>) -> io::Result<u32> {
        Ok(self.add_with(notification, file, true, 0)?)
    }

    fn add_with(
        &self,
        notification: &SeccompNotification,
        file: BorrowedFd<'_>,
        is_cloexec: bool,
        flags: u32,
    ) -> Result<u32, Errno> {
        let addition = libc::seccomp_notif_addfd {
            id: notification.id,
            flags,
            srcfd: file.as_raw_fd().unsigned_abs(),
            newfd: 0,
            newfd_flags: if is_cloexec { libc::O_CLOEXEC.unsigned_abs() } else { 0 },
        };
        let request = libc::SECCOMP_IOCTL_NOTIF_ADDFD;
        rustix::io::retry_on_intr(|| {
            // SAFETY: the kernel reads one `seccomp_notif_addfd`, whose size is part of the number.
            let fd = unsafe { libc::ioctl(self.fd.as_raw_fd(), request, &raw const addition) };
            u32::try_from(fd).map_err(|_| last_error())
        })
    }
}

impl SeccompNotification {
    /// Whether thread `tid` has been [diverted](crate::injection::divert) from an ioctl of `argument`.
    #[must_use]
    pub fn is_diverted(&self, tid: u32, argument: u64) -> bool {
        self.tid == tid && self.call == TrappedCall::Diversion { argument }
    }

    fn of(told: &libc::seccomp_notif) -> Self {
        let [a, b, c, d, e, _] = told.data.args;
        // The kernel itself looks at the lower half only of an int.
        #[expect(clippy::cast_possible_truncation, reason = "as the kernel does")]
        let int = |argument: u64| argument as u32;
        let number = match told.data.nr.unsigned_abs() {
            filter::IOCTL_32 if filter::is_32_bit(told.data.arch) => libc::SYS_ioctl,
            filter::MOUNT_32 if filter::is_32_bit(told.data.arch) => libc::SYS_mount,
            _ => told.data.nr.into(),
        };
        let call = match number {
            libc::SYS_ioctl => TrappedCall::Ioctl { fd: int(a), request: int(b) },
            libc::SYS_mount => {
                let flags = mount_flags(int(d));
                TrappedCall::Mount { source: a, target: b, kind: c, flags, data: e }
            }
            libc::SYS_fsopen => TrappedCall::OpenContext { kind: a, flags: int(b) },
            libc::SYS_fsconfig => {
                TrappedCall::Configure { fd: int(a), command: int(b), key: c, value: d }
            }
            libc::SYS_move_mount => TrappedCall::MoveMount {
                from: int(a),
                to: int(c).cast_signed(),
                path: d,
                flags: int(e),
            },
            libc::SYS_fsmount => TrappedCall::MakeMount { fd: int(a), flags: int(b) },
            libc::SYS_restart_syscall => TrappedCall::Diversion { argument: c },
            libc::SYS_prctl | libc::SYS_seccomp => {
                let has_program = match number {
                    libc::SYS_prctl => int(b) == libc::SECCOMP_MODE_FILTER,
                    _ => int(a) == libc::SECCOMP_SET_MODE_FILTER,
                };
                TrappedCall::Filter { program: (has_program && c != 0).then_some(c) }
            }
            _ => TrappedCall::Other,
        };
        Self { id: told.id, tid: told.pid, call }
    }
}

fn mount_flags(given: u32) -> u32 {
    if given & filter::MS_MGC_MSK == filter::MS_MGC_VAL {
        given & !filter::MS_MGC_MSK
    } else {
        given
    }
}

/// Makes nothing of the end of a caller.
fn unless_gone(errno: Errno) -> io::Result<()> {
    if errno == Errno::NOENT { Ok(()) } else { Err(errno.into()) }
}

fn last_error() -> Errno {
    Errno::from_io_error(&io::Error::last_os_error()).unwrap_or(Errno::IO)
}
