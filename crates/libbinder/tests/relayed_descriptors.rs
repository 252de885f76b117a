//! What relayed streams leave behind. Descriptors and threads are the process's, so this is the only test here.

use std::fs;
use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;

use binder::binder_impl::IBinderInternal as _;
use binder::binder_impl::{Binder, BorrowedParcel, FIRST_CALL_TRANSACTION, Parcel, Remotable};
use binder::transport::rpc::{FileDescriptorTransportMode as FdMode, RpcServer, RpcSession};
use binder::{Interface, SpIBinder, StatusCode};
use binder_testkit::wait_until;

/// Gives back what it is given.
struct GiveBack;

impl Interface for GiveBack {}

impl Remotable for GiveBack {
    fn get_descriptor() -> &'static str {
        "test.GiveBack"
    }

    fn on_transact(
        &self,
        _: u32,
        data: &BorrowedParcel<'_>,
        reply: &mut BorrowedParcel<'_>,
    ) -> Result<(), StatusCode> {
        reply.write_file(data.read_file()?.as_fd())
    }
}

fn there_and_back(root: &SpIBinder, file: impl AsFd) -> OwnedFd {
    let mut data = Parcel::for_codec(root.as_remote().expect("a proxy").codec());
    data.write_interface_token("test.GiveBack").expect("a name");
    data.write_file(file.as_fd()).expect("it can be relayed");
    let reply = root.submit_transact(FIRST_CALL_TRANSACTION, data, 0).expect("an answer");
    reply.read_file().expect("a file")
}

fn descriptors() -> usize {
    fs::read_dir("/proc/self/fd").expect("proc").count()
}

/// The states of the threads of this name.
fn threads(name: &str) -> Vec<char> {
    let tasks = fs::read_dir("/proc/self/task").expect("proc");
    let stat = |task: fs::DirEntry| fs::read_to_string(task.path().join("stat")).ok();
    let stats = tasks.filter_map(|task| stat(task.expect("a thread")));
    let state = |stat: String| {
        let (head, rest) = stat.rsplit_once(") ")?;
        head.ends_with(&format!("({name}")).then(|| rest.chars().next())?
    };
    stats.filter_map(state).collect()
}

fn stream_threads() -> Vec<char> {
    threads("rpc-stream")
}

/// Waits until all threads of streams sleep and go on to, with nothing to do.
fn wait_until_asleep(streams: usize) {
    let are_asleep = || stream_threads() == vec!['S'; streams];
    wait_until(|| (0..100).all(|_| are_asleep()));
}

/// Those by which a session calls, and is called, unless more are needed.
const CONNECTIONS: usize = 1 + 2;

fn connect(address: &str) -> (RpcSession, SpIBinder) {
    let session = RpcSession::new();
    session.set_file_descriptor_transport_mode(FdMode::Relayed);
    session.set_max_incoming_threads(2);
    // On a busy machine it would make more of them when it likes.
    session.set_max_outgoing_connections(1);
    let root = session.connect_unix(address).expect("a server");
    (session, root)
}

#[test]
fn streams_leave_nothing_behind_and_sleep_while_nothing_is_to_be_done() {
    let address = format!("\0anybinder-test-relayed-{}", std::process::id());
    let server = RpcServer::new_unix(Binder::new(GiveBack).as_binder(), &address).expect("a name");
    server.set_supported_file_descriptor_transport_modes(&[FdMode::Relayed]);
    server.start().expect("a thread");
    let (first, root) = connect(&address);
    // What the session opens once, it has opened then: on a busy machine the server may still be about to take a connection.
    there_and_back(&root, io::pipe().expect("a pipe").0);
    wait_until_asleep(0);
    let is_open = || {
        let statistics = server.statistics();
        statistics.handshakes.held == 0 && statistics.connections.held == CONNECTIONS
    };
    wait_until(is_open);
    wait_until(|| first.objects() == (0, 1));
    // Which has descriptors of its own, and starts when a connection first falls silent.
    wait_until(|| threads("rpc-reader") == ['S']);
    let before = descriptors();
    // Where all connections are in use for a while, streams have one more made: both of its ends are here.
    let is_as_before = || {
        let more = server.statistics().connections.held.saturating_sub(CONNECTIONS);
        descriptors() <= before + 2 * more
    };
    for _ in 0..10 {
        let (near, given) = UnixStream::pair().expect("a pair");
        let far = UnixStream::from(there_and_back(&root, given));
        // Each direction ends by itself.
        near.shutdown(Shutdown::Write).expect("open");
        assert_eq!((&far).read(&mut [0; 1]).expect("read"), 0);
        wait_until_asleep(4);
        // What is written is not read, and its reader is gone then.
        far.set_nonblocking(true).expect("a socket");
        wait_until(|| {
            while (&far).write_all(&[0; 4096]).is_ok() {}
            stream_threads() == ['S'; 4]
        });
        wait_until_asleep(4);
        drop((near, far));
        wait_until_asleep(0);
        let (reader, writer) = io::pipe().expect("a pipe");
        drop((there_and_back(&root, reader), writer));
    }
    wait_until_asleep(0);
    wait_until(is_as_before);
    let (near, given) = UnixStream::pair().expect("a pair");
    let (session, root) = connect(&address);
    let far = UnixStream::from(there_and_back(&root, given));
    session.shutdown();
    assert_eq!((&near).read(&mut [0; 1]).expect("read"), 0);
    assert_eq!((&far).read(&mut [0; 1]).expect("read"), 0);
    drop((near, far, root, session));
    wait_until_asleep(0);
    wait_until(is_as_before);
}
