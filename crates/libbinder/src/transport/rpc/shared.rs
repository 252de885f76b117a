//! What all connections of a session have in common.

use std::fmt;
use std::mem;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::thread;
use std::time::Duration;

use binder_rpc::handshake::{FdMode, HandshakeError};
use binder_rpc::{
    Address, Ending, Entered, Extensions, ProtocolVersion, Released, RpcMessage, SessionId,
    SessionLimits, SessionSide, encode,
};

use super::awaited;
use super::connection::Connection;
use super::error::RpcError;
use super::link::StreamSocket;
use super::offer::{CallGuard, CallObserver, CallerTerms};
use super::peer::Peer;
use super::pool::{ConnectionPool, ConnectionUse};
use super::proxy::RpcProxy;
use super::quota::PeerAccount;
use super::reader;
use super::relayed::RelayedStreams;
use super::session_table::SessionTable;
use crate::transport::LocalObject;
use crate::{SpIBinder, StatusCode, death};

/// What both sides agreed on, and what this side grants.
#[derive(Debug)]
pub(super) struct Terms {
    pub(super) role: SessionSide,
    pub(super) version: ProtocolVersion,
    pub(super) limits: SessionLimits,
    pub(super) fd_mode: FdMode,
    /// Whether descriptors can travel so: over Unix sockets, and from version 1 on.
    pub(super) passes_files: bool,
    /// How long each call of ours may take, if the call does not say.
    pub(super) call_timeout: Option<Duration>,
    /// How many connections this side answers on.
    pub(super) max_threads: u32,
    /// What a server gives to this peer.
    pub(super) root: Option<SpIBinder>,
    /// What becomes of callers' users.
    pub(super) callers: CallerTerms,
    /// What decides on calls of the peer's.
    pub(super) guard: Option<CallGuard>,
    /// What hears of them when they are served.
    pub(super) observer: Option<CallObserver>,
}

impl Terms {
    /// Returns whether descriptors can travel in a session with these sockets.
    pub(super) fn pass_files(
        link: &StreamSocket,
        fd_mode: FdMode,
        version: ProtocolVersion,
    ) -> bool {
        fd_mode == FdMode::Unix && version.has_positions() && link.passes_files()
    }

    /// Returns whether objects stand for files.
    pub(super) fn relays_files(&self) -> bool {
        self.fd_mode == FdMode::Relayed && self.version.lists_binders()
    }
}

/// A session.
pub(super) struct SharedSession {
    table: Mutex<SessionTable>,
    /// Whether something waits to be given back, to be looked at without the lock.
    has_releases: AtomicBool,
    retired: LostObjects,
    pub(super) pool: ConnectionPool,
    pub(super) terms: Terms,
    pub(super) peer: Peer,
    id: OnceLock<SessionId>,
    /// Every socket, to be closed at the end.
    links: Mutex<Vec<Weak<StreamSocket>>>,
    /// Connections on which the peer calls.
    serving: AtomicUsize,
    this: Weak<Self>,
    /// On the client, what keeps the session: its handle and its proxies.
    keeper: OnceLock<Weak<Keeper>>,
    /// What the peer knows beside Android's protocol, once it has said so or was asked.
    extensions: OnceLock<Extensions>,
    /// On the client, how further connections are made.
    reconnect: OnceLock<Box<MakeConnection>>,
    /// The streams that stand for files.
    pub(super) streams: Arc<RelayedStreams>,
}

/// Makes one connection more on which this side calls.
pub(super) type MakeConnection =
    dyn Fn(&Arc<SharedSession>) -> Result<Box<Connection>, RpcError> + Send + Sync;

/// Objects of ours that the peer has lost, each perhaps with the last that held it.
///
/// Their ends are the program's, which may call the peer from there: not while the thread has the
/// connection for which that call would wait.
#[derive(Default)]
struct LostObjects {
    objects: Mutex<Vec<Arc<dyn LocalObject>>>,
    /// To be looked at without the lock.
    has_some: AtomicBool,
}

impl LostObjects {
    fn objects(&self) -> MutexGuard<'_, Vec<Arc<dyn LocalObject>>> {
        // Nothing ends under the lock.
        self.objects.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, object: Arc<dyn LocalObject>) {
        let mut objects = self.objects();
        objects.push(object);
        self.has_some.store(true, Ordering::Relaxed);
    }

    fn take(&self) -> Vec<Arc<dyn LocalObject>> {
        // A thread that does not see an object that another one adds leaves it to that thread.
        if !self.has_some.load(Ordering::Relaxed) {
            return Vec::new();
        }
        let mut objects = self.objects();
        self.has_some.store(false, Ordering::Relaxed);
        mem::take(&mut *objects)
    }
}

/// When the peer is to know that an object of ours came home.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tell {
    /// Before we wait: it may keep the object for nothing else.
    Soon,
    /// With the next message. What the peer gives back then is not read before that anyway, and a
    /// message of its own would cost half as much as the call.
    WithNext,
}

/// Keeps a client's session: when the program has neither it nor an object of it any more, it ends.
#[derive(Debug)]
pub(super) struct Keeper(Arc<SharedSession>);

impl Keeper {
    pub(super) fn new(shared: Arc<SharedSession>) -> Arc<Self> {
        let keeper = Arc::new(Self(shared));
        // A session gets one keeper, right after it was made.
        let _ = keeper.0.keeper.set(Arc::downgrade(&keeper));
        keeper
    }

    pub(super) fn session(&self) -> &Arc<SharedSession> {
        &self.0
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        self.0.end(Ending::ShutDown);
    }
}

impl SharedSession {
    /// Makes a session; `account` is charged with what it holds for its peer.
    pub(super) fn new(terms: Terms, peer: Peer, account: &PeerAccount) -> Arc<Self> {
        Arc::new_cyclic(|this| Self {
            table: Mutex::new(SessionTable::new(&terms, account)),
            has_releases: AtomicBool::new(false),
            retired: LostObjects::default(),
            pool: ConnectionPool::default(),
            terms,
            peer,
            id: OnceLock::new(),
            links: Mutex::default(),
            serving: AtomicUsize::new(0),
            this: this.clone(),
            keeper: OnceLock::new(),
            extensions: OnceLock::new(),
            reconnect: OnceLock::new(),
            streams: RelayedStreams::new(account),
        })
    }

    /// Returns what the peer knows beside Android's protocol; `None` until it was asked.
    pub(super) fn extensions(&self) -> Option<Extensions> {
        self.extensions.get().copied()
    }

    /// Takes down what the peer knows, the first time.
    pub(super) fn set_extensions(&self, extensions: Extensions) {
        // Peers say the same each time.
        let _ = self.extensions.set(extensions);
    }

    /// Returns whether calls say how long their callers wait.
    pub(super) fn tells_timeouts(&self) -> bool {
        self.extensions().is_some_and(|extensions| extensions.has_timeouts)
    }

    /// Returns whether calls say to which request they belong.
    pub(super) fn tells_trace_ids(&self) -> bool {
        self.extensions().is_some_and(|extensions| extensions.has_trace_ids)
    }

    /// Returns whether calls say for which user they are made.
    pub(super) fn tells_callers(&self) -> bool {
        self.extensions().is_some_and(|extensions| extensions.has_callers)
    }

    /// Says how further connections are made, once.
    pub(super) fn set_reconnect(&self, make: Box<MakeConnection>) {
        // A session is set up once.
        let _ = self.reconnect.set(make);
    }

    /// Notes that the caller on a connection has stopped waiting, and makes another if a call waits for one.
    pub(super) fn give_up_connection(&self) {
        self.pool.give_up();
        self.replace_if_wanted();
    }

    /// Makes a connection in the place of one that was given up, if a call waits for one.
    pub(super) fn replace_if_wanted(&self) {
        if self.pool.wants_another() {
            self.replace_connection();
        }
    }

    /// Makes one connection more, on a thread of its own. Without, calls wait until a late answer
    /// has come.
    pub(super) fn replace_connection(&self) {
        let Some(this) = self.this().filter(|this| this.reconnect.get().is_some()) else {
            return self.pool.replaced();
        };
        let thread = thread::Builder::new().name("rpc-connect".to_owned());
        let spawned = thread.spawn(move || {
            let made = this.reconnect.get().map(|make| make(&this));
            match made {
                Some(Ok(connection)) => {
                    this.pool.announce();
                    this.put_back(connection, ConnectionUse::Last);
                }
                Some(Err(reason)) => tracing::debug!(%reason, "no connection more in a session"),
                None => {}
            }
            this.pool.replaced();
        });
        if let Err(error) = spawned {
            self.pool.replaced();
            tracing::debug!(%error, "no thread for a connection more");
        }
    }

    pub(super) fn table(&self) -> MutexGuard<'_, SessionTable> {
        // No code of others runs under the lock, and ours does not panic in between.
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn this(&self) -> Option<Arc<Self>> {
        self.this.upgrade()
    }

    /// Returns what a new proxy keeps, `None` on the server.
    pub(super) fn keeper(&self) -> Option<Arc<Keeper>> {
        self.keeper.get().and_then(Weak::upgrade)
    }

    /// Returns the id under which connections join, once it is known.
    pub(super) fn id(&self) -> Option<&SessionId> {
        self.id.get()
    }

    pub(super) fn set_id(&self, id: SessionId) {
        // Known once: the server made it, or has told it.
        let _ = self.id.set(id);
    }

    /// Takes down a socket, to be closed when the session ends.
    ///
    /// # Errors
    ///
    /// [`HandshakeError::TooManyConnections`] if the session has as many as it may have.
    pub(super) fn watch(&self, link: &Arc<StreamSocket>) -> Result<(), HandshakeError> {
        if !self.terms.passes_files {
            link.refuse_files();
        }
        let mut links = self.links.lock().unwrap_or_else(PoisonError::into_inner);
        links.retain(|link| link.strong_count() > 0);
        if links.len() >= self.terms.limits.max_connections {
            return Err(HandshakeError::TooManyConnections(links.len()));
        }
        links.push(Arc::downgrade(link));
        drop(links);
        if self.ending().is_some() {
            link.close();
        }
        Ok(())
    }

    /// Returns how many sockets there are, in both directions.
    pub(super) fn connections(&self) -> usize {
        let links = self.links.lock().unwrap_or_else(PoisonError::into_inner);
        links.iter().filter(|link| link.strong_count() > 0).count()
    }

    /// Returns on how many connections the peer may call.
    pub(super) fn serving(&self) -> usize {
        self.serving.load(Ordering::Acquire)
    }

    /// Takes down that a thread serves one connection more.
    pub(super) fn begin_serving(&self) {
        self.serving.fetch_add(1, Ordering::AcqRel);
    }

    /// Takes down that a thread has stopped serving; returns whether it was the last.
    pub(super) fn stop_serving(&self) -> bool {
        self.serving.fetch_sub(1, Ordering::AcqRel) == 1
    }

    /// Returns why the session is over, if it is.
    pub(super) fn ending(&self) -> Option<Ending> {
        self.table().session.ended().cloned()
    }

    /// Ends the session, once: closes its sockets, tells of the death of the peer's objects.
    pub(super) fn end(&self, reason: Ending) {
        let remains = {
            let mut table = self.table();
            let remains = table.session.end(reason.clone());
            // Nothing waits any more, and less is never refused.
            let _ = table.charge_queue().and_then(|()| table.objects.set(0));
            remains
        };
        let Some(remains) = remains else {
            // The objects that came last. No thread waits for a connection any more.
            return self.drop_retired();
        };
        let caller = self.peer.caller();
        if reason.is_fault() {
            tracing::warn!(%reason, pid = caller.pid, uid = caller.uid, "an RPC session ended");
        } else {
            tracing::debug!(%reason, pid = caller.pid, uid = caller.uid, "an RPC session ended");
        }
        // Death recipients and wakers run the program's code.
        reader::step_down();
        let queued = self.pool.close();
        queued.iter().for_each(|call| call.finish(Err(StatusCode::DEAD_OBJECT)));
        let links = mem::take(&mut *self.links.lock().unwrap_or_else(PoisonError::into_inner));
        links.iter().filter_map(Weak::upgrade).for_each(|link| link.close());
        let proxies: Vec<_> = remains.proxies.iter().filter_map(Weak::upgrade).collect();
        // The thread that noticed the end may be within a call.
        death::die_elsewhere(proxies.iter().map(|proxy| proxy.deaths()));
        remains.objects.into_iter().for_each(|object| self.retired.add(object));
        self.drop_retired();
    }

    /// Ends the session for what went wrong on a connection.
    pub(super) fn fail<T>(&self, result: Result<T, Ending>) -> Option<T> {
        result.map_err(|ending| self.end(ending)).ok()
    }

    /// Takes in what the peer gave back.
    pub(super) fn take_back(&self, address: Option<Address>, amount: u32) -> Result<(), Ending> {
        let released = {
            let mut table = self.table();
            let released = table.session.returned(address, amount)?;
            table.discharge_objects(&released);
            released
        };
        self.settle(released);
        Ok(())
    }

    /// Takes in a message that may come at any time.
    pub(super) fn take_in(&self, message: RpcMessage<OwnedFd>) -> Result<(), Ending> {
        match message {
            RpcMessage::DecStrong { address, amount } => self.take_back(address, amount),
            RpcMessage::Reply(_) => Err(Ending::UnexpectedReply),
            RpcMessage::Transact(_) => Err(Ending::UnexpectedCall),
        }
    }

    /// Keeps what follows from a count for the next write, and an object until it may
    /// [end](Self::drop_retired).
    pub(super) fn settle(&self, released: Released<Arc<dyn LocalObject>>) {
        if released.release.is_some() || released.is_last {
            let mut table = self.table();
            if let Some(release) = released.release {
                table.owe(release);
            }
            table.is_last |= released.is_last;
            self.has_releases.store(true, Ordering::Release);
        }
        self.retire(released.object);
    }

    /// Keeps an object that the peer has lost until it may [end](Self::drop_retired).
    pub(super) fn retire(&self, lost: Option<Arc<dyn LocalObject>>) {
        if let Some(object) = lost {
            self.retired.add(object);
        }
    }

    /// Drops the objects that the peer has lost. This thread has no connection but one on which it
    /// serves.
    pub(super) fn drop_retired(&self) {
        let retired = self.retired.take();
        if !retired.is_empty() {
            reader::step_down();
            retired.into_iter().for_each(|object| death::tell(|| drop(object)));
        }
    }

    /// Has another thread drop them, since this one has a connection and may have to wait for long.
    pub(super) fn drop_retired_elsewhere(&self) {
        let retired = self.retired.take();
        if retired.is_empty() {
            return;
        }
        let thread = thread::Builder::new().name("rpc-drops".to_owned());
        if let Err(error) = thread.spawn(move || drop(retired)) {
            // It has dropped them here.
            tracing::warn!(%error, "no thread for the ends of objects");
        }
    }

    /// Finds the object of an address that came in a parcel; says when the peer is to know of one that
    /// came home.
    pub(super) fn enter(&self, address: Address, tell: Tell) -> Result<SpIBinder, Ending> {
        let mut table = self.table();
        match table.session.enter(address)? {
            Entered::Own(object, release) => {
                table.owe(release);
                if tell == Tell::Soon {
                    self.has_releases.store(true, Ordering::Release);
                }
                Ok(SpIBinder::from_local(object))
            }
            Entered::Foreign(address) => {
                if let Some(proxy) = table.session.proxy(address).and_then(Weak::upgrade) {
                    return Ok(SpIBinder::from_remote(proxy));
                }
                table.charge_objects()?;
                let this = self.this().ok_or(Ending::ShutDown)?;
                let proxy = Arc::new(RpcProxy::new(this, address));
                table.session.hold(address, Arc::downgrade(&proxy));
                Ok(SpIBinder::from_remote(proxy))
            }
        }
    }

    /// Returns whether something waits to be given back.
    pub(super) fn has_releases(&self) -> bool {
        self.has_releases.load(Ordering::Acquire)
    }

    /// Writes what waits to be given back into `to`.
    pub(super) fn take_releases(&self, table: &mut SessionTable, to: &mut Vec<u8>) {
        self.has_releases.store(false, Ordering::Release);
        for release in table.releases.drain(..) {
            encode::dec_strong(&release, to);
        }
    }

    /// Sends what waits to be given back, on a connection that this thread has; returns whether
    /// nothing is left.
    ///
    /// Does not wait for room: it goes with the next message instead, and a peer that does not read
    /// must not keep us from what it has sent.
    pub(super) fn flush(&self, connection: &mut Connection) -> Result<bool, Ending> {
        while self.has_releases() {
            let mut releases = connection.take_scratch();
            let taken = {
                let mut table = self.table();
                let taken = table.releases.clone();
                self.take_releases(&mut table, &mut releases);
                taken
            };
            let is_sent = connection.try_send(&releases)?;
            connection.put_scratch(releases);
            if !is_sent {
                let mut table = self.table();
                taken.into_iter().for_each(|release| table.owe(release));
                self.has_releases.store(true, Ordering::Release);
                return Ok(false);
            }
        }
        self.end_if_last()?;
        Ok(true)
    }

    /// Returns whether the last object is gone, which is to be told before the session ends.
    pub(super) fn is_last(table: &SessionTable) -> bool {
        table.is_last
    }

    /// Takes down that a call has run; returns the object if the peer has lost it.
    pub(super) fn release_called(
        &self,
        table: &mut SessionTable,
        address: Address,
    ) -> Option<Arc<dyn LocalObject>> {
        let released = table.session.answered(address);
        table.discharge_objects(&released);
        if let Some(release) = released.release {
            table.owe(release);
        }
        table.is_last |= released.is_last;
        released.object
    }

    /// Ends the session if the peer knows that its last object is gone.
    pub(super) fn end_if_last(&self) -> Result<(), Ending> {
        let mut table = self.table();
        if mem::take(&mut table.is_last) && table.session.objects() == (0, 0) {
            return Err(Ending::LastObjectGone);
        }
        Ok(())
    }

    /// Sends what waits to be given back, if a connection is idle. If none is, the thread that puts
    /// one back looks here again.
    pub(super) fn flush_idle(self: &Arc<Self>) {
        while self.has_releases() {
            let Ok(mut connection) = self.pool.try_take() else {
                return;
            };
            let flushed = self.flush(&mut connection);
            let Some(is_done) = self.fail(flushed) else {
                return;
            };
            let idle = if connection.has_unsent() {
                awaited::send_rest(self, connection)
            } else {
                Some(connection)
            };
            if let Some(connection) = idle {
                self.hand_on(connection, ConnectionUse::First);
            }
            if !is_done {
                return;
            }
        }
    }

    /// Takes in what the peer has given back on idle connections, for which no thread waits: on whichever it had at hand,
    /// after one-way calls, or with objects of ours that it has let go of. Until then they still count.
    pub(super) fn drain_idle(self: &Arc<Self>) {
        // Each once: the rest may not have come.
        for _ in 0..self.pool.idle() {
            let Ok(mut connection) = self.pool.try_take() else {
                break;
            };
            let drained = connection.drain(|message| self.take_in(message));
            if self.fail(drained).is_none() {
                return;
            }
            self.hand_on(connection, ConnectionUse::Last);
        }
        self.flush_idle();
        self.drop_retired();
    }

    /// Puts a connection back that made a call.
    pub(super) fn put_back(self: &Arc<Self>, connection: Box<Connection>, place: ConnectionUse) {
        self.hand_on(connection, place);
        self.flush_idle();
        self.drop_retired();
    }

    /// Puts a connection into the pool, or makes the calls on it that wait there for one.
    pub(super) fn hand_on(self: &Arc<Self>, connection: Box<Connection>, place: ConnectionUse) {
        let mut free = Some((connection, place));
        while let Some((connection, place)) = free {
            free = match self.pool.put(connection, place) {
                Some((connection, call)) => call.start(connection),
                None => None,
            };
        }
    }
}

impl fmt::Debug for SharedSession {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RpcSession")
            .field("role", &self.terms.role)
            .field("version", &self.terms.version)
            .finish_non_exhaustive()
    }
}
