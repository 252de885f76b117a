//! Bytes of a bitmap in which something is set.

use crate::bits::{WORD_BITS, below};
use crate::forward::next_bit;

/// Eight neighbouring bits, not all clear.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clump8 {
    /// Where the lowest of them is: a multiple of 8.
    pub bit: usize,
    /// The bits; those at or beyond the size of the bitmap are clear.
    pub byte: u8,
}

/// The byte with the lowest set bit in `start..size`.
///
/// It begins before `start` if that is not a multiple of 8.
///
/// ```
/// use bitsearch::{Clump8, next_clump8};
///
/// assert_eq!(next_clump8(&[0x4103_0000], 64, 0), Some(Clump8 { bit: 16, byte: 0x03 }));
/// assert_eq!(next_clump8(&[0x4103_0000], 64, 25), Some(Clump8 { bit: 24, byte: 0x41 }));
/// assert_eq!(next_clump8(&[0x4103_0000], 64, 32), None);
/// ```
#[must_use]
pub fn next_clump8(words: &[u64], size: usize, start: usize) -> Option<Clump8> {
    let hit = next_bit(words, size, start)?;
    let (index, bit) = (hit / WORD_BITS, hit / 8 * 8);
    let is_last = size / WORD_BITS == index;
    let word = words[index] & if is_last { below(size) } else { u64::MAX };
    Some(Clump8 { bit, byte: word.to_le_bytes()[bit % WORD_BITS / 8] })
}

/// All bytes below `size` in which something is set.
///
/// ```
/// assert!(bitsearch::clumps8(&[0x4103_0000], 64).map(|clump| clump.bit).eq([16, 24]));
/// ```
pub fn clumps8(words: &[u64], size: usize) -> impl Iterator<Item = Clump8> + Clone + use<'_> {
    core::iter::successors(next_clump8(words, size, 0), move |clump| {
        next_clump8(words, size, clump.bit + 8)
    })
}
