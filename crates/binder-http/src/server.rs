//! The server: few connections, each with a deadline.

use std::convert::Infallible;
use std::io;
use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::sync::Semaphore;

/// A connection whose request has no complete head by then is closed.
const HEAD_WITHIN: Duration = Duration::from_secs(5);

/// Serves connections in this thread, `connections_max` at a time; further ones wait.
///
/// # Errors
///
/// If the thread cannot serve at all.
pub fn serve(
    listener: TcpListener,
    router: Router,
    connections_max: usize,
) -> io::Result<Infallible> {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_io().enable_time().build()?;
    listener.set_nonblocking(true)?;
    runtime.block_on(async {
        let listener = tokio::net::TcpListener::from_std(listener)?;
        Ok(accept(listener, router, connections_max).await)
    })
}

async fn accept(
    listener: tokio::net::TcpListener,
    router: Router,
    connections_max: usize,
) -> Infallible {
    let places = Arc::new(Semaphore::new(connections_max));
    loop {
        let place = Arc::clone(&places).acquire_owned().await;
        let connection = match listener.accept().await {
            Ok((connection, _)) => connection,
            Err(error) => {
                tracing::warn!(%error, "a connection was not accepted");
                tokio::time::sleep(HEAD_WITHIN).await;
                continue;
            }
        };
        let service = TowerToHyperService::new(router.clone());
        tokio::spawn(async move {
            let mut http = http1::Builder::new();
            http.timer(TokioTimer::new()).header_read_timeout(HEAD_WITHIN).keep_alive(false);
            let served = http.serve_connection(TokioIo::new(connection), service).await;
            if let Err(error) = served {
                tracing::debug!(%error, "a connection has ended");
            }
            drop(place);
        });
    }
}
