//! Access to the page: requests with the token of its address, which no page of another server has made.

use std::fs::File;
use std::io::Read;
use std::net::SocketAddr;

use binder_http::OwnHost;
use binder_http::axum::http::HeaderMap;

use crate::failure::{Failure, failed};

/// Bytes of a token: too many to be guessed.
const TOKEN_BYTES: usize = 16;

/// The conditions for a request.
#[derive(Debug)]
pub(super) struct Access {
    host: OwnHost,
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
        Ok(Self { host: OwnHost::new(address), token })
    }

    /// The address of the page.
    pub(super) fn url(&self) -> String {
        format!("http://{}/{}/", self.host.address(), self.token)
    }

    /// Returns the rest of a path behind the token, if that is the right one.
    pub(super) fn place<'p>(&self, path: &'p str) -> Option<&'p str> {
        let (token, place) = path.strip_prefix('/')?.split_once('/')?;
        is_same(token.as_bytes(), self.token.as_bytes()).then_some(place)
    }

    /// Whether a request is meant for this server, and was not made by a page of another.
    pub(super) fn admits(&self, headers: &HeaderMap) -> bool {
        self.host.admits(headers)
    }
}

/// Compares in constant time: its duration must not show how much of a guess is right.
fn is_same(one: &[u8], other: &[u8]) -> bool {
    let difference = one.iter().zip(other).fold(0, |sum, (a, b)| sum | (a ^ b));
    one.len() == other.len() && std::hint::black_box(difference) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn access(address: &str) -> Access {
        Access::new(address.parse().unwrap()).unwrap()
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
        assert_ne!(token, Access::new(access.host.address()).unwrap().token);
    }
}
