//! A device: its front end behind a lock, and the actions that are due once the lock is free.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use binder_core::{Context, Errno, Inheritance, MemoryBudget, ProcessKey};
use binder_frontend::{Action, Event, FreeLists, Frontend};
use binder_os::SteadyClock;
use binder_os::seccomp::TrapAnswer;
use binder_report::LockUsage;

use crate::client::{Client, Clients, Opened};
use crate::client_file::ClientFile;
use crate::combining_lock::CombiningLock;
use crate::logs::DataWanted;
use crate::ring::file::RingFile;
use crate::ring::lanes::{LaneAnswer, Lanes};
use crate::trace::{DeviceTracer, TraceHub};
use crate::trapped_call::UnansweredCall;
use crate::tree::DeviceId;

/// What a front end wants done.
pub(crate) type DeviceAction = Action<Arc<ClientFile>>;

/// Something else to do once the lock is free.
pub(crate) enum Deferred {
    /// A process has opened the device, and waits to hear of it.
    AnswerOpen(Box<Opened>),
    /// A process could not.
    RefuseOpen { unique: u64, client: Box<Client>, error: Errno },
    /// An open file has ended: what the kernel holds for it goes back.
    CloseBuffer(Box<Client>),
    /// Buffers of a client were cleared that has pages of its own: these answers to it wait until it sees that.
    WritePages { file: Arc<ClientFile>, answers: Vec<DeviceAction> },
    /// A job met a bug, and this request of whatever kind waits for it.
    RefuseCall { unique: u64, error: Errno },
    /// A signal wants to end call `target`, which may be on the device numbered `from` or one of the next; the interruption
    /// itself is request `unique`.
    Interrupt { unique: u64, target: u64, from: DeviceId },
    /// A trapped call is over.
    AnswerTrapped(UnansweredCall, TrapAnswer),
    /// A request about lanes is over.
    AnswerLane { unique: u64, answer: LaneAnswer },
    /// A ring is over: it ends with its last call.
    EndRingIfDone(Arc<RingFile>),
    /// The slot has lost its thread in which this request waits for an answer.
    EndRingWait(u64),
    /// There are more pages than there may be, and no idle ones here.
    KeepToBudget,
}

/// Forgets the threads of a process that are expected at the supervisor, and returns the requests that they were to have
/// answered there.
pub(crate) type ForgetExpected = Box<dyn Fn(ProcessKey) -> Vec<u64> + Send>;

/// Pages that one slice gives back: about a millisecond's worth, for others wait meanwhile.
const SLICE_PAGES: usize = 1024;
/// One of this many holds of the lock is measured: a prime, so that in a row of like calls each hold of a call comes up.
const MEASURED: u64 = 17;

/// A device of a mount.
pub(crate) struct Device {
    pub(crate) id: DeviceId,
    pub(crate) name: String,
    state: CombiningLock<DeviceState, Job>,
    /// What the front end says of [itself](Frontend::is_quiet), for a look without the lock.
    is_quiet: AtomicBool,
}

/// What the lock of a device keeps.
pub(crate) struct DeviceState {
    pub(crate) frontend: Frontend<Arc<ClientFile>>,
    pub(crate) clients: Clients,
    /// Of the memory of receive buffers.
    budget: MemoryBudget,
    forget_expected: ForgetExpected,
    deferred: Vec<Deferred>,
    /// By which things are dated; `None` where no statistics are shown.
    clock: Option<SteadyClock>,
    /// Since when jobs are run, if this hold of the lock is measured.
    held_since_ns: Option<u64>,
    lock_usage: LockUsage,
    /// Where events go, while the device is traced.
    tracer: Option<Box<DeviceTracer>>,
    /// Calls that pass the driver by.
    pub(crate) lanes: Lanes,
}

/// One thing to do with the state of a device.
pub(crate) enum Job {
    Event(Event),
    /// Anything else, and anything else for a thread of an open file.
    Work(DeviceWork),
    WorkFor((ProcessKey, u32), DeviceWork),
}

const _: () = assert!(size_of::<Job>() <= 40);

/// Work with the state of a device.
pub(crate) type DeviceWork = Box<dyn FnOnce(&mut DeviceState) + Send>;

/// The actions that are due for a device, with its lock free.
#[derive(Default)]
pub(crate) struct Batch {
    pub(crate) actions: Vec<DeviceAction>,
    pub(crate) deferred: Vec<Deferred>,
    /// Memory for the next call.
    pub(crate) free_lists: FreeLists,
}

impl std::fmt::Debug for Device {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Device")
            .field("id", &self.id)
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

impl Device {
    pub(crate) fn new(id: DeviceId, name: String, state: DeviceState) -> Self {
        Self { id, name, state: CombiningLock::new(state), is_quiet: AtomicBool::new(true) }
    }

    /// Has `job` run, if there is one, and those in line. The caller is to do the actions that follow: each
    /// is put behind what `batch` has.
    pub(crate) fn run(&self, job: Option<Job>, batch: &mut Batch) {
        self.state.submit(job, DeviceState::run, |state| self.hand_out(state, batch));
    }

    fn hand_out(&self, state: &mut DeviceState, batch: &mut Batch) {
        state.hand_out(batch);
        state.note_release();
        self.is_quiet.store(state.frontend.is_quiet(), Ordering::Relaxed);
    }

    /// Whether there is nothing to see to.
    pub(crate) fn is_quiet(&self) -> bool {
        self.is_quiet.load(Ordering::Relaxed)
    }

    /// Has `work` done at once, if no thread has the state.
    pub(crate) fn try_with<T>(
        &self,
        batch: &mut Batch,
        work: impl FnOnce(&mut DeviceState) -> T,
    ) -> Option<T> {
        let (mut work, mut result) = (Some(work), None);
        self.state.submit(None, DeviceState::run, |state| {
            if let Some(work) = work.take() {
                state.note_time();
                state.lanes.note_work(None);
                result = Some(work(state));
            }
            self.hand_out(state, batch);
        });
        result
    }

    /// Waits for the state. For a thread that answers no requests; [`run`](Self::run) is due afterwards, for
    /// those that have come in line.
    pub(crate) fn lock(&self) -> impl std::ops::DerefMut<Target = DeviceState> {
        let mut state = self.state.lock();
        state.lanes.note_work(None);
        state
    }
}

impl DeviceState {
    pub(crate) fn new(
        context: Context,
        clients: Clients,
        budget: MemoryBudget,
        forget_expected: ForgetExpected,
        inheritance: Inheritance,
        clock: Option<SteadyClock>,
    ) -> Self {
        let frontend = Frontend::new(context, inheritance, clock.is_some());
        Self {
            frontend,
            clients,
            budget,
            forget_expected,
            deferred: Vec::new(),
            clock,
            held_since_ns: None,
            lock_usage: LockUsage::default(),
            tracer: None,
            lanes: Lanes::default(),
        }
    }

    /// Hands out the actions that are due.
    pub(crate) fn hand_out(&mut self, batch: &mut Batch) {
        self.see_to_lanes();
        if self.frontend.context().has_trace() {
            self.hand_on_trace();
        }
        let start = batch.actions.len();
        self.frontend.take_actions(&mut batch.actions);
        for (process, file) in self.clients.take_cleared() {
            let is_its = |action: &mut DeviceAction| match action {
                Action::Answer { call, .. } => call.process() == process,
                _ => false,
            };
            let answers = batch.actions.extract_if(start.., is_its).collect();
            self.defer(Deferred::WritePages { file, answers });
        }
        self.frontend.balance_free_lists(&mut batch.free_lists);
        batch.deferred.append(&mut self.deferred);
    }

    /// Has something done once the lock is free.
    pub(crate) fn defer(&mut self, deferred: Deferred) {
        self.deferred.push(deferred);
    }

    /// Does one job. A panic ends the job and the open file that it was for, not the daemon: its caller
    /// gets `EIO`.
    fn run(&mut self, job: Job) {
        let (unique, caller) = match &job {
            Job::Event(event) => (Some(event.unique()), event.caller()),
            // Its request may be answered already.
            Job::WorkFor(caller, _) => (None, Some(*caller)),
            Job::Work(_) => (None, None),
        };
        self.lanes.note_work(match &job {
            Job::Event(_) => caller.map(|(process, _)| process),
            Job::Work(_) | Job::WorkFor(..) => None,
        });
        self.clients.set_caller(caller.map_or(0, |(_, tid)| tid));
        if self.tracer.is_some()
            || self.is_measured()
            || !matches!(&job, Job::Event(event) if event.is_dated_before())
        {
            self.note_time();
        }
        let guarded = AssertUnwindSafe(|| match job {
            Job::Event(event) => {
                self.frontend.handle(event, &mut self.clients);
                self.keep_to_budget();
            }
            Job::Work(work) | Job::WorkFor(_, work) => {
                work(self);
                self.frontend.carry_out_effects();
            }
        });
        if catch_unwind(guarded).is_err() {
            tracing::error!(unique, "a request met a bug in the driver and was refused");
            if let Some((process, _)) = caller {
                self.end_after_bug(process);
            }
            if let Some(unique) = unique {
                self.defer(Deferred::RefuseCall { unique, error: Errno::EIO });
            }
        }
        if self.frontend.context().has_trace() {
            self.hand_on_trace();
        }
    }

    /// Begins to trace the device for a hub, by a name, or ends that.
    pub(crate) fn set_traced(&mut self, by: Option<(Arc<TraceHub>, &str, DataWanted)>) {
        let context = self.frontend.context_mut();
        self.tracer = by.map(|(hub, name, data)| DeviceTracer::new(hub, name, data).into());
        if self.tracer.is_some() {
            context.begin_trace()
        } else {
            context.end_trace()
        }
        // Who traces has no lanes.
        if self.tracer.is_some() {
            self.revoke_lanes();
        }
    }

    /// Whether the device is traced.
    pub(crate) fn is_traced(&self) -> bool {
        self.tracer.is_some()
    }

    /// Hands on the events since the job before.
    #[cold]
    #[inline(never)]
    fn hand_on_trace(&mut self) {
        let Self { tracer, frontend, clients, .. } = self;
        if let Some(tracer) = tracer {
            let buffer_of = |process| Some(&**clients.get(process)?.buffer.memory());
            tracer.hand_on(&buffer_of, |events| frontend.context_mut().take_trace(events));
        }
    }

    /// Ends an open file whose request met a bug
    /// ([decision 23](../../docs/decisions/0023-a-bug-ends-one-open-file.md)).
    pub(crate) fn end_after_bug(&mut self, process: ProcessKey) {
        let end = AssertUnwindSafe(|| {
            let awaited = (self.forget_expected)(process);
            self.frontend.end_file_after_bug(process, &awaited, &mut self.clients);
            self.remove_client(process);
        });
        if catch_unwind(end).is_err() {
            tracing::error!("the open file behind that request could not be ended as a whole");
        }
    }

    /// Ends an open file, which may have ended before.
    pub(crate) fn end_file(&mut self, process: ProcessKey) {
        let awaited = (self.forget_expected)(process);
        self.frontend.end_file(process, &awaited, &mut self.clients);
        self.remove_client(process);
    }

    /// What the kernel holds for an open file goes back when the lock is free.
    fn remove_client(&mut self, process: ProcessKey) {
        if let Some(client) = self.clients.remove(process) {
            self.defer(Deferred::CloseBuffer(client.into()));
        }
    }

    /// Tells the core the time, by which it dates transactions.
    pub(crate) fn note_time(&mut self) {
        let Some(clock) = self.clock else { return };
        let now_ns = clock.now_ns();
        self.frontend.context_mut().set_now(now_ns);
        if self.is_measured() {
            self.held_since_ns.get_or_insert(now_ns);
        }
    }

    /// Whether it is measured how long the lock is held this time: to read the clock for each takes longer than some do.
    fn is_measured(&self) -> bool {
        self.clock.is_some() && self.lock_usage.holds.is_multiple_of(MEASURED)
    }

    /// Notes that the lock is given back now.
    fn note_release(&mut self) {
        let Some(clock) = self.clock else { return };
        if let Some(since_ns) = self.held_since_ns.take() {
            self.lock_usage.held_ns += MEASURED * clock.now_ns().saturating_sub(since_ns);
        }
        self.lock_usage.holds += 1;
    }

    /// How the lock was used for jobs, as one of [`MEASURED`] holds tells; nothing is noted where no
    /// statistics are shown.
    pub(crate) fn lock_usage(&self) -> LockUsage {
        self.lock_usage
    }

    /// Gives back a slice of pages that have been idle while that many turns ended. Says whether more are left.
    pub(crate) fn reclaim_idle_pages(&mut self, least_turns: u32) -> bool {
        self.reclaim(least_turns, SLICE_PAGES) == SLICE_PAGES
    }

    fn reclaim(&mut self, least_turns: u32, most: usize) -> usize {
        let context = self.frontend.context_mut();
        context.reclaim_idle_pages(least_turns, most, &mut self.clients)
    }

    /// Has idle pages go back if there are more pages than there may be: what was just received has taken
    /// their place. If this device has none, others' go.
    pub(crate) fn keep_to_budget(&mut self) {
        if self.reclaim_excess() {
            self.defer(Deferred::KeepToBudget);
        }
    }

    /// Has idle pages of this device go back as long as there are more than there may be. Says whether there
    /// are still.
    pub(crate) fn reclaim_excess(&mut self) -> bool {
        let excess = self.budget.excess_bytes().div_ceil(self.budget.page_bytes() as usize);
        excess > 0 && self.reclaim(0, excess.min(SLICE_PAGES)) < excess
    }
}

#[cfg(test)]
mod tests;
