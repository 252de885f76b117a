//! Searches over slices of words, one word at a time.

const WORD_BITS: usize = u64::BITS as usize;

/// The lowest set bit in `start..size`.
#[must_use]
pub fn next_bit(words: &[u64], size: usize, start: usize) -> Option<usize> {
    next_difference(words, size, start, 0)
}

/// The lowest clear bit in `start..size`.
#[must_use]
pub fn next_zero_bit(words: &[u64], size: usize, start: usize) -> Option<usize> {
    next_difference(words, size, start, u64::MAX)
}

/// The highest set bit below `size`.
#[must_use]
pub fn last_bit(words: &[u64], size: usize) -> Option<usize> {
    last_bit_range(words, 0, size)
}

/// The highest set bit in `start..end`.
///
/// Reads from the top down and stops at the first hit, so it is the way to ask whether the upper
/// part of a bitmap is empty.
#[must_use]
pub fn last_bit_range(words: &[u64], start: usize, end: usize) -> Option<usize> {
    let end = end.min(words.len() * WORD_BITS);
    if start >= end {
        return None;
    }
    let (first, last) = (start / WORD_BITS, (end - 1) / WORD_BITS);
    let mut mask = u64::MAX >> (WORD_BITS - 1 - (end - 1) % WORD_BITS);
    for index in (first..=last).rev() {
        if index == first {
            mask &= from(start);
        }
        let word = words[index] & mask;
        if word != 0 {
            return Some(index * WORD_BITS + word.ilog2() as usize);
        }
        mask = u64::MAX;
    }
    None
}

/// The lowest bit in `start..size` that differs from the same bit of `background`.
#[inline]
fn next_difference(words: &[u64], size: usize, start: usize, background: u64) -> Option<usize> {
    let size = size.min(words.len() * WORD_BITS);
    if start >= size {
        return None;
    }
    let first = start / WORD_BITS;
    let mut mask = from(start);
    for (index, word) in (first..).zip(&words[first..size.div_ceil(WORD_BITS)]) {
        let word = (word ^ background) & mask;
        if word != 0 {
            let bit = index * WORD_BITS + word.trailing_zeros() as usize;
            return (bit < size).then_some(bit);
        }
        mask = u64::MAX;
    }
    None
}

/// The bits of a word from `start` on, counted within the word.
const fn from(start: usize) -> u64 {
    u64::MAX << (start % WORD_BITS)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The bits 0, 3, 64, 65 and 99.
    const MAP: [u64; 2] = [1 | 1 << 3, 1 | 1 << 1 | 1 << 35];

    #[test]
    fn the_next_bit_is_the_lowest_set_one_from_the_start() {
        for (start, bit) in [(0, 0), (1, 3), (4, 64), (66, 99)] {
            assert_eq!(next_bit(&MAP, 100, start), Some(bit));
        }
        assert_eq!(next_bit(&MAP, 100, 100), None);
        assert_eq!(next_bit(&MAP, 99, 66), None);
        assert_eq!(next_bit(&MAP, 64, 4), None);
    }

    #[test]
    fn the_next_zero_bit_is_the_lowest_clear_one_from_the_start() {
        for (start, bit) in [(0, 1), (3, 4), (64, 66)] {
            assert_eq!(next_zero_bit(&MAP, 100, start), Some(bit));
        }
        assert_eq!(next_zero_bit(&MAP, 100, 99), None);
        assert_eq!(next_zero_bit(&[u64::MAX, 0x3f], 70, 5), None);
    }

    #[test]
    fn the_last_bit_is_the_highest_set_one_below_the_size() {
        for (size, bit) in [(100, 99), (99, 65), (64, 3), (1, 0)] {
            assert_eq!(last_bit(&MAP, size), Some(bit));
        }
        assert_eq!(last_bit(&MAP, 0), None);
        assert_eq!(last_bit(&[0, 0], 128), None);
    }

    #[test]
    fn the_last_bit_of_a_range_ignores_its_neighbours_in_the_same_words() {
        for (start, end, bit) in [(0, 100, 99), (0, 64, 3), (65, 66, 65), (64, 99, 65)] {
            assert_eq!(last_bit_range(&MAP, start, end), Some(bit));
        }
        assert_eq!(last_bit_range(&MAP, 4, 64), None);
        assert_eq!(last_bit_range(&MAP, 66, 66), None);
        assert_eq!(last_bit_range(&MAP, 70, 60), None);
    }

    #[test]
    fn a_size_beyond_the_slice_means_the_whole_slice() {
        assert_eq!(next_bit(&MAP, usize::MAX, 100), None);
        assert_eq!(next_zero_bit(&MAP, 1000, 99), Some(100));
        assert_eq!(next_zero_bit(&MAP, 1000, 128), None);
        assert_eq!(last_bit(&MAP, usize::MAX), Some(99));
        assert_eq!(next_bit(&[], 5, 0), None);
        assert_eq!(last_bit(&[], 5), None);
    }
}
