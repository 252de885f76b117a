//! Calls of the peer.

use std::mem;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

use binder_rpc::{
    Address, Ending, Extensions, MAX_FILES, Oneway, RpcMessage, RpcTransaction, SessionSide,
    encode, special,
};

use super::busy::MessagePace;
use super::call::serving;
use super::codec::{count_files, files};
use super::connection::Connection;
use super::link::ReadMode;
use super::offer::CallGuard;
use super::relayed;
use super::shared::{SharedSession, Tell};
use crate::transport::{CallerIdentity, LocalObject, Parcel, serve};
use crate::{StatusCode, TraceId, deadline};

/// How long a thread waits for the next call of a connection before it leaves that to the reader. Calls that come
/// sooner find it waiting.
const IDLE_TIME: Duration = Duration::from_millis(200);

/// What becomes of a connection after a message, or without one.
enum Next {
    Again(Box<Connection>),
    Idle(Box<Connection>),
}

impl SharedSession {
    /// Serves a connection on which the peer calls, until it is idle or over.
    pub(super) fn serve_connection(
        self: &Arc<Self>,
        mut connection: Box<Connection>,
    ) -> Result<Box<Connection>, Ending> {
        if connection.has_unsent() {
            connection.send_unsent_now()?;
        }
        let mut pace = MessagePace::new();
        loop {
            let idle_time = (!pace.stays()).then_some(IDLE_TIME);
            connection = match self.serve_next(connection, idle_time)? {
                Next::Again(same) => same,
                Next::Idle(idle) => {
                    self.drain_idle();
                    return Ok(idle);
                }
            };
            // A thread that stays looks at no idle connection.
            if pace.count(IDLE_TIME, || self.pool.is_empty()) {
                self.drain_idle();
            }
        }
    }

    /// Waits for one message, for that long at most, and does what it asks.
    fn serve_next(
        self: &Arc<Self>,
        mut connection: Box<Connection>,
        idle_time: Option<Duration>,
    ) -> Result<Next, Ending> {
        let message = loop {
            if let Some(message) = connection.arrived()? {
                break message;
            }
            if self.has_releases() {
                // Before this thread may sleep for long.
                self.flush(&mut connection)?;
            }
            if connection.wait_for_call(idle_time)? {
                return Ok(Next::Idle(connection));
            }
        };
        let connection = match message {
            RpcMessage::Transact(transaction) => self.answer(connection, transaction)?,
            message => {
                self.take_in(message)?;
                connection
            }
        };
        self.drop_retired();
        Ok(Next::Again(connection))
    }

    /// Runs a call of the peer and answers it.
    pub(super) fn answer(
        self: &Arc<Self>,
        mut connection: Box<Connection>,
        transaction: RpcTransaction<OwnedFd>,
    ) -> Result<Box<Connection>, Ending> {
        connection.call_stack.called(&self.terms.limits)?;
        match transaction.address {
            Some(address) if transaction.is_oneway() => self.take_oneway(address, transaction)?,
            Some(address) => connection = self.answer_call(connection, address, transaction)?,
            None => {
                self.ending().map_or(Ok(()), Err)?;
                let reply = match transaction.body.bad() {
                    None => self.answer_special(&transaction),
                    Some(bad) => Err(self.refuse(bad)),
                };
                if !transaction.is_oneway() {
                    self.reply(&mut connection, None, reply)?;
                }
            }
        }
        connection.call_stack.answered();
        Ok(connection)
    }

    fn answer_call(
        self: &Arc<Self>,
        connection: Box<Connection>,
        address: Address,
        transaction: RpcTransaction<OwnedFd>,
    ) -> Result<Box<Connection>, Ending> {
        let accepted = {
            let mut table = self.table();
            table.served.count(transaction.body.data().len());
            table.session.accept(address)
        };
        let object = self.named(accepted)?;
        // An unknown object has nothing to be given back.
        let called = object.is_ok().then_some(address);
        let data = self.received(transaction.body, Tell::Soon)?;
        let mut caller = self.caller_of(transaction.trace_id, transaction.caller_uid);
        if transaction.timeout_us > 0 && self.tells_timeouts() {
            caller.deadline = deadline::after(Duration::from_micros(transaction.timeout_us.into()));
        }
        let (connection, reply) = serving(self, Some(connection), || {
            self.supervised(object.as_ref().ok(), || {
                let object = object.as_ref().map_err(|status| *status)?;
                self.choose_user(object, &mut caller)?;
                serve(object, caller, transaction.code, data?, transaction.flags)
            })
        });
        // Without a connection, a call within this one has ended the session.
        let connection = connection.ok_or_else(|| self.ending().unwrap_or(Ending::Closed))?;
        let mut connection = self.wait_out(connection)?;
        self.reply(&mut connection, called, reply)?;
        Ok(connection)
    }

    /// Who calls, with what the peer says of the request and of the user that its call is made for, if it knows what it says.
    fn caller_of(&self, trace_id: u32, claimed_uid: Option<u32>) -> CallerIdentity {
        let mut caller = self.peer.caller();
        if self.tells_trace_ids() {
            caller.trace_id = TraceId::new(trace_id);
        }
        if self.tells_callers() {
            caller.claimed_uid = claimed_uid;
        }
        caller
    }

    /// Notes as which user a call is passed on, if it is one that is.
    fn choose_user(
        &self,
        object: &Arc<dyn LocalObject>,
        caller: &mut CallerIdentity,
    ) -> Result<(), StatusCode> {
        if let Some(user) = &self.terms.callers.forwarding_user
            && object.forwards().is_some()
        {
            caller.forwarded_as = user.decide(caller)?;
        }
        Ok(())
    }

    /// Whether a call of the peer's is served.
    fn admit(&self) -> Result<(), StatusCode> {
        self.terms.guard.as_ref().map_or(Ok(()), CallGuard::admit)
    }

    /// Serves a call of the peer's if it is admitted, and tells the observer how long that took. Calls of relayed
    /// files are none of the program's: a stream of which a piece is refused would go on without it.
    fn supervised<T>(
        &self,
        object: Option<&Arc<dyn LocalObject>>,
        serve: impl FnOnce() -> Result<T, StatusCode>,
    ) -> Result<T, StatusCode> {
        if self.terms.relays_files() && object.is_some_and(|object| relayed::is_own(&**object)) {
            return serve();
        }
        let admitted = || self.admit().and_then(|()| serve());
        let Some(observer) = &self.terms.observer else { return admitted() };
        let began = Instant::now();
        let served = admitted();
        observer.tell(began, served.as_ref().map(|_| ()).map_err(|status| *status));
        served
    }

    /// Waits for the answers to calls back that the service has given up: the peer reads nothing before.
    fn wait_out(
        self: &Arc<Self>,
        mut connection: Box<Connection>,
    ) -> Result<Box<Connection>, Ending> {
        // They belong to the call that was served, and the service's own time is over.
        connection.set_due(None);
        match self.settle_late(connection)? {
            Ok(connection) | Err(connection) => Ok(connection),
        }
    }

    /// Runs a one-way call, and those to the same object that waited for it; or has it wait.
    fn take_oneway(
        self: &Arc<Self>,
        address: Address,
        transaction: RpcTransaction<OwnedFd>,
    ) -> Result<(), Ending> {
        let accepted = {
            let mut table = self.table();
            table.served.count(transaction.body.data().len());
            let accepted = table.session.accept_oneway(address, transaction);
            table.charge_queue()?;
            accepted
        };
        let Ok(accepted) = self.named(accepted)? else {
            return Ok(());
        };
        let (mut object, mut transaction) = match accepted {
            Oneway::Run(object, transaction) => (object, transaction),
            Oneway::Wait(queued) => {
                if queued.is_many {
                    let (waiting, pid) = (queued.waiting, self.peer.caller().pid);
                    tracing::warn!(waiting, pid, "one-way calls wait for earlier ones");
                }
                return Ok(());
            }
        };
        loop {
            let data = self.received(transaction.body, Tell::Soon)?;
            let mut caller = self.caller_of(transaction.trace_id, transaction.caller_uid);
            // The caller does not wait, so its number may be another process's by now.
            caller.pid = 0;
            let (_, served) = serving(self, None, || {
                self.supervised(Some(&object), || {
                    self.choose_user(&object, &mut caller)?;
                    serve(&object, caller, transaction.code, data?, transaction.flags)
                })
            });
            if let Err(status) = served {
                tracing::debug!(%status, code = transaction.code, "a one-way call failed");
            }
            let next = {
                let mut table = self.table();
                let next = table.session.oneway_ran(address);
                table.charge_queue()?;
                next
            };
            match next {
                Ok(next) => (object, transaction) = next,
                Err(released) => {
                    self.settle(released);
                    return Ok(());
                }
            }
        }
    }

    /// Answers a call of no object.
    fn answer_special(
        self: &Arc<Self>,
        transaction: &RpcTransaction<OwnedFd>,
    ) -> Result<Parcel, StatusCode> {
        let mut reply = Parcel::for_codec(Arc::<Self>::clone(self));
        match transaction.code {
            special::GET_ROOT if self.terms.role == SessionSide::Server => {
                reply.write_binder(self.terms.root.as_ref())?;
            }
            special::GET_MAX_THREADS => {
                let parcel = special::max_threads(self.terms.max_threads);
                reply.write_with(|writer| writer.raw(&parcel));
            }
            special::GET_SESSION_ID => {
                let parcel = special::session_id(self.id().ok_or(StatusCode::NO_INIT)?);
                reply.write_with(|writer| writer.raw(&parcel));
            }
            special::GET_EXTENSIONS => {
                // A peer that asks knows them all.
                self.set_extensions(Extensions::ALL);
                reply.write_with(|writer| writer.raw(&Extensions::ALL.answer()));
            }
            _ => return Err(StatusCode::UNKNOWN_TRANSACTION),
        }
        Ok(reply)
    }

    /// Sends an answer, and the references that go back with it.
    fn reply(
        self: &Arc<Self>,
        connection: &mut Connection,
        called: Option<Address>,
        mut reply: Result<Parcel, StatusCode>,
    ) -> Result<(), Ending> {
        let mut scratch = connection.take_scratch();
        let answer = match &mut reply {
            Ok(reply) => self.head(reply, &mut scratch).map(|head| (reply, head)),
            Err(status) => Err(*status),
        };
        let listed_bytes = scratch.len();
        let (lost, is_last) = {
            let mut table = self.table();
            // Of what the session itself asks nothing is counted.
            if let (Some(_), Ok((reply, _))) = (&called, &answer) {
                table.served.sent_bytes += reply.bytes().len() as u64;
            }
            let lost = called.and_then(|address| self.release_called(&mut table, address));
            self.take_releases(&mut table, &mut scratch);
            (lost, Self::is_last(&table))
        };
        self.retire(lost);
        let take_in = |message| self.take_in(message);
        match answer {
            Ok((reply, head)) => {
                let (positions, mut releases) = scratch.split_at(listed_bytes);
                // Whatever happens, the names are the receiver's.
                reply.mark_sent();
                if count_files(&reply.objects()) > 0 {
                    // Descriptors go with the first bytes of their own message.
                    connection.send(mem::take(&mut releases), &[], ReadMode::Wait, take_in)?;
                }
                reply.enclose([releases, &head], positions);
                let objects = reply.objects();
                connection.send(reply.bytes(), &files(&objects), ReadMode::Wait, take_in)?;
            }
            Err(status) => {
                let (version, none) = (self.terms.version, encode::Extent::default());
                // A status alone is within every limit.
                let Ok(head) = encode::reply(version, status.code(), none, &self.terms.limits)
                else {
                    return Err(Ending::ShutDown);
                };
                scratch.extend_from_slice(&head);
                connection.send(&scratch, &[], ReadMode::Wait, take_in)?;
            }
        }
        connection.put_scratch(scratch);
        if is_last { self.end_if_last() } else { Ok(()) }
    }

    /// Returns what goes before an answer, and writes the positions that go behind it, if it can be
    /// sent.
    fn head(
        &self,
        reply: &Parcel,
        positions: &mut Vec<u8>,
    ) -> Result<encode::ParcelHead, StatusCode> {
        let objects = reply.objects();
        if count_files(&objects) > MAX_FILES {
            return Err(StatusCode::BAD_VALUE);
        }
        let count = self.list_positions(&objects, positions);
        let extent = encode::Extent { parcel_bytes: reply.bytes().len(), positions: count };
        let head = encode::reply(self.terms.version, 0, extent, &self.terms.limits);
        head.map_err(|refusal| {
            positions.clear();
            tracing::warn!(%refusal, "an answer was not sent");
            StatusCode::FAILED_TRANSACTION
        })
    }
}
