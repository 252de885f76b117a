//! `anybinder run`: a command in a private binder world.

use std::env;
use std::path::Path;
use std::process::ExitCode;

use binder_os::private_dev::{self, BINDERFS_DIR};

use crate::cli::{self, RunOptions, WorldOptions};
use crate::default_manager::ManagerWatch;
use crate::failure::Failure;
use crate::metrics;
use crate::preload::RingEnvironment;
use crate::process_view::{self, Freshness, Shown};
use crate::servicemanager;
use crate::world::{SupervisionChoice, World, WorldUsers};
use crate::worlds;

/// All processes inside are of the same user, so none is kept out.
pub(crate) const DEVICE_MODE: u32 = 0o666;

pub(crate) fn run(options: &RunOptions) -> Result<ExitCode, Failure> {
    if let Some(name) = &options.name {
        return worlds::run_named(name, options);
    }
    let options_of_world = &options.world;
    if options_of_world.proc {
        process_view::require_processes()?;
    }
    let namespaces = World::privacy_of(options_of_world.users())?;
    // Before the world, whose driver waits for the end of all processes that share its pipes.
    let view = options_of_world.proc.then(|| {
        let freshness = Freshness::of(options_of_world.fresh);
        Shown::Below(std::process::id()).serve_apart(freshness)
    });
    let view = view.transpose()?;
    let metrics = metrics::listen(options_of_world.metrics.address)?;
    let world = World::furnish(namespaces, &options_of_world.driver_options(), metrics)?;
    let ring = options_of_world.ring();
    if let Err(failure) = options_of_world.complete() {
        world.close();
        return Err(failure);
    }
    let variables = |is_supervised| ring.variables(is_supervised, |name| env::var_os(name));
    let manager = options.manager_watch();
    let supervision = options_of_world.supervision();
    let status = world.run(&options.command, supervision, view, manager, variables)?;
    Ok(ExitCode::from(status))
}

impl RunOptions {
    /// In the world: what watches whether it is to have a service manager that is not asked for.
    fn manager_watch(&self) -> Option<ManagerWatch> {
        let arguments = &self.world.manager;
        let device = self.world.devices.names.first();
        let device = device.filter(|_| !arguments.manager && !self.no_manager);
        let watch = ManagerWatch::new(device?, arguments);
        watch.inspect_err(|failure| tracing::warn!(%failure, "no service manager by itself")).ok()
    }
}

impl WorldOptions {
    /// The options of its driver.
    pub(crate) fn driver_options(&self) -> binder_fuse::Options {
        let options = cli::driver_options(&self.devices.names, DEVICE_MODE, self.delivery);
        // All processes of a private world belong to the user who made it, so nothing is hidden.
        binder_fuse::Options { statistics: true, trace_data: true, ..self.clients.apply(options) }
    }

    pub(crate) fn supervision(&self) -> SupervisionChoice {
        if self.no_seccomp { SupervisionChoice::None } else { SupervisionChoice::Full }
    }

    /// In the world: what its programs are told of the ring.
    pub(crate) fn ring(&self) -> RingEnvironment {
        if self.no_ring { RingEnvironment::off() } else { RingEnvironment::place() }
    }

    /// In the world, whose driver answers: adds what else it is to have.
    pub(crate) fn complete(&self) -> Result<(), Failure> {
        if self.list_binder {
            private_dev::list_binder()?;
        }
        servicemanager::start_beside(Path::new(BINDERFS_DIR), &self.devices.names, &self.manager)
    }

    /// Which users are to exist in it.
    pub(crate) fn users(&self) -> WorldUsers {
        if self.map_users { WorldUsers::Granted } else { WorldUsers::Caller }
    }
}
