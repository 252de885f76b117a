//! The benches, as a command line offers them.

use std::io::Write;

use crate::error::BenchError;
use crate::find_bit::{self, FindBitOptions};
use crate::flood::{self, FloodOptions};
use crate::freeze::{self, FreezeOptions};
use crate::handles::{self, HandlesOptions};
use crate::idle::{self, IdleOptions};
use crate::ids::{self, IdsOptions};
use crate::pids::{self, PidsOptions};
use crate::ping::{self, PingOptions};
use crate::report::BenchReport;
use crate::sendvec::{self, SendvecOptions};
use crate::serial_fraction::{self, SerialFractionOptions};
use crate::soak::{self, SoakOptions};
use crate::target::BenchTarget;
use crate::throughput::{self, ThroughputOptions};
use crate::transports::{self, TransportsOptions};

/// What can be measured.
#[derive(Debug, Clone, clap::Subcommand)]
#[command(after_help = "\
Examples:
  anybinder bench ping
  anybinder bench throughput")]
pub enum Bench {
    /// Time round trips through a device, beside a futex and a Unix socket
    Ping(PingOptions),
    /// Count the calls that several clients make together in a second
    Throughput(ThroughputOptions),
    /// Time vectors of words, there and back, also while memory is short
    Sendvec(SendvecOptions),
    /// Time the transfer of new objects to a server that holds more and more of them
    Handles(HandlesOptions),
    /// Have many clients make mixed calls, come and go, and look that all is well
    Soak(SoakOptions),
    /// Time round trips beside clients that flood the driver
    Flood(FloodOptions),
    /// Time the freezing and thawing of a process with many objects
    Freeze(FreezeOptions),
    /// Measure what share of the daemon's work is done with the lock of a device held
    SerialFraction(SerialFractionOptions),
    /// Measure what clients that do nothing cost the daemon
    Idle(IdleOptions),
    /// Time searches in bitmaps, beside the ways that Linux has
    FindBit(FindBitOptions),
    /// Time ways to find a free id, by how many are taken
    Ids(IdsOptions),
    /// Time a table of process ids, by how many there are and in how many namespaces
    Pids(PidsOptions),
    /// Time calls over sockets, beside bare messages of the same bytes
    Transports(TransportsOptions),
}

impl Bench {
    /// Whether there is all that is to be measured: a device that the user named, or that of the
    /// world that we are in, or none is needed. Otherwise the bench is to be run in a world of its
    /// own.
    #[must_use]
    pub fn has_device(&self) -> bool {
        self.target().is_none_or(BenchTarget::is_settled)
    }

    /// Whether it reads the driver's logs. The others are not to pay for them.
    #[must_use]
    pub fn reads_logs(&self) -> bool {
        match self {
            Self::Ping(options) => options.reads_logs(),
            _ => matches!(self, Self::Soak(_) | Self::SerialFraction(_)),
        }
    }

    /// Measures, and writes the results to `out`.
    ///
    /// The calling process must have one thread, with nothing buffered for its standard output.
    ///
    /// # Errors
    ///
    /// [`BenchError`], after ending every process of the bench.
    pub fn run(&self, out: &mut dyn Write) -> Result<(), BenchError> {
        let report = &mut BenchReport::new(out, self.is_json());
        match self {
            Self::Ping(options) => ping::run(options, report),
            Self::Throughput(options) => throughput::run(options, report),
            Self::Sendvec(options) => sendvec::run(options, report),
            Self::Handles(options) => handles::run(options, report),
            Self::Soak(options) => soak::run(options, report),
            Self::Flood(options) => flood::run(options, report),
            Self::Freeze(options) => freeze::run(options, report),
            Self::SerialFraction(options) => serial_fraction::run(options, report),
            Self::Idle(options) => idle::run(options, report),
            Self::FindBit(options) => find_bit::run(options, report),
            Self::Ids(options) => ids::run(options, report),
            Self::Pids(options) => pids::run(options, report),
            Self::Transports(options) => transports::run(options, report),
        }
    }

    /// The device, for what measures one.
    fn target(&self) -> Option<&BenchTarget> {
        match self {
            Self::Ping(options) => Some(&options.target),
            Self::Throughput(options) => Some(&options.target),
            Self::Sendvec(options) => Some(&options.target),
            Self::Handles(options) => Some(&options.target),
            Self::Soak(options) => Some(&options.target),
            Self::Flood(options) => Some(&options.target),
            Self::Freeze(options) => Some(&options.target),
            Self::SerialFraction(options) => Some(&options.target),
            Self::Idle(options) => Some(&options.target),
            Self::Transports(options) => options.driver.then_some(&options.target),
            Self::FindBit(_) | Self::Ids(_) | Self::Pids(_) => None,
        }
    }

    fn is_json(&self) -> bool {
        match self {
            Self::FindBit(options) => options.json,
            Self::Ids(options) => options.json,
            Self::Pids(options) => options.json,
            Self::Transports(options) => options.target.json,
            Self::Ping(_)
            | Self::Throughput(_)
            | Self::Sendvec(_)
            | Self::Handles(_)
            | Self::Soak(_)
            | Self::Flood(_)
            | Self::Freeze(_)
            | Self::SerialFraction(_)
            | Self::Idle(_) => self.target().is_some_and(|target| target.json),
        }
    }
}
