//! Our own calls.

use std::cell::RefCell;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

use binder_rpc::{Address, Ending, Extensions, MAX_FILES, Reply, RpcMessage, encode, special};

use super::awaited;
use super::codec::{count_files, files};
use super::connection::{Connection, WaitFor};
use super::error::status_of;
use super::link::ReadMode;
use super::pool::{ConnectionUse, NoConnection};
use super::shared::{SharedSession, Tell};
use crate::deadline;
use crate::interface::FLAG_ONEWAY;
use crate::transport::{Parcel, TransactionCode, TransactionFlags};
use crate::{StatusCode, TraceId};

/// A call that this thread serves: its caller waits on the connection, and takes calls there.
struct ServingCall {
    /// The session, for comparison only.
    session: *const SharedSession,
    /// The connection, while no call within this one uses it; never one of a one-way call, whose
    /// caller does not wait.
    connection: Option<Box<Connection>>,
}

thread_local! {
    static SERVING: RefCell<Vec<ServingCall>> = const { RefCell::new(Vec::new()) };
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
    let entry = ServingCall { session: Arc::as_ptr(session), connection };
    SERVING.with(|serving| serving.borrow_mut().push(entry));
    // It does not unwind: a service's panic is caught where it is called.
    let result = serve();
    let entry = SERVING.with(|serving| serving.borrow_mut().pop());
    (entry.and_then(|entry| entry.connection), result)
}

/// Where a connection is given back to.
#[derive(Clone, Copy)]
enum Home {
    Pool(ConnectionUse),
    /// The call that this thread serves, by its depth.
    Serving(usize),
}

/// A call of ours, but for its data.
#[derive(Clone, Copy, Debug)]
pub(super) struct OwnCall {
    /// `None` for the special target.
    pub(super) address: Option<Address>,
    pub(super) code: TransactionCode,
    pub(super) flags: TransactionFlags,
    /// When its caller stops waiting.
    pub(super) due: Option<Instant>,
    /// The request that it belongs to.
    pub(super) trace_id: Option<TraceId>,
    /// The user for whom it is made, if the peer is to know.
    pub(super) caller_uid: Option<u32>,
}

impl OwnCall {
    /// A question to the special target.
    pub(super) fn question(code: TransactionCode, due: Option<Instant>) -> Self {
        Self { address: None, code, flags: 0, due, trace_id: None, caller_uid: None }
    }

    pub(super) fn is_oneway(&self) -> bool {
        self.flags & FLAG_ONEWAY != 0
    }

    /// Returns whether it says something that only a peer with these extensions understands.
    pub(super) fn is_extended(&self) -> bool {
        let is_any = self.due.is_some() || self.trace_id.is_some() || self.caller_uid.is_some();
        self.address.is_some() && is_any
    }

    /// Returns whether its caller does not wait any more.
    pub(super) fn is_overdue(&self) -> bool {
        self.due.is_some_and(|due| due <= Instant::now())
    }
}

/// What came of waiting for an answer.
enum WaitEnd {
    Answered(Box<Connection>, Reply<OwnedFd>),
    /// The caller stops waiting; the answer is still to come on the connection.
    Overdue(Box<Connection>),
}

impl SharedSession {
    /// Takes the connection on which a call is to be made.
    fn claim(self: &Arc<Self>, call: &OwnCall) -> Result<(Box<Connection>, Home), StatusCode> {
        let is_oneway = call.is_oneway();
        let nested = SERVING.try_with(|serving| {
            let mut serving = serving.borrow_mut();
            let ours = |it: &ServingCall| std::ptr::eq(it.session, Arc::as_ptr(self));
            let depth = serving.iter().rposition(ours).filter(|_| !is_oneway)?;
            serving[depth].connection.take().map(|connection| (connection, depth))
        });
        // The destructors of the thread's own variables are running: it cannot serve while it waits.
        let nested = nested.map_err(|_| StatusCode::INVALID_OPERATION)?;
        if let Some((mut connection, depth)) = nested {
            connection.set_due(call.due);
            return Ok((connection, Home::Serving(depth)));
        }
        // The next call is not to wait until a one-way call has run.
        let place = if is_oneway { ConnectionUse::Last } else { ConnectionUse::First };
        match self.pool.take(call.due, || self.replace_connection()) {
            Ok(mut connection) => {
                connection.set_due(call.due);
                Ok((connection, Home::Pool(place)))
            }
            Err(NoConnection::Closed) => Err(StatusCode::DEAD_OBJECT),
            Err(NoConnection::Overdue) => Err(StatusCode::TIMED_OUT),
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

    fn unclaim(self: &Arc<Self>, mut connection: Box<Connection>, home: Home) {
        connection.set_due(None);
        match home {
            Home::Pool(place) => self.put_back(connection, place),
            Home::Serving(depth) => {
                SERVING.with(|serving| serving.borrow_mut()[depth].connection = Some(connection));
            }
        }
    }

    /// Leaves a connection to its late answer.
    fn give_up(self: &Arc<Self>, mut connection: Box<Connection>, home: Home) -> StatusCode {
        connection.set_due(None);
        match home {
            Home::Pool(_) => awaited::leave(self, connection),
            // The thread waits for it when it answers, for the peer reads nothing else before.
            Home::Serving(_) => self.unclaim(connection, home),
        }
        StatusCode::TIMED_OUT
    }

    /// Calls an object of the peer, or the special target, and waits for the answer.
    pub(super) fn call(
        self: &Arc<Self>,
        call: &OwnCall,
        mut data: Parcel,
    ) -> Result<Parcel, StatusCode> {
        if call.is_overdue() {
            return Err(StatusCode::TIMED_OUT);
        }
        let (mut connection, home) = self.claim(call)?;
        let is_to_ask = call.is_extended() && self.extensions().is_none();
        if call.due.is_some() || is_to_ask || connection.call_stack.is_waiting() {
            connection = self.prepare_extended(connection, home, call)?;
        }
        let connection = self.send_claimed(connection, home, call, &mut data)?;
        drop(data);
        if call.is_oneway() {
            return self.finish_oneway(connection, home);
        }
        let (connection, reply) = self.reply_claimed(connection, home)?;
        // The objects are counted while the connection is ours, so that what follows is in order.
        let received = self.take_reply(reply);
        self.unclaim(connection, home);
        received
    }

    /// Sends a call on a claimed connection, which goes back where it is from if it does not come to that.
    fn send_claimed(
        self: &Arc<Self>,
        mut connection: Box<Connection>,
        home: Home,
        call: &OwnCall,
        data: &mut Parcel,
    ) -> Result<Box<Connection>, StatusCode> {
        match self.send_call(&mut connection, call, data, ReadMode::Wait) {
            Ok(()) => Ok(connection),
            Err(NotSent::Refused(status)) => {
                self.unclaim(connection, home);
                Err(status)
            }
            Err(NotSent::Ended(ending)) => {
                self.end(ending);
                Err(StatusCode::DEAD_OBJECT)
            }
        }
    }

    /// Waits for an answer on a claimed connection, which is left to it if the caller does not wait that long.
    fn reply_claimed(
        self: &Arc<Self>,
        connection: Box<Connection>,
        home: Home,
    ) -> Result<(Box<Connection>, Reply<OwnedFd>), StatusCode> {
        let answered = self.wait_for_reply(connection);
        match self.fail(answered).ok_or(StatusCode::DEAD_OBJECT)? {
            WaitEnd::Answered(connection, reply) => Ok((connection, reply)),
            WaitEnd::Overdue(connection) => Err(self.give_up(connection, home)),
        }
    }

    fn finish_oneway(
        self: &Arc<Self>,
        mut connection: Box<Connection>,
        home: Home,
    ) -> Result<Parcel, StatusCode> {
        if connection.has_unsent() {
            // A part of it has gone, so the rest must.
            connection.set_due(None);
            if let Some(connection) = awaited::send_rest(self, connection) {
                self.unclaim(connection, home);
            }
            return Err(StatusCode::TIMED_OUT);
        }
        let drained = connection.drain_at_times(|message| self.take_in(message));
        if self.fail(drained).is_some() {
            self.unclaim(connection, home);
        }
        Ok(Parcel::for_codec(Arc::<Self>::clone(self)))
    }

    /// Does what precedes a call with a deadline or an id: takes in the answer to an earlier one on this connection, and
    /// asks, once in a session, whether the peer knows of such.
    fn prepare_extended(
        self: &Arc<Self>,
        connection: Box<Connection>,
        home: Home,
        call: &OwnCall,
    ) -> Result<Box<Connection>, StatusCode> {
        let settled = self.settle_late(connection);
        let connection = match self.fail(settled).ok_or(StatusCode::DEAD_OBJECT)? {
            Ok(connection) => connection,
            Err(connection) => return Err(self.give_up(connection, home)),
        };
        if !call.is_extended() || self.extensions().is_some() {
            return Ok(connection);
        }
        let mut nothing = Parcel::for_codec(Arc::<Self>::clone(self));
        let question = OwnCall::question(special::GET_EXTENSIONS, call.due);
        let connection = self.send_claimed(connection, home, &question, &mut nothing)?;
        let (connection, reply) = self.reply_claimed(connection, home)?;
        self.learn_extensions(&reply);
        Ok(connection)
    }

    /// Takes down what the peer says it knows.
    pub(super) fn learn_extensions(&self, reply: &Reply<OwnedFd>) {
        self.set_extensions(match reply.status {
            0 => Extensions::read(reply.body.data()),
            _ => Extensions::default(),
        });
    }

    /// Waits for the answers that callers on this connection did not wait for; `Err` with the connection if this caller
    /// does not, either.
    pub(super) fn settle_late(
        self: &Arc<Self>,
        mut connection: Box<Connection>,
    ) -> Result<Result<Box<Connection>, Box<Connection>>, Ending> {
        while connection.call_stack.is_waiting() {
            connection.send_rest(|message| self.take_in(message))?;
            connection = match self.wait_for_reply(connection)? {
                WaitEnd::Answered(connection, reply) => {
                    drop(self.take_reply(reply));
                    connection
                }
                WaitEnd::Overdue(connection) => return Ok(Err(connection)),
            };
        }
        Ok(Ok(connection))
    }

    /// Asks something of the special target on a connection that is not in the pool; whether it was answered.
    pub(super) fn probe(
        self: &Arc<Self>,
        mut connection: Box<Connection>,
        timeout: Duration,
    ) -> Result<Option<Box<Connection>>, Ending> {
        let due = deadline::after(timeout);
        let code = special::GET_MAX_THREADS;
        let question = OwnCall::question(code, due);
        connection.set_due(due);
        let mut nothing = Parcel::for_codec(Arc::<Self>::clone(self));
        match self.send_call(&mut connection, &question, &mut nothing, ReadMode::Wait) {
            Ok(()) => {}
            Err(NotSent::Refused(_)) => return Ok(None),
            Err(NotSent::Ended(ending)) => return Err(ending),
        }
        Ok(match self.wait_for_reply(connection)? {
            WaitEnd::Answered(mut connection, _) => {
                connection.set_due(None);
                Some(connection)
            }
            WaitEnd::Overdue(_) => None,
        })
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

    /// Returns what the peer is told of how long the caller waits.
    fn timeout_us(&self, call: &OwnCall) -> u32 {
        match call.due {
            Some(due) if !call.is_oneway() && self.tells_timeouts() => {
                let left = due.saturating_duration_since(Instant::now());
                // Of more than an hour nothing is said.
                u32::try_from(left.as_micros()).map_or(0, |left| left.max(1))
            }
            _ => 0,
        }
    }

    /// Sends a call; without patience, what there is room for.
    pub(super) fn send_call(
        self: &Arc<Self>,
        connection: &mut Connection,
        call: &OwnCall,
        data: &mut Parcel,
        patience: ReadMode,
    ) -> Result<(), NotSent> {
        let is_oneway = call.is_oneway();
        if !is_oneway && !connection.call_stack.may_call(&self.terms.limits) {
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
        let OwnCall { address, code, flags, .. } = *call;
        let (async_number, timeout_us) = (0, self.timeout_us(call));
        let trace_id = call.trace_id.filter(|_| self.tells_trace_ids()).map_or(0, TraceId::get);
        let caller_uid = call.caller_uid.filter(|_| self.tells_callers());
        let mut head = encode::OutgoingCall {
            address,
            code,
            flags,
            async_number,
            timeout_us,
            trace_id,
            caller_uid,
        };
        {
            let mut table = self.table();
            if let Some(address) = address {
                head.async_number = table.session.start(address, is_oneway)?.async_number;
            }
            // Descriptors go with the first bytes of their own message, so nothing goes before.
            if file_count == 0 {
                self.take_releases(&mut table, &mut scratch);
            }
        }
        let head = encode::transact(&head, extent, limits)?;
        if !is_oneway {
            connection.call_stack.call();
        }
        let (positions, releases) = scratch.split_at(listed_bytes);
        data.enclose([releases, &head], positions);
        connection.put_scratch(scratch);
        // Whatever happens, the names are the receiver's; an ended session does not count any more.
        data.mark_sent();
        let objects = data.objects();
        let take_in = |message| self.take_in(message);
        let sent = connection.send(data.bytes(), &files(&objects), patience, take_in);
        sent.map_err(NotSent::Ended)
    }

    /// Waits for the answer to our call until the [due time](Connection::set_due) of the connection, and serves what the
    /// peer calls meanwhile.
    fn wait_for_reply(
        self: &Arc<Self>,
        mut connection: Box<Connection>,
    ) -> Result<WaitEnd, Ending> {
        let due = connection.due();
        loop {
            let message = match connection.arrived()? {
                Some(message) => message,
                None if connection.is_overdue() => return Ok(WaitEnd::Overdue(connection)),
                None => {
                    self.drop_retired_elsewhere();
                    connection.wait(WaitFor::Answer)?;
                    continue;
                }
            };
            match message {
                RpcMessage::Reply(reply) => {
                    connection.call_stack.replied()?;
                    return Ok(WaitEnd::Answered(connection, reply));
                }
                RpcMessage::DecStrong { address, amount } => self.take_back(address, amount)?,
                RpcMessage::Transact(transaction) => {
                    connection = self.answer(connection, transaction)?;
                    // A call within it had a deadline of its own.
                    connection.set_due(due);
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
