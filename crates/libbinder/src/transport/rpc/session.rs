//! A client's session, as programs make it.

use std::cell::RefCell;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use binder_rpc::handshake::FdMode;
use binder_rpc::{
    CallDirection, Ending, ProtocolVersion, SessionId, SessionLimits, SessionSide, special,
};

use rustix::io::Errno;

use super::call::OwnCall;
use super::connection::Connection;
use super::endpoint::{ConnectTarget, Connected, ServerAddress, unix_address};
use super::error::RpcError;
use super::handshake::{self, Deadline};
use super::offer::{CallerTerms, ForwardingUser};
use super::pool::ConnectionUse;
use super::served::{ServedConnection, ServingHost};
use super::shared::{Keeper, SharedSession, Terms};
use crate::transport::{CallerIdentity, Parcel};
use crate::{FromIBinder, SpIBinder, StatusCode, Strong};

/// What a session is asked to be, before it is set up.
#[derive(Clone, Debug)]
struct SessionRequest {
    version: ProtocolVersion,
    limits: SessionLimits,
    fd_mode: FdMode,
    incoming: usize,
    outgoing: usize,
    timeout: Duration,
    call_timeout: Option<Duration>,
    callers: CallerTerms,
}

/// A session with a server: set it up once, and it gives the server's root object.
///
/// It lasts until it is shut down or the other side is gone; or until this handle and all objects
/// that came through the session have been dropped.
#[derive(Debug)]
pub struct RpcSession {
    request: Mutex<SessionRequest>,
    keeper: OnceLock<Arc<Keeper>>,
}

impl Default for RpcSession {
    fn default() -> Self {
        Self::new()
    }
}

impl RpcSession {
    /// Makes a session that is not set up.
    #[must_use]
    pub fn new() -> Self {
        let request = SessionRequest {
            version: ProtocolVersion::NEWEST,
            limits: SessionLimits::default(),
            fd_mode: FdMode::None,
            incoming: 0,
            outgoing: 10,
            timeout: Duration::from_secs(10),
            call_timeout: None,
            callers: CallerTerms::default(),
        };
        Self { request: Mutex::new(request), keeper: OnceLock::new() }
    }

    fn request(&self) -> MutexGuard<'_, SessionRequest> {
        self.request.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Says how descriptors travel; the server must offer it. Not at all, if nothing is said. Over another
    /// socket than a Unix one, and in version 0, calls with descriptors fail with
    /// [`StatusCode::BAD_VALUE`] even if it is said.
    pub fn set_file_descriptor_transport_mode(&self, mode: FdMode) {
        self.request().fd_mode = mode;
    }

    /// Says on how many connections this side serves calls of the server that are not made within
    /// calls to it; 0 if nothing is said. Notices of death need one.
    pub fn set_max_incoming_threads(&self, threads: usize) {
        self.request().incoming = threads;
    }

    /// Says on how many connections at most this side calls, 10 if nothing is said. The server may
    /// offer fewer.
    pub fn set_max_outgoing_connections(&self, connections: usize) {
        self.request().outgoing = connections.max(1);
    }

    /// Says which version is offered at most.
    pub fn set_protocol_version(&self, version: ProtocolVersion) {
        self.request().version = version;
    }

    /// Says how much the server may ask.
    pub fn set_limits(&self, limits: SessionLimits) {
        self.request().limits = limits;
    }

    /// Says how long the server may take to set the session up; 10 s if nothing is said.
    pub fn set_handshake_timeout(&self, timeout: Duration) {
        self.request().timeout = timeout;
    }

    /// Says how long each call of this side may take, until it fails with [`StatusCode::TIMED_OUT`]: for ever, if
    /// nothing is said. One call can be given less by [`with_timeout`](crate::with_timeout).
    pub fn set_call_timeout(&self, timeout: Duration) {
        self.request().call_timeout = Some(timeout);
    }

    /// Has calls that are made to serve others say for which user of this machine: the caller of the call that is served.
    /// The server's program decides what that is worth ([`ThreadState::claimed_uid`](crate::ThreadState::claimed_uid)).
    pub fn set_tells_callers(&self, tells: bool) {
        self.request().callers.tells = tells;
    }

    /// Says as which user calls of the server's are made that are [passed on](crate::transport::forward) to a device; as
    /// [`RpcServer::set_forwarding_user`](super::RpcServer::set_forwarding_user).
    pub fn set_forwarding_user(
        &self,
        decide: impl Fn(&CallerIdentity) -> Option<u32> + Send + Sync + 'static,
    ) {
        self.request().callers.forwarding_user = Some(ForwardingUser(Arc::new(decide)));
    }

    /// Connects to a Unix socket: a path, or after a NUL a name in the abstract namespace.
    ///
    /// # Errors
    ///
    /// [`RpcError`]; the session can be set up again then.
    pub fn connect_unix(&self, path: impl AsRef<Path>) -> Result<SpIBinder, RpcError> {
        self.set_up_with(ServerAddress::Unix(unix_address(path.as_ref())?))
    }

    /// Connects over a socket to which each connection is sent, as a descriptor.
    ///
    /// # Errors
    ///
    /// [`RpcError`].
    pub fn connect_unix_bootstrap(&self, socket: OwnedFd) -> Result<SpIBinder, RpcError> {
        self.set_up_with(ServerAddress::Bootstrap(socket))
    }

    /// Connects to a virtual machine, or its host.
    ///
    /// # Errors
    ///
    /// [`RpcError`].
    pub fn connect_vsock(&self, cid: u32, port: u32) -> Result<SpIBinder, RpcError> {
        self.set_up_with(ServerAddress::Vsock(cid, port))
    }

    /// Connects over TCP: neither side is identified, and an eavesdropper reads everything.
    ///
    /// # Errors
    ///
    /// [`RpcError`].
    pub fn connect_inet(&self, host: &str, port: u16) -> Result<SpIBinder, RpcError> {
        self.set_up_with(ServerAddress::Inet(host.to_owned(), port))
    }

    /// Connects over TCP and TLS: `credentials` must trust the server's certificate, which must be
    /// for `host`.
    ///
    /// # Errors
    ///
    /// [`RpcError`]; of kind [`RpcError::Tls`] if either side does not trust the other.
    #[cfg(feature = "tls")]
    pub fn connect_inet_tls(
        &self,
        host: &str,
        port: u16,
        credentials: &super::tls::TlsCredentials,
    ) -> Result<SpIBinder, RpcError> {
        self.set_up_with(ServerAddress::Tls(host.to_owned(), port, credentials.client()?))
    }

    /// Takes sockets that are connected already, each from a call of `next`.
    ///
    /// # Errors
    ///
    /// [`RpcError`].
    pub fn connect_preconnected(
        &self,
        next: impl FnMut() -> Option<OwnedFd>,
    ) -> Result<SpIBinder, RpcError> {
        self.set_up(&ConnectTarget::Preconnected(RefCell::new(Box::new(next))))
    }

    /// [`connect_unix`](Self::connect_unix), for the root object's interface, as Android has it.
    ///
    /// # Errors
    ///
    /// The status of what [`connect_unix`](Self::connect_unix) says in words;
    /// [`StatusCode::BAD_TYPE`] for another interface.
    pub fn setup_unix_domain_client<T: FromIBinder + ?Sized>(
        &self,
        path: impl AsRef<Path>,
    ) -> Result<Strong<T>, StatusCode> {
        T::try_from(self.connect_unix(path)?)
    }

    /// [`connect_unix_bootstrap`](Self::connect_unix_bootstrap), as Android has it.
    ///
    /// # Errors
    ///
    /// As [`setup_unix_domain_client`](Self::setup_unix_domain_client).
    pub fn setup_unix_domain_bootstrap_client<T: FromIBinder + ?Sized>(
        &self,
        socket: BorrowedFd<'_>,
    ) -> Result<Strong<T>, StatusCode> {
        let socket = socket.try_clone_to_owned().map_err(|_| StatusCode::NO_MEMORY)?;
        T::try_from(self.connect_unix_bootstrap(socket)?)
    }

    /// [`connect_vsock`](Self::connect_vsock), as Android has it.
    ///
    /// # Errors
    ///
    /// As [`setup_unix_domain_client`](Self::setup_unix_domain_client).
    pub fn setup_vsock_client<T: FromIBinder + ?Sized>(
        &self,
        cid: u32,
        port: u32,
    ) -> Result<Strong<T>, StatusCode> {
        T::try_from(self.connect_vsock(cid, port)?)
    }

    /// [`connect_inet`](Self::connect_inet), as Android has it.
    ///
    /// # Errors
    ///
    /// As [`setup_unix_domain_client`](Self::setup_unix_domain_client).
    pub fn setup_inet_client<T: FromIBinder + ?Sized>(
        &self,
        address: &str,
        port: u32,
    ) -> Result<Strong<T>, StatusCode> {
        let port = u16::try_from(port).map_err(|_| StatusCode::BAD_VALUE)?;
        T::try_from(self.connect_inet(address, port)?)
    }

    /// [`connect_preconnected`](Self::connect_preconnected), as Android has it, but that `next`
    /// gives sockets away instead of their numbers.
    ///
    /// # Errors
    ///
    /// As [`setup_unix_domain_client`](Self::setup_unix_domain_client).
    pub fn setup_preconnected_client<T: FromIBinder + ?Sized>(
        &self,
        next: impl FnMut() -> Option<OwnedFd>,
    ) -> Result<Strong<T>, StatusCode> {
        T::try_from(self.connect_preconnected(next)?)
    }

    fn set_up_with(&self, address: ServerAddress) -> Result<SpIBinder, RpcError> {
        self.set_up(&ConnectTarget::Server(Arc::new(address)))
    }

    fn set_up(&self, target: &ConnectTarget<'_>) -> Result<SpIBinder, RpcError> {
        if self.keeper.get().is_some() {
            return Err(RpcError::IsSetUp);
        }
        let request = self.request().clone();
        let (incoming, limit) = (request.incoming, request.limits.max_connections);
        if incoming >= limit {
            return Err(RpcError::TooManyConnections { incoming, limit });
        }
        let keeper = Keeper::new(begin(target, &request).map_err(closed_at_opening)?);
        let root = complete(target, &request, keeper.session()).map_err(closed_at_opening)?;
        if let ConnectTarget::Server(address) = target {
            let (address, timeout) = (Arc::clone(address), request.timeout);
            let make = move |session: &Arc<SharedSession>| join_again(&address, timeout, session);
            keeper.session().set_reconnect(Box::new(make));
        }
        self.keeper.set(keeper).map_err(|_| RpcError::IsSetUp)?;
        Ok(root)
    }

    fn session(&self) -> Option<&Arc<SharedSession>> {
        self.keeper.get().map(|keeper| keeper.session())
    }

    /// Returns the version that was agreed on, once the session is set up.
    #[must_use]
    pub fn protocol_version(&self) -> Option<ProtocolVersion> {
        self.session().map(|session| session.terms.version)
    }

    /// Returns the certificate (DER) that the server showed, over TLS, once the session is set up.
    #[must_use]
    pub fn server_certificate(&self) -> Option<Arc<[u8]>> {
        self.session().and_then(|session| session.peer.caller().certificate)
    }

    /// Returns how many objects of this side and of the server the session holds.
    #[must_use]
    pub fn objects(&self) -> (usize, usize) {
        self.session().map_or((0, 0), |session| session.table().session.objects())
    }

    /// Returns why the session is over, if it is.
    #[must_use]
    pub fn ended(&self) -> Option<Ending> {
        self.session()?.ending()
    }

    /// Ends the session: calls under way fail, the server's objects are dead.
    pub fn shutdown(&self) {
        if let Some(session) = self.session() {
            session.end(Ending::ShutDown);
        }
    }
}

/// Says of a connection that was closed what that is likely to mean while a session is set up.
fn closed_at_opening(error: RpcError) -> RpcError {
    const RESET: [i32; 2] = [Errno::CONNRESET.raw_os_error(), Errno::PIPE.raw_os_error()];
    match error {
        RpcError::Ended(Ending::Closed) => RpcError::ClosedAtOpening,
        RpcError::Ended(Ending::Socket { errno }) if RESET.contains(&errno) => {
            RpcError::ClosedAtOpening
        }
        error => error,
    }
}

/// Makes the first connection.
fn begin(
    target: &ConnectTarget<'_>,
    request: &SessionRequest,
) -> Result<Arc<SharedSession>, RpcError> {
    let deadline = Deadline::start(request.timeout);
    let Connected { link, peer, .. } = target.connect(&deadline)?;
    #[cfg(feature = "tls")]
    let peer = match deadline.secure(&link)? {
        None => peer,
        certificate => super::peer::Peer::elsewhere(certificate),
    };
    let mut connection = Box::new(Connection::new(Arc::new(link), request.limits));
    let opened = handshake::open_new(&mut connection, &deadline, request.version, request.fd_mode);
    // A server looks at our certificate after we have found its own good.
    #[cfg(feature = "tls")]
    let opened = opened.map_err(|error| {
        let failure = connection.link().tls().and_then(super::tls::Tls::failure);
        failure.map_or(error, |failure| RpcError::Tls(failure.to_owned()))
    });
    let version = opened?;
    let terms = Terms {
        role: SessionSide::Client,
        version,
        limits: request.limits,
        fd_mode: request.fd_mode,
        passes_files: Terms::pass_files(connection.link(), request.fd_mode, version),
        call_timeout: request.call_timeout,
        max_threads: u32::try_from(request.incoming).unwrap_or(u32::MAX),
        root: None,
        callers: request.callers.clone(),
        guard: None,
        observer: None,
    };
    let session = SharedSession::new(terms, peer, connection.link().account());
    session.watch(connection.link())?;
    session.pool.announce();
    session.hand_on(connection, ConnectionUse::Last);
    Ok(session)
}

/// Asks what there is to know, makes the other connections, and gets the root object.
fn complete(
    target: &ConnectTarget<'_>,
    request: &SessionRequest,
    session: &Arc<SharedSession>,
) -> Result<SpIBinder, RpcError> {
    let deadline = Deadline::start(request.timeout);
    let explain = |status| match session.ending() {
        Some(ending) => deadline.explain(ending),
        None => RpcError::NoRoot(status),
    };
    let ask = |code| {
        let nothing = Parcel::for_codec(Arc::<SharedSession>::clone(session));
        let call = OwnCall::question(code, None);
        session.call(&call, nothing).map_err(explain)
    };
    let threads = special::read_max_threads(ask(special::GET_MAX_THREADS)?.bytes())?;
    let threads = usize::try_from(threads).unwrap_or(usize::MAX);
    let id = special::read_session_id(ask(special::GET_SESSION_ID)?.bytes())?;
    session.set_id(id);
    let room = request.limits.max_connections - request.incoming;
    for _ in 1..request.outgoing.min(threads).min(room) {
        let connection = join(target, &deadline, session, CallDirection::Outgoing, &id)?;
        session.pool.announce();
        session.hand_on(connection, ConnectionUse::Last);
    }
    for _ in 0..request.incoming {
        let connection = join(target, &deadline, session, CallDirection::Incoming, &id)?;
        serve(session, connection)?;
    }
    let root = ask(special::GET_ROOT)?;
    root.set_data_position(0).map_err(RpcError::NoRoot)?;
    let root = root.read_binder().map_err(RpcError::NoRoot)?;
    let first = session.pool.take(None, || {}).map_err(|_| RpcError::Ended(Ending::ShutDown))?;
    let lifted = deadline.lift(&first);
    session.put_back(first, ConnectionUse::First);
    lifted?;
    root.ok_or(RpcError::NoRoot(StatusCode::NAME_NOT_FOUND))
}

/// Makes one connection more.
fn join(
    target: &ConnectTarget<'_>,
    deadline: &Deadline,
    session: &Arc<SharedSession>,
    direction: CallDirection,
    id: &SessionId,
) -> Result<Box<Connection>, RpcError> {
    join_with(target.connect(deadline)?, deadline, session, direction, id)
}

/// Makes one more connection for our calls when the session is set up. Not all servers take more than they said, and
/// those that do not say so by closing it: it is tried before it is used.
fn join_again(
    address: &ServerAddress,
    timeout: Duration,
    session: &Arc<SharedSession>,
) -> Result<Box<Connection>, RpcError> {
    let deadline = Deadline::start(timeout);
    let id = session.id().ok_or(RpcError::NoConnection)?;
    let connected = address.connect(&deadline)?;
    let connection = join_with(connected, &deadline, session, CallDirection::Outgoing, id)?;
    session.probe(connection, timeout)?.ok_or_else(|| deadline.passed())
}

/// Joins the session with a socket.
fn join_with(
    Connected { link, .. }: Connected,
    deadline: &Deadline,
    session: &Arc<SharedSession>,
    direction: CallDirection,
    id: &SessionId,
) -> Result<Box<Connection>, RpcError> {
    #[cfg(feature = "tls")]
    deadline.secure(&link)?;
    let terms = &session.terms;
    let mut connection = Box::new(Connection::new(Arc::new(link), terms.limits));
    session.watch(connection.link())?;
    let (version, fd_mode) = (terms.version, terms.fd_mode);
    handshake::open_joining(&mut connection, deadline, version, direction, fd_mode, id)?;
    Ok(connection)
}

/// Serves the server's calls on a connection, with a thread of its own until it is idle.
fn serve(session: &Arc<SharedSession>, connection: Box<Connection>) -> Result<(), RpcError> {
    session.begin_serving();
    let served = ServedConnection::new(Arc::clone(session), Box::new(CallbackHost));
    let thread = std::thread::Builder::new().name("rpc-callbacks".to_owned());
    let spawned = thread.spawn(move || served.serve(connection));
    spawned.map(drop).map_err(|error| {
        session.stop_serving();
        RpcError::System { action: "start a thread for the server's calls", error }
    })
}

/// A client, which does not count the threads that serve its server's calls.
struct CallbackHost;

impl ServingHost for CallbackHost {
    fn begin(&self) {}

    fn stop(&self) {}

    fn end(&self, session: &Arc<SharedSession>, ending: Ending) {
        session.stop_serving();
        session.end(ending);
    }
}
