//! What a program hears that has a logger of the crate `log` and no subscriber of `tracing`. The logger is
//! the process's, so this is the only test here.

use std::sync::Mutex;

use binder::binder_impl::{Binder, BorrowedParcel, Remotable};
use binder::transport::rpc::{RpcServer, RpcSession};
use binder::{Interface, StatusCode};
use binder_testkit::wait_until;
use log::{Level, LevelFilter, Log, Metadata, Record};

struct Plain;

impl Interface for Plain {}

impl Remotable for Plain {
    fn get_descriptor() -> &'static str {
        "test.Plain"
    }

    fn on_transact(
        &self,
        _: u32,
        _: &BorrowedParcel<'_>,
        _: &mut BorrowedParcel<'_>,
    ) -> Result<(), StatusCode> {
        Err(StatusCode::UNKNOWN_TRANSACTION)
    }
}

/// Takes down what the library warns of.
struct Warnings(Mutex<Vec<String>>);

impl Log for Warnings {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.level() <= Level::Warn && metadata.target().starts_with("binder::")
    }

    fn log(&self, record: &Record<'_>) {
        if self.enabled(record.metadata()) {
            self.0.lock().expect("no panic").push(record.args().to_string());
        }
    }

    fn flush(&self) {}
}

static WARNINGS: Warnings = Warnings(Mutex::new(Vec::new()));

#[test]
fn a_refused_connection_is_said_to_the_programs_logger() {
    log::set_logger(&WARNINGS).expect("the only one");
    log::set_max_level(LevelFilter::Warn);
    let name = format!("\0libbinder-warnings-{}", std::process::id());
    let server = RpcServer::new_unix(Binder::new(Plain).as_binder(), &name).expect("a free name");
    server.set_max_connections(1);
    server.start().expect("a thread");
    let first = RpcSession::new();
    let _root = first.connect_unix(&name).expect("one may connect");
    RpcSession::new().connect_unix(&name).expect_err("two may not");
    // The client may know first.
    wait_until(|| !WARNINGS.0.lock().expect("no panic").is_empty());
    let said = WARNINGS.0.lock().expect("no panic").concat();
    assert!(said.contains("a connection was refused"), "{said}");
    assert!(said.contains("2 connections of one peer: it may have 1 of the server's 1"), "{said}");
    let uid = rustix::process::geteuid().as_raw();
    assert!(said.contains(&format!("uid={uid}")), "{said}");
}
