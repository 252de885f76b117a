//! Every binderfs that this process serves: the first, and those that programs mount themselves.

use std::collections::HashMap;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, Weak};
use std::thread;

use binder_core::Errno;
use binder_os::mounts::DetachedMount;
use binder_os::proc_files::{self, DeviceNumber};
use binder_os::seccomp::TrappedCall;
use binder_os::{MountView, PathKind, processes};

use crate::error::MountError;
use crate::expected_calls::ExpectedCall;
use crate::options::{FsParameters, Options};
use crate::session::MountedBinderfs;
use crate::shared::SessionShared;
use crate::strings::{Strings, errno};
use crate::supervision::TrapAnswerer;
use crate::trapped_call::{MountAnswer, UnansweredCall};

const MS_RDONLY: u32 = 1;
const MS_REMOUNT: u32 = 32;

/// How many binderfs there may be at a time: each has threads of its own.
const MOUNTS_MAX: usize = 128;

/// What programs know as the type of the file system.
pub(crate) const FILE_SYSTEM: &[u8] = b"binder";

/// All binderfs that are served.
pub(crate) struct Mounts {
    /// Those of the first.
    options: Options,
    /// Whether the clients have the filter by which we are asked.
    is_asked: AtomicBool,
    /// Whether that holds their calls against signals.
    can_add_fds: AtomicBool,
    trap_handler: OnceLock<Weak<dyn TrapAnswerer>>,
    by_device: Mutex<HashMap<DeviceNumber, ServedMount>>,
}

struct ServedMount {
    session: Weak<SessionShared>,
    /// Of the process that mounted it, which may change it.
    user_namespace: u64,
    statistics: bool,
}

impl Mounts {
    /// Those of a world that begins with `session`, which has these options.
    pub(crate) fn new(session: &MountedBinderfs, options: &Options) -> io::Result<Self> {
        let own = MountView::of(std::process::id())?.user_namespace();
        let mounts = Self {
            options: options.clone(),
            is_asked: AtomicBool::new(false),
            can_add_fds: AtomicBool::new(false),
            trap_handler: OnceLock::new(),
            by_device: Mutex::default(),
        };
        mounts.register(session, own, false);
        Ok(mounts)
    }

    /// Clients have a filter more than this process from here on; `can_add_fds` if it holds their
    /// calls whatever signals come.
    pub(crate) fn begin_to_be_asked(&self, can_add_fds: bool) {
        self.is_asked.store(true, Ordering::Relaxed);
        self.can_add_fds.store(can_add_fds, Ordering::Relaxed);
        for session in self.sessions() {
            session.supervision.expect_another_filter(can_add_fds);
        }
    }

    /// Has readers take the calls that they expect, as `trap_handler` is told of them.
    pub(crate) fn set_trap_handler(&self, trap_handler: Weak<dyn TrapAnswerer>) {
        let _ = self.trap_handler.set(trap_handler);
        self.sessions().iter().for_each(|session| self.introduce(session));
    }

    fn introduce(&self, session: &SessionShared) {
        if let Some(trap_handler) = self.trap_handler.get() {
            session.supervision.set_trap_handler(trap_handler.clone());
        }
    }

    /// Finds what thread `tid` was sent to the supervisor for.
    pub(crate) fn take_expected(
        &self,
        tid: u32,
        argument: u64,
    ) -> Option<(Arc<SessionShared>, ExpectedCall)> {
        self.sessions().into_iter().find_map(|session| {
            let expected = session.expected.take(tid, argument)?;
            Some((session, expected))
        })
    }

    /// Whether thread `tid` was to ask for the supervisor.
    pub(crate) fn is_asking(&self, tid: u32) -> bool {
        self.sessions().iter().any(|session| session.expected.is_asking(tid))
    }

    /// Has process `pid` be left alone.
    pub(crate) fn note_filter(&self, pid: u32) {
        for session in self.sessions() {
            session.note_filter(pid);
        }
    }

    fn sessions(&self) -> Vec<Arc<SessionShared>> {
        self.by_device().values().filter_map(|served| served.session.upgrade()).collect()
    }

    fn register(&self, session: &MountedBinderfs, user_namespace: u64, statistics: bool) {
        let shared = session.shared();
        if self.is_asked.load(Ordering::Relaxed) {
            shared.supervision.expect_another_filter(self.can_add_fds.load(Ordering::Relaxed));
        }
        self.introduce(shared);
        let session = Arc::downgrade(shared);
        self.by_device()
            .insert(shared.device(), ServedMount { session, user_namespace, statistics });
    }

    /// Finds what serves the files of a device.
    pub(crate) fn session(&self, device: DeviceNumber) -> Option<Arc<SessionShared>> {
        self.by_device().get(&device)?.session.upgrade()
    }

    /// Answers mount(2).
    pub(crate) fn mount(
        self: &Arc<Self>,
        unanswered: &UnansweredCall,
    ) -> Result<MountAnswer, Errno> {
        let tid = unanswered.notification.tid;
        let TrappedCall::Mount { source, target, kind, flags, data } = unanswered.notification.call
        else {
            return Ok(MountAnswer::Proceed);
        };
        let Ok(mut strings) = Strings::of(tid) else { return Ok(MountAnswer::Proceed) };
        let is_remount = flags & MS_REMOUNT != 0;
        if !is_remount && strings.read(kind).ok().flatten().as_deref() != Some(FILE_SYSTEM) {
            return Ok(MountAnswer::Proceed);
        }
        let source = strings.read(source)?.unwrap_or_default();
        let target = strings.read(target)?.ok_or(Errno::EFAULT)?;
        let data = strings.read(data)?.unwrap_or_default();
        let view = MountView::of(tid).map_err(|error| errno(&error))?;
        if !unanswered.is_pending() {
            return Ok(MountAnswer::Proceed);
        }
        let kind = if is_remount { PathKind::Any } else { PathKind::Directory };
        let place = view.visit(|there| there.resolve(None, &target, kind));
        let place = place.map_err(|error| errno(&error))?;
        let is_read_only = flags & MS_RDONLY != 0;
        if is_remount {
            return self.remount(&view, place.as_fd(), &data, is_read_only);
        }
        if !view.may_mount().map_err(|error| errno(&error))? {
            return Err(Errno::EPERM);
        }
        let mut parameters = FsParameters::parse(&data, || view.administers_all())?;
        parameters.is_read_only |= is_read_only;
        let mount = self.make(parameters, &view, tid, &source)?;
        let attached = view.visit(|_| mount.attach_to(place.as_fd()));
        attached.map(|()| MountAnswer::Done).map_err(|error| errno(&error))
    }

    /// Changes the limit of devices, and whether it is read-only, if `place` is in a binderfs of ours.
    fn remount(
        &self,
        view: &MountView,
        place: BorrowedFd<'_>,
        data: &[u8],
        is_read_only: bool,
    ) -> Result<MountAnswer, Errno> {
        let file = proc_files::id_of(place).map_err(|error| errno(&error))?;
        let by_device = self.by_device();
        let Some(served) = by_device.get(&file.device) else { return Ok(MountAnswer::Proceed) };
        let Some(session) = served.session.upgrade() else { return Ok(MountAnswer::Proceed) };
        if !view.administers(served.user_namespace) {
            return Err(Errno::EPERM);
        }
        // mount(8) repeats what it finds in mountinfo, and there are the words of FUSE.
        let words = data.split(|byte| *byte == b',').filter(|word| !is_of_fuse(word));
        let parameters =
            FsParameters::parse(&words.collect::<Vec<_>>().join(&b','), || view.administers_all())?;
        if parameters.statistics != served.statistics {
            return Err(Errno::EINVAL);
        }
        session.remount(parameters.devices_max, is_read_only || parameters.is_read_only);
        Ok(MountAnswer::Done)
    }

    /// Makes a further binderfs, as wished for by thread `tid`, and serves it until it is unmounted.
    pub(crate) fn make(
        self: &Arc<Self>,
        parameters: FsParameters,
        view: &MountView,
        tid: u32,
        source: &[u8],
    ) -> Result<DetachedMount, Errno> {
        let FsParameters { devices_max, statistics, is_read_only } = parameters;
        let devices = Options::default().devices;
        let rest = self.options.clone();
        let options = Options { devices, devices_max, statistics, is_read_only, ..rest };
        let has_room = usize::try_from(devices_max).is_ok_and(|max| options.devices.len() <= max);
        if !has_room || self.by_device().len() >= MOUNTS_MAX {
            return Err(Errno::ENOSPC);
        }
        let source = if source.is_empty() { FILE_SYSTEM } else { source };
        let (session, mount) = MountedBinderfs::detached(&options, owner(tid), source).map_err(
            |error| match error {
                MountError::Open(source)
                | MountError::Create(source)
                | MountError::Scheduling(source)
                | MountError::Mount { source, .. } => errno(&source),
                MountError::Name { .. } => Errno::EINVAL,
                MountError::Descriptors { .. } => Errno::EMFILE,
            },
        )?;
        self.register(&session, view.user_namespace(), statistics);
        let mounts = self.clone();
        let serve = move || {
            if let Err(error) = session.serve() {
                tracing::error!(%error, "a binderfs that a program mounted is served no more");
            }
            mounts.by_device().retain(|_, served| served.session.strong_count() > 0);
        };
        // The new thread takes what it has from this one, whose root and mounts are our own.
        thread::Builder::new()
            .name("binderfs".into())
            .spawn(serve)
            .map_err(|error| errno(&error))?;
        tracing::info!(tid, "a program has mounted binderfs");
        Ok(mount)
    }

    fn by_device(&self) -> MutexGuard<'_, HashMap<DeviceNumber, ServedMount>> {
        self.by_device.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

/// Whether an option is one that mountinfo shows of our mounts.
fn is_of_fuse(word: &[u8]) -> bool {
    let names = [&b"user_id="[..], b"group_id=", b"default_permissions", b"allow_other"];
    names.iter().any(|name| word.starts_with(name))
}

/// Whose the files of a binderfs are that thread `tid` mounts: root's of its user namespace. One that
/// has no root is of one user only.
fn owner(tid: u32) -> (u32, u32) {
    if proc_files::shares_user_namespace(tid).unwrap_or(true) {
        return processes::user();
    }
    let root = proc_files::root_of_user_namespace(tid).ok().flatten();
    root.unwrap_or_else(processes::user)
}
