//! How calls, files and hosts end: by signals, by the last close, by death.

use binder_core::ReleaseProgress;
use rustix::io::Errno;

use super::{Call, OpenFile, World};
use crate::{Caller, Host};

impl World {
    pub(super) fn interrupt(&mut self, thread: usize) {
        let result = Err(Errno::INTR);
        match self.threads[thread].call {
            // The first has returned; the second does so once its descriptor work is done.
            Call::Ended(_) | Call::FdWork => {}
            Call::Polling { .. } => self.threads[thread].call = Call::Ended(result),
            Call::Freezing => {
                let at = self.freezes.iter().position(|(who, _)| *who == thread);
                let (_, freeze) = self.freezes.remove(at.expect("a freeze that waits"));
                freeze.abandon(&mut self.contexts.each_mut());
                self.threads[thread].call = Call::Ended(result);
            }
            Call::Reading { process, key, argument, request } => {
                let host = self.threads[thread].host;
                let context = self.files[process.0].context;
                // A held thread may have been woken already: the signal wins, as in Linux.
                let _was_asleep = self.contexts[context].interrupt(key);
                self.put(host, argument, &request).expect("the argument is where it was");
                self.threads[thread].call = Call::Ended(result);
                self.carry_out_effects();
            }
        }
    }

    pub(super) fn end_thread(&mut self, caller: Caller) {
        let (context, who) = self.core_caller(caller);
        self.contexts[context].exit_thread(&who, &mut self.memory.seen_by(context));
    }

    /// The last close: everybody is woken, then the file goes.
    pub(super) fn close(&mut self, process: usize) {
        let OpenFile { context, key, is_open, .. } = self.files[process];
        if !is_open {
            return;
        }
        self.contexts[context].flush(key);
        self.carry_out_effects();
        let release = self.contexts[context].release(key, &mut self.memory.seen_by(context));
        self.files[process].is_open = false;
        self.memory.remove_file((context, key.to_u64()));
        self.carry_out_effects();
        if release == ReleaseProgress::Unfinished {
            self.ending.push((context, key));
        }
        while !self.ends_slowly && self.end_some() {}
    }

    /// Goes on with the end of a file that was closed, or else of buffers. Says whether there may be more.
    pub(super) fn end_some(&mut self) -> bool {
        let Some((context, key)) = self.ending.pop() else { return self.end_buffers() };
        let release = self.contexts[context].release(key, &mut self.memory.seen_by(context));
        if release == ReleaseProgress::Unfinished {
            self.ending.push((context, key));
        }
        self.carry_out_effects();
        true
    }

    /// Goes on with buffers that come to their end. Says whether there are more.
    pub(super) fn end_buffers(&mut self) -> bool {
        let mut are_left = false;
        for (number, context) in self.contexts.iter_mut().enumerate() {
            let release = context.end_buffers(&mut self.memory.seen_by(number));
            are_left |= release == ReleaseProgress::Unfinished;
        }
        self.wake_readers();
        are_left
    }

    pub(super) fn kill(&mut self, host: Host) {
        for thread in 0..self.threads.len() {
            if self.threads[thread].host == host {
                self.interrupt(thread);
            }
        }
        for process in 0..self.files.len() {
            if self.files[process].host == host {
                self.close(process);
            }
        }
    }
}
