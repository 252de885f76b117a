//! Services that end when they have no client, and are started again for the next one.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::callbacks::ClientCallback;
use super::{DUMP_PRIORITY_DEFAULT, FLAG_IS_LAZY_SERVICE, ask};
use crate::binder_impl::Binder;
use crate::{SpIBinder, StatusCode};

/// The lazy services of this process.
static SERVICES: Mutex<Services> =
    Mutex::new(Services { list: Vec::new(), guards: 0, is_persistent: false });

struct Services {
    list: Vec<Arc<Lazy>>,
    /// How many guards there are.
    guards: usize,
    /// Whether the process is to stay without clients as well.
    is_persistent: bool,
}

struct Lazy {
    name: String,
    service: SpIBinder,
    has_clients: Mutex<bool>,
}

impl Lazy {
    fn add(&self) -> Result<(), StatusCode> {
        let flags = DUMP_PRIORITY_DEFAULT | FLAG_IS_LAZY_SERVICE;
        ask(|manager| manager.add_with(&self.name, &self.service, flags))
    }

    fn has_clients(&self) -> MutexGuard<'_, bool> {
        self.has_clients.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn services() -> MutexGuard<'static, Services> {
    // It is never left half changed.
    SERVICES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Registers an object under a name. **The process ends**, with status 0, when no lazy service of it
/// has a client any more; the process that started it does so again for the next client.
///
/// Needs a thread pool: its threads receive the notices about clients.
///
/// # Errors
///
/// As [`add_service`](super::add_service).
pub fn register_lazy_service(identifier: &str, binder: SpIBinder) -> Result<(), StatusCode> {
    let lazy = Arc::new(Lazy {
        name: identifier.to_owned(),
        service: binder,
        has_clients: Mutex::new(false),
    });
    lazy.add()?;
    let told = Arc::downgrade(&lazy);
    let callback = Binder::new(ClientCallback(Box::new(move |has_clients| {
        if let Some(lazy) = told.upgrade() {
            *lazy.has_clients() = has_clients;
            end_if_unused();
        }
    })));
    // Known before the manager may say that there are no clients.
    services().list.push(Arc::clone(&lazy));
    let registered =
        ask(|manager| manager.register_client_callback(identifier, &lazy.service, &callback));
    if registered.is_err() {
        services().list.retain(|other| !Arc::ptr_eq(other, &lazy));
    }
    registered
}

/// Whether the process is to stay even if no lazy service of it has a client.
pub fn force_lazy_services_persist(persist: bool) {
    services().is_persistent = persist;
    end_if_unused();
}

/// Keeps the process while it lives, as if its lazy services had clients.
#[derive(Debug)]
#[must_use = "it keeps the process only while it lives"]
pub struct LazyServiceGuard(());

impl LazyServiceGuard {
    /// Keeps the process.
    pub fn new() -> Self {
        services().guards += 1;
        Self(())
    }
}

impl Default for LazyServiceGuard {
    fn default() -> Self {
        Self::new()
    }
}

impl Clone for LazyServiceGuard {
    fn clone(&self) -> Self {
        Self::new()
    }
}

impl Drop for LazyServiceGuard {
    fn drop(&mut self) {
        services().guards -= 1;
        end_if_unused();
    }
}

/// Ends the process if no client uses its lazy services.
fn end_if_unused() {
    let services = services();
    let is_kept = services.is_persistent || services.guards > 0;
    let is_used = services.list.iter().any(|lazy| *lazy.has_clients());
    if services.list.is_empty() || is_kept || is_used {
        return;
    }
    // Still locked, so that no other thread registers or guards meanwhile. The manager refuses if a
    // client has come since it said that there were none.
    let mut unregistered = Vec::new();
    for lazy in &services.list {
        match ask(|manager| manager.try_unregister(&lazy.name, &lazy.service)) {
            Ok(()) => unregistered.push(lazy),
            Err(status) => {
                tracing::debug!(name = lazy.name, %status, "a lazy service stays");
                for lazy in unregistered {
                    if let Err(status) = lazy.add() {
                        tracing::error!(name = lazy.name, %status, "a lazy service is lost");
                    }
                }
                return;
            }
        }
    }
    tracing::info!("no lazy service has a client: the process ends");
    std::process::exit(0);
}
