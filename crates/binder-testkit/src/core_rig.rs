//! A rig on the pure crates: fake memory, no threads, one schedule.
//!
//! Its calls go through the front ends of the devices, whose actions the rig carries out ([`frontends`]), or
//! past them ([`CoreRig::without_frontend`]): the rig then decodes calls and resumes woken readers itself. Either
//! way a check plays out the same every time.

mod controls;
mod doors;
mod effects;
mod ends;
mod fd_work;
mod freezes;
mod frontends;
mod requests;
mod steps;
mod windows;

use std::cell::RefCell;
use std::collections::VecDeque;

use binder_core::{
    Commands, Context, Freeze, HeldPid, IfOutstanding, Inheritance, Limits, LiveObjects, LogEntry,
    MemoryBudget, NamespaceId, Opener, PidTable, Priority, ProcessKey, SendReport, Sequences,
    Snapshot, SnapshotCursor, SnapshotItem, ThreadKey, Traced, UidMap, Waits,
};
use binder_frontend::Frontend;
use binder_uapi::{BINDER_FREEZE, BINDER_WRITE_READ, BinderWriteRead};
use rustix::io::Errno;
use zerocopy::{FromBytes, Immutable, IntoBytes};

use self::fd_work::FakeFdWork;
use self::freezes::FreezeWaiter;
use self::frontends::Executor;
pub use self::frontends::FdWorkState;
pub use self::steps::Trouble;
use self::windows::{Disruption, Window};
use crate::fake_memory::{FakeMemory, GUARD};
use crate::{
    Caller, Descriptors, Device, Driver, Host, Mode, Process, Progress, Protection, Readiness, Rig,
    Thread, Waiter,
};

/// A rig on the pure crates.
#[derive(Default)]
pub struct CoreRig {
    world: RefCell<World>,
}

struct World {
    /// Each names its open files by their places in `files`.
    devices: [Frontend<usize>; 2],
    /// Whether calls go past the front ends.
    has_no_frontend: bool,
    /// What the front ends have asked for, and were asked.
    executor: Executor,
    memory: FakeMemory,
    pids: Pids,
    hosts: Vec<FakeHost>,
    files: Vec<OpenFile>,
    threads: Vec<FakeThread>,
    /// Freezes that wait, and who asked for them.
    freezes: Vec<(FreezeWaiter, Freeze)>,
    /// Whether woken readers stay where they are for now.
    is_held: bool,
    /// Files that were closed, and are not at their end.
    ending: Vec<(usize, ProcessKey)>,
    /// Whether such files wait to be asked for.
    ends_slowly: bool,
    /// What calls wait for, in the order in which it is done.
    fd_work: VecDeque<FakeFdWork>,
    /// Whether that stays undone for now.
    holds_fd_work: bool,
    /// Commands that were run, in whose place the next come.
    used_commands: Option<Commands>,
    /// Calls that wait for memory of their host, the longest first.
    windows: VecDeque<Window>,
    /// Whether they wait until they are let pass.
    holds_windows: bool,
    /// Whether they wait once more with what was fetched.
    holds_fetched: bool,
    /// The trouble that is ordered for one of them.
    disruption: Option<Disruption>,
}

/// The numbers of the hosts, none of which the kernel knows.
struct Pids(PidTable);

impl Default for Pids {
    fn default() -> Self {
        Self(PidTable::new(NamespaceId(0)))
    }
}

impl Default for World {
    fn default() -> Self {
        Self::on([Context::new(), Context::new()])
    }
}

struct FakeHost {
    pid: HeldPid,
    euid: u32,
    is_killed: bool,
}

struct OpenFile {
    host: Host,
    context: usize,
    key: ProcessKey,
    waits: Waits,
    is_open: bool,
}

struct FakeThread {
    host: Host,
    tid: u32,
    /// Its priority, if a check cares.
    priority: Option<Priority>,
    call: Call,
}

/// The system call that a thread is in, or came back from.
#[derive(Clone, Copy)]
enum Call {
    Ended(Result<(), Errno>),
    Reading {
        process: Process,
        key: ThreadKey,
        argument: u64,
        request: BinderWriteRead,
    },
    Polling {
        process: Process,
    },
    /// It waits for its descriptor work.
    FdWork,
    Freezing,
    /// It is for the front end of a device to answer.
    Asked {
        device: usize,
        unique: u64,
    },
}

impl CoreRig {
    /// A rig whose calls go through front ends, and one whose calls go past them.
    pub const BOTH: [fn() -> Self; 2] = [Self::default, || Self::default().without_frontend()];

    /// A rig whose processes keep to `limits`.
    #[must_use]
    pub fn with_limits(limits: Limits) -> Self {
        let budget = MemoryBudget::new(limits.all_bytes);
        let contexts =
            [limits, limits].map(|limits| Context::with_limits(limits).paying_from(budget.clone()));
        Self { world: RefCell::new(World::on(contexts)) }
    }

    /// The same rig, whose calls go past the front ends of its devices.
    #[must_use]
    pub fn without_frontend(self) -> Self {
        let world = World { has_no_frontend: true, ..self.world.into_inner() };
        Self { world: RefCell::new(world) }
    }

    /// The same rig, whose descriptors change in this way.
    #[must_use]
    pub fn with_fd_work(self, state: FdWorkState) -> Self {
        self.world.borrow_mut().executor.fd_work_state = state;
        self
    }

    /// The same rig, whose calls go on in slices of that many objects.
    #[must_use]
    pub fn in_slices_of(self, objects: usize) -> Self {
        for context in contexts(&mut self.world.borrow_mut().devices) {
            *context = std::mem::take(context).in_slices_of(objects);
        }
        self
    }

    /// The same rig, whose threads inherit this where they are given priorities.
    #[must_use]
    pub fn inheriting(self, inheritance: Inheritance) -> Self {
        for device in &mut self.world.borrow_mut().devices {
            *device = Frontend::new(std::mem::take(device.context_mut()), inheritance, true);
        }
        self
    }

    /// How many captured files the driver holds.
    pub fn captured_files(&self) -> usize {
        self.world.borrow().memory.captured_files()
    }

    /// Has the driver find that a file's receive buffer is mapped no more.
    pub fn lose_mapping(&self, process: Process) {
        let mut world = self.world.borrow_mut();
        let OpenFile { context, key, .. } = world.files[process.0];
        let World { devices, memory, .. } = &mut *world;
        devices[context].context_mut().lose_mapping(key, &mut memory.of_device(context));
        world.carry_out_effects();
    }

    /// Lets more time pass than any thread is willing to wait.
    pub fn let_time_pass(&self) {
        let mut world = self.world.borrow_mut();
        world.advance_freezes(IfOutstanding::Fail, |_| true);
        world.carry_out_effects();
    }

    /// From here on, a closed file and buffers that no process frees come to their end slice by
    /// slice, by [`end_some`](Self::end_some).
    pub fn end_slowly(&self) {
        self.world.borrow_mut().ends_slowly = true;
    }

    /// Plays one slice of the end of a closed file, or else of such buffers. Says whether there may be more.
    pub fn end_some(&self) -> bool {
        self.world.borrow_mut().end_some()
    }

    /// Lets the driver's clock of the first device show `now_ns`.
    pub fn set_now(&self, now_ns: u64) {
        self.world.borrow_mut().device(0).set_now(now_ns);
    }

    /// All tables of the first device.
    pub fn snapshot(&self) -> Snapshot {
        self.world.borrow().devices[0].context().snapshot()
    }

    /// The slices of a snapshot of the first device.
    pub fn snapshot_slices(&self) -> Vec<Vec<SnapshotItem>> {
        let mut cursor = SnapshotCursor::default();
        let next = || (!cursor.is_at_end()).then(|| self.snapshot_slice(&mut cursor));
        std::iter::from_fn(next).collect()
    }

    /// The next slice of a snapshot of the first device.
    pub fn snapshot_slice(&self, cursor: &mut SnapshotCursor) -> Vec<SnapshotItem> {
        self.world.borrow().devices[0].context().snapshot_slice(cursor)
    }

    /// The last sends of the first device, and the last that failed.
    pub fn transaction_logs(&self) -> [Vec<LogEntry>; 2] {
        let world = self.world.borrow();
        let context = world.devices[0].context();
        [
            context.transaction_log().copied().collect(),
            context.failed_transaction_log().copied().collect(),
        ]
    }

    /// Traces the first device from here on.
    pub fn begin_trace(&self) {
        self.world.borrow_mut().device(0).begin_trace();
    }

    /// What has happened on the first device since it was asked for last.
    pub fn take_trace(&self) -> Vec<Traced> {
        let mut events = Vec::new();
        assert_eq!(self.world.borrow_mut().device(0).take_trace(&mut events), 0, "lost events");
        events.into_iter().map(|event| event.what).collect()
    }

    /// Takes the oldest report of the first device.
    pub fn poll_report(&self) -> Option<SendReport> {
        let mut world = self.world.borrow_mut();
        world.executor.take_report().or_else(|| world.device(0).poll_report())
    }

    /// Gives back all pages of receive buffers that no live transaction touches.
    pub fn reclaim_idle_pages(&self) {
        let World { devices, memory, .. } = &mut *self.world.borrow_mut();
        for (number, context) in contexts(devices).into_iter().enumerate() {
            context.reclaim_idle_pages(0, usize::MAX, &mut memory.of_device(number));
        }
    }

    /// The live objects of the first device.
    pub fn live_objects(&self) -> LiveObjects {
        self.world.borrow().devices[0].context().live_objects()
    }
}

impl World {
    fn on(contexts: [Context; 2]) -> Self {
        let sequences = Sequences::default();
        let frontend = |context: Context| {
            Frontend::new(context.numbered_by(sequences.clone()), Inheritance::Nothing, true)
        };
        Self {
            devices: contexts.map(frontend),
            has_no_frontend: false,
            executor: Executor::default(),
            memory: FakeMemory::default(),
            pids: Pids::default(),
            hosts: Vec::new(),
            files: Vec::new(),
            threads: Vec::new(),
            freezes: Vec::new(),
            is_held: false,
            ending: Vec::new(),
            ends_slowly: false,
            fd_work: VecDeque::new(),
            holds_fd_work: false,
            used_commands: None,
            windows: VecDeque::new(),
            holds_windows: false,
            holds_fetched: false,
            disruption: None,
        }
    }

    /// The core of a device.
    fn device(&mut self, number: usize) -> &mut Context {
        self.devices[number].context_mut()
    }

    fn core_caller(&self, caller: Caller) -> (usize, binder_core::Caller) {
        let file = &self.files[caller.process.0];
        assert!(file.is_open, "a call through a closed file");
        let thread = &self.threads[caller.thread.0];
        let core_caller = binder_core::Caller {
            process: file.key,
            tid: thread.tid,
            euid: self.hosts[thread.host.0].euid,
            waits: file.waits,
        };
        (file.context, core_caller)
    }

    fn admit(&mut self, caller: Caller) -> Result<(), Errno> {
        let (context, who) = self.core_caller(caller);
        self.devices[context].context_mut().admit(&who).map_err(errno)
    }

    fn get<T: FromBytes>(&self, host: Host, address: u64) -> Result<T, Errno> {
        let mut bytes = vec![0; size_of::<T>()];
        self.memory.peek(host, address, &mut bytes).map_err(|_| Errno::FAULT)?;
        Ok(T::read_from_bytes(&bytes).expect("as many bytes as it has"))
    }

    fn put<T: IntoBytes + Immutable>(
        &mut self,
        host: Host,
        address: u64,
        value: &T,
    ) -> Result<(), Errno> {
        self.memory.poke(host, address, value.as_bytes()).map_err(|_| Errno::FAULT)
    }
}

/// The cores of all devices.
fn contexts(devices: &mut [Frontend<usize>; 2]) -> [&mut Context; 2] {
    devices.each_mut().map(Frontend::context_mut)
}

fn errno(error: binder_core::Errno) -> Errno {
    Errno::from_raw_os_error(error.number())
}

impl Rig for CoreRig {
    fn driver(&self) -> Driver {
        Driver::Core
    }

    fn start_host(&self) -> Host {
        let mut world = self.world.borrow_mut();
        let host = Host(world.hosts.len());
        let pid = world.pids.0.allocate(None).expect("few hosts");
        world.hosts.push(FakeHost { pid, euid: 0, is_killed: false });
        world.memory.add_host();
        host
    }

    fn set_user(&self, host: Host, uid: u32) -> Result<(), Errno> {
        self.world.borrow_mut().hosts[host.0].euid = uid;
        Ok(())
    }

    fn pid(&self, host: Host) -> i32 {
        self.world.borrow().hosts[host.0].pid.number().try_into().expect("a small number")
    }

    fn kill(&self, host: Host) {
        self.world.borrow_mut().kill(host);
    }

    fn start_thread(&self, host: Host) -> Thread {
        let mut world = self.world.borrow_mut();
        let number = world.threads.len();
        let tid = 10_000 + u32::try_from(number).expect("few threads");
        world.threads.push(FakeThread { host, tid, priority: None, call: Call::Ended(Ok(())) });
        Thread(number)
    }

    fn open(&self, host: Host, device: Device, mode: Mode) -> Result<Process, Errno> {
        let mut world = self.world.borrow_mut();
        let context = usize::from(device == Device::Second);
        let FakeHost { pid, euid, .. } = &world.hosts[host.0];
        let opener = Opener {
            pid: pid.clone(),
            uid: *euid,
            uids: UidMap::identity(),
            security_label: Box::from(*b"fake_label"),
        };
        let (number, priority) = (world.files.len(), Some(Priority::ORDINARY));
        let is_nonblocking = mode == Mode::Nonblocking;
        let device = &mut world.devices[context];
        let key = device.open(opener, number, is_nonblocking, priority).map_err(errno)?;
        world.memory.add_file((context, key.to_u64()), host);
        let waits = waits(mode);
        world.files.push(OpenFile { host, context, key, waits, is_open: true });
        Ok(Process(number))
    }

    fn map(&self, process: Process, len: usize, protection: Protection) -> Result<u64, Errno> {
        assert_eq!(protection, Protection::ReadOnly, "rights are the business of a front end");
        let mut world = self.world.borrow_mut();
        let OpenFile { context, key, .. } = world.files[process.0];
        world.memory.map((context, key.to_u64()), len).ok_or(Errno::BUSY)
    }

    fn set_mode(&self, process: Process, mode: Mode) {
        self.world.borrow_mut().set_mode(process.0, waits(mode));
    }

    fn close_duplicate(&self, process: Process) {
        let mut world = self.world.borrow_mut();
        world.flush(process.0);
    }

    fn close(&self, process: Process) {
        self.world.borrow_mut().close(process.0);
    }

    fn ioctl(&self, caller: Caller, request: u32, argument: u64) -> Progress {
        let mut world = self.world.borrow_mut();
        if !world.has_no_frontend {
            world.ask(caller, request, argument);
            drop(world);
            return self.settle(caller.thread);
        }
        let call = match world.admit(caller) {
            Ok(()) if request == BINDER_WRITE_READ => world.write_read(caller, argument),
            Ok(()) if request == BINDER_FREEZE => world.freeze(caller, argument),
            Ok(()) => Call::Ended(world.small_request(caller, request, argument)),
            Err(errno) => Call::Ended(Err(errno)),
        };
        world.threads[caller.thread.0].call = call;
        world.carry_out_effects();
        drop(world);
        self.settle(caller.thread)
    }

    fn wait_readable(&self, caller: Caller, _waiter: Waiter) -> Progress {
        let mut world = self.world.borrow_mut();
        let is_ready = world.poll(caller, true);
        let process = caller.process;
        world.threads[caller.thread.0].call =
            if is_ready { Call::Ended(Ok(())) } else { Call::Polling { process } };
        drop(world);
        self.settle(caller.thread)
    }

    fn settle(&self, thread: Thread) -> Progress {
        match self.world.borrow().threads[thread.0].call {
            Call::Ended(result) => Progress::Done(result),
            Call::Reading { .. }
            | Call::Polling { .. }
            | Call::FdWork
            | Call::Freezing
            | Call::Asked { .. } => Progress::Parked,
        }
    }

    fn finish(&self, thread: Thread) -> Result<(), Errno> {
        match self.settle(thread) {
            Progress::Done(result) => result,
            Progress::Parked => panic!("the call does not return"),
        }
    }

    fn interrupt(&self, thread: Thread) {
        let mut world = self.world.borrow_mut();
        world.interrupt(thread.0);
        world.carry_out_effects();
    }

    fn poll(&self, caller: Caller) -> Readiness {
        let mut world = self.world.borrow_mut();
        let is_readable = world.poll(caller, false);
        Readiness { is_readable, ..Readiness::default() }
    }

    fn allocate(&self, host: Host, len: usize) -> u64 {
        self.world.borrow_mut().memory.allocate(host, len)
    }

    fn guard(&self, _host: Host) -> u64 {
        GUARD
    }

    fn poke(&self, host: Host, address: u64, bytes: &[u8]) {
        self.world.borrow_mut().memory.poke(host, address, bytes).expect("memory of the host");
    }

    fn peek(&self, host: Host, address: u64, bytes: &mut [u8]) -> Result<(), Errno> {
        self.world.borrow().memory.peek(host, address, bytes).map_err(|_| Errno::FAULT)
    }

    fn descriptors(&self) -> &dyn Descriptors {
        self
    }

    fn core(&self) -> Option<&CoreRig> {
        Some(self)
    }

    fn tear_down(&self) {
        self.world.borrow_mut().is_held = false;
        self.let_fd_work_go();
        self.let_windows_pass();
        let mut world = self.world.borrow_mut();
        for host in 0..world.hosts.len() {
            world.kill(Host(host));
        }
        while world.end_some() {}
        world.assert_all_is_answered();
        for context in contexts(&mut world.devices) {
            assert_eq!(context.live_objects(), LiveObjects::default(), "something was left behind");
            let objects = context.snapshot().objects;
            assert!(objects.iter().all(|object| object.active == 0), "{objects:?}");
        }
        assert_eq!(world.memory.captured_files(), 0, "files were left behind");
    }
}

impl Descriptors for CoreRig {
    fn duplicate(&self, host: Host, fd: u64) -> u64 {
        self.world.borrow_mut().memory.descriptors(host).duplicate(fd)
    }

    fn close_descriptor(&self, host: Host, fd: u64) {
        self.world.borrow_mut().memory.descriptors(host).close(fd);
    }

    fn limit_descriptors(&self, host: Host, count: u64) {
        self.world.borrow_mut().memory.descriptors(host).limit(count);
    }

    fn file(&self, host: Host, fd: u64) -> Option<String> {
        self.world.borrow_mut().memory.descriptors(host).file(fd)
    }

    fn closes_on_exec(&self, host: Host, fd: u64) -> bool {
        self.world.borrow_mut().memory.descriptors(host).closes_on_exec(fd)
    }

    fn open_descriptors(&self, host: Host) -> usize {
        self.world.borrow_mut().memory.descriptors(host).len()
    }
}

fn waits(mode: Mode) -> Waits {
    match mode {
        Mode::Blocking => Waits::UntilReady,
        Mode::Nonblocking => Waits::Never,
    }
}
