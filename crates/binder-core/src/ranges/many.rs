//! Free ranges in trees: by start, to merge them, and by length, to find the best.

use alloc::collections::{BTreeMap, BTreeSet};

/// Free ranges, any number of them.
#[derive(Debug, Default)]
pub(super) struct Many {
    by_start: BTreeMap<u32, u32>,
    /// The same by length, shortest first; equal lengths by start.
    by_len: BTreeSet<(u32, u32)>,
}

impl Many {
    #[cfg(test)]
    pub(super) fn iter(&self) -> impl Iterator<Item = (u32, u32)> {
        self.by_start.iter().map(|(start, len)| (*start, *len))
    }

    pub(super) fn largest(&self) -> u32 {
        self.by_len.last().map_or(0, |(len, _)| *len)
    }

    pub(super) fn take(&mut self, wanted: u32) -> Option<u32> {
        let (found_len, start) = *self.by_len.range((wanted, 0)..).next()?;
        self.remove(start, found_len);
        if found_len > wanted {
            self.insert(start + wanted, found_len - wanted);
        }
        Some(start)
    }

    pub(super) fn give_back(&mut self, start: u32, len: u32) {
        let (mut start, mut end) = (start, start + len);
        if let Some(&after) = self.by_start.get(&end) {
            self.remove(end, after);
            end += after;
        }
        if let Some((&before, &before_len)) = self.by_start.range(..start).next_back()
            && before + before_len == start
        {
            self.remove(before, before_len);
            start = before;
        }
        self.insert(start, end - start);
    }

    fn insert(&mut self, start: u32, len: u32) {
        self.by_start.insert(start, len);
        self.by_len.insert((len, start));
    }

    fn remove(&mut self, start: u32, len: u32) {
        self.by_start.remove(&start);
        self.by_len.remove(&(len, start));
    }
}

impl FromIterator<(u32, u32)> for Many {
    fn from_iter<I: IntoIterator<Item = (u32, u32)>>(ranges: I) -> Self {
        let mut many = Self::default();
        for (start, len) in ranges {
            many.insert(start, len);
        }
        many
    }
}
