//! The file descriptors of hosts, real or not.

use std::collections::BTreeMap;
use std::sync::Arc;

use binder_core::{CapturedFile, Errno, NotInstalled};

use crate::Host;

/// What a check may do to the file descriptors of a host, and see of them.
///
/// Descriptor 0 of every host is a file of its own, of which no other host has a descriptor.
pub trait Descriptors {
    /// Duplicates a descriptor of a host, to the lowest free number.
    fn duplicate(&self, host: Host, fd: u64) -> u64;

    /// Closes a descriptor of a host.
    fn close_descriptor(&self, host: Host, fd: u64);

    /// Limits how many descriptors a host may have.
    fn limit_descriptors(&self, host: Host, count: u64);

    /// A name of the file that a descriptor of a host refers to.
    fn file(&self, host: Host, fd: u64) -> Option<String>;

    /// Whether an open descriptor of a host is closed on exec.
    fn closes_on_exec(&self, host: Host, fd: u64) -> bool;

    /// How many descriptors a host has.
    fn open_descriptors(&self, host: Host) -> usize;
}

/// The descriptors of a host that does not exist.
#[derive(Debug)]
pub(crate) struct FakeDescriptors {
    open: BTreeMap<u32, FakeDescriptor>,
    limit: u32,
}

#[derive(Clone, Debug)]
struct FakeDescriptor {
    file: String,
    closes_on_exec: bool,
}

/// A file that the driver holds.
struct Captured {
    file: String,
    /// Shared with the counter of such files.
    _count: Arc<()>,
}

impl FakeDescriptors {
    pub(crate) fn new(host: Host) -> Self {
        let own = FakeDescriptor { file: format!("file of {host:?}"), closes_on_exec: false };
        Self { open: [(0, own)].into(), limit: 1024 }
    }

    pub(crate) fn capture(&self, fd: u32, counter: &Arc<()>) -> Result<CapturedFile, Errno> {
        let descriptor = self.open.get(&fd).ok_or(Errno::EBADF)?;
        let captured = Captured { file: descriptor.file.clone(), _count: counter.clone() };
        Ok(CapturedFile::new(captured))
    }

    /// Whether that many more may be open.
    pub(crate) fn has_room(&self, count: usize) -> bool {
        (0..self.limit)
            .filter(|fd| !self.open.contains_key(fd))
            .nth(count.saturating_sub(1))
            .is_some()
    }

    /// Installs all of the files, or none.
    pub(crate) fn install(&mut self, files: Vec<CapturedFile>) -> Result<Vec<u32>, NotInstalled> {
        let free = (0..self.limit).filter(|fd| !self.open.contains_key(fd));
        let numbers: Vec<u32> = free.take(files.len()).collect();
        if numbers.len() < files.len() {
            return Err(NotInstalled { errno: 24, reason: "no room" });
        }
        for (fd, file) in numbers.iter().zip(files) {
            let Captured { file, .. } = file.into_inner().expect("a file comes back as it went");
            self.open.insert(*fd, FakeDescriptor { file, closes_on_exec: true });
        }
        Ok(numbers)
    }

    pub(crate) fn duplicate(&mut self, fd: u64) -> u64 {
        let copy = FakeDescriptor { closes_on_exec: false, ..self.get(fd).expect("open").clone() };
        let fd = (0..self.limit).find(|fd| !self.open.contains_key(fd)).expect("a free number");
        self.open.insert(fd, copy);
        fd.into()
    }

    pub(crate) fn close(&mut self, fd: u64) {
        self.open.retain(|open, _| u64::from(*open) != fd);
    }

    pub(crate) fn limit(&mut self, count: u64) {
        self.limit = count.try_into().expect("a small number");
    }

    pub(crate) fn file(&self, fd: u64) -> Option<String> {
        self.get(fd).map(|descriptor| descriptor.file.clone())
    }

    pub(crate) fn closes_on_exec(&self, fd: u64) -> bool {
        self.get(fd).is_some_and(|descriptor| descriptor.closes_on_exec)
    }

    pub(crate) fn len(&self) -> usize {
        self.open.len()
    }

    fn get(&self, fd: u64) -> Option<&FakeDescriptor> {
        self.open.get(&u32::try_from(fd).ok()?)
    }
}
