//! Calls out, calls in, and what else a thread reads.

use std::sync::Arc;

use binder_os::IncomingTransaction;
use binder_os::acting_user::ActingUser;
use binder_os::binder_returns::{Acceptance, NoReply, Notice, Return};
use binder_os::delivery::{ObjectKind, ReceivedObject};
use binder_uapi::{
    BC_ACQUIRE_DONE, BC_INCREFS_DONE, BC_REPLY, BC_TRANSACTION, BinderPtrCookie,
    BinderTransactionData, TF_ACCEPT_FDS, TF_CLEAR_BUF, TF_ONE_WAY, TF_STATUS_CODE, TF_UPDATE_TXN,
    name_of,
};

use super::device::DeviceShared;
use super::link::OutgoingPayload;
use super::received::ReceivedTransaction;
use crate::SpIBinder;
use crate::StatusCode;
use crate::transport::{
    CallerIdentity, HeldObject, ObjectCodec, Parcel, ParcelObject, TransactionCode,
    TransactionFlags, serve, take_buffer,
};

/// Makes this thread another user, by whom the driver takes the call to be.
fn act_as(user: Option<u32>) -> Result<Option<ActingUser>, StatusCode> {
    let Some(uid) = user else { return Ok(None) };
    ActingUser::enter(uid).map_err(|error| {
        tracing::error!(uid, %error, "a call cannot be made as another user");
        StatusCode::PERMISSION_DENIED
    })
}

/// The flags of callers that concern the driver.
const PASSED_FLAGS: u32 = TF_ONE_WAY | TF_CLEAR_BUF | TF_UPDATE_TXN;

impl DeviceShared {
    /// Calls the object behind a handle and waits for its reply, or until a one-way is accepted.
    pub(super) fn call(
        self: &Arc<Self>,
        handle: u32,
        code: TransactionCode,
        data: Parcel,
        flags: TransactionFlags,
    ) -> Result<Parcel, StatusCode> {
        self.check_process()?;
        if !super::link::is_there() {
            // The destructors of the thread's own variables are running, and ours has run.
            return Err(StatusCode::INVALID_OPERATION);
        }
        if !data.is_named_by(&**self) {
            return Err(StatusCode::BAD_VALUE);
        }
        let flags = flags & PASSED_FLAGS | TF_ACCEPT_FDS;
        let head =
            BinderTransactionData { target: handle.into(), code, flags, ..Default::default() };
        let user = act_as(data.user())?;
        self.with_link(|link| {
            link.push_transaction(BC_TRANSACTION, head, &OutgoingPayload::Parcel(&data))
        });
        let answer = self.await_answer(&data, user, flags & TF_ONE_WAY != 0);
        // Its names have come to the driver or will not; either way they are not needed any more.
        drop(data);
        self.settle();
        answer
    }

    /// Reads until the answer to this thread's transaction has come, and does what else is read.
    fn await_answer(
        self: &Arc<Self>,
        sent: &Parcel,
        mut user: Option<ActingUser>,
        is_oneway: bool,
    ) -> Result<Parcel, StatusCode> {
        loop {
            let (next, is_written) = self.with_link(|link| {
                let next = link.next_return(self, Some(sent));
                (next, !link.has_commands())
            });
            // What else is read meanwhile, and code that it runs, is this process's own.
            let was_other = user.take().is_some();
            match next.map_err(|error| self.status_of(&error))? {
                Return::Reply(delivery) => return self.take_reply(delivery),
                // Replies of this thread complete in the order in which all was sent.
                Return::Complete(_) | Return::Refused(_)
                    if self.with_link(super::link::ThreadLink::complete_reply) => {}
                Return::Complete(acceptance) => {
                    self.note_acceptance(acceptance);
                    if is_oneway {
                        return Ok(Parcel::new());
                    }
                }
                Return::Refused(refusal) => return Err(status_of_refusal(refusal)),
                other => self.handle(other),
            }
            if was_other && !is_written {
                user = act_as(sent.user())?;
            }
        }
    }

    /// Does what a return asks for that is no answer.
    pub(super) fn handle(self: &Arc<Self>, what: Return) {
        match what {
            Return::Transaction(delivery) => self.serve_call(delivery),
            Return::Node(notice, name) => self.note_node(notice, name),
            Return::SpawnLooper => self.spawn_looper(),
            Return::DeadBinder(cookie) => self.bury(cookie),
            Return::Frozen(info) => self.note_freeze(&info),
            Return::Complete(acceptance) => {
                self.with_link(super::link::ThreadLink::complete_reply);
                self.note_acceptance(acceptance);
            }
            Return::Refused(refusal) => {
                self.with_link(super::link::ThreadLink::complete_reply);
                tracing::debug!(?refusal, "a reply was refused");
            }
            Return::Reply(delivery) => {
                tracing::error!("a reply to no call");
                drop(self.receive(delivery));
            }
            Return::Unknown(code) => tracing::error!(code = name_of(code), "an unknown return"),
            Return::Nothing => {}
        }
    }

    /// Writes commands that other processes wait for, if this thread returns to the program, and
    /// drops what it may.
    pub(super) fn settle(self: &Arc<Self>) {
        let retired = self.with_link(|link| {
            // If the device fails, the next call says so.
            let _ = link.settle(self);
            if link.is_leaving() { link.take_retired() } else { None }
        });
        drop(retired);
    }

    fn note_node(self: &Arc<Self>, notice: Notice, name: BinderPtrCookie) {
        // The context manager is not counted: it is as long as its process is.
        let released = self.nodes.note(notice, name);
        self.with_link(|link| {
            match notice {
                Notice::Increfs => link.push_urgent(BC_INCREFS_DONE, &name),
                Notice::Acquire => link.push_urgent(BC_ACQUIRE_DONE, &name),
                Notice::Release | Notice::Decrefs => {}
            }
            if let Some(object) = released {
                link.retire(object);
            }
        });
    }

    fn note_acceptance(&self, acceptance: Acceptance) {
        if acceptance == Acceptance::SpamSuspect {
            tracing::warn!(path = %self.path().display(), "this process floods another with one-ways");
        }
    }

    /// Takes the reply to a call: a parcel, or a status.
    fn take_reply(self: &Arc<Self>, delivery: IncomingTransaction) -> Result<Parcel, StatusCode> {
        let head = *delivery.head();
        let reply = self.receive(delivery).0?;
        if head.flags & TF_STATUS_CODE == 0 {
            return Ok(reply);
        }
        let status = reply.bytes().first_chunk().map_or(0, |bytes| i32::from_ne_bytes(*bytes));
        match StatusCode::from_code(status) {
            StatusCode::OK => Ok(Parcel::new()),
            status => Err(status),
        }
    }

    /// Serves a call and replies, or serves a one-way.
    fn serve_call(self: &Arc<Self>, delivery: IncomingTransaction) {
        let head = *delivery.head();
        let BinderTransactionData { target: ptr, cookie, code, flags, .. } = head;
        let is_oneway = flags & TF_ONE_WAY != 0;
        let caller = self.caller(&delivery);
        self.with_link(super::link::ThreadLink::begin_serving);
        let (data, unfreed) = self.receive(delivery);
        // The driver brings no further one-way to the same object before this one is freed.
        let unfreed = unfreed.filter(|_| is_oneway);
        let target = self.target(BinderPtrCookie { ptr, cookie });
        let answer = match (data, target) {
            (Ok(data), Some(target)) => serve(&target, caller, code, data, flags),
            (Ok(_), None) => Err(StatusCode::UNKNOWN_TRANSACTION),
            (Err(status), _) => Err(status),
        };
        if is_oneway {
            if let Err(status) = answer {
                tracing::debug!(code, %status, "a one-way failed");
            }
            drop(unfreed);
            self.with_link(super::link::ThreadLink::end_serving);
            return;
        }
        self.with_link(|link| {
            link.end_serving();
            let flags = flags & TF_CLEAR_BUF;
            match answer {
                Ok(reply) => {
                    let head = BinderTransactionData { flags, ..Default::default() };
                    link.push_transaction(BC_REPLY, head, &OutgoingPayload::Parcel(&reply));
                    link.keep_reply(reply);
                }
                Err(status) => {
                    let flags = flags | TF_STATUS_CODE;
                    let head = BinderTransactionData { flags, ..Default::default() };
                    link.push_transaction(BC_REPLY, head, &OutgoingPayload::Status(status.code()));
                    link.keep_reply(Parcel::new());
                }
            }
        });
    }

    fn caller(&self, delivery: &IncomingTransaction) -> CallerIdentity {
        let BinderTransactionData { sender_pid: pid, sender_euid: uid, .. } = *delivery.head();
        let sid = delivery.security_context().unwrap_or_else(|error| {
            tracing::error!(%error, "no security context");
            None
        });
        CallerIdentity { pid, uid, sid, ..CallerIdentity::default() }
    }

    /// Makes a parcel of what was received: from then on it holds what it names. What is still to be
    /// freed, if the parcel does not see to that, comes along.
    fn receive(
        self: &Arc<Self>,
        delivery: IncomingTransaction,
    ) -> (Result<Parcel, StatusCode>, Option<ReceivedTransaction>) {
        let is_sensitive = delivery.head().flags & TF_CLEAR_BUF != 0;
        let mut received = ReceivedTransaction::new(self, delivery);
        let objects = match self.take_objects(&mut received) {
            Ok(objects) => objects,
            Err(status) => return (Err(status), Some(received)),
        };
        let codec = Arc::clone(self) as Arc<dyn ObjectCodec>;
        if received.keep() {
            return (Ok(Parcel::received(codec, Box::new(received), objects)), None);
        }
        let mut buffer = take_buffer();
        let copied = received.bytes().map(|bytes| parcel::bytes::append(&mut buffer, bytes));
        let mut copy = Parcel::received_into(codec, buffer, 0, objects);
        if is_sensitive {
            copy.mark_sensitive();
        }
        (copied.map(|()| copy).map_err(|error| self.status_of(&error)), Some(received))
    }

    fn take_objects(
        self: &Arc<Self>,
        received: &mut ReceivedTransaction,
    ) -> Result<Vec<ParcelObject>, StatusCode> {
        let objects = received.take_objects().map_err(|error| self.status_of(&error))?;
        objects.into_iter().map(|object| self.parcel_object(object)).collect()
    }

    fn parcel_object(
        self: &Arc<Self>,
        ReceivedObject { offset, kind }: ReceivedObject,
    ) -> Result<ParcelObject, StatusCode> {
        let binder = match kind {
            ObjectKind::File(file) => {
                return Ok(ParcelObject { offset, held: HeldObject::File(file) });
            }
            ObjectKind::Own(name) => {
                SpIBinder::from_local(self.target(name).ok_or(StatusCode::DEAD_OBJECT)?)
            }
            ObjectKind::Handle(handle) => SpIBinder::from_remote(self.proxy(handle)),
            ObjectKind::Other(_) => return Err(StatusCode::BAD_TYPE),
        };
        Ok(ParcelObject { offset, held: HeldObject::Binder { binder, name: None } })
    }
}

fn status_of_refusal(refusal: NoReply) -> StatusCode {
    match refusal {
        NoReply::Dead => StatusCode::DEAD_OBJECT,
        NoReply::Failed | NoReply::Frozen => StatusCode::FAILED_TRANSACTION,
    }
}
