//! How calls, files and hosts end: by signals, by the last close, by death.

use binder_core::ReleaseProgress;
use rustix::io::Errno;

use super::freezes::FreezeWaiter;
use super::{Call, OpenFile, World, contexts};
use crate::{Caller, Host};

impl World {
    pub(super) fn interrupt(&mut self, thread: usize) {
        let result = Err(Errno::INTR);
        match self.threads[thread].call {
            // The first has returned; the second does so once its descriptor work is done.
            Call::Ended(_) | Call::FdWork => {}
            Call::Asked { device, unique } => {
                self.interrupt_request(device, unique);
                self.carry_out_effects();
            }
            Call::Polling { .. } => self.threads[thread].call = Call::Ended(result),
            Call::Freezing => {
                let at =
                    self.freezes.iter().position(|(who, _)| *who == FreezeWaiter::Thread(thread));
                let (_, freeze) = self.freezes.remove(at.expect("a freeze that waits"));
                freeze.abandon(&mut contexts(&mut self.devices));
                self.threads[thread].call = Call::Ended(result);
            }
            Call::Reading { process, key, argument, request } => {
                let host = self.threads[thread].host;
                let context = self.files[process.0].context;
                // A held thread may have been woken already: the signal wins, as in Linux.
                let _was_asleep = self.devices[context].context_mut().interrupt(key);
                self.put(host, argument, &request).expect("the argument is where it was");
                self.threads[thread].call = Call::Ended(result);
                self.carry_out_effects();
            }
        }
    }

    pub(super) fn end_thread(&mut self, caller: Caller) {
        let (context, who) = self.core_caller(caller);
        let memory = &mut self.memory.of_device(context);
        if self.has_no_frontend {
            self.devices[context].context_mut().exit_thread(&who, memory);
        } else {
            self.devices[context].end_thread(who.process, who.tid, memory);
        }
    }

    /// The last close: all threads are woken, then the file goes.
    pub(super) fn close(&mut self, process: usize) {
        let OpenFile { context, key, is_open, .. } = self.files[process];
        if !is_open {
            return;
        }
        self.flush(process);
        let memory = &mut self.memory.of_device(context);
        let release = if self.has_no_frontend {
            self.devices[context].context_mut().release(key, memory)
        } else {
            let ended = self.devices[context].end_file(key, &[], memory);
            assert_eq!(ended, Some(process), "a file ends once");
            ReleaseProgress::Done
        };
        self.files[process].is_open = false;
        self.memory.remove_file((context, key.to_u64()));
        self.carry_out_effects();
        if release == ReleaseProgress::Unfinished {
            self.ending.push((context, key));
        }
        while !self.ends_slowly && self.end_some() {}
    }

    /// A descriptor of a file is closed: all threads are woken.
    pub(super) fn flush(&mut self, process: usize) {
        let OpenFile { context, key, .. } = self.files[process];
        if self.has_no_frontend {
            self.devices[context].context_mut().flush(key);
            self.carry_out_effects();
        } else {
            self.ask_to_flush(process);
        }
    }

    /// Goes on with the end of a file that was closed, or else of a thread or a buffer that no client waits for. Says whether
    /// there may be more.
    pub(super) fn end_some(&mut self) -> bool {
        if !self.has_no_frontend {
            return self.go_on_releasing();
        }
        let Some((context, key)) = self.ending.pop() else { return self.run_background_slice() };
        let release =
            self.devices[context].context_mut().release(key, &mut self.memory.of_device(context));
        if release == ReleaseProgress::Unfinished {
            self.ending.push((context, key));
        }
        self.carry_out_effects();
        true
    }

    /// Goes on with ends that no client waits for. Says whether there is more.
    pub(super) fn run_background_slice(&mut self) -> bool {
        let mut are_left = false;
        for (number, context) in contexts(&mut self.devices).into_iter().enumerate() {
            let release = context.run_background_slice(&mut self.memory.of_device(number));
            are_left |= release == ReleaseProgress::Unfinished;
        }
        self.wake_readers();
        are_left
    }

    pub(super) fn kill(&mut self, host: Host) {
        self.hosts[host.0].is_killed = true;
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
