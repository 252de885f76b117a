//! The kernel's end of a FUSE file system: open, mount, requests in, replies out.

#![expect(unsafe_code, reason = "the ioctls of passthrough have no safe wrapper")]

use std::io::{self, IoSlice};
use std::mem::size_of;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::fs::{FileType, Mode, OFlags};
use rustix::io::Errno;
use rustix::ioctl::opcode;
use rustix::mount::{FsMountFlags, FsOpenFlags, MountAttrFlags};

use crate::mounts::DetachedMount;

/// The least length of a buffer that the kernel accepts for [`FuseDevice::read`], in bytes.
pub const READ_BUFFER_MIN_BYTES: usize = 8192;

/// Messages up to this length, the answer to `BINDER_WRITE_READ` among them, go out in one piece:
/// copying so little costs less than having the kernel look up a second range of memory.
const ONE_PIECE_BYTES: usize = 80;

/// The number of /dev/fuse among character devices, the same on every Linux.
const FUSE_NUMBER: (u32, u32) = (10, 229);

/// An open /dev/fuse: one file system, once mounted.
///
/// All calls take `&self`: several threads may read, and any thread may answer any request.
#[derive(Debug)]
pub struct FuseDevice {
    fd: OwnedFd,
}

/// The type of the binderfs that we serve, as /proc/mounts shows it.
///
/// mount(8) hands a remount to the program `mount.TYPE`, or to the one that is named so up to the last dot.
/// With one dot only that were libfuse's `mount.fuse`, which executes the subtype.
pub const BINDERFS_TYPE: &str = "fuse.anybinder.binder";

/// How a FUSE file system is mounted.
#[derive(Debug, Clone)]
pub struct MountOptions {
    /// The source shown in /proc/mounts.
    pub source: Vec<u8>,
    /// The type shown there: `fuse.` and more.
    pub kind: String,
    /// The owner of the mount, as the caller's user namespace numbers it.
    pub user_id: u32,
    /// The group of the mount, likewise.
    pub group_id: u32,
    /// Whether users other than `user_id` may enter.
    ///
    /// In a user namespace this admits that namespace and those below it, never the host.
    pub allow_other: bool,
    /// Whether the kernel checks mode bits itself.
    pub default_permissions: bool,
    /// The longest FUSE_READ in bytes; the kernel's own limit if absent.
    pub max_read_bytes: Option<u32>,
    /// Whether the kernel refuses all that would write.
    pub read_only: bool,
}

/// Why no request was read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The file system was unmounted or its connection aborted: there will be no more requests.
    #[error("the file system is no longer mounted")]
    Unmounted,
    /// The kernel refused the read.
    #[error("reading /dev/fuse: {0}")]
    Io(#[source] io::Error),
}

/// What became of a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use = "a reply that found no request may carry resources to take back"]
pub enum ReplyOutcome {
    /// The kernel took it.
    Delivered,
    /// The request, or the inode or poll handle of a notification, no longer exists.
    Gone,
}

/// A file that the kernel reads and maps in place of a FUSE file, until unregistered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct BackingId(u32);

impl BackingId {
    /// Returns the number that goes into the reply to FUSE_OPEN.
    #[must_use]
    pub fn get(self) -> u32 {
        self.0
    }
}

impl FuseDevice {
    /// Opens /dev/fuse.
    ///
    /// The file remembers the user namespace of its opener, and only a mount from that namespace
    /// accepts it: open it after entering the namespace.
    ///
    /// # Errors
    ///
    /// As open(2): `NotFound` without the fuse module, `PermissionDenied` where the node is closed
    /// to this user. `InvalidInput` if another file lies there.
    pub fn open() -> io::Result<Self> {
        let flags = OFlags::RDWR | OFlags::CLOEXEC;
        let fd = rustix::fs::open("/dev/fuse", flags, Mode::empty())?;
        let stat = rustix::fs::fstat(&fd)?;
        let is_device = FileType::from_raw_mode(stat.st_mode).is_char_device();
        if is_device && stat.st_rdev == rustix::fs::makedev(FUSE_NUMBER.0, FUSE_NUMBER.1) {
            return Ok(Self { fd });
        }
        let words = "it is another file than the character device 10:229, which FUSE has";
        Err(io::Error::new(io::ErrorKind::InvalidInput, words))
    }

    /// Mounts the file system, without a place, and returns; requests wait for
    /// [`read`](Self::read).
    ///
    /// The mount is `nosuid,nodev,noexec`: it holds no programs and no real device nodes, and
    /// `noexec` also keeps what one client sends from being mapped executable by another. All
    /// three are allowed to every user namespace.
    ///
    /// # Errors
    ///
    /// As fsopen(2): `PermissionDenied` without CAP_SYS_ADMIN in the namespace that owns the mount
    /// namespace.
    pub fn mount(&self, options: &MountOptions) -> io::Result<DetachedMount> {
        use rustix::mount::{fsconfig_create, fsconfig_set_flag, fsconfig_set_string};
        let context = rustix::mount::fsopen("fuse", FsOpenFlags::FSOPEN_CLOEXEC)?;
        let words = [
            ("subtype", options.kind.trim_start_matches("fuse.").to_owned()),
            ("fd", self.fd.as_raw_fd().to_string()),
            ("rootmode", "40000".to_owned()),
            ("user_id", options.user_id.to_string()),
            ("group_id", options.group_id.to_string()),
        ];
        fsconfig_set_string(&context, "source", options.source.as_slice())?;
        for (key, value) in words {
            fsconfig_set_string(&context, key, value)?;
        }
        if let Some(bytes) = options.max_read_bytes {
            fsconfig_set_string(&context, "max_read", bytes.to_string())?;
        }
        if options.allow_other {
            fsconfig_set_flag(&context, "allow_other")?;
        }
        if options.default_permissions {
            fsconfig_set_flag(&context, "default_permissions")?;
        }
        // Of the file system, beside the mount: only so does the kernel keep the times of files that are read.
        if options.read_only {
            fsconfig_set_flag(&context, "ro")?;
        }
        fsconfig_create(&context)?;
        let mut attributes = MountAttrFlags::MOUNT_ATTR_NOSUID
            | MountAttrFlags::MOUNT_ATTR_NODEV
            | MountAttrFlags::MOUNT_ATTR_NOEXEC;
        attributes.set(MountAttrFlags::MOUNT_ATTR_RDONLY, options.read_only);
        let flags = FsMountFlags::FSMOUNT_CLOEXEC;
        Ok(DetachedMount::of(rustix::mount::fsmount(context, flags, attributes)?))
    }

    /// Waits for one request and copies it into `buffer`, returning its length.
    ///
    /// Signals, and requests that were withdrawn while they were being read, are passed over.
    ///
    /// # Errors
    ///
    /// [`ReadError::Unmounted`] once and for all when the file system is gone; `InvalidInput`
    /// inside [`ReadError::Io`] for a buffer below [`READ_BUFFER_MIN_BYTES`].
    pub fn read(&self, buffer: &mut [u8]) -> Result<usize, ReadError> {
        loop {
            match rustix::io::read(&self.fd, &mut *buffer) {
                // A read of no bytes does not happen on a live connection.
                Ok(0) | Err(Errno::NODEV | Errno::CONNABORTED) => return Err(ReadError::Unmounted),
                Ok(len_bytes) => return Ok(len_bytes),
                // The request was interrupted before it left the kernel's queue.
                Err(Errno::INTR | Errno::NOENT) => {}
                Err(errno) => return Err(ReadError::Io(errno.into())),
            }
        }
    }

    /// Waits until there is a request to [`read`](Self::read), or the file system is gone, but not for
    /// longer than `most`. Says whether it is so.
    pub fn has_request_within(&self, most: Duration) -> bool {
        let mut watched = [PollFd::new(&self.fd, PollFlags::IN)];
        let most = Timespec::try_from(most).ok();
        // Whatever keeps us from waiting, a read will tell.
        rustix::event::poll(&mut watched, most.as_ref()).map_or(true, |ready| ready > 0)
    }

    /// Writes one reply or notification, given in pieces.
    ///
    /// # Errors
    ///
    /// As the kernel reports; a reply to a request that no longer exists is not an error but
    /// [`ReplyOutcome::Gone`].
    pub fn write(&self, parts: &[IoSlice<'_>]) -> io::Result<ReplyOutcome> {
        // A single piece is worth its own call: the kernel then imports no vector.
        let written = rustix::io::retry_on_intr(|| match parts {
            [piece] => rustix::io::write(&self.fd, piece),
            pieces => rustix::io::writev(&self.fd, pieces),
        });
        match written {
            Ok(_) => Ok(ReplyOutcome::Delivered),
            Err(Errno::NOENT | Errno::NODEV) => Ok(ReplyOutcome::Gone),
            Err(errno) => Err(errno.into()),
        }
    }

    /// Writes one reply or notification, given as a head and the data behind it.
    ///
    /// # Errors
    ///
    /// As [`write`](Self::write).
    pub fn send(&self, [head, data]: [&[u8]; 2]) -> io::Result<ReplyOutcome> {
        let mut piece = [0; ONE_PIECE_BYTES];
        match piece.get_mut(..head.len() + data.len()) {
            Some(piece) => {
                piece[..head.len()].copy_from_slice(head);
                piece[head.len()..].copy_from_slice(data);
                self.write(&[IoSlice::new(piece)])
            }
            None => self.write(&[IoSlice::new(head), IoSlice::new(data)]),
        }
    }

    /// Registers `file` for passthrough.
    ///
    /// The connection must have agreed on FUSE_PASSTHROUGH at FUSE_INIT.
    ///
    /// # Errors
    ///
    /// `PermissionDenied` without CAP_SYS_ADMIN in the initial user namespace.
    pub fn register_backing(&self, file: BorrowedFd<'_>) -> io::Result<BackingId> {
        let map = BackingMap { fd: file.as_raw_fd(), flags: 0, padding: 0 };
        // SAFETY: FUSE_DEV_IOC_BACKING_OPEN reads one `fuse_backing_map` through its argument and
        // writes nothing; `map` has that layout (checked below) and outlives the call.
        let id = unsafe { libc::ioctl(self.fd.as_raw_fd(), BACKING_OPEN, &raw const map) };
        // A negative result is the error; ids are positive.
        u32::try_from(id).map(BackingId).map_err(|_| io::Error::last_os_error())
    }

    /// Takes a registration back; files already open keep their backing.
    ///
    /// # Errors
    ///
    /// `NotFound` for an id that is not registered.
    pub fn unregister_backing(&self, id: BackingId) -> io::Result<()> {
        // SAFETY: FUSE_DEV_IOC_BACKING_CLOSE reads one u32 through its argument and writes nothing.
        let result = unsafe { libc::ioctl(self.fd.as_raw_fd(), BACKING_CLOSE, &raw const id.0) };
        if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }
}

/// The argument of FUSE_DEV_IOC_BACKING_OPEN.
#[repr(C)]
struct BackingMap {
    fd: i32,
    flags: u32,
    padding: u64,
}

const _: () = assert!(size_of::<BackingMap>() == 16);

/// The ioctl group of /dev/fuse.
const GROUP: u8 = 229;
const BACKING_OPEN: libc::Ioctl = opcode::write::<BackingMap>(GROUP, 1) as libc::Ioctl;
const BACKING_CLOSE: libc::Ioctl = opcode::write::<u32>(GROUP, 2) as libc::Ioctl;

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;
    use std::path::Path;
    use std::sync::Arc;
    use std::thread;

    use super::*;
    use crate::mounts::FoundMount;
    use crate::{mounts, namespaces, proc_files};

    fn options() -> MountOptions {
        MountOptions {
            source: b"anybinder".into(),
            kind: BINDERFS_TYPE.into(),
            user_id: 0,
            group_id: 0,
            allow_other: true,
            default_permissions: true,
            max_read_bytes: Some(4096),
            read_only: false,
        }
    }

    /// Runs `act` in a mount namespace that ends with it, where that is allowed.
    fn in_private_mounts(act: impl FnOnce() + Send + 'static) {
        let body = move || match namespaces::enter_mount_namespace() {
            Ok(_) => act(),
            Err(error) => binder_testkit::skip(format_args!("{error}")),
        };
        thread::spawn(body).join().unwrap();
    }

    #[test]
    fn requests_arrive_until_the_file_system_is_unmounted() {
        in_private_mounts(|| {
            let device = Arc::new(FuseDevice::open().unwrap());
            device.mount(&options()).unwrap().attach(Path::new("/mnt")).unwrap();
            let mounts = std::fs::read_to_string("/proc/thread-self/mounts").unwrap();
            // The last is the uppermost: there may be one of the machine's below it.
            let line = mounts.lines().rfind(|line| line.starts_with("anybinder /mnt ")).unwrap();
            for option in [BINDERFS_TYPE, "nosuid", "nodev", "noexec", "max_read=4096"] {
                assert!(line.contains(option), "{option} is missing from {line}");
            }

            let mut buffer = [0; READ_BUFFER_MIN_BYTES];
            let refused = device.read(&mut buffer[..100]).unwrap_err();
            assert!(
                matches!(refused, ReadError::Io(error) if error.kind() == io::ErrorKind::InvalidInput)
            );
            assert!(device.read(&mut buffer).unwrap() >= 40);
            assert_eq!(buffer[4..8], 26_u32.to_ne_bytes(), "FUSE_INIT comes first");

            let mut reply = [0; 16];
            reply[0] = 16;
            reply[8..].fill(0xaa);
            let halves = [IoSlice::new(&reply[..8]), IoSlice::new(&reply[8..])];
            assert_eq!(device.write(&halves).unwrap(), ReplyOutcome::Gone);

            let reader = Arc::clone(&device);
            let reader = thread::spawn(move || reader.read(&mut [0; READ_BUFFER_MIN_BYTES]));
            mounts::unmount(Path::new("/mnt")).unwrap();
            assert!(matches!(reader.join().unwrap(), Err(ReadError::Unmounted)));
            assert!(matches!(device.read(&mut buffer), Err(ReadError::Unmounted)));
            assert_eq!(device.write(&halves).unwrap(), ReplyOutcome::Gone);
        });
    }

    #[test]
    fn a_mount_that_is_dropped_without_a_place_is_gone() {
        in_private_mounts(|| {
            let device = FuseDevice::open().unwrap();
            let mount = device.mount(&options()).unwrap();
            let known = mount.device().unwrap();
            mount.attach(Path::new("/mnt")).unwrap();
            let root = rustix::fs::open("/mnt", OFlags::PATH, Mode::empty()).unwrap();
            assert_eq!(proc_files::id_of(root.as_fd()).unwrap().device, known);
            drop(root);
            drop(mount);
            let mut buffer = [0; READ_BUFFER_MIN_BYTES];
            assert!(device.read(&mut buffer).is_ok(), "it has a place");
            mounts::unmount(Path::new("/mnt")).unwrap();
            assert!(matches!(device.read(&mut buffer), Err(ReadError::Unmounted)));

            let device = FuseDevice::open().unwrap();
            drop(device.mount(&options()).unwrap());
            assert!(matches!(device.read(&mut buffer), Err(ReadError::Unmounted)));
        });
    }

    #[test]
    fn a_mount_replaces_another_or_one_that_is_gone_by_then() {
        in_private_mounts(|| {
            let dir = Path::new("/mnt");
            let devices = [(); 2].map(|()| FuseDevice::open().unwrap());
            let mounts = devices.each_ref().map(|device| device.mount(&options()).unwrap());
            let known = mounts.each_ref().map(|mount| mount.device().unwrap());
            let shown = || proc_files::id_at(dir).unwrap().device;
            let bare = shown();
            mounts[0].replace(dir).unwrap();
            assert_eq!(shown(), known[0], "nothing was there");
            let found = FoundMount::at(dir).unwrap();
            mounts[1].replace(dir).unwrap();
            assert_eq!(shown(), known[1]);
            assert!(!found.unmount().unwrap(), "it is gone, and what took its place is another");
            assert!(!mounts::unmount_only(dir, known[0]).unwrap());
            assert_eq!(shown(), known[1]);
            assert!(mounts::unmount_only(dir, known[1]).unwrap());
            assert_eq!(shown(), bare);
        });
    }

    #[test]
    fn a_backing_file_needs_a_connection_that_agreed_to_it() {
        in_private_mounts(|| {
            let device = FuseDevice::open().unwrap();
            let _mount = device.mount(&options()).unwrap();
            let backing = crate::MappedMemory::shared(4096).unwrap();
            assert!(device.register_backing(backing.as_fd().unwrap()).is_err());
            assert!(device.unregister_backing(BackingId(1)).is_err());
        });
    }
}
