//! A caller thread of a process: its looper state, its transaction stack, its own queue.

use binder_uapi::{BR_OK, BinderExtendedError};

use crate::context::Context;
use crate::effect::Effect;
use crate::env::ClientMemory;
use crate::process::ProcessKey;
use crate::table::Key;
use crate::transaction::TransactionKey;
use crate::work::{Work, WorkQueue};

/// Names a thread of a process.
pub type ThreadKey = Key<Thread>;

bitflags::bitflags! {
    /// What a thread said of itself.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub(crate) struct Looper: u8 {
        /// Came because the driver asked for a thread.
        const REGISTERED = 0x01;
        /// Came on its own account.
        const ENTERED = 0x02;
        /// Said that it leaves.
        const EXITED = 0x04;
        /// Said what it should not have; shown in logs, without effect.
        const INVALID = 0x08;
    }
}

/// Whether a thread sleeps in a read, and what may end its sleep.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Parked {
    No,
    /// It waits for a reply: only its own queue concerns it.
    ForOwnWork,
    /// It is idle and takes work of the process too.
    ForAnyWork,
}

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
    /// Completions of its replies ride along with what it reads next.
    pub(crate) defers_completions: bool,
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
            defers_completions: false,
        }
    }

    /// Keeps `has_urgent_work` true to its name after an item has left the queue.
    pub(crate) fn note_taken_work(&mut self) {
        if self.todo.is_empty() {
            self.has_urgent_work = false;
        }
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
        if let Some(thread) = self.processes[process].threads.get(&tid) {
            return *thread;
        }
        let thread = self.threads.insert(Thread::new(process, tid));
        self.processes[process].threads.insert(tid, thread);
        thread
    }

    /// Whether a read of this thread has something to return.
    pub(crate) fn is_ready(&self, thread: ThreadKey) -> bool {
        let state = &self.threads[thread];
        state.has_urgent_work
            || state.need_return
            || (state.may_take_process_work() && !self.processes[state.process].todo.is_empty())
    }

    /// Notes that the thread sleeps in a read from here on.
    pub(crate) fn park(&mut self, thread: ThreadKey) {
        let state = &mut self.threads[thread];
        state.parked = if state.may_take_process_work() {
            self.processes[state.process].waiting.push(thread);
            Parked::ForAnyWork
        } else {
            Parked::ForOwnWork
        };
    }

    /// Notes that the thread sleeps no longer. Says whether it did.
    pub(crate) fn unpark(&mut self, thread: ThreadKey) -> bool {
        let state = &mut self.threads[thread];
        match core::mem::replace(&mut state.parked, Parked::No) {
            Parked::No => false,
            Parked::ForOwnWork => true,
            Parked::ForAnyWork => {
                let waiting = &mut self.processes[state.process].waiting;
                if let Some(at) = waiting.iter().rposition(|other| *other == thread) {
                    waiting.remove(at);
                }
                true
            }
        }
    }

    /// Lets a parked read, or a poll, of this thread look again.
    pub(crate) fn wake_thread(&mut self, thread: ThreadKey) {
        if self.unpark(thread) {
            self.effects.push_back(Effect::Wake(thread));
        } else if self.threads[thread].polls {
            let process = self.threads[thread].process;
            self.effects.push_back(Effect::NotifyPoll(process));
        }
    }

    /// The most recently parked idle thread of the process: its caches are the warmest.
    pub(crate) fn latest_waiting_thread(&self, process: ProcessKey) -> Option<ThreadKey> {
        self.processes[process].waiting.last().copied()
    }

    /// Wakes one idle thread for work of the process, or else all that poll for it.
    pub(crate) fn wake_for_process_work(&mut self, process: ProcessKey) {
        match self.latest_waiting_thread(process) {
            Some(thread) => self.wake_thread(thread),
            None => self.notify_pollers(process),
        }
    }

    /// Tells the poll(2) waiters of a process that work waits in its queue. Those that are busy look
    /// and find nothing.
    fn notify_pollers(&mut self, process: ProcessKey) {
        if self.processes[process].pollers > 0 {
            self.effects.push_back(Effect::NotifyPoll(process));
        }
    }

    /// Forgets the thread; a later call from the same tid starts afresh.
    ///
    /// Callers that it serves get `BR_DEAD_REPLY`, and work that another thread can do goes back to
    /// the process. Differs from Linux, where that work is lost or its buffer leaks: an unread
    /// one-way is put back at the head of the process's queue, and a notice about a node follows it.
    pub(crate) fn remove_thread(&mut self, thread: ThreadKey, memory: &mut dyn ClientMemory) {
        self.unpark(thread);
        if self.threads[thread].polls {
            let process = self.threads[thread].process;
            self.processes[process].pollers -= 1;
        }
        let (process, tid) = (self.threads[thread].process, self.threads[thread].tid);
        self.processes[process].threads.remove(&tid);
        self.abandon_stack(thread);
        while let Some(work) = self.threads[thread].todo.pop_front() {
            match work {
                Work::Transaction(transaction) => self.return_unread(process, transaction, memory),
                Work::Node(node) => {
                    let queued = self.queue_on_process(process, work);
                    self.nodes[node].queued = Some(queued);
                }
                Work::Death(death) => self.drop_death(death),
                Work::TransactionComplete
                | Work::OnewaySpamSuspect
                | Work::ReturnError
                | Work::ReplyError => {}
            }
        }
        self.threads.remove(thread);
    }
}
