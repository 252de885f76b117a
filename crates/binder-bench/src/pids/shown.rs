//! `ps`, `pstree` and a listing of /proc, over our view and over the kernel's.

use std::path::Path;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use binder_os::mounts::{self, DetachedMount};
use binder_os::{ProcDir, namespaces, processes};
use procview::{Facts, Machine, ProcessTable, ViewSession};

use crate::affinity::{self, Pin};
use crate::error::{BenchError, failed};
use crate::pids::readers::{COLD_RUNS, ShownRow, ShownState, Source, Times, Tool};
use crate::pids::sleepers::SleepingFamilies;
use crate::pids::{likeness, live};
use crate::report::BenchReport;
use crate::table::{self, TextTable as Printed};

const TOOLS: [Tool; 3] = [Tool::Ps, Tool::Pstree, Tool::Readdir];
/// The most that each may cost over the view, as a multiple of the kernel's.
const BARS: [(Tool, ShownState, f64); 9] = [
    (Tool::Ps, ShownState::Warm, 0.6),
    (Tool::Pstree, ShownState::Warm, 0.6),
    (Tool::Readdir, ShownState::Warm, 0.25),
    (Tool::Ps, ShownState::Cold, 2.0),
    (Tool::Pstree, ShownState::Cold, 2.0),
    (Tool::Readdir, ShownState::Cold, 2.0),
    (Tool::PsAux, ShownState::Live, 2.0),
    (Tool::Lsof, ShownState::Live, 3.0),
    (Tool::Readdir, ShownState::Live, 1.5),
];

const UPTIME: Duration = Duration::from_secs(86_400);

pub(super) fn run(
    wanted: u32,
    runs: u32,
    pin: Pin,
    report: &mut BenchReport<'_>,
) -> Result<(), BenchError> {
    let mut rows = Vec::new();
    let proc = ProcDir::open().map_err(failed("opening /proc"))?;
    let (mut sleepers, refused) = SleepingFamilies::start(wanted);
    if let Some(error) = refused {
        let count = sleepers.count();
        report.note(&format!(
            "only {count} of {wanted} processes could be started ({error}): the limits of processes \
             (ulimit -u, and pids.max of the control group) and kernel.pid_max decide"
        ))?;
    }
    let shown = proc.numbers(".").map_err(failed("listing /proc"))?.len();
    let shown = u32::try_from(shown).unwrap_or(u32::MAX);
    // From here on no other process sees our /proc; and this process ends with the bench.
    let (uid, gid) = processes::user();
    namespaces::enter_mount_namespace()
        .or_else(|_| namespaces::enter_user_and_mount_namespace(uid, gid))
        .map_err(|error| BenchError::System { tried: error.tried, source: error.source })?;
    // The tools, and the thread that serves, are where this thread is.
    let core = (pin == Pin::Same).then(affinity::core).transpose()?;
    core.map_or(Ok(()), affinity::pin_self)?;
    let mut told = Vec::new();
    for tool in TOOLS {
        let spare = shown / 10;
        let mut cold = Times::default();
        for _ in 1..COLD_RUNS {
            let stage = ProcStage::set(&proc)?;
            cold.take(tool, &stage)?;
            stage.strike()?;
        }
        let stage = ProcStage::set(&proc)?;
        cold.take(tool, &stage)?;
        rows.extend(cold.rows(tool, ShownState::Cold));
        let mut warm = Times::default();
        for _ in 0..runs {
            warm.take(tool, &stage)?;
        }
        rows.extend(warm.rows(tool, ShownState::Warm));
        told.push(stage.replace(spare)?);
        let mut changed = Times::default();
        changed.take(tool, &stage)?;
        rows.extend(changed.rows(tool, ShownState::Changed));
        stage.strike()?;
        sleepers.replace(spare).map_err(failed("replacing processes"))?;
    }
    rows.extend(live::run(runs, &proc, report)?);
    drop(sleepers);
    for row in &rows {
        report.record(row)?;
    }
    print(&rows, report)?;
    let each = told.iter().sum::<Duration>() / u32::try_from(told.len().max(1)).unwrap_or(1);
    let place = core.map_or("nobody is pinned".into(), |core| format!("all on core {core}"));
    report.summary(&format!(
        "{shown} processes, {place}. To end {0} of them and start {0}, and to tell the kernel of it, took {1}",
        shown / 10,
        table::duration(u64::try_from(each.as_nanos()).ok()),
    ))
}

/// The name of a variant, as `LiveFirst` in words.
fn words(variant: &impl std::fmt::Debug) -> String {
    let mut words = String::new();
    for letter in format!("{variant:?}").chars() {
        if letter.is_uppercase() && !words.is_empty() {
            words.push(' ');
        }
        words.extend(letter.to_lowercase());
    }
    words
}

fn print(rows: &[ShownRow], report: &mut BenchReport<'_>) -> Result<(), BenchError> {
    let mut printed = Printed::new([
        "tool",
        "state",
        "procview",
        "kernel",
        "ratio",
        "bar",
        "wall",
        "kernel wall",
    ]);
    let find = |tool, source, state| {
        rows.iter().find(|row| (row.tool, row.source, row.state) == (tool, source, state))
    };
    for ours in rows.iter().filter(|row| row.source == Source::Procview) {
        let ShownRow { tool, state, .. } = *ours;
        let Some(kernels) = find(tool, Source::Kernel, state) else { continue };
        let bar = BARS.iter().find(|(of, at, _)| (*of, *at) == (tool, state));
        let ms = |seconds: f64| format!("{:.1} ms", seconds * 1e3);
        printed.row([
            words(&tool),
            words(&state),
            ms(ours.user_sys_s),
            ms(kernels.user_sys_s),
            table::times(Some(ours.user_sys_s / kernels.user_sys_s)),
            table::times(bar.map(|(_, _, bar)| *bar)),
            ms(ours.wall_s),
            ms(kernels.wall_s),
        ]);
    }
    report.table(&printed)
}

/// A view that is at /proc, or aside.
struct ProcStage {
    table: Arc<ProcessTable>,
    /// The processes of the table, parents first.
    numbers: Vec<u32>,
    server: JoinHandle<()>,
    mount: DetachedMount,
    /// The kernel's /proc is a new mount, too, which no process has read.
    is_fresh: bool,
}

impl AsRef<DetachedMount> for ProcStage {
    fn as_ref(&self) -> &DetachedMount {
        &self.mount
    }
}

impl ProcStage {
    fn set(proc: &ProcDir) -> Result<Self, BenchError> {
        let tried = "making a view";
        let machine = Machine::like_this_one(proc, UPTIME).map_err(failed(tried))?;
        let table = ProcessTable::new(machine);
        let refused = |error: String| BenchError::Actor { actor: "the view".into(), reason: error };
        let numbers = likeness::fill(&table, proc).map_err(|error| refused(error.to_string()))?;
        let kernels = proc.dir(".").map_err(failed(tried))?;
        let (session, mount) = ViewSession::of_table(table.clone(), table.root().clone(), kernels)
            .map_err(|error| refused(error.to_string()))?;
        let serve = move || drop(session.serve());
        let server = std::thread::Builder::new().name("procview".into()).spawn(serve);
        let server = server.map_err(failed("starting a thread"))?;
        // Without the right to, it is cold once.
        let is_fresh = mounts::mount_proc(Path::new("/proc")).is_ok();
        Ok(Self { table, numbers, server, mount, is_fresh })
    }

    /// Ends that many processes, and starts as many, with the kernel told of each; returns how long
    /// that took.
    fn replace(&self, count: u32) -> Result<Duration, BenchError> {
        let start = Instant::now();
        let refused = |error: procview::TableError| BenchError::Actor {
            actor: "the table".into(),
            reason: error.to_string(),
        };
        // Those at the end have no children that have not ended before them.
        for number in self.numbers.iter().rev().take(count as usize) {
            self.table.exit(*number).map_err(refused)?;
            let comm = b"newcomer".to_vec();
            let facts = Facts { comm, parent: Some(1), ..Facts::default() };
            self.table.spawn(self.table.root(), facts).map_err(refused)?;
        }
        Ok(start.elapsed())
    }

    fn strike(self) -> Result<(), BenchError> {
        mounts::unmount(&std::env::temp_dir()).map_err(failed("unmounting the view"))?;
        if self.is_fresh {
            mounts::unmount(Path::new("/proc")).map_err(failed("unmounting /proc"))?;
        }
        drop(self.mount);
        let _ = self.server.join();
        Ok(())
    }
}
