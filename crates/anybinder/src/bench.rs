//! `anybinder bench`: what a device achieves, beside its baselines.
//!
//! Without a device named, the bench is run again in a world of its own, which is as those of `anybinder run`.

use std::env;
use std::process::ExitCode;

use binder_bench::Bench;
use binder_fuse::Options;

use crate::cli::{DeliveryChoice, driver_options};
use crate::failure::{Failure, failed};
use crate::preload::RingEnvironment;
use crate::run::DEVICE_MODE;
use crate::this_program;
use crate::world::{SupervisionChoice, World};

pub(crate) fn run(bench: &Bench) -> Result<ExitCode, Failure> {
    if bench.has_device() {
        bench.run(&mut std::io::stdout().lock()).map_err(failed("measuring"))?;
        return Ok(ExitCode::SUCCESS);
    }
    let names = ["binder", "hwbinder", "vndbinder"].map(str::to_owned);
    let devices = driver_options(&names, DEVICE_MODE, DeliveryChoice::Auto);
    let devices = Options { statistics: bench.reads_logs(), ..devices };
    let same_again = [this_program::path()?].into_iter().chain(env::args_os().skip(1));
    let same_again = same_again.collect::<Vec<_>>();
    let world = World::enter(&devices)?;
    let ring = RingEnvironment::place();
    let variables = |is_supervised| ring.variables(is_supervised, |name| env::var_os(name));
    let status = world.run(&same_again, SupervisionChoice::Full, None, None, variables)?;
    Ok(ExitCode::from(status))
}
