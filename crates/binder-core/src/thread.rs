//! A caller thread of a process: its looper state, its transaction stack, its own queue.

use alloc::boxed::Box;
use alloc::vec::Vec;

use binder_uapi::{BR_OK, BinderExtendedError};

use crate::account::Resource;
use crate::context::Context;
use crate::copy_out::Delivered;
use crate::looper::Looper;
use crate::priority::Priority;
use crate::process::ProcessKey;
use crate::proven::ProvenMemory;
use crate::suspended_call::SuspendedCallKey;
use crate::table::Key;
use crate::transaction::TransactionKey;
use crate::unfinished::Unfinished;
use crate::waiting::Parked;
use crate::work::WorkQueue;

/// Names a thread of a process.
pub type ThreadKey = Key<Thread>;

/// One caller thread of a process.
#[derive(Debug)]
pub struct Thread {
    pub(crate) process: ProcessKey,
    pub(crate) tid: u32,
    pub(crate) looper: Looper,
    /// The next read returns even if there is nothing to tell.
    pub(crate) need_return: bool,
    pub(crate) todo: WorkQueue,
    /// The queue holds an item that makes a read return.
    pub(crate) has_urgent_work: bool,
    /// The innermost transaction that this thread waits for or serves.
    pub(crate) stack: Option<TransactionKey>,
    /// What became of an own send; while set, no further command is taken.
    pub(crate) return_error: Option<u32>,
    /// What became of an awaited reply.
    pub(crate) reply_error: Option<u32>,
    pub(crate) extended_error: BinderExtendedError,
    pub(crate) parked: Parked,
    /// The thread has called poll(2) before.
    pub(crate) polls: bool,
    /// Its priority, if that concerns us.
    pub(crate) priority: Option<Priority>,
    /// Completions of its replies ride along with what it reads next.
    pub(crate) defers_completions: bool,
    /// What its call waits for, apart from work.
    pub(crate) suspended_call: Option<SuspendedCallKey>,
    /// The command that its call goes on with.
    pub(crate) unfinished: Option<Box<Unfinished>>,
    /// Memory to which its returns were written the last time.
    pub(crate) proven: ProvenMemory,
    /// What it was given last, as far as that may have to be undone.
    pub(crate) delivered: Option<Delivered>,
    /// Descriptors of its process to close when it leaves its ioctl.
    pub(crate) closing: Vec<u32>,
}

impl Thread {
    pub(crate) fn new(process: ProcessKey, tid: u32) -> Self {
        Self {
            process,
            tid,
            looper: Looper::empty(),
            need_return: true,
            todo: WorkQueue::default(),
            has_urgent_work: false,
            stack: None,
            return_error: None,
            reply_error: None,
            extended_error: no_error(0),
            parked: Parked::No,
            polls: false,
            priority: None,
            defers_completions: false,
            suspended_call: None,
            unfinished: None,
            proven: ProvenMemory::default(),
            delivered: None,
            closing: Vec::new(),
        }
    }

    /// Keeps `has_urgent_work` true to its name after an item has left the queue.
    pub(crate) fn note_taken_work(&mut self) {
        if self.todo.is_empty() {
            self.has_urgent_work = false;
        }
    }

    /// Whether a call of the thread sleeps, waits for the front end, or is unfinished.
    pub(crate) fn is_in_call(&self) -> bool {
        self.parked != Parked::No || self.suspended_call.is_some() || self.unfinished.is_some()
    }

    /// Whether the thread is free to serve the process: nothing of its own is under way.
    pub(crate) fn may_take_process_work(&self) -> bool {
        let has_own_work =
            self.has_urgent_work || !(self.todo.is_empty() || self.defers_completions);
        self.stack.is_none() && !has_own_work
    }
}

/// The extended error of a transaction that went well.
pub(crate) fn no_error(id: u32) -> BinderExtendedError {
    BinderExtendedError { id, command: BR_OK, param: 0 }
}

impl Context {
    /// Finds the caller's thread, or makes it: the first call of a thread is all it takes.
    pub(crate) fn thread_of(&mut self, process: ProcessKey, tid: u32) -> ThreadKey {
        let state = &mut self.processes[process];
        if let Some(thread) = state.threads.get(&tid) {
            state.latest_caller = Some((tid, *thread));
            return *thread;
        }
        let thread = self.threads.insert(Thread::new(process, tid));
        state.threads.insert(tid, thread);
        state.latest_caller = Some((tid, thread));
        self.holdings_of(process)[Resource::Threads] += 1;
        thread
    }
}
