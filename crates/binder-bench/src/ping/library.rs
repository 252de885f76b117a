//! A client and a server that use the client library, as programs do: bytes are an argument and a
//! result, the call names its interface, objects and threads are the library's.

use std::convert::Infallible;
use std::io;
use std::path::Path;

use binder::binder_impl::{
    Binder, BorrowedParcel, IBinderInternal as _, Remotable, TransactionCode,
};
use binder::transport::driver::{Device, DeviceError, DeviceOptions};
use binder::{Interface as _, SpIBinder, StatusCode};

use super::caller::{self, Echo};
use crate::actor::Actor;
use crate::affinity;
use crate::error::{BenchError, failed};
use crate::service::ECHO;

/// The object behind handle 0.
struct Service;

struct Client(SpIBinder);

/// Starts a server behind handle 0 of `device`, and a client of it.
pub(super) fn start(device: &Path, core: Option<usize>) -> Result<(Actor, Actor), BenchError> {
    let mut server = Actor::start("library server", |link| {
        core.map_or(Ok(()), affinity::pin_self)?;
        let device = open(device)?;
        let service = Binder::new(Service).as_binder();
        let tried = || "becoming the context manager";
        device.become_context_manager(&service).map_err(|error| failed(tried())(other(error)))?;
        link.answer(&())?;
        let served: Result<Infallible, DeviceError> = device.join_thread_pool();
        match served {
            Err(error) => Err(failed("serving")(other(error))),
        }
    })?;
    server.expect_ready()?;
    let client = Actor::start("library client", |link| {
        core.map_or(Ok(()), affinity::pin_self)?;
        let manager = open(device)?.context_object().map_err(refused)?;
        caller::play(link, &mut Client(manager))
    })?;
    Ok((client, server))
}

fn open(path: &Path) -> Result<Device, BenchError> {
    // One thread serves, as everywhere in this bench.
    let options = DeviceOptions { max_threads: 0, ..DeviceOptions::default() };
    let opened = Device::open_with(path, &options);
    opened.map_err(|error| failed(format!("opening {}", path.display()))(other(error)))
}

fn other(error: DeviceError) -> io::Error {
    io::Error::other(error)
}

fn refused(status: StatusCode) -> BenchError {
    failed("calling through the library")(io::Error::other(status))
}

impl Echo for Client {
    fn round_trip(&mut self, message: &[u8], reply: &mut Vec<u8>) -> Result<(), BenchError> {
        // As a program that is done with one answer when it calls for the next.
        *reply = Vec::new();
        let answer = self.0.transact(ECHO, 0, |data| data.write(message)).map_err(refused)?;
        *reply = answer.read().map_err(refused)?;
        Ok(())
    }
}

impl Remotable for Service {
    fn get_descriptor() -> &'static str {
        "anybinder.IEcho"
    }

    fn on_transact(
        &self,
        _code: TransactionCode,
        data: &BorrowedParcel<'_>,
        reply: &mut BorrowedParcel<'_>,
    ) -> Result<(), StatusCode> {
        reply.write(&data.read::<Vec<u8>>()?)
    }
}
