//! The memory of the daemon, and of the receive buffers that its clients have mapped.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use crate::daemon::Daemon;
use crate::error::{BenchError, failed};

/// Memory must stay as it is for this long to count as settled,
const STAYS_FOR: Duration = Duration::from_millis(2500);
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// and after this long it counts as settled anyway.
const SETTLES_WITHIN: Duration = Duration::from_secs(10);

/// How much memory there is for the device, in all processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Footprint {
    bytes: i64,
}

impl Footprint {
    #[cfg(test)]
    pub(super) fn of_bytes(bytes: i64) -> Self {
        Self { bytes }
    }

    pub(super) fn bytes(self) -> i64 {
        self.bytes
    }

    /// Adds up the pages of the daemon and of the clients' mappings; shared ones count once.
    pub(super) fn measure(
        daemon: Daemon,
        device: &Path,
        clients: [u32; 2],
    ) -> Result<Self, BenchError> {
        let file =
            fs::metadata(device).map_err(failed(format!("looking at {}", device.display())))?;
        let (major, minor) = (rustix::fs::major(file.dev()), rustix::fs::minor(file.dev()));
        let device = format!("{major:02x}:{minor:02x}");
        let mut bytes = daemon.memory()?.pss;
        for pid in clients {
            let smaps = fs::read_to_string(format!("/proc/{pid}/smaps"));
            let smaps = smaps.map_err(failed(format!("reading the memory of process {pid}")))?;
            bytes += pss_of_device(&smaps, &device);
        }
        Ok(Self { bytes })
    }

    /// The same, once it no longer changes.
    pub(super) fn settled(
        daemon: Daemon,
        device: &Path,
        clients: [u32; 2],
    ) -> Result<Self, BenchError> {
        let start = Instant::now();
        let (mut latest, mut since) = (Self::measure(daemon, device, clients)?, start);
        while since.elapsed() < STAYS_FOR && start.elapsed() < SETTLES_WITHIN {
            thread::sleep(LOOK_EVERY);
            let now = Self::measure(daemon, device, clients)?;
            if now != latest {
                (latest, since) = (now, Instant::now());
            }
        }
        Ok(latest)
    }
}

/// The pages, of shared ones the share, of all mappings of files of a device, in bytes.
fn pss_of_device(smaps: &str, device: &str) -> i64 {
    let (mut is_ours, mut kib) = (false, 0);
    for line in smaps.lines() {
        let mut words = line.split_ascii_whitespace();
        let Some(first) = words.next() else { continue };
        if !first.ends_with(':') {
            // A line that begins a mapping: addresses, rights, offset, device, inode and path.
            is_ours = words.nth(2) == Some(device) || line.contains("/memfd:binder");
        } else if is_ours && first == "Pss:" {
            kib += words.next().and_then(|word| word.parse::<i64>().ok()).unwrap_or(0);
        }
    }
    kib * 1024
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_mappings_of_the_device_count() {
        let smaps = "\
55aa1f000-55aa20000 r-xp 00000000 fe:00 4711                  /usr/bin/anybinder
Rss:                 400 kB
Pss:                 400 kB
7f0000000-7f00fe000 r--p 00000000 00:2f 17                    /dev/binderfs/binder
Rss:                  12 kB
Pss:                   8 kB
Pss_Dirty:             8 kB
VmFlags: rd mr me
7f0100000-7f01fe000 r--p 00000000 00:01 18                    /memfd:binder (deleted)
Pss:                   4 kB
";
        assert_eq!(pss_of_device(smaps, "00:2f"), 12 * 1024);
        assert_eq!(pss_of_device("", "00:2f"), 0);
    }
}
