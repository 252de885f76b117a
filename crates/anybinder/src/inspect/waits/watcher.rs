//! Findings over time: told once they have lasted, and when they are over.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use super::{Finding, Look, WaitMonitor};
use crate::failure::Failure;
use crate::inspect::Binderfs;

/// A change that a look has found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum WaitNews {
    /// This has lasted for as long as it takes to be told.
    Lasts(Finding),
    /// A finding that was reported is over; this is its key.
    Over(String),
}

/// A finding that was there at the last look.
#[derive(Debug, Clone, Copy)]
struct KnownFinding {
    since: Instant,
    is_told: bool,
}

/// Looks again and again, and tells each finding once.
pub(crate) struct WaitWatcher<'b> {
    binderfs: &'b Binderfs,
    monitor: WaitMonitor,
    patience: Duration,
    known: BTreeMap<String, KnownFinding>,
}

impl<'b> WaitWatcher<'b> {
    /// Takes the first look. A finding is reported once it has lasted for `patience`.
    pub(crate) fn new(binderfs: &'b Binderfs, patience: Duration) -> Result<Self, Failure> {
        let monitor = WaitMonitor::new(&Look::take(binderfs)?);
        Ok(Self { binderfs, monitor, patience, known: BTreeMap::new() })
    }

    /// Takes the next look. Returns the findings that have lasted long enough, and those that are over.
    pub(crate) fn look(&mut self) -> Result<Vec<WaitNews>, Failure> {
        let mut look = Look::take(self.binderfs)?;
        let mut found = self.monitor.find(&mut look);
        found.extend(look.long_waits(self.patience));
        Ok(self.note(found, Instant::now()))
    }

    fn note(&mut self, found: Vec<Finding>, now: Instant) -> Vec<WaitNews> {
        let keys: BTreeSet<String> = found.iter().map(Finding::key).collect();
        let mut news = Vec::new();
        self.known.retain(|key, known| {
            let is_there = keys.contains(key);
            if !is_there && known.is_told {
                news.push(WaitNews::Over(key.clone()));
            }
            is_there
        });
        for finding in found {
            let new = KnownFinding { since: now, is_told: false };
            let known = self.known.entry(finding.key()).or_insert(new);
            // A long wait has been one when it was first seen.
            let is_long = matches!(finding, Finding::LongWait { .. });
            if !known.is_told && (is_long || now.duration_since(known.since) >= self.patience) {
                known.is_told = true;
                news.push(WaitNews::Lasts(finding));
            }
        }
        news
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finding_is_told_once_it_has_lasted_and_when_it_is_over() {
        let binderfs = Binderfs::at("/nowhere".into());
        let nothing = Look { calls: Vec::new(), state: Vec::new() };
        let mut watcher = WaitWatcher {
            binderfs: &binderfs,
            monitor: WaitMonitor::new(&nothing),
            patience: Duration::from_secs(5),
            known: BTreeMap::new(),
        };
        let growing = |is| Finding::Growing {
            device: "binder".into(),
            pid: 7,
            name: "server".into(),
            was: 1,
            is,
        };
        let start = Instant::now();
        let mut at = |seconds, found: Vec<Finding>| {
            watcher.note(found, start + Duration::from_secs(seconds))
        };
        assert_eq!(at(0, vec![growing(9)]), []);
        assert_eq!(at(4, vec![growing(10)]), []);
        assert_eq!(at(5, vec![growing(11)]), [WaitNews::Lasts(growing(11))]);
        assert_eq!(at(6, vec![growing(12)]), []);
        assert_eq!(at(7, vec![]), [WaitNews::Over("growing binder 7".into())]);
        // A finding that ends before it was reported is forgotten.
        assert_eq!(at(8, vec![growing(9)]), []);
        assert_eq!(at(9, vec![]), []);
    }
}
