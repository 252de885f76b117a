//! The devices of one mount: each job goes to its context, and its effects to the clients.

use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use binder_core::{
    Caller, Context, Effect, Errno, Nice, Opener, Outcome, ProcessKey, ThreadKey, Waits,
};
use binder_os::{FuseDevice, nice, proc_files};
use binder_uapi::BinderWriteRead;
use fuse_wire::flags::FUSE_POLL_SCHEDULE_NOTIFY;
use fuse_wire::{notify, reply};

use crate::alarm::Alarm;
use crate::client::{Client, Clients};
use crate::ioctl::{Answer, Call};
use crate::parked::{Check, Parked, ParkedReads};
use crate::wire::send;
use freezing::WaitingFreeze;

mod freezing;

/// Names a device of the mount, also after it was unlinked.
pub(crate) type DeviceId = usize;

/// What a request gets that met a bug.
pub(crate) const EIO: i32 = 5;
/// The bit of open(2) as the kernel shows it everywhere.
pub(crate) const O_NONBLOCK: u32 = 0o4000;
const POLLIN: u32 = 0x001;
const POLLRDNORM: u32 = 0x040;

/// Who asks: the calling thread, as the FUSE header shows it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asker {
    pub(crate) unique: u64,
    pub(crate) device: DeviceId,
    pub(crate) process: ProcessKey,
    pub(crate) tid: u32,
    pub(crate) uid: u32,
}

/// One thing to do with the state of the driver.
pub(crate) enum Job {
    AddDevice(DeviceId),
    /// Makes a process and hands its key on, with which the open is answered.
    Open {
        unique: u64,
        device: DeviceId,
        opener: Opener,
        client: Box<Client>,
        opened: Opened,
    },
    Ioctl {
        asker: Asker,
        command: u32,
        data: [u8; 48],
        len: usize,
    },
    Poll {
        asker: Asker,
        handle: u64,
        flags: u32,
    },
    Flush {
        unique: u64,
        device: DeviceId,
        process: ProcessKey,
    },
    Release {
        device: DeviceId,
        process: ProcessKey,
    },
    /// A signal interrupts the request `target`; the interruption itself is request `unique`.
    Interrupt {
        unique: u64,
        target: u64,
    },
    /// Finds reads whose files may have been made non-blocking while they slept.
    ListSleepers {
        found: Sleepers,
    },
    SetNonblocking {
        device: DeviceId,
        process: ProcessKey,
        is_nonblocking: bool,
    },
    ReclaimIdlePages,
    EndOverdueFreezes,
}

/// Answers FUSE_OPEN once the process exists.
pub(crate) type Opened = Box<dyn FnOnce(ProcessKey) + Send>;

/// Takes the files that sleeping reads wait on.
pub(crate) type Sleepers = Box<dyn FnOnce(Vec<Sleeper>) + Send>;

/// A file with a sleeping read, to be looked at.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sleeper {
    pub(crate) device: DeviceId,
    pub(crate) process: ProcessKey,
    pub(crate) pid: u32,
    pub(crate) file: binder_os::FileId,
}

/// One device: its context and the clients of it.
struct Device {
    context: Context,
    clients: Clients,
    parked: ParkedReads,
}

/// All devices of a mount.
pub(crate) struct Driver {
    fuse: Arc<FuseDevice>,
    devices: Vec<Device>,
    freezes: Vec<WaitingFreeze>,
    alarm: Arc<Alarm>,
    /// Whether threads that serve a call become as nice as the caller.
    inherits_nice: bool,
}

impl Driver {
    pub(crate) fn new(fuse: Arc<FuseDevice>, alarm: Arc<Alarm>, inherits_nice: bool) -> Self {
        Self { fuse, devices: Vec::new(), freezes: Vec::new(), alarm, inherits_nice }
    }

    /// Does one job. A panic ends the job, not the daemon: whoever asked gets `EIO`.
    pub(crate) fn run(&mut self, job: Job) {
        let unique = job.answers();
        if catch_unwind(AssertUnwindSafe(|| self.run_unguarded(job))).is_err() {
            tracing::error!(unique, "a request met a bug in the driver and was refused");
            if let Some(unique) = unique {
                send(&self.fuse, &reply::error(unique, EIO));
            }
        }
    }

    fn run_unguarded(&mut self, job: Job) {
        match job {
            Job::AddDevice(device) => {
                debug_assert_eq!(device, self.devices.len(), "devices are numbered in order");
                let clients = Clients::new(self.fuse.clone());
                let parked = ParkedReads::default();
                self.devices.push(Device { context: Context::new(), clients, parked });
            }
            Job::Open { device, opener, client, opened, .. } => {
                let state = &mut self.devices[device];
                let pid = opener.pid;
                let process = state.context.open(opener);
                if self.inherits_nice
                    && let Ok(nice) = nice::of(pid)
                {
                    state.context.note_default_nice(process, Nice(nice));
                }
                state.clients.insert(process, *client);
                opened(process);
            }
            Job::Ioctl { asker, command, data, len } => {
                self.ioctl(&asker, command, &data[..len]);
                self.carry_out_effects(asker.device);
            }
            Job::Poll { asker, handle, flags } => self.poll(&asker, handle, flags),
            Job::Flush { unique, device, process } => {
                self.devices[device].context.flush(process);
                send(&self.fuse, &reply::empty(unique));
                self.carry_out_effects(device);
            }
            Job::Release { device, process } => {
                let state = &mut self.devices[device];
                state.context.release(process, &mut state.clients);
                state.clients.remove(process);
                self.carry_out_effects(device);
            }
            Job::Interrupt { unique, target } => self.interrupt(unique, target),
            Job::ListSleepers { found } => found(self.sleepers()),
            Job::SetNonblocking { device, process, is_nonblocking } => {
                self.set_nonblocking(device, process, is_nonblocking);
            }
            Job::ReclaimIdlePages => self.reclaim_idle_pages(),
            Job::EndOverdueFreezes => self.end_overdue_freezes(),
        }
    }

    fn ioctl(&mut self, asker: &Asker, command: u32, data: &[u8]) {
        let result =
            self.caller(asker).and_then(|caller| Ok((caller, Call::decode(command, data)?)));
        let (caller, call) = match result {
            Ok(decoded) => decoded,
            Err(error) => return self.answer(asker.unique, Err(error), &[]),
        };
        match call {
            Call::Freeze(request) => return self.freeze(asker, &caller, &request),
            Call::FrozenInfo(request) => return self.frozen_info(asker, &caller, &request),
            _ => {}
        }
        let state = &mut self.devices[asker.device];
        if let Call::WriteRead(mut request) = call {
            if self.inherits_nice
                && let Ok(nice) = nice::of(asker.tid)
            {
                state.context.note_nice(&caller, Nice(nice));
            }
            let mut outcome = state.context.write_read(&caller, &mut request, &mut state.clients);
            if outcome == Err(Errno::EAGAIN) && state.has_become_blocking(asker.process) {
                // The request shows what was done: the repetition only reads.
                let caller = Caller { waits: Waits::UntilReady, ..caller };
                outcome = state.context.write_read(&caller, &mut request, &mut state.clients);
            }
            self.end_or_park(asker, request, outcome);
            return;
        }
        let answer = call.run(&mut state.context, &caller, &mut state.clients);
        if call == Call::ExitThread
            && let Some(client) = state.clients.get_mut(asker.process)
        {
            client.forget_thread(asker.tid);
        }
        let bytes = answer.as_ref().map_or(&[][..], Answer::bytes);
        self.answer(asker.unique, answer.as_ref().map(|_| ()).map_err(|error| *error), bytes);
    }

    /// Checks that the caller belongs to the process that opened the file.
    fn caller(&mut self, asker: &Asker) -> Result<Caller, Errno> {
        let clients = &mut self.devices[asker.device].clients;
        let client = clients.get_mut(asker.process).ok_or(Errno::EINVAL)?;
        if !client.begin_call(asker.tid) {
            tracing::warn!(pid = client.pid, tid = asker.tid, "a foreign process was refused");
            return Err(Errno::EINVAL);
        }
        let waits = if client.is_nonblocking { Waits::Never } else { Waits::UntilReady };
        Ok(Caller { process: asker.process, tid: asker.tid, euid: asker.uid, waits })
    }

    /// Answers a `BINDER_WRITE_READ`, unless its read sleeps. The caller's struct goes back in any
    /// case: it shows how far the call came.
    fn end_or_park(
        &mut self,
        asker: &Asker,
        request: BinderWriteRead,
        outcome: Result<Outcome, Errno>,
    ) {
        let result = match outcome {
            Ok(Outcome::Park(thread)) => {
                let parked = Parked { asker: *asker, thread, request, check: Check::Fresh };
                return self.devices[asker.device].parked.insert(parked);
            }
            Ok(Outcome::Done) => Ok(()),
            Err(error) => Err(error),
        };
        self.answer(asker.unique, result, Answer::of(&request).bytes());
    }

    fn answer(&self, unique: u64, result: Result<(), Errno>, data: &[u8]) {
        let result = result.map_or_else(|error| -error.number(), |()| 0);
        send(&self.fuse, &reply::ioctl(unique, result, data));
    }

    /// Does what the calls so far left to do on a device, and on others for it.
    fn carry_out_effects(&mut self, device: DeviceId) {
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
        concerns_others
    }

    fn wake(&mut self, device: DeviceId, thread: ThreadKey) {
        let state = &mut self.devices[device];
        let Some(parked) = state.parked.take(thread) else { return };
        let Parked { asker, mut request, .. } = parked;
        if let Some(client) = state.clients.get_mut(asker.process) {
            client.resume_call(asker.tid);
        }
        let outcome = state.context.resume(thread, &mut request, &mut state.clients);
        self.end_or_park(&asker, request, outcome);
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

    fn poll(&mut self, asker: &Asker, handle: u64, flags: u32) {
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

    /// Ends the sleep of the call behind request `target`. If it does not sleep (yet), the kernel
    /// is asked to repeat the interruption, and forgets it if the request is gone.
    fn interrupt(&mut self, unique: u64, target: u64) {
        for device in 0..self.devices.len() {
            if let Some(parked) = self.devices[device].parked.take_request(target) {
                self.end_sleep(device, &parked, Errno::EINTR);
                return self.carry_out_effects(device);
            }
        }
        if !self.interrupt_freeze(target) {
            send(&self.fuse, &reply::error(unique, Errno::EAGAIN.number()));
        }
    }

    /// Ends a read that sleeps without anything to tell.
    fn end_sleep(&mut self, device: DeviceId, parked: &Parked, error: Errno) {
        self.devices[device].context.interrupt(parked.thread);
        self.answer(parked.asker.unique, Err(error), Answer::of(&parked.request).bytes());
    }

    /// Lists the files of reads that have slept through a round, once each.
    fn sleepers(&mut self) -> Vec<Sleeper> {
        let (mut found, mut listed) = (Vec::new(), HashSet::new());
        for (device, state) in self.devices.iter_mut().enumerate() {
            for parked in state.parked.iter_mut() {
                parked.check = match parked.check {
                    Check::Fresh => Check::Due,
                    Check::Done => Check::Done,
                    Check::Due => {
                        let process = parked.asker.process;
                        // One look serves all reads of a file.
                        if listed.insert((device, process))
                            && let Some(client) = state.clients.get_mut(process)
                        {
                            let (pid, file) = (client.pid, client.file);
                            found.push(Sleeper { device, process, pid, file });
                        }
                        Check::Done
                    }
                };
            }
        }
        found
    }

    /// Notes what `O_NONBLOCK` has become; reads that sleep against it end with `EAGAIN`.
    fn set_nonblocking(&mut self, device: DeviceId, process: ProcessKey, is_nonblocking: bool) {
        let Some(client) = self.devices[device].clients.get_mut(process) else { return };
        client.is_nonblocking = is_nonblocking;
        if !is_nonblocking {
            return;
        }
        let of_process = |parked: &Parked| parked.asker.process == process;
        while let Some(parked) = self.devices[device].parked.take_first(of_process) {
            self.end_sleep(device, &parked, Errno::EAGAIN);
        }
        self.carry_out_effects(device);
    }

    /// Gives the memory of receive buffers back that no live transaction touches.
    fn reclaim_idle_pages(&mut self) {
        for Device { context, clients, .. } in &mut self.devices {
            let processes: Vec<ProcessKey> = clients.processes().collect();
            for process in processes {
                while let Some(page) = context.reclaim_idle_page(process) {
                    clients.release_page(process, page);
                }
            }
        }
    }
}

impl Device {
    /// Whether `O_NONBLOCK`, known to have been set, is set no longer.
    fn has_become_blocking(&mut self, process: ProcessKey) -> bool {
        let Some(client) = self.clients.get_mut(process) else { return false };
        let flags = proc_files::file_flags(client.pid, client.file);
        let is_blocking = matches!(flags, Ok(Some(flags)) if flags & O_NONBLOCK == 0);
        client.is_nonblocking = !is_blocking;
        is_blocking
    }
}

impl Job {
    /// The request that a client waits on, if one does.
    fn answers(&self) -> Option<u64> {
        match self {
            Self::Ioctl { asker, .. } | Self::Poll { asker, .. } => Some(asker.unique),
            Self::Open { unique, .. } | Self::Flush { unique, .. } => Some(*unique),
            Self::AddDevice(_)
            | Self::Release { .. }
            | Self::Interrupt { .. }
            | Self::ListSleepers { .. }
            | Self::SetNonblocking { .. }
            | Self::ReclaimIdlePages
            | Self::EndOverdueFreezes => None,
        }
    }
}
