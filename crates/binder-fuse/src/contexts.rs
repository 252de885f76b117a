//! binderfs mounted by fsopen(2), fsconfig(2), fsmount(2).
//!
//! What a program holds before fsmount(2) is a token of ours. From then on it is the root directory of
//! a real mount; but that mount lasts only while we hold it, until move_mount(2) gives it a place. The
//! descriptor of the mount itself cannot be given away: it is one that only names.

use std::collections::{HashMap, VecDeque};
use std::os::fd::AsFd;
use std::sync::{Arc, Mutex, MutexGuard};

use binder_core::Errno;
use binder_os::mounts::DetachedMount;
use binder_os::proc_files::DeviceNumber;
use binder_os::seccomp::TrappedCall;
use binder_os::{FileId, MountView, PathKind, PipeToken};

use crate::mounts::{FILE_SYSTEM, Mounts};
use crate::options::FsParameters;
use crate::strings::{Strings, errno};
use crate::trapped_call::{MountAnswer, UnansweredCall};

/// The one flag of fsopen(2) and of fsmount(2).
const CLOEXEC: u32 = 1;

const FSCONFIG_SET_FLAG: u32 = 0;
const FSCONFIG_SET_STRING: u32 = 1;
const FSCONFIG_CMD_CREATE: u32 = 6;
const FSCONFIG_CMD_RECONFIGURE: u32 = 7;
const FSCONFIG_CMD_CREATE_EXCL: u32 = 8;

/// How many may be under way at a time.
const CONTEXTS_MAX: usize = 64;

/// How many mounts without a place are kept; the oldest is given up for a further one.
const PLACELESS_MAX: usize = 16;

const AT_FDCWD: i32 = -100;
const MOVE_MOUNT_F_EMPTY_PATH: u32 = 0x04;
const MOVE_MOUNT_T_SYMLINKS: u32 = 0x10;
const MOVE_MOUNT_T_EMPTY_PATH: u32 = 0x40;

/// All mounts that are under way.
#[derive(Default)]
pub(crate) struct Contexts {
    by_token: Mutex<HashMap<FileId, NamedContext>>,
    placeless: Mutex<VecDeque<(DeviceNumber, DetachedMount)>>,
}

struct NamedContext {
    token: PipeToken,
    source: Vec<u8>,
    parameters: FsParameters,
    phase: Phase,
}

enum Phase {
    /// Options are being set.
    Open,
    /// The file system is made.
    Made(DetachedMount),
    /// It was handed out, or could not be made.
    Over,
}

impl Contexts {
    /// Whether a file is a token of ours.
    pub(crate) fn holds(&self, file: FileId) -> bool {
        self.by_token().contains_key(&file)
    }

    /// Answers fsopen(2).
    pub(crate) fn open(&self, unanswered: &UnansweredCall) -> Result<MountAnswer, Errno> {
        let tid = unanswered.notification.tid;
        let TrappedCall::OpenContext { kind, flags } = unanswered.notification.call else {
            return Ok(MountAnswer::Proceed);
        };
        let kind = Strings::of(tid).ok().and_then(|mut strings| strings.read(kind).ok().flatten());
        if kind.as_deref() != Some(FILE_SYSTEM) {
            return Ok(MountAnswer::Proceed);
        }
        self.check_right(unanswered)?;
        if flags & !CLOEXEC != 0 {
            return Err(Errno::EINVAL);
        }
        let (token, file) = PipeToken::new().map_err(|error| errno(&error))?;
        let mut by_token = self.by_token();
        by_token.retain(|_, context| context.token.is_held());
        if by_token.len() >= CONTEXTS_MAX {
            return Err(Errno::ENOMEM);
        }
        let (source, parameters) = (Vec::new(), FsParameters::default());
        by_token.insert(token.id(), NamedContext { token, source, parameters, phase: Phase::Open });
        Ok(MountAnswer::Given(Box::new(file), flags & CLOEXEC != 0))
    }

    /// Answers fsconfig(2) for one of ours.
    pub(crate) fn configure(
        &self,
        unanswered: &UnansweredCall,
        file: FileId,
        mounts: &Arc<Mounts>,
    ) -> Result<MountAnswer, Errno> {
        let tid = unanswered.notification.tid;
        let TrappedCall::Configure { command, key, value, .. } = unanswered.notification.call
        else {
            return Ok(MountAnswer::Proceed);
        };
        let view = MountView::of(tid).map_err(|error| errno(&error))?;
        let mut strings = Strings::of(tid).map_err(|error| errno(&error))?;
        let (key, value) = match command {
            FSCONFIG_SET_FLAG => (strings.read(key)?, None),
            FSCONFIG_SET_STRING => (strings.read(key)?, strings.read(value)?),
            _ => (None, None),
        };
        if !unanswered.is_pending() {
            return Ok(MountAnswer::Proceed);
        }
        let mut by_token = self.by_token();
        let context = by_token.get_mut(&file).ok_or(Errno::EINVAL)?;
        if !matches!(context.phase, Phase::Open) {
            return Err(Errno::EBUSY);
        }
        match (command, key, value) {
            (FSCONFIG_SET_STRING, Some(key), Some(source)) if key == b"source" => {
                context.source = source;
            }
            (FSCONFIG_SET_FLAG, Some(key), None) => {
                context.parameters.set(&key, None, || view.administers_all())?;
            }
            (FSCONFIG_SET_STRING, Some(key), Some(value)) => {
                context.parameters.set(&key, Some(&value), || view.administers_all())?;
            }
            (FSCONFIG_SET_FLAG | FSCONFIG_SET_STRING, _, _) => return Err(Errno::EFAULT),
            // Every binderfs is a new one.
            (FSCONFIG_CMD_CREATE | FSCONFIG_CMD_CREATE_EXCL, _, _) => {
                context.phase = Phase::Over;
                let NamedContext { parameters, source, .. } = &*context;
                let made = mounts.make(*parameters, &view, tid, source)?;
                context.phase = Phase::Made(made);
            }
            (FSCONFIG_CMD_RECONFIGURE, _, _) => return Err(Errno::EINVAL),
            _ => return Err(Errno::EOPNOTSUPP),
        }
        Ok(MountAnswer::Done)
    }

    /// Answers fsmount(2) for one of ours.
    pub(crate) fn make_mount(
        &self,
        unanswered: &UnansweredCall,
        file: FileId,
    ) -> Result<MountAnswer, Errno> {
        let TrappedCall::MakeMount { flags, .. } = unanswered.notification.call else {
            return Ok(MountAnswer::Proceed);
        };
        self.check_right(unanswered)?;
        if flags & !CLOEXEC != 0 {
            return Err(Errno::EINVAL);
        }
        let mut by_token = self.by_token();
        let context = by_token.get_mut(&file).ok_or(Errno::EINVAL)?;
        let mount = match std::mem::replace(&mut context.phase, Phase::Over) {
            Phase::Made(mount) => mount,
            Phase::Open => {
                context.phase = Phase::Open;
                return Err(Errno::EINVAL);
            }
            Phase::Over => return Err(Errno::EBUSY),
        };
        drop(by_token);
        let root = mount.open_root().map_err(|error| errno(&error))?;
        let device = mount.device().map_err(|error| errno(&error))?;
        let mut placeless = self.placeless();
        if placeless.len() == PLACELESS_MAX {
            placeless.pop_front();
        }
        placeless.push_back((device, mount));
        Ok(MountAnswer::Given(Box::new(root), flags & CLOEXEC != 0))
    }

    /// Whether a file of this device may be the root of a mount that waits for its place.
    pub(crate) fn holds_mount(&self, device: DeviceNumber) -> bool {
        self.placeless().iter().any(|(known, _)| *known == device)
    }

    /// Answers move_mount(2) of one of ours.
    pub(crate) fn move_mount(
        &self,
        unanswered: &UnansweredCall,
        device: DeviceNumber,
    ) -> Result<MountAnswer, Errno> {
        let tid = unanswered.notification.tid;
        let TrappedCall::MoveMount { to, path, flags, .. } = unanswered.notification.call else {
            return Ok(MountAnswer::Proceed);
        };
        if flags & MOVE_MOUNT_F_EMPTY_PATH == 0 {
            return Ok(MountAnswer::Proceed);
        }
        let view = MountView::of(tid).map_err(|error| errno(&error))?;
        let mut strings = Strings::of(tid).map_err(|error| errno(&error))?;
        let path = strings.read(path)?.unwrap_or_default();
        let start = (to != AT_FDCWD).then(|| MountView::descriptor(tid, to)).transpose();
        let start = start.map_err(|_| Errno::EBADF)?;
        self.check_right(unanswered)?;
        let mut placeless = self.placeless();
        let at = placeless.iter().position(|(known, _)| *known == device).ok_or(Errno::EINVAL)?;
        let (_, mount) = placeless.remove(at).ok_or(Errno::EINVAL)?;
        drop(placeless);
        let placed = view.visit(|there| {
            let follow = flags & MOVE_MOUNT_T_SYMLINKS != 0;
            let kind = if follow { PathKind::Any } else { PathKind::NoLink };
            match &start {
                Some(place) if path.is_empty() && flags & MOVE_MOUNT_T_EMPTY_PATH != 0 => {
                    mount.attach_to(place.as_fd())
                }
                start => {
                    let start = start.as_ref().map(|start| start.as_fd());
                    mount.attach_to(there.resolve(start, &path, kind)?.as_fd())
                }
            }
        });
        if placed.is_err() {
            self.placeless().push_back((device, mount));
        }
        placed.map(|()| MountAnswer::Done).map_err(|error| errno(&error))
    }

    /// Refuses callers that may not mount.
    fn check_right(&self, unanswered: &UnansweredCall) -> Result<(), Errno> {
        let view = MountView::of(unanswered.notification.tid).map_err(|error| errno(&error))?;
        let may_mount = view.may_mount().map_err(|error| errno(&error))?;
        // What was read may have been another's, whose number was used again.
        if may_mount && unanswered.is_pending() { Ok(()) } else { Err(Errno::EPERM) }
    }

    fn placeless(&self) -> MutexGuard<'_, VecDeque<(DeviceNumber, DetachedMount)>> {
        self.placeless.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    fn by_token(&self) -> MutexGuard<'_, HashMap<FileId, NamedContext>> {
        self.by_token.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}
