//! A page of figures.

use std::fmt;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::Arc;
use std::thread;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::header::{ACCEPT, CONTENT_TYPE};
use axum::http::{Method, StatusCode};
use axum::response::{IntoResponse, Response};

use crate::{MetricFamilies, OwnHost, serve};

/// Connections at a time: a scraper needs one.
const CONNECTIONS_MAX: usize = 8;
/// Where the page is.
const PLACE: &str = "/metrics";

/// Reads `PORT`, which is one of the loopback interface, or `ADDRESS:PORT`.
///
/// # Errors
///
/// The expected form, in words.
pub fn parse_metrics_address(text: &str) -> Result<SocketAddr, String> {
    let port = text.parse().map(|port: u16| SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
    let address = port.or_else(|_| text.parse());
    address.map_err(|_| "it is a PORT, or an ADDRESS:PORT with the address in numbers".to_owned())
}

/// A socket at which there will be a page of figures.
#[derive(Debug)]
pub struct MetricsListener {
    listener: TcpListener,
    host: OwnHost,
}

/// Collects the figures of this moment, or fails.
type Collect = dyn Fn() -> Option<MetricFamilies> + Send + Sync;

#[derive(Clone)]
struct MetricsPage {
    host: OwnHost,
    collect: Arc<Collect>,
}

impl MetricsListener {
    /// Listens at an address. Port 0 is any that is free.
    ///
    /// # Errors
    ///
    /// The system's.
    pub fn bind(address: SocketAddr) -> io::Result<Self> {
        let listener = TcpListener::bind(address)?;
        let host = OwnHost::new(listener.local_addr()?);
        if !host.address().ip().is_loopback() {
            tracing::warn!(address = %host.address(), "whoever reaches this address can read the figures");
        }
        Ok(Self { listener, host })
    }

    /// The address of the page.
    pub fn url(&self) -> String {
        format!("http://{}{PLACE}", self.host.address())
    }

    /// Serves the page in a thread of its own, for as long as this process lives. Figures are collected only when the page
    /// is read.
    ///
    /// # Errors
    ///
    /// Without a thread.
    pub fn start(
        self,
        collect: impl Fn() -> Option<MetricFamilies> + Send + Sync + 'static,
    ) -> io::Result<()> {
        let page = MetricsPage { host: self.host, collect: Arc::new(collect) };
        let router = Router::new().fallback(answer).with_state(page);
        let listener = self.listener;
        let serve = move || {
            let Err(error) = serve(listener, router, CONNECTIONS_MAX);
            tracing::error!(%error, "there is no page of figures");
        };
        thread::Builder::new().name("metrics".into()).spawn(serve).map(drop)
    }
}

impl fmt::Debug for MetricsPage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MetricsPage").field("host", &self.host).finish_non_exhaustive()
    }
}

async fn answer(State(page): State<MetricsPage>, request: Request) -> Response {
    let headers = request.headers();
    let is_admitted = if page.host.address().ip().is_loopback() {
        page.host.admits(headers)
    } else {
        page.host.admits_by_any_name(headers)
    };
    if !is_admitted {
        return refuse(StatusCode::FORBIDDEN);
    }
    if request.uri().path() != PLACE {
        return refuse(StatusCode::NOT_FOUND);
    }
    if ![Method::GET, Method::HEAD].contains(request.method()) {
        return refuse(StatusCode::METHOD_NOT_ALLOWED);
    }
    let accepted = headers.get_all(ACCEPT).iter().filter_map(|it| it.to_str().ok());
    let wants_new = accepted.into_iter().any(|it| it.contains("application/openmetrics-text"));
    let Some(families) = (page.collect)() else {
        return refuse(StatusCode::SERVICE_UNAVAILABLE);
    };
    let (kind, text) = if wants_new {
        let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
        (kind, families.to_open_metrics())
    } else {
        ("text/plain; version=0.0.4; charset=utf-8", families.to_prometheus())
    };
    ([(CONTENT_TYPE, kind)], text).into_response()
}

fn refuse(status: StatusCode) -> Response {
    (status, format!("{status}\n")).into_response()
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpStream;
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;

    /// The answer to a request with these headers.
    fn ask(address: SocketAddr, request: &str) -> String {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    fn get(address: SocketAddr, more: &str) -> String {
        ask(address, &format!("GET /metrics HTTP/1.1\r\nHost: {address}\r\n{more}\r\n"))
    }

    #[test]
    fn an_address_is_a_port_of_this_machine_or_says_more() {
        let parse = |text| parse_metrics_address(text).ok().map(|it| it.to_string());
        assert_eq!(parse("9180").as_deref(), Some("127.0.0.1:9180"));
        assert_eq!(parse("0.0.0.0:1").as_deref(), Some("0.0.0.0:1"));
        assert_eq!(parse("[::1]:1").as_deref(), Some("[::1]:1"));
        for wrong in ["", "65536", "host:1", "127.0.0.1", ":1"] {
            assert_eq!(parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn figures_are_collected_for_who_asks_and_may() {
        let listener = MetricsListener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).unwrap();
        let address = listener.host.address();
        assert_eq!(listener.url(), format!("http://{address}/metrics"));
        let asked = Arc::new(AtomicU64::new(0));
        let counted = Arc::clone(&asked);
        let collect = move || {
            let times = counted.fetch_add(1, Ordering::Relaxed) + 1;
            let mut families = MetricFamilies::default();
            families.counter("asked", "How often.").add(&[], times);
            (times < 3).then_some(families)
        };
        listener.start(collect).unwrap();
        assert_eq!(asked.load(Ordering::Relaxed), 0);
        let older = get(address, "");
        assert!(older.contains("content-type: text/plain; version=0.0.4"), "{older}");
        assert!(older.ends_with("# TYPE asked_total counter\nasked_total 1\n"), "{older}");
        let accept = "Accept: application/openmetrics-text;version=1.0.0,text/plain;q=0.5\r\n";
        let newer = get(address, accept);
        assert!(newer.contains("content-type: application/openmetrics-text"), "{newer}");
        assert!(newer.ends_with("# TYPE asked counter\nasked_total 2\n# EOF\n"), "{newer}");
        assert!(get(address, "").starts_with("HTTP/1.1 503 "), "it could not be found out");
        let requests = [
            ("403", "GET /metrics HTTP/1.1\r\nHost: evil.example\r\n\r\n".to_owned()),
            ("404", format!("GET / HTTP/1.1\r\nHost: {address}\r\n\r\n")),
            ("405", format!("DELETE /metrics HTTP/1.1\r\nHost: {address}\r\n\r\n")),
        ];
        for (status, request) in requests {
            let answer = ask(address, &request);
            assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{answer}");
        }
        assert!(get(address, "Origin: http://evil.example\r\n").starts_with("HTTP/1.1 403 "));
        assert_eq!(asked.load(Ordering::Relaxed), 3);
    }
}
