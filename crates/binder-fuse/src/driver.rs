//! The devices of one mount: each job goes to its context, and its effects to the clients.

mod freezing;
mod idle_pages;
mod job;
mod nonblocking;
mod past;
mod report;
#[cfg(test)]
mod tests;
mod threads;
mod write_read;

use std::collections::VecDeque;
use std::hash::RandomState;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Instant;

use binder_core::{
    Caller, Commands, Context, DebugIds, Effect, Errno, Limits, MemoryBudget, Nice, Opener,
    ProcessKey, ReleaseProgress, ThreadKey, Waits,
};
use binder_os::{FuseDevice, ThreadWatch, nice};
use fuse_wire::flags::FUSE_POLL_SCHEDULE_NOTIFY;
use fuse_wire::{notify, reply};

use crate::alarm::Alarm;
use crate::blocking_pool::BlockingPool;
use crate::calls::{Call, CallState, Calls};
use crate::client::{CallerFound, Client, Clients};
use crate::descriptors;
use crate::events::Events;
use crate::ioctl::{Ioctl, IoctlReply};
use crate::memory;
use crate::memory_op::IoQueue;
use crate::options::Options;
use crate::seccomp_add_fd::ExpectedCalls;
use crate::warnings::{LIMIT_INTERVAL, Warnings};
use crate::wire::send;
pub(crate) use job::{Job, NullIoctl, RequestContext, SleepingFile};

/// Names a device of the mount, also after it was unlinked.
pub(crate) type DeviceId = usize;

/// What a request gets that met a bug.
pub(crate) const EIO: i32 = 5;
/// What nobody has open.
pub(crate) const EBADF: i32 = 9;
/// The bit of open(2) as the kernel shows it everywhere.
pub(crate) const O_NONBLOCK: u32 = 0o4000;
pub(crate) const EINTR: i32 = 4;
const POLLIN: u32 = 0x001;
const POLLRDNORM: u32 = 0x040;

/// One device: its context and the clients of it.
pub(crate) struct Device {
    name: String,
    pub(crate) context: Context,
    pub(crate) clients: Clients,
    pub(crate) calls: Calls,
}

/// All devices of a mount.
pub(crate) struct Driver {
    fuse: Arc<FuseDevice>,
    limits: Limits,
    /// Of the memory of receive buffers.
    budget: MemoryBudget,
    /// Of those who meet them.
    warnings: Warnings,
    pub(crate) devices: Vec<Device>,
    /// Processes that have not come to their end, the first to go on with in front.
    ending: VecDeque<(DeviceId, ProcessKey)>,
    pub(crate) runners: Arc<BlockingPool>,
    pub(crate) left: IoQueue,
    /// Commands that nobody needs any more, for the memory they have.
    used_commands: Option<Box<Commands>>,
    pub(crate) diversions: Arc<ExpectedCalls>,
    /// The calls that are freezes, by their devices and the numbers of their requests.
    freezes: Vec<(DeviceId, u64)>,
    alarm: Arc<Alarm>,
    pub(crate) threads: Arc<ThreadWatch>,
    /// At those of them that cannot be watched.
    look: threads::Look,
    /// Whether threads that serve a call become as nice as the caller.
    inherits_nice: bool,
    ids: DebugIds,
    past: past::Past,
    events: Events,
    /// When its clock was 0; `None` where nobody can see statistics.
    start: Option<Instant>,
    /// What turns pointers into numbers of which nobody can tell what they were.
    obscurity: RandomState,
}

impl Driver {
    /// A driver without devices; one with statistics takes the time of each call.
    pub(crate) fn new(
        fuse: Arc<FuseDevice>,
        options: &Options,
        runners: Arc<BlockingPool>,
        diversions: Arc<ExpectedCalls>,
        left: IoQueue,
        alarm: Arc<Alarm>,
        threads: Arc<ThreadWatch>,
    ) -> Self {
        Self {
            events: Events::new(fuse.clone()),
            fuse,
            limits: descriptors::affordable(options.limits),
            budget: memory::budget(options.limits.all_bytes),
            warnings: Warnings::one_in(LIMIT_INTERVAL),
            devices: Vec::new(),
            ending: VecDeque::new(),
            runners,
            left,
            used_commands: None,
            diversions,
            freezes: Vec::new(),
            alarm,
            threads,
            look: threads::Look::default(),
            inherits_nice: options.inherits_nice,
            ids: DebugIds::default(),
            past: past::Past::default(),
            start: options.statistics.then(Instant::now),
            obscurity: RandomState::new(),
        }
    }

    /// Does one job. A panic ends the job and the open file that it was for, not the daemon: whoever asked
    /// gets `EIO`.
    pub(crate) fn run(&mut self, job: Job) {
        let (unique, caller) = (job.answers(), job.open_file());
        // By reference, for it is large.
        let mut job = Some(job);
        let guarded = AssertUnwindSafe(|| {
            self.run_unguarded(&mut job);
            self.keep_to_budget();
        });
        if catch_unwind(guarded).is_err() {
            tracing::error!(unique, "a request met a bug in the driver and was refused");
            if let Some((device, process)) = caller {
                self.end_after_bug(device, process);
            }
            if let Some(unique) = unique {
                send(&self.fuse, &reply::error(unique, EIO));
            }
        }
    }

    /// Ends an open file whose request met a bug: what that left half done is mostly its own
    /// ([decision 23](../../docs/decisions/0023-a-bug-ends-one-open-file.md)).
    fn end_after_bug(&mut self, device: DeviceId, process: ProcessKey) {
        let end = AssertUnwindSafe(|| {
            for call in self.devices[device].calls.take_asleep_of(process) {
                send(&self.fuse, &reply::error(call.asker.unique, EIO));
            }
            self.end_file(device, process);
        });
        if catch_unwind(end).is_err() {
            tracing::error!("the open file behind that request could not be ended as a whole");
        }
    }

    fn run_unguarded(&mut self, job: &mut Option<Job>) {
        let Some(job) = job.take() else { return };
        match job {
            Job::AddDevice { device, name } => {
                let clients = Clients::new(self.fuse.clone(), self.runners.clone());
                let calls = Calls::default();
                let context = Context::with_limits(self.limits)
                    .numbered_by(self.ids.clone())
                    .paying_from(self.budget.clone());
                let fresh = Device { name, context, clients, calls };
                match self.devices.get_mut(device) {
                    // Nobody can come by the device that had this number.
                    Some(place) => {
                        self.past.take_over(place, self.ids.latest());
                        *place = fresh;
                    }
                    None => {
                        debug_assert_eq!(device, self.devices.len(), "no number is passed over");
                        self.devices.push(fresh);
                    }
                }
            }
            Job::Open { device, opener, client, opened, .. } => {
                let process = self.open(device, opener, *client);
                self.warn_of_excess(device);
                opened(process);
            }
            Job::Ioctl { asker, command, data, len } => {
                self.ioctl(&asker, command, &data[..len]);
                self.carry_out_effects(asker.device);
                self.note_reports(asker.device);
            }
            #[cfg(test)]
            Job::Bug(_) => panic!("it was asked for"),
            Job::NullIoctl(call) => self.null_ioctl(call),
            Job::Poll { asker, handle, flags } => self.poll(&asker, handle, flags),
            Job::Flush { unique, device, process } => {
                self.devices[device].context.flush(process);
                send(&self.fuse, &reply::empty(unique));
                self.carry_out_effects(device);
            }
            Job::Release { device, process } => self.end_file(device, process),
            Job::GoOnReleasing { is_left } => {
                let is_more = match self.ending.pop_front() {
                    Some((device, process)) => {
                        self.release(device, process);
                        true
                    }
                    None => self.end_buffers(),
                };
                is_left(is_more);
            }
            Job::Interrupt { unique, target } => self.interrupt(unique, target),
            Job::NoteFilter { pid } => {
                for Device { clients, .. } in &mut self.devices {
                    clients.note_filter(pid);
                }
            }
            Job::Reached(reached) => self.go_on(reached),
            Job::EndFdTask(report) => self.end_fd_task(*report),
            Job::ListSleepers { found } => {
                self.end_interrupted();
                found(self.sleepers());
            }
            Job::SetNonblocking { device, process, found } => {
                self.set_nonblocking(device, process, found);
            }
            Job::EndThread(name) => self.end_thread(name),
            Job::EndProcess { pid } => self.end_process(pid),
            Job::LoseMapping { device, process } => self.lose_mapping(device, process),
            Job::FindEndedThreads { are_left } => {
                let are_unwatched = self.find_ended_threads();
                are_left(are_unwatched || self.has_interrupted());
            }
            Job::ReclaimIdlePages { least_turns, is_left } => {
                is_left(self.reclaim_idle_pages(least_turns));
            }
            Job::EndIdleTurn => self.end_idle_turn(),
            Job::WriteLog { log, written, .. } => written(self.write_log(log)),
            Job::ReadEvents { follower, read } => self.events.read(follower, read),
            Job::PollEvents { unique, follower, handle, flags } => {
                self.events.poll(follower, unique, handle, flags);
            }
            Job::ForgetFollower { follower } => self.events.forget(follower),
            Job::EndOverdueFreezes => self.end_overdue_freezes(),
        }
    }

    fn ioctl(&mut self, asker: &RequestContext, command: u32, data: &[u8]) {
        let result = self.caller(asker).and_then(|caller| {
            let call = Ioctl::decode(command, data).inspect_err(|_| {
                // The thread has called, though nothing comes of it.
                self.devices[asker.device].context.note_call(&caller);
            });
            Ok((caller, call?))
        });
        let (caller, call) = match result {
            Ok(decoded) => decoded,
            Err(error) => return self.answer(asker.unique, Err(error), &[]),
        };
        if let Ioctl::WriteRead(request) = call {
            if self.inherits_nice
                && let Ok(nice) = nice::of(asker.tid)
            {
                self.devices[asker.device].context.note_nice(&caller, Nice(nice));
            }
            return self.begin_write_read(Call::new(*asker, request));
        }
        self.note_time(asker.device);
        match call {
            Ioctl::Freeze(request) => return self.freeze(asker, &caller, &request),
            Ioctl::FrozenInfo(request) => return self.frozen_info(asker, &caller, &request),
            _ => {}
        }
        let state = &mut self.devices[asker.device];
        let answer = state.run(call, &caller);
        let bytes = answer.as_ref().map_or(&[][..], IoctlReply::bytes);
        self.answer(asker.unique, answer.as_ref().map(|_| ()).map_err(|error| *error), bytes);
    }

    fn null_ioctl(&mut self, call: NullIoctl) {
        let NullIoctl { inode, pid, tid, uid, command, answered } = call;
        let found = self
            .devices
            .iter()
            .enumerate()
            .find_map(|(device, state)| Some((device, state.clients.with_inode(inode, pid)?)));
        let Some((device, process)) = found else { return answered(None) };
        let asker =
            RequestContext { unique: 0, device, process, tid, uid, argument: 0, is_compat: false };
        // None of the calls that are trapped reads its argument.
        let call = Ioctl::decode(command, &[]);
        let result = self.caller(&asker).and_then(|caller| {
            let answer = self.devices[device].run(call?, &caller);
            answer.map(|_| ())
        });
        answered(Some(result.map_err(|error| error.number())));
        self.carry_out_effects(device);
    }

    /// Checks that the caller belongs to the process that opened the file.
    fn caller(&mut self, asker: &RequestContext) -> Result<Caller, Errno> {
        self.retract_expected_call(asker.tid);
        let clients = &mut self.devices[asker.device].clients;
        let client = clients.get_mut(asker.process).ok_or(Errno::EINVAL)?;
        let begun = client.begin_call(asker.tid);
        if begun == CallerFound::Foreign {
            tracing::debug!(pid = client.pid, tid = asker.tid, "a foreign process was refused");
            return Err(Errno::EINVAL);
        }
        let waits =
            if client.open_mode.is_nonblocking() { Waits::Never } else { Waits::UntilReady };
        let caller = Caller { process: asker.process, tid: asker.tid, euid: asker.uid, waits };
        if let CallerFound::New { follows_another } = begun {
            self.begin_thread(asker.device, &caller, follows_another);
        }
        self.devices[asker.device].admit(&caller)?;
        Ok(caller)
    }

    /// Makes a process of a device for a file that is being opened.
    fn open(
        &mut self,
        device: DeviceId,
        opener: Opener,
        client: Client,
    ) -> Result<ProcessKey, Errno> {
        let state = &mut self.devices[device];
        let pid = opener.pid.number();
        let process = match state.context.open(opener) {
            Ok(process) => process,
            Err(error) => {
                client.buffer.close(&self.fuse);
                // Not here: no job takes the tree.
                self.runners.run(client.payer(), move |shared| shared.tree().close(device, pid));
                return Err(error);
            }
        };
        if self.inherits_nice
            && let Ok(nice) = nice::of(pid)
        {
            state.context.note_default_nice(process, Nice(nice));
        }
        state.clients.insert(process, client);
        Ok(process)
    }

    /// Tells who has met a limit of a device, if somebody has.
    fn warn_of_excess(&mut self, device: DeviceId) {
        let Device { name, context, .. } = &mut self.devices[device];
        if let Some(excess) = context.take_excess() {
            if self.warnings.is_due() {
                tracing::warn!(device = name, "{excess}");
            } else {
                tracing::debug!(device = name, "{excess}");
            }
        }
    }

    fn answer(&self, unique: u64, result: Result<(), Errno>, data: &[u8]) {
        let result = result.map_or_else(|error| -error.number(), |()| 0);
        send(&self.fuse, &reply::ioctl(unique, result, data));
    }

    /// Does what the calls so far left to do on a device, and on others for it.
    pub(crate) fn carry_out_effects(&mut self, device: DeviceId) {
        if self.carry_out_own_effects(device) {
            self.carry_out_all_effects();
        }
    }

    fn carry_out_all_effects(&mut self) {
        let mut has_more = true;
        while std::mem::take(&mut has_more) {
            for device in 0..self.devices.len() {
                has_more |= self.carry_out_own_effects(device);
            }
        }
    }

    /// Does what the calls so far left to do on a device, in order. Says whether others may have
    /// come to something to do by it.
    fn carry_out_own_effects(&mut self, device: DeviceId) -> bool {
        let mut concerns_others = false;
        while let Some(effect) = self.devices[device].context.poll_effect() {
            match effect {
                Effect::Wake(thread) => self.wake(device, thread),
                Effect::NotifyPoll(process) => self.notify_poll(device, process),
                Effect::SetNice { process, tid, nice } => {
                    self.set_nice(device, process, tid, nice);
                }
                Effect::Settled(process) => {
                    self.note_settled(device, process);
                    concerns_others = true;
                }
            }
        }
        self.warn_of_excess(device);
        concerns_others
    }

    fn wake(&mut self, device: DeviceId, thread: ThreadKey) {
        let state = &mut self.devices[device];
        let Some(call) = state.calls.take_asleep(thread) else { return };
        let outcome = state.context.resume(thread, &call.request);
        self.go_on_after(call, outcome);
    }

    fn set_nice(&mut self, device: DeviceId, process: ProcessKey, tid: u32, Nice(nice): Nice) {
        let Some(client) = self.devices[device].clients.get_mut(process) else { return };
        if let Err(error) = nice::set(client.pid, tid, nice) {
            tracing::debug!(%error, tid, nice, "a thread stays as nice as it is");
        }
    }

    fn notify_poll(&mut self, device: DeviceId, process: ProcessKey) {
        let client = self.devices[device].clients.get_mut(process);
        if let Some(handle) = client.and_then(|client| client.poll_handle.take()) {
            send(&self.fuse, &notify::poll(handle));
        }
    }

    fn poll(&mut self, asker: &RequestContext, handle: u64, flags: u32) {
        let caller = match self.caller(asker) {
            Ok(caller) => caller,
            Err(error) => return send(&self.fuse, &reply::error(asker.unique, error.number())),
        };
        let state = &mut self.devices[asker.device];
        if flags & FUSE_POLL_SCHEDULE_NOTIFY != 0
            && let Some(client) = state.clients.get_mut(asker.process)
        {
            client.poll_handle = Some(handle);
        }
        let events = if state.context.poll(&caller) { POLLIN | POLLRDNORM } else { 0 };
        send(&self.fuse, &reply::poll(asker.unique, events));
    }

    /// Ends a read that sleeps without anything to tell.
    fn end_sleep(&mut self, call: &Call, error: Errno) {
        if let CallState::Asleep(thread, _) = call.state {
            self.devices[call.asker.device].context.interrupt(thread);
        }
        self.end_call(call, Err(error));
    }

    /// Ends an open file, which may have ended before: its process is gone then.
    fn end_file(&mut self, device: DeviceId, process: ProcessKey) {
        for unique in self.diversions.forget_process(device, process) {
            self.devices[device].calls.take(unique);
        }
        self.release(device, process);
        self.devices[device].clients.remove(process);
    }

    /// Lets go of a slice of what buffers held that nobody frees. Says whether there may be more.
    fn end_buffers(&mut self) -> bool {
        let has_some = |state: &Device| state.context.has_ending_buffers();
        let Some(device) = self.devices.iter().position(has_some) else { return false };
        let state = &mut self.devices[device];
        let _ = state.context.end_buffers(&mut state.clients);
        self.carry_out_effects(device);
        true
    }

    /// Ends a process, or as much of it as may keep the others waiting; the housekeeper sees to the
    /// rest.
    fn release(&mut self, device: DeviceId, process: ProcessKey) {
        let state = &mut self.devices[device];
        match state.context.release(process, &mut state.clients) {
            ReleaseProgress::Done => {}
            ReleaseProgress::Unfinished => self.ending.push_back((device, process)),
        }
        self.carry_out_effects(device);
    }
}

impl Device {
    /// Runs a call that does not sleep.
    fn run(&mut self, call: Ioctl, caller: &Caller) -> Result<IoctlReply, Errno> {
        let answer = call.run(&mut self.context, caller, &mut self.clients);
        if call == Ioctl::ExitThread
            && let Some(client) = self.clients.get_mut(caller.process)
        {
            client.forget_thread(caller.tid);
        }
        answer
    }

    /// Admits the calling thread, if need be in the place of one that ended without a word.
    fn admit(&mut self, caller: &Caller) -> Result<(), Errno> {
        let Self { context, clients, .. } = self;
        let Err(full) = context.admit(caller) else { return Ok(()) };
        let client = clients.get_mut(caller.process).ok_or(full)?;
        let ended = client.ended_threads();
        for tid in &ended {
            client.forget_thread(*tid);
        }
        for tid in ended {
            context.exit_thread(&Caller { tid, ..*caller }, clients);
        }
        let admitted = context.admit(caller);
        if admitted.is_ok() {
            // It was met by those that had ended.
            context.take_excess();
        } else if let Some(client) = clients.get_mut(caller.process) {
            client.forget_thread(caller.tid);
        }
        admitted
    }
}
