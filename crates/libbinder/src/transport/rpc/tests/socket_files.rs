//! The files of Unix sockets: they go with their servers.

use super::service::*;
use crate::transport::rpc::{RpcServer, RpcSession};

/// A path for a socket, in a directory that goes with it.
struct ObjectPlace(std::path::PathBuf);

impl ObjectPlace {
    fn new(name: &str) -> Self {
        let directory = format!("libbinder-{name}-{}", std::process::id());
        let directory = std::env::temp_dir().join(directory);
        std::fs::create_dir(&directory).expect("a new directory");
        Self(directory.join("socket"))
    }
}

impl Drop for ObjectPlace {
    fn drop(&mut self) {
        // The test has failed already if anything is left that keeps it.
        let _ = self.0.parent().map(std::fs::remove_dir_all);
    }
}

#[test]
fn a_server_takes_its_file_along_but_not_another_servers() {
    let place = ObjectPlace::new("restart");
    let view = service();
    let serve = || RpcServer::new_unix(view.binder.clone(), &place.0);
    for _ in 0..2 {
        let server = serve().expect("a free path");
        server.start().expect("a thread");
        RpcSession::new().connect_unix(&place.0).expect("a server");
        assert!(serve().is_err(), "it is taken");
        server.shutdown().expect("from outside of calls");
        assert!(!place.0.exists());
    }
    drop(serve().expect("a free path"));
    assert!(!place.0.exists());

    let first = serve().expect("a free path");
    std::fs::remove_file(&place.0).expect("its file");
    let second = serve().expect("a free path");
    second.start().expect("a thread");
    drop(first);
    RpcSession::new().connect_unix(&place.0).expect("the second is found");
}

#[test]
fn the_file_of_a_dead_server_is_replaced_and_nothing_else() {
    let place = ObjectPlace::new("dead");
    let view = service();
    let serve = || RpcServer::new_unix(view.binder.clone(), &place.0);
    // Closed without a word, as the system does for a process that is killed.
    drop(std::os::unix::net::UnixListener::bind(&place.0).expect("a free path"));
    assert!(place.0.exists());
    let server = serve().expect("no server listens");
    server.start().expect("a thread");
    RpcSession::new().connect_unix(&place.0).expect("a server");
    drop(server);
    std::fs::write(&place.0, "no socket").expect("a file");
    assert!(serve().is_err());
    assert_eq!(std::fs::read_to_string(&place.0).expect("a file"), "no socket");
}

#[test]
fn a_socket_has_a_name() {
    let view = service();
    assert!(RpcServer::new_unix(view.binder, "").is_err());
    assert!(RpcSession::new().connect_unix("").is_err());
}
