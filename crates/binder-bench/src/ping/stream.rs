//! Two processes at the ends of an AF_UNIX stream.

use std::os::unix::net::UnixStream;

use super::caller::{self, Echo};
use crate::actor::Actor;
use crate::affinity;
use crate::error::BenchError;
use crate::stream;

impl Echo for UnixStream {
    fn round_trip(&mut self, message: &[u8], reply: &mut Vec<u8>) -> Result<(), BenchError> {
        stream::round_trip(self, message, reply)
    }
}

pub(super) fn start(core: Option<usize>) -> Result<(Actor, Actor), BenchError> {
    let (mut client_end, server_end) = stream::pair()?;
    let mut server = Actor::start("socket server", |link| {
        core.map_or(Ok(()), affinity::pin_self)?;
        link.answer(&())?;
        match stream::serve(server_end)? {}
    })?;
    server.expect_ready()?;
    let client = Actor::start("socket client", |link| {
        core.map_or(Ok(()), affinity::pin_self)?;
        caller::play(link, &mut client_end)
    })?;
    Ok((client, server))
}
