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

use crate::diversion;
use crate::driver::Job;
use crate::errand::Task;
use crate::housekeeper::ROUND;
use crate::session::Shared;
use crate::supply::Payer;

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

    /// Sends a thread to the supervisor. To leave that to a runner takes longer.
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
        let left = diversion::begin(self, task);
        let is_reader = self.watch.advance(step, 0);
        if !is_reader {
            // Another has taken over, and has marked the client.
            self.slow.end_wait(pid, true);
        }
        if let Some(task) = left {
            self.runners.run_errand(task);
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
