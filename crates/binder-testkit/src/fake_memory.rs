//! The memory of clients that do not exist, with faults on order.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use binder_core::{
    CallerMemory, CapturedFile, ClaimedAddr, CopyFault, EarlyReservation, EarlyReservationKey,
    Errno, MappingArea, ProcessKey, ReceiveBuffers, TransactionKind,
};
use binder_uapi::BinderTransactionDataSg;

use crate::Host;
use crate::descriptors::FakeDescriptors;

/// Where the memory of every host begins.
const ARENA_BASE: u64 = 0x10_0000;

/// The first address after it. The bytes before this one are an [`edge`](EDGE_LEN).
pub(crate) const GUARD: u64 = 0x4000_0000;

/// How many bytes before [`GUARD`] can be used.
const EDGE_LEN: usize = 1 << 17;

/// Where receive areas are, each at an address of its own.
const AREAS_BASE: u64 = 0x7f00_0000_0000;

/// How far receive areas are apart.
const AREA_STRIDE: u64 = 1 << 24;

/// What a room shows whose data could not be read as a whole.
const PARTLY_READ: u8 = 0xee;

/// Which file of which context, in this world.
pub(crate) type FileKey = (usize, u64);

/// The memory of all hosts and the receive areas of all files.
#[derive(Default)]
pub(crate) struct FakeMemory {
    hosts: Vec<AddressSpace>,
    files: BTreeMap<FileKey, File>,
    areas: u64,
    /// Shared with every captured file.
    captured: Arc<()>,
    /// How many accesses are left before one faults.
    faults_after: Option<usize>,
    /// Whether each access that is made for a call faults.
    is_missing: bool,
    /// A place whose contents change as soon as they have been read.
    fickle: Option<Fickle>,
}

struct AddressSpace {
    arena: Vec<u8>,
    edge: Vec<u8>,
    descriptors: FakeDescriptors,
}

struct File {
    host: Host,
    area: Option<Area>,
}

struct Area {
    base: u64,
    /// What the driver has stored.
    stored: Vec<u8>,
    /// What of it the client can see.
    visible: Vec<u8>,
}

/// See [`FakeMemory::fickle`].
pub(crate) struct Fickle {
    pub(crate) host: Host,
    pub(crate) address: u64,
    pub(crate) becomes: Vec<u8>,
}

impl FakeMemory {
    pub(crate) fn add_host(&mut self) {
        let descriptors = FakeDescriptors::new(Host(self.hosts.len()));
        self.hosts.push(AddressSpace { arena: Vec::new(), edge: vec![0; EDGE_LEN], descriptors });
    }

    pub(crate) fn add_file(&mut self, file: FileKey, host: Host) {
        self.files.insert(file, File { host, area: None });
    }

    pub(crate) fn remove_file(&mut self, file: FileKey) {
        self.files.remove(&file);
    }

    /// Maps a receive area, unless there is one.
    pub(crate) fn map(&mut self, file: FileKey, len: usize) -> Option<u64> {
        let base = AREAS_BASE + self.areas * AREA_STRIDE;
        self.areas += 1;
        let area = &mut self.files.get_mut(&file).expect("an open file").area;
        if area.is_some() {
            return None;
        }
        *area = Some(Area { base, stored: vec![0; len], visible: vec![0; len] });
        Some(base)
    }

    pub(crate) fn fault_after(&mut self, accesses: Option<usize>) {
        self.faults_after = accesses;
    }

    /// Has each access that is made for a call fault, or no more.
    pub(crate) fn set_missing(&mut self, is_missing: bool) {
        self.is_missing = is_missing;
    }

    /// Whether the fault that was ordered has happened.
    pub(crate) fn has_faulted(&self) -> bool {
        self.faults_after.is_none()
    }

    pub(crate) fn set_fickle(&mut self, fickle: Fickle) {
        self.fickle = Some(fickle);
    }

    pub(crate) fn allocate(&mut self, host: Host, len: usize) -> u64 {
        let arena = &mut self.hosts[host.0].arena;
        let address = ARENA_BASE + arena.len() as u64;
        arena.resize((arena.len() + len).next_multiple_of(8), 0);
        address
    }

    /// Reads as the host itself does.
    pub(crate) fn peek(&self, host: Host, address: u64, into: &mut [u8]) -> Result<(), CopyFault> {
        let areas = self.files.values().filter(|file| file.host == host);
        let mut areas = areas.filter_map(|file| file.area.as_ref());
        let found = areas.find_map(|area| slice(&area.visible, area.base, address, into.len()));
        let space = &self.hosts[host.0];
        let found = found.or_else(|| space.slice(address, into.len())).ok_or(CopyFault)?;
        into.copy_from_slice(found);
        Ok(())
    }

    /// Writes as the host itself does.
    pub(crate) fn poke(&mut self, host: Host, address: u64, bytes: &[u8]) -> Result<(), CopyFault> {
        let space = &mut self.hosts[host.0];
        space.slice_mut(address, bytes.len()).ok_or(CopyFault)?.copy_from_slice(bytes);
        Ok(())
    }

    pub(crate) fn descriptors(&mut self, host: Host) -> &mut FakeDescriptors {
        &mut self.hosts[host.0].descriptors
    }

    /// How many captured files the driver holds.
    pub(crate) fn captured_files(&self) -> usize {
        Arc::strong_count(&self.captured) - 1
    }

    /// What the core of `context` sees of it.
    pub(crate) fn of_device(&mut self, context: usize) -> DeviceMemory<'_> {
        DeviceMemory { memory: self, context }
    }

    /// The memory of `host`, as the driver reaches into it.
    pub(crate) fn of(&mut self, host: Host) -> HostMemory<'_> {
        HostMemory { memory: self, host, reservations: None }
    }

    /// The same, for the commands of a call: large data goes straight to its receiver.
    pub(crate) fn of_caller<'a>(
        &'a mut self,
        host: Host,
        reservations: Option<Reservations<'a>>,
    ) -> HostMemory<'a> {
        HostMemory { memory: self, host, reservations }
    }

    fn count_down(&mut self) -> Result<(), CopyFault> {
        match self.faults_after {
            Some(0) => {
                self.faults_after = None;
                Err(CopyFault)
            }
            Some(left) => {
                self.faults_after = Some(left - 1);
                Ok(())
            }
            None => Ok(()),
        }
    }

    fn be_fickle(&mut self, host: Host, address: u64, len: usize) {
        let range = address..address + len as u64;
        if self.fickle.as_ref().is_some_and(|it| it.host == host && range.contains(&it.address)) {
            let fickle = self.fickle.take().expect("checked above");
            self.poke(host, fickle.address, &fickle.becomes).expect("memory of the host");
        }
    }
}

impl AddressSpace {
    fn slice(&self, address: u64, len: usize) -> Option<&[u8]> {
        slice(&self.arena, ARENA_BASE, address, len)
            .or_else(|| slice(&self.edge, GUARD - EDGE_LEN as u64, address, len))
    }

    fn slice_mut(&mut self, address: u64, len: usize) -> Option<&mut [u8]> {
        let edge = GUARD - EDGE_LEN as u64;
        let (bytes, base) =
            if address < edge { (&mut self.arena, ARENA_BASE) } else { (&mut self.edge, edge) };
        let start = usize::try_from(address.checked_sub(base)?).ok()?;
        bytes.get_mut(start..start.checked_add(len)?)
    }
}

fn slice(bytes: &[u8], base: u64, address: u64, len: usize) -> Option<&[u8]> {
    let start = usize::try_from(address.checked_sub(base)?).ok()?;
    bytes.get(start..start.checked_add(len)?)
}

/// The memory, as the core of one context sees it.
pub(crate) struct DeviceMemory<'a> {
    memory: &'a mut FakeMemory,
    context: usize,
}

impl DeviceMemory<'_> {
    fn file(&mut self, process: ProcessKey) -> &mut File {
        let key = (self.context, process.to_u64());
        self.memory.files.get_mut(&key).expect("the core names files that are open")
    }

    fn area(&mut self, process: ProcessKey) -> Result<&mut Area, CopyFault> {
        self.file(process).area.as_mut().ok_or(CopyFault)
    }
}

/// The memory of one host, as the driver reaches into it for a call.
pub(crate) struct HostMemory<'a> {
    memory: &'a mut FakeMemory,
    host: Host,
    reservations: Option<Reservations<'a>>,
}

/// Has room reserved for what a send carries.
type Reserve<'a> = dyn FnMut(
        TransactionKind,
        &BinderTransactionDataSg,
        &mut dyn ReceiveBuffers,
    ) -> Option<EarlyReservation>
    + 'a;

/// Where room is reserved, and by which means.
pub(crate) struct Reservations<'a> {
    pub(crate) number: usize,
    pub(crate) reserve: Box<Reserve<'a>>,
}

impl CallerMemory for HostMemory<'_> {
    fn read(&mut self, address: ClaimedAddr, into: &mut [u8]) -> Result<(), CopyFault> {
        self.count_down()?;
        self.memory.peek(self.host, address.0, into)?;
        self.memory.be_fickle(self.host, address.0, into.len());
        Ok(())
    }

    fn read_into_reservation(
        &mut self,
        kind: TransactionKind,
        data: &BinderTransactionDataSg,
    ) -> Option<(EarlyReservationKey, Result<(), CopyFault>)> {
        let Reservations { number, reserve } = self.reservations.as_mut()?;
        let room = reserve(kind, data, &mut self.memory.of_device(*number))?;
        let EarlyReservation { key, receiver, offset } = room;
        let file = (*number, receiver.to_u64());
        let header = &data.transaction_data;
        let mut bytes = vec![PARTLY_READ; usize::try_from(header.data_size).expect("it has room")];
        let read = self.read(ClaimedAddr(header.buffer), &mut bytes);
        if let Some(File { area: Some(area), .. }) = self.memory.files.get_mut(&file) {
            let range = offset as usize..offset as usize + bytes.len();
            area.stored[range.clone()].copy_from_slice(&bytes);
            area.visible[range].copy_from_slice(&bytes);
        }
        Some((key, read))
    }
}

impl HostMemory<'_> {
    /// Writes returns.
    pub(crate) fn write(&mut self, address: ClaimedAddr, bytes: &[u8]) -> Result<(), CopyFault> {
        self.count_down()?;
        self.memory.poke(self.host, address.0, bytes)
    }

    fn count_down(&mut self) -> Result<(), CopyFault> {
        if self.memory.is_missing { Err(CopyFault) } else { self.memory.count_down() }
    }
}

impl DeviceMemory<'_> {
    /// Finds out where a process mapped its receive buffer. It may have ended since it was asked for.
    pub(crate) fn locate_mapping(&mut self, process: ProcessKey) -> Option<MappingArea> {
        self.memory.count_down().ok()?;
        let key = (self.context, process.to_u64());
        let area = self.memory.files.get(&key)?.area.as_ref()?;
        Some(MappingArea { base: area.base, len_bytes: area.stored.len() as u64 })
    }
}

impl ReceiveBuffers for DeviceMemory<'_> {
    fn store(&mut self, to: ProcessKey, offset: u32, bytes: &[u8]) -> Result<(), CopyFault> {
        self.memory.count_down()?;
        self.area(to)?.stored[offset as usize..][..bytes.len()].copy_from_slice(bytes);
        Ok(())
    }

    fn publish(&mut self, to: ProcessKey, offset: u32, len: u32) -> Result<(), CopyFault> {
        self.memory.count_down()?;
        let area = self.area(to)?;
        let range = offset as usize..offset as usize + len as usize;
        area.visible[range.clone()].copy_from_slice(&area.stored[range]);
        Ok(())
    }

    fn capture_file(
        &mut self,
        from: ProcessKey,
        fd: u32,
        _payer: ProcessKey,
    ) -> Result<CapturedFile, Errno> {
        self.memory.count_down().map_err(|_| Errno::ENOMEM)?;
        let host = self.file(from).host;
        self.memory.hosts[host.0].descriptors.capture(fd, &self.memory.captured)
    }

    fn release(&mut self, of: ProcessKey, bytes: Range<u32>) {
        self.clear(of, bytes.start, bytes.end - bytes.start);
    }

    fn clear(&mut self, to: ProcessKey, offset: u32, len: u32) {
        if let Ok(area) = self.area(to) {
            let range = offset as usize..offset as usize + len as usize;
            area.stored[range.clone()].fill(0);
            area.visible[range].fill(0);
        }
    }
}
