//! Small ids: a pool that hands out the smallest free one, and a map from ids to shared values.
//!
//! The pool is pure. The map, of the feature `std`, is read without a lock, which takes the one
//! module with `unsafe` here.

#![no_std]

extern crate alloc;
#[cfg(feature = "std")]
extern crate std;

mod id_tree;
#[cfg(feature = "std")]
mod idr;
#[cfg(feature = "std")]
mod keyed;
mod node;
mod pool;
#[cfg(feature = "std")]
mod rcu;
#[cfg(feature = "std")]
mod tree;
#[cfg(feature = "std")]
mod writer_lock;

#[cfg(feature = "std")]
pub use idr::{Idr, Iter, LockedIdr, NoFreeId, NotAllocated, ReservedId};
#[cfg(feature = "std")]
pub use keyed::{IdKey, Keyed, KeyedIdr};
pub use pool::{AcquireError, IdPool, NotInUse, Reservation};
#[cfg(feature = "std")]
pub use rcu::{ChangeGuard, ReadGuard, pin, pin_to_change, reclaim};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
