//! The time that files tell, which the kernel keeps for as long as it is the time.

use std::sync::{Condvar, Mutex, MutexGuard};
use std::time::Duration;

use crate::machine::Machine;

/// Files tell the time in hundredths of a second.
const TICK: Duration = Duration::from_millis(10);

/// A clock that stands still from its first reading until the next tick: so all files that are read
/// in between agree. One reading causes one tick, and without one there is none.
#[derive(Debug, Default)]
pub(crate) struct Clock {
    state: Mutex<ClockState>,
    was_read: Condvar,
}

#[derive(Debug, Default)]
struct ClockState {
    /// The time told; `None` if no file was read since the last tick.
    told: Option<Duration>,
    is_closed: bool,
}

impl Clock {
    /// How long the machine has been running.
    pub(crate) fn read(&self, machine: &Machine) -> Duration {
        let mut state = self.state();
        if state.told.is_none() {
            self.was_read.notify_all();
        }
        *state.told.get_or_insert_with(|| machine.uptime())
    }

    /// Waits until it has been read and the time is another; returns false when closed.
    pub(crate) fn tick(&self, machine: &Machine) -> bool {
        let mut state = self.state();
        loop {
            if state.is_closed {
                return false;
            }
            if let Some(told) = state.told {
                let tick = u128::max(1, TICK.as_nanos());
                let passed = u64::try_from(told.as_nanos() % tick).unwrap_or(0);
                let left =
                    (told + TICK - Duration::from_nanos(passed)).saturating_sub(machine.uptime());
                if left.is_zero() {
                    state.told = None;
                    return true;
                }
                state = match self.was_read.wait_timeout(state, left) {
                    Ok((state, _)) => state,
                    Err(poisoned) => poisoned.into_inner().0,
                };
            } else {
                state = self.was_read.wait(state).unwrap_or_else(|it| it.into_inner());
            }
        }
    }

    /// Ends [`tick`](Self::tick).
    pub(crate) fn close(&self) {
        self.state().is_closed = true;
        self.was_read.notify_all();
    }

    fn state(&self) -> MutexGuard<'_, ClockState> {
        self.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}
