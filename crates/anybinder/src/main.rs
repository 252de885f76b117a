//! Binder on any Linux, without a kernel module.
//!
//! The program holds options, logging and exit codes; what a subcommand does is in its file, what
//! several need is in [`world`] and [`driver`].

mod aidl;
mod bench;
mod broker;
mod cli;
mod cluster;
mod completions;
mod default_manager;
mod demo;
mod doctor;
mod driver;
mod execution;
mod failure;
mod granted_users;
mod inspect;
mod limits_file;
mod links;
mod list_hook;
mod log;
mod man;
mod metrics;
mod mount;
mod mount_lock;
mod mounts;
mod oci;
mod preload;
mod process_view;
mod procview;
mod run;
mod runtime_dir;
mod service;
mod servicemanager;
mod this_program;
mod top;
mod trace;
mod web;
mod world;
mod world_name;
mod worlds;

use std::path::Path;
use std::process::ExitCode;

use binder_os::processes::{self, Signal};
use binder_os::signals;

use crate::cli::{Cli, Command, WorldCommand};
use crate::failure::{Failure, failed};
use crate::log::Colors;

fn main() -> ExitCode {
    let cli = Cli::parse_and_check();
    let colors = if worlds::makes_log(&cli.command) { Colors::None } else { Colors::AtTerminal };
    log::start(cli.verbose, colors);
    let done = notice_children()
        .and_then(|()| require_proc(&cli.command))
        .and_then(|()| require_file_size(&cli.command))
        .and_then(|()| perform(cli.command, cli.verbose));
    let status = done.unwrap_or_else(|failure| {
        failure.print();
        ExitCode::FAILURE
    });
    log::flush();
    status
}

fn perform(command: Command, verbose: u8) -> Result<ExitCode, Failure> {
    match command {
        Command::Run(options) => run::run(&options),
        Command::World(command) => worlds::run(&command),
        Command::Mount(options) => mount::run(&options),
        Command::Oci(options) => oci::run(&options).map(|never| match never {}),
        Command::Procview(command) => procview::run(&command),
        Command::Preload(options) => preload::run(&options),
        Command::Doctor(options) => doctor::run(&options),
        Command::Demo(options) => demo::run(&options),
        Command::Ps(options) => inspect::ps(&options),
        Command::Top(options) => top::run(&options),
        Command::State(options) => inspect::state(&options),
        Command::Stats(options) => inspect::stats(&options),
        Command::Transactions(options) => inspect::transactions(&options),
        Command::Waits(options) => inspect::waits(&options),
        Command::Log(options) => inspect::log(&options),
        Command::Trace(options) => trace::run(&options),
        Command::Aidl(options) => aidl::run(&options),
        Command::Web(options) => web::run(&options),
        Command::Servicemanager(options) => servicemanager::run(&options, verbose),
        Command::Service(arguments) => service::run(&arguments),
        Command::Bench(bench) => bench::run(&bench),
        Command::DemoCast(options) => demo::play(&options),
        Command::ListHook(options) => Ok(list_hook::run(&options)),
        Command::Broker(options) => broker::run(&options),
        Command::Completions(options) => completions::run(&options),
        Command::Man(options) => man::run(&options),
    }
}

/// Has the end of children noticed. A parent may have chosen to ignore that of its own, which we inherit, and then we
/// could not wait for ours.
fn notice_children() -> Result<(), Failure> {
    signals::reset(Signal::CHILD).map_err(failed("resetting SIGCHLD"))
}

/// Says so where there is no /proc, from which namespaces, mounts and clients are learned.
fn require_proc(command: &Command) -> Result<(), Failure> {
    let needs_none = matches!(
        command,
        Command::Aidl(_) | Command::Completions(_) | Command::Man(_) | Command::Preload(_)
    );
    if needs_none || Path::new("/proc/self/stat").exists() {
        return Ok(());
    }
    let answer = "this process is not to be found there: the kernel's /proc is not mounted";
    Err(Failure::new("looking at /proc", answer).advise("sudo mount -t proc proc /proc"))
}

/// The largest file that a driver makes: a receive buffer, in memory.
const FILE_BYTES: u64 = 4 << 20;

/// Says so where a driver would be ended for the size of its files.
fn require_file_size(command: &Command) -> Result<(), Failure> {
    let is_driver = matches!(
        command,
        Command::Run(_)
            | Command::World(WorldCommand::Create(_))
            | Command::Mount(_)
            | Command::Oci(_)
            | Command::Demo(_)
            | Command::Bench(_)
    );
    let limit = processes::file_size_limit();
    if !is_driver || limit >= FILE_BYTES {
        return Ok(());
    }
    let answer =
        format!("they may have {limit} bytes, and a receive buffer has up to {FILE_BYTES}");
    let advice = "`ulimit -f unlimited` where it was set; of a service, LimitFSIZE=";
    Err(Failure::new("looking how large files may be", answer).advise(advice))
}
