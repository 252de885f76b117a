//! `anybinder run`: a command in a private binder world.

use std::path::Path;
use std::process::ExitCode;

use binder_os::private_dev::BINDERFS_DIR;

use crate::cli::{self, RunOptions};
use crate::failure::Failure;
use crate::preload::RingEnvironment;
use crate::procview::{self, Shown};
use crate::servicemanager;
use crate::world::{SupervisionChoice, World};

/// All processes inside are of the same user, so none is kept out.
pub(crate) const DEVICE_MODE: u32 = 0o666;

pub(crate) fn run(options: &RunOptions) -> Result<ExitCode, Failure> {
    let devices = &options.devices.names;
    let driver_options = cli::driver_options(devices, DEVICE_MODE, options.delivery);
    // All that there is to see is of one user, who may see it.
    let driver_options =
        binder_fuse::Options { statistics: true, ..options.clients.apply(driver_options) };
    let supervision =
        if options.no_seccomp { SupervisionChoice::None } else { SupervisionChoice::Full };
    if options.proc {
        procview::require_processes()?;
    }
    let namespaces = World::privacy()?;
    // Before the world, whose driver waits for the end of all processes that share its pipes.
    let view = options.proc.then(|| Shown::Below(std::process::id()).serve_apart()).transpose()?;
    let world = World::furnish(namespaces, &driver_options)?;
    let ring = if options.no_ring { RingEnvironment::off() } else { RingEnvironment::place() };
    let beside = servicemanager::start_beside(Path::new(BINDERFS_DIR), devices, &options.manager);
    if let Err(failure) = beside {
        world.close();
        return Err(failure);
    }
    let variables = |is_supervised| ring.variables(is_supervised);
    let status = world.run(&options.command, supervision, view, variables)?;
    Ok(ExitCode::from(status))
}
