//! A user who registers as much as may be, while another looks for a service.

use std::env;
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::mem;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use binder::binder_impl::{IBinderInternal as _, Parcel};
use binder::service_manager::{Dialect, Method, ServiceManager};
use binder::transport::driver::DriverDevice;
use binder::{SpIBinder, Status};
use foreign::READY;

use crate::served::new_adder;
use crate::{Check, Outcome, Place, Program, soon};

pub(crate) const CHECKS: &[Check] = &[("a_flood_of_one_user_keeps_no_other_waiting", flood)];

/// Not the user of the manager.
const STRANGER: u32 = 54_321;
/// Half of the objects that a user may have.
const HALF: usize = 1024;
/// How many callbacks wait for one name.
const PER_NAME: usize = 256;
/// How long another user may wait for a find. A driver and a manager that are not optimized, on a busy machine, handle two
/// thousand deaths in a second or two, and a find comes after those that were told before it; they are no judges of speed.
const MAX_TIME: Duration = Duration::from_millis(if cfg!(debug_assertions) { 5000 } else { 100 });
/// What the flood says when it has registered all.
const REGISTERED: &str = "registered";
/// How many floods are waited through: a busy machine keeps a find waiting by chance, a manager does at each flood.
const TRIES: usize = 3;
/// How long the flood goes on.
const FLOOD_TIME: Duration = Duration::from_secs(1);

/// Looks for a service again and again, and measures the longest time that takes.
struct Canary {
    stop: Arc<AtomicBool>,
    longest: Arc<Mutex<Duration>>,
    thread: JoinHandle<Outcome>,
}

impl Canary {
    fn start(device: &Path) -> Outcome<Self> {
        let device = DriverDevice::open(device)?;
        let manager = ServiceManager::of(&device)?;
        let (stop, longest) = (Arc::new(AtomicBool::new(false)), Arc::<Mutex<Duration>>::default());
        let (is_over, measured) = (Arc::clone(&stop), Arc::clone(&longest));
        let thread = thread::spawn(move || {
            while !is_over.load(Ordering::Relaxed) {
                let begun = Instant::now();
                manager.check("manager")?.ok_or("it is there")?;
                let mut longest = measured.lock().map_err(|_| "a canary panicked")?;
                *longest = begun.elapsed().max(*longest);
                drop(longest);
                thread::sleep(Duration::from_millis(2));
            }
            drop(device);
            Ok(())
        });
        Ok(Self { stop, longest, thread })
    }

    /// The longest time since this was asked last.
    fn lap(&self) -> Outcome<Duration> {
        Ok(mem::take(&mut *self.longest.lock().map_err(|_| "a canary panicked")?))
    }

    fn finish(self) -> Outcome {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().map_err(|_| "a canary panicked")?
    }
}

/// Says how long a find took, of the manager that is flooded and of another; tells it if that is too long.
fn tell(during: &str, canaries: &[Canary; 2]) -> Outcome<Option<String>> {
    let [longest, control] = [canaries[0].lap()?, canaries[1].lap()?];
    let told =
        format!("{during}: a find took {longest:.1?} at most, {control:.1?} without a flood");
    println!("{told}");
    Ok((longest > MAX_TIME.max(control * 3)).then_some(told))
}

fn flood(place: &Place) -> Outcome {
    if !rustix::process::geteuid().is_root() {
        println!("only root has two users");
        return Ok(());
    }
    let control = Place { device: PathBuf::from("/dev/m29") };
    let _managers = [place.manager(&["--allow-all"])?, control.manager(&["--allow-all"])?];
    let canaries = [Canary::start(&place.device)?, Canary::start(&control.device)?];
    let (_device, manager) = place.connect()?;
    let mut too_long = Vec::new();
    for _ in 0..TRIES {
        too_long = wait_through(place, &manager, &canaries)?;
        if too_long.is_empty() {
            break;
        }
    }
    canaries.into_iter().try_for_each(Canary::finish)?;
    if too_long.is_empty() { Ok(()) } else { Err(too_long.join("; ").into()) }
}

/// Which finds took too long while a process registered as much as it may, went on, and died.
fn wait_through(
    place: &Place,
    manager: &ServiceManager,
    canaries: &[Canary; 2],
) -> Outcome<Vec<String>> {
    let mut too_long = Vec::new();
    canaries.iter().try_for_each(|canary| canary.lap().map(drop))?;
    let mut command = Command::new(env::current_exe()?);
    command.arg("flood").arg(&place.device).arg("x").uid(STRANGER);
    let mut flood = Program::start(&mut command)?;
    let mut said = BufReader::new(flood.0.stdout.take().ok_or("it is piped")?).lines();
    let mut wait_for = |what: &str| match said.next() {
        Some(Ok(line)) if line == what => Ok(()),
        other => Err(format!("not {what}: {other:?}")),
    };
    wait_for(REGISTERED)?;
    too_long.extend(tell("registering", canaries)?);
    wait_for(READY)?;
    too_long.extend(tell("registering again, which calls many callbacks", canaries)?);
    if manager.list()?.len() < HALF {
        return Err("there is no flood".into());
    }
    canaries.iter().try_for_each(|canary| canary.lap().map(drop))?;
    // All that it has registered dies at once.
    flood.kill()?;
    soon("all of it is forgotten", || manager.list().is_ok_and(|names| names.len() == 1))?;
    too_long.extend(tell("dying", canaries)?);
    Ok(too_long)
}

/// Registers as much as a user may, and registers on.
pub(crate) fn pour(device: &Path) -> Outcome {
    let device = DriverDevice::open(device)?;
    let manager = ServiceManager::of(&device)?;
    let objects: Vec<_> = (0..HALF).map(|_| new_adder()).collect();
    for (number, object) in objects.iter().enumerate() {
        manager.add(&format!("flood.{number}"), object)?;
    }
    let callbacks: Vec<_> = (0..HALF).map(|_| new_adder()).collect();
    let context = device.context_object()?;
    for (number, callback) in callbacks.iter().enumerate() {
        listen(&context, &format!("flood.{}", number / PER_NAME), callback)?;
    }
    println!("{REGISTERED}");
    io::stdout().flush()?;
    let begun = Instant::now();
    while begun.elapsed() < FLOOD_TIME {
        // All callbacks of its name are called.
        manager.add("flood.0", &objects[0])?;
    }
    println!("{READY}");
    io::stdout().flush()?;
    io::stdin().read_to_end(&mut Vec::new())?;
    Ok(())
}

/// Waits for a name by a callback, which is called now.
fn listen(context: &SpIBinder, name: &str, callback: &SpIBinder) -> Outcome {
    let code = Dialect::ALL[0].code(Method::RegisterForNotifications);
    let remote = context.as_remote().ok_or("the manager is another process")?;
    let mut data = Parcel::for_codec(remote.codec());
    data.write_interface_token("android.os.IServiceManager")?;
    data.write(name)?;
    data.write(callback)?;
    let reply = context.submit_transact(code.ok_or("there is such a method")?, data, 0)?;
    let status: Status = reply.read()?;
    if status.is_ok() { Ok(()) } else { Err(status.into()) }
}
