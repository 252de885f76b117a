//! What the front end knows of each open file.

/// An open file.
#[derive(Debug)]
pub(crate) struct FileState<F> {
    /// What the executor knows it by.
    pub(crate) handle: F,
    /// Whether `O_NONBLOCK` was set when it was last seen.
    pub(crate) is_nonblocking: bool,
    /// Whom to notify when poll(2) may have something new.
    pub(crate) poll_handle: Option<u64>,
}
