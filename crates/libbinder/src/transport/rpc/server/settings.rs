//! The settings of a server.

use std::sync::Arc;
use std::time::Duration;

use binder_rpc::handshake::FdMode;
use binder_rpc::{ProtocolVersion, SessionLimits};

use super::super::endpoint::PeerAddress;
use super::super::offer::{
    Authorizer, CallGuard, CallObserver, ForwardingUser, RefusalListener, Root,
};
use super::super::peer::PeerIdentity;
#[cfg(feature = "tls")]
use super::super::{RpcError, TlsCredentials, endpoint::ServerListener};
use super::RpcServer;
use crate::transport::CallerIdentity;
use crate::{SpIBinder, StatusCode};

impl RpcServer {
    /// Gives each session a root object of its own, which `make` makes when the session begins; a client
    /// for which it makes none has no root object.
    pub fn set_per_session_root_object(
        &self,
        make: impl Fn(&PeerAddress) -> Option<SpIBinder> + Send + Sync + 'static,
    ) {
        self.inner.offer().root = Root::PerSession(Arc::new(make));
    }

    /// Has each session decided upon before it begins: `decide` returns the root object of this peer, `None` for the one
    /// that others get, or in words why it gets no session. The words are logged, and not told to the peer.
    ///
    /// Further connections join a session only as the same user, and with the same certificate.
    pub fn set_authorizer(
        &self,
        decide: impl Fn(&PeerIdentity) -> Result<Option<SpIBinder>, String> + Send + Sync + 'static,
    ) {
        self.inner.offer().authorizer = Some(Authorizer(Arc::new(decide)));
    }

    /// Has each call of every session from now on decided upon when it has come, before it is served: `admit` says
    /// whether it is, or the status that is its answer. It runs on the thread that serves, and a call costs as much more
    /// as it takes. Pings and questions for interfaces are calls; references that are given back are none.
    ///
    /// For servers that may serve for a while only, as the holder of a lease: a process that was stopped finds calls that
    /// came meanwhile.
    pub fn set_call_guard(
        &self,
        admit: impl Fn() -> Result<(), StatusCode> + Send + Sync + 'static,
    ) {
        self.inner.offer().guard = Some(CallGuard(Arc::new(admit)));
    }

    /// Has calls that are made to serve others say for which user of this machine: the caller of the call that is served.
    /// The client's program decides what that is worth ([`ThreadState::claimed_uid`](crate::ThreadState::claimed_uid)).
    pub fn set_tells_callers(&self, tells: bool) {
        self.inner.offer().callers.tells = tells;
    }

    /// Says as which user calls of clients are made that this process passes on to a device, of sessions from now on:
    /// `decide` returns the user for a caller, or `None` for this process's own. Such calls are those of other
    /// transports' objects that were given away here.
    ///
    /// To be another user for the time of a call a process needs `CAP_SETUID`; without it such calls fail with
    /// [`StatusCode::PERMISSION_DENIED`]. `decide` runs for each call, on the thread that serves it.
    pub fn set_forwarding_user(
        &self,
        decide: impl Fn(&CallerIdentity) -> Option<u32> + Send + Sync + 'static,
    ) {
        self.inner.offer().callers.forwarding_user = Some(ForwardingUser(Arc::new(decide)));
    }

    /// Has a function hear of each call of every session from now on when it was served: how long that took, and the
    /// status if it failed. It runs on the thread that serves, before a caller is answered; without it no clock is read. One-ways
    /// are calls here, and calls of no object are none.
    pub fn set_call_observer(
        &self,
        observe: impl Fn(Duration, Result<(), StatusCode>) + Send + Sync + 'static,
    ) {
        self.inner.offer().observer = Some(CallObserver(Arc::new(observe)));
    }

    /// Has a function hear which peers this server refuses, which sessions it ends, and why; all of it is logged as
    /// well. It runs on the thread that refuses.
    pub fn set_refusal_listener(&self, hear: impl Fn(&PeerAddress, &str) + Send + Sync + 'static) {
        self.inner.offer().refusals = Some(RefusalListener(Arc::new(hear)));
    }

    /// Speaks TLS with these credentials from the next connection on: renewed certificates, other issuers, new lists of
    /// revoked ones. Sessions that there are go on.
    ///
    /// # Errors
    ///
    /// [`RpcError::Tls`] for unusable credentials, with which nothing changes; [`RpcError::NotTls`] for a server of
    /// another kind.
    #[cfg(feature = "tls")]
    pub fn set_tls_credentials(&self, credentials: &TlsCredentials) -> Result<(), RpcError> {
        let listener = self.inner.listener();
        let Some(ServerListener::Tls(_, tls)) = listener.as_deref() else {
            return Err(RpcError::NotTls);
        };
        tls.set(credentials.server()?);
        Ok(())
    }

    /// Says how descriptors may travel: not at all, if nothing is said.
    pub fn set_supported_file_descriptor_transport_modes(&self, modes: &[FdMode]) {
        self.inner.offer().fd_modes = modes.to_vec();
    }

    /// Says on how many connections of each session calls are served at once; 1 if nothing is said.
    pub fn set_max_threads(&self, threads: usize) {
        self.inner.offer().max_threads = u32::try_from(threads).unwrap_or(u32::MAX).max(1);
    }

    /// Says how many connections all clients may have together, in both directions; 1024 if nothing is
    /// said. There are never more than three eighths of what this process may open (`RLIMIT_NOFILE`).
    pub fn set_max_connections(&self, connections: usize) {
        self.inner.offer().max_connections = connections;
    }

    /// Says how many of them one peer may have: a user of this machine, an address (of IPv6, all with
    /// the same first half), a virtual machine. Three quarters of what the others leave if nothing is
    /// said, so that none keeps the next one out.
    pub fn set_max_connections_per_peer(&self, connections: usize) {
        self.inner.offer().max_connections_per_peer = Some(connections);
    }

    /// Says how many bytes may wait, of all clients together: of one-way calls for earlier ones, and of long messages
    /// for their rest. 32 MiB if nothing is said. One peer may have three quarters of what the others leave.
    pub fn set_max_queued_bytes(&self, bytes: usize) {
        self.inner.offer().max_queued_bytes = bytes;
    }

    /// Says how many descriptors may wait, of all clients together: with one-way calls, for the rest of
    /// their message, or, of files that are relayed, for the client to open them. 512 if nothing is said, and never more than three eighths of what this process may
    /// open. One peer may have three quarters of what the others leave.
    pub fn set_max_queued_files(&self, files: usize) {
        self.inner.offer().max_queued_files = files;
    }

    /// Says how many connections may be in their handshake, of all clients together; 128 if nothing is said. Each has a
    /// thread. One peer may have three quarters of what the others leave.
    pub fn set_max_handshakes(&self, handshakes: usize) {
        self.inner.offer().max_handshakes = handshakes;
    }

    /// Says how many objects all sessions may hold together, of both sides; a million if nothing is said. One peer may
    /// have three quarters of what the others leave. Each session counts for a multiple of 64.
    pub fn set_max_objects(&self, objects: usize) {
        self.inner.offer().max_objects = objects;
    }

    /// Says how many streams may be relayed, of all clients together, where files travel as
    /// [`FdMode::Relayed`](super::super::FileDescriptorTransportMode::Relayed); 512 if nothing is said. Each has a thread.
    /// One peer may have three quarters of what the others leave, and one session 64.
    pub fn set_max_relayed_streams(&self, streams: usize) {
        self.inner.offer().max_streams = streams;
    }

    /// Says which version is spoken at most.
    pub fn set_protocol_version(&self, version: ProtocolVersion) {
        self.inner.offer().version = version;
    }

    /// Says how much each client may ask.
    pub fn set_limits(&self, limits: SessionLimits) {
        self.inner.offer().limits = limits;
    }

    /// Says how long a client may take to open a connection; 10 s if nothing is said.
    pub fn set_handshake_timeout(&self, timeout: Duration) {
        self.inner.offer().timeout = timeout;
    }
}
