//! Makes a test program of the checks.
//!
//! Every check becomes a test with the name and the filters that `cargo test` is used to. Checks
//! on a device are ignored, visibly, where there is no device.

use std::panic::{self, AssertUnwindSafe};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Mutex, PoisonError};

use binder_testkit::{CoreRig, DeviceRig, Driver, Skipped, Stage, act_if_asked};
use libtest_mimic::{Arguments, Completion, Failed, Trial};

use crate::checks;
use crate::registry::{Check, difference, not_yet};

/// Names the device that the checks run on.
pub const DEVICE_VARIABLE: &str = "ANYBINDER_TEST_DEVICE";

/// A device has one context manager: checks take turns.
static TURN: Mutex<()> = Mutex::new(());

/// The main function of a test program.
#[must_use]
pub fn main() -> ExitCode {
    act_if_asked();
    let arguments = Arguments::from_args();
    let device = std::env::var_os(DEVICE_VARIABLE).map(PathBuf::from);
    let on_the_core = checks::all().filter(Check::is_for_the_core).map(core_trial);
    let on_a_device = checks::all()
        .filter(Check::is_for_devices)
        .map(|check| device_trial(check, device.clone()));
    let trials = on_the_core.chain(on_a_device).chain([doors_trial(device.clone())]).collect();
    libtest_mimic::run(&arguments, trials).exit_code()
}

fn core_trial(check: Check) -> Trial {
    Trial::ignorable_test(format!("core::{}", check.name), move || {
        Ok(run(&check, &Stage::new(Box::new(CoreRig::default()))))
    })
}

fn device_trial(check: Check, device: Option<PathBuf>) -> Trial {
    Trial::ignorable_test(format!("device::{}", check.name), move || match device {
        Some(device) => run_on_device(&check, &device),
        None => Ok(Completion::ignored_with(format!("{DEVICE_VARIABLE} names no device"))),
    })
}

/// A device that a variable names may be missing: then all checks would pass by another way.
fn doors_trial(device: Option<PathBuf>) -> Trial {
    Trial::ignorable_test("device::hosts_use_the_doors_that_are_named", move || match device {
        Some(device) => {
            device_rig(&device)?.prove_doors();
            Ok(Completion::Completed)
        }
        None => Ok(Completion::ignored_with(format!("{DEVICE_VARIABLE} names no device"))),
    })
}

fn device_rig(device: &Path) -> Result<DeviceRig, Failed> {
    let second = device.with_file_name("hwbinder");
    Ok(DeviceRig::new(device, &second).map_err(|error| format!("{device:?}: {error}"))?)
}

fn run_on_device(check: &Check, device: &Path) -> Result<Completion, Failed> {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let stage = Stage::new(Box::new(device_rig(device)?));
    Ok(run(check, &stage))
}

fn run(check: &Check, stage: &Stage) -> Completion {
    if let Some(difference) = difference(check, stage.driver()) {
        return Completion::ignored_with(difference.reason);
    }
    if let Some(reason) = not_yet(check)
        && stage.driver() != Driver::Kernel
    {
        return Completion::ignored_with(reason);
    }
    let outcome = panic::catch_unwind(AssertUnwindSafe(|| (check.run)(stage)));
    match outcome {
        Ok(()) => {
            stage.tear_down();
            Completion::Completed
        }
        Err(cause) => match cause.downcast_ref() {
            Some(Skipped(reason)) => Completion::ignored_with(reason),
            None => panic::resume_unwind(cause),
        },
    }
}

/// The name of a driver in reports.
#[must_use]
pub fn name_of(driver: Driver) -> &'static str {
    match driver {
        Driver::Core => "core",
        Driver::UserSpace => "user space",
        Driver::Kernel => "kernel",
    }
}
