//! A process from which clients take files that may not take them from the driver.
//!
//! To take a file out of another process is to trace that. The driver must not be open to that for
//! clients that may do less than it; so the files go through a process that belongs to the client's
//! own user, executes a program afresh, so that nothing of the driver's memory is in it, and holds
//! no files but those on their way. Others of that user may reach these as well, as they may reach
//! the client.

#![expect(unsafe_code, reason = "what runs between fork and exec has no safe wrapper")]

use std::ffi::OsStr;
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::io::Errno;
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, Shutdown, SocketFlags, SocketType,
};
use rustix::process::{DumpableBehavior, Gid, PTracer, Uid};
use rustix::thread::{CapabilitySet, CapabilitySets, ThreadNameSpaceType};

use crate::client_thread;
use crate::in_flight::FileInFlight;
use crate::processes::{self, Child as Forked, Fork, close_above_standard};
use crate::thread_status::{ThreadNamespaces, ThreadStatus, UserAndGroup};

/// How many files go into one message; the kernel takes 253.
const MAX_FILES_PER_MESSAGE: usize = 128;
/// A broker that does not answer for this long is held up by another process of its user.
const ANSWER_TIME: Duration = Duration::from_secs(1);
/// One that has a program to execute first may take longer on a busy machine.
const START_TIME: Duration = Duration::from_secs(5);

/// Descriptors of the broker, by number.
const NUMBER_BYTES: usize = size_of::<u32>();

/// What a broker says that cannot start: the step at which it failed, and the errno.
const REFUSAL_BYTES: usize = 2 * NUMBER_BYTES;

/// What the driver says with each file: it comes open, or in flight.
const IS_OPEN: u8 = 0;
const IS_IN_FLIGHT: u8 = 1;

/// A file for a broker.
#[derive(Debug, Clone, Copy)]
pub enum GivenFile<'f> {
    /// Which the driver has open.
    Open(BorrowedFd<'f>),
    /// Which the broker alone opens.
    InFlight(&'f FileInFlight),
}

impl GivenFile<'_> {
    fn kind(&self) -> u8 {
        match self {
            Self::Open(_) => IS_OPEN,
            Self::InFlight(_) => IS_IN_FLIGHT,
        }
    }
}

impl AsFd for GivenFile<'_> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Open(file) => *file,
            Self::InFlight(file) => file.as_fd(),
        }
    }
}

/// A running broker. It ends when this is dropped.
#[derive(Debug)]
pub struct Broker {
    process: Child,
    /// The number of the process that holds the files, as its users know it.
    pid: u32,
    socket: OwnedFd,
}

impl Broker {
    /// Starts a broker for processes of `user`: the program `command`, to which both numbers are
    /// passed as further arguments, and which calls [`serve`] with them. If the users are in other
    /// namespaces, the number of one of their threads follows, `beside`, which must not end meanwhile.
    ///
    /// # Errors
    ///
    /// [`StartError`].
    pub fn start<S: AsRef<OsStr>>(
        command: &[S],
        user: UserAndGroup,
        beside: Option<u32>,
    ) -> Result<Self, StartError> {
        let mut broker = Self::execute(command, user, beside).map_err(StartError::not_executed)?;
        broker.pid = broker.await_ready()?;
        Ok(broker)
    }

    fn execute<S: AsRef<OsStr>>(
        command: &[S],
        user: UserAndGroup,
        beside: Option<u32>,
    ) -> io::Result<Self> {
        let [program, arguments @ ..] = command else {
            return Err(Errno::INVAL.into());
        };
        let (socket, its) = rustix::net::socketpair(
            AddressFamily::UNIX,
            SocketType::SEQPACKET,
            SocketFlags::CLOEXEC,
            None,
        )?;
        set_socket_timeout(&socket, Timeout::Recv, Some(START_TIME))?;
        set_socket_timeout(&socket, Timeout::Send, Some(ANSWER_TIME))?;
        let mut command = Command::new(program);
        // SAFETY: the closure makes system calls alone, and touches no memory.
        unsafe { command.pre_exec(inherit_nothing) };
        let process = command
            .args(arguments)
            .args([user.uid.to_string(), user.gid.to_string()])
            .args(beside.map(|tid| tid.to_string()))
            .env_clear()
            .current_dir("/")
            .stdin(its)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        // With `command` goes our copy of the broker's end: the end of a broker is noticed at once.
        Ok(Self { process, pid: 0, socket })
    }

    /// Waits until the broker says that it is ready, or why it is not. Returns its number, as its users
    /// know it.
    fn await_ready(&self) -> Result<u32, StartError> {
        let mut bytes = [0; REFUSAL_BYTES];
        let received = rustix::io::retry_on_intr(|| {
            rustix::net::recv(&self.socket, &mut bytes[..], RecvFlags::empty())
        });
        let len = match received {
            Ok((len, _)) => len,
            Err(Errno::AGAIN) => return Err(StartError::Late),
            Err(_) => return Err(StartError::Ended),
        };
        match numbers_of(&bytes[..len]).collect::<Vec<_>>()[..] {
            [pid] => {
                set_socket_timeout(&self.socket, Timeout::Recv, Some(ANSWER_TIME))
                    .map_err(|errno| StartError::NotExecuted { errno })?;
                Ok(pid.cast_unsigned())
            }
            [step, errno] => {
                let step = BrokerStep::from_number(step).ok_or(StartError::Ended)?;
                Err(StartError::Refused { step, errno: Errno::from_raw_os_error(errno) })
            }
            _ => Err(StartError::Ended),
        }
    }

    /// Returns the number of the process, in the pid namespace of its users.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Gives `files` to the broker; returns what they are there.
    ///
    /// # Errors
    ///
    /// As sendmsg(2) and recvmsg(2); the broker should be dropped then.
    pub fn give(&self, files: &[GivenFile<'_>]) -> io::Result<Vec<RawFd>> {
        let mut numbers = Vec::with_capacity(files.len());
        for files in files.chunks(MAX_FILES_PER_MESSAGE) {
            let kinds: Vec<u8> = files.iter().map(GivenFile::kind).collect();
            let fds: Vec<_> = files.iter().map(AsFd::as_fd).collect();
            let mut space =
                [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_FILES_PER_MESSAGE))];
            let mut ancillary = SendAncillaryBuffer::new(&mut space);
            ancillary.push(SendAncillaryMessage::ScmRights(&fds));
            let kinds = [IoSlice::new(&kinds)];
            rustix::net::sendmsg(&self.socket, &kinds, &mut ancillary, SendFlags::NOSIGNAL)?;
            numbers.extend(self.answer(files.len())?);
        }
        Ok(numbers)
    }

    /// Has the broker close what [`give`](Self::give) returned.
    ///
    /// # Errors
    ///
    /// As send(2); the broker should be dropped then.
    pub fn take_back(&self, numbers: &[RawFd]) -> io::Result<()> {
        for numbers in numbers.chunks(MAX_FILES_PER_MESSAGE) {
            let bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_ne_bytes()).collect();
            rustix::net::send(&self.socket, &bytes, SendFlags::NOSIGNAL)?;
        }
        Ok(())
    }

    /// Reads `count` numbers. A process that controls the broker may have made them up.
    fn answer(&self, count: usize) -> io::Result<Vec<RawFd>> {
        let mut bytes = [0; MAX_FILES_PER_MESSAGE * NUMBER_BYTES];
        let (_, len) = rustix::io::retry_on_intr(|| {
            rustix::net::recv(&self.socket, &mut bytes[..], RecvFlags::TRUNC)
        })?;
        if len != count * NUMBER_BYTES {
            return Err(io::ErrorKind::InvalidData.into());
        }
        Ok(numbers_of(&bytes[..len]).collect())
    }
}

impl Drop for Broker {
    fn drop(&mut self) {
        // The one that holds the files may be its child, and ends with the socket.
        let _ = rustix::net::shutdown(&self.socket, Shutdown::Both);
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Why a broker did not start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum StartError {
    /// There was no process, or not its program.
    #[error("the broker was not executed: {errno}")]
    NotExecuted {
        /// What the system answered.
        errno: Errno,
    },
    /// It could not become a process beside its users.
    #[error("{}: {errno}", .step.words())]
    Refused {
        /// What it tried.
        step: BrokerStep,
        /// What the system answered.
        errno: Errno,
    },
    /// Another process has ended it.
    #[error("{ENDED}")]
    Ended,
    /// Another process holds it up.
    #[error("{LATE}")]
    Late,
}

const ENDED: &str = "the broker ended before it was ready";
const LATE: &str = "the broker did not get ready in time";

impl StartError {
    fn not_executed(error: io::Error) -> Self {
        Self::NotExecuted { errno: Errno::from_io_error(&error).unwrap_or(Errno::IO) }
    }

    /// The cause, as a number of the system's and in constant words.
    #[must_use]
    pub fn cause(self) -> (i32, &'static str) {
        let (errno, words) = match self {
            Self::NotExecuted { errno } => (errno, "the broker was not executed"),
            Self::Refused { step, errno } => (errno, step.words()),
            Self::Ended => (Errno::PIPE, ENDED),
            Self::Late => (Errno::TIMEDOUT, LATE),
        };
        (errno.raw_os_error(), words)
    }
}

/// What a broker does before it holds files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(i32)]
pub enum BrokerStep {
    /// Gives up the driver's groups.
    Groups,
    /// Finds the namespaces of its users.
    Find,
    /// Enters them.
    Enter,
    /// Finds out what its user is called there.
    Identify,
    /// Starts the process that is in them.
    Fork,
    /// Becomes its user.
    Become,
}

impl BrokerStep {
    const ALL: [Self; 6] =
        [Self::Groups, Self::Find, Self::Enter, Self::Identify, Self::Fork, Self::Become];

    fn from_number(number: i32) -> Option<Self> {
        Self::ALL.into_iter().find(|step| *step as i32 == number)
    }

    /// The message if it fails.
    fn words(self) -> &'static str {
        match self {
            Self::Groups => "the broker could not give up its groups",
            Self::Find => "the broker could not find the receiver's namespaces",
            Self::Enter => "the broker could not enter the receiver's namespaces",
            Self::Identify => "the broker could not tell the receiver's user in its namespaces",
            Self::Fork => "the broker could not start a process in the receiver's namespaces",
            Self::Become => "the broker could not become the receiver's user",
        }
    }

    fn failed<E: Into<io::Error>>(self) -> impl FnOnce(E) -> (Self, io::Error) {
        move |error| (self, error.into())
    }
}

/// The life of a broker, whose socket is its standard input: becomes a process of `user`, in the
/// namespaces of thread `beside`, and holds files until the driver ends. If it cannot, the driver is
/// told why.
///
/// # Errors
///
/// As entering namespaces and giving up privileges, and as the socket.
pub fn serve(user: UserAndGroup, beside: Option<u32>) -> io::Result<()> {
    match prepare(user, beside) {
        Ok(None) => hold(),
        Ok(Some(holder)) => holder.wait().map(drop),
        Err((step, error)) => {
            let errno = Errno::from_io_error(&error).unwrap_or(Errno::IO).raw_os_error();
            let refusal = [step as i32, errno].map(i32::to_ne_bytes).concat();
            rustix::net::send(io::stdin(), &refusal, SendFlags::NOSIGNAL)?;
            Err(error)
        }
    }
}

/// Becomes a process of `user`, in the namespaces of thread `beside`; or has a child that does, which is
/// returned.
fn prepare(
    user: UserAndGroup,
    beside: Option<u32>,
) -> Result<Option<Forked>, (BrokerStep, io::Error)> {
    let is_other = rustix::process::getuid().as_raw() != user.uid;
    // In a user namespace without other groups they cannot be given up, nor are they another's.
    match rustix::thread::set_thread_groups(&[]) {
        Err(errno) if is_other => return Err((BrokerStep::Groups, errno.into())),
        Ok(()) | Err(_) => {}
    }
    let Some(tid) = beside else {
        return become_user(user).map(|()| None).map_err(BrokerStep::Become.failed());
    };
    let (kinds, theirs) = find_namespaces(tid).map_err(BrokerStep::Find.failed())?;
    // A privileged process there must not trace us while we have more rights than it has.
    rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable)
        .map_err(BrokerStep::Enter.failed())?;
    rustix::thread::move_into_thread_name_spaces(theirs.as_fd(), kinds)
        .map_err(BrokerStep::Enter.failed())?;
    // As numbered here: the reader's namespace decides.
    let user = ThreadStatus::of(tid).map_err(BrokerStep::Identify.failed())?.user;
    // A process that enters a pid namespace stays outside; its children are in it.
    match processes::fork().map_err(BrokerStep::Fork.failed())? {
        Fork::Child => become_user(user).map(|()| None).map_err(BrokerStep::Become.failed()),
        Fork::Parent(child) => Ok(Some(child)),
    }
}

/// Finds the namespaces of thread `tid` that are not our own: which they are, and a pidfd that leads there.
fn find_namespaces(tid: u32) -> io::Result<(ThreadNameSpaceType, OwnedFd)> {
    let kinds = ThreadNamespaces::of(tid)?.beyond(&ThreadNamespaces::of(std::process::id())?);
    // All threads of a process are in the same. Without pidfds of threads the first one's will do,
    // unless that has ended.
    let pidfd =
        client_thread::pidfd(tid).or_else(|_| processes::pidfd(ThreadStatus::of(tid)?.tgid))?;
    Ok((kinds, pidfd))
}

/// Holds files for others of our user.
fn hold() -> io::Result<()> {
    let stdin = io::stdin();
    let socket = stdin.as_fd();
    let mut held: Vec<OwnedFd> = Vec::new();
    // Its own number: it is ready.
    rustix::net::send(socket, &std::process::id().to_ne_bytes(), SendFlags::NOSIGNAL)?;
    loop {
        let mut bytes = [0; MAX_FILES_PER_MESSAGE * NUMBER_BYTES];
        let mut space =
            [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_FILES_PER_MESSAGE))];
        let mut ancillary = RecvAncillaryBuffer::new(&mut space);
        let message = rustix::io::retry_on_intr(|| {
            let into = &mut [IoSliceMut::new(&mut bytes)];
            rustix::net::recvmsg(socket, into, &mut ancillary, RecvFlags::CMSG_CLOEXEC)
        })?;
        if message.bytes == 0 {
            return Ok(());
        }
        let first = held.len();
        for part in ancillary.drain() {
            if let RecvAncillaryMessage::ScmRights(files) = part {
                for (file, kind) in files.zip(bytes) {
                    let is_in_flight = kind == IS_IN_FLIGHT;
                    held.push(if is_in_flight { FileInFlight::from(file).open()? } else { file });
                }
            }
        }
        if held.len() > first {
            let numbers = held[first..].iter().map(AsRawFd::as_raw_fd);
            let answer: Vec<u8> = numbers.flat_map(RawFd::to_ne_bytes).collect();
            rustix::net::send(socket, &answer, SendFlags::NOSIGNAL)?;
        } else {
            let gone: Vec<RawFd> = numbers_of(&bytes[..message.bytes]).collect();
            held.retain(|file| !gone.contains(&file.as_raw_fd()));
        }
    }
}

/// Has all descriptors but the standard streams closed when the program is executed: the process
/// that started the driver may have left it some that it does not know of.
///
/// Linux before 5.11 closes them at once or not at all. Then the parent is not told why the program is not executed, and
/// finds that no broker answers.
fn inherit_nothing() -> io::Result<()> {
    match close_above_standard(libc::CLOSE_RANGE_CLOEXEC) {
        Err(error) if error.raw_os_error() == Some(libc::EINVAL) => close_above_standard(0),
        done => done,
    }
}

fn numbers_of(bytes: &[u8]) -> impl Iterator<Item = RawFd> {
    bytes.chunks_exact(NUMBER_BYTES).map(|number| {
        RawFd::from_ne_bytes(number.try_into().expect("a chunk has the length asked for"))
    })
}

/// Becomes a process that others of `user` may trace, and that can do nothing more than they.
fn become_user(user: UserAndGroup) -> io::Result<()> {
    let (uid, gid) = (Uid::from_raw(user.uid), Gid::from_raw(user.gid));
    rustix::thread::set_thread_res_gid(gid, gid, gid)?;
    rustix::thread::set_thread_res_uid(uid, uid, uid)?;
    let none = CapabilitySet::empty();
    let sets = CapabilitySets { effective: none, permitted: none, inheritable: none };
    rustix::thread::set_capabilities(None, sets)?;
    rustix::thread::set_no_new_privs(true)?;
    // Changing the user made the process opaque to the user.
    rustix::process::set_dumpable_behavior(DumpableBehavior::Dumpable)?;
    // Without Yama there is nothing to be allowed.
    let _ = rustix::process::set_ptracer(PTracer::Any);
    Ok(())
}
