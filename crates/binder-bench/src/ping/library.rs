//! A client and a server that use the client library, as programs do: bytes are an argument and a
//! result, the call names its interface, objects and threads are the library's.

use std::io;
use std::path::Path;

use binder::binder_impl::{
    Binder, BorrowedParcel, IBinderInternal as _, Remotable, TransactionCode,
};
use binder::{Interface as _, SpIBinder, StatusCode};

use super::caller::{self, EchoPeer};
use super::placement::Cores;
use crate::actor::Actor;
use crate::error::{BenchError, failed};
use crate::library;
use crate::service::ECHO;

/// The object behind handle 0.
struct PingService;

struct LibraryClient(SpIBinder);

/// Starts a server behind handle 0 of `device`, and a client of it.
pub(super) fn start(device: &Path, cores: Cores) -> Result<(Actor, Actor), BenchError> {
    library::start(
        device,
        (cores.client, cores.server),
        || Binder::new(PingService).as_binder(),
        |link, manager| caller::play(link, &mut LibraryClient(manager)),
    )
}

fn refused(status: StatusCode) -> BenchError {
    failed("calling through the library")(io::Error::other(status))
}

impl EchoPeer for LibraryClient {
    fn round_trip(&mut self, message: &[u8], reply: &mut Vec<u8>) -> Result<(), BenchError> {
        // As a program that is done with one answer when it calls for the next.
        *reply = Vec::new();
        let answer = self.0.transact(ECHO, 0, |data| data.write(message)).map_err(refused)?;
        *reply = answer.read().map_err(refused)?;
        Ok(())
    }
}

impl Remotable for PingService {
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
