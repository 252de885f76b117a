//! A mounted binderfs: reads FUSE requests, answers what concerns names itself, and passes what
//! concerns Binder on to the driver.

mod logs;
mod open;
mod read;

use std::io;
use std::path::Path;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, RwLock};

use binder_core::{MemoryBudget, ProcessKey};
use binder_os::{
    BINDERFS_TYPE, DetachedMount, FuseDevice, MappedMemory, MountOptions, ReadError, ThreadWatch,
    proc_files,
};
use binder_uapi::{BINDER_CTL_ADD, BinderfsDevice};
use fuse_wire::flags::{FUSE_IOCTL_COMPAT, FUSE_IOCTL_DIR, FUSE_MAX_PAGES, FUSE_PASSTHROUGH};
use fuse_wire::{
    Header, InitOffer, InitTerms, Message, OpenedFile, Operation, Request, SetAttr, StatFs, reply,
};
use slab::Slab;
use zerocopy::{FromBytes, IntoBytes};

use crate::alarm::{Alarm, AlarmThread};
use crate::blocking_pool::BlockingPool;
use crate::brokers::Brokers;
use crate::combining_lock::CombiningLock;
use crate::descriptors;
use crate::driver::{DeviceId, Driver, EIO, Job, O_NONBLOCK, RequestContext};
use crate::events::FollowerId;
use crate::exit_watcher::ExitWatcher;
use crate::fd_work::WARNING_INTERVAL;
use crate::housekeeper::{Housekeeper, Watch};
use crate::logs::LogFile;
use crate::mapping::Route;
use crate::memory;
use crate::memory_op::{IoQueue, IoQueueLen, IoRequest};
use crate::options::{BufferRoute, Options};
use crate::pids::Pids;
use crate::pressure::PressureThread;
use crate::process_handles::ProcessHandles;
use crate::readers;
use crate::seccomp_add_fd::ExpectedCalls;
use crate::served::Served;
use crate::slow::SlowClients;
use crate::supervision::SupervisorLink;
use crate::tree::{Refused, Tree};
use crate::warnings::Warnings;
use crate::wire::send;

/// A table of so many files keeps its room.
const FEW_FILES: usize = 64;
const EINVAL: i32 = 22;
const ENOTTY: i32 = 25;
const ENOSYS: i32 = 38;
const EPERM: i32 = 1;

/// Why binderfs could not be mounted.
#[derive(Debug, thiserror::Error)]
pub enum MountError {
    /// The device of FUSE cannot be opened.
    #[error("/dev/fuse cannot be opened: {0}")]
    Open(#[source] io::Error),
    /// The kernel refuses the file system.
    #[error("binderfs cannot be made: {0}")]
    Create(#[source] io::Error),
    /// No thread of this process may have a real-time priority.
    #[error("requests cannot be read at a real-time priority: {0}")]
    Scheduling(#[source] io::Error),
    /// The kernel refuses the mount.
    #[error("binderfs cannot be mounted at {dir}: {source}")]
    Mount {
        /// Where.
        dir: String,
        /// The kernel's answer.
        source: io::Error,
    },
    /// A device has a name that is none, or two have the same.
    #[error("{name:?} cannot be the name of a device: {reason}")]
    Name {
        /// The name.
        name: String,
        /// Why not.
        reason: &'static str,
    },
    /// Nobody could open a device.
    #[error("this process may have {limit} files open, and needs {least} to serve anybody")]
    Descriptors {
        /// How many it may.
        limit: u64,
        /// How many it must.
        least: u64,
    },
}

/// Why serving ended other than by unmounting.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The kernel refused a read of /dev/fuse.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// A thread could not be started.
    #[error("a thread could not be started: {0}")]
    Thread(#[source] io::Error),
}

/// An open file of the mount.
enum File {
    Device { device: DeviceId, process: ProcessKey, pid: u32, memory: Option<Arc<MappedMemory>> },
    Control,
    Feature(&'static [u8]),
    Log { log: LogFile, text: Option<Arc<logs::KeptText>> },
    Events(FollowerId),
}

/// A mounted binderfs. It answers while [`serve`](MountedBinderfs::serve) runs.
pub struct MountedBinderfs {
    shared: Arc<SessionShared>,
}

/// What all threads of a session share.
///
/// Locks are taken one at a time, never one within another, with two exceptions: a job of the driver
/// may take `files`, and a device is added to the driver while `tree` is held. No job takes `tree`.
pub(crate) struct SessionShared {
    pub(crate) fuse: Arc<FuseDevice>,
    delivery: BufferRoute,
    /// Whether the reader has a real-time priority, unless it runs for too long.
    pub(crate) has_realtime_reader: bool,
    security_label: String,
    /// Chosen when the first device is opened.
    route: OnceLock<Route>,
    /// The device number by which /proc shows files of this mount.
    served: Served,
    tree: Mutex<Tree>,
    files: Arc<RwLock<Slab<File>>>,
    pids: Arc<Pids>,
    pub(crate) driver: CombiningLock<Driver, Job>,
    /// Of the memory of receive buffers, for all mounts of the daemon.
    pub(crate) budget: MemoryBudget,
    texts: logs::TextBudget,
    next_follower: AtomicU64,
    pub(crate) watch: Watch,
    pub(crate) end: readers::SessionEnd,
    pub(crate) leftovers: Arc<IoQueueLen>,
    pub(crate) slow: SlowClients,
    pub(crate) runners: Arc<BlockingPool>,
    pub(crate) diversions: Arc<ExpectedCalls>,
    pub(crate) brokers: Brokers,
    pub(crate) warnings: Warnings,
    pub(crate) supervision: SupervisorLink,
    pub(crate) alarm: Arc<Alarm>,
    pub(crate) threads: Arc<ThreadWatch>,
}

impl MountedBinderfs {
    /// Mounts binderfs at `dir`. Whoever looks into it waits until [`serve`](Self::serve) runs.
    ///
    /// # Errors
    ///
    /// [`MountError`] without access to /dev/fuse or the right to mount.
    pub fn mount(dir: &Path, options: &Options) -> Result<Self, MountError> {
        Self::place(dir, options, DetachedMount::attach)
    }

    /// The same, in place of what is mounted there. Who has files of that open keeps them, and its
    /// driver serves them until they are closed.
    ///
    /// # Errors
    ///
    /// As [`mount`](Self::mount); `InvalidInput` if nothing is mounted there.
    pub fn replace(dir: &Path, options: &Options) -> Result<Self, MountError> {
        Self::place(dir, options, DetachedMount::replace)
    }

    fn place(
        dir: &Path,
        options: &Options,
        attach: impl FnOnce(&DetachedMount, &Path) -> io::Result<()>,
    ) -> Result<Self, MountError> {
        let failed = |source| MountError::Mount { dir: dir.display().to_string(), source };
        let made = Self::detached(options, binder_os::processes::user(), b"anybinder");
        let (session, mount) = made.map_err(|error| match error {
            MountError::Create(source) => failed(source),
            MountError::Open(_)
            | MountError::Scheduling(_)
            | MountError::Mount { .. }
            | MountError::Name { .. }
            | MountError::Descriptors { .. } => error,
        })?;
        attach(&mount, dir).map_err(failed)?;
        Ok(session)
    }

    /// Makes a binderfs that has no place yet, owned by the user and group `owner`. Other users see
    /// `source` as what is mounted. Without a place it ends with the [`DetachedMount`].
    ///
    /// # Errors
    ///
    /// As [`mount`](Self::mount).
    pub fn detached(
        options: &Options,
        owner: (u32, u32),
        source: &[u8],
    ) -> Result<(Self, DetachedMount), MountError> {
        descriptors::check()?;
        let fuse = Arc::new(FuseDevice::open().map_err(MountError::Open)?);
        let has_realtime_reader =
            options.scheduling.is_realtime().map_err(MountError::Scheduling)?;
        let (uid, gid) = owner;
        let mut tree = Tree::new(uid, gid);
        tree.limit_devices(options.devices_max);
        tree.set_read_only(options.is_read_only);
        if options.statistics {
            tree.add_logs();
        }
        let (runners, alarm) = (Arc::<BlockingPool>::default(), Arc::<Alarm>::default());
        let leftovers = Arc::<IoQueueLen>::default();
        let threads = Arc::new(ThreadWatch::new().map_err(MountError::Create)?);
        let diversions = Arc::<ExpectedCalls>::default();
        let driver = Driver::new(
            fuse.clone(),
            options,
            runners.clone(),
            diversions.clone(),
            IoQueue::counted_by(leftovers.clone()),
            alarm.clone(),
            threads.clone(),
        );
        let driver = CombiningLock::new(driver);
        for spec in &options.devices {
            let id = tree.add_device(spec.name.as_bytes(), spec.mode).map_err(|refused| {
                let reason = match refused {
                    Refused::EEXIST => "it is taken",
                    Refused::ENOSPC => "there are as many devices as the limit allows",
                    _ => "it is empty, too long, or has a slash",
                };
                MountError::Name { name: spec.name.clone(), reason }
            })?;
            let name = spec.name.clone();
            driver.submit(Some(Job::AddDevice { device: id, name }), Driver::run, |_| {});
        }
        let mount_options = MountOptions {
            source: source.into(),
            kind: BINDERFS_TYPE.into(),
            user_id: uid,
            group_id: gid,
            allow_other: true,
            default_permissions: true,
            max_read_bytes: None,
            read_only: false,
        };
        let mount = fuse.mount(&mount_options).map_err(MountError::Create)?;
        let shared = SessionShared {
            fuse,
            delivery: options.delivery,
            has_realtime_reader,
            security_label: options.security_label.clone(),
            route: OnceLock::new(),
            served: Served::new(mount.device().map_err(MountError::Create)?),
            tree: Mutex::new(tree),
            files: Arc::default(),
            pids: Pids::of_this_process().map_err(MountError::Create)?,
            driver,
            budget: memory::budget(options.limits.all_bytes),
            texts: logs::TextBudget::default(),
            next_follower: AtomicU64::new(0),
            watch: Watch::default(),
            end: readers::SessionEnd::default(),
            leftovers,
            slow: SlowClients::default(),
            runners,
            diversions,
            brokers: Brokers::new(options.broker.clone()),
            warnings: Warnings::one_in(WARNING_INTERVAL),
            supervision: SupervisorLink::none(),
            alarm,
            threads,
        };
        Ok((Self { shared: Arc::new(shared) }, mount))
    }

    pub(crate) fn shared(&self) -> &Arc<SessionShared> {
        &self.shared
    }

    /// Returns the device number by which files of this binderfs are known.
    pub fn device(&self) -> proc_files::DeviceNumber {
        self.shared.device()
    }

    /// Answers requests until the file system is unmounted.
    ///
    /// # Errors
    ///
    /// [`ServeError`] if it ends in any other way.
    pub fn serve(self) -> Result<(), ServeError> {
        let shared = &self.shared;
        let housekeeper = Housekeeper::start(shared).map_err(ServeError::Thread)?;
        shared.runners.start(shared).map_err(ServeError::Thread)?;
        let sleeper = AlarmThread::start(shared).map_err(ServeError::Thread)?;
        let mourner = ExitWatcher::start(shared).map_err(ServeError::Thread)?;
        let listener = PressureThread::start(shared).map_err(ServeError::Thread)?;
        readers::start(shared).map_err(ServeError::Thread)?;
        let result = shared.end.wait();
        shared.runners.close();
        listener.stop();
        mourner.stop();
        housekeeper.stop();
        sleeper.stop();
        result
    }
}

impl SessionShared {
    /// Answers one request. Returns the first of what is left then.
    pub(crate) fn answer_request(&self, bytes: &[u8]) -> Option<IoRequest> {
        match Request::parse(bytes) {
            Ok(request) => self.handle_guarded(&request),
            Err(error) => {
                tracing::error!(%error, "a request of the kernel was not understood");
                if let Some(unique) = error.reply_to() {
                    self.refuse(unique, EIO);
                }
                None
            }
        }
    }

    /// Handles one request; a panic ends that request alone.
    fn handle_guarded(&self, request: &Request<'_>) -> Option<IoRequest> {
        let guarded = std::panic::AssertUnwindSafe(|| self.handle(request));
        std::panic::catch_unwind(guarded).unwrap_or_else(|_| {
            tracing::error!(opcode = request.header.opcode, "a request met a bug");
            self.refuse(request.header.unique, EIO);
            None
        })
    }

    fn handle(&self, request: &Request<'_>) -> Option<IoRequest> {
        let header = &request.header;
        let unique = header.unique;
        match request.operation {
            Operation::Ioctl { flags, .. } if flags & FUSE_IOCTL_DIR != 0 => {
                self.refuse(unique, ENOTTY);
            }
            Operation::Ioctl { fh, flags, cmd, arg, data, .. } => {
                return self.ioctl(header, fh, flags & FUSE_IOCTL_COMPAT != 0, cmd, arg, data);
            }
            Operation::Poll { fh, kh, flags, .. } => match self.asker(header, fh, 0) {
                Some(asker) => self.take_turn(Job::Poll { asker, handle: kh, flags }),
                None if self.poll_log(header, fh, kh, flags) => {}
                None => self.refuse(unique, EINVAL),
            },
            Operation::Interrupt { unique: target } => {
                self.take_turn(Job::Interrupt { unique, target });
            }
            Operation::Init(offer) => self.init(unique, &offer),
            Operation::Lookup { name } => {
                let found = self.tree().lookup(header.node, name, header.pid);
                self.respond(unique, found, |entry| reply::entry(unique, &entry));
            }
            Operation::Forget { lookups } => {
                self.watch.note_close();
                self.tree().forget(header.node, lookups);
            }
            Operation::BatchForget(batch) => {
                self.watch.note_close();
                let mut tree = self.tree();
                for one in batch {
                    tree.forget(one.node, one.lookups);
                }
            }
            Operation::GetAttr { .. } => self.attr(unique, header.node),
            Operation::SetAttr(change) => self.set_attr(unique, header.node, &change),
            Operation::Open { flags } => self.open(header, flags),
            Operation::Flush { fh, .. } => match self.process_of(fh) {
                // Not for a descriptor of ours: its client has closed nothing.
                Some((device, process)) if !binder_os::processes::is_own(header.pid) => {
                    self.take_turn(Job::Flush { unique, device, process });
                }
                Some(_) | None => send(&self.fuse, &reply::empty(unique)),
            },
            Operation::Release(release) => {
                self.watch.note_close();
                let file = self.remove_file(release.fh);
                // The kernel does not wait for what happens to the process.
                send(&self.fuse, &reply::empty(unique));
                match file {
                    Some(File::Device { device, process, pid, .. }) => {
                        self.take_turn(Job::Release { device, process });
                        // Last, since the device's number may be another's afterwards.
                        self.tree().close(device, pid);
                    }
                    Some(File::Events(follower)) => {
                        self.take_turn(Job::ForgetFollower { follower })
                    }
                    Some(File::Control | File::Feature(_) | File::Log { .. }) | None => {}
                }
            }
            Operation::Read(read) => self.read(unique, &read),
            Operation::OpenDir { .. } => {
                send(&self.fuse, &reply::open(unique, &OpenedFile::default()));
            }
            Operation::ReadDir(read) => self.read_dir(unique, header.node, &read),
            Operation::ReleaseDir(_) => send(&self.fuse, &reply::empty(unique)),
            Operation::Unlink { name } => {
                let gone = self.tree().unlink(header.node, name);
                self.respond(unique, gone, |()| reply::empty(unique));
            }
            Operation::Rename { name, new_parent, new_name, flags } => {
                let (from, to) = ((header.node, name), (new_parent, new_name));
                let renamed = self.tree().rename(from, to, flags);
                self.respond(unique, renamed, |()| reply::empty(unique));
            }
            Operation::StatFs => {
                let figures = StatFs { block_size: 4096, name_max: 255, ..StatFs::default() };
                send(&self.fuse, &reply::statfs(unique, &figures));
            }
            // Once it is told ENOSYS, the kernel takes every fsync(2) for done.
            Operation::Write { .. } | Operation::Fsync { .. } => self.refuse(unique, EINVAL),
            Operation::Mknod { .. }
            | Operation::Mkdir { .. }
            | Operation::Rmdir { .. }
            | Operation::Symlink { .. }
            | Operation::Link { .. }
            | Operation::Create { .. } => self.refuse(unique, EPERM),
            Operation::Destroy => send(&self.fuse, &reply::empty(unique)),
            Operation::Access { .. }
            | Operation::ReadLink
            | Operation::FsyncDir { .. }
            | Operation::Lseek { .. }
            | Operation::Fallocate { .. }
            | Operation::ReadDirPlus(_)
            | Operation::GetXattr { .. }
            | Operation::ListXattr { .. }
            | Operation::Other(_) => self.refuse(unique, ENOSYS),
        }
        None
    }

    /// The number by which the kernel knows files of this mount.
    pub(crate) fn device(&self) -> proc_files::DeviceNumber {
        self.served.device()
    }

    /// Changes what a remount may change.
    pub(crate) fn remount(&self, devices_max: u32, is_read_only: bool) {
        let mut tree = self.tree();
        tree.limit_devices(devices_max);
        tree.set_read_only(is_read_only);
    }

    /// Has `job` done. What it leaves is in line afterwards, for the reader, who looks between two requests.
    pub(crate) fn take_turn(&self, job: Job) {
        self.driver.submit(Some(job), Driver::run, |_| {});
    }

    fn init(&self, unique: u64, offer: &InitOffer) {
        let wish = InitTerms {
            features: FUSE_MAX_PAGES | FUSE_PASSTHROUGH,
            max_readahead: 0,
            max_write: 4096,
            max_pages: 1,
            max_background: 0,
            congestion_threshold: 0,
            time_granularity_ns: 1,
            max_stack_depth: 1,
        };
        match offer.agree(&wish) {
            Ok(agreed) => send(&self.fuse, &reply::init(unique, &agreed)),
            Err(error) => {
                tracing::error!(%error, "this kernel's FUSE is too old");
                self.refuse(unique, EIO);
            }
        }
    }

    fn ioctl(
        &self,
        header: &Header,
        fh: u64,
        is_compat: bool,
        command: u32,
        argument: u64,
        data: &[u8],
    ) -> Option<IoRequest> {
        if command == BINDER_CTL_ADD && self.is_control(fh) {
            self.add_device(header.unique, data);
            return None;
        }
        let mut copy = [0; 48];
        match (self.asker(header, fh, argument), copy.get_mut(..data.len())) {
            (Some(asker), Some(room)) => {
                room.copy_from_slice(data);
                let asker = RequestContext { is_compat, ..asker };
                let job = Job::Ioctl { asker, command, data: copy, len: data.len() };
                self.take_left_after(Some(job))
            }
            (Some(_), None) | (None, _) => {
                self.refuse(header.unique, EINVAL);
                None
            }
        }
    }

    /// `BINDER_CTL_ADD`: makes a device and tells its number.
    fn add_device(&self, unique: u64, data: &[u8]) {
        let Ok(mut wanted) = BinderfsDevice::read_from_bytes(data) else {
            return self.refuse(unique, EINVAL);
        };
        wanted.name[wanted.name.len() - 1] = 0;
        let name = wanted.name.split(|byte| *byte == 0).next().unwrap_or_default();
        let mut tree = self.tree();
        let id = match tree.add_device(name, 0o600) {
            Ok(id) => id,
            Err(refused) => {
                drop(tree);
                return self.refuse(unique, refused as i32);
            }
        };
        // Before anybody can look the name up, and in the order of the numbers.
        let name = String::from_utf8_lossy(name).into_owned();
        self.take_turn(Job::AddDevice { device: id, name });
        drop(tree);
        wanted.minor = u32::try_from(id).unwrap_or(u32::MAX);
        send(&self.fuse, &reply::ioctl(unique, 0, wanted.as_bytes()));
    }

    fn attr(&self, unique: u64, node: u64) {
        let attr = self.tree().attr(node);
        // What was looked up says how long; what is asked for is wanted now.
        self.respond(unique, attr, |attr| reply::attr(unique, &attr, std::time::Duration::ZERO));
    }

    fn set_attr(&self, unique: u64, node: u64, change: &SetAttr) {
        if change.mode.is_some() || change.uid.is_some() || change.gid.is_some() {
            let changed = self.tree().set_permissions(node, |permissions| {
                permissions.mode = change.mode.unwrap_or(permissions.mode);
                permissions.uid = change.uid.unwrap_or(permissions.uid);
                permissions.gid = change.gid.unwrap_or(permissions.gid);
            });
            if let Err(refused) = changed {
                return self.refuse(unique, refused as i32);
            }
        }
        // Times and sizes mean nothing here; open(2) with O_TRUNC sets a size and must not fail.
        self.attr(unique, node);
    }

    fn asker(&self, header: &Header, fh: u64, argument: u64) -> Option<RequestContext> {
        let (device, process) = self.process_of(fh)?;
        let Header { unique, pid: tid, uid, .. } = *header;
        Some(RequestContext { unique, device, process, tid, uid, argument, is_compat: false })
    }

    fn process_of(&self, fh: u64) -> Option<(DeviceId, ProcessKey)> {
        match self.files().get(index(fh))? {
            File::Device { device, process, .. } => Some((*device, *process)),
            File::Control | File::Feature(_) | File::Log { .. } | File::Events(_) => None,
        }
    }

    fn is_control(&self, fh: u64) -> bool {
        matches!(self.files().get(index(fh)), Some(File::Control))
    }

    fn remove_file(&self, fh: u64) -> Option<File> {
        self.files.write().unwrap_or_else(|poisoned| poisoned.into_inner()).try_remove(index(fh))
    }

    fn files(&self) -> std::sync::RwLockReadGuard<'_, Slab<File>> {
        self.files.read().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    pub(crate) fn tree(&self) -> MutexGuard<'_, Tree> {
        self.tree.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Gives back room in tables that many files have left.
    pub(crate) fn shrink(&self) {
        let mut files = self.files.write().unwrap_or_else(|poisoned| poisoned.into_inner());
        if files.capacity() > FEW_FILES && files.len() < files.capacity() / 4 {
            files.shrink_to_fit();
        }
        drop(files);
        self.tree().shrink();
        ProcessHandles::shrink();
    }

    fn refuse(&self, unique: u64, errno: i32) {
        send(&self.fuse, &reply::error(unique, errno));
    }

    fn respond<'m, T>(
        &self,
        unique: u64,
        result: Result<T, Refused>,
        reply: impl FnOnce(T) -> Message<'m>,
    ) {
        match result {
            Ok(value) => send(&self.fuse, &reply(value)),
            Err(refused) => self.refuse(unique, refused as i32),
        }
    }
}

fn insert_file(files: &RwLock<Slab<File>>, file: File) -> u64 {
    files.write().unwrap_or_else(|poisoned| poisoned.into_inner()).insert(file) as u64 + 1
}

/// Where a file lies. Handle 0 is that of directories, and names none.
fn index(fh: u64) -> usize {
    usize::try_from(fh).map_or(usize::MAX, |fh| fh.wrapping_sub(1))
}
