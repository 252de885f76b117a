//! What happens to a member of a cluster, and what it wants done.

use alloc::string::String;
use alloc::vec::Vec;
use core::time::Duration;

use crate::directory::DirectoryChange;
use crate::keys::{ClaimError, Ownership, ServiceKey};
use crate::store::{ClaimOutcome, LeaseId, RequestId, StoreChange, StoredKey};

/// What happens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClusterEvent {
    /// Nothing but that time has passed.
    Tick,
    /// This machine leaves: its lease is given back, and none is asked for again.
    Leave,
    /// This machine has a service that other machines may call.
    ServiceAdded {
        /// Its name.
        name: String,
        /// Whether it is one of many.
        ownership: Ownership,
    },
    /// The service is gone.
    ServiceRemoved {
        /// Its name.
        name: String,
    },
    /// A lease was granted, or kept alive.
    Leased {
        /// What asked for it.
        request: RequestId,
        /// The lease.
        lease: LeaseId,
        /// For how long, from when the store heard the request.
        ttl: Duration,
    },
    /// The store does not know the lease that was to be kept alive.
    LeaseGone {
        /// What asked.
        request: RequestId,
    },
    /// A claim was decided on.
    Claimed {
        /// What asked for it.
        request: RequestId,
        /// What became of it.
        outcome: ClaimOutcome,
    },
    /// A key is withdrawn, or was another's.
    Withdrawn {
        /// What asked for it.
        request: RequestId,
    },
    /// All keys, as of a revision.
    Listed {
        /// What asked for them.
        request: RequestId,
        /// The revision.
        revision: i64,
        /// The keys.
        keys: Vec<StoredKey>,
    },
    /// Keys have changed, at a revision; the next changes are of a later one.
    Changed {
        /// The watch that tells it.
        request: RequestId,
        /// The revision.
        revision: i64,
        /// The changes.
        changes: Vec<StoreChange>,
    },
    /// The store has forgotten the changes that the watch is to tell first.
    Compacted {
        /// The watch.
        request: RequestId,
    },
    /// A request cannot be answered: the store is out of reach. It may have been carried out.
    Failed {
        /// The request.
        request: RequestId,
    },
}

/// Work for the executor, in order. A request is answered by an event, or not at all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClusterEffect {
    /// Ask for a lease.
    Grant {
        /// The request.
        request: RequestId,
        /// For how long.
        ttl: Duration,
    },
    /// Keep a lease alive.
    KeepAlive {
        /// The request.
        request: RequestId,
        /// The lease.
        lease: LeaseId,
    },
    /// Give a lease back, and with it all its keys; not answered.
    Revoke {
        /// The lease.
        lease: LeaseId,
    },
    /// Make a key with this member's claim as its value, if there is none.
    Claim {
        /// The request.
        request: RequestId,
        /// The key.
        key: ServiceKey,
        /// The lease that it ends with.
        lease: LeaseId,
    },
    /// Delete a key, if it is of this generation.
    Withdraw {
        /// The request.
        request: RequestId,
        /// The key.
        key: ServiceKey,
        /// The generation.
        generation: i64,
    },
    /// List all keys.
    List {
        /// The request.
        request: RequestId,
    },
    /// Tell all changes from a revision on; what was watched before is not any more.
    Watch {
        /// The request.
        request: RequestId,
        /// The first revision of interest.
        from: i64,
    },
    /// Act as the owner of a name: it is this machine's, while the fence is open.
    Serve {
        /// The name.
        name: String,
        /// Its generation.
        generation: i64,
    },
    /// Stop acting as its owner.
    StopServing {
        /// The name.
        name: String,
        /// The generation that has ended.
        generation: i64,
    },
    /// The lease is lost: whatever was given away in its time is to be taken back.
    StopAll,
    /// An instance of a name is there, or is gone.
    Directory(DirectoryChange),
    /// A key or value that is not in our form was written; it is taken for absent.
    Rejected {
        /// The key.
        key: Vec<u8>,
        /// The error.
        error: ClaimError,
    },
}
