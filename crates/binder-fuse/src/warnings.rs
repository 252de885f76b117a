//! Warnings about clients, which cause them as often as they like.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How often it is worth a warning that a client has met a limit, or spent a share.
pub(crate) const LIMIT_INTERVAL: Duration = Duration::from_secs(10);

/// When the last of a kind was given.
#[derive(Debug)]
pub(crate) struct Warnings {
    interval: Duration,
    last: Mutex<Option<Instant>>,
}

impl Warnings {
    /// One in each `interval` at most.
    pub(crate) fn one_in(interval: Duration) -> Self {
        Self { interval, last: Mutex::default() }
    }

    /// Whether another may be given; it is, then.
    pub(crate) fn is_due(&self) -> bool {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let is_due = last.is_none_or(|last| last.elapsed() >= self.interval);
        if is_due {
            *last = Some(Instant::now());
        }
        is_due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_is_given_and_others_wait() {
        let rare = Warnings::one_in(Duration::MAX);
        assert_eq!([rare.is_due(), rare.is_due()], [true, false]);
        let frequent = Warnings::one_in(Duration::ZERO);
        assert_eq!([frequent.is_due(), frequent.is_due()], [true, true]);
    }
}
