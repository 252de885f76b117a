//! The sessions of a server.

use std::sync::Arc;
use std::time::Instant;

use binder_rpc::SessionId;

use super::super::peer::PeerIdentity;
use super::super::shared::SharedSession;
use super::{Inner, ServerState};

/// A session, and what its server alone knows of it.
#[derive(Debug)]
pub(super) struct AdmittedSession {
    pub(super) shared: Arc<SharedSession>,
    pub(super) peer: PeerIdentity,
    /// The first one's is 1. Its id is a secret of its client's.
    pub(super) number: u64,
    pub(super) began: Instant,
}

impl Inner {
    /// Takes down a session that begins.
    pub(super) fn admit(&self, id: SessionId, session: &Arc<SharedSession>, peer: &PeerIdentity) {
        let mut state = self.state();
        state.admitted += 1;
        let (shared, number) = (Arc::clone(session), state.admitted);
        let session = AdmittedSession { shared, peer: peer.clone(), number, began: Instant::now() };
        state.sessions.insert(id, session);
    }
}

impl ServerState {
    pub(super) fn sessions(&self) -> Vec<Arc<SharedSession>> {
        self.sessions.values().map(|session| Arc::clone(&session.shared)).collect()
    }
}
