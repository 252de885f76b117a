//! Free ranges in a row: for an area of which little is in use at a time.

/// How many ranges may be taken.
pub(super) const FEW: usize = 8;

/// Free ranges by start. Taken ones lie between them, so there is one more at most.
#[derive(Debug)]
pub(super) struct Few {
    ranges: [(u32, u32); FEW + 1],
    count: usize,
}

impl Few {
    /// One free range.
    pub(super) fn whole(len: u32) -> Self {
        let mut few = Self { ranges: [(0, 0); FEW + 1], count: 0 };
        if len > 0 {
            few.insert(0, (0, len));
        }
        few
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (u32, u32)> {
        self.ranges[..self.count].iter().copied()
    }

    pub(super) fn take(&mut self, wanted: u32) -> Option<u32> {
        let ranges = &mut self.ranges[..self.count];
        let long_enough = ranges.iter_mut().enumerate().filter(|(_, range)| range.1 >= wanted);
        // Of equals the first is found.
        let (at, range) = long_enough.min_by_key(|(_, range)| range.1)?;
        let start = range.0;
        *range = (start + wanted, range.1 - wanted);
        if range.1 == 0 {
            self.remove(at);
        }
        Some(start)
    }

    pub(super) fn give_back(&mut self, start: u32, len: u32) {
        let end = start + len;
        let at = self.ranges[..self.count].partition_point(|range| range.0 < start);
        let touches_before = at > 0 && {
            let (before, len) = self.ranges[at - 1];
            before + len == start
        };
        let touches_after = at < self.count && self.ranges[at].0 == end;
        match (touches_before, touches_after) {
            (true, true) => {
                self.ranges[at - 1].1 += len + self.ranges[at].1;
                self.remove(at);
            }
            (true, false) => self.ranges[at - 1].1 += len,
            (false, true) => self.ranges[at] = (start, len + self.ranges[at].1),
            (false, false) => self.insert(at, (start, len)),
        }
    }

    fn insert(&mut self, at: usize, range: (u32, u32)) {
        self.ranges.copy_within(at..self.count, at + 1);
        self.ranges[at] = range;
        self.count += 1;
    }

    fn remove(&mut self, at: usize) {
        self.ranges.copy_within(at + 1..self.count, at);
        self.count -= 1;
    }
}
