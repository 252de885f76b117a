//! What a server offers its clients.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use binder_rpc::handshake::FdMode;
use binder_rpc::{ProtocolVersion, SessionLimits};

use super::endpoint::PeerAddress;
use super::error::RpcError;
use super::peer::PeerIdentity;
use super::quota::{self, Capacity, ServerQuota, ServerResource};
use crate::transport::CallerIdentity;
use crate::{SpIBinder, StatusCode, death};

/// What makes the root object of each session.
pub(super) type MakeRoot = dyn Fn(&PeerAddress) -> Option<SpIBinder> + Send + Sync;

/// What a server gives its clients.
#[derive(Clone)]
pub(super) enum Root {
    /// The same object to all.
    Shared(SpIBinder),
    /// To each session one of its own.
    PerSession(Arc<MakeRoot>),
}

impl Root {
    /// Returns the root object of a new session.
    pub(super) fn for_session(&self, peer: &PeerAddress) -> Option<SpIBinder> {
        match self {
            Self::Shared(object) => Some(object.clone()),
            Self::PerSession(make) => {
                let made = catch_unwind(AssertUnwindSafe(|| make(peer)));
                made.unwrap_or_else(|_| {
                    tracing::error!(?peer, "what makes root objects panicked");
                    None
                })
            }
        }
    }
}

impl fmt::Debug for Root {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Shared(object) => f.debug_tuple("Shared").field(object).finish(),
            Self::PerSession(_) => f.debug_tuple("PerSession").finish_non_exhaustive(),
        }
    }
}

/// What decides whether a peer gets a session, and with which root object.
type Authorize = dyn Fn(&PeerIdentity) -> Result<Option<SpIBinder>, String> + Send + Sync;

/// What decides on sessions, as the program said.
#[derive(Clone)]
pub(super) struct Authorizer(pub(super) Arc<Authorize>);

impl Authorizer {
    /// Returns the root object of a peer, `None` for the one that others get, or why it gets no session.
    pub(super) fn decide(&self, peer: &PeerIdentity) -> Result<Option<SpIBinder>, RpcError> {
        let decided = catch_unwind(AssertUnwindSafe(|| (self.0)(peer)));
        let decided =
            decided.unwrap_or_else(|_| Err("what decides on sessions panicked".to_owned()));
        decided.map_err(RpcError::NotAuthorized)
    }
}

impl fmt::Debug for Authorizer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Authorizer")
    }
}

/// What hears why peers are refused.
type HearRefusal = dyn Fn(&PeerAddress, &str) + Send + Sync;

/// What hears of refusals, as the program said.
#[derive(Clone)]
pub(super) struct RefusalListener(pub(super) Arc<HearRefusal>);

impl RefusalListener {
    /// Tells of a refusal.
    pub(super) fn tell(&self, peer: &PeerAddress, reason: &dyn fmt::Display) {
        let reason = reason.to_string();
        death::tell(|| (self.0)(peer, &reason));
    }
}

impl fmt::Debug for RefusalListener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RefusalListener")
    }
}

/// What decides whether a call is served.
type Guard = dyn Fn() -> Result<(), StatusCode> + Send + Sync;

/// What decides on calls, as the program said.
#[derive(Clone)]
pub(super) struct CallGuard(pub(super) Arc<Guard>);

impl CallGuard {
    /// Whether a call is served, or what it is answered with.
    pub(super) fn admit(&self) -> Result<(), StatusCode> {
        catch_unwind(AssertUnwindSafe(|| (self.0)())).unwrap_or(Err(StatusCode::UNKNOWN_ERROR))
    }
}

impl fmt::Debug for CallGuard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CallGuard")
    }
}

/// What decides as which user a call is passed on.
type DecideUser = dyn Fn(&CallerIdentity) -> Option<u32> + Send + Sync;

/// What decides as which user calls are passed on to a device, as the program said.
#[derive(Clone)]
pub(super) struct ForwardingUser(pub(super) Arc<DecideUser>);

impl ForwardingUser {
    /// The user as whom a caller's call is passed on; `None` is that of this process.
    pub(super) fn decide(&self, caller: &CallerIdentity) -> Result<Option<u32>, StatusCode> {
        let decided = catch_unwind(AssertUnwindSafe(|| (self.0)(caller)));
        decided.map_err(|_| StatusCode::UNKNOWN_ERROR)
    }
}

impl fmt::Debug for ForwardingUser {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ForwardingUser")
    }
}

/// What becomes of callers' users where calls are passed on from one transport to another.
#[derive(Clone, Debug, Default)]
pub(super) struct CallerTerms {
    /// Whether calls of ours say for whom they are made.
    pub(super) tells: bool,
    /// As whom calls of the peer's are made over a device.
    pub(super) forwarding_user: Option<ForwardingUser>,
}

/// What hears of calls that were served.
type ObserveCall = dyn Fn(Duration, Result<(), StatusCode>) + Send + Sync;

/// What hears how long calls take, as the program said.
#[derive(Clone)]
pub(super) struct CallObserver(pub(super) Arc<ObserveCall>);

impl CallObserver {
    /// Tells of a call.
    pub(super) fn tell(&self, began: Instant, status: Result<(), StatusCode>) {
        let took = began.elapsed();
        if catch_unwind(AssertUnwindSafe(|| (self.0)(took, status))).is_err() {
            tracing::error!("what hears of calls panicked");
        }
    }
}

impl fmt::Debug for CallObserver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CallObserver")
    }
}

/// What clients may ask.
#[derive(Clone, Debug)]
pub(super) struct Offer {
    pub(super) root: Root,
    pub(super) version: ProtocolVersion,
    pub(super) limits: SessionLimits,
    pub(super) fd_modes: Vec<FdMode>,
    pub(super) max_threads: u32,
    pub(super) max_connections: usize,
    /// Three quarters of what others leave, if nothing is said.
    pub(super) max_connections_per_peer: Option<usize>,
    pub(super) max_queued_bytes: usize,
    pub(super) max_queued_files: usize,
    pub(super) max_handshakes: usize,
    pub(super) max_objects: usize,
    pub(super) max_streams: usize,
    pub(super) authorizer: Option<Authorizer>,
    pub(super) refusals: Option<RefusalListener>,
    pub(super) callers: CallerTerms,
    pub(super) guard: Option<CallGuard>,
    pub(super) observer: Option<CallObserver>,
    pub(super) timeout: Duration,
}

impl Offer {
    pub(super) fn new(root: SpIBinder) -> Self {
        Self {
            root: Root::Shared(root),
            version: ProtocolVersion::NEWEST,
            limits: SessionLimits::default(),
            fd_modes: vec![FdMode::None],
            max_threads: 1,
            max_connections: 1_024,
            max_connections_per_peer: None,
            max_queued_bytes: 32 << 20,
            max_queued_files: 512,
            max_handshakes: 128,
            max_objects: 1_000_000,
            max_streams: 512,
            authorizer: None,
            refusals: None,
            callers: CallerTerms::default(),
            guard: None,
            observer: None,
            timeout: Duration::from_secs(10),
        }
    }

    /// Returns how many connections a client is told of: no more than it will get.
    pub(super) fn granted_threads(&self) -> u32 {
        let most = u32::try_from(self.limits.max_connections).unwrap_or(u32::MAX);
        self.max_threads.min(most).max(1)
    }

    /// Tells how much all clients may hold, by what this process may open now.
    pub(super) fn set_capacities(&self, quota: &ServerQuota) {
        let descriptors = quota::share_of_descriptors();
        let connections =
            Capacity { total: self.max_connections, per_peer: self.max_connections_per_peer };
        let bytes = Capacity { total: self.max_queued_bytes, per_peer: None };
        let files = Capacity { total: self.max_queued_files, per_peer: None };
        quota.set_capacity(ServerResource::Connections, connections.within(descriptors));
        quota.set_capacity(ServerResource::WaitingBytes, bytes);
        quota.set_capacity(ServerResource::Files, files.within(descriptors));
        let handshakes = Capacity { total: self.max_handshakes, per_peer: None };
        let objects = Capacity { total: self.max_objects, per_peer: None };
        quota.set_capacity(ServerResource::Handshakes, handshakes);
        quota.set_capacity(ServerResource::Objects, objects);
        let streams = Capacity { total: self.max_streams, per_peer: None };
        // Each has a file and something to be woken by.
        quota.set_capacity(ServerResource::Streams, streams.within(descriptors / 2));
    }
}
