//! Small ids: a pool that hands out the smallest free one.

#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod bitmap;
mod pool;

pub use bitmap::AllocError;
pub use pool::{AcquireError, GrowRequest, IdPool, Larger, Reservation, ShrinkRequest, Smaller};
