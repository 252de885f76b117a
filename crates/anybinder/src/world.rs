//! A private binder world: namespaces, a /dev, a driver, one command, and the end of all of it.
//!
//! Three processes. *This* one enters the namespaces and waits; the *driver* serves /dev/binderfs;
//! the *command* is the user's program. In the end this process kills all of its descendants, which become its children
//! when their parents end, and tells the driver by a pipe to end as well. With the last process the namespaces end, and
//! with them the mounts.
//!
//! Should this process be killed, the pipe breaks without a word, and the driver kills everything inside
//! the namespaces. That takes a look at every process of the machine. So nothing is left even after SIGKILL.

use std::cell::Cell;
use std::ffi::OsString;
use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::os::fd::AsFd as _;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use binder_fuse::{MountedBinderfs, Options, Supervisor};
use binder_http::MetricsListener;
use binder_os::mounts;
use binder_os::namespaces::{self, PrivateNamespaces};
use binder_os::private_dev::{self, BINDERFS_DIR};
use binder_os::processes::{self, Change, Child, Fork, Signal, Stream};
use binder_os::readiness::{self, Readiness};
use binder_os::seccomp::{self, NotifyFd};
use binder_os::signals::{Sender, SignalMask, SignalStream};

use crate::default_manager::ManagerWatch;
use crate::driver::{self, MountPoint};
use crate::execution;
use crate::failure::{Failure, failed};
use crate::granted_users;
use crate::log;
use crate::metrics;
use crate::process_view::ServedView;
use crate::servicemanager;

/// A world whose driver answers.
pub(crate) struct World {
    namespaces: PrivateNamespaces,
    driver: Child,
    /// Breaks with this process; see the module.
    lifeline: Option<PipeWriter>,
    /// The socket by which the driver receives the listener of the command's system calls.
    supervision: UnixStream,
    signals: SignalStream,
}

/// How a process gets its private mounts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Privacy {
    /// In a mount namespace of the user namespace that we are in, which needs CAP_SYS_ADMIN there.
    Mount,
    /// In a user namespace of its own, which needs no privilege.
    UserAndMount,
}

impl Privacy {
    pub(crate) fn enter(self) -> Result<PrivateNamespaces, Failure> {
        self.enter_with(WorldUsers::Caller)
    }

    fn enter_with(self, users: WorldUsers) -> Result<PrivateNamespaces, Failure> {
        let (uid, gid) = processes::user();
        match (self, users) {
            (Self::Mount, _) => Ok(namespaces::enter_mount_namespace()?),
            (Self::UserAndMount, WorldUsers::Caller) => {
                Ok(namespaces::enter_user_and_mount_namespace(uid, gid)?)
            }
            (Self::UserAndMount, WorldUsers::Granted) => granted_users::enter(uid, gid),
        }
    }
}

/// Which users exist in a world that has a user namespace of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WorldUsers {
    /// The caller.
    Caller,
    /// Those, too, that the machine's administrator has granted the caller.
    Granted,
}

/// Whether the driver is asked about system calls that FUSE does not pass on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SupervisionChoice {
    /// It is, where the kernel can ask.
    Full,
    /// It is not.
    None,
}

/// The message to the driver when all other processes have ended.
const DONE: &[u8] = b"!";

/// In this variable the processes inside find the number of their driver's process.
pub(crate) const DRIVER_PID: &str = "ANYBINDER_DAEMON_PID";

/// Signals that are passed on to a command, or acted upon for it.
pub(crate) const PASSED_ON: [Signal; 9] = [
    Signal::INT,
    Signal::TERM,
    Signal::HUP,
    Signal::QUIT,
    Signal::USR1,
    Signal::USR2,
    Signal::WINCH,
    Signal::CONT,
    Signal::TSTP,
];

impl World {
    /// Moves this process into private namespaces and starts a driver there.
    ///
    /// # Errors
    ///
    /// [`Failure`] of the last way tried; the process may be in namespaces of its own then.
    pub(crate) fn enter(options: &Options) -> Result<Self, Failure> {
        Self::furnish(Self::privacy()?, options, None)
    }

    /// Moves this process into private namespaces.
    ///
    /// # Errors
    ///
    /// As [`enter`](Self::enter).
    pub(crate) fn privacy() -> Result<PrivateNamespaces, Failure> {
        Self::privacy_of(WorldUsers::Caller)
    }

    /// The same, with these users.
    pub(crate) fn privacy_of(users: WorldUsers) -> Result<PrivateNamespaces, Failure> {
        // With the privilege to mount there is no need for a user namespace, in which the driver
        // would lack the right to passthrough.
        Privacy::Mount.enter().or_else(|_| Privacy::UserAndMount.enter_with(users))
    }

    /// Starts a driver in the namespaces that this process has entered. If there is a listener for them, it serves its
    /// figures.
    pub(crate) fn furnish(
        namespaces: PrivateNamespaces,
        options: &Options,
        metrics: Option<MetricsListener>,
    ) -> Result<Self, Failure> {
        let signals = SignalStream::block(&[&[Signal::CHILD][..], &PASSED_ON].concat())
            .map_err(failed("blocking signals"))?;
        processes::adopt_orphans().map_err(failed("adopting orphans"))?;

        let names: Vec<_> = options.devices.iter().map(|device| &device.name).collect();
        for (name, error) in private_dev::replace(&names)? {
            tracing::debug!(name = %name.display(), %error, "not taken over into the private /dev");
        }
        let (watched, lifeline) = io::pipe().map_err(failed("creating a pipe to the driver"))?;
        let this = std::process::id();
        // Forking doubles both ends; each process drops the one that is not its own.
        let lifeline = Cell::new(Some(lifeline));
        let (supervision, supervisors) =
            UnixStream::pair().map_err(failed("creating a socket to the driver"))?;
        let supervision = Cell::new(Some(supervision));
        let prepare = || {
            driver::leave_terminal(&[Stream::Input, Stream::Output], driver::DRIVER_NAME)?;
            drop((lifeline.take(), supervision.take()));
            watch(watched, namespaces, this)
        };
        let place = Path::new(BINDERFS_DIR);
        let attend = |session: &MountedBinderfs| {
            if let Some(listener) = metrics {
                metrics::serve_driver(listener, session)?;
            }
            supervise(supervisors, session, options, || {})
        };
        let driver = driver::start(place, MountPoint::Free, options, prepare, attend, || {})?;
        let supervision = supervision.take().expect("only the driver has taken its own");
        Ok(Self { namespaces, driver, lifeline: lifeline.take(), supervision, signals })
    }

    /// Runs `command` to its end and returns its exit status, as a shell would tell it. If it is to be
    /// `supervised`, the driver answers also what FUSE does not pass on. With a `view` it sees that at
    /// /proc. A service manager that it turns out to need is started by the `manager`'s watch. The `variables` are put into its environment; they may depend on whether it is supervised.
    ///
    /// Afterwards everything inside has ended.
    ///
    /// # Errors
    ///
    /// [`Failure`] if the command could not be started, or the driver ended before it.
    pub(crate) fn run(
        self,
        command: &[OsString],
        supervision: SupervisionChoice,
        view: Option<ServedView>,
        manager: Option<ManagerWatch>,
        variables: impl FnOnce(bool) -> Vec<(&'static str, OsString)>,
    ) -> Result<u8, Failure> {
        let this = std::process::id();
        let child = match processes::fork().map_err(failed("starting a process"))? {
            Fork::Child => {
                if let Some(Err(failure)) = view.map(show) {
                    failure.print();
                    std::process::exit(1);
                }
                let is_supervised = supervision == SupervisionChoice::Full
                    && be_supervised(&self.supervision)
                        // If stderr is closed, the message is lost.
                        .inspect_err(|error| {
                            let _ =
                                writeln!(io::stderr(), "anybinder: {}", without_supervisor(error));
                        })
                        .is_ok();
                let mut program =
                    Command::new(command.first().map_or("".as_ref(), OsString::as_os_str));
                program.args(command.iter().skip(1)).envs(variables(is_supervised));
                program.env(DRIVER_PID, self.driver.pid().to_string());
                become_command(&mut program, this, &self.signals.mask_before())
            }
            Fork::Parent(child) => child,
        };
        let status = self.attend(child, manager);
        if matches!(status, Ok(1..)) {
            servicemanager::tell_if_missed(Path::new(BINDERFS_DIR));
        }
        self.close();
        status
    }

    /// Has the driver asked about system calls of this process, and of all that it starts from now on.
    ///
    /// # Errors
    ///
    /// Why not, and what its user will miss.
    pub(crate) fn supervise_this(&self) -> Result<(), String> {
        be_supervised(&self.supervision).map_err(|error| without_supervisor(&error))
    }

    /// The process of the driver.
    pub(crate) fn driver(&self) -> Child {
        self.driver
    }

    /// The signals that this process reads instead of being interrupted.
    pub(crate) fn signals(&self) -> &SignalStream {
        &self.signals
    }

    /// Passes signals on until `command` ends, and sees to the world's service manager.
    fn attend(&self, command: Child, mut manager: Option<ManagerWatch>) -> Result<u8, Failure> {
        loop {
            self.await_signal(&mut manager)?;
            let arrived = self.signals.next().map_err(failed("waiting for signals"))?;
            match (arrived.signal, arrived.sender) {
                (Signal::CHILD, _) => {
                    if let Some(status) = self.collect(command)? {
                        return Ok(status);
                    }
                }
                // The terminal has sent it to the command as well.
                (_, Sender::Kernel) => {}
                (signal, Sender::Process) => {
                    command.signal(signal).map_err(failed("passing a signal on"))?;
                }
            }
        }
    }

    /// Lets the watch of the service manager do its work until a signal comes, or it has no more.
    fn await_signal(&self, manager: &mut Option<ManagerWatch>) -> Result<(), Failure> {
        while let Some(watch) = manager {
            let files = [self.signals.as_fd(), watch.as_fd()].map(|it| (it, Readiness::Read));
            let time_left = watch.time_left(Instant::now());
            let ready =
                readiness::wait(&files, time_left).map_err(failed("waiting for signals"))?;
            if ready[0] {
                return Ok(());
            }
            if !watch.advance(Instant::now()) {
                *manager = None;
            }
        }
        Ok(())
    }

    /// Looks what happened to our children; returns the status of the command once it has ended.
    fn collect(&self, command: Child) -> Result<Option<u8>, Failure> {
        let tried = "waiting for the command";
        while let Some((pid, change)) = processes::next_change().map_err(failed(tried))? {
            let is_command = pid == command.pid();
            match change {
                Change::Stopped(signal) if is_command && is_job_control(signal) => {
                    // The shell that watches us must see it; its SIGCONT goes on to the command.
                    processes::stop_self().map_err(failed("stopping with the command"))?;
                }
                Change::Exited(_) | Change::Killed(_) if is_command => {
                    return Ok(change.exit_status());
                }
                Change::Exited(_) | Change::Killed(_) if pid == self.driver.pid() => {
                    let answer = format!("it ended unexpectedly: {change}");
                    return Err(Failure::new("serving binder to the command", answer)
                        .advise("run again with --verbose, and report what it says"));
                }
                // An orphan that came to us, or a stop of another process, which is ignored.
                Change::Exited(_) | Change::Killed(_) | Change::Stopped(_) => {}
            }
        }
        Ok(None)
    }

    /// Ends everything inside that this process has started.
    pub(crate) fn close(self) {
        let is_done = processes::end_children(Some(self.driver.pid())).is_ok();
        let mut lifeline = self.lifeline;
        if is_done && let Some(lifeline) = &mut lifeline {
            // A driver that has ended does not need to be told.
            let _ = lifeline.write_all(DONE);
        }
        drop(lifeline);
        // The driver has been waited for if it is what failed, and then this changes nothing.
        let _ = self.driver.wait();
        // A process that the driver has started.
        if processes::end_children(None).is_err() {
            end_all(self.namespaces, std::process::id());
        }
    }
}

/// In a process of one thread: has it alone see the view at /proc, for we and the driver need the kernel's own.
pub(crate) fn show(view: ServedView) -> Result<(), Failure> {
    namespaces::enter_mount_namespace()?;
    private_dev::keep_proc()?;
    view.show()
}

/// Has a driver asked about system calls of this process and what it starts, and waits until it is ready for that.
pub(crate) fn be_supervised(mut by: &UnixStream) -> io::Result<()> {
    seccomp::install()?.send(by)?;
    by.read(&mut [0]).map(drop)
}

/// Says what the user of a world will miss whose processes have no supervisor.
pub(crate) fn without_supervisor(error: &io::Error) -> String {
    // As in a world within a world: the kernel asks one supervisor only.
    let why = if error.kind() == io::ErrorKind::ResourceBusy {
        "another supervisor has the system calls of the command already".to_owned()
    } else {
        format!("the system calls of the command have no supervisor ({error})")
    };
    let missing =
        "ioctls without an argument fail here (EFAULT), and files are delivered more slowly";
    format!("{why}: {missing}")
}

/// In the driver: waits to be told of system calls that FUSE does not pass on, and answers them. When no process is left
/// that could make one, or if there is to be none, it goes on with `conclude`.
pub(crate) fn supervise(
    from: UnixStream,
    session: &MountedBinderfs,
    options: &Options,
    conclude: impl FnOnce() + Send + 'static,
) -> Result<(), Failure> {
    let supervisor =
        Supervisor::new(session, options).map_err(failed("preparing for supervision"))?;
    let attend = move || {
        let attended = NotifyFd::receive(&from).and_then(|listener| match listener {
            Some(listener) => {
                supervisor.expect_filter(&listener);
                (&from).write_all(b"!")?;
                supervisor.attend(listener)
            }
            None => Ok(()),
        });
        if let Err(error) = attended {
            tracing::error!(%error, "system calls of the command are supervised no more");
        }
        conclude();
    };
    let started = thread::Builder::new().name("supervisor".into()).spawn(attend);
    started.map(drop).map_err(failed("starting a thread"))
}

/// In the driver: ends everything when the process that made the world is gone.
fn watch(
    mut watched: PipeReader,
    namespaces: PrivateNamespaces,
    maker: u32,
) -> Result<(), Failure> {
    let watch = move || {
        // Whatever else this returns, the maker is gone.
        if !watched.read(&mut [0]).is_ok_and(|len| len == DONE.len()) {
            end_all(namespaces, maker);
        }
        // Files of our own that clients have sent, and that we have open at this moment: to close them
        // we would have to answer ourselves, which we cannot while we end.
        let _ = mounts::abort(Path::new(BINDERFS_DIR));
        log::exit(0);
    };
    let started = thread::Builder::new().name("lifeline".into()).spawn(watch);
    started.map(drop).map_err(failed("starting a thread"))
}

/// Kills all processes in `namespaces`, except for us and `maker`.
fn end_all(namespaces: PrivateNamespaces, maker: u32) {
    while namespaces.kill_members(maker).is_ok_and(|killed| killed > 0) {
        // Killed processes need a moment to go.
        thread::sleep(Duration::from_millis(1));
    }
}

/// In a fresh child: turns it into the command. Does not return.
pub(crate) fn become_command(command: &mut Command, maker: u32, mask: &SignalMask) -> ! {
    let prepared = processes::die_with_parent(Signal::KILL).and_then(|()| mask.restore());
    if prepared.is_err() || processes::parent() != Some(maker) {
        std::process::exit(1);
    }
    let error = command.exec();
    execution::end_unexecuted(command.get_program(), &error)
}

fn is_job_control(signal: i32) -> bool {
    [Signal::TSTP, Signal::TTIN, Signal::TTOU].map(Signal::as_raw).contains(&signal)
}
