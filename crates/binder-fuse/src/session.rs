//! A mounted binderfs: reads FUSE requests, answers what concerns names itself, and passes what
//! concerns Binder on to the driver.

use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, RwLock};

use binder_core::ProcessKey;
use binder_os::{FileId, FuseDevice, Mapping, MountOptions, ReadError, proc_files};
use binder_uapi::{BINDER_CTL_ADD, BinderfsDevice};
use fuse_wire::flags::{
    FOPEN_DIRECT_IO, FOPEN_KEEP_CACHE, FOPEN_PASSTHROUGH, FUSE_IOCTL_DIR, FUSE_MAX_PAGES,
    FUSE_PASSTHROUGH,
};
use fuse_wire::{
    DirentBuffer, Header, InitOffer, InitTerms, Message, Opened, Operation, Read, Request, SetAttr,
    StatFs, reply,
};
use slab::Slab;
use zerocopy::{FromBytes, IntoBytes};

use crate::alarm::{Alarm, Sleeper};
use crate::client::{self, Client};
use crate::driver::{Asker, DeviceId, Driver, EIO, Job, O_NONBLOCK};
use crate::housekeeper::{Housekeeper, Watch};
use crate::mapping::{BUFFER_BYTES, ReceiveBuffer, Route};
use crate::reserve::{Bell, Reserve};
use crate::tree::{Place, Refused, Sharing, Tree};
use crate::turn::Turn;
use crate::wire::send;

const EINVAL: i32 = 22;
const ENOTTY: i32 = 25;
const ENOSYS: i32 = 38;
const EPERM: i32 = 1;

/// Room for one request: the kernel wants 8 KiB at least.
const REQUEST_BYTES: usize = 16 << 10;

/// What is mounted, and how.
#[derive(Clone, Debug)]
pub struct Options {
    /// The devices that exist from the start.
    pub devices: Vec<DeviceSpec>,
    /// How receive buffers reach their clients.
    pub delivery: Delivery,
    /// The security label of a process to which no security module gives one, without NULs and not
    /// empty. A node that asks for labels gets a text always: servers that ask depend on it.
    pub security_label: String,
    /// Whether threads that serve a call become as nice as the caller.
    pub inherits_nice: bool,
}

/// A device that exists from the start.
#[derive(Clone, Debug)]
pub struct DeviceSpec {
    /// Its file name.
    pub name: String,
    /// Its permission bits.
    pub mode: u32,
}

/// How receive buffers should reach their clients.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Delivery {
    /// By passthrough where the kernel allows it, else by storing.
    #[default]
    Auto,
    /// By passthrough; opens fail where the kernel does not allow it.
    Passthrough,
    /// By storing into the page cache, also where passthrough is allowed.
    Store,
}

impl Default for Options {
    fn default() -> Self {
        let devices = ["binder", "hwbinder", "vndbinder"];
        Self {
            devices: devices.map(|name| DeviceSpec { name: name.into(), mode: 0o600 }).into(),
            delivery: Delivery::Auto,
            security_label: "u:r:unlabeled:s0".into(),
            inherits_nice: false,
        }
    }
}

/// Why binderfs could not be mounted.
#[derive(Debug, thiserror::Error)]
pub enum MountError {
    /// The device of FUSE cannot be opened.
    #[error("/dev/fuse cannot be opened: {0}")]
    Open(#[source] io::Error),
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
    Device { device: DeviceId, process: ProcessKey, memory: Option<Arc<Mapping>> },
    Control,
    Feature,
}

/// A mounted binderfs. It answers while [`serve`](Session::serve) runs.
pub struct Session {
    shared: Arc<Shared>,
}

/// What all threads of a session share.
///
/// Locks are taken one at a time, never one within another, with two exceptions: a job of the driver
/// may take `files`, and a device is added to the driver while `tree` is held. No job takes `tree`.
pub(crate) struct Shared {
    fuse: Arc<FuseDevice>,
    delivery: Delivery,
    security_label: String,
    /// Chosen when the first device is opened.
    route: OnceLock<Route>,
    /// The device number by which /proc shows files of this mount.
    mount: proc_files::Device,
    tree: Mutex<Tree>,
    files: Arc<RwLock<Slab<File>>>,
    driver: Turn<Driver, Job>,
    pub(crate) watch: Watch,
    pub(crate) bell: Bell,
    pub(crate) alarm: Arc<Alarm>,
}

impl Session {
    /// Mounts binderfs at `dir`. Whoever looks into it waits until [`serve`](Self::serve) runs.
    ///
    /// # Errors
    ///
    /// [`MountError`] without access to /dev/fuse or the right to mount.
    pub fn mount(dir: &Path, options: &Options) -> Result<Self, MountError> {
        let fuse = Arc::new(FuseDevice::open().map_err(MountError::Open)?);
        let (uid, gid) = binder_os::processes::user();
        let mut tree = Tree::new(uid, gid);
        let alarm = Arc::<Alarm>::default();
        let driver = Turn::new(Driver::new(fuse.clone(), alarm.clone(), options.inherits_nice));
        for spec in &options.devices {
            let id = tree.add_device(spec.name.as_bytes(), spec.mode).map_err(|refused| {
                let reason = match refused {
                    Refused::EEXIST => "it is taken",
                    _ => "it is empty, too long, or has a slash",
                };
                MountError::Name { name: spec.name.clone(), reason }
            })?;
            driver.submit(Job::AddDevice(id), Driver::run);
        }
        let failed = |source| MountError::Mount { dir: dir.display().to_string(), source };
        let mount_options = MountOptions {
            name: "anybinder".into(),
            user_id: uid,
            group_id: gid,
            allow_other: true,
            default_permissions: true,
            max_read_bytes: None,
        };
        fuse.mount(dir, &mount_options).map_err(failed)?;
        let shared = Shared {
            fuse,
            delivery: options.delivery,
            security_label: options.security_label.clone(),
            route: OnceLock::new(),
            mount: proc_files::device_of(dir).map_err(failed)?,
            tree: Mutex::new(tree),
            files: Arc::default(),
            driver,
            watch: Watch::default(),
            bell: Bell::default(),
            alarm,
        };
        Ok(Self { shared: Arc::new(shared) })
    }

    /// Answers requests until the file system is unmounted.
    ///
    /// # Errors
    ///
    /// [`ServeError`] if it ends in any other way.
    pub fn serve(self) -> Result<(), ServeError> {
        let shared = &self.shared;
        let housekeeper = Housekeeper::start(shared).map_err(ServeError::Thread)?;
        let reserve = Reserve::start(shared).map_err(ServeError::Thread)?;
        let sleeper = Sleeper::start(shared).map_err(ServeError::Thread)?;
        let result = shared.answer_requests();
        housekeeper.stop();
        sleeper.stop();
        if result.is_ok() {
            // Otherwise it may sleep in a read of what is mounted still.
            reserve.stop();
        }
        Ok(result?)
    }
}

impl Shared {
    /// Answers requests until the file system is unmounted.
    fn answer_requests(&self) -> Result<(), ReadError> {
        let mut buffer = vec![0; REQUEST_BYTES];
        loop {
            self.watch.begin_wait();
            let read = self.fuse.read(&mut buffer);
            self.watch.end_wait();
            match read {
                Ok(len) => self.answer_request(&buffer[..len]),
                Err(ReadError::Unmounted) => return Ok(()),
                Err(error) => return Err(error),
            }
        }
    }

    /// Answers one request in place of the thread that should, and is stuck. Says whether there may
    /// be more.
    pub(crate) fn answer_one_request(&self, buffer: &mut Vec<u8>) -> bool {
        buffer.resize(REQUEST_BYTES, 0);
        let read = self.fuse.read(buffer);
        if let Ok(len) = read {
            self.answer_request(&buffer[..len]);
        }
        read.is_ok()
    }

    fn answer_request(&self, bytes: &[u8]) {
        match Request::parse(bytes) {
            Ok(request) => self.handle_guarded(&request),
            Err(error) => {
                tracing::error!(%error, "a request of the kernel was not understood");
                if let Some(unique) = error.reply_to() {
                    self.refuse(unique, EIO);
                }
            }
        }
    }

    /// Handles one request; a panic ends that request alone.
    fn handle_guarded(&self, request: &Request<'_>) {
        let guarded = std::panic::AssertUnwindSafe(|| self.handle(request));
        if std::panic::catch_unwind(guarded).is_err() {
            tracing::error!(opcode = request.header.opcode, "a request met a bug");
            self.refuse(request.header.unique, EIO);
        }
    }

    fn handle(&self, request: &Request<'_>) {
        let header = &request.header;
        let unique = header.unique;
        match request.operation {
            Operation::Ioctl { flags, .. } if flags & FUSE_IOCTL_DIR != 0 => {
                self.refuse(unique, ENOTTY);
            }
            Operation::Ioctl { fh, cmd, data, .. } => self.ioctl(header, fh, cmd, data),
            Operation::Poll { fh, kh, flags, .. } => match self.asker(header, fh) {
                Some(asker) => self.submit(Job::Poll { asker, handle: kh, flags }),
                None => self.refuse(unique, EINVAL),
            },
            Operation::Interrupt { unique: target } => {
                self.submit(Job::Interrupt { unique, target });
            }
            Operation::Init(offer) => self.init(unique, &offer),
            Operation::Lookup { name } => {
                let found = self.tree().lookup(header.node, name, header.pid);
                self.respond(unique, found, |entry| reply::entry(unique, &entry));
            }
            Operation::Forget { lookups } => self.tree().forget(header.node, lookups),
            Operation::BatchForget(batch) => {
                let mut tree = self.tree();
                for one in batch {
                    tree.forget(one.node, one.lookups);
                }
            }
            Operation::GetAttr { .. } => self.attr(unique, header.node),
            Operation::SetAttr(change) => self.set_attr(unique, header.node, &change),
            Operation::Open { flags } => self.open(header, flags),
            Operation::Flush { fh, .. } => match self.process_of(fh) {
                Some((device, process)) => self.submit(Job::Flush { unique, device, process }),
                None => send(&self.fuse, &reply::empty(unique)),
            },
            Operation::Release(release) => {
                let file = self.remove_file(release.fh);
                // The kernel does not wait for what happens to the process.
                send(&self.fuse, &reply::empty(unique));
                if let Some(File::Device { device, process, .. }) = file {
                    self.submit(Job::Release { device, process });
                }
            }
            Operation::Read(read) => self.read(unique, &read),
            Operation::OpenDir { .. } => {
                send(&self.fuse, &reply::open(unique, &Opened::default()));
            }
            Operation::ReadDir(read) => self.read_dir(unique, header.node, &read),
            Operation::ReleaseDir(_) => send(&self.fuse, &reply::empty(unique)),
            Operation::Unlink { name } => {
                let gone = self.tree().unlink(header.node, name);
                self.respond(unique, gone, |()| reply::empty(unique));
            }
            Operation::StatFs => {
                let figures = StatFs { block_size: 4096, name_max: 255, ..StatFs::default() };
                send(&self.fuse, &reply::statfs(unique, &figures));
            }
            Operation::Write { .. } => self.refuse(unique, EINVAL),
            Operation::Mknod { .. }
            | Operation::Mkdir { .. }
            | Operation::Rmdir { .. }
            | Operation::Symlink { .. }
            | Operation::Link { .. }
            | Operation::Create { .. }
            | Operation::Rename { .. } => self.refuse(unique, EPERM),
            Operation::Destroy => send(&self.fuse, &reply::empty(unique)),
            Operation::Access { .. }
            | Operation::ReadLink
            | Operation::Fsync { .. }
            | Operation::FsyncDir { .. }
            | Operation::Lseek { .. }
            | Operation::Fallocate { .. }
            | Operation::ReadDirPlus(_)
            | Operation::GetXattr { .. }
            | Operation::ListXattr { .. }
            | Operation::Other(_) => self.refuse(unique, ENOSYS),
        }
    }

    pub(crate) fn submit(&self, job: Job) {
        self.driver.submit(job, Driver::run);
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

    /// How receive buffers reach clients: found out at the first need, since the kernel must have
    /// agreed on passthrough before it can be tried.
    fn route(&self) -> Route {
        *self.route.get_or_init(|| {
            let route = match self.delivery {
                Delivery::Passthrough => Route::Passthrough,
                Delivery::Store => Route::Store,
                Delivery::Auto => match ReceiveBuffer::new(Route::Passthrough, &self.fuse, 0) {
                    Ok(buffer) => {
                        buffer.close(&self.fuse);
                        Route::Passthrough
                    }
                    Err(_) => Route::Store,
                },
            };
            tracing::info!(?route, "the way of receive buffers to their clients is chosen");
            route
        })
    }

    fn ioctl(&self, header: &Header, fh: u64, command: u32, data: &[u8]) {
        if command == BINDER_CTL_ADD && self.is_control(fh) {
            return self.add_device(header.unique, data);
        }
        let mut copy = [0; 48];
        match (self.asker(header, fh), copy.get_mut(..data.len())) {
            (Some(asker), Some(room)) => {
                room.copy_from_slice(data);
                self.submit(Job::Ioctl { asker, command, data: copy, len: data.len() });
            }
            (Some(_), None) | (None, _) => self.refuse(header.unique, EINVAL),
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
        self.submit(Job::AddDevice(id));
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

    fn open(&self, header: &Header, flags: u32) {
        let unique = header.unique;
        let place = self.tree().place(header.node);
        match place {
            Ok(Place::Device(device)) => self.open_device(header, device, flags),
            Ok(Place::Control) => self.opened(unique, File::Control, FOPEN_DIRECT_IO, 0),
            Ok(Place::Feature) => self.opened(unique, File::Feature, FOPEN_DIRECT_IO, 0),
            Ok(Place::Root | Place::Features) | Err(_) => self.refuse(unique, EINVAL),
        }
    }

    /// Opens a device: the calling process gets a receive buffer and becomes a process of the
    /// device's context.
    fn open_device(&self, header: &Header, device: DeviceId, flags: u32) {
        let unique = header.unique;
        let taken = self.tree().take_for_open(header.node, header.pid);
        let sharing = match taken {
            Ok(sharing) => sharing,
            Err(refused) => return self.refuse(unique, refused as i32),
        };
        let (opener, client) = match self.meet(header, sharing, flags) {
            Ok(met) => met,
            Err(error) => {
                tracing::warn!(%error, tid = header.pid, "a process could not open the device");
                return self.refuse(unique, error.raw_os_error().unwrap_or(EIO));
            }
        };
        let (fuse, files) = (self.fuse.clone(), self.files.clone());
        let memory = client.buffer.readable().cloned();
        let backing = client.buffer.backing();
        let opened = Box::new(move |process| {
            let file = File::Device { device, process, memory };
            let (flags, backing_id) = match backing {
                Some(id) => (FOPEN_PASSTHROUGH, i32::try_from(id.get()).unwrap_or(0)),
                // What was stored must survive the open, and later ones of other inodes.
                None => (FOPEN_KEEP_CACHE, 0),
            };
            let fh = insert_file(&files, file);
            send(&fuse, &reply::open(unique, &Opened { fh, flags, backing_id }));
        });
        self.submit(Job::Open { unique, device, opener, client: Box::new(client), opened });
    }

    /// Finds out who opens a file, and makes its receive buffer.
    fn meet(
        &self,
        header: &Header,
        sharing: Sharing,
        flags: u32,
    ) -> io::Result<(binder_core::Opener, Client)> {
        let pid = proc_files::tgid_of(header.pid)?;
        let opener = client::identify(pid, &self.security_label)?;
        let route = match sharing {
            Sharing::Exclusive => self.route(),
            Sharing::Shared => Route::Private,
        };
        let buffer = ReceiveBuffer::new(route, &self.fuse, header.node)?;
        let file = FileId { device: self.mount, inode: header.node };
        let is_nonblocking = flags & O_NONBLOCK != 0;
        Ok((opener, Client::new(pid, file, buffer, is_nonblocking)?))
    }

    fn opened(&self, unique: u64, file: File, flags: u32, backing_id: i32) {
        let fh = insert_file(&self.files, file);
        send(&self.fuse, &reply::open(unique, &Opened { fh, flags, backing_id }));
    }

    /// Reads a feature file, or a page of a receive buffer that a client touches.
    fn read(&self, unique: u64, read: &Read) {
        let memory = match self.files().get(index(read.fh)) {
            Some(File::Device { memory: Some(memory), .. }) => memory.clone(),
            Some(File::Device { memory: None, .. }) => {
                let zeros = vec![0; (read.size as usize).min(BUFFER_BYTES)];
                return send(&self.fuse, &reply::data(unique, &zeros));
            }
            Some(File::Feature) => {
                let text = self.tree().feature_text();
                let start = usize::try_from(read.offset).unwrap_or(usize::MAX).min(text.len());
                let end = start.saturating_add(read.size as usize).min(text.len());
                return send(&self.fuse, &reply::data(unique, &text[start..end]));
            }
            Some(File::Control) | None => return self.refuse(unique, EINVAL),
        };
        let start = usize::try_from(read.offset).unwrap_or(usize::MAX).min(BUFFER_BYTES);
        let mut bytes = vec![0; (read.size as usize).min(BUFFER_BYTES - start)];
        match memory.read(start, &mut bytes) {
            Ok(()) => send(&self.fuse, &reply::data(unique, &bytes)),
            Err(_) => self.refuse(unique, EIO),
        }
    }

    fn read_dir(&self, unique: u64, node: u64, read: &Read) {
        let entries = match self.tree().list(node) {
            Ok(entries) => entries,
            Err(refused) => return self.refuse(unique, refused as i32),
        };
        let mut bytes = vec![0; (read.size as usize).min(64 << 10)];
        let mut listed = DirentBuffer::new(&mut bytes);
        let skipped = usize::try_from(read.offset).unwrap_or(usize::MAX);
        for (at, (inode, mode, name)) in entries.iter().enumerate().skip(skipped) {
            if listed.push(*inode, at as u64 + 1, *mode, name).is_err() {
                break;
            }
        }
        send(&self.fuse, &reply::data(unique, listed.into_bytes()));
    }

    fn asker(&self, header: &Header, fh: u64) -> Option<Asker> {
        let (device, process) = self.process_of(fh)?;
        let Header { unique, pid: tid, uid, .. } = *header;
        Some(Asker { unique, device, process, tid, uid })
    }

    fn process_of(&self, fh: u64) -> Option<(DeviceId, ProcessKey)> {
        match self.files().get(index(fh))? {
            File::Device { device, process, .. } => Some((*device, *process)),
            File::Control | File::Feature => None,
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

    fn tree(&self) -> MutexGuard<'_, Tree> {
        self.tree.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
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
