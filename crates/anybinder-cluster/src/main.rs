//! A service manager whose names are those of many machines, kept in etcd.
//!
//! `anybinder servicemanager --cluster` starts it. It is a program of its own, so that users of one machine need
//! neither carry nor build what speaks to etcd. `names` joins what there is: the manager of a device
//! (`service-manager`), the state machine of a member (`binder-cluster`) that `store` speaks to etcd for, the `gateway` that
//! other machines call, and the `importers` that stand for their services here.

#![forbid(unsafe_code)]

mod balance;
mod clock;
mod counted;
mod gateway;
mod importer;
mod importers;
mod metrics;
mod names;
mod options;
mod serve;
mod store;
mod users;

use std::env;
use std::io::{IsTerminal as _, Write as _};
use std::process::ExitCode;

use clap::Parser as _;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::fmt;
use tracing_subscriber::prelude::*;

use crate::options::{ClusterCli, ClusterCommand};

fn main() -> ExitCode {
    let cli = ClusterCli::parse();
    start_log(cli.verbose);
    let done = match &cli.command {
        ClusterCommand::Serve(options) => serve::run(options, cli.verbose),
        ClusterCommand::Import(options) => importer::run(options),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            match cli.command {
                ClusterCommand::Serve(_) => {
                    // Where that cannot be written, the exit code tells of it alone.
                    let _ = writeln!(std::io::stderr(), "anybinder-cluster: {failure}");
                }
                // Its manager goes on, and tries again at the next look-up.
                ClusterCommand::Import(_) => tracing::warn!("{failure}"),
            }
            ExitCode::FAILURE
        }
    }
}

/// Sends log lines to stderr: warnings, or more by `verbose`, or as RUST_LOG says.
fn start_log(verbose: u8) {
    let (level, of_libraries) = match verbose {
        0 => (LevelFilter::WARN, LevelFilter::WARN),
        1 => (LevelFilter::INFO, LevelFilter::WARN),
        2 => (LevelFilter::DEBUG, LevelFilter::WARN),
        3.. => (LevelFilter::TRACE, LevelFilter::TRACE),
    };
    let libraries = ["h2", "hyper", "tower"].map(|name| (name, of_libraries));
    let wanted = env::var("RUST_LOG").ok().and_then(|wanted| wanted.parse::<Targets>().ok());
    let filter =
        wanted.unwrap_or_else(|| Targets::new().with_default(level).with_targets(libraries));
    let lines = fmt::layer()
        .with_ansi(std::io::stderr().is_terminal())
        .with_writer(std::io::stderr)
        .log_internal_errors(false);
    tracing_subscriber::registry().with(filter).with(lines).init();
}
