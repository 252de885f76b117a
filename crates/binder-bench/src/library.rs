//! Processes that use a device through the client library, as programs do.

use std::convert::Infallible;
use std::io;
use std::path::Path;

use binder::SpIBinder;
use binder::transport::driver::{DeviceError, DeviceOptions, DriverDevice};

use crate::actor::{Actor, ActorLink};
use crate::affinity;
use crate::error::{BenchError, failed};

/// Starts a server with an object behind handle 0 of `device`, and a client that plays with it, each on its core.
pub(crate) fn start(
    device: &Path,
    (client_core, server_core): (Option<usize>, Option<usize>),
    service: impl FnOnce() -> SpIBinder,
    play: impl FnOnce(&mut ActorLink, SpIBinder) -> Result<(), BenchError>,
) -> Result<(Actor, Actor), BenchError> {
    let mut server = Actor::start("library server", |link| {
        server_core.map_or(Ok(()), affinity::pin_self)?;
        let device = open(device)?;
        let tried = || "becoming the context manager";
        let become_manager = device.become_context_manager(&service());
        become_manager.map_err(|error| failed(tried())(other(error)))?;
        link.answer(&())?;
        let served: Result<Infallible, DeviceError> = device.join_thread_pool();
        match served {
            Err(error) => Err(failed("serving")(other(error))),
        }
    })?;
    server.expect_ready()?;
    let client = Actor::start("library client", |link| {
        client_core.map_or(Ok(()), affinity::pin_self)?;
        let manager = open(device)?.context_object();
        let manager = manager
            .map_err(|status| failed("asking for the context manager")(io::Error::other(status)))?;
        play(link, manager)
    })?;
    Ok((client, server))
}

fn open(path: &Path) -> Result<DriverDevice, BenchError> {
    // One thread serves, as everywhere in the benches.
    let options = DeviceOptions { max_threads: 0, ..DeviceOptions::default() };
    let opened = DriverDevice::open_with(path, &options);
    opened.map_err(|error| failed(format!("opening {}", path.display()))(other(error)))
}

fn other(error: DeviceError) -> io::Error {
    io::Error::other(error)
}
