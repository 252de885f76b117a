//! Which instances of a service are to be called, and where each stands.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use crate::balance::InstanceKey;
use crate::importers::ImportSource;

/// How long after a failure an instance is tried again; after each further one it is twice as long,
const RETRY_TIME: Duration = Duration::from_millis(250);
/// but no more often than so.
const DOUBLINGS_MAX: u32 = 5;

/// The instances that the manager has said are to be called.
#[derive(Debug, Default)]
pub(super) struct WantedInstances {
    by_key: BTreeMap<InstanceKey, WantedInstance>,
}

#[derive(Debug)]
struct WantedInstance {
    source: ImportSource,
    standing: InstanceStanding,
}

/// Failures are those since it could be called last.
#[derive(Debug, Clone, Copy)]
enum InstanceStanding {
    /// It is tried then.
    Waiting { failures: u32, until: Instant },
    /// It is being connected to.
    Connecting { failures: u32 },
    /// It can be called.
    Connected,
}

impl WantedInstances {
    /// These are to be called from now on, and no others.
    pub(super) fn want(&mut self, sources: Vec<ImportSource>, now: Instant) {
        let mut before = std::mem::take(&mut self.by_key);
        let wanted = sources.into_iter().map(|source| {
            let standing = before.remove(&source.key).map(|it| it.standing);
            let standing =
                standing.unwrap_or(InstanceStanding::Waiting { failures: 0, until: now });
            (source.key.clone(), WantedInstance { source, standing })
        });
        self.by_key = wanted.collect();
    }

    /// Whether an instance is to be called.
    pub(super) fn wants(&self, key: &InstanceKey) -> bool {
        self.by_key.contains_key(key)
    }

    /// Whether an instance is being connected to.
    pub(super) fn is_connecting(&self, key: &InstanceKey) -> bool {
        self.by_key
            .get(key)
            .is_some_and(|it| matches!(it.standing, InstanceStanding::Connecting { .. }))
    }

    /// When the next is to be tried.
    pub(super) fn next_due(&self) -> Option<Instant> {
        let due = self.by_key.values().filter_map(|it| match it.standing {
            InstanceStanding::Waiting { until, .. } => Some(until),
            InstanceStanding::Connecting { .. } | InstanceStanding::Connected => None,
        });
        due.min()
    }

    /// Those that are to be tried now, and count as being connected to from here on.
    pub(super) fn take_due(&mut self, now: Instant) -> Vec<ImportSource> {
        let due = self.by_key.values_mut().filter_map(|it| match it.standing {
            InstanceStanding::Waiting { failures, until } if until <= now => {
                it.standing = InstanceStanding::Connecting { failures };
                Some(it.source.clone())
            }
            InstanceStanding::Waiting { .. }
            | InstanceStanding::Connecting { .. }
            | InstanceStanding::Connected => None,
        });
        due.collect()
    }

    /// An instance can be called from here on.
    pub(super) fn note_connected(&mut self, key: &InstanceKey) {
        if let Some(it) = self.by_key.get_mut(key) {
            it.standing = InstanceStanding::Connected;
        }
    }

    /// An instance could not be connected to, or cannot be called any more; says how often that is so now.
    pub(super) fn note_failed(&mut self, key: &InstanceKey, now: Instant) -> u32 {
        let Some(it) = self.by_key.get_mut(key) else { return 0 };
        let before = match it.standing {
            InstanceStanding::Waiting { failures, .. }
            | InstanceStanding::Connecting { failures } => failures,
            InstanceStanding::Connected => 0,
        };
        let until = now + RETRY_TIME * (1 << before.min(DOUBLINGS_MAX));
        let failures = before.saturating_add(1);
        it.standing = InstanceStanding::Waiting { failures, until };
        failures
    }

    /// Whether each has failed at least that often, and none can be called or is being tried.
    pub(super) fn have_all_failed(&self, times: u32) -> bool {
        self.by_key.values().all(|it| match it.standing {
            InstanceStanding::Waiting { failures, .. } => failures >= times,
            InstanceStanding::Connecting { .. } | InstanceStanding::Connected => false,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(port: u16) -> ImportSource {
        let address = format!("tls://a.example:{port}").parse().expect("an address");
        ImportSource { key: (address, 7), owners: "*".parse().expect("users") }
    }

    fn ports(sources: &[ImportSource]) -> Vec<u16> {
        sources.iter().map(|it| it.key.0.port()).collect()
    }

    #[test]
    fn each_is_tried_once_and_again_when_it_has_failed() {
        let begun = Instant::now();
        let mut wanted = WantedInstances::default();
        wanted.want(vec![source(1), source(2)], begun);
        assert_eq!(wanted.next_due(), Some(begun));
        assert_eq!(ports(&wanted.take_due(begun)), [1, 2]);
        assert_eq!((wanted.next_due(), wanted.take_due(begun).len()), (None, 0));
        wanted.note_connected(&source(1).key);
        wanted.note_failed(&source(2).key, begun);
        assert_eq!(wanted.next_due(), Some(begun + RETRY_TIME));
        assert_eq!(ports(&wanted.take_due(begun + RETRY_TIME)), [2]);
    }

    #[test]
    fn the_time_between_two_tries_doubles_up_to_a_bound() {
        let mut now = Instant::now();
        let mut wanted = WantedInstances::default();
        wanted.want(vec![source(1)], now);
        let waits = [1, 2, 4, 8, 16, 32, 32, 32].map(|times| RETRY_TIME * times);
        for wait in waits {
            assert_eq!(wanted.take_due(now).len(), 1);
            wanted.note_failed(&source(1).key, now);
            assert_eq!(wanted.next_due(), Some(now + wait));
            now += wait;
        }
    }

    #[test]
    fn one_that_is_lost_is_tried_as_one_that_has_failed_once() {
        let now = Instant::now();
        let mut wanted = WantedInstances::default();
        wanted.want(vec![source(1)], now);
        wanted.take_due(now);
        wanted.note_connected(&source(1).key);
        wanted.note_failed(&source(1).key, now);
        assert_eq!(wanted.next_due(), Some(now + RETRY_TIME));
        assert!(wanted.have_all_failed(1) && !wanted.have_all_failed(2));
    }

    #[test]
    fn those_that_are_wanted_still_stay_as_they_are() {
        let now = Instant::now();
        let mut wanted = WantedInstances::default();
        wanted.want(vec![source(1), source(2)], now);
        wanted.take_due(now);
        wanted.note_connected(&source(1).key);
        wanted.want(vec![source(1), source(3)], now);
        assert!(!wanted.wants(&source(2).key));
        assert_eq!(ports(&wanted.take_due(now)), [3]);
        // What was on its way to the one that is not wanted any more comes late.
        wanted.note_connected(&source(2).key);
        wanted.note_failed(&source(2).key, now);
        assert!(!wanted.wants(&source(2).key));
        assert_eq!(wanted.next_due(), None);
    }

    #[test]
    fn all_have_failed_when_none_is_called_or_tried() {
        let now = Instant::now();
        let mut wanted = WantedInstances::default();
        wanted.want(vec![source(1), source(2)], now);
        assert!(!wanted.have_all_failed(1));
        wanted.take_due(now);
        wanted.note_failed(&source(1).key, now);
        assert!(!wanted.have_all_failed(1));
        wanted.note_failed(&source(2).key, now);
        assert!(wanted.have_all_failed(1));
        wanted.note_connected(&source(2).key);
        assert!(!wanted.have_all_failed(1));
    }
}
