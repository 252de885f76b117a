//! Mounts: making them, and ending those that were found.

use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::Path;

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::mount::{MountFlags, UnmountFlags};

use crate::proc_files::{self, DeviceNumber};

/// Mounts the kernel's /proc at `dir` as a new instance: no process has looked at it yet.
///
/// # Errors
///
/// As mount(2): `PermissionDenied` without the rights of root over this pid namespace.
pub fn mount_proc(dir: &Path) -> io::Result<()> {
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    Ok(rustix::mount::mount("proc", dir, "proc", flags, None)?)
}

/// Has the file `from` be seen at `to`, too, which is an existing file.
///
/// # Errors
///
/// As mount(2).
pub fn bind(from: &Path, to: &Path) -> io::Result<()> {
    Ok(rustix::mount::mount_bind(from, to)?)
}

/// Has the file system at `dir` ask its server nothing more: a thread that waits for an answer gets
/// an error. It is unmounted, too, unless it is in use.
///
/// # Errors
///
/// As umount2(2) with `MNT_FORCE`; `ResourceBusy` if it stays.
pub fn abort(dir: &Path) -> io::Result<()> {
    Ok(rustix::mount::unmount(dir, UnmountFlags::FORCE | UnmountFlags::NOFOLLOW)?)
}

/// Detaches the mount at `dir`; it ends when its last user is gone.
///
/// # Errors
///
/// As umount(2): `InvalidInput` if nothing is mounted there.
pub fn unmount(dir: &Path) -> io::Result<()> {
    Ok(rustix::mount::unmount(dir, UnmountFlags::DETACH | UnmountFlags::NOFOLLOW)?)
}

/// The same, but only of the file system `device`, and tells whether it was that.
///
/// # Errors
///
/// As open(2), statx(2) and umount(2).
pub fn unmount_only(dir: &Path, device: DeviceNumber) -> io::Result<bool> {
    let found = FoundMount::at(dir)?;
    Ok(proc_files::id_of(found.0.as_fd())?.device == device && found.unmount()?)
}

/// What was mounted at a place when it was looked at, and not what takes its place meanwhile.
pub(crate) struct FoundMount(OwnedFd);

impl FoundMount {
    /// # Errors
    ///
    /// As open(2).
    pub(crate) fn at(dir: &Path) -> io::Result<Self> {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(Self(rustix::fs::open(dir, flags, Mode::empty())?))
    }

    /// Detaches it; it ends when its last user is gone. Tells whether it was mounted still. What is mounted upon it is
    /// in the way, and goes instead.
    ///
    /// # Errors
    ///
    /// As umount(2).
    pub(crate) fn unmount(&self) -> io::Result<bool> {
        // The link leads to this mount, where a path leads to whatever is there now.
        let link = format!("/proc/self/fd/{}", self.0.as_raw_fd());
        match rustix::mount::unmount(link, UnmountFlags::DETACH) {
            Ok(()) => Ok(true),
            Err(Errno::INVAL) => Ok(false),
            Err(errno) => Err(errno.into()),
        }
    }
}
