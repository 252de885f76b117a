//! What the core wants done after an event.

use binder_core::{Effect, ThreadKey};

use crate::action::Action;
use crate::frontend::Frontend;

impl<F: Clone> Frontend<F> {
    /// Does what the core wants done, in order, as far as that is for the front end; the rest are actions.
    pub fn carry_out_effects(&mut self) {
        while let Some(effect) = self.context.poll_effect() {
            match effect {
                Effect::Wake(thread) => self.wake(thread),
                Effect::NotifyPoll(process) => {
                    let file = self.files.get_mut(process);
                    if let Some(handle) = file.and_then(|file| file.poll_handle.take()) {
                        self.actions.push(Action::NotifyPoll { handle });
                    }
                }
                Effect::SetPriority { pid, tid, priority, change } => {
                    self.actions.push(Action::SetPriority { pid, tid, priority, change });
                }
                Effect::Settled(process) => self.actions.push(Action::Settled(process)),
            }
        }
        self.warn_of_excess();
        if self.has_reports {
            while let Some(report) = self.context.poll_report() {
                self.actions.push(Action::Report(report.into()));
            }
        }
    }

    /// Tells which client has met a limit, if one has.
    pub(crate) fn warn_of_excess(&mut self) {
        if let Some(excess) = self.context.take_excess() {
            self.actions.push(Action::Warn(excess.into()));
        }
    }

    fn wake(&mut self, thread: ThreadKey) {
        let Some(call) = self.calls.take_asleep(thread) else { return };
        let outcome = self.context.resume(thread, &call.request);
        self.go_on_after(call, outcome);
    }
}
