//! What the store of a cluster has, and how it is asked for it.

use alloc::vec::Vec;

/// A lease, by the store's number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct LeaseId(pub i64);

/// A request to the store. An answer to one that the member does not wait for any more changes nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct RequestId(pub u64);

/// A key as the store has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredKey {
    /// The key, without the prefix of all.
    pub key: Vec<u8>,
    /// The value.
    pub value: Vec<u8>,
    /// The revision at which the key was made: the generation of its owner.
    pub created: i64,
    /// The lease that it ends with.
    pub lease: LeaseId,
}

/// What has changed in the store, at one revision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StoreChange {
    /// A key was written.
    Put(StoredKey),
    /// A key was deleted, or its lease has ended.
    Deleted {
        /// The key, without the prefix of all.
        key: Vec<u8>,
    },
}

/// What became of a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClaimOutcome {
    /// The key was made, at this revision.
    Won(i64),
    /// There is such a key already, of this lease, made at this revision.
    Taken(LeaseId, i64),
    /// The store does not know the lease.
    NoLease,
}
