//! The objects of a session, the messages due about them, and their charges.

use std::os::fd::OwnedFd;
use std::sync::{Arc, Weak};

use binder_rpc::{PendingRelease, Released, SessionObjects};

use super::proxy::RpcProxy;
use super::quota::{OverShare, PeerAccount, ServerCharge, ServerResource};
use super::shared::Terms;
use crate::transport::LocalObject;

type ObjectsById = SessionObjects<Arc<dyn LocalObject>, Weak<RpcProxy>, OwnedFd>;

/// The objects of a session, and the messages due about them.
pub(super) struct SessionTable {
    pub(super) session: ObjectsById,
    /// References to be given back, by address: a peer that does not read must not make it grow.
    pub(super) releases: Vec<PendingRelease>,
    /// Whether the last object is gone; the session ends when that has been sent.
    pub(super) is_last: bool,
    /// What the one-way calls hold that wait.
    queued_bytes: ServerCharge,
    queued_files: ServerCharge,
    /// What the session's objects are charged as.
    pub(super) objects: ServerCharge,
    /// What the peer has asked for, and got.
    pub(super) served: ServedCalls,
}

/// Calls of a peer, counted where the session's lock is held anyway.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ServedCalls {
    /// With one-ways; calls of no object are none.
    pub(super) calls: u64,
    /// Bytes of the calls' parcels.
    pub(super) received_bytes: u64,
    /// Bytes of the answers' parcels.
    pub(super) sent_bytes: u64,
}

impl ServedCalls {
    /// Takes down a call with a parcel of that many bytes.
    pub(super) fn count(&mut self, bytes: usize) {
        self.calls += 1;
        self.received_bytes += bytes as u64;
    }
}

/// How finely objects are charged: a session that has a few does not go to the server's ledger for each.
const OBJECTS_STEP: usize = 64;

impl SessionTable {
    /// Makes one of a session that holds nothing; `account` is charged with what it will.
    pub(super) fn new(terms: &Terms, account: &PeerAccount) -> Self {
        Self {
            session: SessionObjects::new(terms.role, terms.version, terms.limits),
            releases: Vec::new(),
            is_last: false,
            queued_bytes: account.charge(ServerResource::WaitingBytes),
            queued_files: account.charge(ServerResource::Files),
            objects: account.charge(ServerResource::Objects),
            served: ServedCalls::default(),
        }
    }

    /// Charges the peer with the objects of the session.
    pub(super) fn charge_objects(&mut self) -> Result<(), OverShare> {
        let (ours, theirs) = self.session.objects();
        let (count, charged) = (ours + theirs, self.objects.amount());
        if count > charged || charged - count > 2 * OBJECTS_STEP {
            self.objects.set(count.next_multiple_of(OBJECTS_STEP))?;
        }
        Ok(())
    }

    /// Charges the peer with less, if an object is gone.
    pub(super) fn discharge_objects(&mut self, released: &Released<Arc<dyn LocalObject>>) {
        if released.object.is_some() || released.release.is_some() {
            // Less is never refused.
            let _ = self.charge_objects();
        }
    }

    /// Charges the peer with the one-way calls that wait.
    pub(super) fn charge_queue(&mut self) -> Result<(), OverShare> {
        let (bytes, files) = self.session.queued();
        self.queued_bytes.set(bytes)?;
        self.queued_files.set(files)
    }

    /// Adds to the references to be given back.
    pub(super) fn owe(&mut self, release: PendingRelease) {
        match self.releases.binary_search_by_key(&release.address, |it| it.address) {
            Ok(place) => self.releases[place].amount += release.amount,
            Err(place) => self.releases.insert(place, release),
        }
    }
}
