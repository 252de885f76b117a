//! Waiting for whichever of several files is ready first.

use std::io;
use std::os::fd::BorrowedFd;
use std::time::Duration;

use rustix::event::{self, PollFd, PollFlags, Timespec};
use rustix::io::Errno;

/// What a file is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Readiness {
    /// It can be read, or has ended.
    Read,
    /// It can be read or written, or has ended.
    ReadOrWrite,
    /// Nothing: it is passed over.
    Nothing,
}

/// Waits until some of `files` are ready, or the time is over, and says of each whether it is.
///
/// # Errors
///
/// As poll(2).
pub fn wait(
    files: &[(BorrowedFd<'_>, Readiness)],
    within: Option<Duration>,
) -> io::Result<Vec<bool>> {
    let flags = |wanted: &Readiness| match wanted {
        Readiness::Read => PollFlags::IN,
        Readiness::ReadOrWrite => PollFlags::IN | PollFlags::OUT,
        Readiness::Nothing => PollFlags::empty(),
    };
    let watched = files.iter().filter(|(_, wanted)| *wanted != Readiness::Nothing);
    let mut watched: Vec<_> =
        watched.map(|(file, wanted)| PollFd::from_borrowed_fd(*file, flags(wanted))).collect();
    let within = within.map(Timespec::try_from).transpose().map_err(io::Error::other)?;
    match event::poll(&mut watched, within.as_ref()) {
        Ok(_) | Err(Errno::INTR) => {}
        Err(errno) => return Err(errno.into()),
    }
    let mut told = watched.iter().map(|it| !it.revents().is_empty());
    let is_ready = |(_, wanted): &(BorrowedFd<'_>, Readiness)| {
        *wanted != Readiness::Nothing && told.next().unwrap_or(false)
    };
    Ok(files.iter().map(is_ready).collect())
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::fd::AsFd;

    use super::*;

    #[test]
    fn what_is_ready_is_told_of_each() {
        let (empty, _kept) = io::pipe().unwrap();
        let (full, mut writer) = io::pipe().unwrap();
        writer.write_all(b"x").unwrap();
        let (ended, _) = io::pipe().unwrap();
        let files = [
            (empty.as_fd(), Readiness::Read),
            (full.as_fd(), Readiness::Nothing),
            (full.as_fd(), Readiness::Read),
            (ended.as_fd(), Readiness::Read),
            (writer.as_fd(), Readiness::ReadOrWrite),
        ];
        assert_eq!(wait(&files, None).unwrap(), [false, false, true, true, true]);
        assert_eq!(wait(&files[..1], Some(Duration::ZERO)).unwrap(), [false]);
    }
}
