//! A /dev of one's own, in a private mount namespace.

use std::ffi::OsString;
use std::fs::{self, DirEntry, File, Permissions};
use std::io;
use std::os::unix::fs::{FileTypeExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use rustix::fs::CWD;
use rustix::mount::{MountFlags, MoveMountFlags, OpenTreeFlags};

use crate::filesystems::{self, FILESYSTEMS};
use crate::namespaces::{SetupError, refused};

/// The directory below /dev where binderfs belongs.
pub const BINDERFS_DIR: &str = "/dev/binderfs";

/// Where a private /dev shows the /dev that it replaced.
pub const OUTER_DIR: &str = "/dev/.outer";

/// Replaces /dev by one that holds the same entries except for binder's: an empty
/// [`BINDERFS_DIR`] and, for each of `devices`, a link into it.
///
/// A user namespace may neither create device nodes nor change the /dev it was given; so this is
/// a new directory, into which the entries of the old one are bound one by one. Those that could
/// not be are returned with the reason.
///
/// # Errors
///
/// [`SetupError`] for anything that leaves the new /dev without its purpose.
pub fn replace<S: AsRef<str>>(devices: &[S]) -> Result<Vec<(OsString, io::Error)>, SetupError> {
    cover()?;
    let tried = || format!("listing {OUTER_DIR}");
    let mut skipped = Vec::new();
    for entry in fs::read_dir(OUTER_DIR).map_err(refused(tried))? {
        let entry = entry.map_err(refused(tried))?;
        if !is_replaced(&entry, devices)
            && let Err(error) = adopt(&entry)
        {
            skipped.push((entry.file_name(), error));
        }
    }
    fs::create_dir(BINDERFS_DIR).map_err(refused(|| format!("creating {BINDERFS_DIR}")))?;
    for device in devices {
        let name = device.as_ref();
        symlink(format!("binderfs/{name}"), format!("/dev/{name}"))
            .map_err(refused(|| format!("creating the link /dev/{name}")))?;
    }
    Ok(skipped)
}

/// Where a private /dev keeps what programs of the world load.
pub const LIBRARY_DIR: &str = "/dev/.ring";

/// The library in [`LIBRARY_DIR`].
pub const RING_LIBRARY: &str = "/dev/.ring/libanybinder_ring.so";

/// The library's name, in whatever directory programs see at [`LIBRARY_DIR`].
pub const LIBRARY_NAME: &str = "libanybinder_ring.so";

/// Places the library in a new directory `dir`: [`LIBRARY_DIR`], from where every program of the world can load it, or
/// another, which programs are to see there. Nothing can be changed in it afterwards. Returns its place.
///
/// It is a file system of its own, since nothing in /dev may be executed, and of no program's user's making, since a
/// world has more users than one.
///
/// # Errors
///
/// [`SetupError`] when it cannot be mounted or filled.
pub fn place_library(dir: &Path, content: &[u8]) -> Result<PathBuf, SetupError> {
    fs::create_dir(dir).map_err(refused(|| format!("creating {}", dir.display())))?;
    let flags = MountFlags::NOSUID | MountFlags::NODEV;
    rustix::mount::mount("tmpfs", dir, "tmpfs", flags, c"mode=0755")
        .map_err(refused(|| format!("mounting a tmpfs at {}", dir.display())))?;
    let place = dir.join(LIBRARY_NAME);
    let mode = Permissions::from_mode(0o444);
    fs::write(&place, content)
        .and_then(|()| fs::set_permissions(&place, mode))
        .map_err(refused(|| format!("writing {}", place.display())))?;
    rustix::mount::mount_remount(dir, flags | MountFlags::BIND | MountFlags::RDONLY, c"")
        .map_err(refused(|| format!("making {} read-only", dir.display())))?;
    Ok(place)
}

/// Has /proc/filesystems list binderfs, as on a kernel that knows it. What that costs is told at
/// [`filesystems::show`].
///
/// # Errors
///
/// [`SetupError`] when the list cannot be read, or covered by another.
pub fn list_binder() -> Result<(), SetupError> {
    let tried = || format!("listing binder in {FILESYSTEMS}");
    // Visible for a moment: a bind mount of a file stays when its name goes.
    let file = Path::new("/dev/.filesystems");
    let listed = filesystems::with_binder().map_err(refused(tried))?;
    fs::write(file, listed)
        .and_then(|()| fs::set_permissions(file, Permissions::from_mode(0o444)))
        .and_then(|()| filesystems::show(file, Path::new(FILESYSTEMS)))
        .and_then(|()| fs::remove_file(file))
        .map_err(refused(tried))
}

/// Where a private /dev shows the kernel's /proc, once something else is to cover that.
pub const PROC_DIR: &str = "/dev/.proc";

/// Has the links of a private /dev to the descriptors of the process that follows them, such as
/// /dev/stdin, lead through the kernel's own /proc, whatever covers that: elsewhere a link to a
/// pipe leads nowhere.
///
/// # Errors
///
/// [`SetupError`] when /proc cannot be bound into /dev.
pub fn keep_proc() -> Result<(), SetupError> {
    match fs::create_dir(PROC_DIR) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
            return Err(refused(|| format!("creating {PROC_DIR}"))(error));
        }
        Ok(()) | Err(_) => {}
    }
    rustix::mount::mount_bind_recursive("/proc", PROC_DIR)
        .map_err(refused(|| format!("binding /proc to {PROC_DIR}")))?;
    for name in ["fd", "stdin", "stdout", "stderr"] {
        let link = Path::new("/dev").join(name);
        let Ok(target) = fs::read_link(&link) else { continue };
        if let Ok(rest) = target.strip_prefix("/proc") {
            let kept = Path::new(PROC_DIR).join(rest);
            fs::remove_file(&link)
                .and_then(|()| symlink(kept, &link))
                .map_err(refused(|| format!("leading {} elsewhere", link.display())))?;
        }
    }
    Ok(())
}

/// Covers /dev by an empty directory in which the old one appears as [`OUTER_DIR`].
fn cover() -> Result<(), SetupError> {
    // Cloned before it is covered, or the clone would have the cover too. Recursively, because in
    // a user namespace a mount may not be shown without those on top of it.
    let clone = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_RECURSIVE;
    let outer = rustix::mount::open_tree(CWD, "/dev", clone)
        .map_err(refused(|| "cloning the mounts of /dev".to_owned()))?;
    let flags = MountFlags::NOSUID | MountFlags::NOEXEC;
    rustix::mount::mount("tmpfs", "/dev", "tmpfs", flags, c"mode=0755")
        .map_err(refused(|| "mounting a tmpfs over /dev".to_owned()))?;
    fs::create_dir(OUTER_DIR).map_err(refused(|| format!("creating {OUTER_DIR}")))?;
    let this_fd = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH;
    rustix::mount::move_mount(outer, c"", CWD, OUTER_DIR, this_fd)
        .map_err(refused(|| format!("mounting the old /dev at {OUTER_DIR}")))
}

/// Returns whether the new /dev has something else in the place of an old entry, or nothing.
fn is_replaced<S: AsRef<str>>(entry: &DirEntry, devices: &[S]) -> bool {
    let name = entry.file_name();
    let is_ours = devices.iter().any(|device| name == device.as_ref());
    // What leads into the binderfs of the old /dev would lead into the new one, where that device
    // may not exist.
    let leads_to_binderfs = fs::read_link(entry.path())
        .is_ok_and(|target| Path::new("/dev").join(target).starts_with(BINDERFS_DIR));
    let is_of_a_world = ["binderfs", ".outer", ".ring"].iter().any(|it| name == *it);
    is_ours || leads_to_binderfs || is_of_a_world
}

/// Makes an entry of the old /dev appear in the new one.
fn adopt(entry: &DirEntry) -> io::Result<()> {
    let target = Path::new("/dev").join(entry.file_name());
    let kind = entry.file_type()?;
    if kind.is_symlink() {
        return symlink(fs::read_link(entry.path())?, target);
    }
    if kind.is_char_device() && entry.file_name() == "ptmx" {
        // The node looks for `pts` beside itself in the directory where it really is; bound on its
        // own it would find none.
        return symlink(".outer/ptmx", target);
    }
    if kind.is_dir() {
        fs::create_dir(&target)?;
    } else {
        File::create(&target)?;
    }
    Ok(rustix::mount::mount_bind_recursive(entry.path(), target)?)
}
