//! The free and used ranges of a receive buffer: best fit, merged when freed.
//!
//! Most processes have a handful of buffers at a time, and a handful of free ranges is searched
//! faster in a row than in a tree. So there are two shapes, which find the same: `few`, in place, for
//! up to eight buffers, and `many` from the ninth on until the last has gone.

mod few;
mod many;

use few::{FEW, Few};
use many::Many;

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
    len_bytes: u32,
    /// How many ranges are taken.
    taken: usize,
    free: Shape,
}

/// The free ranges.
#[derive(Debug)]
enum Shape {
    Few(Few),
    Many(Many),
}

impl Ranges {
    /// One free range over the whole area.
    pub(crate) fn new(len_bytes: u32) -> Self {
        Self { len_bytes, taken: 0, free: Shape::Few(Few::whole(len_bytes)) }
    }

    /// Takes `len_bytes`, which are not 0, from the low end of the shortest free range that is long
    /// enough, and of equally long ones from the first.
    pub(crate) fn take(&mut self, len_bytes: u32) -> Result<u32, NoSpace> {
        if let Shape::Few(few) = &self.free
            && self.taken == FEW
        {
            self.free = Shape::Many(few.iter().collect());
        }
        let found = match &mut self.free {
            Shape::Few(few) => few.take(len_bytes),
            Shape::Many(many) => many.take(len_bytes),
        };
        let start = found
            .ok_or_else(|| NoSpace { wanted_bytes: len_bytes, largest_bytes: self.largest() })?;
        self.taken += 1;
        Ok(start)
    }

    /// Gives a taken range back and merges it with its free neighbours.
    pub(crate) fn give_back(&mut self, start: u32, len_bytes: u32) {
        self.taken -= 1;
        match &mut self.free {
            Shape::Few(few) => few.give_back(start, len_bytes),
            Shape::Many(_) if self.taken == 0 => {
                self.free = Shape::Few(Few::whole(self.len_bytes));
            }
            Shape::Many(many) => many.give_back(start, len_bytes),
        }
    }

    fn largest(&self) -> u32 {
        match &self.free {
            Shape::Few(few) => few.iter().map(|(_, len)| len).max().unwrap_or(0),
            Shape::Many(many) => many.largest(),
        }
    }

    /// Free ranges in order, as `(start, len)`.
    #[cfg(test)]
    pub(crate) fn free_ranges(&self) -> alloc::vec::Vec<(u32, u32)> {
        match &self.free {
            Shape::Few(few) => few.iter().collect(),
            Shape::Many(many) => many.iter().collect(),
        }
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

    // C181
    #[test]
    fn the_ninth_range_makes_a_tree_and_the_last_one_ends_it() {
        let mut ranges = Ranges::new(4096);
        for start in (0..64).step_by(8) {
            assert_eq!(ranges.take(8), Ok(start));
            assert!(matches!(ranges.free, Shape::Few(_)));
        }
        assert_eq!(ranges.take(8), Ok(64));
        for start in (0..=64).step_by(8) {
            assert!(matches!(ranges.free, Shape::Many(_)));
            ranges.give_back(start, 8);
        }
        assert!(matches!(ranges.free, Shape::Few(_)));
        assert_eq!(ranges.free_ranges(), [(0, 4096)]);
    }

    #[test]
    fn both_shapes_find_the_same() {
        let (mut ranges, mut tree) = (Ranges::new(1024), Many::from_iter([(0, 1024)]));
        let mut taken = alloc::vec::Vec::new();
        let mut random = 1_u64;
        let mut next = |below: usize| {
            // Numbers of Knuth's MMIX; only the high bits are of use.
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            usize::try_from(random >> 33).unwrap() % below
        };
        for _ in 0..50_000 {
            // Around eight, so that the shape changes often.
            if taken.len() < next(18) {
                let len = 8 * u32::try_from(1 + next(24)).unwrap();
                let found = ranges.take(len);
                assert_eq!(found.ok(), tree.take(len));
                taken.extend(found.map(|start| (start, len)));
            } else if !taken.is_empty() {
                let (start, len) = taken.swap_remove(next(taken.len()));
                ranges.give_back(start, len);
                tree.give_back(start, len);
            }
            assert_eq!(ranges.free_ranges(), tree.iter().collect::<alloc::vec::Vec<_>>());
        }
    }
}
