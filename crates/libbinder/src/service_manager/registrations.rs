//! What this process has registered at the service manager of a device, and how it comes back when the manager does.
//!
//! The driver tells of the manager's end, if a thread of this process takes calls. The driver does not tell of the next manager: a
//! thread of its own looks for one, and ends when all is registered there.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use super::ServiceManager;
use super::callbacks::ClientCallback;
use crate::binder_impl::Binder;
use crate::transport::driver::DriverDevice;
use crate::{DeathRecipient, IBinder as _, SpIBinder, StatusCode, WpIBinder};

/// How long the thread waits at first before it looks for a manager again, and at most.
const PAUSES: (Duration, Duration) = (Duration::from_millis(10), Duration::from_secs(1));

/// What a process has registered on a device.
#[derive(Default)]
pub(crate) struct Registrations {
    list: Mutex<Vec<Registration>>,
    /// The manager whose end is waited for, and what happens then.
    watched: Mutex<Option<(WpIBinder, DeathRecipient)>>,
    /// Whether a thread looks for a manager.
    is_looking: AtomicBool,
}

/// A service under a name.
#[derive(Clone)]
pub(super) struct Registration {
    pub(super) name: String,
    pub(super) service: SpIBinder,
    pub(super) flags: i32,
    /// The callback that is told whether it has clients, if it is lazy.
    pub(super) client_callback: Option<Binder<ClientCallback>>,
}

impl Registrations {
    fn list(&self) -> MutexGuard<'_, Vec<Registration>> {
        self.list.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps a registration, instead of one of the same name.
    pub(super) fn keep(&self, registration: Registration) {
        let mut list = self.list();
        list.retain(|other| other.name != registration.name);
        list.push(registration);
    }

    /// Notes the callback that is told whether a service has clients.
    pub(super) fn keep_client_callback(&self, name: &str, callback: &Binder<ClientCallback>) {
        if let Some(kept) = self.list().iter_mut().find(|kept| kept.name == name) {
            kept.client_callback = Some(callback.clone());
        }
    }

    /// Forgets a registration that was taken back.
    pub(super) fn forget(&self, name: &str) {
        self.list().retain(|other| other.name != name);
    }

    /// Waits for the end of `manager`, unless that is waited for already.
    fn watch(&self, device: &DriverDevice, manager: &SpIBinder) {
        let mut watched = self.watched.lock().unwrap_or_else(PoisonError::into_inner);
        let place = manager.downgrade();
        if watched.as_ref().is_some_and(|(known, _)| *known == place) {
            return;
        }
        let weak = device.downgrade();
        let recipient = DeathRecipient::new(move || {
            if let Some(device) = weak.upgrade() {
                look_for_manager(device);
            }
        });
        match manager.link_to_death(&recipient) {
            Ok(()) => *watched = Some((place, recipient)),
            Err(StatusCode::DEAD_OBJECT) => look_for_manager(device.clone()),
            // The manager is of this process.
            Err(status) => tracing::debug!(%status, "the end of the service manager is not told"),
        }
    }
}

/// Starts the thread that looks for a manager, unless there is one.
fn look_for_manager(device: DriverDevice) {
    if device.registrations().is_looking.swap(true, Ordering::AcqRel) {
        return;
    }
    let look = move || {
        register_again(&device);
        device.registrations().is_looking.store(false, Ordering::Release);
    };
    if let Err(error) = thread::Builder::new().name("binder-register".to_owned()).spawn(look) {
        tracing::error!(%error, "services of this process are not registered again");
    }
}

/// Registers everything at the next service manager, however long there is none.
fn register_again(device: &DriverDevice) {
    let mut pause = PAUSES.0;
    while device.is_there() {
        let again = ServiceManager::of(device).and_then(|manager| manager.add_all());
        match again {
            Ok(count) => {
                tracing::info!(count, "registered again at another service manager");
                return;
            }
            Err(status) => tracing::debug!(%status, "looking for a service manager"),
        }
        thread::sleep(pause);
        pause = PAUSES.1.min(pause * 2);
    }
}

impl ServiceManager {
    /// Has this process register again what it has registered here, once there is another manager.
    pub(super) fn outlive(&self) {
        self.device.registrations().watch(&self.device, &self.manager);
    }

    /// Registers all that this process has registered before. Returns how much that is.
    ///
    /// # Errors
    ///
    /// [`StatusCode::DEAD_OBJECT`] if the manager has ended meanwhile. What it refuses is logged.
    fn add_all(&self) -> Result<usize, StatusCode> {
        let kept = self.device.registrations().list().clone();
        let mut count = 0;
        for registration in kept {
            let Registration { name, service, flags, client_callback } = registration;
            let added = self.call_add(&name, &service, flags).and_then(|()| {
                client_callback.as_ref().map_or(Ok(()), |callback| {
                    self.call_register_client_callback(&name, &service, callback)
                })
            });
            match added {
                Ok(()) => count += 1,
                Err(StatusCode::DEAD_OBJECT) => return Err(StatusCode::DEAD_OBJECT),
                Err(status) => tracing::warn!(name, %status, "a service is not registered again"),
            }
        }
        self.outlive();
        Ok(count)
    }
}
