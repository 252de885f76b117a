//! A mounted binderfs: reads FUSE requests, answers what concerns names itself, and passes what
//! concerns Binder on to the driver.

mod device_calls;
mod devices;
mod log_writer;
mod logs;
mod open;
mod read;
mod trace;

use std::io;
use std::path::Path;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, OnceLock, RwLock, Weak};

use binder_core::{Errno, Limits, Sequences};
use binder_frontend::Event;
use binder_os::mounts::DetachedMount;
use binder_os::{BINDERFS_TYPE, FuseDevice, MountOptions, SteadyClock, ThreadWatch, proc_files};
use fuse_wire::flags::{FUSE_IOCTL_COMPAT, FUSE_IOCTL_DIR, FUSE_MAX_PAGES, FUSE_PASSTHROUGH};
use fuse_wire::{
    InitOffer, InitTerms, Message, OpenedFile, Operation, Request, SetAttr, StatFs, reply,
};

use device_calls::IoctlCall;

use crate::brokers::Brokers;
use crate::descriptors;
use crate::detached_calls::DetachedCalls;
use crate::device::{Batch, Job};
use crate::error::{MountError, ServeError};
use crate::events::Events;
use crate::exit_watcher::ExitWatcher;
use crate::fd_work::WARNING_INTERVAL;
use crate::freeze_queue::FreezeQueue;
use crate::freezer::FreezerThread;
use crate::housekeeper::Housekeeper;
use crate::housekeeping::Housekeeping;
use crate::io_queue::{IoQueue, IoRequest};
use crate::log_queue::LogQueue;
use crate::memory;
use crate::options::Options;
use crate::pids::Pids;
use crate::pressure::PressureThread;
use crate::priorities::Priorities;
use crate::reader_places::{Readers, SessionEnd};
use crate::readers;
use crate::report::FiguresReader;
use crate::ring::rings::Rings;
use crate::ring::watchers::RingWatchers;
use crate::served::Served;
use crate::shared::{File, SessionShared};
use crate::slow::SlowClients;
use crate::supervision::SupervisorLink;
use crate::texts::TextBudget;
use crate::trace::TraceHub;
use crate::tree::Tree;
use crate::warnings::{LIMIT_INTERVAL, Warnings};
use crate::wire::send;

/// A mounted binderfs. It answers while [`serve`](MountedBinderfs::serve) runs.
pub struct MountedBinderfs {
    shared: Arc<SessionShared>,
}

/// The limits of a binderfs that is served.
#[derive(Clone)]
pub struct LimitsControl {
    session: Weak<SessionShared>,
}

impl LimitsControl {
    /// Has open files and users keep to these limits from now on. What they have they keep, also if it is more.
    pub fn set(&self, limits: Limits) {
        if let Some(session) = self.session.upgrade() {
            session.set_limits(limits);
        }
    }
}

impl MountedBinderfs {
    /// Mounts binderfs at `dir`. A process that looks into it waits until [`serve`](Self::serve) runs.
    ///
    /// # Errors
    ///
    /// [`MountError`] without access to /dev/fuse or the right to mount.
    pub fn mount(dir: &Path, options: &Options) -> Result<Self, MountError> {
        Self::place(dir, options, DetachedMount::attach)
    }

    /// The same, in place of what is mounted there. Processes that have files of that open keep them, and its
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
        let mut named = Vec::new();
        for spec in &options.devices {
            let added = tree.add_device(spec.name.as_bytes(), spec.mode);
            let id = added.map_err(|refused| {
                let reason = match refused {
                    Errno::EEXIST => "it is taken",
                    Errno::ENOSPC => "there are as many devices as the limit allows",
                    _ => "it is empty, too long, or has a slash",
                };
                MountError::Name { name: spec.name.clone(), reason }
            })?;
            tree.give_away(id, spec.uid, spec.gid);
            named.push((id, spec.name.clone()));
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
        let (freezer, freezer_events) = FreezeQueue::new();
        let clock = options.statistics.then(SteadyClock::start);
        let (served, pids, threads) = (
            Served::new(mount.device().map_err(MountError::Create)?),
            Pids::of_this_process().map_err(MountError::Create)?,
            Arc::new(ThreadWatch::new().map_err(MountError::Create)?),
        );
        let ring_watchers = RingWatchers::new();
        let ring_threads = if options.rings { ring_watchers.count() } else { 0 };
        let shared = Arc::new_cyclic(|this| SessionShared {
            this: this.clone(),
            trace: Arc::new(TraceHub::new(fuse.clone(), clock)),
            traces_data: options.trace_data,
            events: Mutex::new(Events::new(fuse.clone())),
            fuse,
            delivery: options.delivery,
            has_realtime_reader,
            security_label: options.security_label.clone(),
            route: OnceLock::new(),
            served,
            tree: Mutex::new(tree),
            files: Arc::default(),
            pids,
            devices: RwLock::default(),
            removed_devices: Mutex::default(),
            limits: Mutex::new(descriptors::affordable(options.limits)),
            sequences: Sequences::default(),
            clock,
            priorities: Priorities::new(options.inheritance),
            has_rings: options.rings,
            rings: Rings::default(),
            ring_watchers,
            budget: memory::budget(options.limits.all_bytes),
            texts: TextBudget::default(),
            log_queue: LogQueue::default(),
            next_follower: AtomicU64::new(0),
            housekeeping: Housekeeping::default(),
            readers: Readers::new(options.readers, ring_threads),
            end: SessionEnd::default(),
            io_queue: IoQueue::default(),
            slow: SlowClients::default(),
            detached_calls: DetachedCalls::default(),
            pool: Arc::default(),
            expected: Arc::default(),
            freezer,
            freezer_events: Mutex::new(Some(freezer_events)),
            brokers: Brokers::new(options.broker.clone()),
            warnings: Warnings::one_in(WARNING_INTERVAL),
            limit_warnings: Warnings::one_in(LIMIT_INTERVAL),
            supervision: SupervisorLink::none(),
            threads,
        });
        for (id, name) in named {
            shared.make_device(id, name);
        }
        Ok((Self { shared }, mount))
    }

    pub(crate) fn shared(&self) -> &Arc<SessionShared> {
        &self.shared
    }

    /// Returns the device number by which files of this binderfs are known.
    pub fn device(&self) -> proc_files::DeviceNumber {
        self.shared.device()
    }

    /// By which the limits of clients are changed while they are served.
    pub fn limits(&self) -> LimitsControl {
        LimitsControl { session: Arc::downgrade(&self.shared) }
    }

    /// By which it is told in numbers while it is served, with statistics or without.
    pub fn figures(&self) -> FiguresReader {
        FiguresReader::new(&self.shared)
    }

    /// Answers requests until the file system is unmounted.
    ///
    /// # Errors
    ///
    /// [`ServeError`] if it ends otherwise.
    pub fn serve(self) -> Result<(), ServeError> {
        let shared = &self.shared;
        let housekeeper = Housekeeper::start(shared).map_err(ServeError::Thread)?;
        shared.pool.start().map_err(ServeError::Thread)?;
        let told =
            shared.freezer_events.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).take();
        let freezer = told.map(|told| FreezerThread::start(shared, told)).transpose();
        let freezer = freezer.map_err(ServeError::Thread)?;
        let exit_watcher = ExitWatcher::start(shared).map_err(ServeError::Thread)?;
        let listener = PressureThread::start(shared).map_err(ServeError::Thread)?;
        readers::start(shared).map_err(ServeError::Thread)?;
        let result = shared.end.wait();
        shared.close_all();
        shared.trace.stop_writer();
        shared.ring_watchers.stop();
        shared.pool.close();
        listener.stop();
        exit_watcher.stop();
        housekeeper.stop();
        if let Some(freezer) = freezer {
            freezer.stop();
        }
        result
    }
}

impl SessionShared {
    /// Answers one request. Returns the first of the I/O that it leads to.
    pub(crate) fn answer_request(&self, bytes: &[u8], batch: &mut Batch) -> Option<IoRequest> {
        match Request::parse(bytes) {
            Ok(request) => self.handle_guarded(&request, batch),
            Err(error) => {
                tracing::error!(%error, "a request of the kernel was not understood");
                if let Some(unique) = error.reply_to() {
                    self.refuse(unique, Errno::EIO);
                }
                None
            }
        }
    }

    /// Handles one request; a panic ends that request alone.
    fn handle_guarded(&self, request: &Request<'_>, batch: &mut Batch) -> Option<IoRequest> {
        let guarded = std::panic::AssertUnwindSafe(|| self.handle(request, batch));
        std::panic::catch_unwind(guarded).unwrap_or_else(|_| {
            tracing::error!(opcode = request.header.opcode, "a request met a bug");
            self.refuse(request.header.unique, Errno::EIO);
            None
        })
    }

    fn handle(&self, request: &Request<'_>, batch: &mut Batch) -> Option<IoRequest> {
        let header = &request.header;
        let unique = header.unique;
        match request.operation {
            Operation::Ioctl { flags, .. } if flags & FUSE_IOCTL_DIR != 0 => {
                self.refuse(unique, Errno::ENOTTY);
            }
            Operation::Ioctl { fh, flags, cmd, arg, data, .. } => {
                let is_compat = flags & FUSE_IOCTL_COMPAT != 0;
                let call = IoctlCall { header, fh, is_compat, command: cmd, argument: arg, data };
                return self.ioctl(&call, batch);
            }
            Operation::Poll { fh, kh, flags, .. } => self.poll(header, fh, kh, flags),
            Operation::Interrupt { unique: target } => self.interrupt(unique, target, 0),
            Operation::Init(offer) => self.init(unique, &offer),
            Operation::Lookup { name } => {
                let found = self.tree().lookup(header.node, name, header.pid);
                self.respond(unique, found, |entry| reply::entry(unique, &entry));
            }
            Operation::Forget { lookups } => {
                self.housekeeping.note_close();
                self.tree().forget(header.node, lookups);
            }
            Operation::BatchForget(batch) => {
                self.housekeeping.note_close();
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
                Some((file, process)) if !binder_os::processes::is_own(header.pid) => {
                    self.note_close_in_ring(&file);
                    self.submit_in_line(&file.device, Job::Event(Event::Flush { unique, process }));
                }
                Some(_) | None => send(&self.fuse, &reply::empty(unique)),
            },
            Operation::Release(release) => {
                self.housekeeping.note_close();
                let file = self.remove_file(release.fh);
                // The kernel does not wait for what happens to the process.
                send(&self.fuse, &reply::empty(unique));
                if let Some(file) = file {
                    self.forget_file(file);
                }
            }
            Operation::Read(read) => self.read(header, &read),
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
            Operation::Write { .. } | Operation::Fsync { .. } => self.refuse(unique, Errno::EINVAL),
            Operation::Mknod { .. }
            | Operation::Mkdir { .. }
            | Operation::Rmdir { .. }
            | Operation::Symlink { .. }
            | Operation::Link { .. }
            | Operation::Create { .. } => self.refuse(unique, Errno::EPERM),
            Operation::Destroy => send(&self.fuse, &reply::empty(unique)),
            Operation::Access { .. }
            | Operation::ReadLink
            | Operation::FsyncDir { .. }
            | Operation::Lseek { .. }
            | Operation::Fallocate { .. }
            | Operation::ReadDirPlus(_)
            | Operation::GetXattr { .. }
            | Operation::ListXattr { .. }
            | Operation::Other(_) => self.refuse(unique, Errno::ENOSYS),
        }
        None
    }

    fn forget_file(&self, file: File) {
        match file {
            File::Device { file, process, .. } => self.close_file(&file, process),
            File::Events(follower) => self.events().forget(follower),
            File::Trace(follower) => self.close_trace(follower),
            File::Control | File::Feature(_) | File::Log { .. } => {}
        }
    }

    /// Closes what is open. Of a file that keeps a detached mount the kernel may not tell that it was closed, since the file
    /// system is gone with it; and a device with an open file would keep itself, the connection and all memory.
    fn close_all(&self) {
        let open = std::mem::take(&mut *self.files_to_change());
        open.into_iter().for_each(|(_, file)| self.forget_file(file));
    }

    /// Changes what a remount may change.
    pub(crate) fn remount(&self, devices_max: u32, is_read_only: bool) {
        let mut tree = self.tree();
        tree.limit_devices(devices_max);
        tree.set_read_only(is_read_only);
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
                self.refuse(unique, Errno::EIO);
            }
        }
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
                return self.refuse(unique, refused);
            }
        }
        // Times and sizes mean nothing here; open(2) with O_TRUNC sets a size and must not fail.
        self.attr(unique, node);
    }

    pub(crate) fn respond<'m, T>(
        &self,
        unique: u64,
        result: Result<T, Errno>,
        reply: impl FnOnce(T) -> Message<'m>,
    ) {
        match result {
            Ok(value) => send(&self.fuse, &reply(value)),
            Err(refused) => self.refuse(unique, refused),
        }
    }
}
