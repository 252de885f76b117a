//! A memory cgroup in which memory is short.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::error::{BenchError, failed};

/// A cgroup of our own, below the bench's own. It goes with this value.
#[derive(Debug)]
pub(super) struct Cage {
    /// Where those are who are not in it.
    outside: PathBuf,
    inside: PathBuf,
}

/// Processes in the cage; they leave it with this value.
#[derive(Debug)]
pub(super) struct Caught<'cage> {
    cage: &'cage Cage,
    pids: Vec<u32>,
}

const PROCESSES: &str = "cgroup.procs";

impl Cage {
    /// Makes a cgroup that may use that much memory, or says why not.
    pub(super) fn build(limit_bytes: u64) -> Result<Self, String> {
        let read = |path| fs::read_to_string(path).map_err(|error| format!("{path}: {error}"));
        let (groups, mounts) = (read("/proc/self/cgroup")?, read("/proc/self/mountinfo")?);
        let mut reasons = Vec::new();
        for (outside, limit_file) in places(&groups, &mounts) {
            let inside = outside.join(format!("anybinder-bench-{}", std::process::id()));
            let made = fs::create_dir(&inside).and_then(|()| {
                let cage = Self { outside, inside: inside.clone() };
                // Without the controller there is no such file, and none can be made.
                fs::write(inside.join(limit_file), limit_bytes.to_string()).map(|()| cage)
            });
            match made {
                Ok(cage) => return Ok(cage),
                Err(error) => reasons.push(format!("{}: {error}", inside.display())),
            }
        }
        Err(if reasons.is_empty() { "none is mounted".into() } else { reasons.join("; ") })
    }

    /// Puts processes into it.
    pub(super) fn catch(&self, pids: &[u32]) -> Result<Caught<'_>, BenchError> {
        let mut caught = Caught { cage: self, pids: Vec::new() };
        for pid in pids {
            let moved = fs::write(self.inside.join(PROCESSES), pid.to_string());
            moved
                .map_err(failed(format!("putting process {pid} into {}", self.inside.display())))?;
            caught.pids.push(*pid);
        }
        Ok(caught)
    }

    /// Puts one process into it that is about to end anyway.
    pub(super) fn swallow(&self, pid: u32) -> io::Result<()> {
        fs::write(self.inside.join(PROCESSES), pid.to_string())
    }
}

impl Drop for Caught<'_> {
    fn drop(&mut self) {
        for pid in &self.pids {
            // One that has ended needs no place.
            let _ = fs::write(self.cage.outside.join(PROCESSES), pid.to_string());
        }
    }
}

impl Drop for Cage {
    fn drop(&mut self) {
        // It stays if another program has put a process there.
        let _ = fs::remove_dir(&self.inside);
    }
}

/// The cgroups of a process that might limit memory, each with the file for the limit.
fn places(groups: &str, mounts: &str) -> Vec<(PathBuf, &'static str)> {
    let mut places = Vec::new();
    for line in mounts.lines() {
        let Some((place, kind)) = line.split_once(" - ") else { continue };
        let (place, kind): (Vec<_>, Vec<_>) =
            (place.split(' ').collect(), kind.split(' ').collect());
        let (&[_, _, _, root, mounted, ..], &[kind, _, options]) = (&place[..], &kind[..]) else {
            continue;
        };
        let has_memory = |words: &str| words.split(',').any(|word| word == "memory");
        let (limit, is_wanted): (_, fn(&str) -> bool) = match kind {
            "cgroup2" => ("memory.max", str::is_empty),
            "cgroup" if has_memory(options) => {
                ("memory.limit_in_bytes", |words| words.split(',').any(|word| word == "memory"))
            }
            _ => continue,
        };
        let group = groups.lines().find_map(|line| {
            let mut parts = line.splitn(3, ':').skip(1);
            (parts.next().is_some_and(is_wanted)).then(|| parts.next())?
        });
        if let Some(below) = group.and_then(|path| Path::new(path).strip_prefix(root).ok()) {
            places.push((Path::new(mounted).join(below), limit));
        }
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_versions_of_cgroups_are_found() {
        let mounts = "\
30 24 0:26 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory
31 24 0:27 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu
32 24 0:28 /user /sys/fs/cgroup/unified rw shared:4 - cgroup2 cgroup2 rw
";
        let found = places("4:memory:/a\n1:cpu:/c\n0::/user/b\n", mounts);
        let expected = [
            ("/sys/fs/cgroup/memory/a", "memory.limit_in_bytes"),
            ("/sys/fs/cgroup/unified/b", "memory.max"),
        ];
        assert_eq!(found, expected.map(|(path, limit)| (path.into(), limit)));
        assert_eq!(places("0::/elsewhere\n", mounts), []);
    }
}
