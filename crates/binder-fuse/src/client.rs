//! The receive buffers of a device's clients, and their files, as the core reaches them.

use std::io;
use std::ops::Range;
use std::sync::Arc;

use binder_core::{CapturedFile, CopyFault, Errno, ProcessKey, ReceiveBuffers};
use binder_frontend::SlotTable;
use binder_os::{BackingId, FuseDevice, MappedMemory, PinnedMemory};

use crate::blocking_pool::BlockingPool;
use crate::client_file::ClientFile;
use crate::mapping::ReceiveBuffer;
use crate::quota::Charge;

/// An open file, with what belongs to the state of its device.
#[derive(Debug)]
pub(crate) struct Client {
    pub(crate) file: Arc<ClientFile>,
    pub(crate) buffer: ReceiveBuffer,
    /// For the mapping of the receive buffer.
    pub(crate) _mapping: Charge,
}

/// An open that has made a process, and is to be answered.
pub(crate) struct Opened {
    pub(crate) unique: u64,
    pub(crate) process: ProcessKey,
    pub(crate) file: Arc<ClientFile>,
    /// What the kernel may read when the client touches a page that nothing was stored to.
    pub(crate) memory: Option<Arc<MappedMemory>>,
    pub(crate) backing: Option<BackingId>,
}

impl Opened {
    pub(crate) fn new(unique: u64, process: ProcessKey, client: &Client) -> Self {
        let Client { file, buffer, .. } = client;
        let (memory, backing) = (buffer.readable().cloned(), buffer.backing());
        Self { unique, process, file: file.clone(), memory, backing }
    }
}

/// All open files of a device.
pub(crate) struct Clients {
    device: Arc<FuseDevice>,
    pool: Arc<BlockingPool>,
    /// The thread whose call is under way.
    caller: u32,
    by_process: SlotTable<Client>,
    /// Those with pages of their own in which buffers were cleared.
    cleared: Vec<(ProcessKey, Arc<ClientFile>)>,
}

impl Clients {
    pub(crate) fn new(device: Arc<FuseDevice>, pool: Arc<BlockingPool>) -> Self {
        Self { device, pool, caller: 0, by_process: SlotTable::default(), cleared: Vec::new() }
    }

    /// Says whose call is under way from here on: files are taken from its thread.
    pub(crate) fn set_caller(&mut self, tid: u32) {
        self.caller = tid;
    }

    pub(crate) fn insert(&mut self, process: ProcessKey, client: Client) {
        self.by_process.insert(process, client);
    }

    pub(crate) fn get(&self, process: ProcessKey) -> Option<&Client> {
        self.by_process.get(process)
    }

    /// Notes where a process has its receive buffer mapped, in memory that was pinned, if it was.
    pub(crate) fn set_place(
        &mut self,
        process: ProcessKey,
        memory: Option<PinnedMemory>,
        base: u64,
    ) {
        let client = self.by_process.get(process);
        let mapping = client.and_then(|client| client.buffer.private_mapping());
        if let (Some(memory), Some(mapping)) = (memory, mapping) {
            mapping.set_place(memory, base);
        }
    }

    /// Takes those in whose own pages buffers were cleared: they are to be [written](ClientFile::write_private_pages).
    pub(crate) fn take_cleared(&mut self) -> Vec<(ProcessKey, Arc<ClientFile>)> {
        std::mem::take(&mut self.cleared)
    }

    /// Forgets an open file.
    pub(crate) fn remove(&mut self, process: ProcessKey) -> Option<Client> {
        self.by_process.remove(process)
    }

    /// Shrinks the table to the last open file.
    pub(crate) fn shrink(&mut self) {
        self.by_process.shrink();
    }

    fn client(&mut self, process: ProcessKey) -> Result<&mut Client, CopyFault> {
        self.by_process.get_mut(process).ok_or(CopyFault)
    }
}

impl ReceiveBuffers for Clients {
    fn store(&mut self, to: ProcessKey, offset: u32, bytes: &[u8]) -> Result<(), CopyFault> {
        self.client(to)?.buffer.memory().write(offset as usize, bytes).map_err(|_| CopyFault)
    }

    fn publish(&mut self, to: ProcessKey, offset: u32, len: u32) -> Result<(), CopyFault> {
        let device = self.device.clone();
        let client = self.client(to)?;
        let published = client.buffer.publish(&device, offset as usize, len as usize);
        published.map_err(|error| {
            tracing::warn!(%error, pid = client.file.pid, "a receive buffer cannot be accessed");
            CopyFault
        })
    }

    fn clear(&mut self, to: ProcessKey, offset: u32, len: u32) {
        let device = self.device.clone();
        let Ok(client) = self.client(to) else { return };
        let cleared = client
            .buffer
            .memory()
            .clear(offset as usize, len as usize)
            .map_err(io::Error::other)
            .and_then(|()| client.buffer.publish(&device, offset as usize, len as usize));
        if let Err(error) = cleared {
            tracing::warn!(%error, pid = client.file.pid, "a buffer could not be cleared");
        }
        let file = client.file.clone();
        if file.has_private_mapping() && self.cleared.iter().all(|(it, _)| *it != to) {
            self.cleared.push((to, file));
        }
    }

    fn release(&mut self, of: ProcessKey, bytes: Range<u32>) {
        let device = self.device.clone();
        let Some(client) = self.by_process.get_mut(of) else { return };
        let places = bytes.start as usize..bytes.end as usize;
        if let Err(error) = client.buffer.release_pages(&device, places) {
            tracing::warn!(%error, pid = client.file.pid, ?bytes, "idle pages could not be given back");
        }
    }

    fn capture_file(
        &mut self,
        from: ProcessKey,
        fd: u32,
        payer: ProcessKey,
    ) -> Result<CapturedFile, Errno> {
        let charge = self.get(payer).ok_or(Errno::ESRCH)?.file.another_charge()?;
        let file = &self.get(from).ok_or(Errno::EBADF)?.file;
        Ok(CapturedFile::new(file.take_file(self.caller, fd, charge, self.pool.clone())?))
    }
}
