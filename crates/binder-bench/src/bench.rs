//! The benches, as a command line offers them.

use std::io::Write;

use crate::error::BenchError;
use crate::handles::{self, HandlesOptions};
use crate::idle::{self, IdleOptions};
use crate::ping::{self, PingOptions};
use crate::report::Report;

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
    /// Measures, and writes the results to `out`.
    ///
    /// The calling process must have one thread, with nothing buffered for its standard output.
    ///
    /// # Errors
    ///
    /// [`BenchError`], after ending every process of the bench.
    pub fn run(&self, out: &mut dyn Write) -> Result<(), BenchError> {
        match self {
            Self::Ping(options) => ping::run(options, &mut Report::new(out, options.target.json)),
            Self::Handles(options) => {
                handles::run(options, &mut Report::new(out, options.target.json))
            }
            Self::Idle(options) => idle::run(options, &mut Report::new(out, options.target.json)),
        }
    }
}
