//! Terminals: what one is like, and new ones to stand for it elsewhere.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::OFlags;
use rustix::pty::OpenptFlags;
use rustix::termios::{OptionalActions, Termios};

/// A new terminal, seen from the side of who shows it. It hangs up when this is dropped.
#[derive(Debug)]
pub struct Pty {
    shown: File,
}

/// How a terminal treats input and output; restored when this is dropped.
#[derive(Debug)]
pub struct RawTerminal {
    terminal: OwnedFd,
    before: Termios,
}

/// Whether a file is a terminal.
#[must_use]
pub fn is_terminal(file: BorrowedFd<'_>) -> bool {
    rustix::termios::isatty(file)
}

impl Pty {
    /// Makes a terminal like `model`, of the same size, and opens the side of those who use it.
    ///
    /// # Errors
    ///
    /// As open(2) of /dev/ptmx, and as the ioctls of terminals.
    pub fn like(model: BorrowedFd<'_>) -> io::Result<(Self, OwnedFd)> {
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
        let shown = rustix::pty::openpt(flags)?;
        rustix::pty::unlockpt(&shown)?;
        let used = rustix::pty::ioctl_tiocgptpeer(&shown, flags)?;
        let attributes = rustix::termios::tcgetattr(model)?;
        rustix::termios::tcsetattr(&used, OptionalActions::Now, &attributes)?;
        let flags = rustix::fs::fcntl_getfl(&shown)?;
        rustix::fs::fcntl_setfl(&shown, flags | OFlags::NONBLOCK)?;
        let pty = Self { shown: shown.into() };
        pty.take_size_of(model)?;
        Ok((pty, used))
    }

    /// Makes it as large as `model`, of which its users are told.
    ///
    /// # Errors
    ///
    /// As the ioctls of terminals.
    pub fn take_size_of(&self, model: BorrowedFd<'_>) -> io::Result<()> {
        let size = rustix::termios::tcgetwinsize(model)?;
        Ok(rustix::termios::tcsetwinsize(&self.shown, size)?)
    }

    /// Reads what its users print. `None` if there is nothing at the moment; no bytes once the last of them
    /// has gone.
    ///
    /// # Errors
    ///
    /// As read(2).
    pub fn read(&mut self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        match self.shown.read(buffer) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
            Err(error) if error.raw_os_error() == Some(libc::EIO) => Ok(Some(0)),
            read => read.map(Some),
        }
    }

    /// Types what its users may read, as much as there is room for. Where there are none any more it is lost.
    ///
    /// # Errors
    ///
    /// As write(2).
    pub fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.shown.write(bytes) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(0),
            Err(error) if error.raw_os_error() == Some(libc::EIO) => Ok(bytes.len()),
            written => written,
        }
    }
}

impl AsFd for Pty {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.shown.as_fd()
    }
}

impl RawTerminal {
    /// Has a terminal pass on all that is typed and printed as it is.
    ///
    /// # Errors
    ///
    /// As tcsetattr(3).
    pub fn make(terminal: BorrowedFd<'_>) -> io::Result<Self> {
        let terminal = terminal.try_clone_to_owned()?;
        let before = rustix::termios::tcgetattr(&terminal)?;
        let raw = Self { terminal, before };
        raw.resume()?;
        Ok(raw)
    }

    /// Gives the terminal back for a while.
    ///
    /// # Errors
    ///
    /// As tcsetattr(3).
    pub fn suspend(&self) -> io::Result<()> {
        let when = OptionalActions::Drain;
        Ok(rustix::termios::tcsetattr(&self.terminal, when, &self.before)?)
    }

    /// Has it raw again.
    ///
    /// # Errors
    ///
    /// As tcsetattr(3).
    pub fn resume(&self) -> io::Result<()> {
        let mut attributes = self.before.clone();
        attributes.make_raw();
        Ok(rustix::termios::tcsetattr(&self.terminal, OptionalActions::Drain, &attributes)?)
    }
}

impl Drop for RawTerminal {
    fn drop(&mut self) {
        // A terminal that has hung up needs nothing back.
        let _ = self.suspend();
    }
}

/// Makes a terminal the controlling terminal of the session that this process leads.
///
/// # Errors
///
/// As the ioctl: `PermissionDenied` if it is another session's.
pub fn take_control(terminal: BorrowedFd<'_>) -> io::Result<()> {
    Ok(rustix::process::ioctl_tiocsctty(terminal)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_is_like_its_model() {
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY;
        let model = rustix::pty::openpt(flags).unwrap();
        rustix::pty::unlockpt(&model).unwrap();
        let mut size = rustix::termios::tcgetwinsize(&model).unwrap();
        (size.ws_row, size.ws_col) = (7, 31);
        rustix::termios::tcsetwinsize(&model, size).unwrap();
        let (mut pty, used) = Pty::like(model.as_fd()).unwrap();
        assert!(
            is_terminal(used.as_fd()) && !is_terminal(File::open("/dev/null").unwrap().as_fd())
        );
        assert_eq!(rustix::termios::tcgetwinsize(&used).unwrap().ws_col, 31);
        size.ws_col = 32;
        rustix::termios::tcsetwinsize(&model, size).unwrap();
        pty.take_size_of(model.as_fd()).unwrap();
        assert_eq!(rustix::termios::tcgetwinsize(&used).unwrap().ws_col, 32);

        let raw = RawTerminal::make(used.as_fd()).unwrap();
        let mut buffer = [0; 16];
        assert_eq!(pty.read(&mut buffer).unwrap(), None);
        assert_eq!(rustix::io::write(&used, b"a\n").unwrap(), 2);
        assert_eq!(pty.read(&mut buffer).unwrap(), Some(2), "no carriage return is added");
        drop(raw);
        assert_eq!(rustix::io::write(&used, b"a\n").unwrap(), 2);
        assert_eq!(pty.read(&mut buffer).unwrap(), Some(3), "it is as before");
        assert_eq!(pty.write(b"line\n").unwrap(), 5);
        assert_eq!(rustix::io::read(&used, &mut buffer).unwrap(), 5);
        drop(used);
        while pty.read(&mut buffer).unwrap() != Some(0) {}
    }
}
