//! What a file system call gets instead of an answer.

use std::io;

/// An errno.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum ViewErrno {
    /// There is no such name.
    NoEnt,
    /// The process is gone.
    Srch,
    /// Not permitted.
    Acces,
    /// Not a directory.
    NotDir,
    /// The request makes no sense here.
    Inval,
    /// We cannot do that, and need not be asked again.
    NoSys,
    /// Nothing can be changed.
    RoFs,
    /// We failed.
    Io,
    /// As the kernel said.
    Other(i32),
}

impl ViewErrno {
    pub(crate) const fn raw(self) -> i32 {
        match self {
            Self::NoEnt => 2,
            Self::Srch => 3,
            Self::Io => 5,
            Self::Acces => 13,
            Self::NotDir => 20,
            Self::Inval => 22,
            Self::RoFs => 30,
            Self::NoSys => 38,
            Self::Other(raw) => raw,
        }
    }
}

impl ViewErrno {
    /// Why nothing was found: there is nothing, unless we were short of something.
    pub(crate) fn absent(error: io::Error) -> Self {
        if is_shortage(&error) { error.into() } else { Self::NoEnt }
    }
}

/// Whether we could not look, because there are too many open files, or no memory (`ENOMEM`, `ENFILE`,
/// `EMFILE`).
fn is_shortage(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(12 | 23 | 24))
}

/// What was found, if it is there.
///
/// # Errors
///
/// A shortage: then it is unknown whether the file is there.
pub(crate) fn found<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Ok(it) => Ok(Some(it)),
        Err(error) if is_shortage(&error) => Err(error),
        Err(_) => Ok(None),
    }
}

impl From<io::Error> for ViewErrno {
    fn from(error: io::Error) -> Self {
        match error.raw_os_error() {
            // It would make the kernel stop asking, for all.
            Some(38) | None => Self::Io,
            Some(raw) => Self::Other(raw),
        }
    }
}
