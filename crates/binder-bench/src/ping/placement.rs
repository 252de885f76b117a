//! Which processors client, server and daemon run on.

use crate::affinity;
use crate::error::BenchError;

/// Where the processes run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Placement {
    /// All on one core: one thing happens at a time, and the time is that of the work
    Same,
    /// Wherever the scheduler puts them
    None,
    /// Client and server on two cores, the daemon wherever the scheduler puts it
    Apart,
    /// Client and server on one core, the daemon on another
    Daemon,
}

/// The core of each process, if it has one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Cores {
    pub(super) client: Option<usize>,
    pub(super) server: Option<usize>,
    pub(super) daemon: Option<usize>,
}

impl Placement {
    /// Chooses the cores.
    ///
    /// # Errors
    ///
    /// [`BenchError::FewerCores`] if this process may use one, and two are needed.
    pub(super) fn cores(self) -> Result<Cores, BenchError> {
        let core = Some(affinity::core()?);
        let other = || affinity::second_core().map(Some);
        Ok(match self {
            Self::Same => Cores { client: core, server: core, daemon: core },
            Self::None => Cores::default(),
            Self::Apart => Cores { client: core, server: other()?, daemon: None },
            Self::Daemon => Cores { client: core, server: core, daemon: other()? },
        })
    }
}

impl Cores {
    /// Says where the processes ran.
    pub(super) fn summary(self) -> String {
        let core = |core: Option<usize>| core.map_or("any core".into(), |it| format!("core {it}"));
        match self {
            Self { client: None, server: None, daemon: None } => {
                "not pinned; CPU is per call".into()
            }
            Self { client, server, daemon } if client == server && server == daemon => {
                format!("all on {}; CPU is per call", core(client))
            }
            Self { client, server, daemon } => {
                let [client, server, daemon] = [client, server, daemon].map(core);
                format!(
                    "client on {client}, server on {server}, daemon on {daemon}; CPU is per call"
                )
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_said_where_the_processes_ran() {
        let summary = |client, server, daemon| Cores { client, server, daemon }.summary();
        assert_eq!(summary(None, None, None), "not pinned; CPU is per call");
        assert_eq!(summary(Some(0), Some(0), Some(0)), "all on core 0; CPU is per call");
        let apart = "client on core 0, server on core 1, daemon on any core; CPU is per call";
        assert_eq!(summary(Some(0), Some(1), None), apart);
    }
}
