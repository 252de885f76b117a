//! Which requests are meant for a server.

use std::net::{IpAddr, SocketAddr};

use axum::http::header::{self, HeaderMap};

/// The address of a server, by which it recognizes requests that are meant for it.
#[derive(Debug, Clone, Copy)]
pub struct OwnHost(SocketAddr);

impl OwnHost {
    /// The server that listens at an address.
    pub fn new(address: SocketAddr) -> Self {
        Self(address)
    }

    /// Where it listens.
    pub fn address(self) -> SocketAddr {
        self.0
    }

    /// Whether a request is meant for this server, and was not made by a page of another server. A name that another
    /// site has resolve to this machine (DNS rebinding) is not accepted.
    pub fn admits(self, headers: &HeaderMap) -> bool {
        let Some(host) = only_host(headers) else { return false };
        self.is_own(host) && is_of_no_other_page(headers, host)
    }

    /// The same for a page that a whole network may read: by any name.
    pub fn admits_by_any_name(self, headers: &HeaderMap) -> bool {
        only_host(headers).is_some_and(|host| is_of_no_other_page(headers, host))
    }

    /// Whether a `Host` is this server: an address that it can be reached at, with its port.
    fn is_own(self, host: &str) -> bool {
        let Some((name, port)) = host.rsplit_once(':') else { return false };
        let is_loopback = self.0.ip().is_loopback();
        let literal = name.strip_prefix('[').and_then(|it| it.strip_suffix(']')).unwrap_or(name);
        let is_own_name = name == "localhost"
            || literal.parse::<IpAddr>().is_ok_and(|ip| !is_loopback || ip.is_loopback());
        is_own_name && port.parse() == Ok(self.0.port())
    }
}

fn only_host(headers: &HeaderMap) -> Option<&str> {
    let mut hosts = headers.get_all(header::HOST).iter();
    let host = hosts.next().filter(|_| hosts.next().is_none())?;
    host.to_str().ok()
}

fn is_of_no_other_page(headers: &HeaderMap, host: &str) -> bool {
    let origins = headers.get_all(header::ORIGIN).iter();
    let sites = headers.get_all("sec-fetch-site").iter();
    let own = format!("http://{host}");
    origins.into_iter().all(|origin| origin.as_bytes() == own.as_bytes())
        && sites.into_iter().all(|site| ["same-origin", "none"].iter().any(|it| site == it))
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderName;

    use super::*;

    fn host(address: &str) -> OwnHost {
        OwnHost::new(address.parse().unwrap())
    }

    fn map(headers: &[(&'static str, &str)]) -> HeaderMap {
        let of = |(name, value): &(&'static str, &str)| {
            (HeaderName::from_static(name), value.parse().unwrap())
        };
        let mut map = HeaderMap::new();
        headers.iter().map(of).for_each(|(name, value)| {
            map.append(name, value);
        });
        map
    }

    fn admits(host: OwnHost, headers: &[(&'static str, &str)]) -> bool {
        host.admits(&map(headers))
    }

    #[test]
    fn a_host_is_an_address_of_the_server() {
        let local = host("127.0.0.1:4711");
        for name in ["127.0.0.1:4711", "localhost:4711", "[::1]:4711"] {
            assert!(admits(local, &[("host", name)]), "{name}");
        }
        for name in
            ["127.0.0.1", "127.0.0.1:80", "evil.example:4711", "192.0.2.7:4711", "", ":4711"]
        {
            assert!(!admits(local, &[("host", name)]), "{name}");
        }
        assert!(!admits(local, &[]));
        assert!(!admits(local, &[("host", "localhost:4711"), ("host", "localhost:4711")]));
        let wide = host("0.0.0.0:4711");
        assert!(admits(wide, &[("host", "192.0.2.7:4711")]));
        assert!(!admits(wide, &[("host", "node.example:4711")]));
        assert!(wide.admits_by_any_name(&map(&[("host", "node.example:4711")])));
        assert!(!wide.admits_by_any_name(&map(&[])));
    }

    #[test]
    fn a_request_of_another_page_is_refused() {
        let local = host("127.0.0.1:4711");
        let with = |name, value| admits(local, &[("host", "localhost:4711"), (name, value)]);
        assert!(with("origin", "http://localhost:4711"));
        for origin in
            ["null", "http://evil.example", "https://localhost:4711", "http://localhost:47110"]
        {
            assert!(!with("origin", origin), "{origin}");
        }
        assert!(with("sec-fetch-site", "none") && with("sec-fetch-site", "same-origin"));
        assert!(!with("sec-fetch-site", "cross-site") && !with("sec-fetch-site", "same-site"));
        let of_a_page = map(&[("host", "node.example:4711"), ("origin", "http://evil.example")]);
        assert!(!host("0.0.0.0:4711").admits_by_any_name(&of_a_page));
    }
}
