//! Binder on any Linux, without a kernel module.
//!
//! The program holds options, logging and exit codes; what a subcommand does is in its file, what
//! several need is in [`world`] and [`driver`].

mod bench;
mod broker;
mod cli;
mod completions;
mod demo;
mod doctor;
mod driver;
mod failure;
mod inspect;
mod log;
mod man;
mod mount;
mod mounts;
mod procview;
mod run;
mod top;
mod world;

use std::process::ExitCode;

use crate::cli::{Cli, Command};

fn main() -> ExitCode {
    let cli = Cli::parse_and_check();
    log::start(cli.verbose);
    let done = match cli.command {
        Command::Run(options) => run::run(&options),
        Command::Mount(options) => mount::run(&options),
        Command::Procview(command) => procview::run(&command),
        Command::Doctor(options) => doctor::run(&options),
        Command::Demo(options) => demo::run(&options),
        Command::Ps(options) => inspect::ps(&options),
        Command::Top(options) => top::run(&options),
        Command::State(options) => inspect::state(&options),
        Command::Stats(options) => inspect::stats(&options),
        Command::Transactions(options) => inspect::transactions(&options),
        Command::Log(options) => inspect::log(&options),
        Command::Bench(bench) => bench::run(&bench),
        Command::DemoCast(options) => demo::play(&options),
        Command::Broker(options) => broker::run(&options),
        Command::Completions(options) => completions::run(&options),
        Command::Man => man::run(),
    };
    let status = done.unwrap_or_else(|failure| {
        failure.print();
        ExitCode::FAILURE
    });
    log::flush();
    status
}
