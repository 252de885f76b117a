//! First, last and next set or clear bits in words.
//!
//! A bitmap is a slice of words; bit `i` is bit `i % 64` of word `i / 64`, least significant first.
//! Searches look at the first `size` of its bits and answer `None` where Linux's `find_bit` family
//! answers `size`. Bits at or beyond `size` never matter, and a `size` beyond the slice means the
//! whole slice.

#![no_std]
#![forbid(unsafe_code)]

mod slice;

pub use slice::{last_bit, last_bit_range, next_bit, next_zero_bit};
