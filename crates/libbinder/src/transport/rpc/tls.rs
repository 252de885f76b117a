//! TLS between two ends that show each other certificates.

use std::io::{self, BufRead, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, RwLock};

use rustix::net::{RecvFlags, SendFlags, recv, send};
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::ServerCertVerifier as _;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{
    CertificateDer, CertificateRevocationListDer, PrivateKeyDer, ServerName, UnixTime,
};
use rustls::server::WebPkiClientVerifier;
use rustls::{ClientConfig, ClientConnection, RootCertStore, ServerConfig, ServerConnection};

use super::error::RpcError;
use super::link::{ReadBytes, ReadMode};

/// The certificate that a side shows, and the issuers that it believes.
///
/// Both sides show a certificate, and each checks that the other's was issued, directly or not, by
/// one of those that it trusts, and is valid today. The client also checks the server's name.
#[derive(Debug)]
pub struct TlsCredentials {
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
    trusted: Arc<RootCertStore>,
    revoked: Vec<CertificateRevocationListDer<'static>>,
}

/// How a server speaks TLS from now on; shared with its listener.
#[derive(Clone, Debug)]
pub(super) struct ServerTls(Arc<RwLock<Arc<ServerConfig>>>);

impl ServerTls {
    pub(super) fn new(config: Arc<ServerConfig>) -> Self {
        Self(Arc::new(RwLock::new(config)))
    }

    pub(super) fn set(&self, config: Arc<ServerConfig>) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = config;
    }

    pub(super) fn get(&self) -> Arc<ServerConfig> {
        Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }
}

fn refused(reason: impl ToString) -> RpcError {
    RpcError::Tls(reason.to_string())
}

/// Says what is wrong with a certificate and its key.
fn refused_own(error: rustls::Error) -> RpcError {
    match error {
        rustls::Error::InconsistentKeys(_) => refused("the key is not that of the certificate"),
        error => refused(error),
    }
}

impl TlsCredentials {
    /// Reads PEM texts: the own certificate and those between it and its issuer, the key of the
    /// first, and the certificates of trusted issuers.
    ///
    /// # Errors
    ///
    /// [`RpcError::Tls`] for a text that is not what it is to be.
    pub fn from_pem(chain: &[u8], key: &[u8], trusted: &[u8]) -> Result<Self, RpcError> {
        let certificates = |pem| -> Result<Vec<CertificateDer<'static>>, RpcError> {
            let certificates: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
            match certificates.map_err(refused)? {
                none if none.is_empty() => Err(refused("there is no certificate in the text")),
                certificates => Ok(certificates),
            }
        };
        let mut roots = RootCertStore::empty();
        for root in certificates(trusted)? {
            roots.add(root).map_err(refused)?;
        }
        let key = PrivateKeyDer::from_pem_slice(key).map_err(refused)?;
        let chain = certificates(chain)?;
        Ok(Self { chain, key, trusted: Arc::new(roots), revoked: Vec::new() })
    }

    /// The same, but certificates on these lists (PEM) are not believed; of issuers without a list, all are.
    ///
    /// # Errors
    ///
    /// [`RpcError::Tls`] for a text that is none of lists.
    pub fn with_revocation_lists(mut self, lists: &[u8]) -> Result<Self, RpcError> {
        let lists: Result<Vec<_>, _> =
            CertificateRevocationListDer::pem_slice_iter(lists).collect();
        self.revoked = lists.map_err(refused)?;
        Ok(self)
    }

    /// The own certificate (DER).
    #[must_use]
    pub fn certificate(&self) -> &[u8] {
        self.chain.first().map_or(&[], |first| first)
    }

    fn provider() -> Arc<rustls::crypto::CryptoProvider> {
        Arc::new(rustls::crypto::ring::default_provider())
    }

    /// Returns how a server speaks TLS.
    pub(super) fn server(&self) -> Result<Arc<ServerConfig>, RpcError> {
        let roots = Arc::clone(&self.trusted);
        let verifier = WebPkiClientVerifier::builder_with_provider(roots, Self::provider())
            .with_crls(self.revoked.iter().cloned())
            .allow_unknown_revocation_status();
        let config = ServerConfig::builder_with_provider(Self::provider())
            .with_protocol_versions(&[&rustls::version::TLS13])
            .map_err(refused)?
            .with_client_cert_verifier(verifier.build().map_err(refused)?)
            .with_single_cert(self.chain.clone(), self.key.clone_key());
        Ok(Arc::new(config.map_err(refused_own)?))
    }

    /// Looks at the own certificate as a client does who calls `host`, believes the same issuers and has the same lists.
    ///
    /// # Errors
    ///
    /// [`RpcError::Tls`] says why it would not believe it: it is of another host, of another issuer, not valid now, revoked.
    pub fn verify_as_server(&self, host: &str) -> Result<(), RpcError> {
        let name = ServerName::try_from(host).map_err(refused)?;
        // There is no text without a certificate.
        let Some((own, between)) = self.chain.split_first() else { return Ok(()) };
        let verified =
            self.verifier()?.verify_server_cert(own, between, &name, &[], UnixTime::now());
        verified.map(drop).map_err(refused)
    }

    fn verifier(&self) -> Result<Arc<WebPkiServerVerifier>, RpcError> {
        let roots = Arc::clone(&self.trusted);
        WebPkiServerVerifier::builder_with_provider(roots, Self::provider())
            .with_crls(self.revoked.iter().cloned())
            .allow_unknown_revocation_status()
            .build()
            .map_err(refused)
    }

    /// Returns how a client speaks TLS.
    pub(super) fn client(&self) -> Result<Arc<ClientConfig>, RpcError> {
        let config = ClientConfig::builder_with_provider(Self::provider())
            .with_protocol_versions(&[&rustls::version::TLS13])
            .map_err(refused)?
            .with_webpki_verifier(self.verifier()?)
            .with_client_auth_cert(self.chain.clone(), self.key.clone_key());
        Ok(Arc::new(config.map_err(refused_own)?))
    }
}

/// The TLS of one socket.
#[derive(Debug)]
pub(super) struct Tls {
    /// Locked by the thread that uses the connection, so no thread ever waits for it.
    state: Mutex<TlsState>,
    /// What went wrong, in words.
    failure: OnceLock<String>,
}

#[derive(Debug)]
struct TlsState {
    connection: rustls::Connection,
    records: Records,
}

/// Where in a record the bytes end that have come, which rustls does not tell.
#[derive(Debug, Default)]
struct Records {
    /// What has come of a record's head.
    head: [u8; 5],
    head_bytes: usize,
    /// The missing bytes of the record whose head has come.
    missing: usize,
}

impl Records {
    fn follow(&mut self, mut bytes: &[u8]) {
        while let [first, rest @ ..] = bytes {
            if self.missing > 0 {
                let passed = self.missing.min(bytes.len());
                self.missing -= passed;
                bytes = &bytes[passed..];
                continue;
            }
            self.head[self.head_bytes] = *first;
            self.head_bytes += 1;
            bytes = rest;
            if let ([_, _, _, high, low], 5) = (self.head, self.head_bytes) {
                self.head_bytes = 0;
                self.missing = u16::from_be_bytes([high, low]).into();
            }
        }
    }

    fn is_within(&self) -> bool {
        self.head_bytes > 0 || self.missing > 0
    }
}

/// A socket as rustls takes it.
struct Socket<'a> {
    socket: BorrowedFd<'a>,
    patience: ReadMode,
    records: &'a mut Records,
}

impl Read for Socket<'_> {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        let flags = match self.patience {
            ReadMode::Wait => RecvFlags::empty(),
            ReadMode::Now => RecvFlags::DONTWAIT,
        };
        let (bytes, _) = rustix::io::retry_on_intr(|| recv(self.socket, &mut *room, flags))?;
        self.records.follow(&room[..bytes]);
        Ok(bytes)
    }
}

impl Write for Socket<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut flags = SendFlags::NOSIGNAL;
        if self.patience == ReadMode::Now {
            flags |= SendFlags::DONTWAIT;
        }
        Ok(rustix::io::retry_on_intr(|| send(self.socket, bytes, flags))?)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Tls {
    /// Begins as the server.
    pub(super) fn accept(config: Arc<ServerConfig>) -> Result<Self, RpcError> {
        Ok(Self::new(ServerConnection::new(config).map_err(refused)?.into()))
    }

    /// Begins as a client of the server with this name.
    pub(super) fn connect(config: Arc<ClientConfig>, host: &str) -> Result<Self, RpcError> {
        let name = ServerName::try_from(host.to_owned()).map_err(refused)?;
        Ok(Self::new(ClientConnection::new(config, name).map_err(refused)?.into()))
    }

    fn new(connection: rustls::Connection) -> Self {
        let state = TlsState { connection, records: Records::default() };
        Self { state: Mutex::new(state), failure: OnceLock::new() }
    }

    fn state(&self) -> MutexGuard<'_, TlsState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns what went wrong, if anything did.
    pub(super) fn failure(&self) -> Option<&str> {
        self.failure.get().map(String::as_str)
    }

    /// Takes one step of the handshake; returns whether it is done.
    pub(super) fn shake(&self, socket: impl AsFd) -> io::Result<bool> {
        let mut state = self.state();
        let (state, io) = &mut state.on(socket.as_fd(), ReadMode::Wait);
        if state.wants_write() {
            state.write_tls(io)?;
        } else if state.is_handshaking() {
            self.take_in(state, io)?;
        }
        Ok(!state.is_handshaking() && !state.wants_write())
    }

    /// Returns the certificate that the other side showed.
    pub(super) fn certificate(&self) -> Option<Arc<[u8]>> {
        let state = self.state();
        let chain = state.connection.peer_certificates()?;
        Some(Arc::from(chain.first()?.as_ref()))
    }

    /// Reads from the socket once; an end within TLS is an error.
    fn take_in(&self, state: &mut rustls::Connection, io: &mut Socket<'_>) -> io::Result<()> {
        if state.read_tls(io)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        if let Err(error) = state.process_new_packets() {
            // Tells the other side why, if it listens.
            io.patience = ReadMode::Now;
            let _ = state.write_tls(io);
            let text = error.to_string();
            let _ = self.failure.set(text.clone());
            return Err(io::Error::other(text));
        }
        Ok(())
    }

    /// Takes what there is room for, once nothing is left of what was taken before.
    pub(super) fn send_now(&self, socket: impl AsFd, bytes: &[u8]) -> io::Result<usize> {
        let mut state = self.state();
        let (state, io) = &mut state.on(socket.as_fd(), ReadMode::Now);
        if !flush(state, io)? {
            return Ok(0);
        }
        let taken = state.writer().write(bytes)?;
        match flush(state, io) {
            Err(error) if error.kind() != io::ErrorKind::WouldBlock => Err(error),
            _ => Ok(taken),
        }
    }

    /// Sends what was taken and is not sent; says whether that was all of it.
    /// [`io::ErrorKind::WouldBlock`] if nothing goes.
    pub(super) fn flush_now(&self, socket: impl AsFd) -> io::Result<bool> {
        let mut state = self.state();
        let (state, io) = &mut state.on(socket.as_fd(), ReadMode::Now);
        flush(state, io)
    }

    /// Returns whether something was taken and is not sent.
    pub(super) fn has_unsent(&self) -> bool {
        self.state().connection.wants_write()
    }

    /// Returns whether a record has come in part.
    pub(super) fn is_within_record(&self) -> bool {
        self.state().records.is_within()
    }

    /// Reads what has come, or once from the socket, as far as there is room.
    pub(super) fn receive(
        &self,
        socket: impl AsFd,
        to: &mut Vec<u8>,
        patience: ReadMode,
    ) -> io::Result<ReadBytes> {
        let mut state = self.state();
        let (state, io) = &mut state.on(socket.as_fd(), patience);
        let mut has_read = false;
        loop {
            match state.reader().fill_buf() {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                // Closed without a word, as many do; whether that was within a message is known
                // elsewhere.
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(end()),
                Ok([]) => return Ok(end()),
                Ok(bytes) => {
                    let taken = bytes.len().min(to.capacity() - to.len());
                    to.extend_from_slice(&bytes[..taken]);
                    state.reader().consume(taken);
                    return Ok(ReadBytes { is_end: false, lost_files: false });
                }
                Err(error) => return Err(error),
            }
            if has_read {
                return Ok(ReadBytes { is_end: false, lost_files: false });
            }
            match self.take_in(state, io) {
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(end()),
                result => result?,
            }
            has_read = true;
        }
    }
}

impl TlsState {
    /// Returns the TLS, and the socket as it takes it.
    fn on<'a>(
        &'a mut self,
        socket: BorrowedFd<'a>,
        patience: ReadMode,
    ) -> (&'a mut rustls::Connection, Socket<'a>) {
        let socket = Socket { socket, patience, records: &mut self.records };
        (&mut self.connection, socket)
    }
}

fn end() -> ReadBytes {
    ReadBytes { is_end: true, lost_files: false }
}

/// Writes until nothing is left, or there is no room; says whether nothing is. An error if nothing
/// went.
fn flush(state: &mut rustls::Connection, io: &mut Socket<'_>) -> io::Result<bool> {
    let mut has_sent = false;
    while state.wants_write() {
        match state.write_tls(io) {
            Err(error) if has_sent && error.kind() == io::ErrorKind::WouldBlock => {
                return Ok(false);
            }
            result => has_sent |= result? > 0,
        }
    }
    Ok(true)
}
