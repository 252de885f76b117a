//! Ways to keep ids of which some are free.

use std::collections::BTreeMap;

use idr::IdPool;
use roaring::RoaringBitmap;

/// What the bench asks of a set of ids.
pub(super) trait IdSet: Send {
    const NAME: &'static str;

    /// Makes a set of which `0..live` are taken.
    fn filled(live: u32) -> Self;

    /// Takes a free id.
    fn acquire(&mut self) -> u32;

    /// Frees an id that is taken.
    fn release(&mut self, id: u32);

    /// The memory it takes, if it can be known.
    fn heap_bytes(&self) -> Option<usize>;
}

/// Ours.
impl IdSet for IdPool {
    const NAME: &'static str = "ours";

    fn filled(live: u32) -> Self {
        let mut pool = Self::new();
        for _ in 0..live {
            IdSet::acquire(&mut pool);
        }
        pool
    }

    fn acquire(&mut self) -> u32 {
        self.acquire_lowest(0).expect("memory for ids")
    }

    fn release(&mut self, id: u32) {
        self.release_id(id).expect("an id in use");
    }

    fn heap_bytes(&self) -> Option<usize> {
        Some(self.heap_bytes())
    }
}

/// A tree in order of the ids, walked to the first gap.
pub(super) struct Scan(BTreeMap<u32, ()>);

impl IdSet for Scan {
    const NAME: &'static str = "scan";

    fn filled(live: u32) -> Self {
        Self((0..live).map(|id| (id, ())).collect())
    }

    fn acquire(&mut self) -> u32 {
        let mut free = 0;
        for id in self.0.keys() {
            if *id > free {
                break;
            }
            free = id + 1;
        }
        self.0.insert(free, ());
        free
    }

    fn release(&mut self, id: u32) {
        self.0.remove(&id);
    }

    fn heap_bytes(&self) -> Option<usize> {
        None
    }
}

/// A bitmap without summaries, searched from its first word on, that doubles when it is full: word by word,
/// or by our own search.
pub(super) struct Flat<const IS_SEARCHED: bool>(Vec<u64>);

impl<const IS_SEARCHED: bool> IdSet for Flat<IS_SEARCHED> {
    const NAME: &'static str = if IS_SEARCHED { "searched" } else { "flat" };

    fn filled(live: u32) -> Self {
        let mut flat = Self(vec![0; (live as usize).next_power_of_two().div_ceil(64)]);
        for id in 0..live {
            flat.set(id as usize);
        }
        flat
    }

    fn acquire(&mut self) -> u32 {
        let bits = self.0.len() * 64;
        let free = if IS_SEARCHED {
            bitsearch::next_zero_bit(&self.0, bits, 0)
        } else {
            let word = self.0.iter().position(|word| *word != u64::MAX);
            word.map(|word| word * 64 + self.0[word].trailing_ones() as usize)
        };
        let id = free.unwrap_or_else(|| {
            self.0.resize(self.0.len() * 2, 0);
            bits
        });
        self.set(id);
        u32::try_from(id).expect("far fewer ids")
    }

    fn release(&mut self, id: u32) {
        self.0[id as usize / 64] &= !(1 << (id % 64));
    }

    fn heap_bytes(&self) -> Option<usize> {
        Some(self.0.capacity() * size_of::<u64>())
    }
}

impl<const IS_SEARCHED: bool> Flat<IS_SEARCHED> {
    fn set(&mut self, id: usize) {
        self.0[id / 64] |= 1 << (id % 64);
    }
}

/// The crate `slab`, whose free ids are a list: not the lowest, but the last freed.
pub(super) struct Slab(slab::Slab<()>);

impl IdSet for Slab {
    const NAME: &'static str = "slab";

    fn filled(live: u32) -> Self {
        Self((0..live as usize).map(|id| (id, ())).collect())
    }

    fn acquire(&mut self) -> u32 {
        u32::try_from(self.0.insert(())).expect("far fewer ids")
    }

    fn release(&mut self, id: u32) {
        self.0.remove(id as usize);
    }

    fn heap_bytes(&self) -> Option<usize> {
        // An entry is the number of the next free one, or the value, and which of the two it is.
        Some(self.0.capacity() * 2 * size_of::<usize>())
    }
}

/// The crate `roaring`, as the set of the ids that are free.
pub(super) struct Roaring(RoaringBitmap);

impl IdSet for Roaring {
    const NAME: &'static str = "roaring";

    fn filled(live: u32) -> Self {
        let mut free = RoaringBitmap::new();
        // Room for as many again; free ids take memory.
        free.insert_range(live..2 * live + 1024);
        Self(free)
    }

    fn acquire(&mut self) -> u32 {
        let id = self.0.min().expect("far fewer ids");
        self.0.remove(id);
        id
    }

    fn release(&mut self, id: u32) {
        self.0.insert(id);
    }

    fn heap_bytes(&self) -> Option<usize> {
        None
    }
}

/// The crate `id-pool`: the free ids as a list of ranges.
pub(super) struct FreeRanges(id_pool::IdPool);

impl IdSet for FreeRanges {
    const NAME: &'static str = "id-pool";

    fn filled(live: u32) -> Self {
        let mut ranges = Self(id_pool::IdPool::new_ranged(0..u32::MAX));
        for _ in 0..live {
            ranges.acquire();
        }
        ranges
    }

    fn acquire(&mut self) -> u32 {
        self.0.request_id().expect("far fewer ids")
    }

    fn release(&mut self, id: u32) {
        self.0.return_id(id).expect("an id that is taken");
    }

    fn heap_bytes(&self) -> Option<usize> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hands_out_the_lowest<I: IdSet>() {
        let mut ids = I::filled(1000);
        assert_eq!([(); 3].map(|()| ids.acquire()), [1000, 1001, 1002], "{}", I::NAME);
        for id in [999, 64, 3, 500] {
            ids.release(id);
        }
        assert_eq!([(); 5].map(|()| ids.acquire()), [3, 64, 500, 999, 1003], "{}", I::NAME);
    }

    #[test]
    fn all_but_one_hand_out_the_lowest_free_id() {
        hands_out_the_lowest::<IdPool>();
        hands_out_the_lowest::<Scan>();
        hands_out_the_lowest::<Flat<false>>();
        hands_out_the_lowest::<Flat<true>>();
        hands_out_the_lowest::<Roaring>();
        hands_out_the_lowest::<FreeRanges>();
    }

    #[test]
    fn slab_hands_out_what_was_freed_last() {
        let mut ids = Slab::filled(10);
        ids.release(7);
        ids.release(3);
        assert_eq!([(); 3].map(|()| ids.acquire()), [3, 7, 10]);
    }
}
