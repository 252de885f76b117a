//! A device of a bench's own, beside the one that it measures: handle 0 of a device is one server's.

use std::env;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU32, Ordering};

use binder_os::binder_device;
use binder_os::private_dev::{LIBRARY_NAME, RING_LIBRARY};

/// A device that goes with this value.
#[derive(Debug)]
pub(crate) struct BenchDevice {
    path: PathBuf,
}

impl BenchDevice {
    /// Has the binderfs of a device make another.
    fn beside(device: &Path) -> io::Result<Self> {
        static NUMBERS: AtomicU32 = AtomicU32::new(0);
        // It may be a link to that.
        let device = fs::canonicalize(device)?;
        let number = NUMBERS.fetch_add(1, Ordering::Relaxed);
        let name = format!("bench-{}-{number}", process::id());
        binder_device::add_device(&device.with_file_name("binder-control"), &name)?;
        Ok(Self { path: device.with_file_name(name) })
    }

    /// The same for programs that know nothing of rings, whose calls the preloaded library takes up.
    ///
    /// # Errors
    ///
    /// Why there can be none.
    pub(crate) fn of_unmodified(beside: &Path) -> Result<Self, String> {
        if let Some(reason) = why_no_ring_library() {
            return Err(reason.into());
        }
        Self::beside(beside).map_err(|error| format!("no device of their own: {error}"))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for BenchDevice {
    fn drop(&mut self) {
        // A binderfs that is gone has no device.
        let _ = fs::remove_file(&self.path);
    }
}

/// Why this process, and those that it forks, have not loaded the library by which unmodified programs use the ring, if they have not.
fn why_no_ring_library() -> Option<&'static str> {
    let maps = fs::read_to_string("/proc/self/maps").unwrap_or_default();
    if maps.lines().any(|line| line.ends_with(LIBRARY_NAME)) {
        None
    } else if env::var("LD_PRELOAD").is_ok_and(|named| named.contains(RING_LIBRARY)) {
        Some("a static program preloads no library")
    } else {
        Some("no library is preloaded (`anybinder run` does that)")
    }
}
