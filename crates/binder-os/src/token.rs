//! A descriptor that stands for something of ours in the hands of another process.

use std::io::{self, PipeReader, PipeWriter};
use std::os::fd::{AsFd, BorrowedFd};

use rustix::event::{PollFd, PollFlags, Timespec};

use crate::proc_files::{self, FileId};

/// One end of a pipe: given away, it is known again by its inode, and nothing ever comes out of it.
#[derive(Debug)]
pub struct PipeToken {
    kept: PipeWriter,
    id: FileId,
}

/// The end to give away, once.
#[derive(Debug)]
pub struct TokenFile(PipeReader);

impl PipeToken {
    /// Makes a token, and the half to be given away.
    ///
    /// # Errors
    ///
    /// As pipe(2).
    pub fn new() -> io::Result<(Self, TokenFile)> {
        let (given, kept) = io::pipe()?;
        rustix::io::ioctl_fionbio(&given, true)?;
        let id = proc_files::id_of(given.as_fd())?;
        Ok((Self { kept, id }, TokenFile(given)))
    }

    /// Returns the file that the token is, wherever it is seen.
    #[must_use]
    pub fn id(&self) -> FileId {
        self.id
    }

    /// Whether any process still has the end that was given away.
    #[must_use]
    pub fn is_held(&self) -> bool {
        let mut watched = [PollFd::new(&self.kept, PollFlags::empty())];
        let polled = rustix::event::poll(&mut watched, Some(&Timespec::default()));
        polled.is_ok() && !watched[0].revents().contains(PollFlags::ERR)
    }
}

impl AsFd for TokenFile {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    #[test]
    fn a_token_is_held_until_its_last_copy_is_closed() {
        let (token, TokenFile(mut file)) = PipeToken::new().unwrap();
        assert_ne!(token.id(), PipeToken::new().unwrap().0.id());
        assert_eq!(file.read(&mut [0]).unwrap_err().kind(), io::ErrorKind::WouldBlock);
        let copy = file.try_clone().unwrap();
        assert_eq!(proc_files::id_of(copy.as_fd()).unwrap(), token.id());
        drop(file);
        assert!(token.is_held());
        drop(copy);
        assert!(!token.is_held());
    }
}
