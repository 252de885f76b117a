//! What reads /proc, and what it takes over a view and over the kernel's.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use binder_os::mounts::DetachedMount;
use binder_os::processes;
use rustix::time::{ClockId, clock_gettime};
use serde::Serialize;

use crate::error::{BenchError, failed};

/// How many views are read for the first time, of which the median counts: the first process to
/// take the machine's memory may wait for it.
pub(super) const COLD_RUNS: u32 = 3;

/// What reads /proc.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Tool {
    /// `ps -e`.
    Ps,
    PsAux,
    Pstree,
    Lsof,
    Readdir,
}

/// The server of /proc.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Source {
    Procview,
    Kernel,
}

/// What was there before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ShownState {
    /// Nothing: the first reader.
    Cold,
    /// Another reader.
    Warm,
    /// Another reader, and then a tenth of the processes ended and as many came.
    Changed,
    /// Of a view of the kernel's own processes: nothing.
    LiveFirst,
    /// Another reader, of what may be believed for a stated age.
    Live,
    /// Another reader, of what may not.
    LiveFresh,
}

/// A result. The server's time counts, too.
#[derive(Debug, Clone, Copy, Serialize)]
pub(super) struct ShownRow {
    pub(super) tool: Tool,
    pub(super) source: Source,
    pub(super) state: ShownState,
    pub(super) user_sys_s: f64,
    pub(super) wall_s: f64,
}

/// What a tool took over our view and over the kernel's /proc, each time one after the other: whatever
/// else the machine does hits both.
#[derive(Default)]
pub(super) struct Times([Vec<(f64, f64)>; 2]);

impl Times {
    pub(super) fn take(
        &mut self,
        tool: Tool,
        view: &impl AsRef<DetachedMount>,
    ) -> Result<(), BenchError> {
        let Self([procview, kernel]) = self;
        let view = view.as_ref();
        view.attach(Path::new("/proc")).map_err(failed("moving the view to /proc"))?;
        procview.push(time(tool)?);
        let aside = std::env::temp_dir();
        view.attach(&aside).map_err(failed("moving the view away from /proc"))?;
        kernel.push(time(tool)?);
        Ok(())
    }

    /// The medians.
    pub(super) fn rows(self, tool: Tool, state: ShownState) -> [ShownRow; 2] {
        let [procview, kernel] = self.0.map(|mut times| {
            times.sort_by(|a, b| a.0.total_cmp(&b.0));
            times[times.len() / 2]
        });
        let row =
            |source, (user_sys_s, wall_s)| ShownRow { tool, source, state, user_sys_s, wall_s };
        [row(Source::Procview, procview), row(Source::Kernel, kernel)]
    }
}

/// What a tool takes, by the processor and by the clock, in seconds.
fn time(tool: Tool) -> Result<(f64, f64), BenchError> {
    let (start, before) = (Instant::now(), cpu_time());
    act(tool)?;
    let spent = cpu_time().saturating_sub(before);
    Ok((spent.as_secs_f64(), start.elapsed().as_secs_f64()))
}

/// The time that this process has run, with the thread that serves, and its children.
fn cpu_time() -> Duration {
    let own = clock_gettime(ClockId::ProcessCPUTime);
    let seconds = u64::try_from(own.tv_sec).unwrap_or(0);
    let own = Duration::new(seconds, u32::try_from(own.tv_nsec).unwrap_or(0));
    own + processes::children_cpu_time()
}

fn act(tool: Tool) -> Result<(), BenchError> {
    if tool == Tool::Readdir {
        let entries = std::fs::read_dir("/proc").map_err(failed("listing /proc"))?;
        std::hint::black_box(entries.count());
        return Ok(());
    }
    let name = tool.program();
    let mut command = Command::new(name);
    command.args(tool.arguments()).stdin(Stdio::null()).stdout(Stdio::null());
    let status = command.status().map_err(failed(format!("starting {name}")))?;
    // It tells so also that there was something that it was not asked for.
    if status.success() || tool == Tool::Lsof {
        return Ok(());
    }
    Err(BenchError::Actor { actor: name.into(), reason: format!("it ended with {status}") })
}

impl Tool {
    pub(super) fn program(self) -> &'static str {
        match self {
            Self::Ps | Self::PsAux => "ps",
            Self::Pstree => "pstree",
            Self::Lsof => "lsof",
            Self::Readdir => "ls",
        }
    }

    fn arguments(self) -> &'static [&'static str] {
        match self {
            Self::Ps => &["-e"],
            Self::PsAux => &["aux"],
            // Without warnings, and without asking file servers.
            Self::Lsof => &["-w", "-n", "-P"],
            Self::Pstree | Self::Readdir => &[],
        }
    }

    /// Whether this machine has it.
    pub(super) fn is_installed(self) -> bool {
        let dirs = std::env::var_os("PATH").unwrap_or_default();
        std::env::split_paths(&dirs).any(|dir| dir.join(self.program()).exists())
    }
}
