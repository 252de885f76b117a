//! A server: it gives its root object to every client that connects.

use std::cell::Cell;
use std::collections::HashMap;
use std::io;
use std::mem;
use std::net::{SocketAddr, TcpListener, ToSocketAddrs};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::thread;
use std::time::Duration;

use binder_rpc::handshake::{FdMode, HandshakeError, Opening};
use binder_rpc::{CallDirection, Ending, ProtocolVersion, SessionId, SessionLimits, SessionSide};

use super::connection::Connection;
use super::endpoint::{Connected, PeerAddress, ServerListener};
use super::error::RpcError;
use super::handshake::{self, Deadline};
use super::offer::{Offer, Root};
use super::peer::Peer;
use super::pool::ConnectionUse;
use super::quota::{PeerAccount, ServerQuota, ServerResource};
use super::shared::{SharedSession, Terms};
use crate::{SpIBinder, StatusCode};

thread_local! {
    /// The server that this thread serves a connection of, for comparison only.
    static SERVES: Cell<*const Inner> = const { Cell::new(ptr::null()) };
}

/// Listens on a socket and gives every client a session with its root object.
///
/// Set what it offers, then [`start`](Self::start) it or [`join`](Self::join) it with this thread.
/// Dropping it shuts it down.
#[derive(Debug)]
pub struct RpcServer {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    /// Until the server is shut down.
    listener: Mutex<Option<Arc<ServerListener>>>,
    offer: Mutex<Offer>,
    quota: Arc<ServerQuota>,
    state: Mutex<State>,
    changed: Condvar,
    is_closing: AtomicBool,
}

#[derive(Debug, Default)]
struct State {
    sessions: HashMap<SessionId, Arc<SharedSession>>,
    /// Connections whose handshake is not done, to be closed with the server.
    opening: Vec<Weak<super::link::StreamSocket>>,
    accepting: Option<thread::JoinHandle<()>>,
    /// Those of connections, in their handshake or served.
    threads: usize,
}

impl RpcServer {
    /// Serves a Unix socket at a path, or after a NUL at a name in the abstract namespace.
    ///
    /// A socket's file there at which no server listens any more is replaced. The file is removed
    /// when the server is shut down or dropped, if it is still this server's.
    ///
    /// # Errors
    ///
    /// [`RpcError::System`] if it cannot be bound.
    pub fn new_unix(root: SpIBinder, path: impl AsRef<Path>) -> Result<Self, RpcError> {
        Ok(Self::new(root, ServerListener::bind_unix(path.as_ref())?))
    }

    /// Serves a socket that is bound, of Unix, TCP or vsock: from init, or from another process
    /// that starts this one.
    ///
    /// # Errors
    ///
    /// [`RpcError::System`] if it cannot listen.
    pub fn new_bound_socket(root: SpIBinder, socket: OwnedFd) -> Result<Self, RpcError> {
        Ok(Self::new(root, ServerListener::of_bound(socket)?))
    }

    /// Serves clients that send each connection over `socket`, as a descriptor.
    ///
    /// # Errors
    ///
    /// [`RpcError::System`] if it is no socket.
    pub fn new_unix_domain_bootstrap(root: SpIBinder, socket: OwnedFd) -> Result<Self, RpcError> {
        Ok(Self::new(root, ServerListener::of_bootstrap(socket)?))
    }

    /// Serves the virtual machine `cid`, or from within one its host, 2; with `u32::MAX` all of them,
    /// and with 1 this machine alone.
    ///
    /// # Errors
    ///
    /// [`RpcError::System`] if it cannot be bound.
    pub fn new_vsock(root: SpIBinder, cid: u32, port: u32) -> Result<Self, RpcError> {
        Ok(Self::new(root, ServerListener::bind_vsock(cid, port)?))
    }

    /// Serves a TCP port, to every client that can reach it: prefer TLS.
    ///
    /// The address is an `IpAddr`, or text as Android has it; port 0 lets the system choose, and
    /// [`inet_address`](Self::inet_address) tells what.
    ///
    /// # Errors
    ///
    /// [`RpcError::System`] if it cannot be bound, or the number is none of a port.
    pub fn new_inet<A>(
        root: SpIBinder,
        address: A,
        port: impl TryInto<u16>,
    ) -> Result<Self, RpcError>
    where
        (A, u16): ToSocketAddrs,
    {
        Ok(Self::new(root, ServerListener::Inet(bind_inet(address, port)?)))
    }

    /// Serves a TCP port over TLS, to clients with a certificate that `credentials` trust.
    ///
    /// # Errors
    ///
    /// [`RpcError::System`] if it cannot be bound, [`RpcError::Tls`] for unusable credentials.
    #[cfg(feature = "tls")]
    pub fn new_inet_tls<A>(
        root: SpIBinder,
        address: A,
        port: impl TryInto<u16>,
        credentials: &super::tls::TlsCredentials,
    ) -> Result<Self, RpcError>
    where
        (A, u16): ToSocketAddrs,
    {
        let listener = bind_inet(address, port)?;
        Ok(Self::new(root, ServerListener::Tls(listener, credentials.server()?)))
    }

    fn new(root: SpIBinder, listener: ServerListener) -> Self {
        let inner = Inner {
            listener: Mutex::new(Some(Arc::new(listener))),
            offer: Mutex::new(Offer::new(root)),
            quota: ServerQuota::new(),
            state: Mutex::default(),
            changed: Condvar::new(),
            is_closing: AtomicBool::new(false),
        };
        Self { inner: Arc::new(inner) }
    }

    /// Gives each session a root object of its own, which `make` makes when the session begins; a client
    /// for which it makes none has no root object.
    pub fn set_per_session_root_object(
        &self,
        make: impl Fn(&PeerAddress) -> Option<SpIBinder> + Send + Sync + 'static,
    ) {
        self.inner.offer().root = Root::PerSession(Arc::new(make));
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

    /// Says how many bytes of one-way calls may wait for earlier ones, of all clients together; 64 MiB if
    /// nothing is said. One peer may have three quarters of what the others leave.
    pub fn set_max_queued_bytes(&self, bytes: usize) {
        self.inner.offer().max_queued_bytes = bytes;
    }

    /// Says how many descriptors may wait, of all clients together: with one-way calls, or for the rest of
    /// their message. 512 if nothing is said, and never more than three eighths of what this process may
    /// open. One peer may have three quarters of what the others leave.
    pub fn set_max_queued_files(&self, files: usize) {
        self.inner.offer().max_queued_files = files;
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

    /// Returns where a TCP server listens: the port that the system chose, if it was to choose.
    #[must_use]
    pub fn inet_address(&self) -> Option<SocketAddr> {
        match &*self.inner.listener()? {
            ServerListener::Inet(listener) => listener.local_addr().ok(),
            #[cfg(feature = "tls")]
            ServerListener::Tls(listener, _) => listener.local_addr().ok(),
            ServerListener::Unix(..) | ServerListener::Vsock(..) | ServerListener::Bootstrap(_) => {
                None
            }
        }
    }

    /// Returns the port of a vsock server: the one that the system chose, if it was to choose.
    #[must_use]
    pub fn vsock_port(&self) -> Option<u32> {
        let listener = self.inner.listener()?;
        if let ServerListener::Vsock(port) = &*listener { port.number() } else { None }
    }

    /// Returns how many sessions there are.
    #[must_use]
    pub fn sessions(&self) -> usize {
        self.inner.state().sessions.len()
    }

    /// Returns how many connections there are, in both directions, and those that are being opened.
    #[must_use]
    pub fn connections(&self) -> usize {
        self.inner.quota.held(ServerResource::Connections)
    }

    /// Accepts clients with a thread of its own.
    ///
    /// # Errors
    ///
    /// [`RpcError::System`] without a thread.
    pub fn start(&self) -> Result<(), RpcError> {
        let inner = Arc::clone(&self.inner);
        let thread = thread::Builder::new().name("rpc-accept".to_owned());
        let spawned = thread.spawn(move || inner.accept_all());
        let spawned = spawned.map_err(RpcError::system("start a thread that accepts"))?;
        self.inner.state().accepting = Some(spawned);
        Ok(())
    }

    /// Accepts clients with this thread, until the server is shut down.
    pub fn join(&self) {
        self.inner.accept_all();
    }

    /// Stops accepting and ends all sessions; waits until no call runs any more.
    ///
    /// # Errors
    ///
    /// [`RpcError::WithinCall`] from within a call of a client, or the end of an object that it had,
    /// which are not waited for: the server is shut down, but calls of its clients may still run.
    pub fn shutdown(&self) -> Result<(), RpcError> {
        self.inner.close();
        if SERVES.get() == Arc::as_ptr(&self.inner) {
            return Err(RpcError::WithinCall);
        }
        let accepting = self.inner.state().accepting.take();
        // It does not panic; if it did, it would not be accepting either.
        let _ = accepting.map(thread::JoinHandle::join);
        let mut state = self.inner.state();
        while state.threads > 0 {
            state = self.inner.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        Ok(())
    }
}

impl Drop for RpcServer {
    fn drop(&mut self) {
        self.inner.close();
    }
}

impl Inner {
    fn offer(&self) -> MutexGuard<'_, Offer> {
        self.offer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn close(&self) {
        self.is_closing.store(true, Ordering::Release);
        let listener = self.listener.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(listener) = listener {
            listener.close();
        }
        let state = self.state();
        let sessions: Vec<_> = state.sessions.values().cloned().collect();
        let opening: Vec<_> = state.opening.iter().filter_map(Weak::upgrade).collect();
        drop(state);
        opening.iter().for_each(|link| link.close());
        sessions.iter().for_each(|session| session.end(Ending::ShutDown));
    }

    fn listener(&self) -> Option<Arc<ServerListener>> {
        self.listener.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn is_closing(&self) -> bool {
        self.is_closing.load(Ordering::Acquire)
    }

    fn accept_all(self: &Arc<Self>) {
        let Some(listener) = self.listener() else {
            return;
        };
        let mut is_failing = false;
        while !self.is_closing() {
            match listener.accept() {
                Ok(Some(connected)) => {
                    is_failing = false;
                    self.begin(connected);
                }
                Ok(None) => break,
                Err(_) if self.is_closing() => break,
                Err(error) => {
                    // Once, not at every try.
                    if !mem::replace(&mut is_failing, true) {
                        tracing::warn!(%error, "a connection was not accepted");
                    }
                    // Out of descriptors, most likely: others need time to give some back.
                    thread::sleep(Duration::from_millis(10));
                }
            }
        }
    }

    /// Gives a connection a thread, if its peer may have one more.
    fn begin(self: &Arc<Self>, mut connected: Connected) {
        self.offer().set_capacities(&self.quota);
        let account = PeerAccount::of_peer(&self.quota, connected.address.origin());
        let mut charge = account.charge(ServerResource::Connections);
        if let Err(reason) = charge.set(1) {
            let caller = connected.peer.caller();
            let (pid, uid, peer) = (caller.pid, caller.uid, connected.address);
            tracing::warn!(%reason, ?peer, pid, uid, "a connection was refused: there are too many");
            return;
        }
        connected.link.hold(charge);
        self.state().threads += 1;
        let inner = Arc::clone(self);
        let thread = thread::Builder::new().name("rpc-server".to_owned());
        let spawned = thread.spawn(move || {
            SERVES.set(Arc::as_ptr(&inner));
            inner.run(connected);
            inner.finish_thread();
        });
        if let Err(error) = spawned {
            tracing::warn!(%error, "a connection was refused: no thread");
            self.finish_thread();
        }
    }

    fn finish_thread(&self) {
        // Under the lock, so that a thread that waits for this does not miss it.
        self.state().threads -= 1;
        self.changed.notify_all();
    }

    /// Opens a connection and serves it to its end.
    fn run(&self, Connected { link, peer, address }: Connected) {
        let offer = self.offer().clone();
        let link = Arc::new(link);
        {
            let mut state = self.state();
            state.opening.retain(|link| link.strong_count() > 0);
            state.opening.push(Arc::downgrade(&link));
        }
        if self.is_closing() {
            return;
        }
        let caller = peer.caller();
        let deadline = Deadline::start(offer.timeout);
        #[cfg(feature = "tls")]
        let peer = match deadline.secure(&link) {
            Ok(None) => peer,
            Ok(certificate) => Peer::elsewhere(certificate),
            Err(reason) => {
                tracing::warn!(%reason, "an RPC connection was refused");
                return;
            }
        };
        let connection = Box::new(Connection::new(link, offer.limits));
        match self.open(connection, (peer, address), &deadline, &offer) {
            Ok(Some((session, connection))) => {
                let ending = session.serve_connection(connection);
                // One of several connections may be closed; a fault on one ends them all.
                if session.stop_serving() || ending != Ending::Closed {
                    session.end(ending);
                }
                if session.serving() == 0
                    && let Some(id) = session.id()
                {
                    self.state().sessions.remove(id);
                }
            }
            Ok(None) => {}
            Err(reason @ RpcError::Ended(Ending::Closed)) => {
                tracing::debug!(%reason, pid = caller.pid, uid = caller.uid, "not opened");
            }
            Err(reason) => {
                let (pid, uid) = (caller.pid, caller.uid);
                tracing::warn!(%reason, pid, uid, "an RPC connection was refused");
            }
        }
    }

    /// Opens a connection; returns it if the client calls on it.
    fn open(
        &self,
        mut connection: Box<Connection>,
        peer: (Peer, PeerAddress),
        deadline: &Deadline,
        offer: &Offer,
    ) -> Result<Option<Served>, RpcError> {
        let opening = handshake::read_opening(&mut connection, deadline)?;
        if !offer.fd_modes.contains(&opening.fd_mode) {
            return Err(HandshakeError::FdModeRefused(opening.fd_mode).into());
        }
        match &opening.joins {
            None => self.open_new(connection, peer, offer, deadline, &opening).map(Some),
            Some(id) => self.open_joining(connection, deadline, &opening, id),
        }
    }

    fn open_new(
        &self,
        mut connection: Box<Connection>,
        (peer, address): (Peer, PeerAddress),
        offer: &Offer,
        deadline: &Deadline,
        opening: &Opening,
    ) -> Result<Served, RpcError> {
        let version = offer.version.answer(opening.offered);
        handshake::accept_new(&mut connection, deadline, version)?;
        let terms = Terms {
            role: SessionSide::Server,
            version,
            limits: offer.limits,
            fd_mode: opening.fd_mode,
            passes_files: Terms::pass_files(connection.link(), opening.fd_mode, version),
            call_timeout: None,
            max_threads: offer.granted_threads(),
            root: offer.root.for_session(&address),
        };
        let session = SharedSession::new(terms, peer, connection.link().account());
        session.watch(connection.link())?;
        session.begin_serving();
        let id = new_id()?;
        session.set_id(id);
        self.state().sessions.insert(id, Arc::clone(&session));
        if self.is_closing() {
            session.end(Ending::ShutDown);
        }
        Ok((session, connection))
    }

    fn open_joining(
        &self,
        mut connection: Box<Connection>,
        deadline: &Deadline,
        opening: &Opening,
        id: &SessionId,
    ) -> Result<Option<Served>, RpcError> {
        let Some(session) = self.state().sessions.get(id).cloned() else {
            // A short session may be over before its last connections have been looked at.
            if connection.link().is_closed_by_peer() {
                return Err(Ending::Closed.into());
            }
            return Err(HandshakeError::UnknownSession.into());
        };
        session.watch(connection.link())?;
        let version = session.terms.version;
        match opening.direction {
            CallDirection::Incoming => {
                handshake::accept_joining(&mut connection, deadline, version)?;
                session.begin_serving();
                Ok(Some((session, connection)))
            }
            CallDirection::Outgoing => {
                // The client may expect calls as soon as it is greeted.
                session.pool.announce();
                let greeted = handshake::accept_reverse(&mut connection, deadline, version);
                match greeted {
                    Ok(()) => session.hand_on(connection, ConnectionUse::Last),
                    Err(_) => {
                        let queued = session.pool.withdraw();
                        queued.iter().for_each(|call| call.finish(Err(StatusCode::WOULD_BLOCK)));
                    }
                }
                greeted.map(|()| None)
            }
        }
    }
}

fn bind_inet<A>(address: A, port: impl TryInto<u16>) -> Result<TcpListener, RpcError>
where
    (A, u16): ToSocketAddrs,
{
    let port = port.try_into().map_err(|_| io::Error::from(io::ErrorKind::InvalidInput));
    let listener = port.and_then(|port| TcpListener::bind((address, port)));
    listener.map_err(RpcError::system("bind a TCP port"))
}

/// A session, and a connection of it on which the client calls.
type Served = (Arc<SharedSession>, Box<Connection>);

/// Makes an id that a stranger cannot guess.
fn new_id() -> Result<SessionId, RpcError> {
    let mut id = [0; 32];
    let filled = rustix::rand::getrandom(&mut id, rustix::rand::GetRandomFlags::empty());
    match filled.map_err(RpcError::system("get random bytes"))? {
        32 => Ok(id),
        _ => Err(RpcError::NoConnection),
    }
}
