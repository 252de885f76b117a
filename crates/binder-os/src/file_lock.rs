//! Locks on files, by which processes keep out of each other's way.

use std::fs::File;
use std::io;
use std::thread;
use std::time::{Duration, Instant};

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

/// How often [`lock_within`] tries.
const TRY_EVERY: Duration = Duration::from_millis(10);

/// The same as [`lock`], but waits no longer than `at_most`: returns whether it is this one's now.
///
/// # Errors
///
/// As flock(2).
pub fn lock_within(file: &File, at_most: Duration) -> io::Result<bool> {
    let begun = Instant::now();
    loop {
        if try_lock(file)? {
            return Ok(true);
        }
        if begun.elapsed() >= at_most {
            return Ok(false);
        }
        thread::sleep(TRY_EVERY);
    }
}

/// Lets others lock an open file, also where processes that were forked meanwhile have it.
///
/// # Errors
///
/// As flock(2).
pub fn unlock(file: &File) -> io::Result<()> {
    Ok(rustix::fs::flock(file, FlockOperation::Unlock)?)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_is_waited_for_as_long_as_wished() {
        let dir = tempfile::tempdir().unwrap();
        let [first, second] = [(); 2].map(|()| File::open(dir.path()).unwrap());
        let short = Duration::from_millis(30);
        assert!(lock_within(&first, Duration::ZERO).unwrap());
        assert!(!lock_within(&second, short).unwrap());
        thread::scope(|scope| {
            let waits = scope.spawn(|| lock_within(&second, binder_testkit::HANG_TIMEOUT));
            thread::sleep(short);
            unlock(&first).unwrap();
            assert!(waits.join().unwrap().unwrap());
        });
        assert!(!try_lock(&first).unwrap());
    }
}
