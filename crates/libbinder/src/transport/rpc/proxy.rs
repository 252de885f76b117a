//! A proxy of an object of the peer.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use binder_rpc::Address;

use super::awaited;
use super::call::OwnCall;
use super::shared::{Keeper, SharedSession};
use crate::transport::{
    CallStart, DeathLinks, DeathNotice, ObjectCodec, Parcel, ProxyFacts, RemoteObject,
    TransactionCode, TransactionFlags,
};
use crate::{StatusCode, ThreadState, deadline, thread_state};

/// An object of the peer.
pub(super) struct RpcProxy {
    session: Arc<SharedSession>,
    address: Address,
    facts: ProxyFacts,
    deaths: DeathLinks,
    /// A client's session lasts as long as the program has an object of it.
    _keeper: Option<Arc<Keeper>>,
}

impl RpcProxy {
    pub(super) fn new(session: Arc<SharedSession>, address: Address) -> Self {
        let _keeper = session.keeper();
        let (facts, deaths) = (ProxyFacts::default(), DeathLinks::default());
        Self { session, address, facts, deaths, _keeper }
    }

    pub(super) fn session(&self) -> &Arc<SharedSession> {
        &self.session
    }

    pub(super) fn address(&self) -> Address {
        self.address
    }

    /// Returns the head of a call.
    pub(super) fn own_call(
        &self,
        code: TransactionCode,
        data: &Parcel,
        flags: TransactionFlags,
    ) -> OwnCall {
        let usual = self.session.terms.call_timeout.and_then(deadline::after);
        let due = deadline::earliest(data.deadline(), usual);
        let trace_id = ThreadState::trace_id();
        let caller_uid = self.session.terms.callers.tells.then(thread_state::served_uid).flatten();
        OwnCall { address: Some(self.address), code, flags, due, trace_id, caller_uid }
    }

    /// Returns the recipients of the end of the session.
    pub(super) fn deaths(&self) -> &DeathLinks {
        &self.deaths
    }
}

impl Drop for RpcProxy {
    fn drop(&mut self) {
        let released = {
            let mut table = self.session.table();
            let released = table.session.let_go(self.address);
            table.discharge_objects(&released);
            released
        };
        // What we have sent of it may be on its way back.
        let is_due = released.release.is_none();
        self.session.settle(released);
        // A thread that serves a call of this session sends it with the answer.
        if !super::call::is_serving(&self.session) {
            self.session.flush_idle();
            if is_due {
                self.session.drain_idle();
            }
        }
    }
}

impl fmt::Debug for RpcProxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.address)
    }
}

impl RemoteObject for RpcProxy {
    fn codec(&self) -> Arc<dyn ObjectCodec> {
        Arc::<SharedSession>::clone(&self.session)
    }

    fn facts(&self) -> &ProxyFacts {
        &self.facts
    }

    fn submit_transact(
        &self,
        code: TransactionCode,
        data: Parcel,
        flags: TransactionFlags,
    ) -> Result<Parcel, StatusCode> {
        if !data.is_named_by(&*self.session) {
            return Err(StatusCode::BAD_VALUE);
        }
        let call = self.own_call(code, &data, flags);
        self.session.call(&call, data)
    }

    fn begin_transact(
        self: Arc<Self>,
        code: TransactionCode,
        data: Parcel,
        flags: TransactionFlags,
    ) -> CallStart {
        if !data.is_named_by(&*self.session) {
            return CallStart::Finished(Err(StatusCode::BAD_VALUE));
        }
        awaited::begin(self, code, data, flags)
    }

    fn link_to_death(&self, recipient: &Arc<DeathNotice>) -> Result<(), StatusCode> {
        if !self.is_alive() {
            return Err(StatusCode::DEAD_OBJECT);
        }
        // A thread must be listening for the end.
        if self.session.serving() == 0 {
            return Err(StatusCode::INVALID_OPERATION);
        }
        self.deaths.link(recipient).map(drop)
    }

    fn unlink_to_death(&self, recipient: &Arc<DeathNotice>) -> Result<(), StatusCode> {
        self.deaths.unlink(recipient).map(drop)
    }

    fn is_alive(&self) -> bool {
        self.session.ending().is_none()
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn number(&self) -> u64 {
        self.address.word()
    }
}
