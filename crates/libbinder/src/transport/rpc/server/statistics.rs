//! What a server tells of itself.

use std::sync::atomic::Ordering;

use super::super::quota::ServerResource;
use super::{Inner, RpcServer};

/// A server at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ServerStatistics {
    /// Sessions that there are.
    pub sessions: usize,
    /// Threads that serve a call or open a connection; idle connections have none.
    pub threads: usize,
    /// Objects of this side that clients hold.
    pub own_objects: usize,
    /// Objects of clients that this side holds.
    pub client_objects: usize,
    /// Connections that have come since the server was made, with those that were refused.
    pub accepted: u64,
    /// Connections that were refused, and sessions that were ended because of what their client did.
    pub refused: u64,
    /// Sockets, in both directions and also before they belong to a session.
    pub connections: ResourceUse,
    /// Connections that have not said what they want yet.
    pub handshakes: ResourceUse,
    /// Objects of both sides, counted for each session in steps of 64.
    pub objects: ResourceUse,
    /// Bytes of one-way calls that wait, and of long messages of which a part is missing.
    pub waiting_bytes: ResourceUse,
    /// Descriptors of these.
    pub waiting_files: ResourceUse,
    /// Streams that are relayed in the place of descriptors.
    pub streams: ResourceUse,
}

/// What the peers of a server have of something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResourceUse {
    /// All of them together.
    pub held: usize,
    /// How much there may be, as was said when the last connection came; `None` before the first.
    pub limit: Option<usize>,
    /// How many peers have some: users of this machine, addresses of others, virtual machines.
    pub peers: usize,
    /// What the peer has that has most.
    pub most_of_a_peer: usize,
}

impl RpcServer {
    /// Tells what there is at this moment. It looks at each session once, as a client's call does.
    #[must_use]
    pub fn statistics(&self) -> ServerStatistics {
        self.inner.statistics()
    }
}

impl Inner {
    pub(super) fn statistics(&self) -> ServerStatistics {
        let (own_objects, client_objects) = self.objects();
        let (sessions, threads) = {
            let state = self.state();
            (state.sessions.len(), state.threads)
        };
        let usage = |resource| self.quota.usage(resource);
        ServerStatistics {
            sessions,
            threads,
            own_objects,
            client_objects,
            accepted: self.accepted.load(Ordering::Relaxed),
            refused: self.refused.load(Ordering::Relaxed),
            connections: usage(ServerResource::Connections),
            handshakes: usage(ServerResource::Handshakes),
            objects: usage(ServerResource::Objects),
            waiting_bytes: usage(ServerResource::WaitingBytes),
            waiting_files: usage(ServerResource::Files),
            streams: usage(ServerResource::Streams),
        }
    }
}
