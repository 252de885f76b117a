//! `anybinder world`: private worlds that have names, and can be joined.
//!
//! A world is made as by `run`, around a process of its own, the [`monitor`]. A [`client`] asks that by a socket to
//! start commands; each is a child of the monitor, and a [`member`] of the world as the first one is. The
//! [`registry`] knows which worlds there are.

mod client;
mod create;
mod member;
mod monitor;
mod protocol;
mod registry;

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::process::ExitCode;
use std::time::Duration;

use binder_os::readiness::{self, Readiness};
use binder_os::{descendants, processes};
use serde::Serialize;

use self::client::{Attachment, JoinRequest};
use self::create::KeepWorld;
use self::protocol::WorldRequest;
use self::registry::{Registry, RegistryLock, WorldDir, WorldState};
use crate::cli::{
    Command, CreateOptions, EnterOptions, ExecOptions, ListOptions, LogsOptions, RemoveOptions,
    RunOptions, StopOptions, WorldCommand,
};
use crate::execution;
use crate::failure::{Failure, failed};
use crate::inspect::table::RecordTable;
use crate::world_name::WorldName;

/// How long the process of a world may take to end after all others in it.
const END_TIME: Duration = Duration::from_secs(10);
/// How often a log that is followed is read.
const FOLLOW_INTERVAL: Duration = Duration::from_millis(100);

pub(crate) fn run(command: &WorldCommand) -> Result<ExitCode, Failure> {
    match command {
        WorldCommand::Create(options) => create(options),
        WorldCommand::List(options) => list(options),
        WorldCommand::Enter(options) => enter(options),
        WorldCommand::Exec(options) => exec(options),
        WorldCommand::Stop(options) => stop(options),
        WorldCommand::Rm(options) => remove(options),
        WorldCommand::Logs(options) => logs(options),
    }
}

/// Whether a command makes a world whose processes write to a log.
pub(crate) fn makes_log(command: &Command) -> bool {
    match command {
        Command::World(WorldCommand::Create(_)) => true,
        Command::Run(options) => options.name.is_some(),
        _ => false,
    }
}

/// `anybinder run --name`: makes a world for a command, which ends with its last process.
pub(crate) fn run_named(name: &WorldName, options: &RunOptions) -> Result<ExitCode, Failure> {
    if options.world.manager.manager {
        return Err(Failure::new(
            "giving the world a service manager",
            "it would keep the world when all others have ended",
        )
        .advise(
            "`anybinder world create NAME --manager`, then `anybinder world exec NAME -- CMD`",
        ));
    }
    if options.detach
        && let Some(program) = options.command.first()
        && let Err(error) = execution::find_program(program)
    {
        // Its caller would look for this in the log of a world that has ended.
        execution::end_unexecuted(program, &error);
    }
    let (world, _hold) = create::create(name, &options.world, KeepWorld::WhileUsed)?;
    let attachment = if options.detach { Attachment::Detached } else { Attachment::Attached };
    let request = JoinRequest { command: &options.command, user: None, attachment };
    client::run(&world, &request).map(ExitCode::from)
}

fn create(options: &CreateOptions) -> Result<ExitCode, Failure> {
    create::create(&options.name, &options.world, KeepWorld::UntilStopped)?;
    Ok(ExitCode::SUCCESS)
}

/// A world, as `list` shows it.
#[derive(Debug, Serialize)]
struct ListedWorld {
    name: String,
    state: WorldState,
    /// The number of its own process; 0 if it has none.
    pid: u32,
    processes: usize,
    devices: Vec<String>,
    age_seconds: u64,
    is_kept: bool,
}

impl ListedWorld {
    fn of(world: &WorldDir) -> Self {
        let state = world.state();
        let record = world.record().ok();
        let running = record.as_ref().filter(|_| state == WorldState::Running);
        Self {
            name: world.name.to_string(),
            state,
            pid: running.map_or(0, |it| it.pid),
            processes: running.map_or(0, |it| descendants::list(it.pid, Some(it.driver)).len()),
            age_seconds: record.as_ref().map_or(0, |it| registry::now().saturating_sub(it.created)),
            is_kept: record.as_ref().is_some_and(|it| it.is_kept),
            devices: record.map(|it| it.devices).unwrap_or_default(),
        }
    }
}

fn list(options: &ListOptions) -> Result<ExitCode, Failure> {
    let registry = Registry::open()?;
    let worlds = registry.all(&registry.lock()?)?;
    let worlds: Vec<_> = worlds.iter().map(ListedWorld::of).collect();
    let mut text = String::new();
    if options.json {
        for world in &worlds {
            text.push_str(&serde_json::to_string(world).map_err(failed("writing JSON"))?);
            text.push('\n');
        }
    } else {
        let heads = ["NAME", "STATE", ">PID", ">PROCESSES", ">AGE", "DEVICES"];
        let mut table = RecordTable::new(heads);
        for world in worlds {
            let ListedWorld { name, state, pid, processes, devices, age_seconds, .. } = world;
            let number =
                |it: u64| if state == WorldState::Running { it.to_string() } else { "-".into() };
            table.row([
                name,
                state.word().to_owned(),
                number(pid.into()),
                number(processes as u64),
                age(age_seconds),
                devices.join(","),
            ]);
        }
        text = table.text();
    }
    io::stdout().write_all(text.as_bytes()).map_err(failed("writing to stdout"))?;
    Ok(ExitCode::SUCCESS)
}

fn age(seconds: u64) -> String {
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3600 => format!("{} min", seconds / 60),
        3600..86_400 => format!("{} h", seconds / 3600),
        86_400.. => format!("{} d", seconds / 86_400),
    }
}

fn enter(options: &EnterOptions) -> Result<ExitCode, Failure> {
    let shell = std::env::var_os("SHELL").filter(|shell| !shell.is_empty());
    let command = [shell.unwrap_or_else(|| OsString::from("/bin/sh"))];
    let attachment = Attachment::Attached;
    let request = JoinRequest { command: &command, user: options.join.user, attachment };
    client::run(&running(&options.name)?, &request).map(ExitCode::from)
}

fn exec(options: &ExecOptions) -> Result<ExitCode, Failure> {
    let attachment = if options.detach { Attachment::Detached } else { Attachment::Attached };
    let request = JoinRequest { command: &options.command, user: options.join.user, attachment };
    client::run(&running(&options.name)?, &request).map(ExitCode::from)
}

/// Finds a world that runs.
fn running(name: &WorldName) -> Result<WorldDir, Failure> {
    let registry = Registry::open()?;
    let world = registry.find(name, &registry.lock()?)?;
    match world.state() {
        WorldState::Running => Ok(world),
        WorldState::Stopped => Err(not_running(name, "it was stopped")),
        WorldState::Dead => Err(not_running(name, "it is dead: its process was killed")),
    }
}

fn not_running(name: &WorldName, why: &str) -> Failure {
    let advice = format!("anybinder world rm {name} && anybinder world create {name}");
    Failure::new(format!("joining the world '{name}'"), why).advise(advice)
}

fn stop(options: &StopOptions) -> Result<ExitCode, Failure> {
    let registry = Registry::open()?;
    for name in &options.names {
        let world = registry.find(name, &registry.lock()?)?;
        match world.state() {
            WorldState::Running => end(&world, options.time)?,
            WorldState::Stopped => {}
            WorldState::Dead => {
                let answer = "it is dead: its process was killed";
                return Err(Failure::new(format!("stopping the world '{name}'"), answer)
                    .advise(format!("anybinder world rm {name}")));
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Ends a world, its processes after `patience`. One that does not answer is killed, and its driver kills the rest.
fn end(world: &WorldDir, patience: Duration) -> Result<(), Failure> {
    let tried = || format!("stopping the world '{}'", world.name);
    let Some(own) = own_processes(world) else { return Ok(()) };
    let patience_ms = u64::try_from(patience.as_millis()).unwrap_or(u64::MAX);
    let socket = client::connect(world).and_then(|socket| {
        let asked = protocol::send(&socket, &WorldRequest::Stop { patience_ms }, &[]);
        asked.map(|()| socket).map_err(failed("asking the world to end"))
    });
    let answer_time = if socket.is_ok() { patience + END_TIME } else { Duration::ZERO };
    if own.iter().all(|process| has_ended_within(process, answer_time)) {
        return Ok(());
    }
    let [monitor, driver] = &own;
    // That fails if it has just ended.
    let _ = processes::kill(monitor);
    if has_ended_within(monitor, END_TIME) && has_ended_within(driver, END_TIME) {
        return Ok(());
    }
    Err(Failure::new(tried(), "its processes do not end, not even by SIGKILL"))
}

/// The process of a world and its driver; `None` once it does not run any more.
fn own_processes(world: &WorldDir) -> Option<[OwnedFd; 2]> {
    let record = world.record().ok()?;
    let own = [processes::pidfd(record.pid).ok()?, processes::pidfd(record.driver).ok()?];
    // If it runs still, then it did when they were opened, and they are what the record says.
    (world.state() == WorldState::Running).then_some(own)
}

/// Waits for the end of a process.
fn has_ended_within(process: &OwnedFd, time: Duration) -> bool {
    let files = [(process.as_fd(), Readiness::Read)];
    readiness::wait(&files, Some(time)).is_ok_and(|ready| ready == [true])
}

fn remove(options: &RemoveOptions) -> Result<ExitCode, Failure> {
    let registry = Registry::open()?;
    for name in &options.names {
        let lock = registry.lock()?;
        let world = registry.find(name, &lock)?;
        match (world.state(), options.force) {
            (WorldState::Running, false) => {
                return Err(Failure::new(format!("removing the world '{name}'"), "it is running")
                    .advise(format!("`anybinder world stop {name}` first, or --force")));
            }
            (WorldState::Running, true) => {
                drop(lock);
                end(&world, Duration::ZERO)?;
                remove_ended(&world, &registry.lock()?)?;
            }
            (WorldState::Stopped | WorldState::Dead, _) => remove_ended(&world, &lock)?,
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn remove_ended(world: &WorldDir, lock: &RegistryLock) -> Result<(), Failure> {
    match world.remove(lock) {
        // Which does so itself unless it is kept.
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(failed(&format!("removing the world '{}'", world.name))(error))
        }
        Ok(()) | Err(_) => Ok(()),
    }
}

fn logs(options: &LogsOptions) -> Result<ExitCode, Failure> {
    let registry = Registry::open()?;
    let world = registry.find(&options.name, &registry.lock()?)?;
    let mut log = File::open(world.log()).map_err(failed("opening the log"))?;
    let mut print =
        || io::copy(&mut log, &mut io::stdout()).map(drop).map_err(failed("printing the log"));
    if options.follow && world.state() == WorldState::Running {
        let socket = client::connect(&world)?;
        protocol::send(&socket, &WorldRequest::Watch, &[]).map_err(failed("watching the world"))?;
        // It is told of nothing but the end.
        let files = [(socket.as_fd(), Readiness::Read)];
        let has_ended = || {
            let ready = readiness::wait(&files, Some(FOLLOW_INTERVAL));
            ready.map(|ready| ready[0]).map_err(failed("watching the world"))
        };
        while !has_ended()? {
            print()?;
        }
    }
    print()?;
    Ok(ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_age_is_told_in_the_largest_unit() {
        let ages = [0, 59, 60, 3599, 3600, 86_399, 200_000].map(age);
        assert_eq!(ages, ["0 s", "59 s", "1 min", "59 min", "1 h", "23 h", "2 d"]);
    }
}
