//! `anybinder demo`: a world, a service, a client, calls answered.
//!
//! The demo runs this program again as the *director* inside a private world, which runs it once
//! more as the *service*; the director itself is the client. Both open /dev/binder, as any program
//! would, and have what `run` gives programs there: rings, and lanes past the driver.

use std::env;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use binder_os::binder_client::Incoming;
use binder_os::processes;
use binder_os::{BinderClient, lanes_wanted_after};

use crate::cli::{DeliveryChoice, DemoCastOptions, DemoOptions, DemoRole, driver_options};
use crate::failure::{Failure, failed};
use crate::preload::RingEnvironment;
use crate::run::DEVICE_MODE;
use crate::this_program;
use crate::world::{SupervisionChoice, World};

const DEVICE: &str = "/dev/binder";

/// Writes a line to stdout at once, and fails if no process reads it.
macro_rules! say {
    ($($part:tt)*) => {{
        let mut stdout = std::io::stdout();
        let said = writeln!(stdout, $($part)*).and_then(|()| stdout.flush());
        said.map_err(failed("writing to stdout"))?
    }};
}

/// After this many calls in a row a thread asks for a lane, as with the preloaded library, of which the demo has no need.
const BUSY_CALLS: u32 = 32;

/// The one thing that the service can do.
const GREET: u32 = 1;

pub(crate) fn run(options: &DemoOptions) -> Result<ExitCode, Failure> {
    say!("A private world: its own /dev, a binder driver in user space, no kernel module.");
    let devices = driver_options(&["binder".to_owned()], DEVICE_MODE, DeliveryChoice::Auto);
    let cast = [this_program::path()?, "demo-cast".into(), "director".into()];
    let command = cast.into_iter().chain([options.calls.to_string().into()]);
    let command: Vec<_> = command.collect();
    let variables =
        |_| RingEnvironment::without_library().variables(false, |name| env::var_os(name));
    let status =
        World::enter(&devices)?.run(&command, SupervisionChoice::None, None, None, variables)?;
    if status == 0 {
        say!("The world is closed: no process and no mount of it is left.");
        say!("Next: `anybinder run bash` gives you a shell with {DEVICE} in it.");
    }
    Ok(ExitCode::from(status))
}

/// Plays a role inside the world.
pub(crate) fn play(options: &DemoCastOptions) -> Result<ExitCode, Failure> {
    match options.role {
        DemoRole::Director => direct(options.calls),
        DemoRole::Service => serve(),
    }
}

fn direct(calls: u32) -> Result<ExitCode, Failure> {
    let client = open()?;
    let version = client.version().map_err(failed("asking for the version of binder"))?;
    say!("{DEVICE} answers: binder protocol version {version}.");

    let mut command = Command::new(this_program::path()?);
    command.args(["demo-cast", "service"]).stdout(Stdio::piped());
    let mut service = command.spawn().map_err(failed("starting the service"))?;
    let mut line = String::new();
    if let Some(stdout) = service.stdout.take() {
        // The service says when it is ready, and nothing else.
        BufReader::new(stdout).read_line(&mut line).map_err(failed("hearing the service"))?;
    }
    say!("{}", line.trim_end());

    let (pid, (uid, _)) = (std::process::id(), processes::user());
    say!("The client is process {pid}. It calls the service by handle 0: \"who am I?\"");
    let answer = client.call(GREET, b"who am I?").map_err(failed("calling the service"))?;
    let answer = String::from_utf8_lossy(&answer);
    say!("The service replies: \"{answer}\"");
    if answer != greeting(i64::from(pid), uid) {
        return Err(Failure::new("being recognized by the service", answer));
    }

    let mut times = Vec::new();
    for _ in 0..calls {
        let start = Instant::now();
        client.call(GREET, b"who am I?").map_err(failed("calling the service"))?;
        times.push(start.elapsed());
    }
    times.sort_unstable();
    let (median, p99) = (times[times.len() / 2], times[times.len() * 99 / 100]);
    say!("{calls} calls answered: {} in the median, {} at most for 99 %.", us(median), us(p99));
    service.kill().and_then(|()| service.wait()).map_err(failed("ending the service"))?;
    Ok(ExitCode::SUCCESS)
}

fn serve() -> Result<ExitCode, Failure> {
    let service = open()?;
    service.become_context_manager().map_err(failed("becoming the context manager"))?;
    say!("The service is process {}, the context manager.", std::process::id());
    let answer = |call: Incoming| greeting(call.sender_pid.into(), call.sender_euid).into_bytes();
    let Err(error) = service.serve(answer);
    Err(Failure::new("serving", error))
}

fn greeting(pid: i64, uid: u32) -> String {
    format!("you are process {pid} of user {uid}, says the driver")
}

fn open() -> Result<BinderClient, Failure> {
    let device = Path::new(DEVICE);
    let opened = match lanes_wanted_after(Some(BUSY_CALLS)) {
        Some(calls) => BinderClient::open_with_lanes(device, calls),
        None => BinderClient::open(device),
    };
    opened.map_err(failed("opening /dev/binder"))
}

fn us(time: Duration) -> String {
    format!("{:.1} us", time.as_secs_f64() * 1e6)
}
