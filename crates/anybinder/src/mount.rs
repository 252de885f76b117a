//! `anybinder mount`: binderfs for every process that can see the directory.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Arc, OnceLock};
use std::{fs, thread};

use binder_fuse::{MountedBinderfs, Options};
use binder_os::proc_files::DeviceNumber;
use binder_os::processes::{Signal, Stream};
use binder_os::signals::{Arrived, SignalStream};

use crate::cli::{self, MountArguments};
use crate::driver::{self, MountPoint};
use crate::failure::{Failure, failed};
use crate::limits_file::LimitsFile;
use crate::links::{self, Links};
use crate::log;
use crate::metrics;
use crate::mount_lock::MountLock;
use crate::mounts::{self, MountState};
use crate::servicemanager;

pub(crate) fn run(options: &MountArguments) -> Result<ExitCode, Failure> {
    // The driver leaves the directory that a relative path starts from.
    let dir = fs::canonicalize(&options.dir).map_err(|error| {
        let dir = options.dir.display();
        Failure::new(format!("looking for {dir}"), error).advise(format!("mkdir -p {dir}"))
    })?;
    let driver_options =
        cli::driver_options(&options.devices.names, options.mode, options.delivery);
    let mut driver_options = Options {
        devices_max: options.max,
        statistics: options.stats,
        trace_data: options.trace_data,
        ..options.clients.apply(driver_options)
    };
    for device in &mut driver_options.devices {
        (device.uid, device.gid) = (options.uid, options.gid);
    }
    let limits = options.limits_file.as_ref();
    let limits = limits.map(|file| LimitsFile::open(file, &options.clients.limits)).transpose()?;
    if let Some(limits) = &limits {
        driver_options.limits = limits.read()?;
    }
    let metrics = metrics::listen(options.metrics.address)?;
    let lock = MountLock::wait_at(&dir);
    let place = place_at(&dir, options.replace)?;
    let (dev, devices) = (Path::new(links::DEV), &options.devices.names);
    let links = match (options.links, options.no_links) {
        (true, _) => Links::make(dev, &dir, devices)?,
        (false, true) => Links::default(),
        (false, false) => Links::make_if_free(dev, &dir, devices)?,
    };
    let limits = limits.map(Arc::new);
    let own = OwnMount { dir, device: Arc::default(), links: links.clone(), limits };
    let beside = {
        let (dir, devices) = (own.dir.clone(), options.devices.names.clone());
        let manager = options.manager.clone();
        move || servicemanager::start_beside(&dir, &devices, &manager)
    };
    let attend = {
        let (own, metrics) = (own.clone(), metrics);
        move |session: &MountedBinderfs| {
            own.is_mounted_as(session);
            // A driver in the background is asked first whether it answers: if another took its place before, it would not.
            lock.leave();
            metrics.map_or(Ok(()), |listener| metrics::serve_driver(listener, session))
        }
    };
    let served = if options.foreground {
        serve_here(own, place, &driver_options, attend, beside)
    } else {
        serve_in_background(own, place, &driver_options, attend, beside)
    };
    if served.is_err() {
        links.remove();
    }
    served.map(|()| ExitCode::SUCCESS)
}

/// Mounts and serves in this process, and starts what goes `beside`; returns when it is unmounted.
fn serve_here(
    own: OwnMount,
    place: MountPoint,
    options: &Options,
    attend: impl FnOnce(&MountedBinderfs) -> Result<(), Failure>,
    beside: impl FnOnce() -> Result<(), Failure> + Send + 'static,
) -> Result<(), Failure> {
    own.clone().unmount_on_signals()?;
    let session = driver::mount(&own.dir, place, options)?;
    attend(&session).inspect_err(|_| {
        own.unmount();
    })?;
    // The service manager opens a device, and is answered by the driver below.
    let unmounted = own.clone();
    let start = move || match beside() {
        Ok(()) => tell_supervisor(),
        Err(failure) => {
            failure.print();
            unmounted.unmount();
            log::exit(1);
        }
    };
    let started = thread::Builder::new().name("beside".into()).spawn(start);
    started.map_err(failed("starting a thread"))?;
    driver::serve(session)?;
    own.links.remove();
    Ok(())
}

/// Mounts and serves in a process of its own, and starts what goes `beside`; returns when all answer.
fn serve_in_background(
    own: OwnMount,
    place: MountPoint,
    options: &Options,
    attend: impl FnOnce(&MountedBinderfs) -> Result<(), Failure>,
    beside: impl FnOnce() -> Result<(), Failure>,
) -> Result<(), Failure> {
    let detach = || {
        driver::leave_terminal(
            &[Stream::Input, Stream::Output, Stream::Error],
            driver::DRIVER_NAME,
        )?;
        std::env::set_current_dir("/").map_err(failed("changing to /"))?;
        own.clone().unmount_on_signals()
    };
    let conclude = || own.links.remove();
    let driver = driver::start(&own.dir, place, options, detach, attend, conclude)?;
    tracing::info!(dir = %own.dir.display(), pid = driver.pid(), "binderfs answers");
    beside().inspect_err(|_| {
        let ended = driver.signal(Signal::TERM).and_then(|()| driver.wait());
        tracing::debug!(?ended, "the driver alone is not what was asked for");
    })
}

/// Decides what becomes of a binderfs that is mounted at `dir` already.
///
/// One whose driver is gone is replaced: it can never serve a client again. One that is served does so
/// only if the user `replaces` it, for the clients there would lose sight of what they have registered.
fn place_at(dir: &Path, replaces: bool) -> Result<MountPoint, Failure> {
    let standing = mounts::standing_at(dir).map_err(failed("listing the mounts"))?;
    match standing {
        MountState::Free => Ok(MountPoint::Free),
        MountState::Abandoned => {
            tracing::warn!(dir = %dir.display(), "replacing a binderfs whose driver is gone");
            Ok(MountPoint::Taken)
        }
        MountState::Served if replaces => Ok(MountPoint::Taken),
        MountState::Served => {
            let dir = dir.display();
            let tried = format!("mounting binderfs at {dir}");
            Err(Failure::new(tried, "there is one already, and it is served").advise(format!(
                "`umount {dir}` ends it once no process uses it; --replace leaves it to its clients, and \
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

/// Takes SIGTERM and SIGINT as the wish to end, which `end` does and tells the exit status; and SIGHUP, too, unless something was
/// to be `read_again` then.
///
/// Must come before other threads, which would otherwise die of them.
pub(crate) fn end_on_signals(
    read_again: impl Fn() -> bool + Send + 'static,
    end: impl FnOnce() -> i32 + Send + 'static,
) -> Result<(), Failure> {
    let signals = SignalStream::block(&[Signal::TERM, Signal::INT, Signal::HUP])
        .map_err(failed("blocking signals"))?;
    let wait = move || {
        let mut arrived = signals.next();
        while matches!(arrived, Ok(Arrived { signal: Signal::HUP, .. })) && read_again() {
            arrived = signals.next();
        }
        tracing::info!(?arrived, "unmounting");
        log::exit(end());
    };
    let started = thread::Builder::new().name("signals".into()).spawn(wait);
    started.map(drop).map_err(failed("starting a thread"))
}

/// The mount that this process serves.
#[derive(Debug, Clone)]
pub(crate) struct OwnMount {
    pub(crate) dir: PathBuf,
    /// Known once it is mounted.
    pub(crate) device: Arc<OnceLock<DeviceNumber>>,
    /// What goes with it.
    pub(crate) links: Links,
    /// The limits, which are read again on SIGHUP.
    pub(crate) limits: Option<Arc<LimitsFile>>,
}

impl OwnMount {
    pub(crate) fn is_mounted_as(&self, session: &MountedBinderfs) {
        // No other code sets it.
        let _ = self.device.set(session.device());
        self.links.restore();
        if let Some(limits) = &self.limits {
            limits.apply_to(session.limits());
        }
    }

    /// Takes SIGTERM and SIGINT as the wish to unmount and end, and SIGHUP, too, where there are no limits to read
    /// again.
    ///
    /// Must come before other threads, which would otherwise die of them.
    pub(crate) fn unmount_on_signals(self) -> Result<(), Failure> {
        let limits = self.limits.clone();
        let read_again = move || limits.as_ref().map(|limits| limits.read_again()).is_some();
        end_on_signals(read_again, move || self.unmount())
    }

    /// Unmounts it and returns the exit status. A mount that has taken its place stays.
    fn unmount(&self) -> i32 {
        let Some(&device) = self.device.get() else {
            self.links.remove();
            return 0;
        };
        match binder_os::mounts::unmount_only(&self.dir, device) {
            Ok(true) => {
                self.links.remove();
                0
            }
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
