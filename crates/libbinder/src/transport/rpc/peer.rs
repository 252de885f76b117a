//! The peer of a session.

use std::os::fd::AsFd;
use std::sync::{Arc, OnceLock};

use pidns::{PID_MAX_LIMIT, Pid, PidNamespace};

use super::endpoint::PeerAddress;
use crate::transport::CallerIdentity;

/// The other side, with the process number that it has here while its session lasts.
#[derive(Debug)]
pub(super) struct Peer {
    caller: CallerIdentity,
    /// The number of a peer that is no process of this machine's.
    number: Option<Arc<Pid<()>>>,
}

/// The numbers of peers that are no processes of this machine's.
fn numbers() -> &'static Arc<PidNamespace<()>> {
    static NUMBERS: OnceLock<Arc<PidNamespace<()>>> = OnceLock::new();
    NUMBERS.get_or_init(|| {
        let numbers = PidNamespace::root();
        // The first number is ours: with it the namespace would end.
        let ours = numbers.alloc_pid(());
        debug_assert!(ours.is_ok_and(|ours| ours.nr() == 1), "no other thread has asked");
        numbers
    })
}

impl Peer {
    /// Asks the system for the peer of a Unix socket.
    pub(super) fn of_unix_socket(socket: impl AsFd) -> Self {
        match rustix::net::sockopt::socket_peercred(socket) {
            Ok(credentials) => Self {
                caller: CallerIdentity {
                    pid: credentials.pid.as_raw_pid(),
                    uid: credentials.uid.as_raw(),
                    ..CallerIdentity::default()
                },
                number: None,
            },
            Err(_) => Self::elsewhere(None),
        }
    }

    /// Numbers a peer that is not on this machine, or not known to be.
    ///
    /// Its number lies above all that the kernel gives to processes, so it means no other peer.
    pub(super) fn elsewhere(certificate: Option<Arc<[u8]>>) -> Self {
        // If no number is free, the peer has number 0, which names no process.
        let number = numbers().alloc_pid(()).ok();
        let above = |nr: u32| i32::try_from(PID_MAX_LIMIT + nr).unwrap_or(0);
        let pid = number.as_ref().map_or(0, |number| above(number.nr()));
        Self {
            caller: CallerIdentity { pid, uid: u32::MAX, certificate, ..CallerIdentity::default() },
            number,
        }
    }

    /// Returns whether that is the same user, and shows the same certificate.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        (self.caller.uid, &self.caller.certificate) == (other.caller.uid, &other.caller.certificate)
    }

    /// Returns what services are told of the caller.
    pub(super) fn caller(&self) -> CallerIdentity {
        self.caller.clone()
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        if let Some(number) = self.number.take() {
            // Only this peer frees its number.
            let _ = number.free();
        }
    }
}

/// A peer that asks for a session, as far as it is known.
#[derive(Clone, Debug)]
pub struct PeerIdentity {
    address: PeerAddress,
    caller: CallerIdentity,
}

impl PeerIdentity {
    pub(super) fn new(address: PeerAddress, peer: &Peer) -> Self {
        Self { address, caller: peer.caller() }
    }

    /// Where it is.
    #[must_use]
    pub fn address(&self) -> PeerAddress {
        self.address
    }

    /// Its user on this machine, by the system's word; `None` of a peer elsewhere.
    #[must_use]
    pub fn uid(&self) -> Option<u32> {
        Some(self.caller.uid).filter(|&uid| uid != u32::MAX)
    }

    /// The certificate (DER) that it showed, over TLS.
    #[must_use]
    pub fn certificate(&self) -> Option<&[u8]> {
        self.caller.certificate.as_deref()
    }

    /// The URIs among the alternative names of its certificate.
    #[cfg(feature = "tls")]
    #[must_use]
    pub fn uris(&self) -> Vec<String> {
        self.names(|certificate| certificate.valid_uri_names().map(str::to_owned).collect())
    }

    /// The host names among the alternative names of its certificate.
    #[cfg(feature = "tls")]
    #[must_use]
    pub fn host_names(&self) -> Vec<String> {
        self.names(|certificate| certificate.valid_dns_names().map(str::to_owned).collect())
    }

    /// What its certificate calls it, in a word: a URI, or else a host name.
    pub(super) fn certified_name(&self) -> Option<String> {
        #[cfg(feature = "tls")]
        return self.uris().into_iter().chain(self.host_names()).next();
        #[cfg(not(feature = "tls"))]
        None
    }

    #[cfg(feature = "tls")]
    fn names(&self, read: impl FnOnce(&webpki::EndEntityCert<'_>) -> Vec<String>) -> Vec<String> {
        self.certificate().map(|certificate| read_names(certificate, read)).unwrap_or_default()
    }

    /// Its SPIFFE id: the one URI of its certificate, if that is of `spiffe:`.
    #[cfg(feature = "tls")]
    #[must_use]
    pub fn spiffe_id(&self) -> Option<String> {
        // A certificate with several URIs is no SVID.
        let [id] = <[String; 1]>::try_from(self.uris()).ok()?;
        id.starts_with("spiffe://").then_some(id)
    }
}

/// Reads names of a certificate (DER); one that is none has none.
#[cfg(feature = "tls")]
fn read_names(
    certificate: &[u8],
    read: impl FnOnce(&webpki::EndEntityCert<'_>) -> Vec<String>,
) -> Vec<String> {
    let certificate = rustls::pki_types::CertificateDer::from(certificate);
    let parsed = webpki::EndEntityCert::try_from(&certificate);
    parsed.map(|certificate| read(&certificate)).unwrap_or_default()
}

/// The URIs and host names among the alternative names of a certificate (DER), as of
/// [a caller](crate::ThreadState::get_calling_certificate).
#[cfg(feature = "tls")]
#[must_use]
pub fn certificate_names(certificate: &[u8]) -> Vec<String> {
    read_names(certificate, |it| {
        it.valid_uri_names().chain(it.valid_dns_names()).map(str::to_owned).collect()
    })
}
