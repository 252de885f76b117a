//! Why a binderfs is not served.

use std::io;

use binder_os::ReadError;

/// Why binderfs could not be mounted.
#[derive(Debug, thiserror::Error)]
pub enum MountError {
    /// The device of FUSE cannot be opened.
    #[error("/dev/fuse cannot be opened: {0}")]
    Open(#[source] io::Error),
    /// The kernel refuses the file system.
    #[error("binderfs cannot be made: {0}")]
    Create(#[source] io::Error),
    /// No thread of this process may have a real-time priority.
    #[error("requests cannot be read at a real-time priority: {0}")]
    Scheduling(#[source] io::Error),
    /// The kernel refuses the mount.
    #[error("binderfs cannot be mounted at {dir}: {source}")]
    Mount {
        /// Where.
        dir: String,
        /// The kernel's answer.
        source: io::Error,
    },
    /// A device has a name that is none, or two have the same.
    #[error("{name:?} cannot be the name of a device: {reason}")]
    Name {
        /// The name.
        name: String,
        /// Why not.
        reason: &'static str,
    },
    /// No client could open a device.
    #[error("this process may have {limit} files open, and needs {least} to serve anybody")]
    Descriptors {
        /// How many it may.
        limit: u64,
        /// How many it must.
        least: u64,
    },
}

/// Why serving ended other than by unmounting.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The kernel refused a read of /dev/fuse.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// A thread could not be started.
    #[error("a thread could not be started: {0}")]
    Thread(#[source] io::Error),
}
