//! Symbolic links to the devices of a binderfs, at the places where Android's programs look for devices.

use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use binder_os::processes;

use crate::failure::{Failure, failed};
use crate::mounts;

/// Where Android's programs look for their devices.
pub(crate) const DEV: &str = "/dev";

/// Links to devices of one binderfs; none by default.
#[derive(Debug, Clone, Default)]
pub(crate) struct Links {
    /// Where the binderfs is mounted.
    binderfs: PathBuf,
    /// Each link, and where it leads.
    links: Vec<(PathBuf, PathBuf)>,
}

impl Links {
    /// Makes a link in `dev` to each of `devices` in the directory `binderfs`, before that is mounted
    /// or after. What lies in the place of a link stays, whatever it is, and the log says so.
    ///
    /// # Errors
    ///
    /// [`Failure`] when the system refuses a link; those made before are removed.
    pub(crate) fn make(dev: &Path, binderfs: &Path, devices: &[String]) -> Result<Self, Failure> {
        let mut made = Self { binderfs: binderfs.to_owned(), links: Vec::new() };
        for device in devices {
            let (link, target) = (dev.join(device), binderfs.join(device));
            match symlink(&target, &link) {
                Ok(()) => made.links.push((link, target)),
                // A driver that was killed leaves its links.
                Err(error) if error.kind() == ErrorKind::AlreadyExists && leads(&link, &target) => {
                    made.links.push((link, target));
                }
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                    let (link, device) = (link.display(), target.display());
                    tracing::warn!(%link, %device, "not linked: something else is there, and stays");
                }
                Err(error) => {
                    made.remove();
                    return Err(failed(&format!("linking {}", link.display()))(error));
                }
            }
        }
        Ok(made)
    }

    /// Makes the usual links for a directory below `dev`, unless a name is taken there.
    ///
    /// # Errors
    ///
    /// As [`make`](Self::make).
    pub(crate) fn make_if_free(
        dev: &Path,
        binderfs: &Path,
        devices: &[String],
    ) -> Result<Self, Failure> {
        let is_free = |device: &String| {
            let (link, target) = (dev.join(device), binderfs.join(device));
            // A driver that was killed leaves its links.
            link.symlink_metadata().is_err() || leads(&link, &target)
        };
        if processes::user().0 == 0 && binderfs.starts_with(dev) && devices.iter().all(is_free) {
            return Self::make(dev, binderfs, devices);
        }
        Ok(Self::default())
    }

    /// Makes those again that are gone: a driver that ends may have removed them before this one's binderfs was mounted.
    pub(crate) fn restore(&self) {
        for (link, target) in &self.links {
            if let Err(error) = symlink(target, link)
                && error.kind() != ErrorKind::AlreadyExists
            {
                tracing::warn!(link = %link.display(), %error, "a link to a device is missing");
            }
        }
    }

    /// Removes the links that still lead to the devices, unless another binderfs is mounted there.
    pub(crate) fn remove(&self) {
        if self.is_in_place() {
            return;
        }
        for (link, target) in &self.links {
            if leads(link, target)
                && let Err(error) = fs::remove_file(link)
            {
                tracing::warn!(link = %link.display(), %error, "a link to a device stays");
            }
        }
        // One that was mounted meanwhile has found them there.
        if self.is_in_place() {
            self.restore();
        }
    }

    /// Whether a binderfs is mounted where the links lead. So it is without links.
    fn is_in_place(&self) -> bool {
        self.links.is_empty() || mounts::is_ours(&self.binderfs).unwrap_or(true)
    }
}

fn leads(link: &Path, target: &Path) -> bool {
    fs::read_link(link).is_ok_and(|found| found == target)
}
