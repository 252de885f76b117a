//! Answers the system calls of clients that FUSE does not pass on.
//!
//! The kernel asks about them by [`seccomp`](binder_os::seccomp), if a world's processes were
//! started so. Ioctls without an argument become jobs of the driver that owns the file; what is about
//! mounting goes to [`mounts`](crate::mounts), each call in a thread of its own: it reads the
//! caller's memory and follows its paths, and both may lead to a process that does not answer. So is a call by which a
//! program confines itself: before that it is told to leave the ring.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use binder_core::Errno;
use binder_frontend::RequestContext;
use binder_os::ring_switch::ProgramSwitch;
use binder_os::seccomp::{NotifyFd, SeccompFilter, SeccompNotification, TrapAnswer, TrappedCall};
use binder_os::{ClientMemory, FileId, ThreadStatus, injection, proc_files};

use crate::contexts::Contexts;
use crate::device::{Deferred, DeviceWork, Job};
use crate::fd_task::Worker;
use crate::files::HeldFile;
use crate::filter_verdict::InstalledFilters;
use crate::mounts::Mounts;
use crate::notify_listener::NotifyListener;
use crate::options::Options;
use crate::seccomp_add_fd;
use crate::session::MountedBinderfs;
use crate::supervision::TrapAnswerer;
use crate::trapped_call::{MountAnswer, UnansweredCall};

/// How many calls about mounting are answered at a time.
const WORKERS_MAX: usize = 32;

/// What answers trapped calls, once it is told of them.
pub struct Supervisor {
    mounts: Arc<Mounts>,
    contexts: Arc<Contexts>,
    ring_library: Arc<Path>,
}

/// Answers trapped calls.
struct TrapHandler {
    mounts: Arc<Mounts>,
    contexts: Arc<Contexts>,
    workers: Arc<AtomicUsize>,
    listener: NotifyListener,
    /// The library by which programs have rings, if they could have loaded it.
    ring_library: Arc<Path>,
    installed_filters: Arc<InstalledFilters>,
}

impl Supervisor {
    /// A supervisor in a world with `session`, which has these `options`, as its first binderfs. Further
    /// ones have the same, but for what a program says that mounts one.
    ///
    /// # Errors
    ///
    /// As reading /proc.
    pub fn new(session: &MountedBinderfs, options: &Options) -> io::Result<Self> {
        let mounts = Arc::new(Mounts::new(session, options)?);
        let ring_library = Arc::from(options.ring_library.as_path());
        Ok(Self { mounts, contexts: Arc::default(), ring_library })
    }

    /// Notes that clients have one seccomp filter more than this process: that of the supervisor, by
    /// which `listener` is told of their calls. Must come before they do anything.
    pub fn expect_filter(&self, listener: &NotifyFd) {
        self.mounts.begin_to_be_asked(listener.is_steadfast());
    }

    /// Answers the calls that `listener` reports, until no process is left that could make one.
    ///
    /// # Errors
    ///
    /// As the kernel; trapped calls fail with `ENOSYS` afterwards.
    pub fn attend(self, listener: NotifyFd) -> io::Result<()> {
        let Self { mounts, contexts, ring_library } = self;
        let listener = NotifyListener::new(listener)?;
        let trap_handler = Arc::new(TrapHandler {
            mounts,
            contexts,
            workers: Arc::default(),
            listener,
            ring_library,
            installed_filters: Arc::default(),
        });
        let known: Arc<dyn TrapAnswerer> = trap_handler.clone();
        trap_handler.mounts.set_trap_handler(Arc::downgrade(&known));
        while let Some(unanswered) = trap_handler.listener.next()? {
            trap_handler.answer(unanswered);
        }
        Ok(())
    }
}

impl TrapAnswerer for TrapHandler {
    fn listener(&self) -> &NotifyListener {
        &self.listener
    }

    /// Answers a call, or sees to it that it is answered. No client holds this up: the pool gives files to
    /// a thread that no reader has waited for.
    fn answer(&self, unanswered: UnansweredCall) {
        let TrappedCall::Diversion { argument } = unanswered.notification.call else {
            return self.decide(unanswered);
        };
        match self.mounts.take_expected(unanswered.notification.tid, argument) {
            Some((shared, expected)) => shared.run_in_pool(expected.payer(), move |shared| {
                let files = seccomp_add_fd::complete(shared, Worker::Pool, unanswered, expected);
                files.into_iter().for_each(HeldFile::close);
            }),
            // What the kernel would make again is nothing that this thread was about to do.
            None => unanswered.answer(TrapAnswer::Refuse(Errno::EINTR.number())),
        }
    }

    fn installed_filters(&self) -> &InstalledFilters {
        &self.installed_filters
    }
}

impl TrapHandler {
    fn decide(&self, unanswered: UnansweredCall) {
        let SeccompNotification { tid, call, .. } = unanswered.notification;
        let of_caller = |fd| proc_files::id_of_descriptor(tid, fd).ok();
        match call {
            TrappedCall::Filter { .. } => {
                self.note_filter(&unanswered);
                if self.ring_library.exists() {
                    self.start_worker(unanswered, None);
                } else {
                    unanswered.answer(TrapAnswer::Proceed);
                }
            }
            TrappedCall::Ioctl { fd: injection::NO_FILE, .. } if self.mounts.is_asking(tid) => {
                unanswered.answer(TrapAnswer::Done);
            }
            TrappedCall::Ioctl { fd, request } => match of_caller(fd) {
                Some(file) => self.null_ioctl(unanswered, file, request),
                None => unanswered.answer(TrapAnswer::Proceed),
            },
            TrappedCall::Mount { .. } | TrappedCall::OpenContext { .. } => {
                self.start_worker(unanswered, None)
            }
            TrappedCall::Configure { fd, .. } | TrappedCall::MakeMount { fd, .. } => {
                match of_caller(fd).filter(|file| self.contexts.holds(*file)) {
                    Some(file) => self.start_worker(unanswered, Some(file)),
                    None => unanswered.answer(TrapAnswer::Proceed),
                }
            }
            TrappedCall::MoveMount { from, .. } => {
                match of_caller(from).filter(|file| self.contexts.holds_mount(file.device)) {
                    Some(file) => self.start_worker(unanswered, Some(file)),
                    None => unanswered.answer(TrapAnswer::Proceed),
                }
            }
            TrappedCall::Diversion { .. } | TrappedCall::Other => {
                unanswered.answer(TrapAnswer::Proceed)
            }
        }
    }

    /// `BINDER_THREAD_EXIT` and `BINDER_SET_CONTEXT_MGR` as most programs write them.
    fn null_ioctl(&self, unanswered: UnansweredCall, file: FileId, command: u32) {
        let tid = unanswered.notification.tid;
        let (Some(shared), Ok(status)) = (self.mounts.session(file.device), ThreadStatus::of(tid))
        else {
            return unanswered.answer(TrapAnswer::Proceed);
        };
        if !unanswered.is_pending() {
            return;
        }
        let Some((process, file)) = shared.file_of_inode(file.inode, status.tgid) else {
            return unanswered.answer(TrapAnswer::Proceed);
        };
        let Some(thread) = shared.begin_call(&file, process, tid) else {
            return unanswered.answer(TrapAnswer::Refuse(Errno::EINVAL.number()));
        };
        let uid = status.fs_user.uid;
        let request =
            RequestContext { unique: 0, process, tid, uid, argument: 0, is_compat: false };
        let work: DeviceWork = Box::new(move |state| {
            let memory = &mut state.clients;
            let result = state.frontend.null_ioctl(&request, thread, command, memory);
            let answer = match result {
                Ok(()) => TrapAnswer::Done,
                Err(error) => TrapAnswer::Refuse(error.number()),
            };
            state.defer(Deferred::AnswerTrapped(unanswered, answer));
        });
        shared.submit(&file.device, Job::WorkFor(request.caller(), work));
    }

    /// A program is about to restrict itself: from here on its threads are not sent to the supervisor.
    fn note_filter(&self, unanswered: &UnansweredCall) {
        if let Ok(status) = ThreadStatus::of(unanswered.notification.tid)
            && unanswered.is_pending()
        {
            self.mounts.note_filter(status.tgid);
        }
    }

    fn start_worker(&self, unanswered: UnansweredCall, context: Option<FileId>) {
        let Some(place) = WorkerPlace::take(&self.workers) else {
            if let TrappedCall::Filter { program: Some(_) } = unanswered.notification.call {
                self.installed_filters.note(None);
            }
            return unanswered.answer(TrapAnswer::Proceed);
        };
        let (mounts, contexts) = (self.mounts.clone(), self.contexts.clone());
        let ring_library = self.ring_library.clone();
        let installed_filters = self.installed_filters.clone();
        let work = move || {
            let outcome = match (unanswered.notification.call, context) {
                (TrappedCall::Mount { .. }, _) => mounts.mount(&unanswered),
                (TrappedCall::OpenContext { .. }, _) => contexts.open(&unanswered),
                (TrappedCall::Configure { .. }, Some(file)) => {
                    contexts.configure(&unanswered, file, &mounts)
                }
                (TrappedCall::MakeMount { .. }, Some(file)) => {
                    contexts.make_mount(&unanswered, file)
                }
                (TrappedCall::MoveMount { .. }, Some(file)) => {
                    contexts.move_mount(&unanswered, file.device)
                }
                (TrappedCall::Filter { program }, _) => {
                    if let Some(program) = program {
                        let filter = read_filter(program, &unanswered);
                        installed_filters.note(filter.as_ref());
                    }
                    if let Err(error) = turn_ring_off(&ring_library, &unanswered) {
                        tracing::debug!(%error, "a program that confines itself keeps to its ring");
                    }
                    Ok(MountAnswer::Proceed)
                }
                (
                    TrappedCall::Configure { .. }
                    | TrappedCall::MakeMount { .. }
                    | TrappedCall::MoveMount { .. },
                    None,
                )
                | (
                    TrappedCall::Ioctl { .. } | TrappedCall::Diversion { .. } | TrappedCall::Other,
                    _,
                ) => Ok(MountAnswer::Proceed),
            };
            unanswered.end(outcome);
            drop(place);
        };
        // Should it fail, the call goes with its closure and is refused.
        if let Err(error) = thread::Builder::new().name("mounting".into()).spawn(work) {
            tracing::warn!(%error, "a trapped call could not be answered");
        }
    }
}

/// Reads a filter that is about to be installed. It is in the caller's memory, where the caller may change it meanwhile, and harms itself alone.
fn read_filter(program: u64, unanswered: &UnansweredCall) -> Option<SeccompFilter> {
    let mut memory = ClientMemory::of_thread(unanswered.notification.tid).ok()?;
    let filter = SeccompFilter::read(&mut memory, program).ok();
    filter.filter(|_| unanswered.is_pending())
}

/// Has a program that is about to restrict itself make ioctls: its filter may not know what a ring takes.
fn turn_ring_off(library: &Path, unanswered: &UnansweredCall) -> io::Result<()> {
    let tid = unanswered.notification.tid;
    let found = ProgramSwitch::find(library, ThreadStatus::of(tid)?.tgid, tid)?;
    // What was looked at is the caller's.
    found.filter(|_| unanswered.is_pending()).map_or(Ok(()), ProgramSwitch::turn_off)
}

/// One of the places of [`WORKERS_MAX`] workers.
struct WorkerPlace(Arc<AtomicUsize>);

impl WorkerPlace {
    fn take(taken: &Arc<AtomicUsize>) -> Option<Self> {
        let place = Self(taken.clone());
        (taken.fetch_add(1, Ordering::Relaxed) < WORKERS_MAX).then_some(place)
    }
}

impl Drop for WorkerPlace {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
