//! Plays a service manager, a service and clients against each other, on whatever Binder device is there.
//!
//! Arguments: the service and the client, each `rsbinder` or `library`, that is ours; the manager, `rsb_hub` or
//! `servicemanager`, ours again; and, if the service or the client is to be in a container, which, and the words of a
//! command that executes others in one.
//!
//! Looks for the programs beside itself, ends those that it started, and nothing else. Status 0 says that every step
//! went as it should; otherwise the last line says which did not.

use std::error::Error;
use std::ffi::{OsStr, OsString};
use std::io::{BufRead as _, BufReader, ErrorKind};
use std::os::unix::net::UnixDatagram;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::process::{self, Child, Command, ExitCode, ExitStatus, Stdio};
use std::time::Duration;
use std::{env, thread};

use foreign::container::{CALLER_PID, CALLER_UID};
use foreign::{HOST_NAME, READY, SOCKET_ACCESSOR_NAME, SOCKET_NAME};
use rustix::process::{Pid, Signal, kill_process, set_parent_process_death_signal};

type Outcome<T = ()> = Result<T, Box<dyn Error>>;

/// How long all steps together may take before they count as hanging.
const DEADLINE: Duration = Duration::from_secs(180);

/// The first argument with which this program becomes another, which then does not outlive its parent.
const AS_CHILD: &str = "--as-child";

fn main() -> ExitCode {
    let mut args = env::args_os().skip(1);
    let outcome = match (args.next(), args.next()) {
        (Some(first), Some(name)) if first == AS_CHILD => {
            become_child(Command::new(name).args(args))
        }
        (Some(service), Some(client)) => {
            let manager = args.next().unwrap_or_else(|| RSB_HUB.into());
            let (side, container) = (args.next(), args.collect::<Vec<_>>());
            let actor = |name: &OsStr, role: &str| {
                let is_contained = side.as_ref().is_some_and(|side| side == role);
                let container = if is_contained { container.clone() } else { Vec::new() };
                Actor { program: format!("{}_{role}", name.display()), container, told: Vec::new() }
            };
            let (service, client) = (actor(&service, "service"), actor(&client, "client"));
            play(&Cast {
                client: Actor { told: service.callers(), ..client },
                service,
                manager: manager.to_string_lossy().into_owned(),
            })
        }
        _ => Err("usage: foreign_scenario SERVICE CLIENT [MANAGER [SIDE CONTAINER...]]".into()),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("foreign_scenario: {error}");
            ExitCode::FAILURE
        }
    }
}

/// The parts that this program plays.
struct Cast {
    service: Actor,
    client: Actor,
    manager: String,
}

/// A service or a client, which is started again and again.
struct Actor {
    program: String,
    /// What it is executed by; nothing where it is in no container.
    container: Vec<OsString>,
    /// Variables of its environment.
    told: Vec<(&'static str, String)>,
}

impl Actor {
    fn start(&self, args: &[&str]) -> Outcome<Program> {
        let mut command = Program::command_in(&self.container, &self.program, args)?;
        Program::spawn(&self.program, command.envs(self.told.iter().cloned()))
    }

    /// Callers from outside, as this service sees them.
    fn callers(&self) -> Vec<(&'static str, String)> {
        let has_own = |kind: &str| self.container.iter().any(|word| word == kind);
        // There root is the user who made the container, and no process outside has a number.
        let uid = if has_own("--user") { 0 } else { rustix::process::getuid().as_raw() };
        let mut callers = vec![(CALLER_UID, uid.to_string())];
        callers.extend(has_own("--pid").then(|| (CALLER_PID, "0".to_owned())));
        callers
    }
}

/// rsbinder's service manager.
const RSB_HUB: &str = "rsb_hub";

fn play(Cast { service: host, client, manager }: &Cast) -> Outcome {
    thread::spawn(|| {
        thread::sleep(DEADLINE);
        eprintln!("foreign_scenario: this step hangs, or all are too slow ({DEADLINE:?})");
        process::exit(1);
    });

    step(&format!("{manager} becomes the context manager"));
    let hub = start_manager(manager)?;

    step("a service registers");
    let service = host.start(&[])?.ready()?;

    step("rsb_service finds it");
    // In a container, it is a child's of this one.
    let pid = service.child.id().to_string();
    let owner = format!("pid={}", if host.container.is_empty() { &pid } else { "" });
    let answers: [(&[&str], &str); 3] =
        [(&["list"], HOST_NAME), (&["check", HOST_NAME], "(foreign.IHost)"), (&["info"], &owner)];
    for (question, wanted) in answers {
        ask(question, wanted)?;
    }

    step("a client makes every call");
    client.start(&["check"])?.succeed()?;

    step("files pass both ways");
    client.start(&["files"])?.succeed()?;
    ask(&["dump", HOST_NAME], "0 guests")?;

    if client.program == "library_client" {
        step("a client passes each type of AIDL there and back");
        client.start(&["types"])?.succeed()?;

        step("a client finds services by their names");
        client.start(&["names"])?.succeed()?;
    }

    step("eight clients at once make every call");
    let start = |_| client.start(&["check"]);
    for client in (0..8).map(start).collect::<Vec<_>>() {
        client?.succeed()?;
    }

    step("a client calls another, that one is killed, service and client hear of it");
    let guest = client.start(&["stay", "Zoe"])?.ready()?;
    let visitor = client.start(&["visit", "Zoe"])?.ready()?;
    guest.kill()?;
    visitor.succeed()?;

    step("the service is killed, its client and the service manager hear of it");
    let survivor = client.start(&["outlive"])?.ready()?;
    service.kill()?;
    survivor.succeed()?;
    while is_registered()? {
        thread::yield_now();
    }

    step("another service takes its place");
    let service = host.start(&[])?.ready()?;
    client.start(&["check"])?.succeed()?;
    service.kill()?;

    if (&*host.program, &*client.program) == ("library_service", "library_client") {
        step("a lazy service ends when its client has gone");
        let lazy = host.start(&["lazy"])?.ready()?;
        client.start(&["check"])?.succeed()?;
        lazy.succeed()?;
    }

    step("the manager ends when asked");
    hub.terminate()?;
    step("done");
    Ok(())
}

/// Says on standard output what comes next.
fn step(what: &str) {
    println!("foreign_scenario: {what}");
}

/// Starts a service manager and waits until it says, as to systemd, that it serves.
fn start_manager(name_of_it: &str) -> Outcome<Program> {
    // A path: not every library knows abstract names.
    let place = env::temp_dir().join(format!("anybinder-foreign-{}.socket", process::id()));
    let notices = UnixDatagram::bind(&place)?;
    notices.set_read_timeout(Some(Duration::from_millis(100)))?;
    let mut command = match name_of_it {
        RSB_HUB => Program::command(RSB_HUB, &["--insecure-allow-all"])?,
        _ => {
            let declared = format!("{SOCKET_NAME} accessor={SOCKET_ACCESSOR_NAME}\n");
            let file = place.with_extension("declared");
            std::fs::write(&file, declared)?;
            Program::command("anybinder", &[name_of_it, "--declared", &file.to_string_lossy()])?
        }
    };
    let mut hub =
        Program::spawn(name_of_it, command.env("NOTIFY_SOCKET", &place).env("RUST_LOG", "error"))?;
    let mut notice = [0; 256];
    loop {
        match notices.recv(&mut notice) {
            Ok(len) if notice[..len].starts_with(b"READY=1") => {
                std::fs::remove_file(&place)?;
                // Only one manager has this.
                let _ = std::fs::remove_file(place.with_extension("declared"));
                return Ok(hub);
            }
            Ok(len) => {
                let said = String::from_utf8_lossy(&notice[..len]);
                return Err(format!("{name_of_it}: {said:?}").into());
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(error) => return Err(error.into()),
        }
        if let Some(status) = hub.child.try_wait()? {
            return Err(format!("{name_of_it} does not serve: {status}").into());
        }
    }
}

/// Asks rsbinder's tool and looks for `wanted` in its answer.
fn ask(question: &[&str], wanted: &str) -> Outcome {
    let answer = Program::start("rsb_service", question)?.succeed()?;
    if answer.contains(wanted) {
        return Ok(());
    }
    Err(format!("rsb_service {question:?}: no {wanted:?} in\n{answer}").into())
}

/// Asks the service manager whether the host is there.
fn is_registered() -> Outcome<bool> {
    let status = Program::start("rsb_service", &["check", HOST_NAME])?.child.wait()?;
    match status.code() {
        Some(0) => Ok(true),
        Some(1) => Ok(false),
        _ => Err(format!("rsb_service check: {status}").into()),
    }
}

/// Turns this process into `command`, which is killed when the scenario ends.
fn become_child(command: &mut Command) -> Outcome {
    set_parent_process_death_signal(Some(Signal::KILL))?;
    Err(command.exec().into())
}

/// A program that this one started.
struct Program {
    what: String,
    child: Child,
}

impl Program {
    /// Starts the program `name` that lies beside this one.
    fn start(name: &str, args: &[&str]) -> Outcome<Self> {
        Self::spawn(name, &mut Self::command(name, args)?)
    }

    fn command(name: &str, args: &[&str]) -> Outcome<Command> {
        Self::command_in(&[], name, args)
    }

    fn command_in(container: &[OsString], name: &str, args: &[&str]) -> Outcome<Command> {
        let myself = env::current_exe()?;
        let mut command = Command::new(&myself);
        command.arg(AS_CHILD).args(container).arg(myself.with_file_name(name)).args(args);
        command.stdin(Stdio::null()).stdout(Stdio::piped());
        Ok(command)
    }

    fn spawn(name: &str, command: &mut Command) -> Outcome<Self> {
        let child = command.spawn()?;
        let what = format!("{name}[{}]", child.id());
        Ok(Self { what, child })
    }

    /// Waits until the program says that others may rely on it.
    fn ready(mut self) -> Outcome<Self> {
        let mut line = String::new();
        if let Some(stdout) = &mut self.child.stdout {
            BufReader::new(stdout).read_line(&mut line)?;
        }
        if line.trim_end() == READY {
            return Ok(self);
        }
        Err(format!("{} says {line:?} and not that it is ready", self.what).into())
    }

    /// Waits until the program ends by itself and returns what it printed.
    fn succeed(self) -> Outcome<String> {
        let output = self.child.wait_with_output()?;
        if output.status.success() {
            return Ok(String::from_utf8(output.stdout)?);
        }
        Err(format!("{}: {}", self.what, output.status).into())
    }

    /// Kills the program, which must still run.
    fn kill(self) -> Outcome {
        self.end(Signal::KILL, |status| status.signal() == Some(Signal::KILL.as_raw()))
    }

    /// Asks the program to end, which it must do well.
    fn terminate(self) -> Outcome {
        self.end(Signal::TERM, |status| status.success())
    }

    fn end(mut self, signal: Signal, is_good: impl Fn(ExitStatus) -> bool) -> Outcome {
        kill_process(Pid::from_child(&self.child), signal)?;
        let status = self.child.wait()?;
        if is_good(status) { Ok(()) } else { Err(format!("{}: {status}", self.what).into()) }
    }
}
