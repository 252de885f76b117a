//! An open binder device, as all threads of the process share it.

use std::fmt;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

use binder_os::binder_device::DEFAULT_BUFFER_BYTES;
use binder_os::{BinderDevice, fork_count, lanes_wanted_after};
use binder_uapi::{
    BINDER_CURRENT_PROTOCOL_VERSION, BINDER_TYPE_BINDER, BinderFreezeInfo, BinderFrozenStatusInfo,
    BinderPtrCookie, FLAT_BINDER_FLAG_ACCEPTS_FDS, FLAT_BINDER_FLAG_TXN_SECURITY_CTX,
    FlatBinderObject,
};
use rustix::io::Errno;

use super::handles::DeviceHandles;
use super::nodes::Nodes;
use super::pool::ThreadPool;
use super::proxy::HandleProxy;
use crate::service_manager::{Registrations, ServiceManager};
use crate::transport::{BuilderWord, LocalObject, ObjectCodec, WireFormat, WireName};
use crate::{IBinder as _, SpIBinder, StatusCode};

/// The scheduling that objects ask for, as Android's library writes it: the usual, nice 19.
const LOWEST_PRIORITY: u32 = 0x13;

/// A binder device that this process has opened.
///
/// Clones are the same device. It stays open as long as the process: others may hold objects of this
/// process through it. A process may open several; each has handles and a thread pool of its own.
#[derive(Clone)]
pub struct DriverDevice {
    shared: Arc<DeviceShared>,
}

/// Why a device cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum DeviceError {
    /// It cannot be opened or mapped.
    #[error("opening {}: {source}", path.display())]
    Open {
        /// The device.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// It speaks another version of the protocol.
    #[error("{}: the driver speaks version {found} of binder's protocol, not {BINDER_CURRENT_PROTOCOL_VERSION}", path.display())]
    Version {
        /// The device.
        path: PathBuf,
        /// Its version.
        found: i32,
    },
    /// It was opened by the process that this one was forked from.
    #[error("{}: opened before fork, by the parent; a child opens it anew", path.display())]
    Forked {
        /// The device.
        path: PathBuf,
    },
    /// It refuses a request.
    #[error("{}: {what}: {source}", path.display())]
    Refused {
        /// The device.
        path: PathBuf,
        /// What was asked.
        what: &'static str,
        /// What it said.
        source: io::Error,
    },
    /// The object is not one of another process that is known by this device.
    #[error("{}: the object is none of another process that is known here", path.display())]
    NotHere {
        /// The device.
        path: PathBuf,
    },
    /// This process uses a device by default already.
    #[error("{} is in use already", path.display())]
    InUse {
        /// The one in use.
        path: PathBuf,
    },
}

/// How a device is opened.
#[derive(Debug, Clone)]
pub struct DeviceOptions {
    /// The length of the receive buffer; a mebibyte less two pages if nothing is said. A driver uses
    /// at most four mebibytes.
    pub buffer_bytes: usize,
    /// The word before descriptors of interfaces in calls.
    pub header: BuilderWord,
    /// How many threads the driver may ask for, beside those that join or start the pool.
    pub max_threads: u32,
    /// Whether the driver is to say when this process floods another with one-ways; it is logged.
    pub detects_oneway_spam: bool,
    /// After how many plain calls in a row to an object a thread makes further ones past the driver, where both sides and the
    /// driver can; `None` for never. What the variable `ANYBINDER_LANES` says, or else 32.
    pub lanes_after: Option<u32>,
}

/// How many calls in a row are worth the few system calls by which a way past the driver is made.
const BUSY_CALLS: u32 = 32;

impl Default for DeviceOptions {
    fn default() -> Self {
        Self {
            buffer_bytes: DEFAULT_BUFFER_BYTES,
            header: BuilderWord::default(),
            max_threads: 15,
            detects_oneway_spam: true,
            lanes_after: lanes_wanted_after(Some(BUSY_CALLS)),
        }
    }
}

impl DriverDevice {
    /// Opens the device at `path`.
    ///
    /// # Errors
    ///
    /// [`DeviceError`].
    pub fn open(path: &Path) -> Result<Self, DeviceError> {
        Self::open_with(path, &DeviceOptions::default())
    }

    /// Opens the device at `path` in another way than usual.
    ///
    /// # Errors
    ///
    /// [`DeviceError`].
    pub fn open_with(path: &Path, options: &DeviceOptions) -> Result<Self, DeviceError> {
        let opened = BinderDevice::open_with_buffer(path, options.buffer_bytes);
        let failed = |source| DeviceError::Open { path: path.into(), source };
        let os = opened.map_err(failed)?.with_lanes(options.lanes_after);
        let found = os.version().map_err(failed)?;
        if found != BINDER_CURRENT_PROTOCOL_VERSION {
            return Err(DeviceError::Version { path: path.into(), found });
        }
        let device = Self { shared: Arc::new(DeviceShared::new(path, os, options.header)) };
        device.set_max_threads(options.max_threads)?;
        if options.detects_oneway_spam
            && let Err(error) = device.shared.os.detect_oneway_spam(true)
        {
            // Drivers before Linux 5.14 cannot.
            tracing::debug!(path = %path.display(), %error, "no word on floods of one-ways");
        }
        Ok(device)
    }

    pub(super) fn shared(&self) -> &Arc<DeviceShared> {
        &self.shared
    }

    /// Whether this very process has opened it, and not one that it was forked from.
    #[must_use]
    pub fn is_of_this_process(&self) -> bool {
        self.shared.check_process().is_ok()
    }

    /// The path that it was opened by.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.shared.path()
    }

    /// How many handles of others' objects this process holds through the device.
    #[must_use]
    pub fn handle_count(&self) -> usize {
        self.shared.handle_count()
    }

    /// How many objects of this process others may hold through the device.
    #[must_use]
    pub fn node_count(&self) -> usize {
        self.shared.nodes.len()
    }

    /// Returns the object behind handle 0, which is the service manager's.
    ///
    /// # Errors
    ///
    /// [`StatusCode::DEAD_OBJECT`] if there is none.
    pub fn context_object(&self) -> Result<SpIBinder, StatusCode> {
        if let Some(manager) = self.shared.manager.get() {
            return Ok(SpIBinder::from_local(Arc::clone(manager)));
        }
        self.shared.check_process()?;
        let object = SpIBinder::from_remote(self.shared.proxy(0));
        // A handle without an owner can be held, but it would stay without one for ever.
        object.ping_binder()?;
        Ok(object)
    }

    /// Returns the service manager that was found last.
    pub(crate) fn service_manager(&self) -> Option<ServiceManager> {
        self.shared.service_manager.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Keeps the service manager that was found, or forgets it.
    pub(crate) fn set_service_manager(&self, found: Option<ServiceManager>) {
        let mut known = self.shared.service_manager.lock().unwrap_or_else(PoisonError::into_inner);
        let before = std::mem::replace(&mut *known, found);
        drop(known);
        drop(before);
    }

    /// What this process has registered at the service manager.
    pub(crate) fn registrations(&self) -> &Registrations {
        &self.shared.registrations
    }

    /// A reference that does not keep the device open.
    pub(crate) fn downgrade(&self) -> WeakDevice {
        WeakDevice(Arc::downgrade(&self.shared))
    }

    /// Whether the driver answers.
    pub(crate) fn is_there(&self) -> bool {
        self.shared.check_process().is_ok() && self.shared.os.version().is_ok()
    }

    /// Puts an object of this process behind handle 0. Its callers show their security context if it
    /// asks for that.
    ///
    /// # Errors
    ///
    /// [`DeviceError::Refused`] if there is a context manager, or this process may not be it.
    ///
    /// # Panics
    ///
    /// For an object of another process.
    pub fn become_context_manager(&self, object: &SpIBinder) -> Result<(), DeviceError> {
        let object = object.as_local().expect("the context manager is an object of this process");
        let flags = self.shared.flags_of(&**object);
        let node = FlatBinderObject { kind: BINDER_TYPE_BINDER, flags, ..Default::default() };
        let asked = self.shared.os.become_context_manager_with(node);
        asked.map_err(self.refused("becoming the context manager"))?;
        // The driver lets a process do this once.
        let _ = self.shared.manager.set(Arc::clone(object));
        Ok(())
    }

    /// How many strong references others have on an object of another process: one for each process that holds it, this
    /// one included. Only the context manager may ask.
    ///
    /// # Errors
    ///
    /// [`DeviceError::Refused`] if this process is not the context manager, or the driver cannot tell;
    /// [`DeviceError::NotHere`] if `object` is no proxy of this device.
    pub fn strong_count(&self, object: &SpIBinder) -> Result<u32, DeviceError> {
        let proxy = self.shared.proxy_of(object);
        let proxy = proxy.ok_or_else(|| DeviceError::NotHere { path: self.path().into() })?;
        let asked = self.shared.os.node_info_for_ref(proxy.handle);
        asked
            .map(|info| info.strong_count)
            .map_err(self.refused("counting the holders of an object"))
    }

    /// Sets how many threads the driver may ask for, beside those that join or start the pool.
    ///
    /// # Errors
    ///
    /// [`DeviceError::Refused`].
    pub fn set_max_threads(&self, threads: u32) -> Result<(), DeviceError> {
        let asked = self.shared.os.set_max_threads(threads);
        asked.map_err(self.refused("setting the size of the thread pool"))
    }

    /// Freezes a process that uses the device, or thaws it: calls of it are refused, one-ways wait.
    /// Calls under way may take `timeout_ms` to end.
    ///
    /// The process itself goes on; to stop it is the caller's business, cgroups' freezer for one.
    ///
    /// # Errors
    ///
    /// [`DeviceError::Refused`]: EINVAL if the process does not use the device, EAGAIN if something is
    /// under way still.
    pub fn freeze(&self, pid: u32, is_frozen: bool, timeout_ms: u32) -> Result<(), DeviceError> {
        let wish = BinderFreezeInfo { pid, enable: is_frozen.into(), timeout_ms };
        self.shared.os.freeze(wish).map_err(self.refused("freezing a process"))
    }

    /// Asks what a frozen process has missed.
    ///
    /// # Errors
    ///
    /// [`DeviceError::Refused`] if the process does not use the device.
    pub fn frozen_info(&self, pid: u32) -> Result<BinderFrozenStatusInfo, DeviceError> {
        self.shared.os.frozen_info(pid).map_err(self.refused("asking about a frozen process"))
    }

    pub(super) fn refused(&self, what: &'static str) -> impl FnOnce(io::Error) -> DeviceError {
        move |source| DeviceError::Refused { path: self.path().into(), what, source }
    }
}

/// A device that others keep open, or not.
pub(crate) struct WeakDevice(Weak<DeviceShared>);

impl WeakDevice {
    /// The device, if it is open.
    pub(crate) fn upgrade(&self) -> Option<DriverDevice> {
        self.0.upgrade().map(|shared| DriverDevice { shared })
    }
}

impl AsFd for DriverDevice {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.shared.os.as_fd()
    }
}

impl fmt::Debug for DriverDevice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Device({})", self.path().display())
    }
}

/// What all threads, proxies and parcels of a device share.
pub(super) struct DeviceShared {
    pub(super) os: Arc<BinderDevice>,
    path: PathBuf,
    /// How many forks there had been when it was opened.
    forks: u32,
    header: BuilderWord,
    /// Whether objects may ask for the security context of their callers.
    shows_callers: bool,
    pub(super) nodes: Nodes<dyn LocalObject>,
    pub(super) handles: DeviceHandles,
    /// The object behind handle 0, if it is ours.
    manager: OnceLock<Arc<dyn LocalObject>>,
    /// The service manager, once it was found.
    service_manager: Mutex<Option<ServiceManager>>,
    registrations: Registrations,
    /// How much of the receive buffer waits to be freed by threads that returned to the program.
    held_back_bytes: AtomicUsize,
    pub(super) pool: ThreadPool,
}

impl DeviceShared {
    pub(super) fn new(path: &Path, os: BinderDevice, header: BuilderWord) -> Self {
        Self {
            path: path.into(),
            forks: fork_count::forks(),
            shows_callers: shows_security_contexts(&os),
            os: Arc::new(os),
            header,
            nodes: Nodes::default(),
            handles: DeviceHandles::default(),
            manager: OnceLock::new(),
            service_manager: Mutex::default(),
            registrations: Registrations::default(),
            held_back_bytes: AtomicUsize::new(0),
            pool: ThreadPool::default(),
        }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the proxy that an object is, if it is one of this device.
    fn proxy_of<'o>(&self, object: &'o SpIBinder) -> Option<&'o HandleProxy> {
        let proxy = object.as_remote()?.as_any().downcast_ref::<HandleProxy>();
        proxy.filter(|proxy| std::ptr::eq(&raw const *proxy.device, self))
    }

    /// Returns how an object wants to be called.
    fn flags_of(&self, object: &dyn LocalObject) -> u32 {
        let wants_callers = object.is_requesting_sid() && self.shows_callers;
        let label = if wants_callers { FLAT_BINDER_FLAG_TXN_SECURITY_CTX } else { 0 };
        FLAT_BINDER_FLAG_ACCEPTS_FDS | label
    }

    /// Fails in a child of the process that opened the device.
    pub(super) fn check_process(&self) -> Result<(), StatusCode> {
        if self.forks == fork_count::forks() { Ok(()) } else { Err(StatusCode::INVALID_OPERATION) }
    }

    /// Notes that a thread holds back that many more bytes, and says whether it may.
    ///
    /// A thread that has its reply may sleep for ever. All such threads together may hold back a
    /// quarter of the receive buffer.
    pub(super) fn hold_back(&self, bytes: usize) -> bool {
        let before = self.held_back_bytes.fetch_add(bytes, Ordering::Relaxed);
        before.saturating_add(bytes) <= self.os.buffer_bytes() / 4
    }

    /// Notes that the driver was told of that many bytes.
    pub(super) fn release_held_back(&self, bytes: usize) {
        self.held_back_bytes.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// Returns the object that a call is for.
    pub(super) fn target(&self, name: BinderPtrCookie) -> Option<Arc<dyn LocalObject>> {
        if name.ptr == 0 { self.manager.get().cloned() } else { self.nodes.get(name) }
    }

    /// Returns the status that says best what the device said.
    pub(super) fn status_of(&self, error: &io::Error) -> StatusCode {
        match Errno::from_io_error(error) {
            Some(Errno::NOMEM) => StatusCode::NO_MEMORY,
            Some(Errno::AGAIN) => StatusCode::WOULD_BLOCK,
            Some(Errno::INVAL) => StatusCode::INVALID_OPERATION,
            // The driver is gone, and with it all objects.
            Some(Errno::NOTCONN | Errno::CONNABORTED | Errno::NODEV | Errno::CONNREFUSED) => {
                StatusCode::DEAD_OBJECT
            }
            _ => {
                tracing::error!(path = %self.path.display(), %error, "speaking to the driver");
                StatusCode::UNKNOWN_ERROR
            }
        }
    }
}

/// Whether calls of an object that asks for security contexts get through.
///
/// Our driver has a context for every process. The kernel's driver fails all such calls if no
/// security module gives processes contexts, so there no object may ask.
fn shows_security_contexts(os: &BinderDevice) -> bool {
    let is_ours = os.defer_completions(false).is_ok();
    is_ours || Path::new("/sys/fs/selinux/enforce").exists()
}

impl ObjectCodec for DeviceShared {
    fn format(&self) -> WireFormat {
        WireFormat::Driver(self.header)
    }

    fn name_binder(&self, binder: &SpIBinder) -> Result<WireName, StatusCode> {
        self.check_process()?;
        if let Some(object) = binder.as_local() {
            let BinderPtrCookie { ptr: binder, cookie } = self.nodes.send(object);
            let flags = self.flags_of(&**object) | LOWEST_PRIORITY;
            return Ok(WireName::Binder { binder, cookie, flags });
        }
        // Another device, or a socket, has other objects.
        self.proxy_of(binder)
            .map(|proxy| WireName::Handle(proxy.handle))
            .ok_or(StatusCode::INVALID_OPERATION)
    }

    fn unname(&self, _binder: &SpIBinder, name: WireName) {
        if let WireName::Binder { binder: ptr, cookie, .. } = name
            && self.check_process().is_ok()
        {
            // The parcel holds the object, so this is never the last that does.
            drop(self.nodes.sent(BinderPtrCookie { ptr, cookie }));
        }
    }

    fn find_binder(&self, _name: WireName) -> Result<SpIBinder, StatusCode> {
        // Objects are looked up when a parcel is received. What else looks like one is just bytes.
        Err(StatusCode::BAD_TYPE)
    }
}

impl fmt::Debug for DeviceShared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.path.display())
    }
}

/// A device that refuses everything.
#[cfg(test)]
pub(super) fn refusing_device() -> Arc<DeviceShared> {
    let path = Path::new("/dev/zero");
    let os = BinderDevice::open_with_buffer(path, 4096).expect("it can be mapped");
    Arc::new(DeviceShared::new(path, os, BuilderWord::default()))
}
