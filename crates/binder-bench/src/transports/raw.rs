//! Bare messages over a Unix socket: as many bytes there and back as a call needs.

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;

use super::calls::{CallsOrder, time};
use crate::actor::{Actor, ActorLink};
use crate::affinity;
use crate::error::{BenchError, failed};
use crate::stream;

/// The longest message.
const MAX_BYTES: usize = 128 << 10;

pub(super) fn start(core: Option<usize>) -> Result<(Actor, Actor), BenchError> {
    let (client_end, server_end) = stream::pair()?;
    let mut server = Actor::start("socket server", |link| {
        core.map_or(Ok(()), affinity::pin_self)?;
        link.answer(&())?;
        serve(server_end).map_err(failed("serving at a socket"))
    })?;
    server.expect_ready()?;
    let client = Actor::start("socket client", |link| {
        core.map_or(Ok(()), affinity::pin_self)?;
        play(link, client_end)
    })?;
    Ok((client, server))
}

/// Before each round the client says how long messages will be, there and back.
fn play(link: &mut ActorLink, mut socket: UnixStream) -> Result<(), BenchError> {
    let mut message = vec![7; MAX_BYTES];
    while let Some(CallsOrder { op, calls }) = link.receive()? {
        let (there, back) = op.on_the_wire();
        let announced = [there, back, calls as usize].map(|it| it.to_le_bytes()).concat();
        socket.write_all(&announced).map_err(failed("announcing a round"))?;
        let call = || {
            socket.write_all(&message[..there])?;
            socket.read_exact(&mut message[..back])
        };
        let taken: io::Result<Vec<u64>> = time(calls, call, Ok).collect();
        link.answer(&taken.map_err(failed("calling over a socket"))?)?;
    }
    Ok(())
}

fn serve(mut socket: UnixStream) -> io::Result<()> {
    let mut message = vec![7; MAX_BYTES];
    let mut announced = [0; 24];
    loop {
        socket.read_exact(&mut announced)?;
        let [there, back, calls] = [0, 8, 16].map(|at| {
            let word = announced[at..].first_chunk().copied().unwrap_or_default();
            usize::from_le_bytes(word)
        });
        for _ in 0..calls {
            socket.read_exact(&mut message[..there])?;
            socket.write_all(&message[..back])?;
        }
    }
}
