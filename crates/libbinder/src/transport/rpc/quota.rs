//! What the peers of a server hold of it, and each one's share.
//!
//! Sockets, bytes and descriptors are charged when they come, and given back when the socket is closed,
//! the call runs or the session ends: a [`ServerCharge`] that is dropped holds nothing.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use binder_rpc::Ending;
use rustix::process::{Resource as SystemResource, getrlimit};

use super::endpoint::Origin;
use super::server::ResourceUse;

/// What a server has a limited amount of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ServerResource {
    /// Sockets, in either direction and also before they belong to a session.
    Connections,
    /// The bytes of one-way calls that wait for an earlier one, and of long messages of which a part is missing.
    WaitingBytes,
    /// Descriptors that have come and that no service has yet: of messages of which a part is missing,
    /// and of one-way calls that wait; and those of relayed files that the peer has not opened.
    Files,
    /// Connections that have not said what they want yet.
    Handshakes,
    /// Objects of either side that sessions hold.
    Objects,
    /// Streams that are relayed in the place of descriptors, each with a thread.
    Streams,
}

impl ServerResource {
    const COUNT: usize = 6;

    fn words(self) -> &'static str {
        match self {
            Self::Connections => "connections",
            Self::WaitingBytes => "bytes that wait",
            Self::Files => "descriptors that wait",
            Self::Handshakes => "connections that are being opened",
            Self::Objects => "objects",
            Self::Streams => "relayed streams",
        }
    }
}

/// How much of something a server has.
#[derive(Clone, Copy, Debug)]
pub(super) struct Capacity {
    pub(super) total: usize,
    /// What one peer may have, if that was said: else three quarters of what the others leave.
    pub(super) per_peer: Option<usize>,
}

impl Capacity {
    /// Returns how much one peer may have while the others have `others`: not all of the rest, so
    /// that there is something for the next peer.
    fn share(self, others: usize) -> usize {
        let room = self.total.saturating_sub(others);
        let share = self.per_peer.unwrap_or_else(|| {
            let most = room - room / 4;
            most.min(room.saturating_sub(1)).max(1)
        });
        share.min(room)
    }

    /// Returns this, but no more than that many descriptors.
    pub(super) fn within(self, descriptors: usize) -> Self {
        Self { total: self.total.min(descriptors), ..self }
    }
}

/// Returns how many descriptors a server keeps for one purpose: three eighths of what this process may
/// open by now, so that its sockets and the descriptors that its peers send leave a quarter to the
/// program.
pub(super) fn share_of_descriptors() -> usize {
    let limit = getrlimit(SystemResource::Nofile).current.unwrap_or(u64::MAX);
    usize::try_from(limit / 8 * 3).unwrap_or(usize::MAX)
}

/// One resource: how much each peer holds.
#[derive(Debug)]
struct ResourceLedger {
    capacity: Capacity,
    held: usize,
    held_by: HashMap<Origin, usize>,
}

impl ResourceLedger {
    fn new() -> Self {
        let capacity = Capacity { total: usize::MAX, per_peer: None };
        Self { capacity, held: 0, held_by: HashMap::new() }
    }

    fn add(
        &mut self,
        resource: ServerResource,
        origin: Origin,
        more: usize,
    ) -> Result<(), OverShare> {
        let own = self.held_by.get(&origin).copied().unwrap_or(0);
        let (wanted, others) = (own.saturating_add(more), self.held - own);
        let share = self.capacity.share(others);
        if wanted > share {
            let total = self.capacity.total;
            return Err(OverShare { resource, wanted, share, others, total });
        }
        self.held += more;
        self.held_by.insert(origin, wanted);
        Ok(())
    }

    fn give_back(&mut self, origin: Origin, less: usize) {
        self.held -= less;
        if let Entry::Occupied(mut own) = self.held_by.entry(origin) {
            *own.get_mut() -= less;
            if *own.get() == 0 {
                own.remove();
            }
        }
    }
}

/// Why something is not held for a peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{wanted} {} of one peer: it may have {share} of the server's {total} while others have {others}",
    resource.words()
)]
pub(super) struct OverShare {
    resource: ServerResource,
    wanted: usize,
    share: usize,
    others: usize,
    total: usize,
}

impl From<OverShare> for Ending {
    fn from(over: OverShare) -> Self {
        Self::OverShare { what: over.resource.words(), wanted: over.wanted, share: over.share }
    }
}

/// What all peers of a server hold.
#[derive(Debug)]
pub(super) struct ServerQuota(Mutex<[ResourceLedger; ServerResource::COUNT]>);

impl ServerQuota {
    /// Makes one without limits.
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self(Mutex::new(std::array::from_fn(|_| ResourceLedger::new()))))
    }

    fn ledgers(&self) -> MutexGuard<'_, [ResourceLedger; ServerResource::COUNT]> {
        // Nothing panics between two changes that belong together.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets the limit of a resource; charges stay as they are.
    pub(super) fn set_capacity(&self, resource: ServerResource, capacity: Capacity) {
        self.ledgers()[resource as usize].capacity = capacity;
    }

    /// Returns how much each peer holds of a resource.
    pub(super) fn usage(&self, resource: ServerResource) -> ResourceUse {
        let ledger = &self.ledgers()[resource as usize];
        ResourceUse {
            held: ledger.held,
            limit: Some(ledger.capacity.total).filter(|total| *total < usize::MAX),
            peers: ledger.held_by.len(),
            most_of_a_peer: ledger.held_by.values().copied().max().unwrap_or(0),
        }
    }

    /// Returns how much is held of something.
    pub(super) fn held(&self, resource: ServerResource) -> usize {
        self.ledgers()[resource as usize].held
    }
}

/// The account of a peer.
#[derive(Clone, Debug, Default)]
pub(super) struct PeerAccount(Option<(Arc<ServerQuota>, Origin)>);

impl PeerAccount {
    /// The account of a server's peer. Charges without a server go to the default account, which
    /// has no limit.
    pub(super) fn of_peer(quota: &Arc<ServerQuota>, origin: Origin) -> Self {
        Self(Some((Arc::clone(quota), origin)))
    }

    /// Opens a charge of nothing.
    pub(super) fn charge(&self, resource: ServerResource) -> ServerCharge {
        ServerCharge { account: self.clone(), resource, amount: 0 }
    }
}

/// A charge to a peer, until it is dropped.
#[derive(Debug)]
pub(super) struct ServerCharge {
    account: PeerAccount,
    resource: ServerResource,
    amount: usize,
}

impl ServerCharge {
    /// Returns the amount.
    pub(super) fn amount(&self) -> usize {
        self.amount
    }

    pub(super) fn account(&self) -> &PeerAccount {
        &self.account
    }

    /// Holds that much instead. Less is never refused.
    ///
    /// # Errors
    ///
    /// [`OverShare`] if it is more than the peer may have; what was held stays held.
    pub(super) fn set(&mut self, amount: usize) -> Result<(), OverShare> {
        if amount == self.amount {
            return Ok(());
        }
        if let PeerAccount(Some((quota, origin))) = &self.account {
            let ledger = &mut quota.ledgers()[self.resource as usize];
            match amount.checked_sub(self.amount) {
                Some(more) => ledger.add(self.resource, *origin, more)?,
                None => ledger.give_back(*origin, self.amount - amount),
            }
        }
        self.amount = amount;
        Ok(())
    }
}

impl Drop for ServerCharge {
    fn drop(&mut self) {
        let given_back = self.set(0);
        debug_assert!(given_back.is_ok(), "less is never refused");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PEERS: [Origin; 3] = [Origin::User(1), Origin::User(2), Origin::User(3)];

    /// Takes one at a time for a peer, until that is refused; returns what it has.
    fn fill(quota: &Arc<ServerQuota>, origin: Origin) -> ServerCharge {
        let mut charge = PeerAccount::of_peer(quota, origin).charge(ServerResource::Connections);
        while charge.set(charge.amount() + 1).is_ok() {}
        charge
    }

    fn quota_of(total: usize, per_peer: Option<usize>) -> Arc<ServerQuota> {
        let quota = ServerQuota::new();
        quota.set_capacity(ServerResource::Connections, Capacity { total, per_peer });
        quota
    }

    #[test]
    fn each_peer_leaves_some_to_the_next() {
        let quota = quota_of(64, None);
        let charges = PEERS.map(|peer| fill(&quota, peer));
        assert_eq!(charges.each_ref().map(ServerCharge::amount), [48, 12, 3]);
        assert_eq!(quota.held(ServerResource::Connections), 63);
        assert_eq!(quota.held(ServerResource::Files), 0);
    }

    #[test]
    fn what_is_dropped_is_free_again() {
        let quota = quota_of(8, None);
        drop(fill(&quota, PEERS[0]));
        assert_eq!(quota.held(ServerResource::Connections), 0);
        assert!(quota.ledgers()[0].held_by.is_empty());
        assert_eq!(fill(&quota, PEERS[1]).amount(), 6);
    }

    #[test]
    fn a_peer_may_have_all_if_that_is_said() {
        let quota = quota_of(8, Some(20));
        let all = fill(&quota, PEERS[0]);
        assert_eq!(all.amount(), 8);
        let refused =
            PeerAccount::of_peer(&quota, PEERS[1]).charge(ServerResource::Connections).set(1);
        let words = refused.expect_err("none is left").to_string();
        let expected =
            "1 connections of one peer: it may have 0 of the server's 8 while others have 8";
        assert_eq!(words, expected);
    }

    #[test]
    fn of_little_the_first_gets_one() {
        assert_eq!(fill(&quota_of(1, None), PEERS[0]).amount(), 1);
        assert_eq!(fill(&quota_of(2, None), PEERS[0]).amount(), 1);
        assert_eq!(fill(&quota_of(0, None), PEERS[0]).amount(), 0);
    }

    #[test]
    fn what_no_server_has_is_not_limited() {
        let mut charge = PeerAccount::default().charge(ServerResource::Files);
        assert_eq!(charge.set(usize::MAX), Ok(()));
    }
}
