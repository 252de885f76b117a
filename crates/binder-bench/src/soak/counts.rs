//! What the driver counts, as its log tells: Linux's own `binder_logs/stats`, or ours.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::logs;

/// How many of each kind there are.
pub(super) type SoakCounts = BTreeMap<String, u64>;

/// Reads the counts of the driver of a device; `None` where it keeps no log that we may read.
pub(super) fn read(device: &Path) -> Option<SoakCounts> {
    let mut places = logs::places(device, "stats");
    places.find_map(|place| fs::read_to_string(place).ok()).map(|text| parse(&text))
}

/// Takes the lines `kind: active N total M` that come before those of single processes.
fn parse(text: &str) -> SoakCounts {
    let totals = text.lines().take_while(|line| !line.starts_with("proc "));
    let counts = totals.filter_map(|line| {
        let (kind, rest) = line.split_once(": active ")?;
        let (active, _) = rest.split_once(" total ")?;
        Some((kind.to_owned(), active.parse().ok()?))
    });
    counts.collect()
}

/// Returns what there is more of than `before`.
pub(super) fn left(before: &SoakCounts, after: &SoakCounts) -> SoakCounts {
    let more = after.iter().filter_map(|(kind, &count)| {
        let more = count.saturating_sub(before.get(kind).copied().unwrap_or(0));
        (more > 0).then(|| (kind.clone(), more))
    });
    more.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOG: &str = "binder stats:\nBC_REPLY: 7\nproc: active 2 total 9\nnode: active 1 total 40\n\
                       proc 17\ncontext binder\n  threads: 1\n";

    #[test]
    fn the_totals_are_found() {
        let counts = parse(LOG);
        assert_eq!(counts, [("node".into(), 1), ("proc".into(), 2)].into());
    }

    #[test]
    fn only_what_has_become_more_is_left() {
        let before = parse(LOG);
        let after = [("node".into(), 3), ("proc".into(), 2), ("ref".into(), 1)].into();
        assert_eq!(left(&before, &after), [("node".into(), 2), ("ref".into(), 1)].into());
        assert!(left(&before, &before).is_empty());
    }
}
