//! Looking for room, in the three ways.

use std::hint::black_box;
use std::time::Duration;

use super::baselines::{self, Area};
use crate::error::BenchError;
use crate::repeat::{batch_ns, rounds};

/// The lengths that are looked for.
pub(super) const COUNTS: [usize; 5] = [8, 32, 128, 1024, 4096];

/// Maps larger than this are not searched in the old way, which would take seconds.
const OLD_BITS: usize = 10_000_000;

/// A search is repeated so often that the clock does not matter,
const BATCH_NS: f64 = 20_000.0;
/// and the best of as many batches counts as fit into this time, all ways in turns: whatever disturbs for a
/// while disturbs all of them;
const BUDGET: Duration = Duration::from_millis(150);
/// of at least this many,
const MIN_ROUNDS: u32 = 25;
/// but a way that takes long is not tried longer than this.
const PATIENCE_NS: f64 = 500e6;

/// What looking for an area took in each way.
#[derive(Debug, Clone, Copy)]
pub(super) struct AreaTimes {
    pub(super) old: Option<TimedSearch>,
    pub(super) new: TimedSearch,
    pub(super) ours_ns: f64,
}

/// The time of a search, and how often it began again.
#[derive(Debug, Clone, Copy)]
pub(super) struct TimedSearch {
    pub(super) ns: f64,
    pub(super) again: u64,
}

/// Looks for the first area of `cnt` clear bits in all `bits` of `map`.
///
/// # Errors
///
/// [`BenchError::WrongArea`] if the ways lead to different places.
pub(super) fn measure(map: &[u64], bits: usize, cnt: usize) -> Result<AreaTimes, BenchError> {
    let old = |map: &[u64]| baselines::old_area(map, black_box(bits), black_box(0), black_box(cnt));
    let new = |map: &[u64]| baselines::new_area(map, black_box(bits), black_box(0), black_box(cnt));
    let ours =
        |map: &[u64]| bitsearch::next_zero_area(map, black_box(bits), black_box(0), black_box(cnt));

    let old_area = (bits <= OLD_BITS).then(|| old(map));
    let new_area = new(map);
    // Where there is no room, the ways say so with different numbers.
    let found = |area: Area| (area.place < bits).then_some(area.place);
    let expected = found(old_area.unwrap_or(new_area));
    if found(new_area) != expected || ours(map) != expected {
        return Err(BenchError::WrongArea { cnt, bits, expected });
    }

    let mut clocks = [BestTime::default(); 3];
    for round in rounds(MIN_ROUNDS, BUDGET) {
        if old_area.is_some() {
            clocks[0].tick(round, || old(map));
        }
        clocks[1].tick(round, || new(map));
        clocks[2].tick(round, || ours(map));
    }
    let [old_ns, new_ns, ours_ns] = clocks.map(|clock| clock.least_ns);
    Ok(AreaTimes {
        old: old_area.map(|area| TimedSearch { ns: old_ns, again: area.again }),
        new: TimedSearch { ns: new_ns, again: new_area.again },
        ours_ns,
    })
}

/// The shortest time of something that is done in turn with other things.
#[derive(Debug, Clone, Copy, Default)]
struct BestTime {
    least_ns: f64,
    repeats: u32,
    spent_ns: f64,
}

impl BestTime {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "within bounds")]
    fn tick<T>(&mut self, round: u32, mut act: impl FnMut() -> T) {
        if round == 0 {
            let once_ns = batch_ns(1, &mut act);
            self.repeats = (BATCH_NS / once_ns).clamp(1.0, 10_000.0) as u32;
            self.least_ns = once_ns;
            self.spent_ns = once_ns;
        }
        if self.spent_ns > PATIENCE_NS {
            return;
        }
        let ns = batch_ns(self.repeats, &mut act);
        self.spent_ns += ns;
        self.least_ns = self.least_ns.min(ns / f64::from(self.repeats));
    }
}

#[cfg(test)]
mod tests {
    use super::super::map::{Fill, SeededNumbers};
    use super::*;

    #[test]
    fn all_ways_lead_to_the_same_place() {
        let bits = 20_000;
        for fill in Fill::ALL {
            let map = fill.map(bits, &mut SeededNumbers::new(1));
            for cnt in COUNTS {
                let measured = measure(&map, bits, cnt).unwrap();
                let old = measured.old.unwrap();
                assert!(old.ns > 0.0 && measured.new.ns > 0.0 && measured.ours_ns > 0.0);
                assert!(old.again >= measured.new.again, "{fill:?} {cnt}");
            }
        }
    }

    #[test]
    fn large_maps_are_spared_the_old_way() {
        let map = vec![0; 10_000_064 / 64];
        assert!(measure(&map, 10_000_064, 8).unwrap().old.is_none());
    }
}
