//! Two processes and a binder device.

use std::path::Path;

use super::caller::{self, Echo};
use crate::actor::Actor;
use crate::affinity;
use crate::error::BenchError;
use crate::service::{self, ECHO};
use crate::session::Session;

struct Client(Session);

pub(super) fn start(device: &Path, core: Option<usize>) -> Result<(Actor, Actor), BenchError> {
    let server = service::start(device, core)?;
    let client = Actor::start("binder client", |link| {
        core.map_or(Ok(()), affinity::pin_self)?;
        caller::play(link, &mut Client(Session::open(device)?))
    })?;
    Ok((client, server))
}

impl Echo for Client {
    fn round_trip(&mut self, message: &[u8], reply: &mut Vec<u8>) -> Result<(), BenchError> {
        self.0.call(ECHO, message, &[], reply)
    }
}
