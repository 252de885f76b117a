//! A rig of real processes on a real device node.
//!
//! Every host is a process of its own that is told over a socket what to do ([`actor`]). Nothing
//! here waits a fixed time: a call counts as parked once its thread is seen asleep in the system
//! call and the driver has had every occasion to answer.

mod actor;
mod door;
mod host;
mod rest;
mod sys;
mod talker;
mod wire;

use std::cell::{OnceCell, RefCell};
use std::ffi::CString;
use std::fs::{self, File};
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use binder_uapi::{BINDER_VERSION, BINDER_WRITE_READ, BinderVersion, BinderWriteRead};
use rustix::fs::OFlags;
use rustix::io::Errno;
use rustix::process::{Pid, Resource, Rlimit, getrlimit, prlimit};

pub use actor::act_if_asked;
use door::Door;
pub use door::{Doors, UnknownDoor};
use host::HostProcess;
use rest::Workers;
pub use talker::{Ledger, STATUS};
use wire::Order;

use crate::{
    Caller, Descriptors, Device, Driver, Host, Mode, Process, Progress, Protection, Readiness, Rig,
    Thread, Waiter, rig::System,
};

/// `f_type` of a FUSE file system in `statfs(2)`.
const FUSE_SUPER_MAGIC: u64 = 0x6573_5546;

/// A driver that does not come to rest for this long is held up by a client.
const REST_TIMEOUT: Duration = Duration::from_millis(200);

/// After this many calls a file has its ring.
const ENOUGH_CALLS: u32 = 8;

/// How often a call must be seen asleep in the driver to count as parked.
const LOOKS: u32 = 3;

/// A rig on a device node.
pub struct DeviceRig {
    driver: Driver,
    devices: [PathBuf; 2],
    doors: Doors,
    state: RefCell<State>,
    /// `None` where they cannot be told.
    workers: OnceCell<Option<Workers>>,
}

#[derive(Default)]
struct State {
    hosts: Vec<HostProcess>,
    /// How many of them take turns at the doors.
    turns: usize,
    processes: Vec<OpenFile>,
    /// Host and number within it of every thread.
    threads: Vec<(Host, u32)>,
    /// A file that no player uses: whatever was asked of the driver before a request on it is
    /// answered before that request.
    fence: Option<(Caller, u64)>,
}

impl DeviceRig {
    /// A rig on the device at `first`, with `second` as another device. The environment may say by which [`Doors`].
    ///
    /// # Errors
    ///
    /// When there is no such file.
    pub fn new(first: &Path, second: &Path) -> Result<Self, Errno> {
        let first = fs::canonicalize(first).map_err(|_| Errno::NOENT)?;
        let file_system = rustix::fs::statfs(&first)?;
        let is_fuse = u64::try_from(file_system.f_type) == Ok(FUSE_SUPER_MAGIC);
        let driver = if is_fuse { Driver::UserSpace } else { Driver::Kernel };
        let devices = [first, second.to_owned()];
        let doors = Doors::of_environment();
        Ok(Self { driver, devices, doors, state: RefCell::default(), workers: OnceCell::new() })
    }

    /// The same rig, whose hosts use these doors.
    #[must_use]
    pub fn with_doors(self, doors: Doors) -> Self {
        Self { doors, ..self }
    }

    /// Makes sure that the hosts that are to use a ring do, and no others.
    ///
    /// # Panics
    ///
    /// When a host uses another door than the one that it is to use.
    pub fn prove_doors(&self) {
        for door in self.doors.iter() {
            let mut host = HostProcess::start(Some(door), &self.devices);
            let fd = host.order(Order::Open, [0; 3]).expect("open");
            let thread = host.start_thread();
            // One that neither writes nor reads.
            let call = host.allocate(size_of::<BinderWriteRead>());
            for _ in 0..ENOUGH_CALLS {
                host.begin(Order::Ioctl, thread, [fd, BINDER_WRITE_READ.into(), call]);
                host.finish(thread).expect("BINDER_WRITE_READ");
            }
            assert_eq!(host.has_ring(), door != Door::Fuse, "calls by {door:?} go another way");
        }
    }

    /// Whether a host calls or is called by a lane.
    pub fn has_lane(&self, host: Host) -> bool {
        self.state.borrow().hosts[host.0].has_lane()
    }

    fn start_host_at(&self, door: Option<Door>) -> Host {
        let host = HostProcess::start(door, &self.devices);
        let mut state = self.state.borrow_mut();
        state.hosts.push(host);
        Host(state.hosts.len() - 1)
    }

    /// Has the main thread of a host obey.
    fn order(&self, host: Host, order: Order, operands: [u64; 3]) -> Result<u64, Errno> {
        self.state.borrow_mut().hosts[host.0].order(order, operands)
    }

    fn order_on(&self, process: Process, order: Order, b: u64, c: u64) -> Result<u64, Errno> {
        let (host, fd) = self.file(process);
        self.order(host, order, [fd, b, c])
    }

    fn file(&self, process: Process) -> (Host, u64) {
        let state = self.state.borrow();
        let file = &state.processes[process.0];
        (file.host, file.fd)
    }

    fn begin(&self, caller: Caller, order: Order, b: u64, c: u64) {
        let (_, fd) = self.file(caller.process);
        let mut state = self.state.borrow_mut();
        let (host, thread) = state.threads[caller.thread.0];
        state.hosts[host.0].begin(order, thread, [fd, b, c]);
    }

    /// Looks for the end of the call that `thread` has begun.
    fn look(&self, thread: Thread) -> Look {
        let mut state = self.state.borrow_mut();
        let (host, number) = state.threads[thread.0];
        state.hosts[host.0].look(number)
    }

    /// Starts an ioctl without a look at what becomes of it.
    pub fn begin_ioctl(&self, caller: Caller, request: u32, argument: u64) {
        self.begin(caller, Order::Ioctl, request.into(), argument);
    }

    /// Starts a wait for input without a look at what becomes of it.
    pub fn begin_wait_readable(&self, caller: Caller, waiter: Waiter) {
        self.begin(caller, Order::WaitReadable, u64::from(waiter == Waiter::Epoll), 0);
    }

    /// Has all threads of a host act for another user, until they act for one again.
    ///
    /// # Errors
    ///
    /// `EPERM` without the privilege.
    pub fn set_effective_user(&self, host: Host, uid: u32) -> Result<(), Errno> {
        self.order(host, Order::SetEffectiveUser, [uid.into(), 0, 0]).map(|_| ())
    }

    /// Which of the calls that `threads` have begun are over, once nothing more happens by itself.
    ///
    /// # Panics
    ///
    /// When the device is served by a daemon that is not the one of the `anybinder run` around this
    /// program.
    pub fn ended(&self, threads: &[Thread]) -> Vec<Thread> {
        let workers = self.workers.get_or_init(|| Workers::find(self.driver));
        let workers = workers.as_ref().expect("this program runs under `anybinder run`");
        // Twice: one that was looked at before another has woken it by itself is awake, or through, the second time.
        let rest = || (0..2).all(|_| threads.iter().all(|thread| !self.is_running(*thread)));
        while !workers.rest_throughout(rest) {
            // Threads that are about to act get the processor.
            std::thread::sleep(Duration::from_micros(50));
        }
        let is_over = |thread: &Thread| matches!(self.look_at_once(*thread), Look::Ended(_));
        threads.iter().copied().filter(is_over).collect()
    }

    fn look_at_once(&self, thread: Thread) -> Look {
        let mut state = self.state.borrow_mut();
        let (host, number) = state.threads[thread.0];
        state.hosts[host.0].look_at_once(number)
    }

    fn is_running(&self, thread: Thread) -> bool {
        matches!(self.look_at_once(thread), Look::Running)
    }

    /// Has a thread go before all others, or behind all others, wherever they share a processor.
    ///
    /// # Errors
    ///
    /// `EPERM` without the privilege.
    pub fn set_urgency(&self, thread: Thread, is_urgent: bool) -> Result<(), Errno> {
        let state = self.state.borrow();
        let (host, number) = state.threads[thread.0];
        state.hosts[host.0].set_urgency(number, is_urgent)
    }

    /// Whether all of the driver sleeps while a thread does, as far as that can be told: what takes its time, as a look into
    /// a caller's memory, is answered out of order.
    fn driver_rests(&self, thread: Thread) -> bool {
        match self.workers.get_or_init(|| Workers::find(self.driver)) {
            Some(workers @ Workers::Daemon(_)) => {
                workers.rest_throughout(|| matches!(self.look_at_once(thread), Look::Asleep))
            }
            Some(Workers::Kernel) | None => true,
        }
    }

    /// Lets the driver answer everything asked so far, as far as it answers in order.
    fn pass_fence(&self) {
        if self.driver == Driver::Kernel {
            return; // It answers on the caller's own time.
        }
        let fence = self.state.borrow().fence;
        let (caller, argument) = fence.unwrap_or_else(|| {
            let host = self.start_host_at(Some(Door::Fuse));
            let process = self.open(host, Device::First, Mode::Blocking).expect("open");
            let caller = Caller { process, thread: self.start_thread(host) };
            let fence = (caller, self.allocate(host, size_of::<BinderVersion>()));
            self.state.borrow_mut().fence = Some(fence);
            fence
        });
        self.begin(caller, Order::Ioctl, BINDER_VERSION.into(), argument);
        self.finish(caller.thread).expect("BINDER_VERSION");
    }
}

struct OpenFile {
    host: Host,
    fd: u64,
    /// Where its receive area is: a mapping keeps the file open.
    area: (u64, usize),
}

/// What a look at a thread showed.
enum Look {
    /// Its call has returned, with this value.
    Ended(Result<u64, Errno>),
    /// It sleeps in the call.
    Asleep,
    /// It sleeps in its slot of the ring; if that takes long, it goes on to sleep in an ioctl.
    InSlot,
    /// It runs.
    Running,
}

impl Rig for DeviceRig {
    fn driver(&self) -> Driver {
        self.driver
    }

    fn start_host(&self) -> Host {
        let turn = {
            let mut state = self.state.borrow_mut();
            state.turns += 1;
            state.turns - 1
        };
        self.start_host_at(self.doors.of_host(turn))
    }

    fn set_user(&self, host: Host, uid: u32) -> Result<(), Errno> {
        self.order(host, Order::SetUser, [uid.into(), 0, 0]).map(|_| ())
    }

    fn pid(&self, host: Host) -> i32 {
        self.state.borrow().hosts[host.0].pid()
    }

    fn kill(&self, host: Host) {
        self.state.borrow_mut().hosts[host.0].kill();
    }

    fn start_thread(&self, host: Host) -> Thread {
        let mut state = self.state.borrow_mut();
        let number = state.hosts[host.0].start_thread();
        state.threads.push((host, number));
        Thread(state.threads.len() - 1)
    }

    fn open(&self, host: Host, device: Device, mode: Mode) -> Result<Process, Errno> {
        let device = u64::from(device == Device::Second);
        let nonblocking = u64::from(mode == Mode::Nonblocking);
        let fd = self.order(host, Order::Open, [device, nonblocking, 0])?;
        let mut state = self.state.borrow_mut();
        state.processes.push(OpenFile { host, fd, area: (0, 0) });
        Ok(Process(state.processes.len() - 1))
    }

    fn map(&self, process: Process, len: usize, protection: Protection) -> Result<u64, Errno> {
        let writable = u64::from(protection == Protection::Writable);
        let base = self.order_on(process, Order::Map, len as u64, writable)?;
        self.state.borrow_mut().processes[process.0].area = (base, len);
        Ok(base)
    }

    fn set_mode(&self, process: Process, mode: Mode) {
        let nonblocking = u64::from(mode == Mode::Nonblocking);
        self.order_on(process, Order::SetMode, nonblocking, 0).expect("fcntl");
    }

    fn close_duplicate(&self, process: Process) {
        self.order_on(process, Order::CloseDuplicate, 0, 0).expect("dup");
    }

    fn close(&self, process: Process) {
        let (base, len) = self.state.borrow().processes[process.0].area;
        self.order_on(process, Order::Close, base, len as u64).expect("close");
    }

    fn ioctl(&self, caller: Caller, request: u32, argument: u64) -> Progress {
        self.begin(caller, Order::Ioctl, request.into(), argument);
        self.settle(caller.thread)
    }

    fn wait_readable(&self, caller: Caller, waiter: Waiter) -> Progress {
        self.begin_wait_readable(caller, waiter);
        self.settle(caller.thread)
    }

    fn settle(&self, thread: Thread) -> Progress {
        let begun = Instant::now();
        let mut asleep = 0;
        while asleep < LOOKS || !(self.driver_rests(thread) || begun.elapsed() > REST_TIMEOUT) {
            match self.look(thread) {
                Look::Ended(result) => return Progress::Done(result.map(|_| ())),
                Look::Asleep => {
                    asleep += 1;
                    self.pass_fence();
                }
                // What it has posted is not in line with what the fence asks: it may not be looked at yet.
                Look::Running | Look::InSlot => asleep = 0,
            }
        }
        Progress::Parked
    }

    fn finish(&self, thread: Thread) -> Result<(), Errno> {
        let mut state = self.state.borrow_mut();
        let (host, number) = state.threads[thread.0];
        state.hosts[host.0].finish(number).map(|_| ())
    }

    fn interrupt(&self, thread: Thread) {
        let mut state = self.state.borrow_mut();
        let (host, number) = state.threads[thread.0];
        state.hosts[host.0].interrupt(number);
    }

    fn poll(&self, caller: Caller) -> Readiness {
        self.begin(caller, Order::Poll, 0, 0);
        let mut state = self.state.borrow_mut();
        let (host, number) = state.threads[caller.thread.0];
        let bits = state.hosts[host.0].finish(number).expect("poll");
        Readiness {
            is_readable: bits & actor::READABLE != 0,
            is_writable: bits & actor::WRITABLE != 0,
            has_failed: bits & actor::FAILED != 0,
        }
    }

    fn allocate(&self, host: Host, len: usize) -> u64 {
        self.state.borrow_mut().hosts[host.0].allocate(len)
    }

    fn guard(&self, host: Host) -> u64 {
        self.state.borrow().hosts[host.0].guard()
    }

    fn poke(&self, host: Host, address: u64, bytes: &[u8]) {
        self.state.borrow().hosts[host.0].poke(address, bytes);
    }

    fn peek(&self, host: Host, address: u64, bytes: &mut [u8]) -> Result<(), Errno> {
        self.state.borrow().hosts[host.0].peek(address, bytes)
    }

    fn descriptors(&self) -> &dyn Descriptors {
        self
    }

    fn system(&self) -> Option<&dyn System> {
        Some(self)
    }

    fn tear_down(&self) {
        let mut state = self.state.borrow_mut();
        state.fence = None;
        for host in &mut state.hosts {
            host.kill();
        }
    }
}

impl Descriptors for DeviceRig {
    fn duplicate(&self, host: Host, fd: u64) -> u64 {
        self.order(host, Order::Duplicate, [fd, 0, 0]).expect("dup")
    }

    fn close_descriptor(&self, host: Host, fd: u64) {
        self.order(host, Order::Close, [fd, 0, 0]).expect("close");
    }

    fn limit_descriptors(&self, host: Host, count: u64) {
        let maximum = getrlimit(Resource::Nofile).maximum;
        let limit = Rlimit { current: Some(count), maximum };
        prlimit(Pid::from_raw(self.pid(host)), Resource::Nofile, limit).expect("prlimit");
    }

    fn file(&self, host: Host, fd: u64) -> Option<String> {
        let target = fs::read_link(format!("/proc/{}/fd/{fd}", self.pid(host))).ok()?;
        Some(target.to_string_lossy().into_owned())
    }

    fn closes_on_exec(&self, host: Host, fd: u64) -> bool {
        let info = format!("/proc/{}/fdinfo/{fd}", self.pid(host));
        let info = fs::read_to_string(info).expect("an open descriptor");
        let flags = info.lines().find_map(|line| line.strip_prefix("flags:")).expect("its flags");
        let flags = u32::from_str_radix(flags.trim(), 8).expect("an octal number");
        flags & OFlags::CLOEXEC.bits() != 0
    }

    fn open_descriptors(&self, host: Host) -> usize {
        fs::read_dir(format!("/proc/{}/fd", self.pid(host))).expect("a live host").count()
    }
}

impl System for DeviceRig {
    fn make_writable(&self, host: Host, address: u64, len: usize) -> Result<(), Errno> {
        self.order(host, Order::MakeWritable, [address, len as u64, 0]).map(|_| ())
    }

    fn map_as(&self, host: Host, process: Process, len: usize) -> Result<u64, Errno> {
        let (owner, fd) = self.file(process);
        let pid = self.pid(owner).unsigned_abs().into();
        let fetched = self.order(host, Order::FetchDescriptor, [pid, fd, 0])?;
        self.order(host, Order::Map, [fetched, len as u64, 0])
    }

    fn move_area(&self, process: Process) -> Result<u64, Errno> {
        let (host, (base, len)) = {
            let state = self.state.borrow();
            let file = &state.processes[process.0];
            (file.host, file.area)
        };
        let base = self.order(host, Order::Move, [base, len as u64, 0])?;
        self.state.borrow_mut().processes[process.0].area = (base, len);
        Ok(base)
    }

    fn sync(&self, process: Process) -> Result<(), Errno> {
        self.order_on(process, Order::Sync, 0, 0).map(|_| ())
    }

    fn is_mapped_in_child(&self, host: Host, address: u64) -> bool {
        self.order(host, Order::ProbeChild, [address, 0, 0]).expect("fork") != 0
    }

    fn serve(&self, caller: Caller) {
        self.begin(caller, Order::Serve, 0, 0);
    }

    fn churn(&self, caller: Caller, seed: u64) {
        self.begin(caller, Order::Churn, seed, 0);
    }

    fn share(&self, process: Process, host: Host) -> Process {
        let (owner, fd) = self.file(process);
        let pid = self.pid(owner).unsigned_abs().into();
        let fd = self.order(host, Order::FetchDescriptor, [pid, fd, 0]).expect("pidfd_getfd");
        let mut state = self.state.borrow_mut();
        state.processes.push(OpenFile { host, fd, area: (0, 0) });
        Process(state.processes.len() - 1)
    }

    fn add_device(&self, name: &[u8]) -> Result<(), Errno> {
        self.add_device_by(&self.devices[0].with_file_name("binder-control"), name)
    }

    fn add_device_by(&self, control: &Path, name: &[u8]) -> Result<(), Errno> {
        let control = File::open(control).map_err(|_| Errno::NOENT)?;
        sys::add_device(control.as_fd(), name)
    }

    fn mount_in_user_namespace(&self, directory: &Path, options: &str) -> Result<(), Errno> {
        let directory = CString::new(directory.as_os_str().as_bytes()).map_err(|_| Errno::INVAL)?;
        let options = CString::new(options).map_err(|_| Errno::INVAL)?;
        sys::mount_in_user_namespace(&directory, &options)
    }

    fn device_path(&self) -> &Path {
        &self.devices[0]
    }
}
