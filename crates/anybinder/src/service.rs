//! `anybinder service`: Android's `service`, `dumpsys` and `cmd`, over the service manager of a device.

mod call;
mod cluster;
mod dump;
mod hex;
mod shell;

use std::path::Path;
use std::process::ExitCode;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use binder::service_manager::{ServiceDebugInfo, ServiceManager};
use binder::transport::driver::{DeviceError, DriverDevice, ProcessState};
use binder::{SpIBinder, StatusCode};
use serde::Serialize;

use crate::cli::{
    ServiceArguments, ServiceCommand, ServiceListOptions, ServiceNameOptions, ServiceWaitOptions,
};
use crate::failure::{Failure, failed};
use crate::inspect::{RecordTable, print};

/// How long `service wait` waits for a manager that is not there yet.
const MANAGER_TIME: Duration = Duration::from_secs(10);
/// How long a list waits for services to tell their interfaces.
const DESCRIPTOR_TIME: Duration = Duration::from_secs(1);

/// The service manager that a command line means, and how it wants to be told.
struct Asked {
    path: String,
    device: DriverDevice,
    manager: ServiceManager,
    is_json: bool,
}

pub(crate) fn run(arguments: &ServiceArguments) -> Result<ExitCode, Failure> {
    let asked = Asked::of(arguments)?;
    match &arguments.command {
        ServiceCommand::List(options) if options.cluster => cluster::list(&asked),
        ServiceCommand::List(options) => list(&asked, options),
        ServiceCommand::Check(options) => check(&asked, options),
        ServiceCommand::Wait(options) => wait(&asked, options),
        ServiceCommand::Call(options) => call::run(&asked, options),
        ServiceCommand::Dump(options) => dump::run(&asked, options),
        ServiceCommand::Shell(options) => shell::run(&asked, options),
        ServiceCommand::DebugInfo => debug_info(&asked),
    }
}

/// The service of a name at the manager of a device, which must be there.
pub(crate) fn require(device: &Path, name: &str) -> Result<SpIBinder, Failure> {
    Asked::at(device, false, Duration::ZERO)?.require(name)
}

impl Asked {
    fn of(arguments: &ServiceArguments) -> Result<Self, Failure> {
        let patience = match &arguments.command {
            ServiceCommand::Wait(options) => {
                options.time().map_or(MANAGER_TIME, |it| it.min(MANAGER_TIME))
            }
            _ => Duration::ZERO,
        };
        Self::at(&arguments.device, arguments.json, patience)
    }

    /// Asks the manager of a device, for which it waits that long.
    fn at(device: &Path, is_json: bool, patience: Duration) -> Result<Self, Failure> {
        let path = device.display().to_string();
        let device = ProcessState::init_with_driver(device);
        let device = device.map_err(|error| without_device(&error))?;
        let manager = ServiceManager::wait_for(&device, patience);
        let manager = manager.map_err(|status| without_manager(&path, status))?;
        Ok(Self { path, device, manager, is_json })
    }

    fn failed(&self, tried: &str) -> impl FnOnce(StatusCode) -> Failure {
        let tried = format!("{tried}, of the service manager of {}", self.path);
        move |status| Failure::new(tried, status)
    }

    /// The service of a name, if it is registered.
    fn find(&self, name: &str) -> Result<Option<SpIBinder>, Failure> {
        self.manager.check(name).map_err(self.failed(&format!("asking for {name}")))
    }

    /// The service of a name, which must be there.
    fn require(&self, name: &str) -> Result<SpIBinder, Failure> {
        self.find(name)?.ok_or_else(|| {
            Failure::new(format!("looking for {name}"), "there is no such service")
                .advise("anybinder service list")
        })
    }

    fn print_json(&self, value: &impl Serialize) -> Result<(), Failure> {
        let line = serde_json::to_string(value).map_err(failed("writing JSON"))?;
        print(&format!("{line}\n"))
    }
}

fn without_device(error: &DeviceError) -> Failure {
    Failure::new("using binder", error).advise(
        "`anybinder run --manager -- COMMAND` gives a command a device with a service manager; \
         another device is named by --device",
    )
}

fn without_manager(path: &str, status: StatusCode) -> Failure {
    let tried = format!("asking the service manager of {path}");
    if status == StatusCode::DEAD_OBJECT {
        return Failure::new(tried, "there is none").advise(
            "`anybinder servicemanager` is one; `anybinder run --manager` and `anybinder mount \
             --manager` start it",
        );
    }
    Failure::new(tried, status)
}

#[derive(Serialize)]
struct ListedService<'a> {
    name: &'a str,
    interface: Option<&'a str>,
}

fn list(asked: &Asked, options: &ServiceListOptions) -> Result<ExitCode, Failure> {
    let names = asked.manager.list().map_err(asked.failed("listing all services"))?;
    if options.names {
        let lines: String = names.iter().map(|name| format!("{name}\n")).collect();
        print(&lines)?;
        return Ok(ExitCode::SUCCESS);
    }
    let interfaces = interfaces_of(asked, &names);
    if asked.is_json {
        for (name, interface) in names.iter().zip(&interfaces) {
            asked.print_json(&ListedService { name, interface: interface.as_deref() })?;
        }
        return Ok(ExitCode::SUCCESS);
    }
    let mut text = format!("Found {} services:\n", names.len());
    for (at, (name, interface)) in names.iter().zip(&interfaces).enumerate() {
        text.push_str(&format!("{at}\t{name}: [{}]\n", interface.as_deref().unwrap_or_default()));
    }
    print(&text)?;
    Ok(ExitCode::SUCCESS)
}

/// Asks services for their interfaces, all at once: those that do not answer keep no others waiting.
fn interfaces_of(asked: &Asked, names: &[String]) -> Vec<Option<String>> {
    let mut interfaces = vec![None; names.len()];
    let (answered, answers) = mpsc::channel();
    for (at, name) in names.iter().enumerate() {
        let Ok(Some(service)) = asked.manager.check(name) else { continue };
        let answered = answered.clone();
        // A receiver that waits no longer has gone.
        let ask = move || drop(answered.send((at, service.interface_descriptor().ok())));
        let _ = thread::Builder::new().spawn(ask);
    }
    drop(answered);
    while let Ok((at, interface)) = answers.recv_timeout(DESCRIPTOR_TIME) {
        interfaces[at] = interface;
    }
    interfaces
}

#[derive(Serialize)]
struct CheckedService<'a> {
    name: &'a str,
    found: bool,
}

/// Prints whether a service is there, and makes an exit status of it.
fn tell_found(asked: &Asked, name: &str, found: bool) -> Result<ExitCode, Failure> {
    if asked.is_json {
        asked.print_json(&CheckedService { name, found })?;
    } else {
        print(&format!("Service {name}: {}\n", if found { "found" } else { "not found" }))?;
    }
    Ok(if found { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn check(asked: &Asked, options: &ServiceNameOptions) -> Result<ExitCode, Failure> {
    tell_found(asked, &options.name, asked.find(&options.name)?.is_some())
}

fn wait(asked: &Asked, options: &ServiceWaitOptions) -> Result<ExitCode, Failure> {
    let name = &options.name;
    // Its threads are told of the registration.
    asked.device.start_thread_pool().map_err(failed("starting a thread"))?;
    let found = asked.manager.wait(name, options.time());
    let found = found.map_err(asked.failed(&format!("waiting for {name}")))?;
    tell_found(asked, name, found.is_some())
}

#[derive(Serialize)]
struct RegisteredService<'a> {
    name: &'a str,
    pid: i32,
}

fn debug_info(asked: &Asked) -> Result<ExitCode, Failure> {
    let infos = asked
        .manager
        .debug_info()
        .map_err(asked.failed("asking which process serves which name"))?;
    if asked.is_json {
        for ServiceDebugInfo { name, debug_pid } in &infos {
            asked.print_json(&RegisteredService { name, pid: *debug_pid })?;
        }
        return Ok(ExitCode::SUCCESS);
    }
    let mut table = RecordTable::new([">PID", "NAME"]);
    infos.into_iter().for_each(|info| table.row([info.debug_pid.to_string(), info.name]));
    print(&table.text())?;
    Ok(ExitCode::SUCCESS)
}
