//! A call that is made by a lane, until it is over or left.

use binder_lane::{CallLeft, LaneWord, Woken};

use super::system::LaneSystem;
use crate::caller::SleepEnd;
use crate::spin::SpinHistory;

/// How the wait for a reply ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Waited {
    /// None if the call was not made: no thread looks.
    pub(super) left: Option<CallLeft>,
    /// Whether the thread has handled a signal meanwhile.
    pub(super) is_interrupted: bool,
}

/// After this many wake-ups in a call the driver is to have it: its server does not keep to the rules.
const MAX_SPURIOUS_WAKES: u32 = 100;

/// Makes the call that was written, and waits until it is over or has to be left.
///
/// A signal that the thread handles has it left, whenever it comes, as far as `system` notices: as long as no other function
/// is called here.
#[inline(never)]
pub(super) fn call_and_wait(
    word: &LaneWord,
    [own_cpu, other_cpu]: [u32; 2],
    spins: &SpinHistory,
    system: &impl LaneSystem,
) -> Waited {
    system.watch_signals();
    let Some(woken) = word.post() else { return Waited { left: None, is_interrupted: false } };
    if woken == Woken::Wake {
        system.wake(word.word());
    }
    // A thread that sleeps comes when it is woken, and one that looks comes when it has done what it does. That may be long, and others
    // may be idle.
    let mut is_hasty = woken == Woken::Awake;
    let mut in_vain = 0;
    spins.spin(own_cpu, other_cpu, || word.is_over() || system.has_handled_signal());
    loop {
        let is_interrupted = system.has_handled_signal();
        if is_interrupted || in_vain == MAX_SPURIOUS_WAKES {
            return waited(word.leave(), is_interrupted, system);
        }
        let Some(value) = word.prepare_caller_to_sleep() else {
            return waited(CallLeft::Over, is_interrupted, system);
        };
        in_vain += 1;
        let slept = if is_hasty {
            system.sleep(word.word(), value)
        } else {
            system.sleep_long(word.word(), value)
        };
        match slept {
            SleepEnd::Woken => {}
            SleepEnd::TimedOut if is_hasty && word.is_served() => {}
            SleepEnd::TimedOut => in_vain = MAX_SPURIOUS_WAKES,
            SleepEnd::Interrupted => return waited(word.leave(), true, system),
        }
        is_hasty = false;
    }
}

/// How the wait has ended, by what the word says.
///
/// A handler may have left the call at any moment before, and then it only looks as if it were over: so the handler is asked after the
/// word, not before. One that comes later finds nothing to be left.
#[inline(always)]
fn waited(left: CallLeft, is_interrupted: bool, system: &impl LaneSystem) -> Waited {
    let within = system.call_left_within();
    let is_interrupted = is_interrupted || within.is_some();
    Waited { left: Some(within.unwrap_or(left)), is_interrupted }
}
