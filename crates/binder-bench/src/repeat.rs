//! Times of what takes less than a look at a clock.

use std::hint::black_box;
use std::time::{Duration, Instant};

/// How long a batch should take: much longer than a look at the clock, and shorter than the slice
/// of time that a process gets, so that most batches are not interrupted.
const BATCH: Duration = Duration::from_micros(50);

/// The median time of `act` in nanoseconds, over batches of it that together last as long as the
/// budget, or until it has been done that many times.
pub(crate) fn median_ns(budget: Duration, limit: Option<u32>, mut act: impl FnMut()) -> f64 {
    let (mut times, mut done, mut batch) = (Vec::new(), 0, 1);
    let limit = limit.unwrap_or(u32::MAX);
    let start = Instant::now();
    while done < limit && (times.is_empty() || start.elapsed() < budget) {
        let count = batch.min(limit - done);
        let batch_start = Instant::now();
        (0..count).for_each(|_| act());
        let elapsed = batch_start.elapsed();
        done += count;
        if elapsed < BATCH / 2 && batch < 1 << 20 && done < limit / 2 {
            // Too short to count.
            batch *= 2;
        } else {
            times.push(elapsed.as_secs_f64() * 1e9 / f64::from(count));
        }
    }
    median(&mut times)
}

/// The time of doing `act` that many times, in nanoseconds; never 0, for a clock that stands still has not proven
/// that nothing was done.
#[expect(clippy::cast_precision_loss, reason = "times are far below 2^52 ns")]
pub(crate) fn batch_ns<T>(count: u32, mut act: impl FnMut() -> T) -> f64 {
    let start = Instant::now();
    for _ in 0..count {
        black_box(act());
    }
    start.elapsed().as_nanos().max(1) as f64
}

/// Counts rounds: at least that many, and as many more as fit into the budget.
pub(crate) fn rounds(least: u32, budget: Duration) -> impl Iterator<Item = u32> {
    let start = Instant::now();
    (0..).take_while(move |round| *round < least || start.elapsed() < budget)
}

/// The median; 0 of no values.
pub(crate) fn median(times: &mut [f64]) -> f64 {
    times.sort_by(f64::total_cmp);
    times.get(times.len() / 2).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_done_as_often_as_allowed() {
        for limit in [1, 7, 1000] {
            let mut done = 0;
            assert!(median_ns(Duration::from_secs(60), Some(limit), || done += 1) >= 0.0);
            assert_eq!(done, limit);
        }
    }

    #[test]
    fn it_ends_when_the_budget_is_spent() {
        let mut done = 0;
        let ns = median_ns(Duration::from_millis(5), None, || {
            done += 1;
            std::thread::sleep(Duration::from_millis(1));
        });
        assert!((1..=5).contains(&done) && ns >= 1e6, "{done} times, {ns} ns");
    }

    #[test]
    fn rounds_are_no_fewer_than_the_least_and_last_as_long_as_the_budget() {
        assert_eq!(rounds(3, Duration::ZERO).collect::<Vec<_>>(), [0, 1, 2]);
        let (start, budget) = (Instant::now(), Duration::from_millis(5));
        assert!(rounds(3, budget).count() >= 3 && start.elapsed() >= budget);
    }

    #[test]
    fn a_median_is_in_the_middle() {
        assert_eq!(
            [median(&mut [3.0, 1.0, 2.0]), median(&mut [5.0]), median(&mut [])],
            [2.0, 5.0, 0.0]
        );
    }
}
