//! `ps`, `pstree` and a listing of /proc, over our view and over the kernel's.

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use binder_os::{ProcDir, namespaces, processes};
use procview::{Facts, Machine, Scenario, Session, Table};
use rustix::time::{ClockId, clock_gettime};
use serde::Serialize;

use crate::error::{BenchError, failed};
use crate::pids::sleepers::Sleepers;
use crate::report::Report;
use crate::table::{self, Table as Printed};

/// What reads /proc.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Tool {
    Ps,
    Pstree,
    Readdir,
}

/// Who serves /proc.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Source {
    Procview,
    Kernel,
}

/// What was there before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum State {
    /// Nothing: the first reader.
    Cold,
    /// Another reader.
    Warm,
    /// Another reader, and then a tenth of the processes ended and as many came.
    Changed,
}

/// A result. What is spent to serve counts, too.
#[derive(Debug, Clone, Copy, Serialize)]
struct Row {
    tool: Tool,
    source: Source,
    state: State,
    user_sys_s: f64,
    wall_s: f64,
}

const TOOLS: [Tool; 3] = [Tool::Ps, Tool::Pstree, Tool::Readdir];
/// The most that each may cost over the view, as a multiple of the kernel's.
const BARS: [(Tool, State, f64); 6] = [
    (Tool::Ps, State::Warm, 0.6),
    (Tool::Pstree, State::Warm, 0.6),
    (Tool::Readdir, State::Warm, 0.25),
    (Tool::Ps, State::Cold, 2.5),
    (Tool::Pstree, State::Cold, 2.5),
    (Tool::Readdir, State::Cold, 2.5),
];

const UPTIME: Duration = Duration::from_secs(86_400);

pub(super) fn run(wanted: u32, runs: u32, report: &mut Report<'_>) -> Result<(), BenchError> {
    let mut rows = Vec::new();
    let proc = ProcDir::open().map_err(failed("opening /proc"))?;
    let (mut sleepers, refused) = Sleepers::start(wanted);
    if let Some(error) = refused {
        let count = sleepers.count();
        report.note(&format!(
            "only {count} of {wanted} processes could be started ({error}): the limits of processes \
             (ulimit -u, and pids.max of the control group) and kernel.pid_max decide"
        ))?;
    }
    let shown = proc.numbers(".").map_err(failed("listing /proc"))?.len();
    let shown = u32::try_from(shown).unwrap_or(u32::MAX);
    for tool in TOOLS {
        rows.push(measure(tool, Source::Kernel, State::Cold, 1)?);
        rows.push(measure(tool, Source::Kernel, State::Warm, runs)?);
        sleepers.replace(sleepers.count() / 10).map_err(failed("replacing processes"))?;
        rows.push(measure(tool, Source::Kernel, State::Changed, 1)?);
    }
    drop(sleepers);

    // From here on nobody else sees our /proc; and this process ends with the bench.
    let (uid, gid) = processes::user();
    namespaces::enter_mount_namespace()
        .or_else(|_| namespaces::enter_user_and_mount_namespace(uid, gid))
        .map_err(|error| BenchError::System { tried: error.tried, source: error.source })?;
    let mut told = Vec::new();
    for tool in TOOLS {
        let stage = Stage::set(&proc, shown)?;
        rows.push(measure(tool, Source::Procview, State::Cold, 1)?);
        rows.push(measure(tool, Source::Procview, State::Warm, runs)?);
        told.push(stage.replace(shown / 10)?);
        rows.push(measure(tool, Source::Procview, State::Changed, 1)?);
        stage.strike()?;
    }
    for row in &rows {
        report.record(row)?;
    }
    print(&rows, report)?;
    let each = told.iter().sum::<Duration>() / u32::try_from(told.len().max(1)).unwrap_or(1);
    report.summary(&format!(
        "{shown} processes. To end {0} of them and start {0}, and to tell the kernel of it, took {1}",
        shown / 10,
        table::duration(u64::try_from(each.as_nanos()).ok()),
    ))
}

fn print(rows: &[Row], report: &mut Report<'_>) -> Result<(), BenchError> {
    let mut printed =
        Printed::new(["tool", "state", "procview", "kernel", "ratio", "bar", "wall", "kernel wall"]);
    let find = |tool, source, state| {
        rows.iter().find(|row| (row.tool, row.source, row.state) == (tool, source, state))
    };
    for ours in rows.iter().filter(|row| row.source == Source::Procview) {
        let Row { tool, state, .. } = *ours;
        let Some(kernels) = find(tool, Source::Kernel, state) else { continue };
        let bar = BARS.iter().find(|(of, at, _)| (*of, *at) == (tool, state));
        let ms = |seconds: f64| format!("{:.1} ms", seconds * 1e3);
        printed.row([
            format!("{tool:?}").to_lowercase(),
            format!("{state:?}").to_lowercase(),
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

/// The median of `runs`.
fn measure(tool: Tool, source: Source, state: State, runs: u32) -> Result<Row, BenchError> {
    let mut times = Vec::new();
    for _ in 0..runs {
        let (start, before) = (Instant::now(), cpu_time());
        act(tool)?;
        let spent = cpu_time().saturating_sub(before).as_secs_f64();
        times.push((spent, start.elapsed().as_secs_f64()));
    }
    times.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (user_sys_s, wall_s) = times[times.len() / 2];
    Ok(Row { tool, source, state, user_sys_s, wall_s })
}

/// The time that this process has run, with the thread that serves, and its children.
fn cpu_time() -> Duration {
    let own = clock_gettime(ClockId::ProcessCPUTime);
    let seconds = u64::try_from(own.tv_sec).unwrap_or(0);
    let own = Duration::new(seconds, u32::try_from(own.tv_nsec).unwrap_or(0));
    own + processes::children_cpu_time()
}

fn act(tool: Tool) -> Result<(), BenchError> {
    let name = match tool {
        Tool::Ps => "ps",
        Tool::Pstree => "pstree",
        Tool::Readdir => {
            let entries = std::fs::read_dir("/proc").map_err(failed("listing /proc"))?;
            std::hint::black_box(entries.count());
            return Ok(());
        }
    };
    let mut command = Command::new(name);
    if tool == Tool::Ps {
        command.arg("-e");
    }
    let status = command.stdin(Stdio::null()).stdout(Stdio::null()).status();
    let status = status.map_err(failed(format!("starting {name}")))?;
    if status.success() {
        return Ok(());
    }
    Err(BenchError::Actor { actor: name.into(), reason: format!("it ended with {status}") })
}

/// A view at /proc.
struct Stage {
    table: Arc<Table>,
    server: JoinHandle<()>,
}

impl Stage {
    fn set(proc: &ProcDir, processes: u32) -> Result<Self, BenchError> {
        let tried = "making a view";
        let machine = Machine::like_this_one(proc, UPTIME).map_err(failed(tried))?;
        let table = Table::new(machine);
        // As long as those of the processes that the kernel shows.
        let environ = std::env::vars_os().map(|(name, value)| {
            [name.as_encoded_bytes(), b"=", value.as_encoded_bytes()].concat()
        });
        let scenario = Scenario { processes, environ: environ.collect(), ..Scenario::default() };
        let refused = |error: String| BenchError::Actor { actor: "the view".into(), reason: error };
        scenario.fill(&table).map_err(|error| refused(error.to_string()))?;
        let kernels = proc.dir(".").map_err(failed(tried))?;
        let (session, mount) = Session::of_table(table.clone(), table.root().clone(), kernels)
            .map_err(|error| refused(error.to_string()))?;
        let serve = move || drop(session.serve());
        let server = std::thread::Builder::new().name("procview".into()).spawn(serve);
        let server = server.map_err(failed("starting a thread"))?;
        mount.attach(Path::new("/proc")).map_err(failed("mounting the view at /proc"))?;
        Ok(Self { table, server })
    }

    /// Ends so many processes, and starts as many, with the kernel told of each; returns how long
    /// that took.
    fn replace(&self, count: u32) -> Result<Duration, BenchError> {
        let start = Instant::now();
        let refused = |error: procview::TableError| BenchError::Actor {
            actor: "the table".into(),
            reason: error.to_string(),
        };
        let root = self.table.root();
        let mut next = 2;
        for _ in 0..count {
            let found = root.find_ge_pid(next, &pidns::pin()).map(|(number, _)| number);
            let Some(number) = found else { break };
            next = number + 1;
            // The first of a namespace would end all in it.
            if self.table.process(number).is_ok_and(|task| task.nr() > 1) {
                self.table.exit(number).map_err(refused)?;
            }
            let comm = b"newcomer".to_vec();
            let facts = Facts { comm, parent: Some(1), ..Facts::default() };
            self.table.spawn(root, facts).map_err(refused)?;
        }
        Ok(start.elapsed())
    }

    fn strike(self) -> Result<(), BenchError> {
        namespaces::unmount(Path::new("/proc")).map_err(failed("unmounting the view"))?;
        let _ = self.server.join();
        Ok(())
    }
}
