//! RPC Binder over a Unix socket, by our library.

use binder::SpIBinder;
use binder::transport::rpc::{RpcError, RpcServer, RpcSession};

use super::calls;
use crate::actor::Actor;
use crate::affinity;
use crate::error::BenchError;

/// Returns a name for a socket that only this run uses; it is not on any disk.
pub(super) fn socket_name(of: &str) -> String {
    format!("\0anybinder-bench-{of}-{}", std::process::id())
}

pub(super) fn start(core: Option<usize>) -> Result<(Actor, Actor), BenchError> {
    let name = socket_name("rpc");
    let server = start_server(core, &name)?;
    let client = Actor::start("RPC client", |link| {
        core.map_or(Ok(()), affinity::pin_self)?;
        let (_session, object) = connect(&name, 1)?;
        calls::play(link, &object)
    })?;
    Ok((client, server))
}

/// Starts a server that answers on up to eight connections of each client.
pub(super) fn start_server(core: Option<usize>, name: &str) -> Result<Actor, BenchError> {
    let mut server = Actor::start("RPC server", |link| {
        core.map_or(Ok(()), affinity::pin_self)?;
        let server = RpcServer::new_unix(calls::new_service(), name).map_err(|it| failure(&it))?;
        server.set_max_threads(8);
        link.answer(&())?;
        server.join();
        Ok(())
    })?;
    server.expect_ready()?;
    Ok(server)
}

/// Connects with that many connections at most.
pub(super) fn connect(
    name: &str,
    connections: usize,
) -> Result<(RpcSession, SpIBinder), BenchError> {
    let session = RpcSession::new();
    session.set_max_outgoing_connections(connections);
    let object = session.connect_unix(name).map_err(|error| failure(&error))?;
    Ok((session, object))
}

fn failure(error: &RpcError) -> BenchError {
    BenchError::Actor { actor: "RPC".into(), reason: error.to_string() }
}
