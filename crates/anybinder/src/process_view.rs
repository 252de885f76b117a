//! Views of processes in the shape of /proc, each served by a process.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use binder_os::mounts::DetachedMount;
use binder_os::processes::{self, Fork, Stream};
use binder_os::{ProcDir, namespaces};
use procview::{
    KERNEL_DIR, KernelFiles, Machine, Members, ProcessTable, Scenario, ViewMountError, ViewSession,
};

use crate::cli::ShownOptions;
use crate::driver;
use crate::failure::{Failure, failed};
use crate::inspect::{self, Users};
use crate::log;

/// How long the machine of a scenario has been running.
const SCENARIO_UPTIME: Duration = Duration::from_secs(86_400);

/// How long a name or a listing of the kernel's processes may be believed, where that is not refused.
const AGE: Duration = Duration::from_millis(100);

/// Which processes are shown.
pub(crate) enum Shown {
    /// Those of a scenario, which were never started.
    Scenario { scenario: Scenario, innermost: bool },
    /// Those that use a binderfs.
    UsersOf(PathBuf),
    /// All.
    All,
    /// A process and what it has started.
    Below(u32),
}

impl Shown {
    pub(crate) fn find(options: &ShownOptions) -> Result<Self, Failure> {
        require_processes()?;
        if let Some(processes) = options.scenario {
            let (levels, innermost) = (options.levels, options.innermost);
            let scenario = Scenario { processes, levels, ..Scenario::default() };
            return Ok(Self::Scenario { scenario, innermost });
        }
        if options.all {
            return Ok(Self::All);
        }
        let dir = inspect::binderfs_at(options.binderfs.as_deref())?;
        // A serving process leaves the directory that a relative path starts from.
        let dir = std::path::absolute(&dir).map_err(failed("looking for the binderfs"))?;
        // Once now, so that a binderfs that tells nothing is known before a reader asks.
        Users::of(&dir)?;
        Ok(Self::UsersOf(dir))
    }

    /// Makes the view, without a place.
    pub(crate) fn session(
        &self,
        files: KernelFiles,
    ) -> Result<(ViewSession, DetachedMount), Failure> {
        let proc = ProcDir::open().map_err(failed("opening /proc"))?;
        let machine = Machine::like_this_one(&proc, SCENARIO_UPTIME);
        let table = ProcessTable::new(machine.map_err(failed("reading of this machine in /proc"))?);
        let made = match self {
            Self::Scenario { scenario, innermost } => {
                let filled = scenario.fill(&table).map_err(failed("filling the table"))?;
                let namespace = if *innermost { filled.innermost } else { table.root().clone() };
                ViewSession::of_table(table, namespace, proc)
            }
            Self::UsersOf(dir) => {
                let users = Users::of(dir)?;
                ViewSession::of_kernel(table, Members::Told(Box::new(users)), files, proc)
            }
            Self::All => ViewSession::of_kernel(table, Members::All, files, proc),
            Self::Below(pid) => ViewSession::of_kernel(table, Members::Below(*pid), files, proc),
        };
        made.map_err(|error| describe(&error))
    }

    /// Serves the view from a process of its own, until the last process that sees it is gone.
    pub(crate) fn serve_apart(&self, freshness: Freshness) -> Result<ServedView, Failure> {
        let (session, mount) = self.session(KernelFiles::Linked { age: freshness.age() })?;
        match processes::fork().map_err(failed("starting the view's process"))? {
            Fork::Child => {
                drop(mount);
                // The process that serves the view must never look at it. Nor may it hold the
                // mounts of the namespace where the view is seen, which end with the processes in
                // it.
                if let Err(error) = namespaces::enter_mount_namespace() {
                    Failure::from(error).print();
                    std::process::exit(1);
                }
                // Not a child of this process, so that no command finds a child that it has not
                // started.
                match processes::fork() {
                    Ok(Fork::Child) => log::exit(live(session)),
                    Ok(Fork::Parent(_)) => std::process::exit(0),
                    Err(_) => std::process::exit(1),
                }
            }
            Fork::Parent(child) => {
                drop(session);
                let ended = child.wait().map_err(failed("starting the view's process"))?;
                if ended.exit_status() != Some(0) {
                    let answer = format!("it could not be divided ({ended:?})");
                    return Err(Failure::new("starting the view's process", answer));
                }
                let has_links = !matches!(self, Self::Scenario { .. });
                Ok(ServedView { mount, has_links })
            }
        }
    }
}

/// Finds out whether a view of processes can be made here.
///
/// # Errors
///
/// [`Failure`] if /proc is a scenario's view.
pub(crate) fn require_processes() -> Result<(), Failure> {
    let proc = ProcDir::open().map_err(failed("opening /proc"))?;
    if lists_reader(&proc).map_err(failed("looking for this process in /proc"))? {
        return Ok(());
    }
    let answer = "/proc shows a scenario here, and none of the processes that run";
    let advice = "start it outside of `procview run --scenario`";
    Err(Failure::new("making a view of processes", answer).advise(advice))
}

/// Whether a listing has the process that reads it, as of the kernel's /proc and of views of its
/// processes. The server of a view finds no process in a scenario, not even its readers.
fn lists_reader(proc: &ProcDir) -> io::Result<bool> {
    // In a scenario `self` may be a number that is listed only under another name.
    let own = String::from_utf8_lossy(&proc.read_link("self")?).parse();
    Ok(match own {
        Ok(own) => proc.numbers(".")?.contains(&own),
        Err(_) => false,
    })
}

/// A view that is served, and that no process sees yet.
pub(crate) struct ServedView {
    mount: DetachedMount,
    /// Its files lead on to the kernel's own.
    has_links: bool,
}

/// Whether what was told a moment ago may be believed.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Freshness {
    /// For a stated age.
    Aged,
    /// Never.
    Fresh,
}

impl Freshness {
    /// As the user wishes.
    pub(crate) fn of(is_fresh: bool) -> Self {
        if is_fresh { Self::Fresh } else { Self::Aged }
    }

    fn age(self) -> Duration {
        match self {
            Self::Aged => AGE,
            Self::Fresh => Duration::ZERO,
        }
    }
}

impl ServedView {
    /// Puts the view over /proc, as this process sees it.
    pub(crate) fn show(self) -> Result<(), Failure> {
        let place = Path::new("/proc");
        if !self.has_links {
            return attach(&self.mount, place);
        }
        // Before it is covered.
        let kernels = DetachedMount::copy_of(place).map_err(failed("looking at /proc"))?;
        attach(&self.mount, place)?;
        attach(&kernels, &place.join(KERNEL_DIR))
    }
}

/// The life of the process that serves; returns its exit status.
fn live(session: ViewSession) -> i32 {
    let prepared = driver::leave_terminal(&[Stream::Input, Stream::Output], c"procview")
        .and_then(|()| serve(session));
    match prepared {
        Ok(()) => 0,
        Err(failure) => {
            failure.print();
            1
        }
    }
}

/// Serves a view from this process.
pub(crate) fn serve(session: ViewSession) -> Result<(), Failure> {
    log::write_in_background()?;
    if let Err(error) = processes::raise_open_file_limit() {
        tracing::warn!(%error, "the limit of open files stays as it is");
    }
    session.serve().map_err(failed("serving the view"))
}

/// Puts a view at a directory.
pub(crate) fn attach(mount: &DetachedMount, dir: &Path) -> Result<(), Failure> {
    let tried = format!("mounting the view at {}", dir.display());
    mount.attach(dir).map_err(|error| Failure::new(tried, error).advise(MOUNT_ADVICE))
}

const MOUNT_ADVICE: &str =
    "mounting needs root, or the private mounts that `anybinder procview run` makes";

fn describe(error: &ViewMountError) -> Failure {
    match error {
        ViewMountError::Open(source) => driver::without_fuse(source),
        ViewMountError::Links(source) => Failure::new("reading /proc", source),
        ViewMountError::Create(source) => {
            Failure::new("making the view", source).advise(MOUNT_ADVICE)
        }
    }
}
