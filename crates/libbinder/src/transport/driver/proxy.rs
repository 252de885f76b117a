//! Proxies of objects in other processes.

use std::any::Any;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::device::DeviceShared;
use super::freeze::FreezeListeners;
use super::timed;
use crate::StatusCode;
use crate::interface::FLAG_ONEWAY;
use crate::transport::{
    DeathLinks, DeathNotice, ObjectCodec, Parcel, ProxyFacts, RemoteObject, TransactionCode,
    TransactionFlags,
};

/// An object of another process, by its handle. There is one for each handle of a device.
pub(super) struct HandleProxy {
    pub(super) device: Arc<DeviceShared>,
    pub(super) handle: u32,
    pub(super) deaths: DeathLinks,
    pub(super) freezes: FreezeListeners,
    facts: ProxyFacts,
    /// A call was answered by the word that the object is dead.
    is_known_dead: AtomicBool,
    /// What it held of the handle is given back. Changes while the table of handles is locked.
    pub(super) is_given_back: AtomicBool,
}

impl HandleProxy {
    pub(super) fn new(device: Arc<DeviceShared>, handle: u32) -> Self {
        Self {
            device,
            handle,
            deaths: DeathLinks::default(),
            freezes: FreezeListeners::default(),
            facts: ProxyFacts::default(),
            is_known_dead: AtomicBool::new(false),
            is_given_back: AtomicBool::new(false),
        }
    }

    /// Makes a call on this thread, and waits for its reply for as long as that takes.
    pub(super) fn call_now(
        &self,
        code: TransactionCode,
        data: Parcel,
        flags: TransactionFlags,
    ) -> Result<Parcel, StatusCode> {
        if self.is_known_dead.load(Ordering::Relaxed) {
            return Err(StatusCode::DEAD_OBJECT);
        }
        let result = self.device.call(self.handle, code, data, flags);
        if let Err(StatusCode::DEAD_OBJECT) = result {
            self.is_known_dead.store(true, Ordering::Relaxed);
        }
        result
    }
}

impl RemoteObject for HandleProxy {
    fn codec(&self) -> Arc<dyn ObjectCodec> {
        Arc::clone(&self.device) as Arc<dyn ObjectCodec>
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
        if self.is_known_dead.load(Ordering::Relaxed) {
            return Err(StatusCode::DEAD_OBJECT);
        }
        match data.deadline() {
            // The driver takes a one-way at once.
            Some(due) if flags & FLAG_ONEWAY == 0 => {
                timed::call(self.device.proxy(self.handle), code, data, flags, due)
            }
            _ => self.call_now(code, data, flags),
        }
    }

    fn link_to_death(&self, recipient: &Arc<DeathNotice>) -> Result<(), StatusCode> {
        self.device.link_to_death(self, recipient)
    }

    fn unlink_to_death(&self, recipient: &Arc<DeathNotice>) -> Result<(), StatusCode> {
        self.device.unlink_to_death(self, recipient)
    }

    fn is_alive(&self) -> bool {
        !self.is_known_dead.load(Ordering::Relaxed) && !self.deaths.is_dead()
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn number(&self) -> u64 {
        self.handle.into()
    }
}

impl Drop for HandleProxy {
    fn drop(&mut self) {
        self.device.give_back(self);
    }
}

impl fmt::Debug for HandleProxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "handle {} of {}", self.handle, self.device.path().display())
    }
}
