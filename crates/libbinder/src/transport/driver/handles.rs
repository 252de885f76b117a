//! Handles of objects in other processes: the references to them, and the notices asked for.
//!
//! A handle has one proxy as long as the process holds it. The driver counts what the process holds
//! of a handle, whichever thread says so and when; but of the registrations for death and freeze it
//! has one for each handle, and ignores a second. So commands about registrations are written while
//! the table is locked: the driver sees them in the order in which the table changed.

use std::collections::HashMap;
use std::io;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use binder_uapi::{
    BC_ACQUIRE, BC_CLEAR_DEATH_NOTIFICATION, BC_CLEAR_FREEZE_NOTIFICATION, BC_DEAD_BINDER_DONE,
    BC_DECREFS, BC_FREEZE_NOTIFICATION_DONE, BC_INCREFS, BC_RELEASE, BC_REQUEST_DEATH_NOTIFICATION,
    BC_REQUEST_FREEZE_NOTIFICATION, BinderFrozenStateInfo, BinderHandleCookie,
};

use super::device::DeviceShared;
use super::freeze::{FreezeNotice, FrozenState};
use super::proxy::HandleProxy;
use crate::transport::{DeathNotice, RemoteObject as _};
use crate::{StatusCode, death};

/// All handles of a device that this process holds.
#[derive(Default)]
pub(super) struct DeviceHandles {
    table: Mutex<HandleTable>,
}

#[derive(Default)]
struct HandleTable {
    entries: HashMap<u32, HandleEntry>,
    last_cookie: u64,
}

#[derive(Default)]
struct HandleEntry {
    proxy: Weak<HandleProxy>,
    /// The cookies of what was asked of the driver, by this proxy or one before it.
    death: Option<u64>,
    freeze: Option<u64>,
}

impl HandleTable {
    /// Returns a cookie that names the handle, and no registration before.
    fn new_cookie(&mut self, handle: u32) -> u64 {
        self.last_cookie += 1;
        self.last_cookie << 32 | u64::from(handle)
    }

    /// Returns the proxy's entry, unless another has taken that over, and the registrations with it.
    fn entry_of(&mut self, proxy: &HandleProxy) -> Option<&mut HandleEntry> {
        let entry = self.entries.get_mut(&proxy.handle)?;
        std::ptr::eq(entry.proxy.as_ptr(), proxy).then_some(entry)
    }

    fn entry_of_cookie(&mut self, cookie: u64) -> Option<(u32, &mut HandleEntry)> {
        let handle = u32::try_from(cookie & u64::from(u32::MAX)).ok()?;
        Some((handle, self.entries.get_mut(&handle)?))
    }
}

impl DeviceShared {
    fn handles(&self) -> MutexGuard<'_, HandleTable> {
        // The table is never left half changed.
        self.handles.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns how many handles this process holds.
    pub(super) fn handle_count(&self) -> usize {
        self.handles().entries.len()
    }

    /// Returns the proxy of a handle that a received buffer holds, or of handle 0.
    pub(super) fn proxy(self: &Arc<Self>, handle: u32) -> Arc<HandleProxy> {
        let (proxy, former) = {
            let mut table = self.handles();
            let former = table.entries.get(&handle).and_then(|entry| entry.proxy.upgrade());
            match former {
                // Handle 0 is that of the context manager, whichever there is.
                Some(proxy) if handle != 0 || proxy.is_alive() => return proxy,
                Some(_) | None => {}
            }
            if let Some(former) = &former {
                // The driver has one manager behind handle 0 for as long as it is held.
                self.let_go(&mut table, former);
            }
            let proxy = Arc::new(HandleProxy::new(Arc::clone(self), handle));
            table.entries.entry(handle).or_default().proxy = Arc::downgrade(&proxy);
            (proxy, former)
        };
        self.with_link(|link| {
            link.push_urgent(BC_INCREFS, &handle);
            link.push_urgent(BC_ACQUIRE, &handle);
            // Others may find the proxy and drop it before this is written.
            link.pin(Arc::clone(&proxy));
        });
        death::die_elsewhere(former.iter().map(|former| &former.deaths));
        proxy
    }

    /// Gives back the references that a proxy held, after its last holder has dropped it.
    pub(super) fn give_back(self: &Arc<Self>, proxy: &HandleProxy) {
        if self.check_process().is_err() {
            return;
        }
        let mut table = self.handles();
        self.let_go(&mut table, proxy);
        drop(table);
        // Proxies that were waiting for the commands to be written.
        self.with_link(|_| ());
    }

    /// Gives back what a proxy holds, once.
    fn let_go(self: &Arc<Self>, table: &mut HandleTable, proxy: &HandleProxy) {
        if proxy.is_given_back.swap(true, Ordering::Relaxed) {
            return;
        }
        let handle = proxy.handle;
        let is_ours = table.entry_of(proxy).is_some();
        let entry = if is_ours { table.entries.remove(&handle) } else { None };
        let is_registered =
            entry.as_ref().is_some_and(|entry| entry.death.is_some() || entry.freeze.is_some());
        self.with_link_locked(|link| {
            if let Some(cookie) = entry.as_ref().and_then(|entry| entry.freeze) {
                link.push(BC_CLEAR_FREEZE_NOTIFICATION, &BinderHandleCookie { handle, cookie });
            }
            if let Some(cookie) = entry.as_ref().and_then(|entry| entry.death) {
                link.push(BC_CLEAR_DEATH_NOTIFICATION, &BinderHandleCookie { handle, cookie });
            }
            link.push_urgent(BC_RELEASE, &handle);
            link.push_urgent(BC_DECREFS, &handle);
            // A driver that does not answer has nothing to be given back to.
            let _ = if is_registered { link.flush(self) } else { link.settle(self) };
        });
    }

    /// Writes a command about a registration at once.
    fn write_registration(
        self: &Arc<Self>,
        command: u32,
        handle: u32,
        cookie: u64,
    ) -> io::Result<()> {
        self.with_link_locked(|link| {
            // Alone, so that an error is this command's.
            link.flush(self)?;
            link.push(command, &BinderHandleCookie { handle, cookie });
            link.flush(self)
        })
    }

    /// Takes a registration back that the table does not name any more, if there was one.
    fn unregister(
        self: &Arc<Self>,
        table: MutexGuard<'_, HandleTable>,
        command: u32,
        handle: u32,
        cookie: Option<u64>,
    ) -> Result<(), StatusCode> {
        let Some(cookie) = cookie else { return Ok(()) };
        let asked = self.write_registration(command, handle, cookie);
        drop(table);
        // Proxies that were waiting for the commands to be written.
        self.with_link(|_| ());
        asked.map_err(|error| self.status_of(&error))
    }

    /// Asks the driver to tell of the death of the proxy's object.
    pub(super) fn link_to_death(
        self: &Arc<Self>,
        proxy: &HandleProxy,
        recipient: &Arc<DeathNotice>,
    ) -> Result<(), StatusCode> {
        self.check_process()?;
        let handle = proxy.handle;
        let mut table = self.handles();
        proxy.deaths.link(recipient)?;
        let cookie = table.new_cookie(handle);
        let Some(entry) = table.entry_of(proxy).filter(|entry| entry.death.is_none()) else {
            return Ok(());
        };
        entry.death = Some(cookie);
        let asked = self.write_registration(BC_REQUEST_DEATH_NOTIFICATION, handle, cookie);
        if asked.is_err() {
            entry.death = None;
            // It was linked a moment ago.
            let _ = proxy.deaths.unlink(recipient);
        }
        drop(table);
        self.with_link(|_| ());
        asked.map_err(|error| self.status_of(&error))
    }

    /// Takes that back.
    pub(super) fn unlink_to_death(
        self: &Arc<Self>,
        proxy: &HandleProxy,
        recipient: &Arc<DeathNotice>,
    ) -> Result<(), StatusCode> {
        self.check_process()?;
        let handle = proxy.handle;
        let mut table = self.handles();
        let is_last = proxy.deaths.unlink(recipient)?;
        let entry = table.entry_of(proxy).filter(|_| is_last);
        let cookie = entry.and_then(|entry| entry.death.take());
        self.unregister(table, BC_CLEAR_DEATH_NOTIFICATION, handle, cookie)
    }

    /// Handles `BR_DEAD_BINDER`: tells all recipients, then the driver.
    pub(super) fn bury(self: &Arc<Self>, cookie: u64) {
        let mut table = self.handles();
        let entry = table.entry_of_cookie(cookie);
        let proxy = match entry {
            Some((handle, entry)) if entry.death == Some(cookie) => {
                entry.death = None;
                let proxy = entry.proxy.upgrade();
                // It fails if the device does, and then there is nothing to clear.
                let _ = self.write_registration(BC_CLEAR_DEATH_NOTIFICATION, handle, cookie);
                proxy
            }
            Some(_) | None => None,
        };
        drop(table);
        if let Some(proxy) = proxy {
            proxy.deaths.die();
        }
        self.with_link(|link| link.push_urgent(BC_DEAD_BINDER_DONE, &cookie));
    }

    /// Asks the driver to tell when the process of the proxy's object is frozen and thawed.
    pub(super) fn link_to_freezes(
        self: &Arc<Self>,
        proxy: &HandleProxy,
        notice: &Arc<FreezeNotice>,
    ) -> Result<(), StatusCode> {
        self.check_process()?;
        let handle = proxy.handle;
        let mut table = self.handles();
        let state = proxy.freezes.link(notice);
        let cookie = table.new_cookie(handle);
        let entry = table.entry_of(proxy).filter(|entry| entry.freeze.is_none());
        let Some(entry) = entry else {
            drop(table);
            // The driver says it to the first only.
            if let Some(state) = state {
                notice.tell(state);
            }
            return Ok(());
        };
        entry.freeze = Some(cookie);
        let asked = self.write_registration(BC_REQUEST_FREEZE_NOTIFICATION, handle, cookie);
        if asked.is_err() {
            entry.freeze = None;
            // It was linked a moment ago.
            let _ = proxy.freezes.unlink(notice);
        }
        drop(table);
        self.with_link(|_| ());
        // Drivers before Linux 6.12 do not know the command.
        asked.map_err(|_| StatusCode::INVALID_OPERATION)
    }

    /// Takes that back.
    pub(super) fn unlink_from_freezes(
        self: &Arc<Self>,
        proxy: &HandleProxy,
        notice: &Arc<FreezeNotice>,
    ) -> Result<(), StatusCode> {
        self.check_process()?;
        let handle = proxy.handle;
        let mut table = self.handles();
        let is_last = proxy.freezes.unlink(notice)?;
        let entry = table.entry_of(proxy).filter(|_| is_last);
        let cookie = entry.and_then(|entry| entry.freeze.take());
        self.unregister(table, BC_CLEAR_FREEZE_NOTIFICATION, handle, cookie)
    }

    /// Handles `BR_FROZEN_BINDER`.
    pub(super) fn note_freeze(self: &Arc<Self>, info: &BinderFrozenStateInfo) {
        let mut table = self.handles();
        let entry = table.entry_of_cookie(info.cookie);
        let entry = entry.filter(|(_, entry)| entry.freeze == Some(info.cookie));
        let proxy = entry.and_then(|(_, entry)| entry.proxy.upgrade());
        drop(table);
        if let Some(proxy) = &proxy {
            proxy.freezes.tell(FrozenState::of(info.is_frozen != 0));
        }
        self.with_link(|link| {
            // The driver refuses it, alone, if the handle is gone: the proxy keeps it meanwhile.
            let _ = link.flush(self);
            link.push(BC_FREEZE_NOTIFICATION_DONE, &info.cookie);
            let _ = link.flush(self);
        });
        drop(proxy);
    }
}

#[cfg(test)]
mod tests {
    use super::super::device::refusing_device;
    use super::*;
    use crate::DeathRecipient;

    #[test]
    fn a_refused_death_link_is_asked_for_anew() {
        let device = refusing_device();
        let proxy = device.proxy(7);
        let recipient = DeathRecipient::new(|| ());
        for _ in 0..2 {
            assert!(device.link_to_death(&proxy, recipient.notice()).is_err());
        }
        let unlinked = device.unlink_to_death(&proxy, recipient.notice());
        assert_eq!(unlinked, Err(StatusCode::NAME_NOT_FOUND));
    }
}
