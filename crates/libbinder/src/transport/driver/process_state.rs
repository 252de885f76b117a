//! The device that a process uses if it names no other.

use std::path::Path;
use std::sync::{PoisonError, RwLock};

use super::device::{DeviceError, DeviceOptions, DriverDevice};

/// Where the device of a process is, on Android and everywhere.
const DEFAULT_PATH: &str = "/dev/binder";

static DEFAULT: RwLock<Option<DriverDevice>> = RwLock::new(None);

/// The process as a user of binder.
///
/// These functions are Android's, and act on the device that the process uses by default:
/// `/dev/binder`, unless [`init_with_driver`](Self::init_with_driver) was called before. What can fail
/// is logged; [`DriverDevice`] has the same with errors, and for any number of devices.
#[derive(Debug)]
pub struct ProcessState(());

impl ProcessState {
    /// Uses the device at `path` by default.
    ///
    /// # Errors
    ///
    /// [`DeviceError`]: one that is used already cannot be replaced, but in a child of the process that
    /// used it.
    pub fn init_with_driver(path: &Path) -> Result<DriverDevice, DeviceError> {
        Self::init_with_driver_options(path, &DeviceOptions::default())
    }

    /// Uses the device at `path` by default, opened in another way than usual: with another header
    /// before the names of interfaces, or another receive buffer. A device that is used already stays
    /// as it was opened.
    ///
    /// # Errors
    ///
    /// As [`init_with_driver`](Self::init_with_driver).
    pub fn init_with_driver_options(
        path: &Path,
        options: &DeviceOptions,
    ) -> Result<DriverDevice, DeviceError> {
        let mut default = DEFAULT.write().unwrap_or_else(PoisonError::into_inner);
        match &*default {
            Some(device) if device.is_of_this_process() => {
                if device.path() == path {
                    return Ok(device.clone());
                }
                return Err(DeviceError::InUse { path: device.path().into() });
            }
            Some(_) | None => {}
        }
        let device = DriverDevice::open_with(path, options)?;
        *default = Some(device.clone());
        Ok(device)
    }

    /// Returns the device that this process uses by default, and opens it if need be.
    ///
    /// # Errors
    ///
    /// [`DeviceError`]; in a child of the process that opened it, [`DeviceError::Forked`] until
    /// [`init_with_driver`](Self::init_with_driver) is called.
    pub fn device() -> Result<DriverDevice, DeviceError> {
        let known = DEFAULT.read().unwrap_or_else(PoisonError::into_inner).clone();
        match known {
            Some(device) if device.is_of_this_process() => Ok(device),
            Some(device) => Err(DeviceError::Forked { path: device.path().into() }),
            None => Self::init_with_driver(Path::new(DEFAULT_PATH)).or_else(|error| match error {
                // Another thread was faster, with another device.
                DeviceError::InUse { .. } => Self::device(),
                error => Err(error),
            }),
        }
    }

    /// Starts a thread that takes calls; the driver asks for more as they are needed.
    pub fn start_thread_pool() {
        if let Err(error) = Self::device().and_then(|device| device.start_thread_pool()) {
            tracing::error!(%error, "starting the thread pool");
        }
    }

    /// Sets how many threads the driver may ask for, beside those that join or start the pool.
    pub fn set_thread_pool_max_thread_count(threads: u32) {
        if let Err(error) = Self::device().and_then(|device| device.set_max_threads(threads)) {
            tracing::error!(%error, "setting the size of the thread pool");
        }
    }

    /// Takes calls on this thread, until the device fails.
    pub fn join_thread_pool() {
        let joined = Self::device().and_then(|device| device.join_thread_pool());
        match joined {
            Err(error) => tracing::error!(%error, "joining the thread pool"),
        }
    }
}
