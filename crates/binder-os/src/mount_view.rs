//! The mounts as a thread of another process sees them, and what it may do with them.

#![expect(unsafe_code, reason = "unshare(2), setfsuid(2) and an ioctl have no safe wrapper")]

use std::ffi::CString;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::thread;

use rustix::fs::{CWD, Mode, OFlags};
use rustix::io::Errno;
use rustix::ioctl::opcode;
use rustix::thread::{LinkNameSpaceType, UnshareFlags};

use crate::{ThreadStatus, UserAndGroup, namespaces};

/// The kernel's own number of the initial user namespace.
const INITIAL_USER_NAMESPACE: u64 = 0xefff_fffd;
/// The bit of CAP_SYS_ADMIN.
const CAP_SYS_ADMIN: u32 = 21;

/// What a thread sees, opened while it was known to live.
#[derive(Debug)]
pub struct MountView {
    mounts: OwnedFd,
    root: OwnedFd,
    directory: OwnedFd,
    user_namespace: u64,
    has_admin: bool,
    /// Whose files it may touch.
    fs_user: UserAndGroup,
    /// The numbers of its process and of itself in its own pid namespace.
    own_numbers: (u32, u32),
}

impl MountView {
    /// Opens the view of thread `tid`.
    ///
    /// # Errors
    ///
    /// `NotFound` if it has ended, `PermissionDenied` if we may not inspect it.
    pub fn of(tid: u32) -> io::Result<Self> {
        let open = |name: &str, flags: OFlags| {
            let path = format!("/proc/{tid}/{name}");
            rustix::fs::open(path, flags | OFlags::CLOEXEC, Mode::empty())
        };
        let user_namespace = open("ns/user", OFlags::RDONLY)?;
        let status = ThreadStatus::of(tid)?;
        let leader = ThreadStatus::of(status.tgid)?;
        Ok(Self {
            mounts: open("ns/mnt", OFlags::RDONLY)?,
            root: open("root", OFlags::PATH)?,
            directory: open("cwd", OFlags::PATH)?,
            user_namespace: inode(user_namespace.as_fd())?,
            has_admin: status.effective & (1 << CAP_SYS_ADMIN) != 0,
            fs_user: status.fs_user,
            own_numbers: (leader.innermost_number, status.innermost_number),
        })
    }

    /// Opens what descriptor `fd` of thread `tid` is of, to be named and not to be read.
    ///
    /// # Errors
    ///
    /// As open(2).
    pub fn descriptor(tid: u32, fd: i32) -> io::Result<OwnedFd> {
        let flags = OFlags::PATH | OFlags::CLOEXEC;
        Ok(rustix::fs::open(format!("/proc/{tid}/fd/{fd}"), flags, Mode::empty())?)
    }

    /// Returns the number of the thread's user namespace.
    #[must_use]
    pub fn user_namespace(&self) -> u64 {
        self.user_namespace
    }

    /// Whether the thread has CAP_SYS_ADMIN in user namespace `user_namespace`, its own.
    #[must_use]
    pub fn administers(&self, user_namespace: u64) -> bool {
        self.has_admin && self.user_namespace == user_namespace
    }

    /// Whether the thread has CAP_SYS_ADMIN over everything.
    #[must_use]
    pub fn administers_all(&self) -> bool {
        self.administers(INITIAL_USER_NAMESPACE)
    }

    /// Whether the thread may mount: whether it has CAP_SYS_ADMIN in the user namespace that owns its
    /// mounts, or in one above that.
    ///
    /// # Errors
    ///
    /// As the ioctl by which namespaces tell their owners.
    pub fn may_mount(&self) -> io::Result<bool> {
        let mut above = Some(owner(self.mounts.as_fd())?);
        while let Some(namespace) = above {
            if inode(namespace.as_fd())? == self.user_namespace {
                return Ok(self.has_admin);
            }
            above = match namespaces::parent(namespace.as_fd()) {
                Ok(parent) => Some(parent),
                Err(Errno::PERM) => None,
                Err(errno) => return Err(errno.into()),
            };
        }
        Ok(false)
    }

    /// Does something where the thread is: among its mounts, below its root, in its directory, and
    /// with the rights of its user to files.
    ///
    /// # Errors
    ///
    /// Its own, or as setns(2) and thread creation.
    pub fn visit<T: Send>(
        &self,
        act: impl FnOnce(&Visit<'_>) -> io::Result<T> + Send,
    ) -> io::Result<T> {
        // There is no way back from another root, so that a thread goes there which then ends.
        thread::scope(|scope| {
            let visitor = thread::Builder::new().name("visitor".into());
            let visitor = visitor.spawn_scoped(scope, || {
                self.enter()?;
                act(&Visit { view: self })
            })?;
            visitor.join().unwrap_or_else(|_| Err(io::Error::other("a visitor met a bug")))
        })
    }

    fn enter(&self) -> io::Result<()> {
        // SAFETY: the flag gives this thread a root and directory of its own, and leaves the table
        // of descriptors shared, which is what makes this call dangerous.
        unsafe { rustix::thread::unshare_unsafe(UnshareFlags::FS) }?;
        let mounts = Some(LinkNameSpaceType::Mount);
        rustix::thread::move_into_link_name_space(self.mounts.as_fd(), mounts)?;
        rustix::process::fchdir(&self.root)?;
        rustix::process::chroot(c".")?;
        rustix::process::fchdir(&self.directory)?;
        let UserAndGroup { uid, gid } = self.fs_user;
        // SAFETY: the call takes no memory; it is about the calling thread alone, which ends soon.
        unsafe { libc::setfsgid(gid) };
        // SAFETY: as above.
        unsafe { libc::setfsuid(uid) };
        Ok(())
    }
}

/// A stay where another thread is.
#[derive(Debug)]
pub struct Visit<'a> {
    view: &'a MountView,
}

impl Visit<'_> {
    /// Opens what a path of the other thread leads to, to be named and not to be read. A relative one
    /// begins at `start`, or else at its directory.
    ///
    /// # Errors
    ///
    /// As open(2).
    pub fn resolve(
        &self,
        start: Option<BorrowedFd<'_>>,
        path: &[u8],
        kind: PathKind,
    ) -> io::Result<OwnedFd> {
        let path = CString::new(self.of_its_process(path))?;
        let flags = OFlags::PATH
            | OFlags::CLOEXEC
            | match kind {
                PathKind::Any => OFlags::empty(),
                PathKind::Directory => OFlags::DIRECTORY,
                PathKind::NoLink => OFlags::NOFOLLOW,
            };
        Ok(rustix::fs::openat(start.unwrap_or(CWD), path, flags, Mode::empty())?)
    }

    /// Has `/proc/self` mean the other process: there we are ourselves.
    fn of_its_process(&self, path: &[u8]) -> Vec<u8> {
        let (pid, tid) = self.view.own_numbers;
        for (own, its) in [
            (&b"/proc/self/"[..], format!("/proc/{pid}/")),
            (b"/proc/thread-self/", format!("/proc/{pid}/task/{tid}/")),
        ] {
            if let Some(rest) = path.strip_prefix(own) {
                return [its.as_bytes(), rest].concat();
            }
        }
        path.to_vec()
    }
}

/// What a path may lead to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PathKind {
    /// Anything.
    Any,
    /// A directory.
    Directory,
    /// Anything, even a symbolic link.
    NoLink,
}

/// Returns the number by which a namespace is known.
fn inode(namespace: BorrowedFd<'_>) -> io::Result<u64> {
    Ok(rustix::fs::fstat(namespace)?.st_ino)
}

/// Opens the user namespace that owns `namespace`.
fn owner(namespace: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    const NS_GET_USERNS: libc::Ioctl = opcode::none(0xb7, 1) as libc::Ioctl;
    // SAFETY: NS_GET_USERNS takes no argument.
    let fd = unsafe { libc::ioctl(namespace.as_raw_fd(), NS_GET_USERNS) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: a successful NS_GET_USERNS returns a new descriptor, which is ours alone.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn own_tid() -> u32 {
        rustix::thread::gettid().as_raw_nonzero().get().unsigned_abs()
    }

    #[test]
    fn a_visit_is_where_the_other_thread_is() {
        // In mounts of its own, with another root and another directory.
        let body = || {
            if let Err(error) = namespaces::enter_mount_namespace() {
                return binder_testkit::skip(format_args!("{error}"));
            }
            let (tell, told) = std::sync::mpsc::channel();
            let (end, ended) = std::sync::mpsc::channel::<()>();
            let elsewhere = thread::spawn(move || {
                // SAFETY: as in `enter`.
                unsafe { rustix::thread::unshare_unsafe(UnshareFlags::FS) }.unwrap();
                rustix::process::chroot("/usr").unwrap();
                rustix::process::chdir("/bin").unwrap();
                tell.send(own_tid()).unwrap();
                let _ = ended.recv();
            });
            let tid = told.recv().unwrap();
            let view = MountView::of(tid).unwrap();
            assert_eq!(view.may_mount().unwrap(), view.has_admin);
            let place = |path: &'static [u8]| {
                let found = view.visit(|visit| visit.resolve(None, path, PathKind::Any))?;
                let link = format!("/proc/self/fd/{}", found.as_raw_fd());
                Ok::<_, io::Error>(fs::read_link(link).unwrap().into_os_string())
            };
            let usr_bin = fs::canonicalize("/usr/bin").unwrap().into_os_string();
            assert_eq!(place(b".").unwrap(), usr_bin);
            assert_eq!(place(b"/bin").unwrap(), usr_bin);
            assert_eq!(place(b"/../../../bin").unwrap(), usr_bin);
            assert!(place(b"/usr/bin").is_err(), "there is no /usr below its root");
            assert_eq!(fs::read_link("/proc/thread-self/root").unwrap(), std::path::Path::new("/"));
            drop(end);
            elsewhere.join().unwrap();
        };
        thread::spawn(body).join().unwrap();
    }

    #[test]
    fn its_own_directory_in_proc_is_not_ours() {
        let mut view = MountView::of(own_tid()).unwrap();
        view.own_numbers = (7, 9);
        let visit = Visit { view: &view };
        for (path, meant) in [
            ("/proc/self/fd/3", "/proc/7/fd/3"),
            ("/proc/thread-self/cwd", "/proc/7/task/9/cwd"),
            ("/proc/selfish", "/proc/selfish"),
            ("proc/self/fd", "proc/self/fd"),
        ] {
            assert_eq!(visit.of_its_process(path.as_bytes()), meant.as_bytes());
        }
    }
}
