//! Calls that are awaited: no thread waits for their answers, or for a connection.
//!
//! A call goes out on the thread that begins it, or, if all connections are in use, on whichever gives
//! one back. From then on the connection is the [reader]'s, who returns it to the pool
//! when the answer has come, whether a task still awaits that or not.

use std::future::Future;
use std::mem;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::task::{Context, Poll, Waker};

use binder_rpc::{Ending, RpcMessage, special};

use super::call::{NotSent, OwnCall, is_serving};
use super::connection::Connection;
use super::link::ReadMode;
use super::pool::{ConnectionUse, NoConnection};
use super::proxy::RpcProxy;
use super::reader::{self, AwaitedConnections, ConnectionWatcher, TimerKey, Until};
use super::shared::SharedSession;
use crate::StatusCode;
use crate::interface::FLAG_ONEWAY;
use crate::transport::{CallStart, Parcel, TransactionCode, TransactionFlags};

/// A call that a task awaits.
#[derive(Debug)]
pub(super) struct Awaited {
    session: Arc<SharedSession>,
    reader: &'static AwaitedConnections,
    call: OwnCall,
    /// Its place among those that end at some time.
    timer: OnceLock<TimerKey>,
    /// Whether its connection counts as one with a late answer to come.
    is_given_up: AtomicBool,
    progress: Mutex<AwaitedProgress>,
}

#[derive(Debug)]
enum AwaitedProgress {
    /// It has not been sent; its data goes with it.
    Queued(Parcel, Option<Waker>),
    /// The peer is asked first whether it wants to know of deadlines.
    Asking(Parcel, Option<Waker>),
    UnderWay(Option<Waker>),
    Answered(Result<Parcel, StatusCode>),
    /// No task awaits it any more.
    Abandoned,
}

/// Awaits a call. Dropped, it leaves a call that was sent to its end, and takes another back. Another connection takes
/// the place of one with a late answer to come.
struct Pending {
    call: Arc<Awaited>,
    /// Keeps the session.
    _proxy: Arc<RpcProxy>,
}

/// Begins a call of an object.
pub(super) fn begin(
    proxy: Arc<RpcProxy>,
    code: TransactionCode,
    data: Parcel,
    flags: TransactionFlags,
) -> CallStart {
    let session = proxy.session();
    if is_serving(session) {
        // A call within a call goes where its caller waits.
        return CallStart::MustBlock(data);
    }
    let Some(reader) = reader::appoint() else {
        return CallStart::MustBlock(data);
    };
    let own = proxy.own_call(code, &data, flags);
    if own.is_overdue() {
        return CallStart::Finished(Err(StatusCode::TIMED_OUT));
    }
    let call = Awaited::new(session, reader, own, AwaitedProgress::Queued(data, None));
    if let Some(due) = own.due {
        // It is told of once, and has none yet.
        let _ = call.timer.set(reader.schedule(due, &call));
    }
    match session.pool.take_for(&call) {
        Ok(None) => session.replace_if_wanted(),
        Ok(Some(connection)) => {
            if let Some((connection, place)) = Arc::clone(&call).start(connection) {
                session.put_back(connection, place);
            }
        }
        Err(NoConnection::Closed) => return CallStart::Finished(Err(StatusCode::DEAD_OBJECT)),
        Err(NoConnection::None | NoConnection::Busy | NoConnection::Overdue) => {
            return CallStart::Finished(Err(session.no_connection()));
        }
    }
    match call.take_answer() {
        Some(answer) => CallStart::Finished(answer),
        None => CallStart::Pending(Box::pin(Pending { call, _proxy: proxy })),
    }
}

/// Has what is unsent on an idle connection sent when there is room, and puts the connection back then:
/// the peer would take us for one that stopped within a message. Returns it if there is no reader
/// that can do so.
pub(super) fn send_rest(
    session: &Arc<SharedSession>,
    connection: Box<Connection>,
) -> Option<Box<Connection>> {
    let Some(reader) = reader::appoint() else {
        return Some(connection);
    };
    // As after a one-way call that no task awaits.
    abandoned(session, reader, FLAG_ONEWAY).wait(connection);
    None
}

/// Leaves a connection, on which a caller does not wait any more, until its answer has come.
pub(super) fn leave(session: &Arc<SharedSession>, connection: Box<Connection>) {
    let Some(reader) = reader::appoint() else {
        tracing::warn!("no thread takes late answers: a session ends");
        return session.end(Ending::ShutDown);
    };
    let call = abandoned(session, reader, 0);
    call.is_given_up.store(true, Ordering::Relaxed);
    call.wait(connection);
    session.give_up_connection();
}

/// Makes a call that was sent and that no task awaits.
fn abandoned(
    session: &Arc<SharedSession>,
    reader: &'static AwaitedConnections,
    flags: TransactionFlags,
) -> Arc<Awaited> {
    let call = OwnCall { flags, ..OwnCall::question(0, None) };
    Awaited::new(session, reader, call, AwaitedProgress::Abandoned)
}

impl Awaited {
    fn new(
        session: &Arc<SharedSession>,
        reader: &'static AwaitedConnections,
        call: OwnCall,
        progress: AwaitedProgress,
    ) -> Arc<Self> {
        Arc::new(Self {
            session: Arc::clone(session),
            reader,
            call,
            timer: OnceLock::new(),
            is_given_up: AtomicBool::new(false),
            progress: Mutex::new(progress),
        })
    }

    fn progress(&self) -> MutexGuard<'_, AwaitedProgress> {
        // Nothing panics while it is locked.
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends the call; returns the connection if it is free again already.
    pub(super) fn start(
        self: Arc<Self>,
        mut connection: Box<Connection>,
    ) -> Option<(Box<Connection>, ConnectionUse)> {
        let mut data = {
            let mut progress = self.progress();
            match mem::replace(&mut *progress, AwaitedProgress::Abandoned) {
                AwaitedProgress::Queued(data, waker) if self.is_to_ask() => {
                    *progress = AwaitedProgress::Asking(data, waker);
                    None
                }
                AwaitedProgress::Queued(data, waker) => {
                    *progress = AwaitedProgress::UnderWay(waker);
                    Some(data)
                }
                other => {
                    *progress = other;
                    return Some((connection, ConnectionUse::First));
                }
            }
        };
        let session = Arc::clone(&self.session);
        let (call, is_question) = match &data {
            Some(_) => (self.call, false),
            None => (OwnCall::question(special::GET_EXTENSIONS, self.call.due), true),
        };
        let mut data =
            data.take().unwrap_or_else(|| Parcel::for_codec(Arc::<SharedSession>::clone(&session)));
        let sent = session.send_call(&mut connection, &call, &mut data, ReadMode::Now);
        discard(data);
        match sent {
            Ok(()) if is_question || !self.call.is_oneway() => {
                self.wait(connection);
                None
            }
            Ok(()) => self.pass(connection),
            Err(NotSent::Refused(status)) => {
                self.finish(Err(status));
                Some((connection, ConnectionUse::First))
            }
            Err(NotSent::Ended(ending)) => {
                self.fail(ending);
                None
            }
        }
    }

    /// Returns whether it is not known yet if the peer knows of deadlines and ids.
    fn is_to_ask(&self) -> bool {
        self.call.is_extended() && self.session.extensions().is_none()
    }

    /// Has the call sent, now that the peer has answered whether it knows of these; whether that is so.
    fn take_question(&self) -> bool {
        let mut progress = self.progress();
        match mem::replace(&mut *progress, AwaitedProgress::Abandoned) {
            AwaitedProgress::Asking(data, waker) => {
                *progress = AwaitedProgress::Queued(data, waker);
                true
            }
            other => {
                *progress = other;
                false
            }
        }
    }

    /// Whether nothing comes back for what was sent last.
    fn is_oneway(&self) -> bool {
        self.call.is_oneway() && !matches!(*self.progress(), AwaitedProgress::Asking(..))
    }

    /// Ends the call, which has not been answered in time.
    pub(super) fn time_out(self: &Arc<Self>) {
        let was_sent = match &*self.progress() {
            AwaitedProgress::Queued(..) => false,
            AwaitedProgress::Asking(..) | AwaitedProgress::UnderWay(_) => true,
            AwaitedProgress::Answered(_) | AwaitedProgress::Abandoned => return,
        };
        if was_sent {
            self.give_up();
        } else {
            self.session.pool.forget(self);
        }
        self.finish(Err(StatusCode::TIMED_OUT));
    }

    /// Takes down that no task waits for the answer on its connection.
    fn give_up(&self) {
        if !self.is_given_up.swap(true, Ordering::Relaxed) {
            self.session.give_up_connection();
        }
    }

    /// Takes down that a one-way call is on its way; returns the connection if all of it is.
    fn pass(
        self: Arc<Self>,
        mut connection: Box<Connection>,
    ) -> Option<(Box<Connection>, ConnectionUse)> {
        if connection.has_unsent() {
            self.wait(connection);
            return None;
        }
        let session = &self.session;
        let drained = connection.drain_at_times(|message| session.take_in(message));
        if let Err(ending) = drained {
            self.fail(ending);
            return None;
        }
        self.finish(Ok(Parcel::for_codec(Arc::<SharedSession>::clone(session))));
        // The next call is not to wait until a one-way call has run.
        Some((connection, ConnectionUse::Last))
    }

    /// Leaves the connection to the reader.
    fn wait(self: Arc<Self>, connection: Box<Connection>) {
        let until = if connection.may_have_read() { Until::Now } else { Until::Ready };
        self.reader.watch(connection, ConnectionWatcher::Call(self), until);
    }

    /// Takes in what has come, sends what was not sent, and waits for more.
    pub(super) fn advance(self: Arc<Self>, connection: Box<Connection>) {
        match self.step(connection) {
            Ok(ConnectionStep::Wait(connection)) => {
                let session = Arc::clone(&self.session);
                self.reader.watch(connection, ConnectionWatcher::Call(self), Until::Ready);
                session.drop_retired();
            }
            Ok(ConnectionStep::Free(connection, place)) => self.session.put_back(connection, place),
            Ok(ConnectionStep::Start(connection)) => {
                let session = Arc::clone(&self.session);
                if let Some((connection, place)) = self.start(connection) {
                    session.put_back(connection, place);
                }
            }
            Ok(ConnectionStep::Gone) => {}
            Err(ending) => self.fail(ending),
        }
    }

    fn step(self: &Arc<Self>, mut connection: Box<Connection>) -> Result<ConnectionStep, Ending> {
        loop {
            match connection.arrived()? {
                Some(RpcMessage::Reply(mut reply)) => {
                    connection.call_stack.replied()?;
                    if self.take_question() {
                        self.session.learn_extensions(&reply);
                        return Ok(ConnectionStep::Start(connection));
                    }
                    if self.is_given_up.load(Ordering::Relaxed) {
                        self.session.pool.answered_late();
                    }
                    // It may wait long for the task that takes it.
                    reply.body.compact();
                    let answer = self.session.take_reply(reply);
                    // It is in the pool before the woken task asks there.
                    self.session.put_back(connection, ConnectionUse::First);
                    self.finish(answer);
                    return Ok(ConnectionStep::Gone);
                }
                Some(RpcMessage::DecStrong { address, amount }) => {
                    self.session.take_back(address, amount)?;
                }
                Some(RpcMessage::Transact(transaction)) => {
                    // It runs code of the program, for as long as that likes.
                    reader::step_down();
                    connection = self.session.answer(connection, transaction)?;
                }
                None if connection.receive_now()? => {}
                None => break,
            }
        }
        connection.send_unsent_now()?;
        if !self.is_oneway() || connection.has_unsent() {
            return Ok(ConnectionStep::Wait(connection));
        }
        Ok(match Arc::clone(self).pass(connection) {
            Some((connection, place)) => ConnectionStep::Free(connection, place),
            None => ConnectionStep::Gone,
        })
    }

    /// Ends the session, and with it the call.
    pub(super) fn fail(&self, ending: Ending) {
        self.session.end(ending);
        self.finish(Err(StatusCode::DEAD_OBJECT));
    }

    /// Gives the task that awaits the call its answer.
    pub(super) fn finish(&self, answer: Result<Parcel, StatusCode>) {
        if let Some(key) = self.timer.get() {
            self.reader.unschedule(key);
        }
        let waker = {
            let mut progress = self.progress();
            match mem::replace(&mut *progress, AwaitedProgress::Abandoned) {
                AwaitedProgress::UnderWay(waker) => {
                    *progress = AwaitedProgress::Answered(answer);
                    waker
                }
                AwaitedProgress::Queued(data, waker) | AwaitedProgress::Asking(data, waker) => {
                    *progress = AwaitedProgress::Answered(answer);
                    drop(progress);
                    discard(data);
                    waker
                }
                AwaitedProgress::Answered(first) => {
                    *progress = AwaitedProgress::Answered(first);
                    drop(progress);
                    answer.into_iter().for_each(discard);
                    None
                }
                AwaitedProgress::Abandoned => {
                    drop(progress);
                    answer.into_iter().for_each(discard);
                    None
                }
            }
        };
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    fn take_answer(&self) -> Option<Result<Parcel, StatusCode>> {
        let mut progress = self.progress();
        match mem::replace(&mut *progress, AwaitedProgress::Abandoned) {
            AwaitedProgress::Answered(answer) => Some(answer),
            other => {
                *progress = other;
                None
            }
        }
    }
}

/// What becomes of a connection after a step.
enum ConnectionStep {
    Wait(Box<Connection>),
    Free(Box<Connection>, ConnectionUse),
    /// The call itself is to be sent.
    Start(Box<Connection>),
    Gone,
}

/// Drops a parcel, with which an object of the program may end.
fn discard(parcel: Parcel) {
    if !parcel.objects().is_empty() {
        reader::step_down();
    }
    drop(parcel);
}

impl Future for Pending {
    type Output = Result<Parcel, StatusCode>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut progress = self.call.progress();
        if let AwaitedProgress::Queued(_, waker)
        | AwaitedProgress::Asking(_, waker)
        | AwaitedProgress::UnderWay(waker) = &mut *progress
        {
            match waker {
                Some(waker) => waker.clone_from(context.waker()),
                None => *waker = Some(context.waker().clone()),
            }
            return Poll::Pending;
        }
        drop(progress);
        // Told once: a task that polls again after that waits for ever.
        self.call.take_answer().map_or(Poll::Pending, Poll::Ready)
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        let progress = mem::replace(&mut *self.call.progress(), AwaitedProgress::Abandoned);
        if let Some(key) = self.call.timer.get() {
            self.call.reader.unschedule(key);
        }
        match progress {
            AwaitedProgress::Queued(..) => self.call.session.pool.forget(&self.call),
            AwaitedProgress::Asking(..) | AwaitedProgress::UnderWay(_) => self.call.give_up(),
            AwaitedProgress::Answered(_) | AwaitedProgress::Abandoned => {}
        }
        // Outside of the lock: with it objects may end.
        drop(progress);
    }
}
