//! What the driver is asked to do, by whom, and who hears of the outcome.

use binder_core::{Errno, Opener, ProcessKey};
use binder_os::ThreadStatus;
use binder_os::proc_files::OpenFile;

use super::DeviceId;
use crate::client::Client;
use crate::events::{FollowerId, StreamRead};
use crate::exit_watcher::ThreadName;
use crate::fd_work::FdTaskReport;
use crate::logs::LogFile;
use crate::memory_op::MemoryHandle;

/// Who asks: the calling thread, as the FUSE header shows it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RequestContext {
    pub(crate) unique: u64,
    pub(crate) device: DeviceId,
    pub(crate) process: ProcessKey,
    pub(crate) tid: u32,
    pub(crate) uid: u32,
    /// The argument of the ioctl: where the caller's struct lies.
    pub(crate) argument: u64,
    /// It called as 32-bit programs do.
    pub(crate) is_compat: bool,
}

impl RequestContext {
    /// Whether the thread has been killed, and ends as soon as its request is answered.
    pub(crate) fn is_killed(&self) -> bool {
        ThreadStatus::of(self.tid).is_ok_and(|status| status.is_killed)
    }
}

/// One thing to do with the state of the driver.
pub(crate) enum Job {
    AddDevice {
        device: DeviceId,
        name: String,
    },
    /// Makes a process and hands its key on, with which the open is answered.
    Open {
        unique: u64,
        device: DeviceId,
        opener: Opener,
        client: Box<Client>,
        opened: OpenAnswered,
    },
    Ioctl {
        asker: RequestContext,
        command: u32,
        data: [u8; 48],
        len: usize,
    },
    /// Meets a bug, for a client.
    #[cfg(test)]
    Bug(RequestContext),
    /// An ioctl without an argument, of which FUSE does not tell.
    NullIoctl(NullIoctl),
    Poll {
        asker: RequestContext,
        handle: u64,
        flags: u32,
    },
    Flush {
        unique: u64,
        device: DeviceId,
        process: ProcessKey,
    },
    Release {
        device: DeviceId,
        process: ProcessKey,
    },
    /// A signal interrupts the request `target`; the interruption itself is request `unique`.
    Interrupt {
        unique: u64,
        target: u64,
    },
    /// A process installs a seccomp filter.
    NoteFilter {
        pid: u32,
    },
    /// A call has what it needed of its client's memory.
    Reached(Box<MemoryHandle>),
    /// descriptor work in a client is over.
    EndFdTask(Box<FdTaskReport>),
    /// Finds reads whose files may have been made non-blocking while they slept.
    ListSleepers {
        found: SleepingFiles,
    },
    /// A process was looked at for how it has its file open.
    SetNonblocking {
        device: DeviceId,
        process: ProcessKey,
        found: Option<OpenFile>,
    },
    /// Gives pages back that have been idle while so many turns ended, and says whether there are
    /// more.
    ReclaimIdlePages {
        least_turns: u32,
        is_left: IsLeft,
    },
    /// Ends a turn by which the idleness of pages is told, and gives back room in tables.
    EndIdleTurn,
    /// A thread has ended, and may not have said so.
    EndThread(ThreadName),
    /// A process has ended, and its files may be open elsewhere.
    EndProcess {
        pid: u32,
    },
    /// A process was seen to have its receive buffer mapped no more.
    LoseMapping {
        device: DeviceId,
        process: ProcessKey,
    },
    /// Looks for ends of threads that nobody tells of, and says whether there are such threads.
    FindEndedThreads {
        are_left: IsLeft,
    },
    EndOverdueFreezes,
    /// Plays a slice of the end of a process, if there is one, and says whether more is left.
    GoOnReleasing {
        is_left: IsLeft,
    },
    /// Takes a log down and hands it on.
    WriteLog {
        unique: u64,
        log: LogFile,
        written: LogWritten,
    },
    ReadEvents {
        follower: FollowerId,
        read: StreamRead,
    },
    PollEvents {
        unique: u64,
        follower: FollowerId,
        handle: u64,
        flags: u32,
    },
    ForgetFollower {
        follower: FollowerId,
    },
}

/// An ioctl that did not come as a request.
pub(crate) struct NullIoctl {
    /// The inode of the file, and the process that may have opened it.
    pub(crate) inode: u64,
    pub(crate) pid: u32,
    pub(crate) tid: u32,
    pub(crate) uid: u32,
    pub(crate) command: u32,
    pub(crate) answered: NullAnswer,
}

/// Takes the answer, or an errno; none if the file is no device.
pub(crate) type NullAnswer = Box<dyn FnOnce(Option<Result<(), i32>>) + Send>;

/// Answers FUSE_OPEN once the process exists, or may not.
pub(crate) type OpenAnswered = Box<dyn FnOnce(Result<ProcessKey, Errno>) + Send>;

/// Takes the text of a log.
pub(crate) type LogWritten = Box<dyn FnOnce(String) + Send>;

/// Takes the files that sleeping reads wait on.
pub(crate) type SleepingFiles = Box<dyn FnOnce(Vec<SleepingFile>) + Send>;

/// Hears whether more is to be done.
pub(crate) type IsLeft = Box<dyn FnOnce(bool) + Send>;

/// A file with a sleeping read, to be looked at.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SleepingFile {
    pub(crate) device: DeviceId,
    pub(crate) process: ProcessKey,
    pub(crate) pid: u32,
    pub(crate) file: binder_os::FileId,
}

impl Job {
    /// The open file that a client's job came through.
    pub(super) fn open_file(&self) -> Option<(DeviceId, ProcessKey)> {
        let asker = match self {
            Self::Ioctl { asker, .. } | Self::Poll { asker, .. } => asker,
            #[cfg(test)]
            Self::Bug(asker) => asker,
            Self::EndFdTask(report) => report.asker(),
            Self::Reached(way) => {
                return way.reach.as_ref().map(|reach| (reach.device, reach.process));
            }
            _ => return None,
        };
        Some((asker.device, asker.process))
    }

    /// The request that a client waits on, if one does.
    pub(super) fn answers(&self) -> Option<u64> {
        match self {
            Self::Ioctl { asker, .. } | Self::Poll { asker, .. } => Some(asker.unique),
            #[cfg(test)]
            Self::Bug(asker) => Some(asker.unique),
            Self::Reached(way) => way.reach.as_ref().map(|reach| reach.unique),
            Self::Open { unique, .. }
            | Self::Flush { unique, .. }
            | Self::WriteLog { unique, .. }
            | Self::PollEvents { unique, .. } => Some(*unique),
            Self::ReadEvents { read, .. } => Some(read.unique),
            Self::AddDevice { .. }
            | Self::NullIoctl(_)
            | Self::ForgetFollower { .. }
            | Self::Release { .. }
            | Self::Interrupt { .. }
            | Self::NoteFilter { .. }
            | Self::EndFdTask(_)
            | Self::ListSleepers { .. }
            | Self::SetNonblocking { .. }
            | Self::ReclaimIdlePages { .. }
            | Self::EndIdleTurn
            | Self::EndThread(_)
            | Self::EndProcess { .. }
            | Self::LoseMapping { .. }
            | Self::FindEndedThreads { .. }
            | Self::GoOnReleasing { .. }
            | Self::EndOverdueFreezes => None,
        }
    }
}
