//! The server: the page's files, and a stream of frames for each browser that shows it.

use std::convert::Infallible;
use std::net::TcpListener;
use std::sync::Arc;
use std::thread::Thread;

use binder_http::axum::Router;
use binder_http::axum::body::{Body, Bytes};
use binder_http::axum::extract::{Request, State};
use binder_http::axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName, HeaderValue, REFERRER_POLICY,
    X_CONTENT_TYPE_OPTIONS,
};
use binder_http::axum::http::{Method, StatusCode};
use binder_http::axum::response::{IntoResponse, Response};
use futures_util::stream::{self, Stream};
use tokio::sync::watch;

use super::access::Access;
use super::frame::Frame;
use crate::failure::{Failure, failed};

/// Connections at a time; a further one waits.
const CONNECTIONS_MAX: usize = 64;
/// Streams at a time, of which each has a connection.
const STREAMS_MAX: usize = 16;

const PAGE: &str = include_str!("../../../../web/dist/index.html");
const SCRIPT: &str = include_str!("../../../../web/dist/page.js");
const STYLE: &str = include_str!("../../../../web/dist/page.css");
const NOTICES: &str = include_str!("../../../../web/dist/notices.txt");

/// The policy for browsers: the page loads its own script and style only, talks to this server only, makes no markup
/// of text, and is not shown within other pages.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; \
                      base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \
                      require-trusted-types-for 'script'; trusted-types 'none'";

/// The server, shared by its connections.
#[derive(Debug)]
pub(super) struct Server {
    access: Access,
    frames: watch::Sender<Arc<Frame>>,
    /// The thread that makes frames, which sleeps while there is no browser.
    looking: Thread,
}

impl Server {
    pub(super) fn new(access: Access, frames: watch::Sender<Arc<Frame>>, looking: Thread) -> Self {
        Self { access, frames, looking }
    }

    /// Serves connections, in this thread.
    pub(super) fn run(self, listener: TcpListener) -> Result<Infallible, Failure> {
        let router = Router::new().fallback(answer).with_state(Arc::new(self));
        let served = binder_http::serve(listener, router, CONNECTIONS_MAX);
        served.map_err(failed("serving the page"))
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

/// Refuses a request without a reason, so that the answer gives no hint at the right address.
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
