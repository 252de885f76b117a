//! Limits that errors of system calls tell of.

use std::io;

use rustix::io::Errno;

/// A limit of what a process, its user or the machine may have, that has been reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExhaustedLimit {
    /// Open files of the process (`RLIMIT_NOFILE`).
    Files,
    /// Open files of the machine (`fs.file-max`).
    AllFiles,
    /// Processes and threads of the user or of a cgroup (`RLIMIT_NPROC`, `pids.max`).
    Tasks,
}

impl ExhaustedLimit {
    /// The limit for which a call has failed that opens files or starts something; `None` if it failed for anything else.
    /// Calls that could block may mean something else by the error of [`Tasks`](Self::Tasks).
    #[must_use]
    pub fn of(error: &io::Error) -> Option<Self> {
        match Errno::from_io_error(error)? {
            Errno::MFILE => Some(Self::Files),
            Errno::NFILE => Some(Self::AllFiles),
            Errno::AGAIN => Some(Self::Tasks),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_tells_of_its_limit() {
        let limit = |errno: Errno| ExhaustedLimit::of(&io::Error::from(errno));
        assert_eq!(limit(Errno::MFILE), Some(ExhaustedLimit::Files));
        assert_eq!(limit(Errno::NFILE), Some(ExhaustedLimit::AllFiles));
        assert_eq!(limit(Errno::AGAIN), Some(ExhaustedLimit::Tasks));
        assert_eq!(limit(Errno::PERM), None);
        assert_eq!(ExhaustedLimit::of(&io::Error::other("words")), None);
    }
}
