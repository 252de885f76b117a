//! Checks of our library over a binder device, ours or a kernel's, without any service manager.
//!
//! ```text
//! library_checks [FILTER]    starts a manager, runs all checks against it and ends it
//! library_checks manager     is the context manager; ends with its standard input
//! library_checks owner       gives the manager an object and waits to be ended
//! library_checks child       forks, and uses the device on both sides
//! library_checks caller      calls the manager for a while
//! library_checks outlive     calls until the driver is gone, which standard input tells
//! ```
//!
//! The device is `$ANYBINDER_TEST_DEVICE`, else `/dev/binder`.

mod calls;
mod endings;
mod manager;
mod objects;
mod rings;

use std::error::Error;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};
use std::{env, thread};

use binder::SpIBinder;
use binder::transport::driver::{DriverDevice, ProcessState};
use binder_testkit::HANG_TIMEOUT;
use foreign::READY;
use libtest_mimic::{Arguments, Trial};

type Outcome<T = ()> = Result<T, Box<dyn Error + Send + Sync>>;
/// A check with its name.
type Check = (&'static str, fn() -> Outcome);

fn main() -> ExitCode {
    let role = env::args().nth(1).unwrap_or_default();
    let outcome = match &*role {
        "manager" => manager::serve(),
        "owner" => endings::own(),
        "child" => endings::fork(),
        "caller" => rings::call(),
        "outlive" => rings::outlive(),
        _ => return check(),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("library_checks {role}: {error}");
            ExitCode::FAILURE
        }
    }
}

fn check() -> ExitCode {
    let mut arguments = Arguments::from_args();
    // The manager counts what it holds, for one check at a time.
    arguments.test_threads = Some(1);
    let checks = [calls::CHECKS, objects::CHECKS, endings::CHECKS, rings::CHECKS];
    let checks = checks.into_iter().flatten();
    let trial = |&(name, check): &Check| {
        Trial::test(name, move || check().map_err(|error| error.to_string().into()))
    };
    let manager = match Program::start("manager") {
        Ok(manager) => manager,
        Err(error) => {
            eprintln!("library_checks: {error}");
            return ExitCode::FAILURE;
        }
    };
    let conclusion = libtest_mimic::run(&arguments, checks.map(trial).collect());
    drop(manager);
    conclusion.exit_code()
}

/// Where the device is.
fn device_path() -> PathBuf {
    env::var_os("ANYBINDER_TEST_DEVICE").map_or_else(|| "/dev/binder".into(), PathBuf::from)
}

/// The device of this process, with a thread pool.
fn device() -> Outcome<DriverDevice> {
    let device = ProcessState::init_with_driver(&device_path())?;
    device.start_thread_pool()?;
    Ok(device)
}

/// The manager, by that device.
fn connect() -> Outcome<SpIBinder> {
    Ok(device()?.context_object()?)
}

/// This program in another role, ended with this value.
struct Program(Child);

impl Program {
    /// Starts it and waits until it says that it is ready.
    fn start(role: &str) -> Outcome<Self> {
        Self::start_on(&device_path(), role)
    }

    /// The same, with another device.
    fn start_on(device: &Path, role: &str) -> Outcome<Self> {
        let mut command = Command::new(env::current_exe()?);
        command.env("ANYBINDER_TEST_DEVICE", device);
        command.arg(role).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut program = Self(command.spawn()?);
        let mut line = String::new();
        if let Some(stdout) = program.0.stdout.take() {
            BufReader::new(stdout).read_line(&mut line)?;
        }
        if line.trim_end() == READY { Ok(program) } else { Err(format!("{role}: {line:?}").into()) }
    }

    fn pid(&self) -> u32 {
        self.0.id()
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // It is ours and was not waited for, so neither fails.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Waits until `get` gives `wanted`: what others drop is dropped a little later.
fn becomes<T: PartialEq + std::fmt::Debug>(
    what: &str,
    wanted: &T,
    mut get: impl FnMut() -> Outcome<T>,
) -> Outcome {
    let deadline = Instant::now() + HANG_TIMEOUT;
    loop {
        let got = get()?;
        if got == *wanted {
            return Ok(());
        }
        if Instant::now() > deadline {
            return Err(format!("{what}: {got:?} to the end, wanted {wanted:?}").into());
        }
        thread::sleep(Duration::from_millis(2));
    }
}

/// Compares an answer with what it must be.
fn expect<T: std::fmt::Debug + PartialEq>(what: &str, got: T, wanted: T) -> Outcome {
    if got == wanted { Ok(()) } else { Err(format!("{what}: {got:?}, wanted {wanted:?}").into()) }
}
