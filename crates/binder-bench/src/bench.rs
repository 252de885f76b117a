//! The benches, as a command line offers them.

use std::io::Write;

use crate::error::BenchError;
use crate::handles::{self, HandlesOptions};
use crate::idle::{self, IdleOptions};
use crate::ping::{self, PingOptions};
use crate::report::Report;
use crate::target::Target;

/// What can be measured.
#[derive(Debug, Clone, clap::Subcommand)]
pub enum Bench {
    /// Time round trips through a device, beside a futex and a Unix socket
    Ping(PingOptions),
    /// Time the transfer of new objects to a server that holds more and more of them
    Handles(HandlesOptions),
    /// Measure what clients that do nothing cost the daemon
    Idle(IdleOptions),
}

impl Bench {
    /// Whether there is a device to measure: one that the user named, or that of the world that we
    /// are in. Otherwise the bench is to be run in a world of its own.
    #[must_use]
    pub fn has_device(&self) -> bool {
        self.target().is_settled()
    }

    /// Measures, and writes the results to `out`.
    ///
    /// The calling process must have one thread, with nothing buffered for its standard output.
    ///
    /// # Errors
    ///
    /// [`BenchError`], after ending every process of the bench.
    pub fn run(&self, out: &mut dyn Write) -> Result<(), BenchError> {
        let report = &mut Report::new(out, self.target().json);
        match self {
            Self::Ping(options) => ping::run(options, report),
            Self::Handles(options) => handles::run(options, report),
            Self::Idle(options) => idle::run(options, report),
        }
    }

    fn target(&self) -> &Target {
        match self {
            Self::Ping(options) => &options.target,
            Self::Handles(options) => &options.target,
            Self::Idle(options) => &options.target,
        }
    }
}
