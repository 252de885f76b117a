//! The process that a rig starts for each host: it does as it is told.

use std::collections::BTreeMap;
use std::os::fd::{AsFd, IntoRawFd, OwnedFd};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use rustix::event::{PollFd, PollFlags, epoll, poll};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags};
use rustix::process::{Pid, PidfdFlags, PidfdGetfdFlags, pidfd_getfd, pidfd_open};
use zerocopy::{FromBytes, IntoBytes};

use super::sys;
use super::talker::Talker;
use super::wire::{Answer, MAIN, Order, Request};

/// The argument that turns a program that calls [`act_if_asked`] into an actor.
pub(super) const ACTOR_ARGUMENT: &str = "--binder-testkit-actor";

/// The memory of an actor that checks may use.
pub(super) const ARENA_LEN_BYTES: usize = 256 << 20;

/// What follows it.
const GUARD_LEN_BYTES: usize = 64 << 10;

/// Bits of the answer to [`Order::Poll`].
pub(super) const READABLE: u64 = 1;
/// See [`READABLE`].
pub(super) const WRITABLE: u64 = 2;
/// See [`READABLE`].
pub(super) const FAILED: u64 = 4;

/// Acts for a [`DeviceRig`](crate::DeviceRig) if this process was started for that.
///
/// A program that makes device rigs calls this first in `main`: the rig starts the program again,
/// once for each host.
pub fn act_if_asked() {
    let mut arguments = std::env::args().skip(1);
    if arguments.next().as_deref() == Some(ACTOR_ARGUMENT) {
        Actor::new(arguments.map(PathBuf::from).collect()).run();
        std::process::exit(0);
    }
}

struct Actor {
    devices: Vec<PathBuf>,
    socket: Arc<OwnedFd>,
    threads: BTreeMap<u32, Sender<Request>>,
}

impl Actor {
    fn new(devices: Vec<PathBuf>) -> Self {
        let socket = rustix::io::dup(rustix::stdio::stdin()).expect("the rig's socket");
        Self { devices, socket: Arc::new(socket), threads: BTreeMap::new() }
    }

    /// Follows orders until the rig is gone.
    fn run(&mut self) {
        sys::let_signals_interrupt().expect("sigaction");
        let arena = sys::arena(ARENA_LEN_BYTES, GUARD_LEN_BYTES);
        answer(&self.socket, MAIN, arena);
        loop {
            let mut request = [0; size_of::<Request>()];
            match rustix::net::recv(&self.socket, &mut request, RecvFlags::empty()) {
                Ok((0, _)) | Err(Errno::CONNRESET) => return,
                Ok(_) => {}
                Err(Errno::INTR) => continue,
                Err(error) => panic!("the rig's socket: {error}"),
            }
            let request = Request::read_from_bytes(&request).expect("a request");
            if request.order().is_for_threads() {
                self.threads[&request.thread].send(request).expect("the thread runs");
            } else {
                let result = self.obey(&request);
                answer(&self.socket, MAIN, result);
            }
        }
    }

    fn obey(&mut self, request: &Request) -> Result<u64, Errno> {
        let fd = || sys::descriptor(request.a);
        let len = || usize::try_from(request.b).map_err(|_| Errno::INVAL);
        match request.order() {
            Order::Open => self.open(request.a, request.b != 0),
            Order::Map => sys::map(fd(), len()?, request.c != 0),
            Order::SetMode => {
                let flags = rustix::fs::fcntl_getfl(fd())?;
                let mut wanted = flags;
                wanted.set(OFlags::NONBLOCK, request.b != 0);
                rustix::fs::fcntl_setfl(fd(), wanted).map(|()| 0)
            }
            Order::Duplicate => rustix::io::dup(fd()).map(leak),
            Order::CloseDuplicate => rustix::io::dup(fd()).map(|_| 0),
            Order::Close => {
                let len = usize::try_from(request.c).map_err(|_| Errno::INVAL)?;
                sys::unmap(request.b, len)?;
                sys::close(fd()).map(|()| 0)
            }
            Order::SetUser => sys::set_user(request.a).map(|()| 0),
            Order::SetEffectiveUser => sys::set_effective_user(request.a).map(|()| 0),
            Order::MakeWritable => sys::make_writable(request.a, len()?).map(|()| 0),
            Order::Move => sys::move_mapping(request.a, len()?),
            Order::Sync => rustix::fs::fsync(fd()).map(|()| 0),
            Order::FetchDescriptor => fetch_descriptor(request.a, request.b),
            Order::ProbeChild => sys::is_mapped_in_child(request.a).map(u64::from),
            Order::StartThread => Ok(self.start_thread(request.thread)),
            Order::Ioctl | Order::WaitReadable | Order::Poll | Order::Serve | Order::Churn => {
                Err(Errno::NOSYS)
            }
        }
    }

    fn open(&self, device: u64, nonblocking: bool) -> Result<u64, Errno> {
        let path = usize::try_from(device).ok().and_then(|index| self.devices.get(index));
        let mut flags = OFlags::RDWR | OFlags::CLOEXEC;
        flags.set(OFlags::NONBLOCK, nonblocking);
        rustix::fs::open(path.ok_or(Errno::NODEV)?, flags, Mode::empty()).map(leak)
    }

    fn start_thread(&mut self, number: u32) -> u64 {
        let (sender, orders) = channel();
        self.threads.insert(number, sender);
        let socket = Arc::clone(&self.socket);
        let (tell, tid) = channel();
        thread::spawn(move || {
            tell.send(rustix::thread::gettid()).expect("the main thread waits");
            follow(&orders, number, &socket);
        });
        let tid = tid.recv().expect("the thread starts");
        tid.as_raw_nonzero().get().unsigned_abs().into()
    }
}

fn follow(orders: &Receiver<Request>, number: u32, socket: &OwnedFd) {
    for request in orders {
        let fd = sys::descriptor(request.a);
        let result = match request.order() {
            Order::Ioctl => sys::ioctl(fd, request.b, request.c).map(|()| 0),
            Order::WaitReadable if request.b != 0 => wait_by_epoll(fd),
            Order::WaitReadable => {
                poll(&mut [PollFd::from_borrowed_fd(fd, PollFlags::IN)], None).map(|_| 0)
            }
            Order::Poll => ask(fd),
            Order::Serve => Talker::new(fd).and_then(|mut talker| talker.serve()),
            Order::Churn => Talker::new(fd).and_then(|mut talker| talker.churn(request.b)),
            _ => Err(Errno::NOSYS),
        };
        answer(socket, number, result);
    }
}

fn wait_by_epoll(fd: std::os::fd::BorrowedFd<'_>) -> Result<u64, Errno> {
    let epoll_fd = epoll::create(epoll::CreateFlags::CLOEXEC)?;
    let data = epoll::EventData::new_u64(0);
    epoll::add(&epoll_fd, fd, data, epoll::EventFlags::IN)?;
    let mut events = [epoll::Event { flags: epoll::EventFlags::empty(), data }; 1];
    epoll::wait(&epoll_fd, &mut events, None).map(|_| 0)
}

fn ask(fd: std::os::fd::BorrowedFd<'_>) -> Result<u64, Errno> {
    let asked = PollFlags::IN | PollFlags::OUT | PollFlags::RDNORM | PollFlags::WRNORM;
    let mut fds = [PollFd::from_borrowed_fd(fd, asked)];
    let now = rustix::event::Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut fds, Some(&now))?;
    let found = fds[0].revents();
    let bit = |flags, bit| if found.intersects(flags) { bit } else { 0 };
    Ok(bit(PollFlags::IN | PollFlags::RDNORM, READABLE)
        | bit(PollFlags::OUT | PollFlags::WRNORM, WRITABLE)
        | bit(PollFlags::ERR | PollFlags::HUP, FAILED))
}

fn fetch_descriptor(pid: u64, number: u64) -> Result<u64, Errno> {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw).ok_or(Errno::SRCH)?;
    let number = i32::try_from(number).map_err(|_| Errno::BADF)?;
    let process = pidfd_open(pid, PidfdFlags::empty())?;
    pidfd_getfd(process.as_fd(), number, PidfdGetfdFlags::empty()).map(leak)
}

/// From here on the rig, by number, decides when the descriptor closes.
fn leak(fd: OwnedFd) -> u64 {
    u64::try_from(fd.into_raw_fd()).expect("a descriptor number")
}

fn answer(socket: &OwnedFd, thread: u32, result: Result<u64, Errno>) {
    let answer = match result {
        Ok(value) => Answer { thread, errno: 0, value },
        Err(errno) => Answer { thread, errno: errno.raw_os_error(), value: 0 },
    };
    // A rig that is gone needs no answer.
    let _ = rustix::net::send(socket, answer.as_bytes(), SendFlags::NOSIGNAL);
}
