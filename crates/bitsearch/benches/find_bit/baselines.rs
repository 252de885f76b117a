//! What others do, to be measured beside this crate: searches a word at a time, and the two ways to
//! look for a zero area that are known from Linux.
//!
//! As there, every search is a function that is called, and answers `size` where there is nothing.

/// The lowest set bit in `start..size`, or `size`.
#[inline(never)]
pub(crate) fn next_bit(words: &[u64], size: usize, start: usize) -> usize {
    next(words, size, start, 0)
}

/// The lowest clear bit in `start..size`, or `size`.
#[inline(never)]
pub(crate) fn next_zero_bit(words: &[u64], size: usize, start: usize) -> usize {
    next(words, size, start, u64::MAX)
}

#[inline(always)]
fn next(words: &[u64], size: usize, start: usize, background: u64) -> usize {
    if start >= size {
        return size;
    }
    let first = start / 64;
    let mut mask = u64::MAX << (start % 64);
    for (index, word) in (first..).zip(&words[first..size.div_ceil(64)]) {
        let word = (word ^ background) & mask;
        if word != 0 {
            return size.min(index * 64 + word.trailing_zeros() as usize);
        }
        mask = u64::MAX;
    }
    size
}

/// The lowest bit in `start..size` that is set in both, or `size`.
#[inline(never)]
pub(crate) fn next_and_bit(a: &[u64], b: &[u64], size: usize, start: usize) -> usize {
    if start >= size {
        return size;
    }
    let words = start / 64..size.div_ceil(64);
    let mut mask = u64::MAX << (start % 64);
    for (index, (a, b)) in words.clone().zip(a[words.clone()].iter().zip(&b[words])) {
        let word = a & b & mask;
        if word != 0 {
            return size.min(index * 64 + word.trailing_zeros() as usize);
        }
        mask = u64::MAX;
    }
    size
}

/// The lowest set bit below `size`, or `size`.
#[inline(never)]
pub(crate) fn first_bit(words: &[u64], size: usize) -> usize {
    for (index, word) in words[..size.div_ceil(64)].iter().enumerate() {
        if *word != 0 {
            return size.min(index * 64 + word.trailing_zeros() as usize);
        }
    }
    size
}

/// The lowest bit below `size` that is set in both, or `size`.
#[inline(never)]
pub(crate) fn first_and_bit(a: &[u64], b: &[u64], size: usize) -> usize {
    let words = ..size.div_ceil(64);
    for (index, (a, b)) in a[words].iter().zip(&b[words]).enumerate() {
        if a & b != 0 {
            return size.min(index * 64 + (a & b).trailing_zeros() as usize);
        }
    }
    size
}

/// The highest set bit below `size`, or `size`.
#[inline(never)]
pub(crate) fn last_bit(words: &[u64], size: usize) -> usize {
    let found = last_bit_range(words, 0, size);
    if found < size { found } else { size }
}

/// The highest set bit in `start..end`, or `end`.
#[inline(never)]
pub(crate) fn last_bit_range(words: &[u64], start: usize, end: usize) -> usize {
    if start >= end {
        return end;
    }
    let mut mask = u64::MAX >> (63 - (end - 1) % 64);
    for index in (start / 64..end.div_ceil(64)).rev() {
        let word = words[index] & mask;
        if word != 0 {
            let bit = index * 64 + word.ilog2() as usize;
            return if bit >= start { bit } else { end };
        }
        mask = u64::MAX;
    }
    end
}

/// The set bit below `size` that has `n` set bits below it, or `size`.
#[inline(never)]
pub(crate) fn nth_bit(words: &[u64], size: usize, n: usize) -> usize {
    let mut n = n;
    for (index, word) in words[..size.div_ceil(64)].iter().enumerate() {
        let ones = word.count_ones() as usize;
        if n < ones {
            let word = (0..n).fold(*word, |word, _| word & (word - 1));
            return size.min(index * 64 + word.trailing_zeros() as usize);
        }
        n -= ones;
    }
    size
}

/// Where there is room, and how often the search had to begin again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Area {
    /// Above the size if there is no room.
    pub(crate) place: usize,
    pub(crate) again: u64,
}

/// The lowest area of `len` clear bits, going on behind the first bit in the way: as Linux does.
#[inline(never)]
pub(crate) fn old_area(words: &[u64], size: usize, start: usize, len: usize) -> Area {
    area(words, size, start, len, next_bit_in)
}

/// The same, going on behind the last bit in the way: as was proposed for Linux in 2026.
#[inline(never)]
pub(crate) fn new_area(words: &[u64], size: usize, start: usize, len: usize) -> Area {
    area(words, size, start, len, last_bit_range)
}

/// The same, one bit after the other; [`usize::MAX`] if there is no room.
#[inline(never)]
pub(crate) fn naive_area(words: &[u64], size: usize, start: usize, len: usize) -> usize {
    let mut run = 0;
    for bit in start..size {
        let is_clear = words[bit / 64] >> (bit % 64) & 1 == 0;
        run = if is_clear { run + 1 } else { 0 };
        if run == len {
            return bit + 1 - len;
        }
    }
    usize::MAX
}

/// The lowest set bit in `start..end`, or `end`.
#[inline(always)]
fn next_bit_in(words: &[u64], start: usize, end: usize) -> usize {
    next_bit(words, end, start)
}

#[inline(always)]
fn area(
    words: &[u64],
    size: usize,
    start: usize,
    len: usize,
    in_the_way: fn(&[u64], usize, usize) -> usize,
) -> Area {
    let (mut start, mut again) = (start, 0);
    loop {
        let place = next_zero_bit(words, size, start);
        let end = place + len;
        if end > size {
            return Area { place: end, again };
        }
        let bit = in_the_way(words, place, end);
        if bit >= end {
            return Area { place, again };
        }
        start = bit + 1;
        again += 1;
    }
}
