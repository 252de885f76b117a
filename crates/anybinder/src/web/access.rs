//! Who is let in: browsers that were given the page's address, and pages that came from there.

use std::fs::File;
use std::io::Read;
use std::net::{IpAddr, SocketAddr};

use axum::http::header::{self, HeaderMap};

use crate::failure::{Failure, failed};

/// Bytes of a token: too many to be guessed.
const TOKEN_BYTES: usize = 16;

/// What a request must show.
#[derive(Debug)]
pub(super) struct Access {
    address: SocketAddr,
    /// Hexadecimal digits, in the path of all that is served.
    token: String,
}

impl Access {
    /// Makes a token for the server at an address.
    pub(super) fn new(address: SocketAddr) -> Result<Self, Failure> {
        let mut bytes = [0; TOKEN_BYTES];
        let read = File::open("/dev/urandom").and_then(|mut file| file.read_exact(&mut bytes));
        read.map_err(failed("making a token of /dev/urandom"))?;
        let token = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        Ok(Self { address, token })
    }

    /// The address of the page.
    pub(super) fn url(&self) -> String {
        format!("http://{}/{}/", self.address, self.token)
    }

    /// Returns what of a path is behind the token, if it is the right one.
    pub(super) fn place<'p>(&self, path: &'p str) -> Option<&'p str> {
        let (token, place) = path.strip_prefix('/')?.split_once('/')?;
        is_same(token.as_bytes(), self.token.as_bytes()).then_some(place)
    }

    /// Whether a request is meant for this server, and no other's page has made it: a name that leads here
    /// for a moment (DNS rebinding) is no address of ours.
    pub(super) fn admits(&self, headers: &HeaderMap) -> bool {
        let [host] = &headers.get_all(header::HOST).iter().collect::<Vec<_>>()[..] else {
            return false;
        };
        let Ok(host) = host.to_str() else { return false };
        let origins = headers.get_all(header::ORIGIN).iter();
        let sites = headers.get_all("sec-fetch-site").iter();
        let own = format!("http://{host}");
        self.is_own(host)
            && origins.into_iter().all(|origin| origin.as_bytes() == own.as_bytes())
            && sites.into_iter().all(|site| ["same-origin", "none"].iter().any(|it| site == it))
    }

    /// Whether a `Host` is this server: an address that it can be reached at, with its port.
    fn is_own(&self, host: &str) -> bool {
        let Some((name, port)) = host.rsplit_once(':') else { return false };
        let is_loopback = self.address.ip().is_loopback();
        let literal = name.strip_prefix('[').and_then(|it| it.strip_suffix(']')).unwrap_or(name);
        let is_own_name = name == "localhost"
            || literal.parse::<IpAddr>().is_ok_and(|ip| !is_loopback || ip.is_loopback());
        is_own_name && port.parse() == Ok(self.address.port())
    }
}

/// Compares in the same time wherever they differ: how long it takes must not tell how much was guessed.
fn is_same(one: &[u8], other: &[u8]) -> bool {
    let difference = one.iter().zip(other).fold(0, |sum, (a, b)| sum | (a ^ b));
    one.len() == other.len() && std::hint::black_box(difference) == 0
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderName;

    use super::*;

    fn access(address: &str) -> Access {
        Access::new(address.parse().unwrap()).unwrap()
    }

    fn admits(access: &Access, headers: &[(&'static str, &str)]) -> bool {
        let of = |(name, value): &(&'static str, &str)| {
            (HeaderName::from_static(name), value.parse().unwrap())
        };
        let mut map = HeaderMap::new();
        headers.iter().map(of).for_each(|(name, value)| {
            map.append(name, value);
        });
        access.admits(&map)
    }

    #[test]
    fn a_place_is_behind_the_right_token() {
        let access = access("127.0.0.1:80");
        let token = access.token.clone();
        assert_eq!((token.len(), access.url()), (32, format!("http://127.0.0.1:80/{token}/")));
        assert_eq!(access.place(&format!("/{token}/events")), Some("events"));
        assert_eq!(access.place(&format!("/{token}/")), Some(""));
        let longer = format!("/{token}0/");
        let other = format!("/x{}/", &token[1..]);
        for wrong in ["/", "//", "", &format!("/{token}"), &longer, &other, &other[1..]] {
            assert_eq!(access.place(wrong), None, "{wrong}");
        }
        assert_ne!(token, Access::new(access.address).unwrap().token);
    }

    #[test]
    fn a_host_is_an_address_of_the_server() {
        let local = access("127.0.0.1:4711");
        for host in ["127.0.0.1:4711", "localhost:4711", "[::1]:4711"] {
            assert!(admits(&local, &[("host", host)]), "{host}");
        }
        for host in
            ["127.0.0.1", "127.0.0.1:80", "evil.example:4711", "192.0.2.7:4711", "", ":4711"]
        {
            assert!(!admits(&local, &[("host", host)]), "{host}");
        }
        assert!(!admits(&local, &[]));
        assert!(!admits(&local, &[("host", "localhost:4711"), ("host", "localhost:4711")]));
        let wide = access("0.0.0.0:4711");
        assert!(admits(&wide, &[("host", "192.0.2.7:4711")]));
        assert!(!admits(&wide, &[("host", "evil.example:4711")]));
    }

    #[test]
    fn a_request_of_another_page_is_refused() {
        let local = access("127.0.0.1:4711");
        let with = |name, value| admits(&local, &[("host", "localhost:4711"), (name, value)]);
        assert!(with("origin", "http://localhost:4711"));
        for origin in
            ["null", "http://evil.example", "https://localhost:4711", "http://localhost:47110"]
        {
            assert!(!with("origin", origin), "{origin}");
        }
        assert!(with("sec-fetch-site", "none") && with("sec-fetch-site", "same-origin"));
        assert!(!with("sec-fetch-site", "cross-site") && !with("sec-fetch-site", "same-site"));
    }
}
