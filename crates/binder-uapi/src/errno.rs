//! Error numbers, by the names of Linux's errno.h.

use core::error::Error;
use core::fmt;
use core::num::NonZeroI32;

/// Why a system call failed, as its caller gets it.
///
/// Defined beside the numbers of `binder.h`, and not in the driver: binderfs answers with errno values
/// that the driver never uses. Holds any number, so that an error of the host's system that has no name
/// here passes through unchanged.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Errno(NonZeroI32);

impl Errno {
    /// The errno of this number; `None` for one that no system call fails with.
    pub const fn from_number(number: i32) -> Option<Self> {
        match NonZeroI32::new(number) {
            Some(number) if number.is_positive() => Some(Self(number)),
            _ => None,
        }
    }

    /// The number, as user space has it.
    pub const fn number(self) -> i32 {
        self.0.get()
    }
}

impl Error for Errno {}

/// Defines constants of [`Errno`], each with its doc, number and words.
macro_rules! errnos {
    ($($(#[$doc:meta])* $name:ident = $number:literal, $words:literal;)*) => {
        impl Errno {
            $($(#[$doc])* pub const $name: Self = Self(NonZeroI32::new($number).unwrap());)*
        }

        impl fmt::Debug for Errno {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match *self {
                    $(Self::$name => f.write_str(stringify!($name)),)*
                    Self(number) => write!(f, "errno {number}"),
                }
            }
        }

        impl fmt::Display for Errno {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match *self {
                    $(Self::$name => f.write_str($words),)*
                    Self(number) => write!(f, "errno {number}"),
                }
            }
        }
    };
}

errnos! {
    /// Not allowed.
    EPERM = 1, "operation not permitted";
    /// No file of that name.
    ENOENT = 2, "no such file or directory";
    /// No such process; of the driver: the receiver has no receive buffer (any more).
    ESRCH = 3, "no such process";
    /// A signal ended the wait.
    EINTR = 4, "interrupted";
    /// The front end met a bug.
    EIO = 5, "input/output error";
    /// No such descriptor.
    EBADF = 9, "bad file descriptor";
    /// Nothing to read, and the caller does not wait.
    EAGAIN = 11, "nothing ready";
    /// Out of ids or memory.
    ENOMEM = 12, "out of memory";
    /// A name that no device may have.
    EACCES = 13, "permission denied";
    /// The client's memory could not be read or written.
    EFAULT = 14, "bad address";
    /// There is a context manager, or the object is in use.
    EBUSY = 16, "busy";
    /// The name is taken.
    EEXIST = 17, "file exists";
    /// The device is gone.
    ENODEV = 19, "no such device";
    /// Not a directory.
    ENOTDIR = 20, "not a directory";
    /// Malformed or out of place.
    EINVAL = 22, "invalid argument";
    /// The system has as many files open as it may.
    ENFILE = 23, "too many open files in the system";
    /// The process has as many files open as it may.
    EMFILE = 24, "too many open files";
    /// The file has no such ioctl.
    ENOTTY = 25, "no such ioctl of this file";
    /// A file may not be so long.
    EFBIG = 27, "file too large";
    /// The receive buffer, or its share for one-way transactions, is full; as many devices as may be.
    ENOSPC = 28, "no space left";
    /// The file system may only be read.
    EROFS = 30, "read-only file system";
    /// Longer than a name or path may be.
    ENAMETOOLONG = 36, "name too long";
    /// No such system call, or operation of a file system.
    ENOSYS = 38, "function not implemented";
    /// A reply or call that the thread's transaction stack does not allow.
    EPROTO = 71, "protocol error";
    /// A known request that this object does not do.
    EOPNOTSUPP = 95, "operation not supported";
    /// The driver ended with the request under way.
    ECONNABORTED = 103, "connection aborted";
    /// The driver has ended.
    ENOTCONN = 107, "not connected";
    /// The time is over.
    ETIMEDOUT = 110, "timed out";
    /// The inode serves another open file: the kernel looks the name up again.
    ESTALE = 116, "stale file handle";
}

#[cfg(test)]
mod tests {
    extern crate alloc;
    use alloc::format;

    use super::*;

    #[test]
    fn a_number_without_a_name_passes_through_and_one_that_is_no_error_does_not() {
        let unnamed = Errno::from_number(111).unwrap();
        assert_eq!((unnamed.number(), format!("{unnamed:?}")), (111, "errno 111".into()));
        assert_eq!(Errno::from_number(22), Some(Errno::EINVAL));
        assert_eq!(format!("{:?}: {0}", Errno::EINVAL), "EINVAL: invalid argument");
        assert_eq!((Errno::from_number(0), Errno::from_number(-22)), (None, None));
        assert_eq!(size_of::<Result<(), Errno>>(), size_of::<i32>());
    }
}
