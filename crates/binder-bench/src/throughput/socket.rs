//! The same calls over sockets.

use std::convert::Infallible;
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::mpsc;
use std::thread;

use super::play;
use crate::actor::Actor;
use crate::error::{BenchError, failed};

/// Starts a server with a thread for each client, and the clients.
pub(super) fn start(workers: u32, bytes: usize) -> Result<(Actor, Vec<Actor>), BenchError> {
    let pairs = (0..workers).map(|_| UnixStream::pair()).collect::<Result<Vec<_>, _>>();
    let pairs = pairs.map_err(failed("making pairs of sockets"))?;
    let (client_ends, server_ends): (Vec<_>, Vec<_>) = pairs.into_iter().unzip();
    let mut server = Actor::start("socket server", |link| {
        let (told, outcomes) = mpsc::channel();
        for end in server_ends {
            let told = told.clone();
            let thread = thread::Builder::new().spawn(move || {
                // The process ends with the first that is told.
                let _ = told.send(serve(end));
            });
            thread.map_err(failed("starting a thread"))?;
        }
        link.answer(&())?;
        match outcomes.recv() {
            Ok(outcome) => match outcome.map_err(failed("serving at a socket"))? {},
            Err(_) => Ok(()),
        }
    })?;
    server.expect_ready()?;
    let clients = client_ends.into_iter().map(|mut end| {
        Actor::start("socket client", move |link| {
            play(link, bytes, |message, reply| {
                round_trip(&mut end, message, reply).map_err(failed("calling over a socket"))
            })
        })
    });
    Ok((server, clients.collect::<Result<_, _>>()?))
}

fn round_trip(end: &mut UnixStream, message: &[u8], reply: &mut Vec<u8>) -> io::Result<()> {
    reply.resize(message.len(), 0);
    // A stream cannot carry nothing.
    if message.is_empty() {
        end.write_all(&[0])?;
        return end.read_exact(&mut [0]);
    }
    end.write_all(message)?;
    end.read_exact(reply)
}

/// Sends everything back as it arrives. Messages are shorter than what a socket holds.
fn serve(mut end: UnixStream) -> io::Result<Infallible> {
    let mut message = vec![0; 128 << 10];
    loop {
        let len = end.read(&mut message)?;
        if len == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        end.write_all(&message[..len])?;
    }
}
