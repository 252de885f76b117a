//! `anybinder mount`: binderfs for everybody who can see the directory.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::{fs, thread};

use binder_os::namespaces;
use binder_os::processes::{Signal, Stream};
use binder_os::signals::SignalStream;

use crate::cli::{self, MountOptions};
use crate::driver;
use crate::failure::{Failure, failed};

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
    if options.foreground {
        unmount_on_signals(dir.clone())?;
        driver::serve(driver::mount(&dir, &driver_options)?)?;
    } else {
        let detach = || {
            driver::leave_terminal(
                &[Stream::Input, Stream::Output, Stream::Error],
                driver::DRIVER_NAME,
            )?;
            std::env::set_current_dir("/").map_err(failed("changing to /"))?;
            unmount_on_signals(dir.clone())
        };
        let driver = driver::start(&dir, &driver_options, detach, |_| Ok(()))?;
        tracing::info!(dir = %dir.display(), pid = driver.pid(), "binderfs answers");
    }
    Ok(ExitCode::SUCCESS)
}

/// Takes SIGTERM and SIGINT as the wish to unmount and end.
///
/// Must come before other threads, which would otherwise die of them.
pub(crate) fn unmount_on_signals(dir: PathBuf) -> Result<(), Failure> {
    let signals =
        SignalStream::block(&[Signal::TERM, Signal::INT]).map_err(failed("blocking signals"))?;
    let wait = move || {
        let arrived = signals.next();
        tracing::info!(?arrived, "unmounting");
        std::process::exit(unmount(&dir));
    };
    let started = thread::Builder::new().name("signals".into()).spawn(wait);
    started.map(drop).map_err(failed("starting a thread"))
}

fn unmount(dir: &Path) -> i32 {
    match namespaces::unmount(dir) {
        Ok(()) => 0,
        Err(error) => {
            tracing::error!(dir = %dir.display(), %error, "not unmounted");
            1
        }
    }
}
