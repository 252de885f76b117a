//! Ways to find the lowest free handle, without a driver around them.

use std::collections::BTreeMap;
use std::time::Instant;

use idr::{AcquireError, IdPool};

use crate::statistics::Samples;

/// Handle 0 is the context manager's.
const FIRST: u32 = 1;

/// Handles in order of their numbers, walked from the lowest to the first gap: what drivers did
/// before they kept a bitmap.
#[derive(Debug, Default)]
pub(super) struct ScanTable(BTreeMap<u32, ()>);

impl ScanTable {
    fn lowest_free(&self) -> u32 {
        let mut free = FIRST;
        for &handle in self.0.keys() {
            if handle > free {
                break;
            }
            free = handle + 1;
        }
        free
    }

    fn acquire(&mut self) -> u32 {
        let handle = self.lowest_free();
        self.0.insert(handle, ());
        handle
    }

    /// Takes the handle above the highest, without a search.
    fn acquire_next(&mut self) {
        let next = self.0.last_key_value().map_or(FIRST, |(&last, ())| last + 1);
        self.0.insert(next, ());
    }
}

/// At most how many allocations of a bucket are done by a scan; the others differ in nothing, and a
/// bucket of 10,000 at 100,000 handles would take a second.
const SCANS: u32 = 100;

/// How many allocations of the pool are timed together: one takes less than looking at a clock.
const TOGETHER: u32 = 100;

/// Takes `count` more handles and returns the median time of an allocation, in nanoseconds.
#[expect(clippy::cast_precision_loss, reason = "times are far below 2^52 ns")]
pub(super) fn time_scan(table: &mut ScanTable, count: u32) -> f64 {
    let stride = count.div_ceil(SCANS);
    let mut samples = Samples::default();
    for number in 0..count {
        if number % stride == 0 {
            samples.extend(&[time(|| table.acquire())]);
        } else {
            table.acquire_next();
        }
    }
    samples.percentile(50) as f64
}

/// Takes `count` more ids and returns the median time of an allocation, in nanoseconds.
///
/// # Errors
///
/// [`AcquireError`] if the pool cannot grow.
#[expect(clippy::cast_precision_loss, reason = "times are far below 2^52 ns")]
pub(super) fn time_pool(pool: &mut IdPool, count: u32) -> Result<f64, AcquireError> {
    let mut samples = Samples::default();
    let mut missing = count;
    while missing > 0 {
        let together = missing.min(TOGETHER);
        let mut acquired = Ok(0);
        let ns = time(|| {
            acquired = (0..together).try_fold(0, |_, _| pool.acquire_lowest(FIRST));
        });
        acquired?;
        // In hundredths of an allocation, whatever the last few are.
        samples.extend(&[ns * u64::from(TOGETHER) / u64::from(together)]);
        missing -= together;
    }
    Ok(samples.percentile(50) as f64 / f64::from(TOGETHER))
}

fn time<T>(act: impl FnOnce() -> T) -> u64 {
    let start = Instant::now();
    std::hint::black_box(act());
    u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(handles: impl IntoIterator<Item = u32>) -> ScanTable {
        ScanTable(handles.into_iter().map(|handle| (handle, ())).collect())
    }

    #[test]
    fn a_scan_stops_at_the_first_gap() {
        assert_eq!(table([]).lowest_free(), 1);
        assert_eq!(table([2, 3]).lowest_free(), 1);
        assert_eq!(table([1, 2, 4, 6]).lowest_free(), 3);
        assert_eq!(table([1, 2, 3]).lowest_free(), 4);
        // The handle of the context manager is no gap and no obstacle.
        assert_eq!(table([0, 1]).lowest_free(), 2);
    }

    #[test]
    fn what_is_acquired_is_no_longer_free() {
        let mut table = table([2]);
        assert_eq!([(); 3].map(|()| table.acquire()), [1, 3, 4]);
    }

    #[test]
    fn a_bucket_takes_as_many_as_asked() {
        let (mut table, mut pool) = (ScanTable::default(), IdPool::new());
        for count in [1, 99, 100, 1050] {
            assert!(time_scan(&mut table, count) > 0.0);
            assert!(time_pool(&mut pool, count).unwrap() > 0.0);
        }
        assert_eq!((table.0.len(), pool.len()), (1250, 1250));
        assert_eq!((table.lowest_free(), pool.last_id()), (1251, Some(1250)));
    }
}
