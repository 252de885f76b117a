//! Checks of our service manager, and of the tool that asks it, in a world with devices `m0`, `m1`, ... and no manager.
//!
//! ```text
//! manager_checks [FILTER]            runs all checks, each on a device of its own
//! manager_checks serve DEVICE NAME   registers an object through our library, and ends with its standard input
//! manager_checks lazy DEVICE NAME    the same, and ends when the object has no clients
//! manager_checks flood DEVICE -     registers as much as a user may, again and again for a second
//! manager_checks speak DEVICE RELEASE
//!                                    registers and finds as a client of that release of Android does
//! ```
//!
//! `anybinder` lies beside this program.

mod floods;
mod lifetimes;
mod releases;
mod served;
mod tool;

use std::error::Error;
use std::ffi::OsStr;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Output, Stdio};
use std::time::Instant;
use std::{env, thread};

use binder::service_manager::ServiceManager;
use binder::transport::driver::DriverDevice;
use binder_testkit::HANG_TIMEOUT;
use foreign::READY;
use libtest_mimic::{Arguments, Trial};

type Outcome<T = ()> = Result<T, Box<dyn Error + Send + Sync>>;
/// A check with its name.
type Check = (&'static str, fn(&Place) -> Outcome);

fn main() -> ExitCode {
    let words: Vec<_> = env::args().skip(1).collect();
    let words: Vec<_> = words.iter().map(String::as_str).collect();
    let outcome = match words[..] {
        ["serve", device, name] => served::serve(Path::new(device), name),
        ["lazy", device, name] => served::serve_lazy(Path::new(device), name),
        ["flood", device, _] => floods::pour(Path::new(device)),
        ["speak", device, release] => releases::speak(Path::new(device), release),
        _ => return check(),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("manager_checks {words:?}: {error}");
            ExitCode::FAILURE
        }
    }
}

fn check() -> ExitCode {
    let checks = [lifetimes::CHECKS, floods::CHECKS, releases::CHECKS, tool::CHECKS];
    let checks = checks.into_iter().flatten().enumerate();
    let trial = |(number, &(name, check)): (usize, &Check)| {
        let place = Place { device: PathBuf::from(format!("/dev/m{number}")) };
        Trial::test(name, move || check(&place).map_err(|error| error.to_string().into()))
    };
    libtest_mimic::run(&Arguments::from_args(), checks.map(trial).collect()).exit_code()
}

/// A device that a check has for itself.
struct Place {
    device: PathBuf,
}

impl Place {
    /// Starts a manager and waits until it serves.
    fn manager(&self, options: &[&str]) -> Outcome<Program> {
        let mut command = Command::new(beside("anybinder")?);
        command.arg("servicemanager").arg(&self.device).args(options);
        let manager = Program::start(&mut command)?;
        let device = DriverDevice::open(&self.device)?;
        soon("a service manager", || device.context_object().is_ok())?;
        Ok(manager)
    }

    /// The device, with a thread pool, and its manager.
    fn connect(&self) -> Outcome<(DriverDevice, ServiceManager)> {
        let device = DriverDevice::open(&self.device)?;
        device.start_thread_pool()?;
        let manager = ServiceManager::of(&device)?;
        Ok((device, manager))
    }

    /// Starts this program in another role, and waits until it says that it is ready.
    fn program(&self, role: &str, last: &str) -> Outcome<Program> {
        let mut command = Command::new(env::current_exe()?);
        command.arg(role).arg(&self.device).arg(last);
        Program::start(&mut command)?.ready()
    }

    /// Runs `anybinder service`.
    fn ask(&self, words: &[&str]) -> Outcome<Answer> {
        let mut command = Command::new(beside("anybinder")?);
        command.arg("service").arg("--device").arg(&self.device).args(words);
        let Output { status, stdout, stderr } = command.stdin(Stdio::null()).output()?;
        let (stdout, stderr) = (String::from_utf8(stdout)?, String::from_utf8(stderr)?);
        Ok(Answer { code: status.code(), stdout, stderr })
    }
}

/// What the tool has said.
#[derive(Debug, PartialEq, Eq)]
struct Answer {
    code: Option<i32>,
    stdout: String,
    stderr: String,
}

/// Where a program of this stage is.
fn beside(name: &str) -> Outcome<PathBuf> {
    Ok(env::current_exe()?.with_file_name(name))
}

/// A program that this one started; it ends with this value.
struct Program(Child);

impl Program {
    fn start(command: &mut Command) -> Outcome<Self> {
        Ok(Self(command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?))
    }

    fn ready(mut self) -> Outcome<Self> {
        let mut line = String::new();
        if let Some(stdout) = self.0.stdout.take() {
            BufReader::new(stdout).read_line(&mut line)?;
        }
        if line.trim_end() == READY { Ok(self) } else { Err(format!("not ready: {line:?}").into()) }
    }

    fn pid(&self) -> u32 {
        self.0.id()
    }

    /// Kills it, and waits until it is gone.
    fn kill(mut self) -> Outcome {
        self.0.kill()?;
        self.0.wait()?;
        Ok(())
    }

    /// Waits until it ends by itself, well.
    fn succeed(mut self) -> Outcome {
        let status = self.0.wait()?;
        if status.success() { Ok(()) } else { Err(format!("a program ended with {status}").into()) }
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // One that has ended is gone.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Waits for something that takes a moment.
fn soon(what: &str, mut is_so: impl FnMut() -> bool) -> Outcome {
    let deadline = Instant::now() + HANG_TIMEOUT;
    while !is_so() {
        if Instant::now() > deadline {
            return Err(format!("in vain: {what}").into());
        }
        thread::yield_now();
    }
    Ok(())
}

/// Fails if two things are not the same.
fn same<T: PartialEq + std::fmt::Debug>(found: T, wanted: T) -> Outcome {
    if found == wanted { Ok(()) } else { Err(format!("{found:?}, and not {wanted:?}").into()) }
}

/// Fails if a text lacks a part.
fn contains(text: &str, part: impl AsRef<OsStr>) -> Outcome {
    let part = part.as_ref().to_string_lossy();
    if text.contains(&*part) { Ok(()) } else { Err(format!("no {part:?} in {text:?}").into()) }
}
