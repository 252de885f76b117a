//! The free and used ranges of a receive buffer: best fit, merged when freed.

use alloc::collections::{BTreeMap, BTreeSet};

/// No single free range is long enough.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("no free range of {wanted_bytes} bytes; the largest has {largest_bytes}")]
pub(crate) struct NoSpace {
    pub(crate) wanted_bytes: u32,
    pub(crate) largest_bytes: u32,
}

/// The ranges of an area `[0, len)`, in bytes.
#[derive(Debug)]
pub(crate) struct Ranges {
    /// Free ranges by start.
    free: BTreeMap<u32, u32>,
    /// The same by length, shortest first; equal lengths by start.
    by_len: BTreeSet<(u32, u32)>,
}

impl Ranges {
    /// One free range over the whole area.
    pub(crate) fn new(len_bytes: u32) -> Self {
        let mut ranges = Self { free: BTreeMap::new(), by_len: BTreeSet::new() };
        ranges.insert(0, len_bytes);
        ranges
    }

    /// Takes `len_bytes` from the low end of the shortest free range that is long enough.
    pub(crate) fn take(&mut self, len_bytes: u32) -> Result<u32, NoSpace> {
        let Some(&(found_len, start)) = self.by_len.range((len_bytes, 0)..).next() else {
            let largest_bytes = self.by_len.last().map_or(0, |(len, _)| *len);
            return Err(NoSpace { wanted_bytes: len_bytes, largest_bytes });
        };
        self.remove(start, found_len);
        if found_len > len_bytes {
            self.insert(start + len_bytes, found_len - len_bytes);
        }
        Ok(start)
    }

    /// Gives a taken range back and merges it with its free neighbours.
    pub(crate) fn give_back(&mut self, start: u32, len_bytes: u32) {
        let (mut start, mut end) = (start, start + len_bytes);
        if let Some(&after) = self.free.get(&end) {
            self.remove(end, after);
            end += after;
        }
        if let Some((&before, &before_len)) = self.free.range(..start).next_back()
            && before + before_len == start
        {
            self.remove(before, before_len);
            start = before;
        }
        self.insert(start, end - start);
    }

    fn insert(&mut self, start: u32, len: u32) {
        if len > 0 {
            self.free.insert(start, len);
            self.by_len.insert((len, start));
        }
    }

    fn remove(&mut self, start: u32, len: u32) {
        self.free.remove(&start);
        self.by_len.remove(&(len, start));
    }

    /// Free ranges in order, as `(start, len)`.
    #[cfg(test)]
    pub(crate) fn free_ranges(&self) -> alloc::vec::Vec<(u32, u32)> {
        self.free.iter().map(|(start, len)| (*start, *len)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // C172
    #[test]
    fn any_order_of_freeing_five_ranges_ends_with_one_free_range() {
        let mut orders = alloc::vec![alloc::vec![]];
        for n in 0..5usize {
            orders = orders
                .into_iter()
                .flat_map(|order: alloc::vec::Vec<usize>| {
                    (0..=order.len()).map(move |at| {
                        let mut longer = order.clone();
                        longer.insert(at, n);
                        longer
                    })
                })
                .collect();
        }
        assert_eq!(orders.len(), 120);
        for order in orders {
            let mut ranges = Ranges::new(4096);
            let taken: alloc::vec::Vec<_> =
                [8, 64, 1000, 24, 3000].map(|len| (ranges.take(len).unwrap(), len)).into();
            assert_eq!(ranges.free_ranges(), []);
            for index in order {
                let (start, len) = taken[index];
                ranges.give_back(start, len);
            }
            assert_eq!(ranges.free_ranges(), [(0, 4096)]);
        }
    }

    // C173
    #[test]
    fn the_shortest_range_that_fits_is_taken() {
        let mut ranges = Ranges::new(1024);
        let long = ranges.take(128).unwrap();
        ranges.take(8).unwrap();
        let short = ranges.take(64).unwrap();
        ranges.take(1024 - 128 - 8 - 64).unwrap();
        ranges.give_back(long, 128);
        ranges.give_back(short, 64);
        assert_eq!(ranges.take(64), Ok(short));
        assert_eq!(ranges.take(64), Ok(long));
        assert_eq!(ranges.free_ranges(), [(long + 64, 64)]);
    }

    // C174
    #[test]
    fn the_whole_area_can_be_taken_and_not_a_byte_more() {
        let mut ranges = Ranges::new(4096);
        assert_eq!(ranges.take(4097), Err(NoSpace { wanted_bytes: 4097, largest_bytes: 4096 }));
        assert_eq!(ranges.take(4096), Ok(0));
        assert_eq!(ranges.take(1), Err(NoSpace { wanted_bytes: 1, largest_bytes: 0 }));
    }
}
