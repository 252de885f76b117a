//! The objects of a session, which all its connections share.

use alloc::vec::Vec;

use crate::exports::{Exports, Oneway, Ran, Released};
use crate::imports::{Imports, PendingRelease};
use crate::{Address, Ending, ProtocolVersion, RpcTransaction, SessionLimits, SessionSide};

/// Why something of ours was not sent. The session goes on, but for [`SendRefusal::Ended`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SendRefusal {
    /// The session is over.
    #[error("the session is over: {0}")]
    Ended(Ending),
    /// An object that the session does not know.
    #[error("{0} is not known in this session")]
    UnknownObject(Address),
    /// A message beyond the limit.
    #[error("a message of {bytes} bytes: at most {limit} are sent")]
    TooLarge {
        /// How long it would be.
        bytes: usize,
        /// The limit.
        limit: usize,
    },
    /// More objects than the session may hold.
    #[error("{count} objects in one session")]
    TooManyObjects {
        /// How many.
        count: usize,
    },
}

/// A call that may be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Start {
    /// Its place among the one-way calls to the object, 0 for others.
    pub async_number: u64,
}

/// An object that came in a parcel.
#[derive(Debug, PartialEq, Eq)]
pub enum Entered<L> {
    /// One of ours; its owner gives it back at once.
    Own(L, PendingRelease),
    /// One of the peer's: find its proxy, or make one and [`hold`](SessionObjects::hold) it.
    Foreign(Address),
}

/// The objects of a session and their counts.
///
/// `L` is a local object, `P` the front end's handle to a proxy that others may have dropped, `F` a
/// descriptor. The front end holds one lock around it, never while it waits.
#[derive(Debug)]
pub struct SessionObjects<L, P, F> {
    role: SessionSide,
    version: ProtocolVersion,
    limits: SessionLimits,
    exports: Exports<L, F>,
    imports: Imports<P>,
    ended: Option<Ending>,
}

impl<L: Clone, P, F> SessionObjects<L, P, F> {
    /// Makes a session that holds nothing.
    #[must_use]
    pub fn new(role: SessionSide, version: ProtocolVersion, limits: SessionLimits) -> Self {
        let (exports, imports) = (Exports::new(role), Imports::new());
        Self { role, version, limits, exports, imports, ended: None }
    }

    /// Returns which side this is.
    #[must_use]
    pub fn role(&self) -> SessionSide {
        self.role
    }

    /// Returns what the session speaks.
    #[must_use]
    pub fn version(&self) -> ProtocolVersion {
        self.version
    }

    /// Returns how much the peer may ask.
    #[must_use]
    pub fn limits(&self) -> &SessionLimits {
        &self.limits
    }

    /// Returns why the session is over, if it is.
    #[must_use]
    pub fn ended(&self) -> Option<&Ending> {
        self.ended.as_ref()
    }

    /// Returns how many objects of this side and of the peer the session holds.
    #[must_use]
    pub fn objects(&self) -> (usize, usize) {
        (self.exports.len(), self.imports.len())
    }

    /// Counts one sending of an object of ours, which `id` names for as long as it lives.
    ///
    /// # Errors
    ///
    /// [`SendRefusal`] if the session is over or full.
    pub fn send_own(
        &mut self,
        id: u64,
        object: impl FnOnce() -> L,
    ) -> Result<Address, SendRefusal> {
        self.check_alive()?;
        let count = self.exports.len() + self.imports.len() + 1;
        if count > self.limits.max_objects && !self.exports.knows(id) {
            return Err(SendRefusal::TooManyObjects { count });
        }
        self.exports.send(id, object).ok_or(SendRefusal::TooManyObjects { count })
    }

    /// Counts one sending of an object of the peer's back to it.
    ///
    /// # Errors
    ///
    /// [`SendRefusal`] if the session is over or does not know the object.
    pub fn send_back(&mut self, address: Address) -> Result<(), SendRefusal> {
        self.check_alive()?;
        self.imports.send(address.number).ok_or(SendRefusal::UnknownObject(address))
    }

    /// Takes back what was counted for a message that was not sent after all.
    pub fn unsend(&mut self, address: Address) -> Released<L> {
        self.take_back(address, 1)
    }

    /// Counts a call of the peer's object: it is sent to its owner by being called.
    ///
    /// # Errors
    ///
    /// [`SendRefusal`] if the session is over or does not know the object.
    pub fn start(&mut self, address: Address, is_oneway: bool) -> Result<Start, SendRefusal> {
        self.send_back(address)?;
        let async_number =
            if is_oneway { self.imports.take_oneway_number(address.number) } else { 0 };
        Ok(Start { async_number })
    }

    /// Takes in a call that arrived for an object: run it, answer it, and say
    /// [`answered`](Self::answered).
    ///
    /// # Errors
    ///
    /// The [`Ending`] of the session, for a call that no peer may make.
    pub fn accept(&mut self, address: Address) -> Result<L, Ending> {
        self.check_ours(address)?;
        self.exports.receive(address.number).ok_or(Ending::UnknownAddress(address))
    }

    /// Takes in a one-way call that arrived for an object: run it, or leave it to the thread that
    /// runs an earlier one.
    ///
    /// # Errors
    ///
    /// As [`Self::accept`], and if too many wait.
    pub fn accept_oneway(
        &mut self,
        address: Address,
        transaction: RpcTransaction<F>,
    ) -> Result<Oneway<L, F>, Ending> {
        self.check_ours(address)?;
        self.exports.receive_oneway(address, transaction, &self.limits)
    }

    /// Returns the bytes and the descriptors of the one-way calls that wait.
    #[must_use]
    pub fn queued(&self) -> (usize, usize) {
        self.exports.queued()
    }

    /// Takes down that a call has run; what follows goes before its answer.
    pub fn answered(&mut self, address: Address) -> Released<L> {
        if self.ended.is_some() {
            return Released { release: None, object: None, is_last: false };
        }
        let released = self.exports.give_back(address, 1);
        self.judge(released)
    }

    /// Takes down that a one-way call has run: the next to the same object, or what follows.
    ///
    /// # Errors
    ///
    /// What follows, when no other call waits.
    pub fn oneway_ran(&mut self, address: Address) -> Result<(L, RpcTransaction<F>), Released<L>> {
        match self.exports.oneway_ran(address) {
            Ran::Next(object, transaction) => Ok((object, transaction)),
            Ran::Idle(released) => Err(self.judge(released)),
        }
    }

    /// Counts an object that came in a parcel.
    ///
    /// # Errors
    ///
    /// The [`Ending`] of the session, for an object of ours that is unknown, or one too many.
    pub fn enter(&mut self, address: Address) -> Result<Entered<L>, Ending> {
        self.check_going()?;
        if address.owner == self.role {
            let object = self.exports.object(address.number);
            return match object {
                Some(object) => Ok(Entered::Own(object, PendingRelease { address, amount: 1 })),
                None => Err(Ending::UnknownAddress(address)),
            };
        }
        if self.imports.receive(address.number) {
            self.imports.check_room(self.exports.len(), self.limits.max_objects)?;
        }
        Ok(Entered::Foreign(address))
    }

    /// Returns the handle that was last given for a proxy.
    #[must_use]
    pub fn proxy(&self, address: Address) -> Option<&P> {
        self.imports.proxy(address.number)
    }

    /// Takes down that a proxy exists for an object that [`entered`](Self::enter).
    pub fn hold(&mut self, address: Address, proxy: P) {
        self.imports.hold(address.number, proxy);
    }

    /// Notes that a proxy that was [held](Self::hold) is gone.
    pub fn let_go(&mut self, address: Address) -> Released<L> {
        let release = self.imports.let_go(address);
        self.judge(Released { release, object: None, is_last: false })
    }

    /// Takes references back that the peer returned.
    ///
    /// # Errors
    ///
    /// The [`Ending`] of the session, for the special target.
    pub fn returned(
        &mut self,
        address: Option<Address>,
        amount: u32,
    ) -> Result<Released<L>, Ending> {
        match address {
            Some(address) => Ok(self.take_back(address, u64::from(amount))),
            None => Err(Ending::BadAddress(crate::BadAddress { options: 0, number: 0 })),
        }
    }

    /// Ends the session; the first reason stays. Returns what it held, to be dropped outside of the
    /// session's lock, and the proxies whose objects have died with it.
    #[must_use = "objects are dropped outside of the lock, and proxies are told of their death"]
    pub fn end(&mut self, reason: Ending) -> Option<SessionRemains<L, P>> {
        if self.ended.is_some() {
            return None;
        }
        self.ended = Some(reason);
        Some(SessionRemains {
            objects: self.exports.take_objects().collect(),
            proxies: self.imports.take_proxies().collect(),
        })
    }

    fn take_back(&mut self, address: Address, amount: u64) -> Released<L> {
        let released = if address.owner == self.role {
            self.exports.returned(address.number, amount)
        } else {
            let release = self.imports.returned(address, amount);
            Released { release, object: None, is_last: false }
        };
        self.judge(released)
    }

    /// Says whether that was the last object: a session that held some and holds none is over.
    fn judge(&self, mut released: Released<L>) -> Released<L> {
        let has_lost = released.object.is_some() || released.release.is_some();
        released.is_last =
            has_lost && self.ended.is_none() && self.exports.len() == 0 && self.imports.len() == 0;
        released
    }

    fn check_alive(&self) -> Result<(), SendRefusal> {
        match &self.ended {
            None => Ok(()),
            Some(ending) => Err(SendRefusal::Ended(ending.clone())),
        }
    }

    fn check_ours(&self, address: Address) -> Result<(), Ending> {
        self.check_going()?;
        if address.owner == self.role { Ok(()) } else { Err(Ending::UnknownAddress(address)) }
    }

    fn check_going(&self) -> Result<(), Ending> {
        match &self.ended {
            None => Ok(()),
            Some(ending) => Err(ending.clone()),
        }
    }
}

/// What a session held when it ended.
#[derive(Debug)]
pub struct SessionRemains<L, P> {
    /// Our objects that the peer held.
    pub objects: Vec<L>,
    /// The handles of proxies whose objects are dead.
    pub proxies: Vec<P>,
}
