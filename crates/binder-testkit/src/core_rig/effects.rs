//! What the core wants done after a call: sleepers are woken and resumed.

use binder_core::{Effect, IfOutstanding, ProcessKey, ThreadKey};

use super::windows::Window;
use super::{Call, World, contexts};
use crate::{Caller, Thread};

impl World {
    /// Does what the core wants done, until it wants nothing more.
    pub(super) fn carry_out_effects(&mut self) {
        if !self.has_no_frontend {
            return self.carry_out_actions();
        }
        self.wake_readers();
        while !self.ends_slowly && self.run_background_slice() {}
        while !self.holds_fd_work
            && let Some(fd_work) = self.fd_work.pop_front()
        {
            self.run(fd_work);
            self.wake_readers();
        }
    }

    pub(super) fn wake_readers(&mut self) {
        if self.is_held {
            return;
        }
        while let Some((context, effect)) = self.next_effect() {
            match effect {
                Effect::Wake(key) => self.resume(context, key),
                Effect::NotifyPoll(key) => self.notify(context, key),
                Effect::SetPriority { tid, priority, .. } => {
                    let thread = self.threads.iter_mut().find(|thread| thread.tid == tid);
                    thread.expect("a thread of ours").priority = Some(priority);
                }
                Effect::Settled(key) => {
                    self.advance_freezes(IfOutstanding::Wait, |place| place == (context, key));
                }
            }
        }
    }

    fn next_effect(&mut self) -> Option<(usize, Effect)> {
        let mut contexts = contexts(&mut self.devices).into_iter().enumerate();
        contexts.find_map(|(place, context)| Some((place, context.poll_effect()?)))
    }

    fn resume(&mut self, context: usize, woken: ThreadKey) {
        for thread in 0..self.threads.len() {
            let Call::Reading { process, key, argument, request } = self.threads[thread].call
            else {
                continue;
            };
            if key == woken && self.files[process.0].context == context {
                let result = self.devices[context].context_mut().resume(key, &request);
                let caller = Caller { process, thread: Thread(thread) };
                self.threads[thread].call =
                    self.go_on(Window { caller, argument, request, result, fetched: None });
            }
        }
    }

    fn notify(&mut self, context: usize, notified: ProcessKey) {
        for thread in 0..self.threads.len() {
            let Call::Polling { process } = self.threads[thread].call else { continue };
            let file = &self.files[process.0];
            if file.context == context && file.key == notified {
                let caller = Caller { process, thread: Thread(thread) };
                let (_, who) = self.core_caller(caller);
                if self.devices[context].context_mut().poll(&who) {
                    self.threads[thread].call = Call::Ended(Ok(()));
                }
            }
        }
    }
}
