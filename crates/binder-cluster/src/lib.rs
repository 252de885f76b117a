//! Names over many machines.
//!
//! Each machine has a service manager, and all of them write the names of services that other machines may call into one
//! store: a key for each, under the lease of its machine. [`ClusterMember`] is what one manager knows and wants of that
//! store: which names are its own, which are whose, and until when it may act as their owner. It is a state machine
//! without system calls, clock or network: [`ClusterEvent`]s and the time go in, [`ClusterEffect`]s come out, and an
//! executor speaks to the store. `keys` are the texts that are written there, and are claims of others when they are read; [`Fence`]
//! is what the threads that serve look at.

#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod directory;
mod event;
mod fence;
mod keys;
mod member;
mod store;

pub use directory::{Directory, DirectoryChange, Instance};
pub use event::{ClusterEffect, ClusterEvent};
pub use fence::Fence;
pub use keys::{AddressError, Claim, ClaimError, MachineAddress, Ownership, ServiceKey};
pub use member::{ClusterMember, MemberOptions, MemberStatus};
pub use store::{ClaimOutcome, LeaseId, RequestId, StoreChange, StoredKey};
