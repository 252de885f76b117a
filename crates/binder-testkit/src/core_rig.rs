//! A rig on the pure core: fake memory, no threads, one schedule.
//!
//! Woken readers are resumed at once, in the order of the core's effects, so that a check plays
//! out the same way every time.

mod effects;
mod ends;
mod fd_work;
mod freezes;
mod requests;
mod windows;

use std::cell::RefCell;
use std::collections::VecDeque;

use binder_core::{
    Census, Commands, Context, Freeze, HeldPid, Limits, LogEntry, MemoryBudget, NamespaceId, Nice,
    Opener, Patience, PidTable, ProcessKey, SendReport, Snapshot, ThreadKey, UidMap, Waits,
};
use binder_uapi::{BINDER_FREEZE, BINDER_WRITE_READ, BinderWriteRead};
use rustix::io::Errno;
use zerocopy::{FromBytes, Immutable, IntoBytes};

use self::fd_work::FakeFdWork;
use self::windows::{Disruption, Window};
use crate::fake_memory::{FakeMemory, Fickle, GUARD};
use crate::{
    Caller, Descriptors, Device, Driver, Host, Mode, Process, Progress, Protection, Readiness, Rig,
    Thread, Waiter,
};

/// A rig on the pure core.
#[derive(Default)]
pub struct CoreRig {
    world: RefCell<World>,
}

#[derive(Default)]
struct World {
    contexts: [Context; 2],
    memory: FakeMemory,
    pids: Pids,
    hosts: Vec<FakeHost>,
    files: Vec<OpenFile>,
    threads: Vec<FakeThread>,
    /// Freezes that wait, and the threads that asked for them.
    freezes: Vec<(usize, Freeze)>,
    /// Whether woken readers stay where they are for now.
    is_held: bool,
    /// Files that were closed, and are not at their end.
    ending: Vec<(usize, ProcessKey)>,
    /// Whether such files wait to be asked for.
    ends_slowly: bool,
    /// What calls wait for, in the order in which it is done.
    fd_work: VecDeque<FakeFdWork>,
    /// Whether that stays undone for now.
    holds_errands: bool,
    /// Commands that were run, in whose place the next come.
    used_commands: Option<Commands>,
    /// Calls that wait for memory of their host, the longest first.
    windows: VecDeque<Window>,
    /// Whether they wait until they are let pass.
    holds_windows: bool,
    /// Whether they wait once more with what was fetched.
    holds_fetched: bool,
    /// What is to happen during one of them.
    disruption: Option<Disruption>,
}

/// The numbers of the hosts, none of which the kernel knows.
struct Pids(PidTable);

impl Default for Pids {
    fn default() -> Self {
        Self(PidTable::new(NamespaceId(0)))
    }
}

struct FakeHost {
    pid: HeldPid,
    euid: u32,
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
    /// How nice it is, if a check cares.
    nice: Option<i8>,
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
}

impl CoreRig {
    /// A rig whose processes keep to `limits`.
    #[must_use]
    pub fn with_limits(limits: Limits) -> Self {
        let budget = MemoryBudget::new(limits.all_bytes);
        let contexts =
            [limits, limits].map(|limits| Context::with_limits(limits).paying_from(budget.clone()));
        Self { world: RefCell::new(World { contexts, ..World::default() }) }
    }

    /// The same rig, whose calls go on in slices of so many objects.
    #[must_use]
    pub fn in_slices_of(self, objects: usize) -> Self {
        let mut world = self.world.into_inner();
        world.contexts = world.contexts.map(|context| context.in_slices_of(objects));
        Self { world: RefCell::new(world) }
    }

    /// Lets the access after the next `accesses` ones fault; `None` takes it back.
    pub fn fault_after(&self, accesses: Option<usize>) {
        self.world.borrow_mut().memory.fault_after(accesses);
    }

    /// Whether the fault that was ordered has happened.
    pub fn has_faulted(&self) -> bool {
        self.world.borrow().memory.has_faulted()
    }

    /// Lets a host's memory at `address` change to `becomes` as soon as the driver has read it.
    pub fn change_once_read(&self, host: Host, address: u64, becomes: &[u8]) {
        let becomes = becomes.to_vec();
        self.world.borrow_mut().memory.set_fickle(Fickle { host, address, becomes });
    }

    /// Keeps woken readers from running, as a busy machine would.
    pub fn hold(&self) {
        self.world.borrow_mut().is_held = true;
    }

    /// Lets them run.
    pub fn let_go(&self) {
        let mut world = self.world.borrow_mut();
        world.is_held = false;
        world.carry_out_effects();
    }

    /// Makes a thread nice, as setpriority(2) does.
    pub fn set_nice(&self, thread: Thread, nice: i8) {
        self.world.borrow_mut().threads[thread.0].nice = Some(nice);
    }

    /// How nice a thread has become.
    pub fn nice_of(&self, thread: Thread) -> Option<i8> {
        self.world.borrow().threads[thread.0].nice
    }

    /// Keeps descriptor work from being done, as a machine would whose clients do not run.
    pub fn hold_errands(&self) {
        self.world.borrow_mut().holds_errands = true;
    }

    /// Lets them be done.
    pub fn let_errands_go(&self) {
        let mut world = self.world.borrow_mut();
        world.holds_errands = false;
        world.carry_out_effects();
    }

    /// Takes back the descriptor work that are held, as if signals had come before them.
    pub fn retract_errands(&self) {
        self.world.borrow_mut().retract_errands();
    }

    /// Has every access to a host's memory, and every further slice of a call, wait until it is
    /// [let pass](Self::pass_window).
    pub fn hold_windows(&self) {
        self.world.borrow_mut().holds_windows = true;
    }

    /// Has each call wait once more, [likewise](Self::hold_windows), when its commands are fetched.
    pub fn hold_fetched(&self) {
        self.hold_windows();
        self.world.borrow_mut().holds_fetched = true;
    }

    /// Closes a file while a call through another waits for memory of its host, or for its next slice:
    /// the one after `windows` such calls.
    pub fn close_in_window(&self, windows: usize, process: Process) {
        self.disrupt(windows, process, move |world| world.close(process.0));
    }

    /// The same with a thread that ends, whatever it does.
    pub fn exit_in_window(&self, windows: usize, caller: Caller) {
        self.disrupt(windows, caller.process, move |world| world.end_thread(caller));
    }

    /// Ends a thread, whatever it does.
    pub fn end_thread(&self, caller: Caller) {
        let mut world = self.world.borrow_mut();
        world.end_thread(caller);
        world.carry_out_effects();
    }

    /// The same with a freeze of the program behind a file, if it has nothing to finish first.
    pub fn freeze_in_window(&self, windows: usize, by: Caller, process: Process) {
        self.disrupt(windows, process, move |world| {
            let pid = world.hosts[world.files[process.0].host.0].pid.number();
            let program = world.program(by, pid).expect("one that is there");
            let mut freeze = program.freeze(Patience::Over);
            let _ = freeze.advance(&mut world.contexts.each_mut(), Patience::Over);
        });
    }

    fn disrupt(
        &self,
        windows_left: usize,
        spared: Process,
        what: impl FnOnce(&mut World) + 'static,
    ) {
        let what = Box::new(what);
        self.world.borrow_mut().disruption = Some(Disruption { spared, windows_left, what });
    }

    /// Takes back what was ordered for a window.
    pub fn call_off_disruption(&self) {
        self.world.borrow_mut().disruption = None;
    }

    /// Whether what was ordered for a window is still to come.
    pub fn is_to_be_disrupted(&self) -> bool {
        self.world.borrow().disruption.is_some()
    }

    /// Lets the access that has waited longest happen. Says whether there was one.
    pub fn pass_window(&self) -> bool {
        let mut world = self.world.borrow_mut();
        let has_passed = world.pass_window();
        world.carry_out_effects();
        has_passed
    }

    /// Lets all of them happen, and those to come.
    pub fn let_windows_pass(&self) {
        self.world.borrow_mut().holds_windows = false;
        self.world.borrow_mut().holds_fetched = false;
        while self.pass_window() {}
    }

    /// How many captured files the driver holds.
    pub fn captured_files(&self) -> usize {
        self.world.borrow().memory.captured_files()
    }

    /// Has the driver find that a file's receive buffer is mapped no more.
    pub fn lose_mapping(&self, process: Process) {
        let mut world = self.world.borrow_mut();
        let OpenFile { context, key, .. } = world.files[process.0];
        let World { contexts, memory, .. } = &mut *world;
        contexts[context].lose_mapping(key, &mut memory.seen_by(context));
        world.carry_out_effects();
    }

    /// Lets more time pass than anybody is willing to wait.
    pub fn let_time_pass(&self) {
        let mut world = self.world.borrow_mut();
        world.advance_freezes(Patience::Over, |_| true);
        world.carry_out_effects();
    }

    /// From here on, a closed file and buffers that nobody frees come to their end slice by slice, by
    /// [`end_some`](Self::end_some).
    pub fn end_slowly(&self) {
        self.world.borrow_mut().ends_slowly = true;
    }

    /// Plays one slice of the end of a closed file, or else of such buffers. Says whether there may be more.
    pub fn end_some(&self) -> bool {
        self.world.borrow_mut().end_some()
    }

    /// Lets the driver's clock of the first device show `now_ns`.
    pub fn set_now(&self, now_ns: u64) {
        self.world.borrow_mut().contexts[0].set_now(now_ns);
    }

    /// All tables of the first device.
    pub fn snapshot(&self) -> Snapshot {
        self.world.borrow().contexts[0].snapshot()
    }

    /// The last sends of the first device, and the last that failed.
    pub fn transaction_logs(&self) -> [Vec<LogEntry>; 2] {
        let context = &self.world.borrow().contexts[0];
        [
            context.transaction_log().copied().collect(),
            context.failed_transaction_log().copied().collect(),
        ]
    }

    /// Takes the oldest report of the first device.
    pub fn poll_report(&self) -> Option<SendReport> {
        self.world.borrow_mut().contexts[0].poll_report()
    }

    /// Gives back all pages of receive buffers that no live transaction touches.
    pub fn reclaim_idle_pages(&self) {
        let World { contexts, memory, .. } = &mut *self.world.borrow_mut();
        for (number, context) in contexts.iter_mut().enumerate() {
            context.reclaim_idle_pages(0, usize::MAX, &mut memory.seen_by(number));
        }
    }

    /// The live objects of the first device.
    pub fn census(&self) -> Census {
        self.world.borrow().contexts[0].census()
    }
}

impl World {
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
        self.contexts[context].admit(&who).map_err(errno)
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
        world.hosts.push(FakeHost { pid, euid: 0 });
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
        world.threads.push(FakeThread { host, tid, nice: None, call: Call::Ended(Ok(())) });
        Thread(number)
    }

    fn open(&self, host: Host, device: Device, mode: Mode) -> Result<Process, Errno> {
        let mut world = self.world.borrow_mut();
        let context = usize::from(device == Device::Second);
        let FakeHost { pid, euid } = &world.hosts[host.0];
        let opener = Opener {
            pid: pid.clone(),
            uid: *euid,
            uids: UidMap::identity(),
            security_label: Box::from(*b"fake_label"),
        };
        let opened = world.contexts[context].open(opener);
        let key = opened.map_err(|errno| Errno::from_raw_os_error(errno.number()))?;
        world.contexts[context].note_default_nice(key, Nice(0));
        world.memory.add_file((context, key.to_u64()), host);
        let waits = waits(mode);
        world.files.push(OpenFile { host, context, key, waits, is_open: true });
        Ok(Process(world.files.len() - 1))
    }

    fn map(&self, process: Process, len: usize, protection: Protection) -> Result<u64, Errno> {
        assert_eq!(protection, Protection::ReadOnly, "rights are the business of a front end");
        let mut world = self.world.borrow_mut();
        let OpenFile { context, key, .. } = world.files[process.0];
        world.memory.map((context, key.to_u64()), len).ok_or(Errno::BUSY)
    }

    fn set_mode(&self, process: Process, mode: Mode) {
        self.world.borrow_mut().files[process.0].waits = waits(mode);
    }

    fn close_duplicate(&self, process: Process) {
        let mut world = self.world.borrow_mut();
        let OpenFile { context, key, .. } = world.files[process.0];
        world.contexts[context].flush(key);
        world.carry_out_effects();
    }

    fn close(&self, process: Process) {
        self.world.borrow_mut().close(process.0);
    }

    fn ioctl(&self, caller: Caller, request: u32, argument: u64) -> Progress {
        let mut world = self.world.borrow_mut();
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
        let (context, who) = world.core_caller(caller);
        let is_ready = world.contexts[context].poll(&who);
        let process = caller.process;
        world.threads[caller.thread.0].call =
            if is_ready { Call::Ended(Ok(())) } else { Call::Polling { process } };
        drop(world);
        self.settle(caller.thread)
    }

    fn settle(&self, thread: Thread) -> Progress {
        match self.world.borrow().threads[thread.0].call {
            Call::Ended(result) => Progress::Done(result),
            Call::Reading { .. } | Call::Polling { .. } | Call::FdWork | Call::Freezing => {
                Progress::Parked
            }
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
        let (context, who) = world.core_caller(caller);
        let is_readable = world.contexts[context].poll(&who);
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
        self.let_go();
        self.let_errands_go();
        self.let_windows_pass();
        let mut world = self.world.borrow_mut();
        for host in 0..world.hosts.len() {
            world.kill(Host(host));
        }
        while world.end_some() {}
        for context in &world.contexts {
            assert_eq!(context.census(), Census::default(), "something was left behind");
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
