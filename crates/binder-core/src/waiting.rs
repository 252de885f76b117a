//! Threads that sleep in a read or poll, and the choice of the thread to wake.

use crate::context::Context;
use crate::effect::Effect;
use crate::process::ProcessKey;
use crate::thread::ThreadKey;

/// Whether a thread sleeps in a read, and what may end its sleep.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Parked {
    No,
    /// It waits for a reply: only its own queue concerns it.
    ForOwnWork,
    /// It is idle and takes work of the process too.
    ForAnyWork,
}

impl Context {
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
                // Mostly the one that was parked last.
                if waiting.pop_if(|last| *last == thread).is_none()
                    && let Some(at) = waiting.iter().rposition(|other| *other == thread)
                {
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
}
