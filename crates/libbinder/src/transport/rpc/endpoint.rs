//! Where sessions are to be had.

use std::cell::RefCell;
use std::fmt;
use std::io::{self, IoSlice};
use std::mem::MaybeUninit;
use std::net::{IpAddr, Ipv6Addr, SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::os::fd::{AsFd, OwnedFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr as UnixAddr, UnixListener, UnixStream};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};
use rustix::io::Errno;
use rustix::net::sockopt::{self, Timeout};
use rustix::net::{
    AddressFamily, SendAncillaryBuffer, SendAncillaryMessage, SendFlags, Shutdown, SocketAddrUnix,
    SocketFlags, SocketType, connect, listen, socket_with,
};

use vsock::{VMADDR_CID_ANY, VMADDR_CID_LOCAL, VsockListener};

use super::error::RpcError;
use super::handshake::Deadline;
use super::link::{ReadMode, StreamSocket};
use super::peer::Peer;
use super::socket_file::SocketFile;

/// Where a client's connections come from.
pub(super) enum ConnectTarget<'a> {
    /// Also later, when one more is wanted.
    Server(Arc<ServerAddress>),
    /// The function returns the next connection, one for each call of it.
    Preconnected(RefCell<Box<dyn FnMut() -> Option<OwnedFd> + 'a>>),
}

/// Where a client connects to.
pub(super) enum ServerAddress {
    Unix(UnixAddr),
    Inet(String, u16),
    #[cfg(feature = "tls")]
    Tls(String, u16, Arc<rustls::ClientConfig>),
    Vsock(u32, u32),
    /// Each connection is a descriptor sent over this socket.
    Bootstrap(OwnedFd),
}

/// How many clients may wait to be accepted. Those of one user who comes and goes stand before all others.
const BACKLOG: i32 = 128;

/// A socket that has just been connected, and its peer.
pub(super) struct Connected {
    pub(super) link: StreamSocket,
    pub(super) peer: Peer,
    pub(super) address: PeerAddress,
}

/// Where a peer of a server is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PeerAddress {
    /// On this machine, by the system's word.
    Process {
        /// Its number.
        pid: i32,
        /// Its user.
        uid: u32,
    },
    /// At an address of a network.
    Inet(SocketAddr),
    /// On a virtual machine, or the host of one.
    Vsock {
        /// The machine.
        cid: u32,
        /// The port there.
        port: u32,
    },
    /// Other code made the connection.
    Unknown,
}

impl PeerAddress {
    /// Returns the account that a connection from there is charged to.
    pub(super) fn origin(self) -> Origin {
        match self {
            Self::Process { uid, .. } => Origin::User(uid),
            Self::Inet(address) => Origin::inet(address.ip()),
            Self::Vsock { cid, .. } => Origin::Machine(cid),
            Self::Unknown => Origin::Unknown,
        }
    }
}

/// As people write it.
impl fmt::Display for PeerAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Process { pid, .. } => write!(f, "process {pid}"),
            Self::Inet(address) => write!(f, "{address}"),
            Self::Vsock { cid, port } => write!(f, "machine {cid} port {port}"),
            Self::Unknown => f.write_str("unknown"),
        }
    }
}

/// The account that a connection is charged to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Origin {
    User(u32),
    /// Of IPv6 the first half: a machine that has one such address has all that share it.
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
    let caller = peer.caller();
    let address = PeerAddress::Process { pid: caller.pid, uid: caller.uid };
    Connected { link: StreamSocket::new(socket, true), peer, address }
}

fn stream(socket: OwnedFd, address: PeerAddress) -> Connected {
    Connected { link: StreamSocket::new(socket, false), peer: Peer::elsewhere(None), address }
}

/// Looks at a socket that other code made; from here on the socket is a blocking one.
fn family_of(socket: &OwnedFd) -> Result<AddressFamily, RpcError> {
    let family = sockopt::socket_domain(socket);
    let family = family.map_err(RpcError::system("use a descriptor as a socket"))?;
    let blocking = rustix::io::ioctl_fionbio(socket, false);
    blocking.map_err(RpcError::system("wait on a socket"))?;
    Ok(family)
}

/// Takes a connected socket of a kind that only the system knows.
fn any(socket: OwnedFd) -> Result<Connected, RpcError> {
    Ok(match family_of(&socket)? {
        AddressFamily::UNIX => unix(socket),
        AddressFamily::INET | AddressFamily::INET6 => {
            stream(set_up_tcp(socket.into())?, PeerAddress::Unknown)
        }
        _ => stream(socket, PeerAddress::Unknown),
    })
}

fn connect_unix(address: &UnixAddr, deadline: &Deadline) -> Result<OwnedFd, RpcError> {
    let connected = || {
        let address = match (address.as_pathname(), address.as_abstract_name()) {
            (Some(path), _) => SocketAddrUnix::new(path)?,
            (None, name) => SocketAddrUnix::new_abstract_name(name.unwrap_or_default())?,
        };
        let (family, kind) = (AddressFamily::UNIX, SocketType::STREAM);
        let socket = socket_with(family, kind, SocketFlags::CLOEXEC, None)?;
        loop {
            // A server that does not accept would keep us for ever.
            let left = deadline.left().ok_or(Errno::AGAIN)?;
            sockopt::set_socket_timeout(&socket, Timeout::Send, Some(left))?;
            match connect(&socket, &address) {
                Err(Errno::INTR) => {}
                result => return result.map(|()| socket),
            }
        }
    };
    connected().map_err(|error| match error {
        Errno::AGAIN => deadline.passed(),
        error => RpcError::system("connect to a Unix socket")(error),
    })
}

fn connect_inet(host: &str, port: u16, deadline: &Deadline) -> Result<OwnedFd, RpcError> {
    let addresses = (host, port).to_socket_addrs().map_err(RpcError::system("look a host up"))?;
    let mut failure = io::ErrorKind::AddrNotAvailable.into();
    for address in addresses {
        let Some(left) = deadline.left() else { break };
        match TcpStream::connect_timeout(&address, left) {
            Ok(stream) => return set_up_tcp(stream),
            Err(error) => failure = error,
        }
    }
    Err(match deadline.left() {
        Some(_) => RpcError::system("connect over TCP")(failure),
        None => deadline.passed(),
    })
}

fn set_up_tcp(stream: TcpStream) -> Result<OwnedFd, RpcError> {
    // A call is one small write, and the caller waits for it.
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
pub(super) fn unix_address(path: &Path) -> Result<UnixAddr, RpcError> {
    match path.as_os_str().as_bytes() {
        // The system would choose a name that no client knows.
        [] => Err(io::Error::new(io::ErrorKind::InvalidInput, "it is empty")),
        [0, name @ ..] => UnixAddr::from_abstract_name(name),
        _ => UnixAddr::from_pathname(path),
    }
    .map_err(RpcError::system("use the name of a socket"))
}

impl ConnectTarget<'_> {
    /// Makes one connection.
    pub(super) fn connect(&self, deadline: &Deadline) -> Result<Connected, RpcError> {
        match self {
            Self::Server(address) => address.connect(deadline),
            Self::Preconnected(next) => any(next.borrow_mut()().ok_or(RpcError::NoConnection)?),
        }
    }
}

impl ServerAddress {
    /// Makes one connection.
    pub(super) fn connect(&self, deadline: &Deadline) -> Result<Connected, RpcError> {
        match self {
            Self::Unix(address) => Ok(unix(connect_unix(address, deadline)?)),
            Self::Inet(host, port) => {
                Ok(stream(connect_inet(host, *port, deadline)?, PeerAddress::Unknown))
            }
            #[cfg(feature = "tls")]
            Self::Tls(host, port, config) => {
                let tls = super::tls::Tls::connect(Arc::clone(config), host)?;
                let link = StreamSocket::with_tls(connect_inet(host, *port, deadline)?, tls);
                let address = PeerAddress::Unknown;
                Ok(Connected { link, peer: Peer::elsewhere(None), address })
            }
            Self::Vsock(cid, port) => {
                let socket = vsock::VsockStream::connect_with_cid_port(*cid, *port);
                let socket = socket.map_err(RpcError::system("connect over vsock"))?;
                Ok(stream(socket.into(), PeerAddress::Unknown))
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
        }
    }
}

/// A vsock port that is listened at.
#[derive(Debug)]
pub(super) struct VsockPort {
    listener: VsockListener,
    /// The only machine that may connect, if it is not all of them.
    only: Option<u32>,
    /// Written when nothing is to be accepted any more: such a socket cannot be shut down while it listens.
    closed: OwnedFd,
}

impl VsockPort {
    fn new(listener: VsockListener, only: Option<u32>) -> Result<Self, RpcError> {
        let nonblocking = listener.set_nonblocking(true);
        nonblocking.map_err(RpcError::system("poll a vsock port"))?;
        let closed = eventfd(0, EventfdFlags::CLOEXEC);
        let closed = closed.map_err(RpcError::system("make an event descriptor"))?;
        Ok(Self { listener, only, closed })
    }

    pub(super) fn number(&self) -> Option<u32> {
        self.listener.local_addr().ok().map(|address| address.port())
    }

    /// Waits for a connection of a machine that may connect; `None` once it is closed.
    fn accept(&self) -> io::Result<Option<Connected>> {
        loop {
            let mut polled = [self.closed.as_fd(), self.listener.as_fd()]
                .map(|it| PollFd::from_borrowed_fd(it, PollFlags::IN));
            match poll(&mut polled, None) {
                Ok(_) if polled[0].revents().is_empty() => {}
                Ok(_) => return Ok(None),
                Err(Errno::INTR) => continue,
                Err(error) => return Err(error.into()),
            }
            match self.listener.accept() {
                Ok((socket, from)) if self.only.is_none_or(|only| only == from.cid()) => {
                    let address = PeerAddress::Vsock { cid: from.cid(), port: from.port() };
                    return Ok(Some(stream(socket.into(), address)));
                }
                Ok((_, from)) => {
                    let cid = from.cid();
                    tracing::warn!(cid, "a connection was refused: another machine's");
                }
                // The client has gone meanwhile.
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(error),
            }
        }
    }

    fn close(&self) {
        // It has room for a first write.
        let _ = rustix::io::write(&self.closed, &1_u64.to_ne_bytes());
    }
}

/// Where a server is connected to.
#[derive(Debug)]
pub(super) enum ServerListener {
    /// With its file, if that is ours.
    Unix(UnixListener, Option<SocketFile>),
    Inet(TcpListener),
    #[cfg(feature = "tls")]
    Tls(TcpListener, super::tls::ServerTls),
    Vsock(VsockPort),
    /// Each descriptor that comes over this socket is a connection.
    Bootstrap(StreamSocket),
}

impl ServerListener {
    /// Binds a path, or a name in the abstract namespace.
    pub(super) fn bind_unix(path: &Path) -> Result<Self, RpcError> {
        let address = unix_address(path)?;
        let bound = match address.as_pathname() {
            Some(path) => {
                SocketFile::bind(path, &address).map(|(it, file)| Self::Unix(it, Some(file)))
            }
            None => UnixListener::bind_addr(&address).map(|listener| Self::Unix(listener, None)),
        };
        let bound = bound.map_err(RpcError::system("bind a Unix socket"))?;
        if let Self::Unix(listener, _) = &bound {
            // The standard library has said as many as the system takes.
            listen(listener, BACKLOG).map_err(RpcError::system("listen on a Unix socket"))?;
        }
        Ok(bound)
    }

    /// Binds a vsock port for the machine of that number, or for all (`VMADDR_CID_ANY`).
    pub(super) fn bind_vsock(cid: u32, port: u32) -> Result<Self, RpcError> {
        // The number is the client's; only the local address keeps other machines from connecting.
        let (own, only) = match cid {
            VMADDR_CID_LOCAL => (VMADDR_CID_LOCAL, None),
            VMADDR_CID_ANY => (VMADDR_CID_ANY, None),
            client => (VMADDR_CID_ANY, Some(client)),
        };
        let listener = VsockListener::bind_with_cid_port(own, port);
        let listener = listener.map_err(RpcError::system("bind a vsock port"))?;
        Ok(Self::Vsock(VsockPort::new(listener, only)?))
    }

    /// Listens on a socket that is bound.
    pub(super) fn of_bound(socket: OwnedFd) -> Result<Self, RpcError> {
        let family = family_of(&socket)?;
        listen(&socket, BACKLOG).map_err(RpcError::system("listen on a socket"))?;
        match family {
            AddressFamily::UNIX => Ok(Self::Unix(socket.into(), None)),
            AddressFamily::INET | AddressFamily::INET6 => Ok(Self::Inet(socket.into())),
            AddressFamily::VSOCK => Ok(Self::Vsock(VsockPort::new(socket.into(), None)?)),
            _ => Err(RpcError::system("serve a socket of this kind")(Errno::AFNOSUPPORT)),
        }
    }

    /// Takes connections that are sent over a socket.
    pub(super) fn of_bootstrap(socket: OwnedFd) -> Result<Self, RpcError> {
        family_of(&socket)?;
        Ok(Self::Bootstrap(StreamSocket::new(socket, true)))
    }

    /// Returns the kind of the socket in a word.
    pub(super) fn transport(&self) -> &'static str {
        match self {
            Self::Unix(..) => "unix",
            Self::Inet(_) => "tcp",
            #[cfg(feature = "tls")]
            Self::Tls(..) => "tls",
            Self::Vsock(_) => "vsock",
            Self::Bootstrap(_) => "bootstrap",
        }
    }

    /// Returns where clients find it, as people write that; `None` if it is nowhere, or not known.
    pub(super) fn address(&self) -> Option<String> {
        match self {
            Self::Unix(listener, _) => {
                let address = listener.local_addr().ok()?;
                let path = address.as_pathname().map(|path| path.to_string_lossy().into_owned());
                let name = || address.as_abstract_name().map(String::from_utf8_lossy);
                path.or_else(|| Some(format!("@{}", name()?)))
            }
            Self::Inet(listener) => Some(listener.local_addr().ok()?.to_string()),
            #[cfg(feature = "tls")]
            Self::Tls(listener, _) => Some(listener.local_addr().ok()?.to_string()),
            Self::Vsock(port) => Some(format!("port {}", port.number()?)),
            Self::Bootstrap(_) => None,
        }
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
                Ok(Some(self::stream(set_up_tcp(stream)?, PeerAddress::Inet(from))))
            }
            #[cfg(feature = "tls")]
            Self::Tls(listener, config) => {
                let (stream, from) =
                    listener.accept().map_err(RpcError::system("accept a connection"))?;
                let tls = super::tls::Tls::accept(config.get())?;
                let link = StreamSocket::with_tls(set_up_tcp(stream)?, tls);
                let address = PeerAddress::Inet(from);
                Ok(Some(Connected { link, peer: Peer::elsewhere(None), address }))
            }
            Self::Vsock(port) => port.accept().map_err(RpcError::system("accept a connection")),
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
                // Before it refuses clients: a server that finds it refusing takes its place.
                file.iter().for_each(SocketFile::remove);
                close(listener.as_fd());
            }
            Self::Inet(listener) => close(listener.as_fd()),
            #[cfg(feature = "tls")]
            Self::Tls(listener, _) => close(listener.as_fd()),
            Self::Vsock(port) => port.close(),
            Self::Bootstrap(link) => link.close(),
        }
    }
}

/// Takes the next descriptor that comes over a socket; it comes with four bytes of zero.
fn accept_bootstrap(link: &StreamSocket) -> Result<Option<Connected>, RpcError> {
    const BYTES: usize = 4;
    let (mut zeros, mut files) = (Vec::with_capacity(BYTES), Vec::new());
    while zeros.len() < BYTES {
        let left = BYTES - zeros.len();
        let received = link.receive(&mut zeros, left, &mut files, ReadMode::Wait);
        if received.map_err(RpcError::system("receive a connection"))?.is_end {
            return Ok(None);
        }
    }
    match files.pop() {
        Some(socket) => any(socket).map(Some),
        None => Err(RpcError::NoConnection),
    }
}
