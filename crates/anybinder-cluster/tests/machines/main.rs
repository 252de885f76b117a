//! Several machines on one: devices of a world, each with a service manager of its own, and an etcd of three members.
//!
//! Without etcd the tests are left out, and say so.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod actor;
mod authority;
mod benches;
mod etcd;
mod machine;
mod network;
mod relay;
mod scenarios;
mod troubles;
mod users;

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Instant;

use libtest_mimic::{Arguments, Measurement, Trial};

use crate::benches::Effort;

/// Set in the world.
const IN_WORLD: &str = "ANYBINDER_TEST_CLUSTER";

fn main() -> ExitCode {
    let mut arguments = env::args().skip(1);
    if arguments.next().as_deref() == Some(actor::SERVE) {
        return actor::serve(&arguments.collect::<Vec<_>>());
    }
    let arguments = Arguments::from_args();
    if env::var_os(IN_WORLD).is_none() && !arguments.list {
        if !etcd::is_there() {
            binder_testkit::skip("there is no etcd");
            return ExitCode::SUCCESS;
        }
        return run_in_world();
    }
    let trials = scenarios::ALL.iter().enumerate().map(|(number, (name, scenario))| {
        Trial::test(*name, move || {
            scenario(&machine::Place::new(number));
            Ok(())
        })
    });
    let benches = benches::ALL.iter().enumerate().map(|(number, (name, bench))| {
        Trial::bench(*name, move |is_trial| {
            let effort = if is_trial { Effort::Trial } else { Effort::Measurement };
            let begun = Instant::now();
            bench(&machine::Place::new(scenarios::ALL.len() + number), effort);
            // The bench has printed its figures; the harness wants one of its own.
            let avg = u64::try_from(begun.elapsed().as_nanos()).unwrap_or(u64::MAX);
            Ok((!is_trial).then_some(Measurement { avg, variance: 0 }))
        })
    });
    libtest_mimic::run(&arguments, trials.chain(benches).collect()).exit_code()
}

/// Runs this very program in a world with a device for each machine of each scenario.
fn run_in_world() -> ExitCode {
    let devices: Vec<_> = (0..scenarios::ALL.len() + benches::ALL.len())
        .flat_map(machine::Place::device_names)
        .collect();
    let status = Command::new(anybinder())
        .args(["run", "--no-manager", "--devices", &devices.join(","), "--"])
        .arg(env::current_exe().unwrap())
        .args(env::args_os().skip(1))
        .env(IN_WORLD, "1")
        .status()
        .unwrap();
    if status.success() {
        return ExitCode::SUCCESS;
    }
    // It may be of a test that has failed, or of a world that ended badly after all had passed.
    eprintln!("the world of the tests ended with {status}");
    ExitCode::FAILURE
}

/// The program whose devices these are, of the same build as the tests.
fn anybinder() -> PathBuf {
    let cluster = Path::new(env!("CARGO_BIN_EXE_anybinder-cluster"));
    let anybinder = cluster.with_file_name("anybinder");
    if !anybinder.exists() {
        let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let built = Command::new(cargo).args(["build", "--quiet", "-p", "anybinder"]).status();
        assert!(built.unwrap().success(), "anybinder does not build");
    }
    anybinder
}
