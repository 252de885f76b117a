//! First, last, next and n-th set or clear bits in words, and areas of clear ones.
//!
//! A bitmap is a slice of words, of `u64` or another kind of [`Word`]; bit `i` is bit `i % 64` of word `i / 64`, least
//! significant first. Maps with something beside them ([`IndexedBitmap`], [`RankIndex`], [`BitSet`]) have words of `u64`.
//! Searches look at the first `size` of its bits and answer `None` where Linux's `find_bit` family
//! answers `size` or more. Bits at or beyond `size` never matter, and a `size` beyond the slice
//! means the whole slice; of several slices the shortest counts.
//!
//! ```
//! use bitsearch::{last_bit, next_bit, next_zero_area, next_zero_bit};
//!
//! let map = [0b1001_u64, 0b11];
//! assert_eq!(next_bit(&map, 128, 1), Some(3));
//! assert_eq!(next_zero_bit(&map, 128, 64), Some(66));
//! assert_eq!(last_bit(&map, 128), Some(65));
//! assert_eq!(next_zero_area(&map, 128, 0, 61), Some(66));
//! ```
//!
//! | to find | look into |
//! |---|---|
//! | a bit at or after another | [`next_bit`], [`next_zero_bit`], [`next_and_bit`] and their kin |
//! | the same, around the end | [`next_bit_wrap`] |
//! | the highest bit, of all or of a part | [`last_bit`], [`last_bit_range`] |
//! | the bit of a rank | [`nth_bit`], [`random_bit`] |
//! | all of them | [`set_bits`], [`set_ranges`], [`clumps8`] |
//! | room for several bits, first fit | [`next_zero_area`], [`next_zero_area_aligned`], [`IndexedBitmap`] |
//! | the same, next, last and best fit | [`next_zero_area_wrap`], [`last_zero_area`], [`best_zero_area`] |
//! | many ranks, or bits of a rank | [`RankIndex`] |
//!
//! [`BitSet`] is a set of numbers that owns its words and grows. Ranges of bits are changed by [`set_range`], [`clear_range`], [`and_range`], [`or_range`] and [`andnot_range`].

#![no_std]

extern crate alloc;
#[cfg(feature = "std")]
extern crate std;

mod area;
mod backward;
mod bits;
mod change;
mod clump;
mod cpu;
mod forward;
mod indexed;
mod iter;
mod nth;
mod rank;
mod set;
mod word;
mod wrap;

pub use area::{
    Alignment, best_zero_area, last_zero_area, next_zero_area, next_zero_area_aligned,
    next_zero_area_wrap,
};
pub use backward::{last_bit, last_bit_range, last_zero_bit};
pub use change::{and_range, andnot_range, clear_range, is_set, or_range, set_range};
pub use clump::{Clump8, clumps8, next_clump8};
pub use forward::{
    first_and_and_bit, first_and_bit, first_andnot_bit, first_bit, first_zero_bit, next_and_bit,
    next_andnot_bit, next_bit, next_or_bit, next_zero_bit,
};
pub use indexed::IndexedBitmap;
pub use iter::{and_bits, andnot_bits, or_bits, set_bits, set_ranges, zero_bits, zero_ranges};
pub use nth::{
    count_bits, nth_and_andnot_bit, nth_and_bit, nth_andnot_bit, nth_bit, nth_zero_bit, random_bit,
};
pub use rank::RankIndex;
pub use set::{BitSet, Numbers};
pub use word::Word;
pub use wrap::{next_and_bit_wrap, next_bit_wrap, set_bits_wrap};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
