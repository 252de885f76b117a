//! `anybinder bench`: what a device achieves, beside its baselines.
//!
//! Without a device named, the bench is run again in a world of its own, where it finds one.

use std::process::ExitCode;

use binder_bench::Bench;
use binder_fuse::Options;

use crate::cli::{DeliveryChoice, driver_options};
use crate::demo::this_program;
use crate::failure::{Failure, failed};
use crate::run::DEVICE_MODE;
use crate::world::{SupervisionChoice, World};

pub(crate) fn run(bench: &Bench) -> Result<ExitCode, Failure> {
    if bench.has_device() {
        bench.run(&mut std::io::stdout().lock()).map_err(failed("measuring"))?;
        return Ok(ExitCode::SUCCESS);
    }
    let names = ["binder", "hwbinder"].map(str::to_owned);
    let devices = driver_options(&names, DEVICE_MODE, DeliveryChoice::Auto);
    let devices = Options { statistics: bench.reads_logs(), ..devices };
    let same_again = [this_program()?].into_iter().chain(std::env::args_os().skip(1));
    let status = World::enter(&devices)?.run(
        &same_again.collect::<Vec<_>>(),
        SupervisionChoice::Full,
        None,
        None,
        |_| Vec::new(),
    )?;
    Ok(ExitCode::from(status))
}
