//! `anybinder servicemanager`: Android's service manager on a device, alone or beside `run` and `mount`.

use std::fmt::Display;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::thread;
use std::time::Duration;

use binder_os::processes::{self, Signal, Stream};
use binder_os::signals::SignalStream;
use binder_report::records::{EventRecord, NO_MANAGER};
use service_manager::{AccessPolicy, Declarations, ManagerOptions, ManagerServer};

use crate::cli::{ManagerArguments, ServicemanagerOptions};
use crate::cluster;
use crate::driver;
use crate::failure::{Failure, failed};
use crate::inspect::Binderfs;
use crate::log;
use crate::metrics;
use crate::this_program;

/// How often a manager in the background looks whether its device is still the one of its path.
const LOOK_INTERVAL: Duration = Duration::from_secs(5);

pub(crate) fn run(options: &ServicemanagerOptions, verbose: u8) -> Result<ExitCode, Failure> {
    if options.cluster.cluster.is_some() {
        return Err(cluster::become_manager(options, &options.cluster, verbose));
    }
    let manager_options = manager_options(options)?;
    let policy = options.policy.clone();
    let metrics = metrics::listen(options.metrics)?;
    let claim = || {
        // Before other threads, which would otherwise die of them.
        let signals = signals(policy.is_some())?;
        log::write_in_background()?;
        let server = ManagerServer::claim(options.device(), manager_options);
        let server = server.map_err(|error| {
            let advice = if options.device().exists() {
                "`anybinder ps` shows who uses the device; a context has one manager, and EBUSY says \
                 that there is one"
            } else {
                "`anybinder run --manager -- COMMAND` gives a command a device with a service manager; \
                 `anybinder servicemanager DEVICE` names another"
            };
            Failure::new("becoming the service manager", error).advise(advice)
        })?;
        if let Some(listener) = metrics {
            metrics::serve_manager(listener, &server)?;
        }
        heed(signals, policy, server.clone())?;
        Ok(server)
    };
    if options.background {
        let detach = || {
            let streams = [Stream::Input, Stream::Output];
            driver::leave_terminal(&streams, c"servicemanager")?;
            claim()
        };
        let device = options.device().to_owned();
        let serve = move |server: ManagerServer| {
            end_with_path(&device, server.clone())?;
            serve(&server)
        };
        let child = driver::in_background(detach, serve, || true)?;
        tracing::info!(pid = child.pid(), "the service manager serves");
        return Ok(ExitCode::SUCCESS);
    }
    processes::set_name(c"servicemanager").map_err(failed("naming this process"))?;
    let server = claim()?;
    if let Err(error) = sd_notify::notify(&[sd_notify::NotifyState::Ready]) {
        tracing::warn!(%error, "the supervisor was not told that the service manager serves");
    }
    serve(&server).map(|()| ExitCode::SUCCESS)
}

/// Starts a manager at the first of the devices in `dir`, if one is asked for. Returns once it serves.
///
/// It is a process of its own, started anew: of this process's files and signals it has nothing.
pub(crate) fn start_beside(
    dir: &Path,
    devices: &[String],
    arguments: &ManagerArguments,
) -> Result<(), Failure> {
    let Some(device) = devices.first().filter(|_| arguments.manager) else { return Ok(()) };
    start(command_beside(dir, device, arguments)?)
}

/// The same for one that the user has not asked for, and that says nothing.
pub(crate) fn start_quietly(
    dir: &Path,
    device: &str,
    arguments: &ManagerArguments,
) -> Result<(), Failure> {
    let mut command = command_beside(dir, device, arguments)?;
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    start(command)
}

/// How a manager is started at a device in `dir`.
fn command_beside(
    dir: &Path,
    device: &str,
    arguments: &ManagerArguments,
) -> Result<Command, Failure> {
    let mut command = Command::new(this_program::path()?);
    command.arg("servicemanager").arg("--background").arg(dir.join(device));
    command.arg(format!("--dialect={}", arguments.manager_dialect));
    if let Some(address) = arguments.manager_metrics {
        command.arg(format!("--metrics={address}"));
    }
    if arguments.manager_allow_all {
        command.arg("--allow-all");
    }
    let files =
        [("--policy", &arguments.manager_policy), ("--declared", &arguments.manager_declared)];
    for (option, file) in files {
        if let Some(file) = file {
            command.arg(option).arg(file);
        }
    }
    Ok(command)
}

fn start(mut command: Command) -> Result<(), Failure> {
    let status = command.status().map_err(failed("starting the service manager"))?;
    // It has reported the failure itself.
    if status.success() {
        Ok(())
    } else {
        Err(Failure::new("starting the service manager", status))
    }
}

/// After a command that failed: says that a program of it has called a service manager that was not there. Its own
/// libraries say little more than that an object is dead.
pub(crate) fn tell_if_missed(binderfs: &Path) {
    let events: Result<Vec<EventRecord>, _> = Binderfs::at(binderfs.to_owned()).read("events.json");
    // A driver that has ended has nothing to tell.
    let mut events = events.into_iter().flatten();
    let Some(event) = events.find(|event| event.reason.as_deref() == Some(NO_MANAGER)) else {
        return;
    };
    let tried = format!("calling the service manager of {}, as the command did", event.device);
    let advice = "`anybinder run --manager -- COMMAND` starts one before the command";
    Failure::new(tried, "there was none").advise(advice).print();
}

/// The signals that are the wish to end, and, with a policy, that it be read again.
fn signals(has_policy: bool) -> Result<SignalStream, Failure> {
    let all = [Signal::TERM, Signal::INT, Signal::HUP];
    let heeded = if has_policy { &all[..] } else { &all[..2] };
    SignalStream::block(heeded).map_err(failed("blocking signals"))
}

/// Does what signals wish, on a thread of its own.
fn heed(
    signals: SignalStream,
    policy: Option<PathBuf>,
    server: ManagerServer,
) -> Result<(), Failure> {
    let run = move || {
        loop {
            match (signals.next(), &policy) {
                (Ok(arrived), Some(policy)) if arrived.signal == Signal::HUP => {
                    read_again(policy, &server);
                }
                (arrived, _) => {
                    tracing::info!(?arrived, "ending");
                    log::exit(0);
                }
            }
        }
    };
    let started = thread::Builder::new().name("signals".into()).spawn(run);
    started.map(drop).map_err(failed("starting a thread"))
}

/// Reads the policy again; one that is none changes nothing.
fn read_again(policy: &Path, server: &ManagerServer) {
    let read = read_policy(policy)
        .and_then(|policy| server.set_policy(policy).map_err(failed("using the access rules")));
    match read {
        Ok(()) => tracing::info!("the access rules are read again"),
        Err(failure) => {
            failure.print();
            tracing::error!("the access rules stay as they were");
        }
    }
}

fn serve(server: &ManagerServer) -> Result<(), Failure> {
    match server.serve() {
        Err(error) => {
            tracing::info!(%error, "the device is gone");
            Ok(())
        }
    }
}

/// Ends this process when the device has left its path and no service is left at it: a driver that was replaced, or
/// whose mount was taken away, serves for as long as a process has a device of it open.
fn end_with_path(path: &Path, server: ManagerServer) -> Result<(), Failure> {
    let path = path.to_owned();
    let filesystem = move || fs::metadata(&path).map(|it| it.dev()).ok();
    let begun = filesystem();
    let look = move || {
        loop {
            thread::sleep(LOOK_INTERVAL);
            if filesystem() != begun && server.service_count() == 0 {
                tracing::info!(
                    "the device is not at its path any more, and no driver serves there"
                );
                log::exit(0);
            }
        }
    };
    let started = thread::Builder::new().name("path".into()).spawn(look);
    started.map(drop).map_err(failed("starting a thread"))
}

const ADVICE_ON_LINES: &str = "`anybinder servicemanager --help` tells of its lines";

fn read_text(path: &Path) -> Result<String, Failure> {
    fs::read_to_string(path).map_err(failed(&format!("reading {}", path.display())))
}

fn read_policy(path: &Path) -> Result<AccessPolicy, Failure> {
    AccessPolicy::parse(&read_text(path)?).map_err(|error| not_understood(path, error))
}

fn not_understood(path: &Path, error: impl Display) -> Failure {
    Failure::new(format!("understanding {}", path.display()), error).advise(ADVICE_ON_LINES)
}

fn manager_options(options: &ServicemanagerOptions) -> Result<ManagerOptions, Failure> {
    let policy = match &options.policy {
        Some(path) => read_policy(path)?,
        None if options.allow_all => AccessPolicy::AllowAll,
        None => AccessPolicy::SameUser(processes::user().0),
    };
    let declarations = match &options.declared {
        Some(path) => {
            Declarations::parse(&read_text(path)?).map_err(|error| not_understood(path, error))?
        }
        None => Declarations::default(),
    };
    Ok(ManagerOptions { policy, declarations, dialect: options.dialect, max_threads: 0 })
}
