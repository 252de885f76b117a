//! Reaching into the memory of clients, while the driver is free for others.
//!
//! A call that needs memory of its client stops, what it needs is put in line here, and whoever has it
//! comes back to the driver with a job of its own. The reader does that itself, between two requests;
//! what may take its time it leaves to the runners.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard};
use std::time::Instant;

use binder_core::{CallerMemory, ClaimedAddr, Commands, CopyFault, HandOver};
use binder_os::ClientMemory;
use binder_uapi::BinderWriteRead;

use crate::descriptors::Payer;
use crate::diversion::{self, Begun};
use crate::driver::{Asker, Job};
use crate::errand::{Task, Worker};
use crate::files::HeldFile;
use crate::housekeeper::ROUND;
use crate::session::Shared;

/// What a call needs of its client's memory.
pub(crate) struct Reach {
    /// By which the driver finds the call.
    pub(crate) ticket: usize,
    /// The request that the call came with.
    pub(crate) unique: u64,
    /// Whose memory it is.
    pub(crate) client: Payer,
    pub(crate) memory: Box<ClientMemory>,
    pub(crate) want: Want,
    /// It belongs to a call that takes long, and lets others go first.
    pub(crate) can_wait: bool,
}

pub(crate) enum Want {
    /// The next commands, in the place of some that nobody needs any more.
    Commands(BinderWriteRead, Box<Commands>),
    /// The caller has its returns.
    HandOver(HandOver),
}

/// What came of it.
pub(crate) struct Reached {
    pub(crate) ticket: usize,
    pub(crate) unique: u64,
    pub(crate) memory: Box<ClientMemory>,
    pub(crate) got: Got,
}

pub(crate) enum Got {
    Commands(Box<Commands>),
    Written(HandOver, Result<(), CopyFault>),
    /// We met a bug.
    Nothing,
}

/// What has not been reached for.
#[derive(Default)]
pub(crate) struct Reaches {
    line: Mutex<VecDeque<Reach>>,
    /// How long the line was a moment ago.
    len: AtomicUsize,
}

impl Reaches {
    pub(crate) fn push(&self, reach: Reach) {
        let mut line = self.line();
        line.push_back(reach);
        self.len.store(line.len(), Ordering::Relaxed);
    }

    pub(crate) fn pop(&self) -> Option<Reach> {
        // A lock is saved. Whoever put something in line comes here afterwards, and does not miss that.
        if self.len.load(Ordering::Relaxed) == 0 {
            return None;
        }
        let mut line = self.line();
        let reach = line.pop_front();
        self.len.store(line.len(), Ordering::Relaxed);
        reach
    }

    fn line(&self) -> MutexGuard<'_, VecDeque<Reach>> {
        self.line.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

/// A client's memory, as the core reads it.
struct OfCaller<'a>(&'a mut ClientMemory);

impl CallerMemory for OfCaller<'_> {
    fn read(&mut self, address: ClaimedAddr, into: &mut [u8]) -> Result<(), CopyFault> {
        self.0.read(address.0, into).map_err(|_| CopyFault)
    }

    fn read_whole(
        &mut self,
        address: ClaimedAddr,
        len: usize,
        bytes: &mut Vec<u8>,
    ) -> Result<(), CopyFault> {
        self.0.read_whole(address.0, len, bytes).map_err(|_| CopyFault)
    }
}

impl Reach {
    /// Does it, however long that takes.
    pub(crate) fn perform(self) -> Reached {
        let Self { ticket, unique, mut memory, want, .. } = self;
        let work = AssertUnwindSafe(|| match want {
            Want::Commands(request, mut commands) => {
                commands.fetch_next(&request, &mut OfCaller(&mut memory));
                Got::Commands(commands)
            }
            Want::HandOver(hand_over) => {
                let written = write(&mut memory, &hand_over);
                Got::Written(hand_over, written)
            }
        });
        let got = catch_unwind(work).unwrap_or_else(|_| {
            tracing::error!(unique, "a request met a bug when memory was accessed for it");
            Got::Nothing
        });
        Reached { ticket, unique, memory, got }
    }
}

/// Writes returns to where their caller wants them.
pub(crate) fn write(memory: &mut ClientMemory, hand_over: &HandOver) -> Result<(), CopyFault> {
    memory.write(hand_over.address.0, &hand_over.bytes).map_err(|_| CopyFault)
}

impl Shared {
    /// Has `job` done, and what calls need of clients' memory by it: that is left to the runners.
    pub(crate) fn submit(&self, job: Job) {
        self.take_turn(job);
        self.leave_all_to_runners();
    }

    fn leave_all_to_runners(&self) {
        while let Some(reach) = self.reaches.pop() {
            self.leave_to_runners(reach);
        }
        while let Some(task) = self.diversions.next() {
            self.runners.run_errand(task);
        }
    }

    /// Reaches for all that is in line, and diverts threads. Says whether the calling thread, which is
    /// at `step`, is the reader still.
    pub(crate) fn reach_for_clients(&self, step: &mut u64) -> bool {
        loop {
            if !self.reach_for_memory(step) {
                return false;
            }
            let Some(task) = self.diversions.next() else { return true };
            if !self.divert(step, task) {
                return false;
            }
        }
    }

    /// Sends a thread to the supervisor and gives it its files there. To leave that to others takes longer.
    fn divert(&self, step: &mut u64, task: Task) -> bool {
        let pid = task.client.pid;
        if self.slow.holds(pid) {
            self.runners.run_errand(task);
            return true;
        }
        if !self.watch.advance(step, pid) {
            self.runners.run_errand(task);
            return false;
        }
        let files = self.give_files(task);
        let mut is_reader = self.watch.advance(step, 0);
        if !is_reader {
            // Another has taken over, and has marked the client.
            self.slow.end_wait(pid, true);
        }
        for file in files {
            is_reader = is_reader && self.close(step, file);
        }
        if !is_reader {
            self.leave_all_to_runners();
        }
        is_reader
    }

    /// Returns our own files, which are to be closed, unless somebody else goes on with it.
    fn give_files(&self, task: Task) -> Vec<HeldFile> {
        let Asker { tid, argument, .. } = task.asker;
        let pid = task.client.pid;
        let attendant = self.attendant().filter(|_| !self.tardy.holds(pid));
        let mut expected = None;
        let expect = || expected = attendant.as_ref().and_then(|it| it.hearing.expect());
        match diversion::begin(self, task, expect) {
            Begun::OnItsWay => {}
            Begun::Over => return Vec::new(),
            Begun::Left(task) => {
                self.runners.run_errand(task);
                return Vec::new();
            }
        }
        let (Some(attendant), Some(expected)) = (&attendant, expected) else { return Vec::new() };
        let Some(waiting) = expected.take() else {
            // It is not waited for once more, for the time being.
            self.tardy.begin_wait(pid);
            self.tardy.end_wait(pid, true);
            return Vec::new();
        };
        let is_its = waiting.trapped.is_diverted(tid, argument);
        match is_its.then(|| self.diversions.take(tid, argument)).flatten() {
            Some(diverted) => diversion::complete(self, Worker::Reader, waiting, diverted),
            None => {
                attendant.attend_to(waiting);
                Vec::new()
            }
        }
    }

    /// Closes a file, which may take as long as its sender likes. Says whether the calling thread is the
    /// reader still.
    fn close(&self, step: &mut u64, file: HeldFile) -> bool {
        let Some(sender) = file.payer().map(|payer| payer.pid) else { return true };
        if self.slow.holds(sender) {
            return true;
        }
        if !self.watch.advance(step, sender) {
            return false;
        }
        file.close();
        let is_reader = self.watch.advance(step, 0);
        if !is_reader {
            self.slow.end_wait(sender, true);
        }
        is_reader
    }

    fn reach_for_memory(&self, step: &mut u64) -> bool {
        while let Some(reach) = self.reaches.pop() {
            let pid = reach.client.pid;
            if reach.can_wait || self.slow.holds(pid) {
                self.leave_to_runners(reach);
                continue;
            }
            if !self.watch.advance(step, pid) {
                self.leave_to_runners(reach);
                return false;
            }
            let reached = Job::Reached(reach.perform());
            if !self.watch.advance(step, 0) {
                // Another has taken over, and has marked the client.
                self.slow.end_wait(pid, true);
                self.submit(reached);
                return false;
            }
            self.take_turn(reached);
        }
        true
    }

    fn leave_to_runners(&self, reach: Reach) {
        let client = reach.client;
        self.runners.run(client, move |shared| {
            let is_slow = shared.slow.holds(client.pid);
            if is_slow {
                shared.slow.begin_wait(client.pid);
            }
            let start = Instant::now();
            let reached = reach.perform();
            if is_slow {
                shared.slow.end_wait(client.pid, start.elapsed() >= ROUND);
            }
            shared.submit(Job::Reached(reached));
        });
    }
}
