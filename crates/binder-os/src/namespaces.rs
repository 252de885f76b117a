//! Namespaces: entering private ones, and ending all other processes inside.

#![expect(unsafe_code, reason = "the ioctl that opens a parent namespace has no safe wrapper")]

use std::fs;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::io::Errno;
use rustix::ioctl::opcode;
use rustix::mount::MountPropagationFlags;
use rustix::thread::{LinkNameSpaceType, UnshareFlags};

use crate::processes;

/// The namespaces that this process entered, known to differ from those it came from.
///
/// The proof matters: the [members](Self::kill_members) are processes to be ended, and the namespaces of
/// the host have many.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PrivateNamespaces {
    mount: u64,
    user: Option<u64>,
}

/// A step of setting up namespaces or mounts that the system refused.
#[derive(Debug, thiserror::Error)]
#[error("{tried}: {source}")]
pub struct SetupError {
    /// What was tried, as a phrase.
    pub tried: String,
    /// What the system answered.
    pub source: io::Error,
}

/// Moves this process into a mount namespace of its own, from which nothing propagates.
///
/// # Errors
///
/// [`SetupError`]; with `PermissionDenied` inside for lack of CAP_SYS_ADMIN.
pub fn enter_mount_namespace() -> Result<PrivateNamespaces, SetupError> {
    let before = own("mnt")?;
    unshare(UnshareFlags::NEWNS, "creating a mount namespace")?;
    let mount = own_other_than("mnt", before)?;
    keep_mounts_to_ourselves()?;
    Ok(PrivateNamespaces { mount, user: None })
}

/// Moves this process into a user and a mount namespace of its own, where `uid` and `gid`, the
/// caller's, keep their numbers and no other user or group exists.
///
/// The process holds every capability inside until it executes a program as other than user 0.
///
/// # Errors
///
/// [`SetupError`]; with `InvalidInput` inside if the process has several threads, `StorageFull` or
/// `PermissionDenied` where user namespaces are limited or turned off.
pub fn enter_user_and_mount_namespace(uid: u32, gid: u32) -> Result<PrivateNamespaces, SetupError> {
    let map = || {
        // Groups must be given up before an unprivileged process may map one.
        for (file, line) in [
            ("setgroups", "deny".to_owned()),
            ("uid_map", format!("{uid} {uid} 1")),
            ("gid_map", format!("{gid} {gid} 1")),
        ] {
            let path = format!("/proc/self/{file}");
            fs::write(&path, &line).map_err(refused(|| format!("writing '{line}' to {path}")))?;
        }
        Ok(())
    };
    enter_user_and_mount_namespace_by(map)
}

/// The same with users that others map: `mapped` returns when they have, in the namespace.
///
/// # Errors
///
/// As [`enter_user_and_mount_namespace`], and the error of `mapped` as it is.
pub fn enter_mapped_user_and_mount_namespace(
    mapped: impl FnOnce() -> io::Result<()>,
) -> Result<PrivateNamespaces, SetupError> {
    let map = || mapped().map_err(refused(|| "mapping users".to_owned()));
    enter_user_and_mount_namespace_by(map)
}

fn enter_user_and_mount_namespace_by(
    map: impl FnOnce() -> Result<(), SetupError>,
) -> Result<PrivateNamespaces, SetupError> {
    let (before_mount, before_user) = (own("mnt")?, own("user")?);
    let both = UnshareFlags::NEWUSER | UnshareFlags::NEWNS;
    unshare(both, "creating a user and a mount namespace")?;
    let mount = own_other_than("mnt", before_mount)?;
    let user = own_other_than("user", before_user)?;
    map()?;
    keep_mounts_to_ourselves()?;
    Ok(PrivateNamespaces { mount, user: Some(user) })
}

impl PrivateNamespaces {
    /// Sends SIGKILL to every process inside, except for the caller and for `spared`: to all whose mount
    /// namespace is ours, and to all in our user namespace or below it, whatever they mount. Returns how
    /// many there were; repeat until that is 0, because they may fork meanwhile.
    ///
    /// This looks at every process of the machine. Those that we may not inspect are left out, as zombies are.
    ///
    /// # Errors
    ///
    /// As reading /proc.
    pub fn kill_members(&self, spared: u32) -> io::Result<usize> {
        let mut killed = 0;
        for pid in processes::all()? {
            // The descriptor comes first: should the number go to another process while we look,
            // the one that we hold is dead and takes no signal.
            let Ok(process) = processes::pidfd(pid) else { continue };
            let is_due = pid != spared && self.holds(pid) && processes::is_alive(pid);
            if is_due && processes::kill(&process).is_ok() {
                killed += 1;
            }
        }
        Ok(killed)
    }

    fn holds(&self, pid: u32) -> bool {
        let mount = fs::metadata(format!("/proc/{pid}/ns/mnt")).map(|ns| ns.ino());
        mount.is_ok_and(|mount| mount == self.mount)
            || self.user.is_some_and(|user| {
                let path = format!("/proc/{pid}/ns/user");
                ancestry(Path::new(&path)).is_ok_and(|chain| chain.contains(&user))
            })
    }
}

/// The mounts that some processes see, held open.
#[derive(Debug)]
pub struct HeldMounts {
    namespace: OwnedFd,
}

impl HeldMounts {
    /// Those that this process sees.
    ///
    /// # Errors
    ///
    /// As open(2).
    pub fn own() -> io::Result<Self> {
        Self::own_by(Path::new("/proc"))
    }

    /// The same, where the kernel's /proc is mounted at `proc`.
    ///
    /// # Errors
    ///
    /// As open(2).
    pub fn own_by(proc: &Path) -> io::Result<Self> {
        Ok(Self { namespace: fs::File::open(proc.join("thread-self/ns/mnt"))?.into() })
    }

    /// Has this process, of one thread, see these from now on. It goes to their root directory.
    ///
    /// # Errors
    ///
    /// As setns(2): `PermissionDenied` without CAP_SYS_ADMIN.
    pub fn enter(&self) -> io::Result<()> {
        let kind = Some(LinkNameSpaceType::Mount);
        Ok(rustix::thread::move_into_link_name_space(self.namespace.as_fd(), kind)?)
    }
}

/// Returns the namespace that the file `path` of /proc/PID/ns names, after those it lies in, as
/// inode numbers, from ours, or the highest we may look at, downwards.
pub(crate) fn ancestry(path: &Path) -> io::Result<Vec<u64>> {
    let kind = path.file_name().unwrap_or_default();
    let ours = fs::metadata(Path::new("/proc/thread-self/ns").join(kind))?.ino();
    let mut namespace = OwnedFd::from(fs::File::open(path)?);
    let mut chain = Vec::new();
    loop {
        let id = rustix::fs::fstat(&namespace)?.st_ino;
        chain.push(id);
        if id == ours {
            break;
        }
        match parent(namespace.as_fd()) {
            Ok(above) => namespace = above,
            Err(Errno::PERM) => break,
            Err(errno) => return Err(errno.into()),
        }
    }
    chain.reverse();
    Ok(chain)
}

/// Opens the namespace that holds `namespace`; EPERM at the top, or of what we may see.
pub(crate) fn parent(namespace: BorrowedFd<'_>) -> Result<OwnedFd, Errno> {
    const NS_GET_PARENT: libc::Ioctl = opcode::none(0xb7, 2) as libc::Ioctl;
    // SAFETY: NS_GET_PARENT takes no argument.
    let fd = unsafe { libc::ioctl(namespace.as_raw_fd(), NS_GET_PARENT) };
    if fd < 0 {
        return Err(Errno::from_io_error(&io::Error::last_os_error()).unwrap_or(Errno::IO));
    }
    // SAFETY: a successful NS_GET_PARENT returns a new descriptor, which is ours alone.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Hides mounts made here from the outside. Those unmounted there go here too: a world must not
/// keep the host's file systems busy.
fn keep_mounts_to_ourselves() -> Result<(), SetupError> {
    let flags = MountPropagationFlags::DOWNSTREAM | MountPropagationFlags::REC;
    rustix::mount::mount_change("/", flags)
        .map_err(refused(|| "keeping mounts to ourselves".to_owned()))
}

fn unshare(flags: UnshareFlags, what: &str) -> Result<(), SetupError> {
    // SAFETY: the flags of our callers create namespaces only; none of them unshares the table of
    // descriptors, which is what makes this call dangerous to other owners of descriptors.
    unsafe { rustix::thread::unshare_unsafe(flags) }.map_err(refused(|| what.to_owned()))
}

/// Returns the id of this process's namespace of kind `kind`.
fn own(kind: &str) -> Result<u64, SetupError> {
    let path = format!("/proc/thread-self/ns/{kind}");
    let namespace = fs::metadata(&path).map_err(refused(|| format!("inspecting {path}")))?;
    Ok(namespace.ino())
}

fn own_other_than(kind: &str, before: u64) -> Result<u64, SetupError> {
    let now = own(kind)?;
    if now == before {
        let tried = format!("leaving the {kind} namespace of the caller");
        return Err(SetupError { tried, source: io::Error::other("still in it") });
    }
    Ok(now)
}

pub(crate) fn refused<E: Into<io::Error>>(
    tried: impl FnOnce() -> String,
) -> impl FnOnce(E) -> SetupError {
    |error| SetupError { tried: tried(), source: error.into() }
}
