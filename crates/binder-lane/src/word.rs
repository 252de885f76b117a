//! The word of caller and server: whether a call may be made, and how far it has come.

use crate::atomic::{AtomicU32, Ordering};

/// The word of a lane. Each party changes it from what it has seen alone, and both sleep on it, never at the same time.
///
/// | from | to | by |
/// |---|---|---|
/// | `Cold` | `Warm` | the server, of which one thread will look |
/// | `Warm` | `Asleep` and back | that thread, which sleeps |
/// | `Warm`, `Asleep` | `Posted` | the caller |
/// | `Posted` | `Claimed` | the server: the call is being served |
/// | `Posted` | `Cold` | the server, which declines; or the caller, which takes the call back |
/// | `Claimed` | `Warm`, `Cold` | the server: the call is over, and its outcome was written before |
/// | `Claimed` | `Left` | the caller: the call is to be the driver's |
/// | `Left` | `Cold` | the server, once it is |
#[derive(Debug, Default)]
#[repr(transparent)]
pub struct LaneWord(AtomicU32);

/// How far a call has come, or whether one may be made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub enum LaneState {
    /// No thread of the server looks.
    Cold = 0,
    /// A thread of the server will look.
    Warm = 1,
    /// That thread sleeps, or is about to.
    Asleep = 2,
    /// There is a call to which that thread has not come.
    Posted = 3,
    /// A thread serves the call.
    Claimed = 4,
    /// The caller has left the call to the driver.
    Left = 5,
}

/// The caller sleeps, or is about to: it must be woken when its call is over.
const SLEEPS: u32 = 8;

/// Whether the other party is to be woken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use = "the other party may sleep"]
pub enum Woken {
    /// It sleeps on the word, or is about to: one waiter is to be woken.
    Wake,
    /// It looks by itself.
    Awake,
}

/// What a caller that waits no longer has of its call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use = "the call may be the driver's"]
pub enum CallLeft {
    /// No thread had come to it: it was not made.
    TakenBack,
    /// It is being served: the driver is to take it over.
    ToDriver,
    /// It is over, with its outcome.
    Over,
}

/// The caller has left the call to the driver.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LeftToDriver;

impl LaneState {
    /// The state in a value of the word. What is none counts as `Left`: nothing can be done in it but to end the lane.
    #[inline(always)]
    fn of_bits(bits: u32) -> Self {
        match bits & !SLEEPS {
            0 => Self::Cold,
            1 => Self::Warm,
            2 => Self::Asleep,
            3 => Self::Posted,
            4 => Self::Claimed,
            _ => Self::Left,
        }
    }
}

impl LaneWord {
    /// The word to sleep on.
    #[inline(always)]
    pub fn word(&self) -> &AtomicU32 {
        &self.0
    }

    /// What it says, with all that was written before.
    #[inline(always)]
    pub fn state(&self) -> LaneState {
        LaneState::of_bits(self.0.load(Ordering::Acquire))
    }

    #[inline(always)]
    fn change(&self, from: u32, to: u32) -> bool {
        self.0.compare_exchange(from, to, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }

    /// Changes a state in which the caller may sleep. Says whether it does; none if the state is another.
    #[inline(always)]
    fn change_with_sleeper(&self, from: LaneState, to: LaneState) -> Option<Woken> {
        if self.change(from as u32, to as u32) {
            Some(Woken::Awake)
        } else {
            self.change(from as u32 | SLEEPS, to as u32).then_some(Woken::Wake)
        }
    }

    /// Says that a thread will look, where none does. For the server.
    #[must_use = "there may be something else"]
    pub fn warm(&self) -> bool {
        self.change(LaneState::Cold as u32, LaneState::Warm as u32)
    }

    /// Says that the thread will look no more, unless there is a call. Says whether there is none. For the server.
    #[must_use = "there may be a call"]
    pub fn cool(&self) -> bool {
        self.change(LaneState::Warm as u32, LaneState::Cold as u32)
    }

    /// Says that the thread will sleep: as long as the word has the value that this returns. None if there may be a call. For the
    /// server.
    pub fn prepare_server_to_sleep(&self) -> Option<u32> {
        let asleep = LaneState::Asleep as u32;
        self.change(LaneState::Warm as u32, asleep).then_some(asleep)
    }

    /// Says that the thread sleeps no longer. For the server.
    pub fn end_server_sleep(&self) {
        // If it fails there is a call.
        let _ = self.change(LaneState::Asleep as u32, LaneState::Warm as u32);
    }

    /// Makes a call, with all that was written for it. None if no thread will look. For the caller.
    #[inline(always)]
    pub fn post(&self) -> Option<Woken> {
        let posted = LaneState::Posted as u32;
        if self.change(LaneState::Warm as u32, posted) {
            Some(Woken::Awake)
        } else {
            self.change(LaneState::Asleep as u32, posted).then_some(Woken::Wake)
        }
    }

    /// Has the thread serve the call that is there. Says whether it does: the caller may have taken it back. For the server.
    #[must_use = "the call may have been taken back"]
    pub fn claim(&self) -> bool {
        let (posted, claimed) = (LaneState::Posted as u32, LaneState::Claimed as u32);
        // A caller that sleeps sleeps on.
        self.change(posted, claimed) || self.change(posted | SLEEPS, claimed | SLEEPS)
    }

    /// Declines a call to which no thread has come; that this is its outcome was written before. None if the caller has taken
    /// it back. For the server.
    pub fn decline(&self) -> Option<Woken> {
        self.change_with_sleeper(LaneState::Posted, LaneState::Cold)
    }

    /// Ends a call that the thread serves, with the outcome that was written before, and says whether it will look for
    /// another. For the server.
    ///
    /// # Errors
    ///
    /// If the caller has left it to the driver.
    pub fn finish(&self, will_look: bool) -> Result<Woken, LeftToDriver> {
        let to = if will_look { LaneState::Warm } else { LaneState::Cold };
        self.change_with_sleeper(LaneState::Claimed, to).ok_or(LeftToDriver)
    }

    /// Notes that the driver has the call that its caller has left. For the server.
    pub fn settle(&self) {
        let _ = self.change(LaneState::Left as u32, LaneState::Cold as u32);
    }

    /// Whether the call is over, with its outcome. For the caller.
    #[inline(always)]
    pub fn is_over(&self) -> bool {
        !matches!(self.state(), LaneState::Posted | LaneState::Claimed)
    }

    /// Whether a thread serves the call, or has served it. For the caller.
    #[inline(always)]
    pub fn is_served(&self) -> bool {
        self.state() != LaneState::Posted
    }

    /// Says that the thread will sleep: as long as the word has the value that this returns. None if its call is over. For the
    /// caller.
    #[inline(always)]
    pub fn prepare_caller_to_sleep(&self) -> Option<u32> {
        loop {
            let now = self.0.load(Ordering::Acquire);
            match LaneState::of_bits(now) {
                LaneState::Posted | LaneState::Claimed if now & SLEEPS != 0 => return Some(now),
                LaneState::Posted | LaneState::Claimed => {
                    if self.change(now, now | SLEEPS) {
                        return Some(now | SLEEPS);
                    }
                }
                LaneState::Cold | LaneState::Warm | LaneState::Asleep | LaneState::Left => {
                    return None;
                }
            }
        }
    }

    /// Waits no longer for the call. For the caller.
    #[inline(always)]
    pub fn leave(&self) -> CallLeft {
        if self.change_with_sleeper(LaneState::Posted, LaneState::Cold).is_some() {
            CallLeft::TakenBack
        } else if self.change_with_sleeper(LaneState::Claimed, LaneState::Left).is_some() {
            CallLeft::ToDriver
        } else {
            CallLeft::Over
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_call_goes_there_and_back() {
        let word = LaneWord::default();
        assert_eq!(word.post(), None, "no thread looks");
        assert!(word.warm() && !word.warm());
        assert_eq!(word.post(), Some(Woken::Awake));
        assert!(!word.cool(), "there is a call");
        assert!(word.claim() && !word.claim());
        assert_eq!(word.finish(true), Ok(Woken::Awake));
        assert!(word.is_over());
        let value = word.prepare_server_to_sleep();
        assert_eq!(value, Some(LaneState::Asleep as u32));
        assert_eq!(word.post(), Some(Woken::Wake));
        word.end_server_sleep();
        assert_eq!(word.state(), LaneState::Posted);
        assert!(word.prepare_caller_to_sleep().is_some());
        assert!(word.claim(), "also of a caller that sleeps");
        assert_eq!(word.finish(false), Ok(Woken::Wake));
        assert_eq!((word.state(), word.prepare_caller_to_sleep()), (LaneState::Cold, None));
    }

    #[test]
    fn a_call_is_taken_back_left_or_over() {
        let word = LaneWord::default();
        assert!(word.warm() && word.post().is_some());
        assert_eq!(word.leave(), CallLeft::TakenBack);
        assert!(!word.claim());
        assert_eq!((word.decline(), word.state()), (None, LaneState::Cold));
        assert!(word.warm() && word.post().is_some() && word.claim());
        assert_eq!(word.leave(), CallLeft::ToDriver);
        assert_eq!((word.finish(true), word.post()), (Err(LeftToDriver), None));
        word.settle();
        assert!(word.warm() && word.post().is_some() && word.claim());
        assert_eq!(word.finish(true), Ok(Woken::Awake));
        assert_eq!(word.leave(), CallLeft::Over);
    }

    #[test]
    fn no_value_that_the_other_party_writes_is_taken_for_a_call_of_ones_own() {
        for bits in (0..64).chain([u32::MAX, 1 << 31, u32::MAX - SLEEPS]) {
            let word = || LaneWord(AtomicU32::new(bits));
            let is_posted = matches!(bits, 3 | 11);
            let is_claimed = matches!(bits, 4 | 12);
            assert_eq!(word().claim(), is_posted, "{bits}");
            assert_eq!(word().decline().is_some(), is_posted, "{bits}");
            assert_eq!(word().finish(true).is_ok(), is_claimed, "{bits}");
            assert_eq!(word().prepare_caller_to_sleep().is_none(), !is_posted && !is_claimed);
        }
    }
}
