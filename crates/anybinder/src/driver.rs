//! The driver as a process of its own, seen from the process that starts it.

use std::ffi::CStr;
use std::fs;
use std::io::{self, ErrorKind, PipeWriter, Read, Write};
use std::path::Path;

use binder_fuse::{MountError, MountedBinderfs, Options, ServeError};
use binder_os::heap;
use binder_os::proc_files;
use binder_os::processes::{self, Change, Child, Fork, Stream};

use crate::failure::{Failure, failed, limit_advice};
use crate::log;

/// The state of the directory where binderfs is to be mounted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MountPoint {
    /// Nothing that is to go.
    Free,
    /// A mount that is replaced. Processes that have files of it open keep them.
    Taken,
}

/// Starts a process that mounts binderfs at `dir` and serves it until it is unmounted.
///
/// `prepare` runs in that process before anything else, while it has one thread, `attend` when the
/// file system is mounted, and `conclude` when it is no more. Returns once it answers; the child is
/// the caller's to wait for.
///
/// # Errors
///
/// [`Failure`], the child's own or one of starting it; no child is left then.
pub(crate) fn start(
    dir: &Path,
    place: MountPoint,
    options: &Options,
    prepare: impl FnOnce() -> Result<(), Failure>,
    attend: impl FnOnce(&MountedBinderfs) -> Result<(), Failure>,
    conclude: impl FnOnce(),
) -> Result<Child, Failure> {
    let mounted = || {
        prepare()?;
        let session = mount(dir, place, options)?;
        attend(&session)?;
        Ok(session)
    };
    let serve = |session| {
        let served = serve(session);
        conclude();
        served
    };
    in_background(mounted, serve, || answers(dir, options))
}

/// Starts a process that makes a file system by `mount`, in its only thread, and serves it by
/// `serve`. Returns once it `answers`; the child is the caller's to wait for.
///
/// # Errors
///
/// [`Failure`], the child's own or one of starting it; no child is left then.
pub(crate) fn in_background<S>(
    mount: impl FnOnce() -> Result<S, Failure>,
    serve: impl FnOnce(S) -> Result<(), Failure>,
    answers: impl FnOnce() -> bool,
) -> Result<Child, Failure> {
    let (mut report, reporter) = io::pipe().map_err(failed("creating a pipe to the driver"))?;
    let child = match processes::fork().map_err(failed("starting the driver's process"))? {
        Fork::Child => {
            drop(report);
            log::exit(live(mount(), serve, reporter));
        }
        Fork::Parent(child) => child,
    };
    drop(reporter);
    let mut told = Vec::new();
    let heard = report.read_to_end(&mut told);
    if heard.is_ok() && told == MOUNTED && answers() {
        return Ok(child);
    }
    let ended = child.signal(processes::Signal::KILL).and_then(|()| child.wait());
    let own_words = Failure::from_bytes(&told);
    Err(own_words.unwrap_or_else(|| {
        let how = match ended {
            // It has told why.
            Ok(Change::Exited(_)) => "it ended before it answered".to_owned(),
            Ok(other) => format!("{other} before it answered"),
            Err(error) => format!("it ended before it answered: {error}"),
        };
        Failure::new("starting the driver", how)
            .advise("run again with --verbose, if nothing above says why")
    }))
}

/// The message by which the driver's process says that the file system is mounted.
const MOUNTED: &[u8] = b"mounted";

/// The failure to open /dev/fuse, with what helps against it.
pub(crate) fn without_fuse(error: &io::Error) -> Failure {
    let advice = match error.kind() {
        ErrorKind::PermissionDenied => {
            "give yourself access with `sudo chmod 0666 /dev/fuse`, the mode that most systems use; in \
             a container pass --device /dev/fuse"
        }
        ErrorKind::InvalidInput => {
            "put the device there: `sudo rm /dev/fuse; sudo mknod -m 0666 /dev/fuse c 10 229`; in a \
             container pass --device /dev/fuse"
        }
        _ => "load the module with `sudo modprobe fuse`; in a container pass --device /dev/fuse",
    };
    Failure::new("opening /dev/fuse", error).advise(advice)
}

/// Advice where no thread may be real-time.
pub(crate) const REALTIME_ADVICE: &str = "\
run it as root (CAP_SYS_NICE), or allow it by `ulimit -r 1` (LimitRTPRIO=1 in systemd); where the processor time of \
real-time threads is shared out to cgroups, give this one a part of cpu.rt_runtime_us";

/// The life of the driver's process; returns its exit status.
fn live<S>(
    mounted: Result<S, Failure>,
    serve: impl FnOnce(S) -> Result<(), Failure>,
    mut reporter: PipeWriter,
) -> i32 {
    let told = match &mounted {
        Ok(_) => reporter.write_all(MOUNTED),
        Err(failure) => reporter.write_all(&failure.to_bytes()),
    };
    drop(reporter);
    match (mounted, told) {
        (Ok(session), Ok(())) => match serve(session) {
            Ok(()) => 0,
            Err(failure) => {
                failure.print();
                1
            }
        },
        (Ok(_) | Err(_), _) => 1,
    }
}

/// Mounts binderfs at `dir` in this process.
pub(crate) fn mount(
    dir: &Path,
    place: MountPoint,
    options: &Options,
) -> Result<MountedBinderfs, Failure> {
    require_own_proc()?;
    log::write_in_background()?;
    // Every client that is met costs a few descriptors.
    if let Err(error) = processes::raise_open_file_limit() {
        tracing::warn!(%error, "the limit of open files stays as it is");
    }
    if let Err(error) = heap::use_one() {
        tracing::warn!(%error, "what a burst needs may stay in the heap");
    }
    let session = match place {
        MountPoint::Free => MountedBinderfs::mount(dir, options),
        MountPoint::Taken => MountedBinderfs::replace(dir, options),
    };
    session.map_err(|error| describe(&error))
}

/// The driver asks /proc about its clients, by the numbers that the kernel tells it.
fn require_own_proc() -> Result<(), Failure> {
    if proc_files::are_own_numbers() {
        return Ok(());
    }
    let answer = "it does not show the processes of this pid namespace";
    let advice = "mount one that does: `mount -t proc proc /proc`, or `unshare --mount-proc`";
    Err(Failure::new("looking for this process in /proc", answer).advise(advice))
}

/// Serves a mounted binderfs in this process until it is unmounted.
pub(crate) fn serve(session: MountedBinderfs) -> Result<(), Failure> {
    session.serve().map_err(|error| {
        let advice = match &error {
            ServeError::Thread(source) => limit_advice(source),
            ServeError::Read(_) => None,
        };
        Failure::new("serving binderfs", error).advise(advice.unwrap_or_default())
    })
}

/// The name of a driver's process.
pub(crate) const DRIVER_NAME: &CStr = c"binder-driver";

/// Asks the mounted file system for something that only the driver knows.
fn answers(dir: &Path, options: &Options) -> bool {
    let device = options.devices.first().map_or("binder-control", |device| &device.name);
    fs::metadata(dir.join(device)).is_ok()
}

fn describe(error: &MountError) -> Failure {
    match error {
        MountError::Open(source) => without_fuse(source),
        MountError::Mount { dir, source } => {
            let advice = if Path::new(dir).is_dir() {
                "mounting needs root, or the private world that `anybinder run` makes"
            } else {
                "binderfs is mounted at a directory"
            };
            Failure::new(format!("mounting binderfs at {dir}"), source).advise(advice)
        }
        MountError::Create(source) => Failure::new("making a binderfs", source),
        MountError::Scheduling(source) => {
            Failure::new("making a thread real-time", source).advise(REALTIME_ADVICE)
        }
        MountError::Name { .. } => Failure::new("creating the devices", error),
        MountError::Descriptors { least, .. } => Failure::new("serving binder", error)
            .advise(format!("`ulimit -Hn {least}`, or more, as root; of a service, LimitNOFILE=")),
    }
}

/// Moves the calling process out of the reach of the terminal it was started from, and connects
/// `streams` to nothing; from now on it is called `name`.
pub(crate) fn leave_terminal(streams: &[Stream], name: &CStr) -> Result<(), Failure> {
    processes::leave_session().map_err(failed("leaving the terminal's session"))?;
    for stream in streams {
        processes::silence(*stream).map_err(failed("opening /dev/null"))?;
    }
    processes::set_name(name).map_err(failed("naming the driver's process"))
}
