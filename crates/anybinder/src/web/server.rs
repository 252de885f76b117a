//! The server: the page's files, and a stream of frames for each browser that shows it.

use std::convert::Infallible;
use std::net::TcpListener;
use std::sync::Arc;
use std::thread::Thread;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName, HeaderValue, REFERRER_POLICY,
    X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{Method, StatusCode};
use axum::response::{IntoResponse, Response};
use futures_util::stream::{self, Stream};
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::sync::{Semaphore, watch};

use super::access::Access;
use super::frame::Frame;
use crate::failure::{Failure, failed};

/// Connections at a time; a further one waits.
const CONNECTIONS_MAX: usize = 64;
/// Streams at a time, of which each has a connection.
const STREAMS_MAX: usize = 16;
/// A request whose head has not come by then is none.
const HEAD_WITHIN: Duration = Duration::from_secs(5);

const PAGE: &str = include_str!("../../../../web/dist/index.html");
const SCRIPT: &str = include_str!("../../../../web/dist/page.js");
const STYLE: &str = include_str!("../../../../web/dist/page.css");
const NOTICES: &str = include_str!("../../../../web/dist/notices.txt");

/// What a browser may do with the page: show it, alone, with its own script and style, which talk to this server
/// alone and make nothing out of text but text.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; \
                      base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \
                      require-trusted-types-for 'script'; trusted-types 'none'";

/// The server, shared by its connections.
#[derive(Debug)]
pub(super) struct Server {
    access: Access,
    frames: watch::Sender<Arc<Frame>>,
    /// Who makes frames, and sleeps while there is no browser.
    looking: Thread,
}

impl Server {
    pub(super) fn new(access: Access, frames: watch::Sender<Arc<Frame>>, looking: Thread) -> Self {
        Self { access, frames, looking }
    }

    /// Serves all who come, in this thread.
    pub(super) fn run(self, listener: TcpListener) -> Result<(), Failure> {
        let tried = "serving the page";
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = runtime.enable_io().enable_time().build().map_err(failed(tried))?;
        listener.set_nonblocking(true).map_err(failed(tried))?;
        runtime.block_on(async {
            let listener = tokio::net::TcpListener::from_std(listener).map_err(failed(tried))?;
            self.accept(listener).await;
            Ok(())
        })
    }

    async fn accept(self, listener: tokio::net::TcpListener) {
        let router = Router::new().fallback(answer).with_state(Arc::new(self));
        let places = Arc::new(Semaphore::new(CONNECTIONS_MAX));
        // The semaphore is never closed.
        while let Ok(place) = Arc::clone(&places).acquire_owned().await {
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

    /// The frames to come, from the newest on.
    ///
    /// A browser that does not read gets no further frame until it does, and then the newest: the channel keeps one.
    fn stream(&self) -> Option<impl Stream<Item = Result<Bytes, Infallible>> + use<>> {
        if self.frames.receiver_count() >= STREAMS_MAX {
            return None;
        }
        let frames = self.frames.subscribe();
        self.looking.unpark();
        Some(stream::unfold((frames, None), |(mut frames, version)| async move {
            frames.changed().await.ok()?;
            let frame = Arc::clone(&frames.borrow_and_update());
            let bytes = frame.since(version);
            Some((Ok(bytes), (frames, Some(frame.version()))))
        }))
    }

    fn respond(&self, request: &Request) -> Response {
        if !self.access.admits(request.headers()) {
            return refuse(StatusCode::FORBIDDEN);
        }
        let Some(place) = self.access.place(request.uri().path()) else {
            return refuse(StatusCode::FORBIDDEN);
        };
        if request.method() != Method::GET {
            return refuse(StatusCode::METHOD_NOT_ALLOWED);
        }
        match place {
            "" => file("text/html; charset=utf-8", PAGE),
            "page.js" => file("text/javascript; charset=utf-8", SCRIPT),
            "page.css" => file("text/css; charset=utf-8", STYLE),
            "notices.txt" => file("text/plain; charset=utf-8", NOTICES),
            "events" => match self.stream() {
                Some(stream) => ([(CONTENT_TYPE, "text/event-stream")], Body::from_stream(stream))
                    .into_response(),
                None => refuse(StatusCode::SERVICE_UNAVAILABLE),
            },
            _ => refuse(StatusCode::NOT_FOUND),
        }
    }
}

async fn answer(State(server): State<Arc<Server>>, request: Request) -> Response {
    let mut response = server.respond(&request);
    let headers = response.headers_mut();
    for (name, value) in [
        (CONTENT_SECURITY_POLICY, POLICY),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (REFERRER_POLICY, "no-referrer"),
        (CACHE_CONTROL, "no-store"),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}

fn file(kind: &'static str, content: &'static str) -> Response {
    ([(CONTENT_TYPE, kind)], content).into_response()
}

/// Says no, and not why: who comes to a wrong place learns nothing of the right one.
fn refuse(status: StatusCode) -> Response {
    (status, format!("{status}\n")).into_response()
}

#[cfg(test)]
mod tests {
    use futures_util::StreamExt;

    use super::*;

    fn server() -> Server {
        let access = Access::new("127.0.0.1:80".parse().unwrap()).unwrap();
        let (frames, _) = watch::channel(Arc::default());
        Server::new(access, frames, std::thread::current())
    }

    fn next(stream: &mut (impl Stream<Item = Result<Bytes, Infallible>> + Unpin)) -> String {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let bytes = runtime.block_on(stream.next()).unwrap().unwrap();
        String::from_utf8(bytes.to_vec()).unwrap()
    }

    #[test]
    fn a_browser_that_is_slow_gets_the_newest_frame_alone() {
        let server = server();
        let mut stream = Box::pin(server.stream().unwrap());
        for look in 1..=3 {
            let frame = server.frames.borrow().next(&look, std::collections::BTreeMap::new());
            server.frames.send_replace(Arc::new(frame));
        }
        assert!(next(&mut stream).ends_with("event: look\ndata: 3\n\n"));
        let frame = server.frames.borrow().next(&4, std::collections::BTreeMap::new());
        server.frames.send_replace(Arc::new(frame));
        assert_eq!(next(&mut stream), "event: look\ndata: 4\n\n");
    }

    #[test]
    fn there_is_an_end_to_how_many_may_watch() {
        let server = server();
        let streams: Vec<_> = (0..STREAMS_MAX).map(|_| server.stream().unwrap()).collect();
        assert!(server.stream().is_none());
        drop(streams);
        assert!(server.stream().is_some());
    }
}
