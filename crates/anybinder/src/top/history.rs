//! The rates of each process in the last intervals.

use std::collections::{HashMap, VecDeque};

use super::sample::ProcessRow;

/// Intervals that are shown.
pub(super) const INTERVALS: u16 = 12;
/// From next to nothing to the most: an eighth of a block to a whole one.
const BARS: [char; 8] = [
    '\u{2581}', '\u{2582}', '\u{2583}', '\u{2584}', '\u{2585}', '\u{2586}', '\u{2587}', '\u{2588}',
];

/// The rates of the last intervals, by process and device.
#[derive(Debug, Default)]
pub(super) struct RateHistory(HashMap<(u32, String), VecDeque<f64>>);

impl RateHistory {
    /// Notes one more interval, and forgets processes that are gone.
    pub(super) fn note(&mut self, rows: &[ProcessRow]) {
        let mut before = std::mem::take(&mut self.0);
        for row in rows {
            let mut rates = before.remove(&key(row)).unwrap_or_default();
            if rates.len() == usize::from(INTERVALS) {
                rates.pop_front();
            }
            rates.push_back(row.sent_per_s + row.received_per_s);
            self.0.insert(key(row), rates);
        }
    }

    /// Draws the rates of each row, the last interval at the right.
    pub(super) fn fill(&self, rows: &mut [ProcessRow]) {
        for row in rows {
            row.history = self.0.get(&key(row)).map(bars).unwrap_or_default();
        }
    }
}

fn key(row: &ProcessRow) -> (u32, String) {
    (row.process.pid, row.process.device.clone())
}

/// A bar for each rate, the highest for the largest of them; none for nothing.
fn bars(rates: &VecDeque<f64>) -> String {
    let most = rates.iter().copied().fold(0.0, f64::max);
    let bar = |rate: &f64| {
        let height = BARS
            .iter()
            .zip(0..8_u8)
            .rev()
            .find(|(_, eighths)| *rate > 0.0 && *rate >= most * f64::from(*eighths) / 8.0);
        height.map_or(' ', |(bar, _)| *bar)
    };
    rates.iter().map(bar).collect()
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::super::sample::tests::sample;
    use super::*;

    #[test]
    fn bars_are_as_high_as_rates() {
        assert_eq!(bars(&VecDeque::from([0.0, 1.0, 40.0, 80.0])), " \u{2581}\u{2585}\u{2588}");
        assert_eq!(bars(&VecDeque::from([0.0, 0.0])), "  ");
    }

    #[test]
    fn a_history_is_as_long_as_a_column_and_ends_with_its_process() {
        let start = Instant::now();
        let mut history = RateHistory::default();
        let mut rows = Vec::new();
        for second in 1..40 {
            let pids: &[u32] = if second < 39 { &[7, 8] } else { &[7] };
            let (then, now) = (start, start + Duration::from_secs(second));
            rows = sample(now, pids, 100).rows(&sample(then, pids, 0));
            history.note(&rows);
        }
        history.fill(&mut rows);
        assert_eq!((rows.len(), rows[0].history.chars().count()), (1, usize::from(INTERVALS)));
        assert_eq!(history.0.len(), 1);
    }
}
