//! What any session does, over every transport, in every version, with servers of one thread and of several; after each
//! check no object is held but the root. Each client has a root object of its own.

#![expect(clippy::unwrap_used, reason = "a test is to end at what goes wrong")]

use std::cell::Cell;
use std::net::{IpAddr, TcpStream};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::thread;
use std::time::{Duration, Instant};

use aidl_tests::aidl::anybinder::test::ITest::ITest;
use aidl_tests::service::{new_callback, new_test_service};
use aidl_tests::suite::{self, Without};
use binder::binder_impl::{IBinderInternal as _, Parcel};
use binder::transport::rpc::{
    FileDescriptorTransportMode as FdMode, PeerAddress, ProtocolVersion, RpcError, RpcServer,
    RpcSession,
};
use binder::{ExceptionCode, IBinder as _, SpIBinder, StatusCode, Strong};
use binder_testkit::{HANG_TIMEOUT, wait_until};
use interop::tls::Authority;

const VERSIONS: [ProtocolVersion; 3] =
    [ProtocolVersion::V0, ProtocolVersion::V1, ProtocolVersion::V2];
/// The machine itself, over vsock.
const LOCAL_CID: u32 = 1;

/// How a client comes to a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Transport {
    UnixPath,
    UnixName,
    Bootstrap,
    Preconnected,
    Tcp,
    Tls,
    Vsock,
}

impl Transport {
    fn passes_files(self) -> bool {
        match self {
            Self::UnixPath | Self::UnixName | Self::Bootstrap | Self::Preconnected => true,
            Self::Tcp | Self::Tls | Self::Vsock => false,
        }
    }
}

/// A server, a session with it and the root object.
struct Connected {
    server: RpcServer,
    session: RpcSession,
    test: Strong<dyn ITest>,
    has_files: bool,
    _directory: tempfile::TempDir,
}

/// Says that a root object is to be made for each session.
fn no_root() -> SpIBinder {
    new_test_service().as_binder()
}

/// `None` if this machine does not have the transport.
fn connect(transport: Transport, version: ProtocolVersion, threads: usize) -> Option<Connected> {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("socket");
    let name = format!("\0matrix-{}-{version:?}-{threads}", std::process::id());
    let local = IpAddr::from([127, 0, 0, 1]);
    let authority = Authority::new();
    let (near, far) = UnixStream::pair().unwrap();
    let server = match transport {
        Transport::UnixPath | Transport::Preconnected => RpcServer::new_unix(no_root(), &path),
        Transport::UnixName => RpcServer::new_unix(no_root(), &name),
        Transport::Bootstrap => RpcServer::new_unix_domain_bootstrap(no_root(), far.into()),
        Transport::Tcp => RpcServer::new_inet(no_root(), local, 0),
        Transport::Tls => {
            let credentials = authority.issue("localhost", &authority, false);
            RpcServer::new_inet_tls(no_root(), local, 0, &credentials)
        }
        Transport::Vsock => match RpcServer::new_vsock(no_root(), LOCAL_CID, u32::MAX) {
            Err(_) => return None,
            server => server,
        },
    };
    let server = server.unwrap();
    server.set_max_threads(threads);
    server.set_supported_file_descriptor_transport_modes(&[FdMode::None, FdMode::Unix]);
    server.set_per_session_root_object(|_: &PeerAddress| Some(no_root()));
    server.start().unwrap();
    let session = RpcSession::new();
    session.set_protocol_version(version);
    session.set_max_incoming_threads(1);
    let has_files = transport.passes_files() && version > ProtocolVersion::V0;
    if has_files {
        session.set_file_descriptor_transport_mode(FdMode::Unix);
    }
    let port = || server.inet_address().unwrap().port();
    let root = match transport {
        Transport::UnixPath => session.connect_unix(&path),
        Transport::UnixName => session.connect_unix(&name),
        Transport::Bootstrap => session.connect_unix_bootstrap(near.into()),
        Transport::Preconnected => {
            session.connect_preconnected(|| UnixStream::connect(&path).ok().map(OwnedFd::from))
        }
        Transport::Tcp => session
            .connect_preconnected(|| TcpStream::connect((local, port())).ok().map(OwnedFd::from)),
        Transport::Tls => {
            let credentials = authority.issue("somebody", &authority, false);
            session.connect_inet_tls("localhost", port(), &credentials)
        }
        Transport::Vsock => match session.connect_vsock(LOCAL_CID, server.vsock_port().unwrap()) {
            Err(RpcError::System { .. }) => return None,
            root => root,
        },
    };
    let test = root.unwrap().into_interface().unwrap();
    Some(Connected { server, session, test, has_files, _directory: directory })
}

impl Connected {
    /// Checks that the session goes on, and that neither side holds anything but the root object.
    fn check_rest(&self, after: &str) {
        assert_eq!(self.test.repeatInt(7).unwrap(), 7, "{after}");
        let looks = Cell::new(0_u32);
        let start = Instant::now();
        wait_until(|| {
            let (ours, theirs) = (self.session.objects(), self.server.objects());
            let is_late = start.elapsed() > HANG_TIMEOUT / 8;
            assert!(!is_late, "{after}: {ours:?} and {theirs:?} are held");
            looks.set(looks.get() + 1);
            if looks.get().is_multiple_of(150) {
                // References that were given back may wait in a connection until that is used again, and after 64
                // calls it is another's turn.
                (0..300).for_each(|_| assert_eq!(self.test.repeatInt(7).unwrap(), 7));
            }
            self.session.objects() == (0, 1) && self.server.objects() == (1, 0)
        });
        assert_eq!(self.session.ended(), None, "{after}");
    }
}

type Check = (&'static str, fn(&Connected));

const CHECKS: &[Check] = &[
    ("every type", every_type),
    ("objects come home", objects_come_home),
    ("calls nest", calls_nest),
    ("one-ways keep their order", oneways_keep_their_order),
    ("notices come back", notices_come_back),
    ("objects are made and dropped", objects_are_made_and_dropped),
    ("threads share a session", threads_share_a_session),
    ("exceptions and statuses", exceptions_and_statuses),
    ("calls that are wrong", calls_that_are_wrong),
    ("calls that end in time", calls_that_end_in_time),
];

fn every_type(connected: &Connected) {
    suite::run(&connected.test, Without { files: !connected.has_files, ..Without::default() });
}

fn objects_come_home(Connected { test, .. }: &Connected) {
    let (callback, _notices) = new_callback(1);
    let objects = [callback.as_binder(), test.as_binder(), callback.as_binder()];
    assert_eq!(test.repeatBinders(&objects).unwrap(), objects);
    assert_eq!(test.repeatCallback(&callback).unwrap(), callback);
}

fn calls_nest(Connected { test, .. }: &Connected) {
    let (callback, _notices) = new_callback(100);
    for question in 0..20 {
        assert_eq!(test.askThrough(&callback, question).unwrap(), callback.ask(question).unwrap());
    }
}

fn oneways_keep_their_order(Connected { test, .. }: &Connected) {
    let before = test.added().unwrap().len();
    (0..300).for_each(|number| test.add(number).unwrap());
    // A call may overtake them.
    wait_until(|| test.added().unwrap().len() == before + 300);
    assert_eq!(test.added().unwrap()[before..], (0..300).collect::<Vec<_>>());
}

fn notices_come_back(Connected { test, .. }: &Connected) {
    let (callback, notices) = new_callback(1);
    for number in 0..50 {
        test.noticeThrough(&callback, number).unwrap();
    }
    let mut heard: Vec<_> = (0..50).map(|_| notices.recv_timeout(HANG_TIMEOUT).unwrap()).collect();
    heard.sort_unstable();
    assert_eq!(heard, (0..50).collect::<Vec<_>>());
}

fn objects_are_made_and_dropped(Connected { test, .. }: &Connected) {
    let made: Vec<_> = (0..50).map(|offset| test.makeCallback(offset).unwrap()).collect();
    for (offset, callback) in (0..).zip(&made) {
        assert_eq!(callback.ask(1).unwrap(), test.askThrough(callback, 1).unwrap(), "{offset}");
    }
}

fn threads_share_a_session(Connected { test, .. }: &Connected) {
    thread::scope(|scope| {
        for caller in 0..4 {
            scope.spawn(move || {
                for number in 0..50 {
                    assert_eq!(test.repeatInt(1000 * caller + number).unwrap() % 1000, number);
                }
            });
        }
    });
}

fn exceptions_and_statuses(Connected { test, .. }: &Connected) {
    for exception in [
        ExceptionCode::SECURITY,
        ExceptionCode::ILLEGAL_ARGUMENT,
        ExceptionCode::NULL_POINTER,
        ExceptionCode::UNSUPPORTED_OPERATION,
    ] {
        let failed = test.fail(exception.code(), "why").unwrap_err();
        assert_eq!(failed.exception_code(), exception);
        test.repeatInt(1).unwrap();
    }
    assert_eq!(test.failSpecific(42, "why").unwrap_err().service_specific_error(), 42);
    for status in [
        StatusCode::NO_MEMORY,
        StatusCode::BAD_VALUE,
        StatusCode::DEAD_OBJECT,
        StatusCode::PERMISSION_DENIED,
        StatusCode::FAILED_TRANSACTION,
        StatusCode::TIMED_OUT,
    ] {
        let failed = test.failStatus(status.code()).unwrap_err();
        assert_eq!(failed.transaction_error(), status);
        test.repeatInt(1).unwrap();
    }
}

fn calls_that_are_wrong(Connected { test, .. }: &Connected) {
    let root = test.as_binder();
    let call = |code, write: &dyn Fn(&mut Parcel) -> Result<(), StatusCode>| {
        let mut data = root.prepare_transact().unwrap();
        write(&mut data).unwrap();
        let failed = root.submit_transact(code, data, 0).map(drop);
        test.repeatInt(1).unwrap();
        failed
    };
    assert_eq!(call(0x00ff_0000, &|_| Ok(())), Err(StatusCode::UNKNOWN_TRANSACTION));
    assert_eq!(
        call(u32::from_be_bytes(*b"what"), &|_| Ok(())),
        Err(StatusCode::UNKNOWN_TRANSACTION)
    );
    // Without its argument, and longer than a message may be.
    assert!(call(1, &|_| Ok(())).is_err());
    let long = vec![0_u8; 700 << 10];
    assert_eq!(call(1, &|data| data.write(&long)), Err(StatusCode::FAILED_TRANSACTION));
    // For another interface.
    let mut data = Parcel::for_codec(root.as_remote().unwrap().codec());
    data.write_interface_token("anybinder.test.Another").unwrap();
    assert_eq!(root.submit_transact(1, data, 0).err(), Some(StatusCode::BAD_TYPE));
    root.ping_binder().unwrap();
}

fn calls_that_end_in_time(Connected { test, .. }: &Connected) {
    let in_time = binder::with_timeout(HANG_TIMEOUT, || test.repeatInt(3));
    assert_eq!(in_time.unwrap(), 3);
    let late = binder::with_timeout(Duration::ZERO, || test.repeatInt(3)).unwrap_err();
    assert_eq!(late.transaction_error(), StatusCode::TIMED_OUT);
    let each = Strong::with_timeout(test, HANG_TIMEOUT);
    let (callback, _notices) = new_callback(5);
    assert_eq!(each.askThrough(&callback, 1).unwrap(), callback.ask(1).unwrap());
}

/// Makes all checks, in every version, with one thread and with several.
fn check_all(transport: Transport) {
    for (version, threads) in VERSIONS.into_iter().flat_map(|it| [(it, 1), (it, 4)]) {
        let Some(connected) = connect(transport, version, threads) else {
            return binder_testkit::skip("this machine does not reach itself so");
        };
        for (name, check) in CHECKS {
            check(&connected);
            connected.check_rest(&format!("{name}, {version:?}, {threads} threads"));
        }
        assert_eq!(connected.server.sessions(), 1);
        let Connected { server, session, test, .. } = connected;
        drop((session, test));
        wait_until(|| server.sessions() == 0);
        assert_eq!(server.objects(), (0, 0));
        server.shutdown().unwrap();
    }
}

#[test]
fn over_unix_sockets_with_a_path() {
    check_all(Transport::UnixPath);
}

#[test]
fn over_unix_sockets_with_a_name() {
    check_all(Transport::UnixName);
}

#[test]
fn over_sockets_that_are_sent_over_another() {
    check_all(Transport::Bootstrap);
}

#[test]
fn over_sockets_that_others_have_connected() {
    check_all(Transport::Preconnected);
}

#[test]
fn over_tcp() {
    check_all(Transport::Tcp);
}

#[test]
fn over_tls() {
    check_all(Transport::Tls);
}

#[test]
fn over_vsock() {
    check_all(Transport::Vsock);
}
