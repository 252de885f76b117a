//! Calls that wait for memory of their host, or for their next slice, while the driver is free for others.

use binder_core::{Commands, Outcome};
use binder_uapi::BinderWriteRead;

use super::{Call, World};
use crate::{Caller, Process};

/// A call, and how it stands.
pub(super) struct Window {
    pub(super) caller: Caller,
    pub(super) argument: u64,
    pub(super) request: BinderWriteRead,
    pub(super) result: Result<Outcome, binder_core::Errno>,
    /// Commands that were fetched and are not run, or of which one is not at its end.
    pub(super) fetched: Option<Commands>,
}

/// Something that happens while a call waits for memory of its host.
pub(super) struct Disruption {
    /// Whose own calls are left alone.
    pub(super) spared: Process,
    /// How many calls of others go undisturbed before.
    pub(super) windows_left: usize,
    pub(super) what: Box<dyn FnOnce(&mut World)>,
}

impl World {
    /// Lets happen what was ordered for this very moment.
    pub(super) fn be_disrupted(&mut self, caller: Caller) {
        let is_meant = |it: &mut Disruption| it.spared != caller.process;
        match self.disruption.take_if(is_meant) {
            Some(Disruption { windows_left: 0, what, .. }) => what(self),
            Some(Disruption { windows_left, spared, what }) => {
                let windows_left = windows_left - 1;
                self.disruption = Some(Disruption { windows_left, spared, what });
            }
            None => {}
        }
    }

    /// Lets the call that has waited longest have its memory. Says whether there was one.
    pub(super) fn pass_window(&mut self) -> bool {
        if !self.has_no_frontend {
            return self.pass_access(0, None);
        }
        let Some(Window { caller, argument, request, result, fetched }) = self.windows.pop_front()
        else {
            return false;
        };
        // Whose file was closed meanwhile gets no further: a front end holds on to it until then.
        if !self.files[caller.process.0].is_open {
            if let Some(mut commands) = fetched {
                let context = self.files[caller.process.0].context;
                let mut memory = self.memory.of_device(context);
                self.devices[context]
                    .context_mut()
                    .give_up_reservations(&mut commands, &mut memory);
            }
            return true;
        }
        if self.holds_fetched && fetched.is_none() && matches!(result, Ok(Outcome::Fetch)) {
            let fetched = Some(self.fetch(caller, &request));
            self.windows.push_back(Window { caller, argument, request, result, fetched });
            return true;
        }
        let window = Window { caller, argument, request, result, fetched };
        let window = self.reach_into_host(window);
        let call = self.go_on(window);
        let place = &mut self.threads[caller.thread.0].call;
        // A later thread of the same number may be in a call of its own.
        if matches!(place, Call::FdWork) {
            *place = call;
        }
        true
    }
}
