//! A server: it gives its root object to every client that connects.

mod admitted;
mod json;
mod published;
mod report;
mod settings;
mod statistics;

use std::cell::Cell;
use std::collections::HashMap;
use std::fmt;
use std::io;
use std::mem;
use std::net::{SocketAddr, TcpListener, ToSocketAddrs};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::thread;
use std::time::Duration;

use binder_rpc::handshake::{HandshakeError, Opening};
use binder_rpc::{CallDirection, Ending, SessionId, SessionSide};

use super::connection::Connection;
use super::endpoint::{Connected, PeerAddress, ServerListener};
use super::error::RpcError;
use super::handshake::{self, Deadline};
use super::offer::Offer;
use super::peer::{Peer, PeerIdentity};
use super::pool::ConnectionUse;
use super::quota::{PeerAccount, ServerCharge, ServerQuota, ServerResource};
use super::served::{ServedConnection, ServingHost};
use super::shared::{SharedSession, Terms};
use crate::{SpIBinder, StatusCode};

use admitted::AdmittedSession;
pub use statistics::{ResourceUse, ServerStatistics};

thread_local! {
    /// The server that this thread serves a connection of, or accepts connections for; for comparison only.
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
    state: Mutex<ServerState>,
    changed: Condvar,
    is_closing: AtomicBool,
    /// Connections that have come.
    accepted: AtomicU64,
    /// Peers that were refused, and sessions that were ended.
    refused: AtomicU64,
}

#[derive(Debug, Default)]
struct ServerState {
    sessions: HashMap<SessionId, AdmittedSession>,
    /// Sessions that were begun.
    admitted: u64,
    /// Connections whose handshake is not done, to be closed with the server.
    opening: Vec<Weak<super::link::StreamSocket>>,
    accepting: Option<thread::JoinHandle<()>>,
    /// Those of connections, in their handshake or served; idle ones have none.
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
        let tls = super::tls::ServerTls::new(credentials.server()?);
        Ok(Self::new(root, ServerListener::Tls(listener, tls)))
    }

    fn new(root: SpIBinder, listener: ServerListener) -> Self {
        let inner = Inner {
            listener: Mutex::new(Some(Arc::new(listener))),
            offer: Mutex::new(Offer::new(root)),
            quota: ServerQuota::new(),
            state: Mutex::default(),
            changed: Condvar::new(),
            is_closing: AtomicBool::new(false),
            accepted: AtomicU64::new(0),
            refused: AtomicU64::new(0),
        };
        let inner = Arc::new(inner);
        published::publish_if_asked_for(&inner);
        Self { inner }
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

    /// Returns how many objects of this side and of the clients all sessions hold.
    #[must_use]
    pub fn objects(&self) -> (usize, usize) {
        self.inner.objects()
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

    /// Ends all sessions that there are, and goes on accepting; calls that run are not waited for.
    pub fn end_sessions(&self) {
        let sessions = self.inner.state().sessions();
        sessions.iter().for_each(|session| session.end(Ending::ShutDown));
    }

    /// Stops accepting and ends all sessions; waits until no call runs any more.
    ///
    /// # Errors
    ///
    /// [`RpcError::WithinCall`] from within a call of a client, the end of an object that it had, or the listener of
    /// refusals, which are not waited for: the server is shut down, but calls of its clients may still run.
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

    fn state(&self) -> MutexGuard<'_, ServerState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn objects(&self) -> (usize, usize) {
        let sessions = self.state().sessions();
        let counts = sessions.iter().map(|session| session.table().session.objects());
        counts.fold((0, 0), |(ours, theirs), count| (ours + count.0, theirs + count.1))
    }

    fn close(&self) {
        self.is_closing.store(true, Ordering::Release);
        published::withdraw(self);
        let listener = self.listener.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(listener) = listener {
            listener.close();
        }
        let state = self.state();
        let sessions = state.sessions();
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
        // The program hears of refusals on this thread, and may shut the server down then.
        let outer = SERVES.replace(Arc::as_ptr(self));
        self.accept_from(&listener);
        SERVES.set(outer);
    }

    fn accept_from(self: &Arc<Self>, listener: &ServerListener) {
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
        self.accepted.fetch_add(1, Ordering::Relaxed);
        if connected.link.is_closed_without_a_word() {
            // As of a user who comes and goes, so that others wait: a thread takes longer than all else here.
            return;
        }
        self.offer().set_capacities(&self.quota);
        let account = PeerAccount::of_peer(&self.quota, connected.address.origin());
        let mut charge = account.charge(ServerResource::Connections);
        let mut handshake = account.charge(ServerResource::Handshakes);
        if let Err(reason) = charge.set(1).and_then(|()| handshake.set(1)) {
            let caller = connected.peer.caller();
            let (pid, uid, peer) = (caller.pid, caller.uid, connected.address);
            tracing::warn!(%reason, ?peer, pid, uid, "a connection was refused: there are too many");
            return self.tell_refusal(&peer, &reason);
        }
        connected.link.hold(charge);
        self.begin_thread();
        let inner = Arc::clone(self);
        let thread = thread::Builder::new().name("rpc-server".to_owned());
        let spawned = thread.spawn(move || {
            // Functions of the program that make a root object, or decide on a peer, are not waited for either.
            SERVES.set(Arc::as_ptr(&inner));
            inner.run(connected, handshake);
            inner.finish_thread();
        });
        if let Err(error) = spawned {
            tracing::warn!(%error, "a connection was refused: no thread");
            self.finish_thread();
        }
    }

    /// Tells the program of a peer that is refused, or whose session ends.
    fn tell_refusal(&self, address: &PeerAddress, reason: &dyn fmt::Display) {
        self.refused.fetch_add(1, Ordering::Relaxed);
        // The program's code runs without the lock.
        let listener = self.offer().refusals.clone();
        if let Some(listener) = listener {
            listener.tell(address, reason);
        }
    }

    fn begin_thread(&self) {
        self.state().threads += 1;
    }

    fn finish_thread(&self) {
        // Under the lock, so that a thread that waits for this does not miss it.
        self.state().threads -= 1;
        self.changed.notify_all();
    }

    /// Opens a connection and serves it. It is charged as a handshake until it is open.
    fn run(self: &Arc<Self>, connected: Connected, handshake: ServerCharge) {
        let Connected { link, peer, address } = connected;
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
        let deadline = Deadline::start(offer.timeout);
        #[cfg(feature = "tls")]
        let peer = match deadline.secure(&link) {
            Ok(None) => peer,
            Ok(certificate) => Peer::elsewhere(certificate),
            Err(reason) => {
                tracing::warn!(%reason, ?address, "an RPC connection was refused");
                return self.tell_refusal(&address, &reason);
            }
        };
        // Told apart from the session's, which keeps this one.
        let identity = PeerIdentity::new(address, &peer);
        let connection = Box::new(Connection::new(link, offer.limits));
        let opened = self.open(connection, (peer, &identity), &deadline, &offer);
        drop(handshake);
        match opened {
            Ok(Some((session, connection))) => {
                let host = ServerHost { server: Arc::clone(self), address };
                ServedConnection::new(session, Box::new(host)).serve(connection);
            }
            Ok(None) => {}
            Err(reason @ RpcError::Ended(Ending::Closed)) => {
                tracing::debug!(%reason, ?address, "not opened");
            }
            Err(reason) => {
                tracing::warn!(%reason, ?address, "an RPC connection was refused");
                self.tell_refusal(&address, &reason);
            }
        }
    }

    /// Opens a connection; returns it if the client calls on it.
    fn open(
        &self,
        mut connection: Box<Connection>,
        peer: (Peer, &PeerIdentity),
        deadline: &Deadline,
        offer: &Offer,
    ) -> Result<Option<OpenedSession>, RpcError> {
        let opening = handshake::read_opening(&mut connection, deadline)?;
        if !offer.fd_modes.contains(&opening.fd_mode) {
            return Err(HandshakeError::FdModeRefused(opening.fd_mode).into());
        }
        match &opening.joins {
            None => self.open_new(connection, peer, offer, deadline, &opening).map(Some),
            Some(id) => self.open_joining(connection, &peer.0, deadline, &opening, id),
        }
    }

    fn open_new(
        &self,
        mut connection: Box<Connection>,
        (peer, identity): (Peer, &PeerIdentity),
        offer: &Offer,
        deadline: &Deadline,
        opening: &Opening,
    ) -> Result<OpenedSession, RpcError> {
        let decided = offer.authorizer.as_ref().map(|authorizer| authorizer.decide(identity));
        let own_root = decided.transpose()?.flatten();
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
            root: own_root.or_else(|| offer.root.for_session(&identity.address())),
            callers: offer.callers.clone(),
            guard: offer.guard.clone(),
            observer: offer.observer.clone(),
        };
        let session = SharedSession::new(terms, peer, connection.link().account());
        session.watch(connection.link())?;
        session.begin_serving();
        let id = new_id()?;
        session.set_id(id);
        self.admit(id, &session, identity);
        if self.is_closing() {
            session.end(Ending::ShutDown);
        }
        Ok((session, connection))
    }

    fn open_joining(
        &self,
        mut connection: Box<Connection>,
        peer: &Peer,
        deadline: &Deadline,
        opening: &Opening,
        id: &SessionId,
    ) -> Result<Option<OpenedSession>, RpcError> {
        let found = self.state().sessions.get(id).map(|session| Arc::clone(&session.shared));
        let Some(session) = found else {
            // A short session may be over before its last connections have been looked at.
            if connection.link().is_closed_by_peer() {
                return Err(Ending::Closed.into());
            }
            return Err(HandshakeError::UnknownSession.into());
        };
        if !session.peer.is_same(peer) {
            return Err(RpcError::NotAuthorized("it joins another's session".to_owned()));
        }
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

/// A server, which knows how many threads serve its clients.
struct ServerHost {
    server: Arc<Inner>,
    address: PeerAddress,
}

impl ServingHost for ServerHost {
    fn begin(&self) {
        SERVES.set(Arc::as_ptr(&self.server));
        self.server.begin_thread();
    }

    fn stop(&self) {
        SERVES.set(ptr::null());
        self.server.finish_thread();
    }

    fn end(&self, session: &Arc<SharedSession>, ending: Ending) {
        if ending.is_fault() {
            self.server.tell_refusal(&self.address, &ending);
        }
        // One of several connections may be closed; a fault on one ends them all.
        if session.stop_serving() || ending != Ending::Closed {
            session.end(ending);
        }
        if session.serving() == 0
            && let Some(id) = session.id()
        {
            self.server.state().sessions.remove(id);
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
type OpenedSession = (Arc<SharedSession>, Box<Connection>);

/// Makes an id that a stranger cannot guess.
fn new_id() -> Result<SessionId, RpcError> {
    let mut id = [0; 32];
    let filled = rustix::rand::getrandom(&mut id, rustix::rand::GetRandomFlags::empty());
    match filled.map_err(RpcError::system("get random bytes"))? {
        32 => Ok(id),
        _ => Err(RpcError::NoConnection),
    }
}
