//! Loopers: threads that serve their process, and when the driver asks for another.

use crate::context::Context;
use crate::thread::ThreadKey;

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

impl Context {
    /// Handles `BC_REGISTER_LOOPER`: the thread that the driver asked for has come.
    pub(crate) fn register_looper(&mut self, thread: ThreadKey) {
        let state = &mut self.threads[thread];
        let process = &mut self.processes[state.process];
        if state.looper.contains(Looper::ENTERED) || !process.has_requested_thread {
            state.looper |= Looper::INVALID;
        } else {
            process.has_requested_thread = false;
            process.started_threads += 1;
        }
        state.looper |= Looper::REGISTERED;
    }

    /// Handles `BC_ENTER_LOOPER`: a thread that came on its own account.
    pub(crate) fn enter_looper(&mut self, thread: ThreadKey) {
        let state = &mut self.threads[thread];
        if state.looper.contains(Looper::REGISTERED) {
            state.looper |= Looper::INVALID;
        }
        state.looper |= Looper::ENTERED;
    }

    /// Whether the process should start another thread: this one is about to be busy, none is idle.
    pub(crate) fn wants_another_thread(&self, thread: ThreadKey) -> bool {
        let state = &self.threads[thread];
        let process = &self.processes[state.process];
        !process.has_requested_thread
            && process.waiting.is_empty()
            && process.started_threads < process.max_threads
            && state.looper.intersects(Looper::ENTERED | Looper::REGISTERED)
    }
}
