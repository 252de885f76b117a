//! Where sessions are to be had.

use std::io::{self, IoSlice};
use std::mem::MaybeUninit;
use std::net::{IpAddr, Ipv6Addr, TcpListener, TcpStream, ToSocketAddrs};
use std::os::fd::{AsFd, OwnedFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::path::Path;
use std::sync::Mutex;
use std::time::Duration;

use rustix::net::sockopt;
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, Shutdown};

use super::error::RpcError;
use super::link::{Link, Patience};
use super::peer::Peer;
use super::socket_file::SocketFile;

/// Where a client connects to.
pub(super) enum Target {
    Unix(SocketAddr),
    Inet(String, u16),
    #[cfg(feature = "tls")]
    Tls(String, u16, std::sync::Arc<rustls::ClientConfig>),
    Vsock(u32, u32),
    /// Each connection is a descriptor sent over this socket.
    Bootstrap(OwnedFd),
    /// Whoever asks gets the next connection.
    Preconnected(Mutex<Box<dyn FnMut() -> Option<OwnedFd> + Send>>),
}

/// A socket that has just been connected, and who is at its other end.
pub(super) struct Connected {
    pub(super) link: Link,
    pub(super) peer: Peer,
    pub(super) origin: Origin,
}

/// To whom a connection is charged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Origin {
    User(u32),
    /// Of IPv6 the first half: whoever has one such address has all with that.
    Address(IpAddr),
    Machine(u32),
    Unknown,
}

impl Origin {
    fn inet(address: IpAddr) -> Self {
        Self::Address(match address.to_canonical() {
            IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() >> 64 << 64).into(),
            address => address,
        })
    }
}

fn unix(socket: OwnedFd) -> Connected {
    let peer = Peer::of_unix_socket(&socket);
    let origin = Origin::User(peer.caller().uid);
    Connected { link: Link::new(socket, true), peer, origin }
}

fn stream(socket: OwnedFd, origin: Origin) -> Connected {
    Connected { link: Link::new(socket, false), peer: Peer::elsewhere(None), origin }
}

/// Takes a socket of a kind that only the system knows.
fn any(socket: OwnedFd) -> Result<Connected, RpcError> {
    let domain = sockopt::socket_domain(&socket);
    match domain.map_err(RpcError::system("use a descriptor as a socket"))? {
        rustix::net::AddressFamily::UNIX => Ok(unix(socket)),
        _ => Ok(stream(socket, Origin::Unknown)),
    }
}

fn connect_inet(host: &str, port: u16) -> Result<OwnedFd, RpcError> {
    let addresses = (host, port).to_socket_addrs().map_err(RpcError::system("look a host up"))?;
    let stream = TcpStream::connect(&*addresses.collect::<Vec<_>>());
    set_up_tcp(stream.map_err(RpcError::system("connect over TCP"))?)
}

fn set_up_tcp(stream: TcpStream) -> Result<OwnedFd, RpcError> {
    // A call is one small write, and somebody waits for it.
    stream.set_nodelay(true).map_err(RpcError::system("set TCP_NODELAY"))?;
    // A machine that is gone says nothing. The system's own times are hours.
    let kept = sockopt::set_socket_keepalive(&stream, true)
        .and_then(|()| sockopt::set_tcp_keepidle(&stream, Duration::from_secs(60)))
        .and_then(|()| sockopt::set_tcp_keepintvl(&stream, Duration::from_secs(20)))
        .and_then(|()| sockopt::set_tcp_keepcnt(&stream, 3));
    kept.map_err(RpcError::system("set SO_KEEPALIVE"))?;
    Ok(stream.into())
}

/// Returns the address of a path, or of a name in the abstract namespace if it begins with NUL.
pub(super) fn unix_address(path: &Path) -> Result<SocketAddr, RpcError> {
    match path.as_os_str().as_bytes() {
        // The system would choose a name that nobody knows.
        [] => Err(io::Error::new(io::ErrorKind::InvalidInput, "it is empty")),
        [0, name @ ..] => SocketAddr::from_abstract_name(name),
        _ => SocketAddr::from_pathname(path),
    }
    .map_err(RpcError::system("use the name of a socket"))
}

impl Target {
    /// Makes one connection.
    pub(super) fn connect(&self) -> Result<Connected, RpcError> {
        match self {
            Self::Unix(address) => {
                let stream = UnixStream::connect_addr(address);
                Ok(unix(stream.map_err(RpcError::system("connect to a Unix socket"))?.into()))
            }
            Self::Inet(host, port) => Ok(stream(connect_inet(host, *port)?, Origin::Unknown)),
            #[cfg(feature = "tls")]
            Self::Tls(host, port, config) => {
                let tls = super::tls::Tls::connect(std::sync::Arc::clone(config), host)?;
                let link = Link::with_tls(connect_inet(host, *port)?, tls);
                Ok(Connected { link, peer: Peer::elsewhere(None), origin: Origin::Unknown })
            }
            Self::Vsock(cid, port) => {
                let socket = vsock::VsockStream::connect_with_cid_port(*cid, *port);
                let socket = socket.map_err(RpcError::system("connect over vsock"))?;
                Ok(stream(socket.into(), Origin::Machine(*cid)))
            }
            Self::Bootstrap(socket) => {
                let pair = UnixStream::pair();
                let (ours, theirs) = pair.map_err(RpcError::system("make a pair of sockets"))?;
                let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
                let mut ancillary = SendAncillaryBuffer::new(&mut space);
                let files = [theirs.as_fd()];
                ancillary.push(SendAncillaryMessage::ScmRights(&files));
                let sent = rustix::net::sendmsg(
                    socket,
                    &[IoSlice::new(&[0; 4])],
                    &mut ancillary,
                    SendFlags::NOSIGNAL,
                );
                sent.map_err(RpcError::system("send a socket to the server"))?;
                Ok(unix(ours.into()))
            }
            Self::Preconnected(next) => {
                let mut next = next.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                any(next().ok_or(RpcError::NoConnection)?)
            }
        }
    }
}

/// Where a server is connected to.
#[derive(Debug)]
pub(super) enum Listener {
    /// With its file, if that is ours.
    Unix(UnixListener, Option<SocketFile>),
    Inet(TcpListener),
    #[cfg(feature = "tls")]
    Tls(TcpListener, std::sync::Arc<rustls::ServerConfig>),
    Vsock(vsock::VsockListener),
    /// Each descriptor that comes over this socket is a connection.
    Bootstrap(Link),
}

impl Listener {
    /// Binds a path, or a name in the abstract namespace.
    pub(super) fn bind_unix(path: &Path) -> Result<Self, RpcError> {
        let address = unix_address(path)?;
        let bound = match address.as_pathname() {
            Some(path) => {
                SocketFile::bind(path, &address).map(|(it, file)| Self::Unix(it, Some(file)))
            }
            None => UnixListener::bind_addr(&address).map(|listener| Self::Unix(listener, None)),
        };
        bound.map_err(RpcError::system("bind a Unix socket"))
    }

    /// Waits for a connection; `None` if the other side of a bootstrap socket has gone.
    pub(super) fn accept(&self) -> Result<Option<Connected>, RpcError> {
        match self {
            Self::Unix(listener, _) => {
                let (stream, _) =
                    listener.accept().map_err(RpcError::system("accept a connection"))?;
                Ok(Some(unix(stream.into())))
            }
            Self::Inet(listener) => {
                let (stream, from) =
                    listener.accept().map_err(RpcError::system("accept a connection"))?;
                Ok(Some(self::stream(set_up_tcp(stream)?, Origin::inet(from.ip()))))
            }
            #[cfg(feature = "tls")]
            Self::Tls(listener, config) => {
                let (stream, from) =
                    listener.accept().map_err(RpcError::system("accept a connection"))?;
                let tls = super::tls::Tls::accept(std::sync::Arc::clone(config))?;
                let link = Link::with_tls(set_up_tcp(stream)?, tls);
                let origin = Origin::inet(from.ip());
                Ok(Some(Connected { link, peer: Peer::elsewhere(None), origin }))
            }
            Self::Vsock(listener) => {
                let (socket, from) =
                    listener.accept().map_err(RpcError::system("accept a connection"))?;
                Ok(Some(stream(socket.into(), Origin::Machine(from.cid()))))
            }
            Self::Bootstrap(link) => accept_bootstrap(link),
        }
    }

    /// Ends every wait for a connection.
    pub(super) fn close(&self) {
        let close = |socket: std::os::fd::BorrowedFd<'_>| {
            // A socket that is closed already is as good.
            let _ = rustix::net::shutdown(socket, Shutdown::Both);
        };
        match self {
            Self::Unix(listener, file) => {
                // Before it refuses clients: whoever finds it refusing takes its place.
                file.iter().for_each(SocketFile::remove);
                close(listener.as_fd());
            }
            Self::Inet(listener) => close(listener.as_fd()),
            #[cfg(feature = "tls")]
            Self::Tls(listener, _) => close(listener.as_fd()),
            Self::Vsock(listener) => close(listener.as_fd()),
            Self::Bootstrap(link) => link.close(),
        }
    }
}

/// Takes the next descriptor that comes over a socket; it comes with four bytes of zero.
fn accept_bootstrap(link: &Link) -> Result<Option<Connected>, RpcError> {
    const BYTES: usize = 4;
    let (mut zeros, mut files) = (Vec::with_capacity(BYTES), Vec::new());
    while zeros.len() < BYTES {
        let left = BYTES - zeros.len();
        let received = link.receive(&mut zeros, left, &mut files, Patience::Wait);
        if received.map_err(RpcError::system("receive a connection"))?.is_end {
            return Ok(None);
        }
    }
    match files.pop() {
        Some(socket) => any(socket).map(Some),
        None => Err(RpcError::NoConnection),
    }
}
