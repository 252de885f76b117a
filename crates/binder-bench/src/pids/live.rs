//! `ps aux`, `lsof` and a listing over a view of the kernel's own processes, and over the kernel's /proc.

use std::path::Path;
use std::thread::JoinHandle;
use std::time::Duration;

use binder_os::ProcDir;
use binder_os::mounts::{self, DetachedMount};
use procview::{KERNEL_DIR, KernelFiles, Machine, Members, ProcessTable, ViewSession};

use crate::error::{BenchError, failed};
use crate::pids::readers::{COLD_RUNS, ShownRow, ShownState, Times, Tool};
use crate::report::BenchReport;

/// How long names and listings are believed: in a row what `anybinder run --proc` believes, and in one nothing.
const AGE: Duration = Duration::from_millis(100);

/// What reads the view.
const TOOLS: [Tool; 3] = [Tool::PsAux, Tool::Lsof, Tool::Readdir];

/// Measures what reads the machine's processes, of a view whose reader believes what it is told for [`AGE`], and
/// of one whose reader asks each time.
pub(super) fn run(
    runs: u32,
    proc: &ProcDir,
    report: &mut BenchReport<'_>,
) -> Result<Vec<ShownRow>, BenchError> {
    let mut rows = Vec::new();
    for (age, state) in [(AGE, ShownState::Live), (Duration::ZERO, ShownState::LiveFresh)] {
        for tool in TOOLS {
            if !tool.is_installed() {
                report.note(&format!("{} is not installed", tool.program()))?;
                continue;
            }
            let mut first = Times::default();
            let others = if age == AGE { COLD_RUNS - 1 } else { 0 };
            for _ in 0..others {
                let stage = LiveStage::set(proc, age)?;
                first.take(tool, &stage)?;
                stage.strike()?;
            }
            let stage = LiveStage::set(proc, age)?;
            first.take(tool, &stage)?;
            let mut times = Times::default();
            for _ in 0..runs {
                times.take(tool, &stage)?;
            }
            stage.strike()?;
            if age == AGE {
                rows.extend(first.rows(tool, ShownState::LiveFirst));
            }
            rows.extend(times.rows(tool, state));
        }
    }
    Ok(rows)
}

/// A view of the kernel's processes that is at /proc, or aside.
pub(super) struct LiveStage {
    server: JoinHandle<()>,
    mount: DetachedMount,
}

impl LiveStage {
    fn set(proc: &ProcDir, age: Duration) -> Result<Self, BenchError> {
        let tried = "making a view of the kernel's processes";
        let refused = |error: String| BenchError::Actor { actor: "the view".into(), reason: error };
        let machine = Machine::like_this_one(proc, Duration::ZERO).map_err(failed(tried))?;
        let own = proc.dir(".").map_err(failed(tried))?;
        let files = KernelFiles::Linked { age };
        let (session, mount) =
            ViewSession::of_kernel(ProcessTable::new(machine), Members::All, files, own)
                .map_err(|error| refused(error.to_string()))?;
        let serve = move || drop(session.serve());
        let server = std::thread::Builder::new().name("procview".into()).spawn(serve);
        let server = server.map_err(failed("starting a thread"))?;
        let kernels = DetachedMount::copy_of(Path::new("/proc")).map_err(failed(tried))?;
        let aside = std::env::temp_dir();
        mount.attach(&aside).map_err(failed(tried))?;
        kernels.attach(&aside.join(KERNEL_DIR)).map_err(failed(tried))?;
        Ok(Self { server, mount })
    }

    fn strike(self) -> Result<(), BenchError> {
        let aside = std::env::temp_dir();
        let tried = "unmounting the view";
        mounts::unmount(&aside.join(KERNEL_DIR)).map_err(failed(tried))?;
        mounts::unmount(&aside).map_err(failed(tried))?;
        drop(self.mount);
        let _ = self.server.join();
        Ok(())
    }
}

impl AsRef<DetachedMount> for LiveStage {
    fn as_ref(&self) -> &DetachedMount {
        &self.mount
    }
}
