//! The data of a session, and its tables, each behind its lock. What is done with them is elsewhere.

use std::sync::atomic::AtomicU64;
use std::sync::mpsc::Receiver;
use std::sync::{
    Arc, Mutex, MutexGuard, OnceLock, RwLock, RwLockReadGuard, RwLockWriteGuard, Weak,
};

use binder_core::{Errno, Limits, MemoryBudget, ProcessKey, Sequences};
use binder_os::{FuseDevice, MappedMemory, SteadyClock, ThreadWatch, proc_files};
use fuse_wire::reply;
use slab::Slab;

use crate::blocking_pool::BlockingPool;
use crate::brokers::Brokers;
use crate::client_file::ClientFile;
use crate::detached_calls::DetachedCalls;
use crate::device::Device;
use crate::events::{Events, FollowerId};
use crate::expected_calls::ExpectedCalls;
use crate::freeze_queue::{FreezeQueue, FreezerEvent};
use crate::housekeeping::Housekeeping;
use crate::io_queue::IoQueue;
use crate::log_queue::LogQueue;
use crate::logs::LogFile;
use crate::mapping::Route;
use crate::options::BufferRoute;
use crate::pids::Pids;
use crate::priorities::Priorities;
use crate::process_handles::ProcessHandles;
use crate::quota::Account;
use crate::reader_places::{Readers, SessionEnd};
use crate::removed_devices::RemovedDevices;
use crate::ring::rings::Rings;
use crate::ring::watchers::RingWatchers;
use crate::served::Served;
use crate::slow::SlowClients;
use crate::supervision::SupervisorLink;
use crate::texts::{KeptText, TextBudget};
use crate::trace::TraceHub;
use crate::tree::{DeviceId, Tree};
use crate::warnings::Warnings;
use crate::wire::send;

/// A table of this many files keeps its capacity.
const FEW_FILES: usize = 64;

/// An open file of the mount.
pub(crate) enum File {
    Device { file: Arc<ClientFile>, process: ProcessKey, memory: Option<Arc<MappedMemory>> },
    Control,
    Feature(&'static [u8]),
    Log { log: LogFile, text: Option<Arc<KeptText>> },
    Events(FollowerId),
    Trace(FollowerId),
}

/// What all threads of a session share.
///
/// Locks are taken one at a time, never one within another, with three exceptions: a job of a device may look at
/// the threads of a file, a device is added while `tree` is held, and the `trace` has an order of its own. No job takes `tree` or `files`.
pub(crate) struct SessionShared {
    /// For work that the pool does: it keeps no session.
    pub(crate) this: Weak<Self>,
    pub(crate) fuse: Arc<FuseDevice>,
    pub(crate) delivery: BufferRoute,
    /// Whether the reader has a real-time priority, unless it runs for too long.
    pub(crate) has_realtime_reader: bool,
    pub(crate) security_label: String,
    /// Chosen when the first device is opened.
    pub(crate) route: OnceLock<Route>,
    /// The device number by which /proc shows files of this mount.
    pub(crate) served: Served,
    pub(crate) tree: Mutex<Tree>,
    pub(crate) files: Arc<RwLock<Slab<File>>>,
    pub(crate) pids: Arc<Pids>,
    pub(crate) devices: RwLock<Vec<Arc<Device>>>,
    pub(crate) removed_devices: Mutex<RemovedDevices>,
    pub(crate) limits: Mutex<Limits>,
    pub(crate) sequences: Sequences,
    /// When the clock of all devices was 0; `None` where no statistics are shown.
    pub(crate) clock: Option<SteadyClock>,
    pub(crate) events: Mutex<Events>,
    pub(crate) trace: Arc<TraceHub>,
    /// Whether the data of calls may be traced, too.
    pub(crate) traces_data: bool,
    /// Of threads that serve calls.
    pub(crate) priorities: Priorities,
    /// Whether clients may have rings.
    pub(crate) has_rings: bool,
    pub(crate) rings: Rings,
    pub(crate) ring_watchers: RingWatchers,
    /// Of the memory of receive buffers, for all mounts of the daemon.
    pub(crate) budget: MemoryBudget,
    pub(crate) texts: TextBudget,
    pub(crate) log_queue: LogQueue,
    pub(crate) next_follower: AtomicU64,
    pub(crate) housekeeping: Housekeeping,
    pub(crate) readers: Readers,
    pub(crate) end: SessionEnd,
    pub(crate) io_queue: IoQueue,
    pub(crate) slow: SlowClients,
    pub(crate) detached_calls: DetachedCalls,
    pub(crate) pool: Arc<BlockingPool>,
    pub(crate) expected: Arc<ExpectedCalls>,
    pub(crate) freezer: FreezeQueue,
    /// Until its thread is started.
    pub(crate) freezer_events: Mutex<Option<Receiver<FreezerEvent>>>,
    pub(crate) brokers: Brokers,
    pub(crate) warnings: Warnings,
    /// Warnings about clients that meet limits.
    pub(crate) limit_warnings: Warnings,
    pub(crate) supervision: SupervisorLink,
    pub(crate) threads: Arc<ThreadWatch>,
}

impl SessionShared {
    /// Has a thread of the pool do `work` for a client.
    pub(crate) fn run_in_pool(
        &self,
        client: Account,
        work: impl FnOnce(&Arc<Self>) + Send + 'static,
    ) {
        let session = self.this.clone();
        self.pool.run(client, move || {
            if let Some(shared) = session.upgrade() {
                work(&shared);
            }
        });
    }

    /// The number by which the kernel knows files of this mount.
    pub(crate) fn device(&self) -> proc_files::DeviceNumber {
        self.served.device()
    }

    pub(crate) fn remove_file(&self, fh: u64) -> Option<File> {
        self.files_to_change().try_remove(index(fh))
    }

    pub(crate) fn files_to_change(&self) -> RwLockWriteGuard<'_, Slab<File>> {
        self.files.write().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    pub(crate) fn files(&self) -> RwLockReadGuard<'_, Slab<File>> {
        self.files.read().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    pub(crate) fn tree(&self) -> MutexGuard<'_, Tree> {
        self.tree.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Shrinks tables that have held many files.
    pub(crate) fn shrink(&self) {
        let mut files = self.files_to_change();
        if files.capacity() > FEW_FILES && files.len() < files.capacity() / 4 {
            files.shrink_to_fit();
        }
        drop(files);
        self.tree().shrink();
        ProcessHandles::shrink();
    }

    /// The open file of a device behind a handle.
    pub(crate) fn process_of(&self, fh: u64) -> Option<(Arc<ClientFile>, ProcessKey)> {
        match self.files().get(index(fh))? {
            File::Device { file, process, .. } => Some((file.clone(), *process)),
            File::Control
            | File::Feature(_)
            | File::Log { .. }
            | File::Events(_)
            | File::Trace(_) => None,
        }
    }

    pub(crate) fn events(&self) -> MutexGuard<'_, Events> {
        self.events.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// All devices, by their numbers.
    pub(crate) fn devices(&self) -> Vec<Arc<Device>> {
        self.devices.read().unwrap_or_else(|poisoned| poisoned.into_inner()).clone()
    }

    /// The devices at which there may be something to see to: of thousands, hardly any is open.
    pub(crate) fn devices_in_use(&self) -> Vec<Arc<Device>> {
        let devices = self.devices.read().unwrap_or_else(|poisoned| poisoned.into_inner());
        devices.iter().filter(|device| !device.is_quiet()).cloned().collect()
    }

    /// The device numbered `id`.
    pub(crate) fn device_numbered(&self, id: DeviceId) -> Option<Arc<Device>> {
        self.devices.read().unwrap_or_else(|poisoned| poisoned.into_inner()).get(id).cloned()
    }

    pub(crate) fn limits(&self) -> MutexGuard<'_, Limits> {
        self.limits.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// The number that was given last: to a transaction, an object or a reference.
    pub(crate) fn latest_id(&self) -> u32 {
        self.sequences.latest_debug_id()
    }

    /// What devices that are gone have left.
    pub(crate) fn removed_devices(&self) -> MutexGuard<'_, RemovedDevices> {
        self.removed_devices.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// The open files of devices that are meant.
    pub(crate) fn device_files(
        &self,
        is_meant: impl Fn(&ClientFile) -> bool,
    ) -> Vec<(ProcessKey, Arc<ClientFile>)> {
        let meant = |(_, file): (usize, &File)| match file {
            File::Device { file, process, .. } if is_meant(file) => Some((*process, file.clone())),
            _ => None,
        };
        self.files().iter().filter_map(meant).collect()
    }

    /// Finds the open file of a device by its inode. Where that has several, as a node that is bound elsewhere,
    /// `pid` tells.
    pub(crate) fn file_of_inode(
        &self,
        inode: u64,
        pid: u32,
    ) -> Option<(ProcessKey, Arc<ClientFile>)> {
        let mut found = self.device_files(|file| file.id.inode == inode);
        let its_own = found.iter().position(|(_, file)| file.pid == pid);
        (!found.is_empty()).then(|| found.swap_remove(its_own.unwrap_or(0)))
    }

    pub(crate) fn refuse(&self, unique: u64, error: Errno) {
        send(&self.fuse, &reply::error(unique, error.number()));
    }
}

pub(crate) fn insert_file(files: &RwLock<Slab<File>>, file: File) -> u64 {
    files.write().unwrap_or_else(|poisoned| poisoned.into_inner()).insert(file) as u64 + 1
}

/// Where a file lies. Handle 0 is that of directories, and names none.
pub(crate) fn index(fh: u64) -> usize {
    usize::try_from(fh).map_or(usize::MAX, |fh| fh.wrapping_sub(1))
}
