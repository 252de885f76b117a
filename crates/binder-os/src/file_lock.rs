//! Locks on files, by which processes keep out of each other's way.

use std::fs::File;
use std::io;

use rustix::fs::FlockOperation;
use rustix::io::Errno;

/// Waits for an open file to be this one's alone. It is until the last descriptor of this open file is closed,
/// also by processes that were forked meanwhile.
///
/// # Errors
///
/// As flock(2).
pub fn lock(file: &File) -> io::Result<()> {
    Ok(rustix::io::retry_on_intr(|| rustix::fs::flock(file, FlockOperation::LockExclusive))?)
}

/// The same without waiting: returns whether it is this one's now.
///
/// # Errors
///
/// As flock(2).
pub fn try_lock(file: &File) -> io::Result<bool> {
    match rustix::fs::flock(file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(true),
        Err(Errno::AGAIN) => Ok(false),
        Err(errno) => Err(errno.into()),
    }
}

/// Marks a file as this process's, as long as it lives and closes no descriptor of that file. The mark does not
/// go to processes that it forks. Returns whether it is marked now.
///
/// # Errors
///
/// As fcntl(2).
pub fn mark(file: &File) -> io::Result<bool> {
    test(file, FlockOperation::NonBlockingLockExclusive)
}

/// Whether a living process has [marked](mark) a file. Must not be asked by that process itself, whose mark ends
/// with this.
///
/// # Errors
///
/// As fcntl(2).
pub fn is_marked(file: &File) -> io::Result<bool> {
    Ok(!test(file, FlockOperation::NonBlockingLockShared)?)
}

fn test(file: &File, operation: FlockOperation) -> io::Result<bool> {
    match rustix::fs::fcntl_lock(file, operation) {
        Ok(()) => Ok(true),
        Err(Errno::AGAIN | Errno::ACCESS) => Ok(false),
        Err(errno) => Err(errno.into()),
    }
}
