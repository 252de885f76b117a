//! Waits until the system, or the memory cgroup of this process, is short of memory.
//!
//! The kernel tells in up to three ways, of which each kernel and each user has some:
//!
//! * a trigger of PSI (Linux 4.20; unprivileged since 6.5): tasks wait for memory;
//! * `memory.events` of the cgroup (version 2): it has reached one of its limits;
//! * a notice at `memory.pressure_level` (version 1): pages of the cgroup are hard to find.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd};

use crate::cgroups::Cgroups;

/// Some task waited for memory for a tenth of two seconds, the shortest window that every user may
/// ask for. The kernel overwrites the last byte.
const TRIGGER: &[u8] = b"some 200000 2000000\0";

/// How hard pages are to find before a version 1 cgroup tells.
const LEVEL: &str = "medium";

/// What tells of a shortage of memory.
#[derive(Debug)]
pub struct MemoryPressure {
    sources: Vec<PressureSource>,
    stop: OwnedFd,
}

#[derive(Debug)]
enum PressureSource {
    Trigger(File),
    Events(File),
    Notices(OwnedFd),
}

impl MemoryPressure {
    /// Begins to watch whatever there is; that may be nothing.
    ///
    /// # Errors
    ///
    /// As eventfd(2).
    pub fn watch() -> io::Result<Self> {
        let groups = Cgroups::of_this_process().unwrap_or_default();
        let trigger = groups.unified.iter().map(|group| group.dir.join("memory.pressure"));
        let trigger = trigger.chain([PathBuf::from("/proc/pressure/memory")]);
        let trigger = trigger.filter_map(|path| PressureSource::trigger(&path).ok()).next();
        let events = groups.unified.and_then(|group| PressureSource::events(&group.dir).ok());
        let notices = groups.memory.and_then(|group| PressureSource::notices(&group.dir).ok());
        Ok(Self {
            sources: [trigger, events, notices].into_iter().flatten().collect(),
            stop: eventfd(0, EventfdFlags::CLOEXEC)?,
        })
    }

    /// A description of the resource watched.
    pub fn sources(&self) -> impl Iterator<Item = &'static str> {
        self.sources.iter().map(|source| match source {
            PressureSource::Trigger(_) => "PSI",
            PressureSource::Events(_) => "memory.events",
            PressureSource::Notices(_) => "memory.pressure_level",
        })
    }

    /// Waits for a shortage, after a pause of `pause` in which none is reported: a shortage that goes
    /// on is told again and again. Returns whether there is one; otherwise it is the end.
    ///
    /// # Errors
    ///
    /// As poll(2).
    pub fn wait(&self, pause: Duration) -> io::Result<bool> {
        let pause = Timespec::try_from(pause).map_err(io::Error::other)?;
        if poll(&mut [PollFd::new(&self.stop, PollFlags::IN)], Some(&pause))? > 0 {
            return Ok(false);
        }
        loop {
            let mut watched = vec![PollFd::new(&self.stop, PollFlags::IN)];
            watched.extend(self.sources.iter().map(PressureSource::poll_fd));
            poll(&mut watched, None)?;
            if !watched[0].revents().is_empty() {
                return Ok(false);
            }
            let mut is_short = false;
            for (source, polled) in self.sources.iter().zip(&watched[1..]) {
                is_short |= !polled.revents().is_empty() && source.hear(polled.revents())?;
            }
            if is_short {
                return Ok(true);
            }
        }
    }

    /// Ends the wait of another thread, and all to come.
    pub fn stop(&self) {
        // A counter of 64 bits has room for another one.
        let _ = rustix::io::write(&self.stop, &1u64.to_ne_bytes());
    }
}

impl PressureSource {
    fn trigger(path: &Path) -> io::Result<Self> {
        let mut file = OpenOptions::new().read(true).write(true).open(path)?;
        file.write_all(TRIGGER)?;
        Ok(Self::Trigger(file))
    }

    fn events(group: &Path) -> io::Result<Self> {
        let events = Self::Events(File::open(group.join("memory.events"))?);
        // What has happened so far is no event.
        events.hear(PollFlags::PRI)?;
        Ok(events)
    }

    fn notices(group: &Path) -> io::Result<Self> {
        let level = File::open(group.join("memory.pressure_level"))?;
        let notices = eventfd(0, EventfdFlags::CLOEXEC)?;
        let order = format!("{} {} {LEVEL}", notices.as_raw_fd(), level.as_raw_fd());
        fs::write(group.join("cgroup.event_control"), order)?;
        Ok(Self::Notices(notices))
    }

    fn poll_fd(&self) -> PollFd<'_> {
        match self {
            Self::Trigger(file) | Self::Events(file) => {
                PollFd::from_borrowed_fd(file.as_fd(), PollFlags::PRI)
            }
            Self::Notices(notices) => PollFd::new(notices, PollFlags::IN),
        }
    }

    /// Takes what was told, so that it is not told again, and says whether it is a shortage.
    ///
    /// # Errors
    ///
    /// As read(2), and `NotFound` if the cgroup is gone: nothing will be told any more.
    fn hear(&self, told: PollFlags) -> io::Result<bool> {
        match self {
            // Told once in each window.
            Self::Trigger(_) if told.contains(PollFlags::PRI) => Ok(true),
            Self::Trigger(_) => Err(io::ErrorKind::NotFound.into()),
            // A file of this kind is ready until it is read from its beginning.
            Self::Events(file) => file.read_at(&mut [0; 512], 0).map(|_| true),
            Self::Notices(notices) => {
                rustix::io::read(notices, &mut [0; 8])?;
                Ok(true)
            }
        }
    }
}

fn poll(watched: &mut [PollFd<'_>], timeout: Option<&Timespec>) -> io::Result<usize> {
    Ok(rustix::io::retry_on_intr(|| rustix::event::poll(watched, timeout))?)
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn a_wait_can_be_ended() {
        let pressure = MemoryPressure::watch().unwrap();
        thread::scope(|scope| {
            let waiting = scope.spawn(|| {
                // A machine that is short of memory just now is no failure.
                while pressure.wait(Duration::ZERO).unwrap() {}
            });
            pressure.stop();
            waiting.join().unwrap();
        });
        assert!(!pressure.wait(Duration::from_secs(1000)).unwrap());
    }

    /// Of a file that is not of a kernel's cgroup nothing is told.
    #[test]
    fn what_is_no_source_is_left_out() {
        assert!(PressureSource::trigger(Path::new("/dev/full")).is_err());
        assert!(PressureSource::events(Path::new("/nowhere")).is_err());
        assert!(PressureSource::notices(Path::new("/nowhere")).is_err());
    }
}
