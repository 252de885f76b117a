//! How a world with a name comes to be: a process of its own, which has no terminal and writes to a log.

use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::os::fd::AsFd;
use std::path::Path;
use std::{env, fs};

use binder_os::namespaces::HeldMounts;
use binder_os::packet_socket::PacketListener;
use binder_os::private_dev::PROC_DIR;
use binder_os::processes::{self, Fork, Stream};
use binder_os::signals::{self, Signal};

use super::member::MemberContext;
use super::monitor::{Lifetime, WorldMonitor};
use super::registry::{self, Registry, RegistryLock, WorldDir, WorldRecord};
use crate::cli::WorldOptions;
use crate::failure::{Failure, failed};
use crate::log;
use crate::metrics;
use crate::process_view::{self, Freshness, Shown};
use crate::world::{self, SupervisionChoice, World};
use crate::world_name::WorldName;

/// When a world that is to be made ends by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum KeepWorld {
    /// It does not.
    UntilStopped,
    /// With its last process.
    WhileUsed,
}

/// A world waits for its first process as long as its creator has this.
#[derive(Debug)]
pub(super) struct CreatorHold {
    _held: PipeWriter,
}

/// The new process's message when the world answers, followed by lines for the user.
const READY: &[u8] = b"ready\n";
/// The greatest length of that message, which is written at once: a longer one might come in pieces.
const ANSWER_BYTES_MAX: usize = 4096;

/// The signals that a caller may have turned off, and whose default the commands of a world are to find. SIGCHLD has had
/// its default since the program started.
const DEFAULTS: [Signal; 7] = [
    Signal::HUP,
    Signal::INT,
    Signal::QUIT,
    Signal::TERM,
    Signal::TSTP,
    Signal::TTIN,
    Signal::TTOU,
];

/// Makes a world, and returns when its devices answer.
///
/// # Errors
///
/// [`Failure`], its own or that of the new process; nothing is left then.
pub(super) fn create(
    name: &WorldName,
    options: &WorldOptions,
    keep: KeepWorld,
) -> Result<(WorldDir, CreatorHold), Failure> {
    if options.proc {
        process_view::require_processes()?;
    }
    // A world that stays must not keep what the caller's files are of.
    processes::close_inherited_files().map_err(failed("closing inherited files"))?;
    let registry = Registry::open()?;
    let lock = registry.lock()?;
    let dir = registry.add(name, &lock)?;
    let made = start(&dir, options, keep, lock);
    if made.is_err() {
        // A directory that cannot be removed is listed as dead.
        let _ = registry.lock().map(|lock| dir.remove(&lock));
    }
    made.map(|hold| (dir, hold))
}

/// Starts the world's process. Other commands see the world only once that process has answered, or has failed.
fn start(
    dir: &WorldDir,
    options: &WorldOptions,
    keep: KeepWorld,
    lock: RegistryLock,
) -> Result<CreatorHold, Failure> {
    let pipe = || io::pipe().map_err(failed("creating a pipe to the world"));
    let ((mut report, reporter), (used, until_used)) = (pipe()?, pipe()?);
    let child = match processes::fork().map_err(failed("starting the world's process"))? {
        Fork::Child => {
            drop((report, until_used, lock));
            log::exit(live(dir, options, keep, used, reporter));
        }
        Fork::Parent(child) => child,
    };
    drop((reporter, used));
    // One piece, as it was written: the driver has the other end, too.
    let mut told = vec![0; ANSWER_BYTES_MAX];
    let len = report.read(&mut told).map_err(failed("hearing from the world's process"))?;
    told.truncate(len);
    if let Some(lines) = told.strip_prefix(READY) {
        if !lines.is_empty() {
            log::tell(format_args!("anybinder: {}", String::from_utf8_lossy(lines)));
        }
        return Ok(CreatorHold { _held: until_used });
    }
    let ended = child.wait();
    drop(lock);
    Err(Failure::from_bytes(&told).unwrap_or_else(|| {
        let how = match ended {
            Ok(change) => format!("{change} before it answered"),
            Err(error) => format!("it ended before it answered: {error}"),
        };
        Failure::new("starting the world's process", how).advise("run again with --verbose")
    }))
}

/// The life of the process of a world; returns its exit status.
fn live(
    dir: &WorldDir,
    options: &WorldOptions,
    keep: KeepWorld,
    used: PipeReader,
    mut reporter: PipeWriter,
) -> i32 {
    let lifetime = match keep {
        KeepWorld::UntilStopped => Lifetime::Kept,
        KeepWorld::WhileUsed => Lifetime::OfProcesses(Some(used)),
    };
    let (monitor, lines) = match furnish(dir, options, lifetime) {
        Ok(made) => made,
        Err(failure) => {
            // A creator that is gone needs no answer.
            let _ = reporter.write_all(&failure.to_bytes());
            return 1;
        }
    };
    let told = reporter.write_all(&[READY, lines.as_bytes()].concat());
    drop(reporter);
    if told.is_err() {
        tracing::warn!("the world's creator ended before the world answered");
    }
    let (served, connections) = monitor.serve();
    if let Err(error) = conclude(dir, keep, served.is_ok()) {
        tracing::warn!(%error, "what belongs to the world stays");
    }
    // By this clients learn of the end, when it has come.
    drop(connections);
    i32::from(served.is_err())
}

/// Makes the world around this process, which is to be its own. Returns it, and what its user is to know.
fn furnish(
    dir: &WorldDir,
    options: &WorldOptions,
    lifetime: Lifetime,
) -> Result<(WorldMonitor, String), Failure> {
    let log = dir.open_log().map_err(failed("opening the log"))?;
    processes::silence(Stream::Input).map_err(failed("opening /dev/null"))?;
    for stream in [Stream::Output, Stream::Error] {
        processes::connect(stream, log.as_fd()).map_err(failed("writing to the log"))?;
    }
    drop(log);
    processes::leave_session().map_err(failed("leaving the terminal's session"))?;
    processes::set_name(c"anybinder-world").map_err(failed("naming the world's process"))?;
    env::set_current_dir("/").map_err(failed("changing to /"))?;
    for signal in DEFAULTS {
        signals::reset(signal).map_err(failed("resetting signals"))?;
    }
    let mark = dir.mark_running().map_err(failed("marking the world as running"))?;

    let namespaces = World::privacy_of(options.users())?;
    // Before the world, whose driver waits for the end of all processes that share its pipes.
    let view = options.proc.then(|| {
        let freshness = Freshness::of(options.fresh);
        Shown::Below(std::process::id()).serve_apart(freshness)
    });
    let view = view.transpose()?;
    let driver_options = options.driver_options();
    let metrics = metrics::listen(options.metrics.address)?;
    let world = World::furnish(namespaces, &driver_options, metrics)?;
    let ring = options.ring();
    if let Err(failure) = options.complete() {
        world.close();
        return Err(failure);
    }
    let mounts = view.map(apart).transpose()?;
    let (is_supervised, lines) = match options.supervision() {
        SupervisionChoice::Full => {
            let supervised = world.supervise_this();
            (supervised.is_ok(), supervised.err().unwrap_or_default())
        }
        SupervisionChoice::None => (false, String::new()),
    };
    let listener = PacketListener::bind(&dir.socket())
        .map_err(|error| Failure::new(format!("listening at {}", dir.socket().display()), error))?;
    let record = WorldRecord {
        pid: std::process::id(),
        driver: world.driver().pid(),
        devices: driver_options.devices.into_iter().map(|device| device.name).collect(),
        created: registry::now(),
        is_kept: matches!(lifetime, Lifetime::Kept),
        is_stopped: false,
    };
    dir.write_record(&record).map_err(failed("noting down the world"))?;
    let (world_name, driver) = (dir.name.to_string(), world.driver().pid());
    let context = MemberContext { world_name, driver, ring, is_supervised, mounts };
    Ok((WorldMonitor::new(world, listener, context, lifetime, mark), lines))
}

/// Makes the mounts in which a view covers /proc, and leaves them to the processes of the world.
fn apart(view: process_view::ServedView) -> Result<HeldMounts, Failure> {
    let tried = "holding the mounts of the world";
    let own = HeldMounts::own().map_err(failed(tried))?;
    world::show(view)?;
    // From the kernel's own /proc, which the view covers.
    let shown = HeldMounts::own_by(Path::new(PROC_DIR));
    let shown = shown.map_err(failed(tried))?;
    own.enter().map_err(failed("leaving the mounts of the world"))?;
    Ok(shown)
}

/// Leaves the log of a world that is kept, and nothing of another. What did not end as it should is left to be seen.
fn conclude(dir: &WorldDir, keep: KeepWorld, is_fine: bool) -> Result<(), Failure> {
    let tried = "removing what belongs to the world";
    match (keep, is_fine) {
        (KeepWorld::UntilStopped, true) => {
            let noted = dir
                .record()
                .and_then(|record| dir.write_record(&WorldRecord { is_stopped: true, ..record }));
            noted.and_then(|()| fs::remove_file(dir.socket())).map_err(failed(tried))
        }
        (KeepWorld::WhileUsed, true) => {
            let lock = Registry::open()?.lock()?;
            dir.remove(&lock).map_err(failed(tried))
        }
        (KeepWorld::UntilStopped | KeepWorld::WhileUsed, false) => Ok(()),
    }
}
