//! Signals as a stream to read instead of handlers that interrupt.

#![expect(unsafe_code, reason = "signal sets and masks have no safe wrapper")]

use std::fs::File;
use std::io::{self, Read};
use std::mem::{MaybeUninit, size_of};
use std::os::fd::{AsFd, BorrowedFd, FromRawFd, OwnedFd};
use std::ptr;

pub use rustix::process::Signal;

/// Signals that were taken away from their default action, to be read one by one.
#[derive(Debug)]
pub struct SignalStream {
    file: File,
    before: SignalMask,
}

/// The signals that a thread had blocked.
#[derive(Clone, Copy)]
pub struct SignalMask(libc::sigset_t);

/// One signal that arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrived {
    /// Which.
    pub signal: Signal,
    /// Where it came from.
    pub sender: Sender,
}

/// Where a signal came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sender {
    /// The kernel, as for ^C: every process of the foreground group got one too.
    Kernel,
    /// A process, by kill(2) or the like.
    Process,
}

impl SignalStream {
    /// Blocks `signals` in the calling thread, and in the threads and processes it creates
    /// afterwards, and opens the stream of them.
    ///
    /// # Errors
    ///
    /// As signalfd(2).
    pub fn block(signals: &[Signal]) -> io::Result<Self> {
        let set = SignalMask::of(signals);
        let mut before = SignalMask::of(&[]);
        // SAFETY: both sets are initialised and live through the call.
        let errno =
            unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, &raw const set.0, &raw mut before.0) };
        if errno != 0 {
            return Err(io::Error::from_raw_os_error(errno));
        }
        // SAFETY: -1 asks for a new descriptor; the set is initialised and only read.
        let fd = unsafe { libc::signalfd(-1, &raw const set.0, libc::SFD_CLOEXEC) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: signalfd returned a new descriptor, which is ours alone.
        let fd = unsafe { OwnedFd::from_raw_fd(fd) };
        Ok(Self { file: fd.into(), before })
    }

    /// Returns the mask as it was before.
    #[must_use]
    pub fn mask_before(&self) -> SignalMask {
        self.before
    }

    /// Waits for the next signal.
    ///
    /// # Errors
    ///
    /// As read(2).
    pub fn next(&self) -> io::Result<Arrived> {
        loop {
            // The first words of `signalfd_siginfo`: signal, errno, code; all of it is 128 bytes.
            let mut info = [0; size_of::<libc::signalfd_siginfo>()];
            (&self.file).read_exact(&mut info)?;
            let word =
                |at: usize| i32::from_ne_bytes(info[at..at + 4].try_into().expect("four bytes"));
            // A real-time signal has no name here, and no caller can have asked for one.
            let Some(signal) = Signal::from_named_raw(word(0)) else { continue };
            // From siginfo(7): codes of the kernel are positive, those of senders are not.
            let sender = if word(8) > 0 { Sender::Kernel } else { Sender::Process };
            return Ok(Arrived { signal, sender });
        }
    }
}

impl AsFd for SignalStream {
    /// What can be read when a signal has come.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

impl SignalMask {
    fn of(signals: &[Signal]) -> Self {
        let mut set = MaybeUninit::<libc::sigset_t>::uninit();
        // SAFETY: sigemptyset initialises the set that it is given a valid pointer to.
        unsafe { libc::sigemptyset(set.as_mut_ptr()) };
        // SAFETY: initialised by sigemptyset, which fails only for a null pointer.
        let mut set = unsafe { set.assume_init() };
        for signal in signals {
            // SAFETY: `set` is initialised; the number is that of a real signal by its type.
            unsafe { libc::sigaddset(&raw mut set, signal.as_raw()) };
        }
        Self(set)
    }

    /// Makes this the mask of the calling thread.
    ///
    /// # Errors
    ///
    /// As sigprocmask(2).
    pub fn restore(&self) -> io::Result<()> {
        // SAFETY: the set is initialised and live through the call; a null pointer asks for no
        // old mask.
        let errno =
            unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &raw const self.0, ptr::null_mut()) };
        if errno == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(errno)) }
    }
}

impl std::fmt::Debug for SignalMask {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("SignalMask")
    }
}

/// Gives `signal` its default action back, which a parent may have turned off.
///
/// # Errors
///
/// `InvalidInput` for the signals that cannot be changed.
pub fn reset(signal: Signal) -> io::Result<()> {
    // SAFETY: SIG_DFL installs no handler, so no code of ours can run at a wrong time.
    let before = unsafe { libc::signal(signal.as_raw(), libc::SIG_DFL) };
    if before == libc::SIG_ERR { Err(io::Error::last_os_error()) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_blocked_signal_is_read_instead() {
        let stream = SignalStream::block(&[Signal::USR1]).unwrap();
        // SAFETY: raise sends to the calling thread only, which has the signal blocked.
        assert_eq!(unsafe { libc::raise(libc::SIGUSR1) }, 0);
        let arrived = stream.next().unwrap();
        assert_eq!(arrived, Arrived { signal: Signal::USR1, sender: Sender::Process });
        stream.mask_before().restore().unwrap();
        let again = SignalStream::block(&[Signal::USR1]).unwrap();
        let mut mask = again.mask_before().0;
        // SAFETY: the set is initialised.
        assert_eq!(unsafe { libc::sigismember(&raw mut mask, libc::SIGUSR1) }, 0);
    }

    #[test]
    fn the_kill_signal_cannot_be_reset() {
        assert!(reset(Signal::KILL).is_err());
        assert!(reset(Signal::CHILD).is_ok());
    }
}
