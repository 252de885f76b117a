//! RPC Binder over TLS: which certificates are trusted.

#![expect(clippy::unwrap_used, reason = "a test is to end at what goes wrong")]

use std::io::{Read, Write};
use std::net::{IpAddr, Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use aidl_tests::aidl::foreign::IHost::IHost;
use binder::transport::rpc::{RpcError, RpcServer, RpcSession, SessionLimits, TlsCredentials};
use binder::{FromIBinder, IBinder, StatusCode, Strong};
use binder_testkit::wait_until;
use foreign::library::host;
use interop::client;
use interop::tls::Authority;

fn serve(credentials: &TlsCredentials) -> (RpcServer, u16) {
    let local = IpAddr::from([127, 0, 0, 1]);
    let root = host::new_host().as_binder();
    let server = RpcServer::new_inet_tls(root, local, 0, credentials).unwrap();
    server.set_max_threads(2);
    server.start().unwrap();
    let port = server.inet_address().unwrap().port();
    (server, port)
}

fn connect(port: u16, credentials: &TlsCredentials) -> Result<Strong<dyn IHost>, RpcError> {
    let session = RpcSession::new();
    session.set_max_incoming_threads(1);
    let root = session.connect_inet_tls("localhost", port, credentials)?;
    Ok(<dyn IHost as FromIBinder>::try_from(root).unwrap())
}

#[test]
fn everything_works_between_those_who_trust_each_other() {
    let authority = Authority::new();
    let (server, port) = serve(&authority.issue("localhost", &authority, false));
    let host = connect(port, &authority.issue("somebody", &authority, false)).unwrap();
    client::check(&host);
    client::callbacks(&host);
    assert!(host.callerPid().unwrap() > 4_194_304);
    assert!(host.lend("no files over TLS").is_err());
    host.as_binder().ping_binder().unwrap();
    server.shutdown().unwrap();
    assert!(host.as_binder().ping_binder().is_err());
}

/// Fails to connect, and says what both were told.
fn refused(server: &TlsCredentials, client: &TlsCredentials) -> String {
    let (server, port) = serve(server);
    let error = connect(port, client).map(drop).expect_err("nobody here trusts the other");
    assert_eq!(server.sessions(), 0);
    assert!(matches!(error, RpcError::Tls(_)), "{error}");
    error.to_string()
}

#[test]
fn a_certificate_that_is_not_trusted_expired_or_of_another_name_is_refused() {
    let (ours, others) = (Authority::new(), Authority::new());
    let good_server = ours.issue("localhost", &ours, false);
    let good_client = ours.issue("somebody", &ours, false);
    let said = |error: String, word: &str| assert!(error.contains(word), "{error}");

    said(
        refused(&others.issue("localhost", &ours, false), &good_client),
        "invalid peer certificate",
    );
    said(refused(&ours.issue("localhost", &ours, true), &good_client), "xpired");
    said(refused(&ours.issue("elsewhere", &ours, false), &good_client), "localhost");
    said(refused(&good_server, &others.issue("somebody", &ours, false)), "alert");
    said(refused(&good_server, &ours.issue("somebody", &ours, true)), "alert");
}

#[test]
fn a_client_without_tls_or_a_certificate_gets_nothing() {
    let authority = Authority::new();
    let (server, port) = serve(&authority.issue("localhost", &authority, false));
    let session = RpcSession::new();
    assert!(session.connect_inet("localhost", port).is_err());
    assert_eq!(server.sessions(), 0);

    // A server that speaks no TLS, to a client that does.
    let plain = RpcServer::new_inet(host::new_host().as_binder(), "127.0.0.1", 0_u32);
    let plain = Arc::new(plain.unwrap());
    plain.start().unwrap();
    let port = plain.inet_address().unwrap().port();
    let error = connect(port, &authority.issue("somebody", &authority, false));
    assert!(matches!(error, Err(RpcError::Tls(_) | RpcError::TimedOut { .. })));
}

/// Passes on what comes, until it is to hold; then half of that, and nothing more.
fn pass_on(from: &TcpStream, to: &TcpStream, is_to_hold: &AtomicBool) {
    let mut room = [0; 4_096];
    let mut is_held = false;
    while let Ok(bytes @ 1..) = { from }.read(&mut room) {
        let holds = is_to_hold.load(Ordering::SeqCst);
        let passed = if holds { &room[..bytes / 2] } else { &room[..bytes] };
        if is_held || { to }.write_all(passed).is_err() {
            break;
        }
        is_held = holds;
    }
}

#[test]
fn a_client_that_stops_within_a_record_is_given_up() {
    let authority = Authority::new();
    let (server, port) = serve(&authority.issue("localhost", &authority, false));
    server.set_limits(SessionLimits {
        max_stall: Duration::from_millis(200),
        ..SessionLimits::default()
    });
    let between = TcpListener::bind("localhost:0").unwrap();
    let between_port = between.local_addr().unwrap().port();
    let hold = Arc::new(AtomicBool::new(false));
    let is_to_hold = Arc::clone(&hold);
    let passing = thread::spawn(move || {
        let (client, _) = between.accept().unwrap();
        let server = TcpStream::connect(("localhost", port)).unwrap();
        thread::scope(|scope| {
            scope.spawn(|| {
                pass_on(&server, &client, &AtomicBool::new(false));
                client.shutdown(Shutdown::Both).unwrap();
            });
            pass_on(&client, &server, &is_to_hold);
        });
    });
    let session = RpcSession::new();
    session.set_max_outgoing_connections(1);
    let credentials = authority.issue("somebody", &authority, false);
    let root = session.connect_inet_tls("localhost", between_port, &credentials).unwrap();
    root.ping_binder().unwrap();
    hold.store(true, Ordering::SeqCst);
    assert_eq!(root.ping_binder(), Err(StatusCode::DEAD_OBJECT));
    wait_until(|| server.sessions() == 0);
    passing.join().unwrap();
}

#[test]
fn a_server_knows_the_names_in_a_certificate_and_decides_by_them() {
    let authority = Authority::new();
    let (server, port) = serve(&authority.issue("localhost", &authority, false));
    server.set_authorizer(|peer| match peer.spiffe_id().as_deref() {
        Some("spiffe://example.org/greeter") => Ok(None),
        other => Err(format!("{other:?}")),
    });
    let with = |uris: &[&str]| connect(port, &authority.issue_with(uris, &authority).1).is_ok();
    assert!(with(&["spiffe://example.org/greeter"]));
    assert!(!with(&["spiffe://example.org/other"]));
    assert!(!with(&["https://example.org/greeter"]));
    assert!(!with(&["spiffe://example.org/greeter", "spiffe://example.org/other"]));
    assert!(!with(&[]));
}

#[test]
fn certificates_and_lists_of_revoked_ones_are_changed_while_a_server_runs() {
    let (ours, next) = (Authority::new(), Authority::new());
    let (server, port) = serve(&ours.issue("localhost", &ours, false));
    let (serial, client) = ours.issue_with(&["spiffe://example.org/a"], &ours);
    let other = ours.issue("other", &ours, false);
    let before = connect(port, &client).unwrap();
    let lists = ours.revoke(&serial);
    let changed = ours.issue("localhost", &ours, false).with_revocation_lists(lists.as_bytes());
    server.set_tls_credentials(&changed.unwrap()).unwrap();
    assert!(matches!(connect(port, &client), Err(RpcError::Tls(_))), "it is revoked");
    assert!(connect(port, &other).is_ok());
    // A session that there was goes on.
    before.as_binder().ping_binder().unwrap();

    // Another issuer, from the next connection on.
    server.set_tls_credentials(&next.issue("localhost", &next, false)).unwrap();
    assert!(connect(port, &other).is_err());
    assert!(connect(port, &next.issue("somebody", &next, false)).is_ok());
    assert!(next.issue("x", &next, false).with_revocation_lists(b"no list").is_ok());
    let plain = RpcServer::new_inet(host::new_host().as_binder(), "127.0.0.1", 0_u32).unwrap();
    let refused = plain.set_tls_credentials(&next.issue("localhost", &next, false));
    assert!(matches!(refused, Err(RpcError::NotTls)));
}
