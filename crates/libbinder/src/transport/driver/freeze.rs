//! Being told when the process of an object is frozen and thawed.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use super::proxy::HandleProxy;
use crate::{SpIBinder, StatusCode};

/// Whether the process of an object runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FrozenState {
    /// It does not: calls are refused, one-ways wait.
    Frozen,
    /// It does.
    Unfrozen,
}

impl FrozenState {
    pub(super) fn of(is_frozen: bool) -> Self {
        if is_frozen { Self::Frozen } else { Self::Unfrozen }
    }
}

/// What to do when the process of an object is frozen or thawed.
///
/// Dropping it ends all its links.
#[derive(Debug)]
pub struct FrozenStateChangeCallback {
    notice: Arc<FreezeNotice>,
}

/// The callback, as proxies hold it: weakly.
pub(super) struct FreezeNotice(Box<dyn Fn(FrozenState) + Send + Sync>);

impl FreezeNotice {
    pub(super) fn tell(&self, state: FrozenState) {
        crate::death::tell(|| (self.0)(state));
    }
}

impl fmt::Debug for FreezeNotice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("FreezeNotice")
    }
}

impl FrozenStateChangeCallback {
    /// Calls `callback` with the state of each object that it is added to, and whenever that
    /// changes.
    pub fn new(callback: impl Fn(FrozenState) + Send + Sync + 'static) -> Self {
        Self { notice: Arc::new(FreezeNotice(Box::new(callback))) }
    }
}

impl SpIBinder {
    /// Has `callback` told whether the object's process is frozen: soon, and when it changes.
    ///
    /// A thread of the pool tells it. Changes that follow each other closely may be told as one.
    ///
    /// # Errors
    ///
    /// [`StatusCode::INVALID_OPERATION`] if a freeze cannot be told: the object is of this process,
    /// or not behind a device, or the driver is older than Linux 6.12.
    pub fn add_frozen_state_change_callback(
        &self,
        callback: &FrozenStateChangeCallback,
    ) -> Result<(), StatusCode> {
        let proxy = self.driver_proxy()?;
        proxy.device.link_to_freezes(proxy, &callback.notice)
    }

    /// Takes that back.
    ///
    /// # Errors
    ///
    /// [`StatusCode::NAME_NOT_FOUND`] if it was not added to this object.
    pub fn remove_frozen_state_change_callback(
        &self,
        callback: &FrozenStateChangeCallback,
    ) -> Result<(), StatusCode> {
        let proxy = self.driver_proxy()?;
        proxy.device.unlink_from_freezes(proxy, &callback.notice)
    }

    fn driver_proxy(&self) -> Result<&HandleProxy, StatusCode> {
        let remote = self.as_remote().and_then(|remote| remote.as_any().downcast_ref());
        remote.ok_or(StatusCode::INVALID_OPERATION)
    }
}

/// The listeners for freezes of one proxy's object.
#[derive(Debug, Default)]
pub(super) struct FreezeListeners {
    state: Mutex<FreezeRecipients>,
}

#[derive(Debug, Default)]
struct FreezeRecipients {
    notices: Vec<Weak<FreezeNotice>>,
    /// What the driver said last.
    last: Option<FrozenState>,
}

impl FreezeListeners {
    fn state(&self) -> MutexGuard<'_, FreezeRecipients> {
        // No callback runs under the lock, so a panic cannot have left it half changed.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a link and returns the state known of the object.
    pub(super) fn link(&self, notice: &Arc<FreezeNotice>) -> Option<FrozenState> {
        let mut links = self.state();
        links.notices.retain(|link| link.strong_count() > 0);
        links.notices.push(Arc::downgrade(notice));
        links.last
    }

    /// Removes a link and says whether it was the last.
    pub(super) fn unlink(&self, notice: &Arc<FreezeNotice>) -> Result<bool, StatusCode> {
        let mut links = self.state();
        let wanted = Arc::as_ptr(notice);
        let found = links.notices.iter().position(|link| std::ptr::eq(link.as_ptr(), wanted));
        links.notices.swap_remove(found.ok_or(StatusCode::NAME_NOT_FOUND)?);
        let is_last = links.notices.is_empty();
        if is_last {
            links.last = None;
        }
        Ok(is_last)
    }

    /// Notes a state and tells all of it.
    pub(super) fn tell(&self, state: FrozenState) {
        let notices: Vec<_> = {
            let mut links = self.state();
            links.last = Some(state);
            links.notices.iter().filter_map(Weak::upgrade).collect()
        };
        for notice in notices {
            notice.tell(state);
        }
    }
}
