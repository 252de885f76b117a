//! The kernel's /proc, held open: reads through it are of the kernel's, whatever is mounted at
//! /proc meanwhile.

use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::path::Arg;

use crate::proc_files::{field, number};

/// Most texts are shorter.
const READ_BYTES: usize = 4096;

/// A mounted proc, or a directory in it. A directory of a process stays that process's, and
/// answers `NotFound` or ESRCH when the process is gone.
#[derive(Debug)]
pub struct ProcDir {
    fd: OwnedFd,
}

/// What the kernel says of a file in /proc.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProcStat {
    /// Kind and permissions.
    pub mode: u32,
    /// The owner.
    pub uid: u32,
    /// The group.
    pub gid: u32,
    /// The inode number.
    pub inode: u64,
    /// How many names it has.
    pub links: u32,
    /// Its size, in bytes.
    pub size: u64,
    /// When it changed, since 1970.
    pub changed_at: Duration,
}

impl ProcDir {
    /// Opens the file system mounted at /proc.
    ///
    /// # Errors
    ///
    /// As open(2).
    pub fn open() -> io::Result<Self> {
        Self::at(rustix::fs::CWD, "/proc")
    }

    /// Opens the directory `path` in this one.
    ///
    /// # Errors
    ///
    /// As open(2).
    pub fn dir<P: Arg>(&self, path: P) -> io::Result<Self> {
        Self::at(&self.fd, path)
    }

    fn at<P: Arg>(dir: impl rustix::fd::AsFd, path: P) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(Self { fd: rustix::fs::openat(dir, path, flags, Mode::empty())? })
    }

    /// Reads all of the file `path`.
    ///
    /// # Errors
    ///
    /// As open(2) and read(2).
    pub fn read<P: Arg>(&self, path: P) -> io::Result<Vec<u8>> {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let file = rustix::fs::openat(&self.fd, path, flags, Mode::empty())?;
        let mut bytes = Vec::with_capacity(READ_BYTES);
        // Not asked how long it is: these files say 0.
        loop {
            bytes.reserve(READ_BYTES / 2);
            if rustix::io::read(&file, rustix::buffer::spare_capacity(&mut bytes))? == 0 {
                return Ok(bytes);
            }
        }
    }

    /// Reads where the link `path` leads.
    ///
    /// # Errors
    ///
    /// As readlink(2).
    pub fn read_link<P: Arg>(&self, path: P) -> io::Result<Vec<u8>> {
        Ok(rustix::fs::readlinkat(&self.fd, path, Vec::new())?.into_bytes())
    }

    /// Tells of `path` itself, if it is a link.
    ///
    /// # Errors
    ///
    /// As lstat(2).
    pub fn stat<P: Arg>(&self, path: P) -> io::Result<ProcStat> {
        self.stat_with(path, AtFlags::SYMLINK_NOFOLLOW)
    }

    /// Tells of what the link `path` leads to, as the namespaces of a process.
    ///
    /// # Errors
    ///
    /// As stat(2).
    pub fn stat_behind<P: Arg>(&self, path: P) -> io::Result<ProcStat> {
        self.stat_with(path, AtFlags::empty())
    }

    fn stat_with<P: Arg>(&self, path: P, flags: AtFlags) -> io::Result<ProcStat> {
        let stat = rustix::fs::statat(&self.fd, path, flags | AtFlags::NO_AUTOMOUNT)?;
        let links = u32::try_from(stat.st_nlink).unwrap_or(u32::MAX);
        let seconds = u64::try_from(stat.st_mtime).unwrap_or(0);
        let nanoseconds = u32::try_from(stat.st_mtime_nsec).unwrap_or(0);
        Ok(ProcStat {
            mode: stat.st_mode,
            uid: stat.st_uid,
            gid: stat.st_gid,
            inode: stat.st_ino,
            links,
            size: u64::try_from(stat.st_size).unwrap_or(0),
            changed_at: Duration::new(seconds, nanoseconds),
        })
    }

    /// Lists the directory `path`, without the dots.
    ///
    /// # Errors
    ///
    /// As open(2) and getdents(2).
    pub fn names<P: Arg>(&self, path: P) -> io::Result<Vec<Vec<u8>>> {
        let dir = Self::at(&self.fd, path)?;
        let mut names = Vec::new();
        for entry in rustix::fs::Dir::read_from(&dir.fd)? {
            let name = entry?.file_name().to_bytes().to_vec();
            if name != b"." && name != b".." {
                names.push(name);
            }
        }
        Ok(names)
    }

    /// Lists the numbers among the names of the directory `path`, in order.
    ///
    /// # Errors
    ///
    /// As [`names`](Self::names).
    pub fn numbers<P: Arg>(&self, path: P) -> io::Result<Vec<u32>> {
        let names = self.names(path)?;
        let mut numbers: Vec<u32> = names.iter().filter_map(|name| number(name).ok()).collect();
        numbers.sort_unstable();
        Ok(numbers)
    }

    /// Lists the numbers among the names of this directory, in order, each with the inode number that it is
    /// told with: of a process, no other process with the same number is told with the same.
    ///
    /// # Errors
    ///
    /// As [`names`](Self::names).
    pub fn numbered(&self) -> io::Result<Vec<(u32, u64)>> {
        let mut numbered = Vec::new();
        for entry in rustix::fs::Dir::read_from(&self.fd)? {
            let entry = entry?;
            if let Ok(it) = number(entry.file_name().to_bytes()) {
                numbered.push((it, entry.ino()));
            }
        }
        numbered.sort_unstable();
        Ok(numbered)
    }

    /// Returns the number of the process that this directory is of, or of whose thread it is.
    ///
    /// # Errors
    ///
    /// `NotFound` or ESRCH if it has ended.
    pub fn tgid(&self) -> io::Result<u32> {
        number(field(&self.read("status")?, b"Tgid:")?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_found_and_told_of() {
        let proc = ProcDir::open().unwrap();
        let this = std::process::id();
        assert!(proc.numbers(".").unwrap().contains(&this));
        let inode = proc.stat(this.to_string()).unwrap().inode;
        assert!(proc.numbered().unwrap().contains(&(this, inode)));
        let dir = proc.dir(this.to_string()).unwrap();
        assert_eq!(dir.read("comm").unwrap(), std::fs::read("/proc/self/comm").unwrap());
        assert_eq!(proc.read_link("self").unwrap(), this.to_string().into_bytes());
        let tid = rustix::thread::gettid().as_raw_nonzero().get().unsigned_abs();
        assert_eq!(proc.dir(tid.to_string()).unwrap().tgid().unwrap(), this);
        let namespace = dir.stat_behind("ns/pid").unwrap().inode;
        assert_eq!(dir.read_link("ns/pid").unwrap(), format!("pid:[{namespace}]").into_bytes());
        assert_eq!(dir.stat("environ").unwrap().mode & 0o777, 0o400);
    }

    #[test]
    fn the_directory_of_a_process_that_is_gone_is_nobody_elses() {
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let dir = ProcDir::open().unwrap().dir(child.id().to_string()).unwrap();
        child.wait().unwrap();
        assert!(dir.read("stat").is_err());
        assert!(dir.stat("environ").is_err());
    }
}
