//! Our own calls.

use std::cell::RefCell;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use binder_rpc::{Address, Ending, MAX_FILES, Reply, RpcMessage, encode};

use super::codec::{count_files, files};
use super::connection::Connection;
use super::error::status_of;
use super::link::ReadMode;
use super::pool::{ConnectionUse, NoConnection};
use super::shared::{SharedSession, Tell};
use crate::StatusCode;
use crate::interface::FLAG_ONEWAY;
use crate::transport::{Parcel, TransactionCode, TransactionFlags};

/// A call that this thread serves: its caller waits on the connection, and takes calls there.
struct Serving {
    /// The session, for comparison only.
    session: *const SharedSession,
    /// The connection, while no call within this one uses it; never one of a one-way call, whose
    /// caller does not wait.
    connection: Option<Box<Connection>>,
}

thread_local! {
    static SERVING: RefCell<Vec<Serving>> = const { RefCell::new(Vec::new()) };
}

/// Returns whether this thread serves a call of the session.
pub(super) fn is_serving(session: &Arc<SharedSession>) -> bool {
    let serving = SERVING.try_with(|serving| {
        serving.borrow().iter().any(|it| std::ptr::eq(it.session, Arc::as_ptr(session)))
    });
    serving.unwrap_or(false)
}

/// Runs `serve`, whose calls back to the peer go over `connection`, and returns that.
///
/// The connection does not come back if the session ended on it.
pub(super) fn serving<R>(
    session: &Arc<SharedSession>,
    connection: Option<Box<Connection>>,
    serve: impl FnOnce() -> R,
) -> (Option<Box<Connection>>, R) {
    let entry = Serving { session: Arc::as_ptr(session), connection };
    SERVING.with(|serving| serving.borrow_mut().push(entry));
    // It does not unwind: a service's panic is caught where it is called.
    let result = serve();
    let entry = SERVING.with(|serving| serving.borrow_mut().pop());
    (entry.and_then(|entry| entry.connection), result)
}

/// Where a connection is given back to.
enum Home {
    Pool(ConnectionUse),
    /// The call that this thread serves, by its depth.
    Serving(usize),
}

impl SharedSession {
    /// Takes the connection on which a call is to be made.
    fn claim(self: &Arc<Self>, is_oneway: bool) -> Result<(Box<Connection>, Home), StatusCode> {
        let nested = SERVING.try_with(|serving| {
            let mut serving = serving.borrow_mut();
            let ours = |it: &Serving| std::ptr::eq(it.session, Arc::as_ptr(self));
            let depth = serving.iter().rposition(ours).filter(|_| !is_oneway)?;
            serving[depth].connection.take().map(|connection| (connection, depth))
        });
        // The destructors of the thread's own variables are running: it cannot serve while it waits.
        let nested = nested.map_err(|_| StatusCode::INVALID_OPERATION)?;
        if let Some((connection, depth)) = nested {
            return Ok((connection, Home::Serving(depth)));
        }
        // What is sent next is not to wait until a one-way call has run.
        let place = if is_oneway { ConnectionUse::Last } else { ConnectionUse::First };
        match self.pool.take() {
            Ok(connection) => Ok((connection, Home::Pool(place))),
            Err(NoConnection::Closed) => Err(StatusCode::DEAD_OBJECT),
            Err(NoConnection::None | NoConnection::Busy) => Err(self.no_connection()),
        }
    }

    /// Says why there is no connection for a call.
    pub(super) fn no_connection(&self) -> StatusCode {
        match self.ending() {
            Some(_) => StatusCode::DEAD_OBJECT,
            None => StatusCode::WOULD_BLOCK,
        }
    }

    fn unclaim(self: &Arc<Self>, connection: Box<Connection>, home: Home) {
        match home {
            Home::Pool(place) => self.put_back(connection, place),
            Home::Serving(depth) => {
                SERVING.with(|serving| serving.borrow_mut()[depth].connection = Some(connection));
            }
        }
    }

    /// Calls an object of the peer, or the special target, and waits for the answer.
    pub(super) fn call(
        self: &Arc<Self>,
        address: Option<Address>,
        code: TransactionCode,
        mut data: Parcel,
        flags: TransactionFlags,
    ) -> Result<Parcel, StatusCode> {
        let is_oneway = flags & FLAG_ONEWAY != 0;
        let (mut connection, home) = self.claim(is_oneway)?;
        let call = encode::OutgoingCall { address, code, flags, async_number: 0 };
        let sent = self.send_call(&mut connection, call, &mut data, ReadMode::Wait);
        match sent {
            Ok(()) => {}
            Err(NotSent::Refused(status)) => {
                self.unclaim(connection, home);
                return Err(status);
            }
            Err(NotSent::Ended(ending)) => {
                self.end(ending);
                return Err(StatusCode::DEAD_OBJECT);
            }
        }
        drop(data);
        if is_oneway {
            let drained = connection.drain_at_times(|message| self.take_in(message));
            if self.fail(drained).is_some() {
                self.unclaim(connection, home);
            }
            return Ok(Parcel::for_codec(Arc::<Self>::clone(self)));
        }
        let answered = self.wait_for_reply(connection);
        let Some((connection, reply)) = self.fail(answered) else {
            return Err(StatusCode::DEAD_OBJECT);
        };
        // The objects are counted while the connection is ours, so that what follows is in order.
        let received = self.take_reply(reply);
        self.unclaim(connection, home);
        received
    }

    /// Makes of an answer what the caller gets.
    pub(super) fn take_reply(
        self: &Arc<Self>,
        reply: Reply<OwnedFd>,
    ) -> Result<Parcel, StatusCode> {
        match reply.status {
            0 => {
                let received = self.received(reply.body, Tell::WithNext);
                self.fail(received).ok_or(StatusCode::DEAD_OBJECT)?
            }
            status => Err(StatusCode::from_code(status)),
        }
    }

    /// Sends a call; without patience, what there is room for.
    pub(super) fn send_call(
        self: &Arc<Self>,
        connection: &mut Connection,
        mut call: encode::OutgoingCall,
        data: &mut Parcel,
        patience: ReadMode,
    ) -> Result<(), NotSent> {
        let is_oneway = call.flags & FLAG_ONEWAY != 0;
        if !is_oneway && !connection.turns.may_call(&self.terms.limits) {
            return Err(NotSent::Refused(StatusCode::INVALID_OPERATION));
        }
        let limits = &self.terms.limits;
        let mut scratch = connection.take_scratch();
        let positions = self.list_positions(&data.objects(), &mut scratch);
        let listed_bytes = scratch.len();
        let extent = encode::Extent { parcel_bytes: data.bytes().len(), positions };
        let file_count = count_files(&data.objects());
        if file_count > MAX_FILES {
            return Err(NotSent::Refused(StatusCode::BAD_VALUE));
        }
        // Refused before it is counted.
        encode::check_transact(extent, limits)?;
        {
            let mut table = self.table();
            if let Some(address) = call.address {
                call.async_number = table.session.start(address, is_oneway)?.async_number;
            }
            // Descriptors go with the first bytes of their own message, so nothing goes before.
            if file_count == 0 {
                self.take_releases(&mut table, &mut scratch);
            }
        }
        let head = encode::transact(&call, extent, limits)?;
        if !is_oneway {
            connection.turns.call();
        }
        let (positions, releases) = scratch.split_at(listed_bytes);
        data.enclose([releases, &head], positions);
        connection.put_scratch(scratch);
        // Whatever happens, the names are the receiver's; an ended session counts no more.
        data.mark_sent();
        let objects = data.objects();
        let take_in = |message| self.take_in(message);
        let sent = connection.send(data.bytes(), &files(&objects), patience, take_in);
        sent.map_err(NotSent::Ended)
    }

    /// Waits for the answer to our call, and serves what the peer calls meanwhile.
    fn wait_for_reply(
        self: &Arc<Self>,
        mut connection: Box<Connection>,
    ) -> Result<(Box<Connection>, Reply<OwnedFd>), Ending> {
        loop {
            let message = match connection.arrived()? {
                Some(message) => message,
                None => {
                    self.drop_retired_elsewhere();
                    connection.next()?
                }
            };
            match message {
                RpcMessage::Reply(reply) => {
                    connection.turns.replied()?;
                    return Ok((connection, reply));
                }
                RpcMessage::DecStrong { address, amount } => self.take_back(address, amount)?,
                RpcMessage::Transact(transaction) => {
                    connection = self.answer(connection, transaction)?;
                }
            }
        }
    }
}

/// Why a call was not sent.
pub(super) enum NotSent {
    /// The session goes on.
    Refused(StatusCode),
    Ended(Ending),
}

impl From<binder_rpc::SendRefusal> for NotSent {
    fn from(refusal: binder_rpc::SendRefusal) -> Self {
        Self::Refused(status_of(&refusal))
    }
}
