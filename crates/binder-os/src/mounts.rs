//! Mounts: making them, showing them at a place, and ending those that were found.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::fs::{CWD, Mode, OFlags, StatVfsMountFlags};
use rustix::io::Errno;
use rustix::mount::{MountFlags, MoveMountFlags, OpenTreeFlags, UnmountFlags};

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

/// Whether programs may map files at `dir` to execute what is there: not where the mount is `noexec`.
///
/// # Errors
///
/// As statvfs(3).
pub fn may_execute(dir: &Path) -> io::Result<bool> {
    Ok(!rustix::fs::statvfs(dir)?.f_flag.contains(StatVfsMountFlags::NOEXEC))
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

/// A mounted file system that may have no place yet: without one it goes when this is dropped.
#[derive(Debug)]
pub struct DetachedMount {
    fd: OwnedFd,
}

impl DetachedMount {
    /// What fsmount(2) has made.
    pub(crate) fn of(fd: OwnedFd) -> Self {
        Self { fd }
    }

    /// A copy of the mount at `dir`, with the mounts below it.
    ///
    /// # Errors
    ///
    /// As open_tree(2).
    pub fn copy_of(dir: &Path) -> io::Result<Self> {
        // Recursively: in a user namespace a mount may not be shown without those on top of it.
        let flags = OpenTreeFlags::OPEN_TREE_CLONE
            | OpenTreeFlags::OPEN_TREE_CLOEXEC
            | OpenTreeFlags::AT_RECURSIVE;
        Ok(Self { fd: rustix::mount::open_tree(CWD, dir, flags)? })
    }

    /// Shows the mount at `dir`, as the calling thread sees that.
    ///
    /// # Errors
    ///
    /// As move_mount(2).
    pub fn attach(&self, dir: &Path) -> io::Result<()> {
        let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_SYMLINKS;
        Ok(rustix::mount::move_mount(&self.fd, c"", CWD, dir, flags)?)
    }

    /// Shows the mount in place of the one at `dir`, which stays with the processes that have files
    /// of it open, and ends when they have closed them. It may have been unmounted meanwhile.
    ///
    /// Where the kernel can (from Linux 6.5 on) no process ever finds the directory empty.
    ///
    /// # Errors
    ///
    /// As open(2), move_mount(2) and umount(2).
    pub fn replace(&self, dir: &Path) -> io::Result<()> {
        let replaced = FoundMount::at(dir)?;
        let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_BENEATH;
        let is_beneath = rustix::mount::move_mount(&self.fd, c"", CWD, dir, flags).is_ok();
        replaced.unmount()?;
        if is_beneath { Ok(()) } else { self.attach(dir) }
    }

    /// Shows the mount in place of what the descriptor `target` is of.
    ///
    /// # Errors
    ///
    /// As move_mount(2).
    pub fn attach_to(&self, target: BorrowedFd<'_>) -> io::Result<()> {
        let flags =
            MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
        Ok(rustix::mount::move_mount(&self.fd, c"", target, c"", flags)?)
    }

    /// Opens the root directory, which asks the server of the file system.
    ///
    /// # Errors
    ///
    /// As open(2).
    pub fn open_root(&self) -> io::Result<OwnedFd> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(rustix::fs::openat(&self.fd, ".", flags, Mode::empty())?)
    }

    /// Returns the device number by which files of the mount are known.
    ///
    /// # Errors
    ///
    /// As statx(2).
    pub fn device(&self) -> io::Result<DeviceNumber> {
        Ok(proc_files::id_of(self.fd.as_fd())?.device)
    }
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
