//! Two processes at the ends of an AF_UNIX stream.

use std::convert::Infallible;
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;

use super::MAX_BYTES;
use super::caller::{self, Echo};
use crate::actor::Actor;
use crate::affinity;
use crate::error::{BenchError, failed};

struct Client(UnixStream);

pub(super) fn start(core: Option<usize>) -> Result<(Actor, Actor), BenchError> {
    let (client_end, server_end) =
        UnixStream::pair().map_err(failed("making a pair of sockets"))?;
    let mut server = Actor::start("socket server", |link| {
        core.map_or(Ok(()), affinity::pin_self)?;
        link.answer(&())?;
        match serve(server_end).map_err(failed("serving at a socket"))? {}
    })?;
    server.expect_ready()?;
    let client = Actor::start("socket client", |link| {
        core.map_or(Ok(()), affinity::pin_self)?;
        caller::play(link, &mut Client(client_end))
    })?;
    Ok((client, server))
}

impl Echo for Client {
    fn round_trip(&mut self, message: &[u8], reply: &mut Vec<u8>) -> Result<(), BenchError> {
        reply.resize(message.len(), 0);
        let mut exchange = |sent: &[u8], received: &mut [u8]| {
            self.0.write_all(sent)?;
            self.0.read_exact(received)
        };
        // A stream cannot carry nothing.
        let exchanged =
            if message.is_empty() { exchange(&[0], &mut [0]) } else { exchange(message, reply) };
        exchanged.map_err(failed("calling over a socket"))
    }
}

/// Sends everything back as it arrives. That is whole messages: a socket holds more than the
/// longest.
fn serve(mut socket: UnixStream) -> io::Result<Infallible> {
    let mut message = vec![0; MAX_BYTES];
    loop {
        let len = socket.read(&mut message)?;
        if len == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        socket.write_all(&message[..len])?;
    }
}
