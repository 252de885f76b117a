//! Signals, and `O_NONBLOCK` as fcntl(2) changes it: what ends a call that waits.

use alloc::boxed::Box;
use alloc::vec::Vec;

use binder_core::{Errno, ProcessKey, ReceiveBuffers};

use crate::action::{Action, Answer, Cancelled};
use crate::calls::{Call, CallState};
use crate::frontend::Frontend;
use crate::request::RequestContext;

impl<F: Clone> Frontend<F> {
    /// A signal wants to end the call behind a request. Says whether there is such a call.
    pub fn interrupt(&mut self, unique: u64) -> bool {
        let Some(call) = self.calls.get(unique) else { return false };
        match call.state {
            CallState::Asleep(..) => self.end_sleep(unique, Errno::EINTR),
            CallState::Freezing => self.actions.push(Action::CancelFreeze { unique }),
            CallState::Fetching
            | CallState::CopyingOut
            | CallState::Yielding
            | CallState::Locating
            | CallState::LookingAtMode
            | CallState::ChangingFiles => {
                self.calls.note_interruption(unique);
                self.cancel_if_possible(unique);
            }
            CallState::Running => {}
        }
        self.carry_out_effects();
        true
    }

    /// Has what the calls wait for that signals want to end looked at once more: their threads may have been
    /// killed since.
    pub fn cancel_interrupted(&mut self) {
        for unique in self.calls.interrupted() {
            self.cancel_if_possible(unique);
        }
    }

    /// Whether there are calls that signals want to end.
    pub fn has_interrupted(&mut self) -> bool {
        !self.calls.interrupted().is_empty()
    }

    fn cancel_if_possible(&mut self, unique: u64) {
        let Some(Call { context: request, state, .. }) = self.calls.get(unique) else { return };
        let what = match state {
            CallState::Fetching => Cancelled::Fetch,
            CallState::CopyingOut | CallState::Yielding | CallState::Locating => Cancelled::CopyOut,
            CallState::ChangingFiles => Cancelled::FdWork,
            // What may end at once has ended; a look at a mode is soon over.
            CallState::Running
            | CallState::Asleep(..)
            | CallState::LookingAtMode
            | CallState::Freezing => return,
        };
        if let Some(file) = self.files.get(request.process) {
            let RequestContext { unique, tid, .. } = *request;
            self.actions.push(Action::Cancel { file: file.handle.clone(), unique, tid, what });
        }
    }

    /// Ends a call whose access was given up.
    pub(crate) fn end_cancelled(&mut self, unique: u64) {
        match self.calls.get(unique).map(|call| &call.state) {
            Some(CallState::Fetching) => {
                if let Some(call) = self.calls.take(unique) {
                    self.interrupted(call);
                }
            }
            Some(CallState::CopyingOut | CallState::Yielding | CallState::Locating) => {
                if let Some(call) = self.calls.take(unique) {
                    self.end_call(call, Err(Errno::EINTR));
                }
            }
            // It has come further meanwhile.
            Some(_) => {
                self.interrupt(unique);
            }
            None => {}
        }
    }

    /// Lists the processes of reads that have slept through a round and were not looked at, each once: their
    /// files may have been made non-blocking.
    pub fn end_round(&mut self) -> Vec<(ProcessKey, F)> {
        let mut processes = self.calls.end_round();
        processes.sort_unstable_by_key(|process| process.slot());
        processes.dedup();
        let file = |process| Some((process, self.files.get(process)?.handle.clone()));
        processes.into_iter().filter_map(file).collect()
    }

    /// Notes whether `O_NONBLOCK` is set; reads that sleep against it end with `EAGAIN`.
    pub fn set_nonblocking(&mut self, process: ProcessKey, is_nonblocking: bool) {
        let Some(file) = self.files.get_mut(process) else { return };
        file.is_nonblocking = is_nonblocking;
        if is_nonblocking {
            for call in self.calls.take_asleep_of(process) {
                self.end_slept(call, Errno::EAGAIN);
            }
            self.carry_out_effects();
        }
    }

    /// Goes on with a call that found nothing to read while its file was non-blocking, as last seen.
    pub(crate) fn go_on_by_mode(
        &mut self,
        unique: u64,
        is_nonblocking: Option<bool>,
        memory: &mut dyn ReceiveBuffers,
    ) {
        let Some(mut call) = self.calls.take(unique) else { return };
        call.state = CallState::Running;
        let Some(file) = self.files.get_mut(call.context.process) else {
            return self.end_call(call, Err(Errno::EINVAL));
        };
        if let Some(is_nonblocking) = is_nonblocking {
            file.is_nonblocking = is_nonblocking;
        }
        match is_nonblocking {
            Some(true) => self.end_call(call, Err(Errno::EAGAIN)),
            Some(false) | None => self.read_again(call, memory),
        }
    }

    fn end_sleep(&mut self, unique: u64, error: Errno) {
        if let Some(call) = self.calls.take(unique) {
            self.end_slept(call, error);
        }
    }

    fn end_slept(&mut self, call: Box<Call>, error: Errno) {
        if let CallState::Asleep(thread, _) = call.state {
            self.wake_up(thread);
        }
        self.end_call(call, Err(error));
    }

    /// Ends a call because of a signal, with its commands run in part or not at all.
    ///
    /// `Differs from Linux:` there no signal but one that kills ends an access to memory.
    pub(crate) fn interrupted(&mut self, call: Box<Call>) {
        self.answer_call(call, Answer::Interrupted);
    }
}
