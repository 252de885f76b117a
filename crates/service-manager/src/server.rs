//! A service manager on a device.

use std::any::Any;
use std::convert::Infallible;
use std::ffi::CStr;
use std::fmt;
use std::io;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, TryLockError, Weak};
use std::thread;
use std::time::Duration;

use binder::binder_impl::{
    BorrowedParcel, FIRST_CALL_TRANSACTION, LAST_CALL_TRANSACTION, Stability, TransactionCode,
};
use binder::transport::LocalObject;
use binder::transport::driver::{DeviceError, DeviceOptions, DriverDevice};
use binder::{SpIBinder, StatusCode, ThreadState};
use binder_http::MetricFamilies;

use crate::manager::{ClientCounter, DESCRIPTOR, Elsewhere, Manager, TransactOutcome};
use crate::registry::ServiceRegistry;
use crate::remote::{
    INSTANCES_PER_ANSWER, LIST_INSTANCES_TRANSACTION, RemoteNames, ServiceInstance,
};
use crate::request::{CallingContext, ManagerRequest, ObjectId};
use crate::{AccessAction, AccessPolicy, Declarations, DialectChoice};

/// How often services are told that their clients have gone.
const COUNTING_INTERVAL: Duration = Duration::from_secs(5);
/// The name by which the manager itself is found.
const OWN_NAME: &str = "manager";
const DUMP_PRIORITY_DEFAULT: i32 = 1 << 3;

/// How a service manager is to be.
#[derive(Debug, Clone)]
pub struct ManagerOptions {
    /// The access rules.
    pub policy: AccessPolicy,
    /// Which services there are said to be.
    pub declarations: Declarations,
    /// Which dialects it speaks.
    pub dialect: DialectChoice,
    /// How many threads the driver may ask for beside the first. None if no request takes long, as none does without
    /// [`RemoteNames`].
    pub max_threads: u32,
}

/// A service manager that owns context 0 of a device.
#[derive(Debug, Clone)]
pub struct ManagerServer {
    device: DriverDevice,
    shared: Arc<ManagerShared>,
    /// Whether callers have to show their security label.
    shows_callers: bool,
}

/// A policy has rules of labels, which callers do not show: the driver was not asked for them when the manager began.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("rules of labels need a manager that has had some since it began: start it again")]
pub struct LabelsNotShown;

impl ManagerServer {
    /// Opens a device and becomes its context manager; callers wait until it [serves](Self::serve).
    ///
    /// # Errors
    ///
    /// [`DeviceError`]: EBUSY if there is a context manager.
    pub fn claim(path: &Path, options: ManagerOptions) -> Result<Self, DeviceError> {
        // One thread takes all calls, as in Android, if none of them takes long.
        let max_threads = options.max_threads;
        let device_options = DeviceOptions { max_threads, ..DeviceOptions::default() };
        let device = DriverDevice::open_with(path, &device_options)?;
        let counter = Box::new(DriverCounter(device.clone()));
        let ManagerOptions { policy, declarations, dialect, .. } = options;
        let shared = Arc::new_cyclic(|shared: &Weak<ManagerShared>| {
            let shared = shared.clone();
            let note_death = move |object| {
                if let Some(shared) = shared.upgrade() {
                    shared.note_death(object);
                }
            };
            let note_death = Arc::new(note_death);
            ManagerShared {
                manager: Mutex::new(Manager::new(
                    policy,
                    declarations,
                    dialect,
                    counter,
                    note_death,
                )),
                deaths: Mutex::default(),
                is_counting: Mutex::default(),
                counting_changed: Condvar::new(),
            }
        });
        let shows_callers = shared.with_manager(|manager| manager.wants_labels());
        let object = ManagerObject { shared: Arc::clone(&shared), shows_callers };
        let object = SpIBinder::from_local(Arc::new(object));
        shared.with_manager(|manager| {
            let myself = calling_context();
            // A policy that forbids it even to us is obeyed.
            let request = ManagerRequest::Add {
                name: OWN_NAME.into(),
                service: object.clone(),
                flags: DUMP_PRIORITY_DEFAULT,
            };
            if let Err(denial) = manager.request(&myself, request) {
                tracing::info!(%denial, "the manager cannot be found by a name");
            }
        });
        device.become_context_manager(&object)?;
        let counting = thread::Builder::new().name("clients".into());
        let counts = Arc::clone(&shared);
        let counting = counting.spawn(move || counts.count_clients());
        if let Err(error) = counting {
            tracing::error!(%error, "services are not told that their clients have gone");
        }
        Ok(Self { device, shared, shows_callers })
    }

    /// How many services and callbacks of others are registered.
    #[must_use]
    pub fn service_count(&self) -> usize {
        self.shared.with_manager(|manager| manager.remote_count())
    }

    /// Writes how much there is of everything, and how often the manager was asked.
    pub fn write_figures(&self, families: &mut MetricFamilies) {
        self.shared.with_manager(|manager| manager.write_figures(families));
    }

    /// Decides by another policy from now on; what is registered stays.
    ///
    /// # Errors
    ///
    /// [`LabelsNotShown`]; the policy stays as it was.
    pub fn set_policy(&self, policy: AccessPolicy) -> Result<(), LabelsNotShown> {
        self.shared.with_manager(|manager| {
            if policy.wants_labels() && !self.shows_callers {
                return Err(LabelsNotShown);
            }
            manager.registry_mut().set_policy(policy);
            manager.settle();
            Ok(())
        })
    }

    /// Tells names of this machine to others, and finds theirs by them. To be called before it serves.
    pub fn set_remote_names(&self, remote: Arc<dyn RemoteNames>) {
        self.shared.with_manager(|manager| manager.set_remote_names(remote));
    }

    /// Looks at the registry.
    pub fn with_registry<R>(&self, look: impl FnOnce(&ServiceRegistry) -> R) -> R {
        self.shared.with_manager(|manager| look(manager.registry()))
    }

    /// The service of this machine that is registered by a name, and the user who registered it.
    #[must_use]
    pub fn local_service(&self, name: &str) -> Option<(SpIBinder, u32)> {
        self.shared.with_manager(|manager| manager.local_service(name))
    }

    /// Changes what other machines have.
    pub fn change_registry<R>(&self, change: impl FnOnce(&mut ServiceRegistry) -> R) -> R {
        self.shared.with_manager(|manager| {
            let result = change(manager.registry_mut());
            manager.settle();
            result
        })
    }

    /// Serves callers on this thread, until the device fails.
    ///
    /// # Errors
    ///
    /// [`DeviceError`].
    pub fn serve(&self) -> Result<Infallible, DeviceError> {
        self.device.join_thread_pool()
    }
}

/// The caller, by the word of the driver.
fn calling_context() -> CallingContext {
    let label =
        ThreadState::with_calling_sid(|sid| sid.map(|it| it.to_string_lossy().into_owned()));
    CallingContext {
        pid: ThreadState::get_calling_pid(),
        uid: ThreadState::get_calling_uid(),
        label,
    }
}

impl ManagerObject {
    /// Lists services of all machines, a part at a time.
    fn list_instances(
        &self,
        caller: &CallingContext,
        data: &BorrowedParcel<'_>,
        reply: &mut BorrowedParcel<'_>,
    ) -> Result<(), StatusCode> {
        let has_last: bool = data.read()?;
        let last = has_last.then(|| ServiceInstance::read(data)).transpose()?;
        let remote = self.shared.with_manager(|manager| {
            let may_list = manager.registry().policy().permits(caller, AccessAction::List, "");
            let remote = manager.remote_names().cloned();
            may_list.then_some(remote).ok_or(StatusCode::PERMISSION_DENIED)
        })?;
        let mut instances = remote.ok_or(StatusCode::UNKNOWN_TRANSACTION)?.instances(last.as_ref());
        instances.truncate(INSTANCES_PER_ANSWER);
        let count = i32::try_from(instances.len()).map_err(|_| StatusCode::BAD_VALUE)?;
        reply.write(&count)?;
        instances.iter().try_for_each(|instance| instance.write(reply))
    }
}

/// What the threads of a manager share.
///
/// A death may be told on a thread that is in the manager already, so it is noted, and the thread that is in the
/// manager handles it before leaving.
struct ManagerShared {
    manager: Mutex<Manager>,
    deaths: Mutex<Vec<ObjectId>>,
    /// Whether there are services to be told of their clients.
    is_counting: Mutex<bool>,
    counting_changed: Condvar,
}

impl ManagerShared {
    fn with_manager<R>(&self, act: impl FnOnce(&mut Manager) -> R) -> R {
        let mut manager = self.manager.lock().unwrap_or_else(PoisonError::into_inner);
        let result = act(&mut manager);
        self.bury(&mut manager);
        let counts = manager.has_client_listeners();
        drop(manager);
        let mut is_counting = self.is_counting.lock().unwrap_or_else(PoisonError::into_inner);
        if std::mem::replace(&mut *is_counting, counts) != counts {
            self.counting_changed.notify_all();
        }
        drop(is_counting);
        self.bury_if_free();
        result
    }

    fn deaths(&self) -> MutexGuard<'_, Vec<ObjectId>> {
        self.deaths.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note_death(&self, object: ObjectId) {
        self.deaths().push(object);
        self.bury_if_free();
    }

    /// Sees to deaths that were noted, unless a thread is in the manager: that does it.
    fn bury_if_free(&self) {
        while !self.deaths().is_empty() {
            match self.manager.try_lock() {
                Ok(mut manager) => self.bury(&mut manager),
                Err(TryLockError::Poisoned(poisoned)) => self.bury(&mut poisoned.into_inner()),
                Err(TryLockError::WouldBlock) => return,
            }
        }
    }

    fn bury(&self, manager: &mut Manager) {
        loop {
            let dead = std::mem::take(&mut *self.deaths());
            if dead.is_empty() {
                return;
            }
            dead.into_iter().for_each(|object| manager.object_died(object));
        }
    }

    /// Counts clients now and then, while there is a service that wants to know.
    fn count_clients(&self) {
        loop {
            let is_counting = self.is_counting.lock().unwrap_or_else(PoisonError::into_inner);
            let waited = self.counting_changed.wait_while(is_counting, |counts| !*counts);
            drop(waited.unwrap_or_else(PoisonError::into_inner));
            thread::sleep(COUNTING_INTERVAL);
            let mut last = None;
            loop {
                // Callers have their turn in between.
                last = self.with_manager(|manager| manager.count_clients(last.as_deref()));
                if last.is_none() {
                    break;
                }
            }
        }
    }
}

/// The driver, as it is asked about clients.
struct DriverCounter(DriverDevice);

impl ClientCounter for DriverCounter {
    fn strong_count(&self, object: &SpIBinder) -> Option<u32> {
        let counted = self.0.strong_count(object);
        counted.inspect_err(|error| tracing::debug!(%error, "clients are not counted")).ok()
    }
}

/// The object behind handle 0.
struct ManagerObject {
    shared: Arc<ManagerShared>,
    /// Whether callers have to show their security label.
    shows_callers: bool,
}

impl LocalObject for ManagerObject {
    fn descriptor(&self) -> &str {
        DESCRIPTOR
    }

    /// What stands before the arguments says which release the caller is of, so the manager reads it.
    fn enforce_token(&self, _data: &BorrowedParcel<'_>) -> Result<(), StatusCode> {
        Ok(())
    }

    fn on_transact(
        &self,
        code: TransactionCode,
        data: &BorrowedParcel<'_>,
        reply: &mut BorrowedParcel<'_>,
    ) -> Result<(), StatusCode> {
        let caller = calling_context();
        if code == LIST_INSTANCES_TRANSACTION {
            return self.list_instances(&caller, data, reply);
        }
        if !(FIRST_CALL_TRANSACTION..=LAST_CALL_TRANSACTION).contains(&code) {
            return Err(StatusCode::UNKNOWN_TRANSACTION);
        }
        let start = data.get_data_position();
        let mut transact = |elsewhere| {
            self.shared.with_manager(|manager| {
                let remote = manager.remote_names().cloned();
                let outcome = manager.transact(&caller, code, data, reply, elsewhere)?;
                Ok::<_, StatusCode>((outcome, remote))
            })
        };
        if let (TransactOutcome::Missing(name), Some(remote)) = transact(Elsewhere::Look)? {
            // The manager serves others meanwhile.
            remote.bring(&name);
            data.set_data_position(start)?;
            transact(Elsewhere::Nowhere)?;
        }
        Ok(())
    }

    fn dump(&self, out: &mut dyn io::Write, _args: &[&CStr]) -> Result<(), StatusCode> {
        let caller = calling_context();
        let described = self.shared.with_manager(|manager| manager.describe(&caller));
        let described = described.map_err(|_| StatusCode::PERMISSION_DENIED)?;
        out.write_all(described.as_bytes()).map_err(|_| StatusCode::UNKNOWN_ERROR)
    }

    fn extension(&self) -> Option<SpIBinder> {
        None
    }

    fn stability(&self) -> Stability {
        Stability::default()
    }

    fn is_requesting_sid(&self) -> bool {
        self.shows_callers
    }

    fn set_requesting_sid(&self, _enable: bool) {}

    fn as_any(self: Arc<Self>) -> Arc<dyn Any + Send + Sync> {
        self
    }
}

impl fmt::Debug for ManagerShared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ManagerShared").finish_non_exhaustive()
    }
}

impl fmt::Debug for ManagerObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ManagerObject")
    }
}
