//! The same calls over sockets.

use super::play;
use crate::actor::Actor;
use crate::error::BenchError;
use crate::{service, stream};

/// Starts a server with a thread for each client, and the clients.
pub(super) fn start(workers: u32, bytes: usize) -> Result<(Actor, Vec<Actor>), BenchError> {
    let pairs = (0..workers).map(|_| stream::pair()).collect::<Result<Vec<_>, _>>()?;
    let (client_ends, server_ends): (Vec<_>, Vec<_>) = pairs.into_iter().unzip();
    let mut server = Actor::start("socket server", |link| {
        link.answer(&())?;
        service::serve_in_threads(server_ends, stream::serve)
    })?;
    server.expect_ready()?;
    let clients = client_ends.into_iter().map(|mut end| {
        Actor::start("socket client", move |link| {
            play(link, bytes, |message, reply| stream::round_trip(&mut end, message, reply))
        })
    });
    Ok((server, clients.collect::<Result<_, _>>()?))
}
