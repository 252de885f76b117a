//! The file by which a Unix socket is found.

use std::fs;
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with};

/// The file of a socket that this process has bound.
#[derive(Debug)]
pub(super) struct SocketFile {
    path: PathBuf,
    device: u64,
    inode: u64,
}

impl SocketFile {
    /// Binds a socket to a path. A file there of a server that is dead makes room.
    pub(super) fn bind(path: &Path, address: &SocketAddr) -> io::Result<(UnixListener, Self)> {
        let path = std::path::absolute(path)?;
        // No other server may look at the socket between its bind and its listen: it would seem dead.
        let directory = locked_directory(&path);
        let listener = match UnixListener::bind_addr(address) {
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
                if directory.is_err() || !is_abandoned(&path)? {
                    return Err(error);
                }
                fs::remove_file(&path)?;
                UnixListener::bind_addr(address)
            }
            result => result,
        }?;
        let found = fs::symlink_metadata(&path)?;
        Ok((listener, Self { device: found.dev(), inode: found.ino(), path }))
    }

    /// Removes the file, unless another has its place.
    pub(super) fn remove(&self) {
        let Ok(_directory) = locked_directory(&self.path) else {
            return;
        };
        let is_ours = fs::symlink_metadata(&self.path)
            .is_ok_and(|found| (found.dev(), found.ino()) == (self.device, self.inode));
        if is_ours && let Err(error) = fs::remove_file(&self.path) {
            tracing::warn!(path = %self.path.display(), %error, "the file of a socket stays");
        }
    }
}

/// Removes the file of a socket without a listener, unless another process is at work in the directory.
pub(super) fn remove_abandoned(path: &Path) -> io::Result<()> {
    let directory = fs::File::open(path.parent().unwrap_or(Path::new("/")))?;
    // Another user's directory may be locked for ever.
    flock(&directory, FlockOperation::NonBlockingLockExclusive)?;
    if is_abandoned(path)? { fs::remove_file(path) } else { Ok(()) }
}

/// Keeps other servers of this library from what they do under this lock, while it lives.
fn locked_directory(path: &Path) -> io::Result<fs::File> {
    let directory = fs::File::open(path.parent().unwrap_or(Path::new("/")))?;
    flock(&directory, FlockOperation::LockExclusive)?;
    Ok(directory)
}

/// Returns whether no server listens any more at the socket there.
fn is_abandoned(path: &Path) -> io::Result<bool> {
    if !fs::symlink_metadata(path)?.file_type().is_socket() {
        return Ok(false);
    }
    // One that listens may have no room: it is not waited for.
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let probe = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    Ok(connect(&probe, &SocketAddrUnix::new(path)?) == Err(Errno::CONNREFUSED))
}
