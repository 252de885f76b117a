//! What ends, slice by slice: open files, threads, buffers that no process frees.

use binder_core::{
    Caller, Errno, FdWork, ProcessKey, ReceiveBuffers, ReleaseProgress, ThreadKey, Waits,
};

use crate::frontend::Frontend;

impl<F: Clone> Frontend<F> {
    /// Ends an open file, which may have ended before: its process is gone then. `awaited` are the requests
    /// of its calls whose threads were sent elsewhere for their files. Returns what the executor knew it by.
    pub fn end_file(
        &mut self,
        process: ProcessKey,
        awaited: &[u64],
        memory: &mut dyn ReceiveBuffers,
    ) -> Option<F> {
        for unique in awaited {
            self.calls.take(*unique);
        }
        self.release(process, memory);
        self.carry_out_effects();
        self.files.remove(process).map(|file| file.handle)
    }

    /// Ends an open file whose request met a bug: what that left half done is mostly its own. Its calls that
    /// sleep fail.
    pub fn end_file_after_bug(
        &mut self,
        process: ProcessKey,
        awaited: &[u64],
        memory: &mut dyn ReceiveBuffers,
    ) -> Option<F> {
        for call in self.calls.take_asleep_of(process) {
            self.fail(call, Errno::EIO);
        }
        self.end_file(process, awaited, memory)
    }

    /// Ends a thread that has ended, and may not have said so. Its process may be gone.
    pub fn end_thread(&mut self, process: ProcessKey, tid: u32, memory: &mut dyn ReceiveBuffers) {
        if self.files.get(process).is_none() {
            return;
        }
        let caller = Caller { process, tid, euid: 0, waits: Waits::Never };
        self.context.exit_thread(&caller, memory);
        self.carry_out_effects();
    }

    /// Ends what waits for a process that has its receive buffer mapped no more.
    pub fn lose_mapping(&mut self, process: ProcessKey, memory: &mut dyn ReceiveBuffers) {
        self.context.lose_mapping(process, memory);
        self.carry_out_effects();
    }

    /// Goes on with what has not come to its end, for a slice. Says whether there may be more.
    pub fn go_on_releasing(&mut self, memory: &mut dyn ReceiveBuffers) -> bool {
        if let Some(process) = self.ending.pop_front() {
            self.release(process, memory);
        } else if self.context.has_background_work() {
            let _ = self.context.run_background_slice(memory);
        } else {
            return false;
        }
        self.carry_out_effects();
        true
    }

    /// Ends a process, or a slice of it.
    fn release(&mut self, process: ProcessKey, memory: &mut dyn ReceiveBuffers) {
        match self.context.release(process, memory) {
            ReleaseProgress::Done => {}
            ReleaseProgress::Unfinished => self.ending.push_back(process),
        }
    }

    /// Takes back descriptor work whose thread was sent elsewhere for it, and has ended or makes another call
    /// instead: a signal came between. Its next call takes up the work.
    pub fn retract_fd_work(&mut self, unique: u64, work: FdWork) {
        self.calls.take(unique);
        self.context.retract_fd_work(work);
    }

    /// Ends a sleep without anything to tell.
    pub(crate) fn wake_up(&mut self, thread: ThreadKey) {
        self.context.interrupt(thread);
    }
}
