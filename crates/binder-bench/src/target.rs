//! What all benches are told: the device, and the daemon that serves it.

use std::path::{Path, PathBuf};

use crate::affinity::{self, PinnedProcess};
use crate::daemon::Daemon;
use crate::error::BenchError;
use crate::report::BenchReport;

/// The device to measure, and how to tell of it.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct BenchTarget {
    /// The device; no other program may use it meanwhile [default: /dev/binder in a world of its own]
    #[arg(long, value_name = "PATH")]
    device: Option<PathBuf>,

    /// The process that serves it [default: as `anybinder run` says]
    #[arg(long, value_name = "PID")]
    daemon_pid: Option<u32>,

    /// Print one JSON object per line
    #[arg(long)]
    pub(crate) json: bool,
}

impl BenchTarget {
    pub(crate) fn device(&self) -> &Path {
        self.device.as_deref().unwrap_or(Path::new("/dev/binder"))
    }

    /// Whether the user chose the device, or the choice was made before: inside a world.
    pub(crate) fn is_settled(&self) -> bool {
        self.device.is_some() || Daemon::is_told()
    }

    /// Returns the daemon that serves the device, if that is known.
    pub(crate) fn daemon(&self) -> Option<Daemon> {
        Daemon::find(self.daemon_pid)
    }

    /// Pins the daemon to the core of the clients and servers, or says why not.
    pub(crate) fn pin_daemon(
        &self,
        core: Option<usize>,
        report: &mut BenchReport<'_>,
    ) -> Result<Option<PinnedProcess>, BenchError> {
        let Some(core) = core else { return Ok(None) };
        let Some(daemon) = self.daemon() else {
            report
                .note("the daemon is not pinned, and its time unknown: no --daemon-pid is given")?;
            return Ok(None);
        };
        match daemon.pin(affinity::only(core)) {
            Ok(pinned) => Ok(Some(pinned)),
            Err(error) => {
                report.note(&format!("the daemon is not pinned: {error}"))?;
                Ok(None)
            }
        }
    }
}
