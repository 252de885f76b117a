//! `anybinder mount`: binderfs for everybody who can see the directory.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Arc, OnceLock};
use std::{fs, thread};

use binder_fuse::Session;
use binder_os::namespaces;
use binder_os::proc_files::Device;
use binder_os::processes::{Signal, Stream};
use binder_os::signals::SignalStream;

use crate::cli::{self, MountOptions};
use crate::driver::{self, Place};
use crate::failure::{Failure, failed};
use crate::log;
use crate::mounts::{self, Standing};

pub(crate) fn run(options: &MountOptions) -> Result<ExitCode, Failure> {
    // The driver leaves the directory that a relative path starts from.
    let dir = fs::canonicalize(&options.dir).map_err(|error| {
        let dir = options.dir.display();
        Failure::new(format!("looking for {dir}"), error).advise(format!("mkdir -p {dir}"))
    })?;
    let driver_options = cli::driver_options(&options.devices, options.mode, options.delivery);
    let driver_options = binder_fuse::Options {
        devices_max: options.max,
        statistics: options.stats,
        ..options.clients.apply(driver_options)
    };
    let place = place_at(&dir, options.replace)?;
    let own = OwnMount { dir: dir.clone(), device: Arc::default() };
    let device = Arc::clone(&own.device);
    let attend = |session: &Session| {
        // Nobody else has set it.
        let _ = device.set(session.device());
        Ok(())
    };
    if options.foreground {
        own.unmount_on_signals()?;
        let session = driver::mount(&dir, place, &driver_options)?;
        attend(&session)?;
        tell_supervisor();
        driver::serve(session)?;
    } else {
        let detach = || {
            driver::leave_terminal(
                &[Stream::Input, Stream::Output, Stream::Error],
                driver::DRIVER_NAME,
            )?;
            std::env::set_current_dir("/").map_err(failed("changing to /"))?;
            own.unmount_on_signals()
        };
        let driver = driver::start(&dir, place, &driver_options, detach, attend)?;
        tracing::info!(dir = %dir.display(), pid = driver.pid(), "binderfs answers");
    }
    Ok(ExitCode::SUCCESS)
}

/// Decides what becomes of a binderfs that is mounted at `dir` already.
///
/// One whose driver is gone gives way: it can never serve anybody again. One that is served does so
/// only if the user `replaces` it, for everybody would lose sight of what they have registered there.
fn place_at(dir: &Path, replaces: bool) -> Result<Place, Failure> {
    let standing = mounts::standing_at(dir).map_err(failed("listing the mounts"))?;
    match standing {
        Standing::Free => Ok(Place::Free),
        Standing::Abandoned => {
            tracing::warn!(dir = %dir.display(), "replacing a binderfs whose driver is gone");
            Ok(Place::Taken)
        }
        Standing::Served if replaces => Ok(Place::Taken),
        Standing::Served => {
            let dir = dir.display();
            let tried = format!("mounting binderfs at {dir}");
            Err(Failure::new(tried, "there is one already, and it is served").advise(format!(
                "`umount {dir}` ends it once nobody uses it; --replace leaves it to those who do, and \
                 gives others the new one"
            )))
        }
    }
}

/// Tells a supervisor that waits for it, as systemd does, that binderfs is mounted.
fn tell_supervisor() {
    if let Err(error) = sd_notify::notify(&[sd_notify::NotifyState::Ready]) {
        tracing::warn!(%error, "the supervisor was not told that binderfs is mounted");
    }
}

/// The mount that this process serves.
pub(crate) struct OwnMount {
    pub(crate) dir: PathBuf,
    /// Known once it is mounted.
    pub(crate) device: Arc<OnceLock<Device>>,
}

impl OwnMount {
    /// Takes SIGTERM and SIGINT as the wish to unmount and end.
    ///
    /// Must come before other threads, which would otherwise die of them.
    pub(crate) fn unmount_on_signals(self) -> Result<(), Failure> {
        let signals = SignalStream::block(&[Signal::TERM, Signal::INT, Signal::HUP])
            .map_err(failed("blocking signals"))?;
        let wait = move || {
            let arrived = signals.next();
            tracing::info!(?arrived, "unmounting");
            log::exit(self.unmount());
        };
        let started = thread::Builder::new().name("signals".into()).spawn(wait);
        started.map(drop).map_err(failed("starting a thread"))
    }

    /// Unmounts it and returns the exit status. A mount that has taken its place stays.
    fn unmount(&self) -> i32 {
        let Some(&device) = self.device.get() else { return 0 };
        match namespaces::unmount_only(&self.dir, device) {
            Ok(true) => 0,
            Ok(false) => {
                tracing::info!(dir = %self.dir.display(), "another has taken its place");
                0
            }
            Err(error) => {
                tracing::error!(dir = %self.dir.display(), %error, "not unmounted");
                1
            }
        }
    }
}
