//! Finding services by name, and being found.
//!
//! The functions are Android's and ask the service manager of the device that the process uses by
//! default. [`ServiceManager`] is the same for any device.

mod callbacks;
mod dialect;
mod lazy;
mod registrations;

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

pub use dialect::{Dialect, Method};
pub use lazy::{LazyServiceGuard, force_lazy_services_persist, register_lazy_service};

use crate::binder_impl::{Binder, BorrowedParcel, IBinderInternal as _, Parcel};
use crate::transport::driver::{DriverDevice, ProcessState};
use crate::{
    Accessor, AccessorProvider, ExceptionCode, FromIBinder, Interface as _, SpIBinder, Status,
    StatusCode, Strong,
};
use callbacks::{ClientCallback, ServiceCallback};
use registrations::Registration;
pub(crate) use registrations::Registrations;

const DESCRIPTOR: &str = "android.os.IServiceManager";

/// All dumpsys priorities, which is what services say that do not care.
const DUMP_PRIORITY_DEFAULT: i32 = 1 << 3;
/// Every dumpsys priority.
const DUMP_PRIORITY_ALL: i32 = 15;
/// The service may be started and ended as it is needed.
const FLAG_IS_LAZY_SERVICE: i32 = 1 << 30;

/// How often a waiting thread looks again: a notification is lost if the manager restarts, or if no
/// thread of this process takes calls.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// The service manager of a device.
#[derive(Debug, Clone)]
pub struct ServiceManager {
    manager: SpIBinder,
    dialect: Dialect,
    device: DriverDevice,
}

/// A service as the manager knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServiceDebugInfo {
    /// The name.
    pub name: String,
    /// The process that has registered it.
    pub debug_pid: i32,
}

impl ServiceManager {
    /// The one behind handle 0 of `device`.
    ///
    /// # Errors
    ///
    /// [`StatusCode::DEAD_OBJECT`] if there is none, or what it answers.
    pub fn of(device: &DriverDevice) -> Result<Self, StatusCode> {
        let known = device.service_manager();
        if let Some(known) = known.as_ref().filter(|known| known.manager.is_binder_alive()) {
            return Ok(known.clone());
        }
        drop(known);
        device.set_service_manager(None);
        let manager = device.context_object()?.associate(DESCRIPTOR)?;
        let dialect = Dialect::of(&manager)?;
        let manager = Self { manager, dialect, device: device.clone() };
        device.set_service_manager(Some(manager.clone()));
        Ok(manager)
    }

    /// The one behind handle 0 of `device`; one that is not there yet is waited for, that long at most.
    ///
    /// # Errors
    ///
    /// As [`of`](Self::of).
    pub fn wait_for(device: &DriverDevice, patience: Duration) -> Result<Self, StatusCode> {
        let begun = Instant::now();
        let mut has_told = false;
        loop {
            match Self::of(device) {
                Err(StatusCode::DEAD_OBJECT) if begun.elapsed() < patience => {
                    if !std::mem::replace(&mut has_told, true) {
                        tracing::info!("there is no service manager yet: it is waited for");
                    }
                    thread::sleep(LOOK_EVERY);
                }
                found => return found,
            }
        }
    }

    /// Which release's interface it has.
    #[must_use]
    pub fn dialect(&self) -> Dialect {
        self.dialect
    }

    fn call(
        &self,
        method: Method,
        write: impl FnOnce(&mut BorrowedParcel<'_>) -> Result<(), StatusCode>,
    ) -> Result<Parcel, StatusCode> {
        let code = self.dialect.code(method).ok_or(StatusCode::UNKNOWN_TRANSACTION)?;
        let reply = self.manager.transact(code, 0, write)?;
        let status: Status = reply.read()?;
        if status.is_ok() { Ok(reply) } else { Err(status_code_of(&status)) }
    }

    /// Returns the service of that name if it is registered.
    ///
    /// # Errors
    ///
    /// What the manager answers, [`StatusCode::PERMISSION_DENIED`] for one.
    pub fn check(&self, name: &str) -> Result<Option<SpIBinder>, StatusCode> {
        match self.dialect {
            Dialect::Android16 => self.find(Method::CheckService2, name),
            Dialect::Android15 => self.find(Method::CheckService, name),
            Dialect::Android11 | Dialect::Android12 | Dialect::Android13 | Dialect::Android14 => {
                self.call(Method::CheckService, |data| data.write(name))?.read()
            }
        }
    }

    /// The same; the manager may have a service started that is not registered yet.
    ///
    /// # Errors
    ///
    /// As [`check`](Self::check).
    pub fn get(&self, name: &str) -> Result<Option<SpIBinder>, StatusCode> {
        match self.dialect {
            Dialect::Android16 | Dialect::Android15 => self.find(Method::GetService2, name),
            Dialect::Android11 | Dialect::Android12 | Dialect::Android13 | Dialect::Android14 => {
                self.call(Method::GetService, |data| data.write(name))?.read()
            }
        }
    }

    /// Asks by a method that answers with a union: the other one of its kind knows of no accessors.
    fn find(&self, method: Method, name: &str) -> Result<Option<SpIBinder>, StatusCode> {
        let reply = self.call(method, |data| data.write(name))?;
        read_service(name, &reply)
    }

    /// Registers an object under a name, and again at the next service manager should this one end: the notice of that
    /// needs a thread of this process that takes calls.
    ///
    /// # Errors
    ///
    /// What the manager answers, [`StatusCode::PERMISSION_DENIED`] for one.
    pub fn add(&self, name: &str, service: &SpIBinder) -> Result<(), StatusCode> {
        self.add_with(name, service, DUMP_PRIORITY_DEFAULT)
    }

    fn add_with(&self, name: &str, service: &SpIBinder, flags: i32) -> Result<(), StatusCode> {
        self.call_add(name, service, flags)?;
        let registration = Registration {
            name: name.to_owned(),
            service: service.clone(),
            flags,
            client_callback: None,
        };
        self.device.registrations().keep(registration);
        self.outlive();
        Ok(())
    }

    fn call_add(&self, name: &str, service: &SpIBinder, flags: i32) -> Result<(), StatusCode> {
        let allows_isolated = false;
        let added = self.call(Method::AddService, |data| {
            data.write(name)?;
            data.write(service)?;
            data.write(&allows_isolated)?;
            data.write(&flags)
        });
        added.map(drop)
    }

    /// Lists the names of all services.
    ///
    /// # Errors
    ///
    /// What the manager answers.
    pub fn list(&self) -> Result<Vec<String>, StatusCode> {
        self.list_by_priority(DUMP_PRIORITY_ALL)
    }

    /// Lists the names of the services that were registered with one of these flags, which say how urgently each is
    /// dumped: 1 critical, 2 high, 4 normal, 8 those that say nothing, 16 those that write protocol buffers.
    ///
    /// # Errors
    ///
    /// What the manager answers.
    pub fn list_by_priority(&self, flags: i32) -> Result<Vec<String>, StatusCode> {
        self.call(Method::ListServices, |data| data.write(&flags))?.read()
    }

    /// Lists all services with the processes that have registered them.
    ///
    /// # Errors
    ///
    /// What the manager answers; [`StatusCode::UNKNOWN_TRANSACTION`] from Android 11's.
    pub fn debug_info(&self) -> Result<Vec<ServiceDebugInfo>, StatusCode> {
        let reply = self.call(Method::GetServiceDebugInfo, |_| Ok(()))?;
        let count: i32 = reply.read()?;
        (0..count).map(|_| read_debug_info(&reply)).collect()
    }

    /// Waits until a service of that name is registered, or for `timeout`.
    ///
    /// It is told at once if the process has a thread pool, else it looks once a second.
    ///
    /// # Errors
    ///
    /// What the manager answers.
    pub fn wait(
        &self,
        name: &str,
        timeout: Option<Duration>,
    ) -> Result<Option<SpIBinder>, StatusCode> {
        let deadline = timeout.map(|timeout| Instant::now() + timeout);
        if let Some(service) = self.get(name)? {
            return Ok(Some(service));
        }
        let arrived = Arc::new((Mutex::new(None), Condvar::new()));
        let told = Arc::clone(&arrived);
        let callback = Binder::new(ServiceCallback(Box::new(move |service| {
            *told.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(service);
            told.1.notify_all();
        })));
        let callback = callback.as_binder();
        let write = |data: &mut BorrowedParcel<'_>| {
            data.write(name)?;
            data.write(&callback)
        };
        self.call(Method::RegisterForNotifications, write)?;
        let found = loop {
            let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            let pause = left.map_or(LOOK_AGAIN, |left| left.min(LOOK_AGAIN));
            let service = arrived.0.lock().unwrap_or_else(PoisonError::into_inner);
            let waited = arrived.1.wait_timeout_while(service, pause, |it| it.is_none());
            let service = waited.unwrap_or_else(PoisonError::into_inner).0.take();
            if service.is_some() {
                break Ok(service);
            }
            match self.get(name) {
                Ok(None) if left != Some(Duration::ZERO) => {}
                found => break found,
            }
            tracing::debug!(name, "waiting for a service");
        };
        // A manager that has ended meanwhile has forgotten it anyway.
        let _ = self.call(Method::UnregisterForNotifications, write);
        found
    }

    /// Whether the system says that there is such a service, registered or not.
    ///
    /// # Errors
    ///
    /// What the manager answers.
    pub fn is_declared(&self, name: &str) -> Result<bool, StatusCode> {
        self.call(Method::IsDeclared, |data| data.write(name))?.read()
    }

    /// Lists the instances of an interface that the system says there are.
    ///
    /// # Errors
    ///
    /// What the manager answers; [`StatusCode::UNKNOWN_TRANSACTION`] from Android 11's.
    pub fn declared_instances(&self, interface: &str) -> Result<Vec<String>, StatusCode> {
        self.call(Method::GetDeclaredInstances, |data| data.write(interface))?.read()
    }

    fn register_client_callback(
        &self,
        name: &str,
        service: &SpIBinder,
        callback: &Binder<ClientCallback>,
    ) -> Result<(), StatusCode> {
        self.call_register_client_callback(name, service, callback)?;
        self.device.registrations().keep_client_callback(name, callback);
        Ok(())
    }

    fn call_register_client_callback(
        &self,
        name: &str,
        service: &SpIBinder,
        callback: &Binder<ClientCallback>,
    ) -> Result<(), StatusCode> {
        let registered = self.call(Method::RegisterClientCallback, |data| {
            data.write(name)?;
            data.write(service)?;
            data.write(&callback.as_binder())
        });
        registered.map(drop)
    }

    fn try_unregister(&self, name: &str, service: &SpIBinder) -> Result<(), StatusCode> {
        let unregistered = self.call(Method::TryUnregisterService, |data| {
            data.write(name)?;
            data.write(service)
        });
        unregistered?;
        self.device.registrations().forget(name);
        Ok(())
    }
}

/// Reads `android.os.Service`, a union: a service with its facts, or an accessor that finds it.
fn read_service(name: &str, reply: &Parcel) -> Result<Option<SpIBinder>, StatusCode> {
    const WITH_METADATA: i32 = 0;
    const ACCESSOR: i32 = 1;
    let is_there: i32 = reply.read()?;
    if is_there == 0 {
        return Ok(None);
    }
    match reply.read()? {
        WITH_METADATA => {}
        ACCESSOR => {
            let Some(accessor) = reply.read()? else { return Ok(None) };
            let accessor = Accessor::from_binder(name, accessor).ok_or(StatusCode::BAD_TYPE)?;
            return accessor.service().map(Some);
        }
        _ => return Err(StatusCode::BAD_VALUE),
    }
    let is_there: i32 = reply.read()?;
    if is_there == 0 {
        return Ok(None);
    }
    let _len_bytes: i32 = reply.read()?;
    reply.read()
}

/// Reads `android.os.ServiceDebugInfo`, one of a list.
fn read_debug_info(reply: &Parcel) -> Result<ServiceDebugInfo, StatusCode> {
    let is_there: i32 = reply.read()?;
    if is_there == 0 {
        return Err(StatusCode::UNEXPECTED_NULL);
    }
    let mut info = ServiceDebugInfo { name: String::new(), debug_pid: 0 };
    reply.sized_read(|parcel| {
        info.name = parcel.read()?;
        info.debug_pid = parcel.read()?;
        Ok(())
    })?;
    Ok(info)
}

/// Returns the code that says best what went wrong.
fn status_code_of(status: &Status) -> StatusCode {
    match status.exception_code() {
        ExceptionCode::TRANSACTION_FAILED => status.transaction_error(),
        ExceptionCode::SECURITY => StatusCode::PERMISSION_DENIED,
        ExceptionCode::ILLEGAL_ARGUMENT | ExceptionCode::BAD_PARCELABLE => StatusCode::BAD_VALUE,
        ExceptionCode::NULL_POINTER => StatusCode::UNEXPECTED_NULL,
        ExceptionCode::ILLEGAL_STATE | ExceptionCode::UNSUPPORTED_OPERATION => {
            StatusCode::INVALID_OPERATION
        }
        ExceptionCode::NONE => StatusCode::OK,
        _ => StatusCode::UNKNOWN_ERROR,
    }
}

/// Asks the service manager; once more if it has ended since it was asked before.
fn ask<T>(question: impl Fn(&ServiceManager) -> Result<T, StatusCode>) -> Result<T, StatusCode> {
    let device = ProcessState::device().map_err(|error| {
        tracing::error!(%error, "no device, so no service manager");
        StatusCode::NO_INIT
    })?;
    match question(&ServiceManager::of(&device)?) {
        Err(StatusCode::DEAD_OBJECT) => question(&ServiceManager::of(&device)?),
        answer => answer,
    }
}

/// How long a program waits for a service manager that is not there yet. Android's own waits without end.
const MANAGER_TIME: Duration = Duration::from_secs(10);
/// How often it looks for one.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// The same; waits that long for a service manager that is not there yet.
fn ask_within<T>(
    patience: Duration,
    question: impl Fn(&ServiceManager) -> Result<T, StatusCode>,
) -> Result<T, StatusCode> {
    if let Ok(device) = ProcessState::device() {
        // An error is the answer to the question, too.
        drop(ServiceManager::wait_for(&device, patience));
    }
    ask(question)
}

/// Registers an object under a name, and again at the next service manager should this one end, as
/// [`ServiceManager::add`] does. A service manager that is not there yet is waited for, ten seconds at most.
///
/// # Errors
///
/// [`StatusCode::NO_INIT`] if there is no device, [`StatusCode::DEAD_OBJECT`] if there is no service
/// manager, or what that answers: [`StatusCode::PERMISSION_DENIED`] for one.
pub fn add_service(identifier: &str, binder: SpIBinder) -> Result<(), StatusCode> {
    ask_within(MANAGER_TIME, |manager| manager.add(identifier, &binder))
}

/// Returns the service of that name if it is registered.
#[must_use]
pub fn check_service(name: &str) -> Option<SpIBinder> {
    logged(name, try_check_service(name))
}

/// Returns the service of that name, by its interface, if it is registered.
///
/// # Errors
///
/// [`StatusCode::NAME_NOT_FOUND`] if it is not, [`StatusCode::BAD_TYPE`] if it has another interface,
/// or as [`try_check_service`].
pub fn check_interface<T: FromIBinder + ?Sized>(name: &str) -> Result<Strong<T>, StatusCode> {
    try_check_interface(name)?.ok_or(StatusCode::NAME_NOT_FOUND)
}

/// Waits until a service of that name is registered, and returns it; `None` if the service manager
/// cannot be asked. One that is not there yet is waited for, ten seconds at most.
#[must_use]
pub fn wait_for_service(name: &str) -> Option<SpIBinder> {
    logged(name, wait(name, None))
}

/// Waits until a service of that name is registered, and returns it by its interface.
///
/// # Errors
///
/// [`StatusCode::BAD_TYPE`] if it has another interface, or as [`try_check_service`].
pub fn wait_for_interface<T: FromIBinder + ?Sized>(name: &str) -> Result<Strong<T>, StatusCode> {
    let service = wait(name, None)?;
    FromIBinder::try_from(service.ok_or(StatusCode::NAME_NOT_FOUND)?)
}

/// Returns the service of that name, and waits for it a few seconds.
#[deprecated = "this waits a few seconds for a service that is not there: say wait_for_service or \
                check_service"]
#[must_use]
pub fn get_service(name: &str) -> Option<SpIBinder> {
    logged(name, try_wait_for_service(name, A_FEW_SECONDS))
}

/// Returns the service of that name, by its interface, and waits for it a few seconds.
///
/// # Errors
///
/// As [`check_interface`].
#[deprecated = "this waits a few seconds for a service that is not there: say wait_for_interface or \
                check_interface"]
pub fn get_interface<T: FromIBinder + ?Sized>(name: &str) -> Result<Strong<T>, StatusCode> {
    let service = try_wait_for_service(name, A_FEW_SECONDS)?;
    FromIBinder::try_from(service.ok_or(StatusCode::NAME_NOT_FOUND)?)
}

const A_FEW_SECONDS: Duration = Duration::from_secs(5);

/// As [`check_service`], and tells a service that is not registered (`None`) from an error.
///
/// # Errors
///
/// [`StatusCode::NO_INIT`] if there is no device, [`StatusCode::DEAD_OBJECT`] if there is no service
/// manager, or what that answers: [`StatusCode::PERMISSION_DENIED`] for one.
pub fn try_check_service(name: &str) -> Result<Option<SpIBinder>, StatusCode> {
    match ask(|manager| manager.check(name)) {
        // The manager does not have it, or cannot be asked: then this process may have an accessor
        // of it.
        nothing @ (Ok(None) | Err(StatusCode::NO_INIT)) => {
            match AccessorProvider::accessor_of(name) {
                Some(accessor) => accessor.service().map(Some),
                None => nothing,
            }
        }
        answer => answer,
    }
}

/// Waits for a service, unless this process itself can connect to it.
fn wait(name: &str, timeout: Option<Duration>) -> Result<Option<SpIBinder>, StatusCode> {
    if AccessorProvider::is_provided(name) {
        return try_check_service(name);
    }
    let patience = timeout.map_or(MANAGER_TIME, |timeout| timeout.min(MANAGER_TIME));
    ask_within(patience, |manager| manager.wait(name, timeout))
}

/// As [`check_interface`], and tells a service that is not registered (`None`) from an error.
///
/// # Errors
///
/// [`StatusCode::BAD_TYPE`] if it has another interface, or as [`try_check_service`].
pub fn try_check_interface<T: FromIBinder + ?Sized>(
    name: &str,
) -> Result<Option<Strong<T>>, StatusCode> {
    try_check_service(name)?.map(FromIBinder::try_from).transpose()
}

/// As [`wait_for_service`], but waits for `timeout` at most.
///
/// # Errors
///
/// As [`try_check_service`].
pub fn try_wait_for_service(
    name: &str,
    timeout: Duration,
) -> Result<Option<SpIBinder>, StatusCode> {
    wait(name, Some(timeout))
}

/// As [`wait_for_interface`], but waits for `timeout` at most.
///
/// # Errors
///
/// [`StatusCode::BAD_TYPE`] if it has another interface, or as [`try_check_service`].
pub fn try_wait_for_interface<T: FromIBinder + ?Sized>(
    name: &str,
    timeout: Duration,
) -> Result<Option<Strong<T>>, StatusCode> {
    try_wait_for_service(name, timeout)?.map(FromIBinder::try_from).transpose()
}

/// Whether the system says that there is such a service, registered or not.
///
/// # Errors
///
/// As [`try_check_service`].
pub fn is_declared(interface: &str) -> Result<bool, StatusCode> {
    ask(|manager| manager.is_declared(interface))
}

/// Lists the instances of an interface that the system says there are.
///
/// # Errors
///
/// As [`try_check_service`].
pub fn get_declared_instances(interface: &str) -> Result<Vec<String>, StatusCode> {
    ask(|manager| manager.declared_instances(interface))
}

fn logged(name: &str, found: Result<Option<SpIBinder>, StatusCode>) -> Option<SpIBinder> {
    found.unwrap_or_else(|status| {
        tracing::warn!(name, %status, "asking the service manager");
        None
    })
}
