//! Sessions that pass the contents of files, instead of descriptors.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::net::{Shutdown, TcpListener};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::{UnixDatagram, UnixStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::thread;

use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, fcntl_get_seals, memfd_create};

use super::service::*;
use crate::binder_impl::{
    Binder, BorrowedParcel, FLAG_ONEWAY, IBinderInternal as _, Parcel, Remotable, TransactionCode,
};
use crate::transport::rpc::{
    FileDescriptorTransportMode as FdMode, ProtocolVersion, RpcServer, RpcSession,
};
use crate::{Interface as _, SpIBinder, StatusCode};

const SEALED: SealFlags = SealFlags::WRITE.union(SealFlags::SHRINK).union(SealFlags::GROW);

fn relay(server: &RpcServer) {
    server.set_supported_file_descriptor_transport_modes(&[FdMode::None, FdMode::Relayed]);
    server.set_max_threads(4);
}

fn start_and_connect() -> (View, RpcServer, RpcSession, SpIBinder) {
    let (view, server, name) = start(relay);
    let (session, root) = connect(&name, |session| {
        session.set_file_descriptor_transport_mode(FdMode::Relayed);
        session.set_max_incoming_threads(2);
    });
    (view, server, session, root)
}

/// Gives the service a file, and returns what that gives back for it: it was relayed twice.
fn there_and_back(root: &SpIBinder, file: impl AsFd) -> Result<OwnedFd, StatusCode> {
    call(root, FILE, 0, |data| data.write_file(file.as_fd()))?.read_file()
}

fn memory(bytes: &[u8], seals: SealFlags) -> File {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    let mut file = File::from(memfd_create("test", flags).expect("memory"));
    file.write_all(bytes).expect("room");
    fcntl_add_seals(&file, seals).expect("sealed");
    file
}

/// Waits until the session holds nothing but the root object.
fn wait_until_at_rest(session: &RpcSession, root: &SpIBinder) {
    wait_until(|| echo(root, b"on").is_ok() && session.objects() == (0, 1));
}

#[test]
fn sealed_memory_is_copied() {
    let (_view, _server, session, root) = start_and_connect();
    let bytes: Vec<u8> = (0..1_000_000_u32).map(|at| (at % 251) as u8).collect();
    let mut original = memory(&bytes, SEALED | SealFlags::SEAL);
    original.seek(SeekFrom::Start(10)).expect("a place");
    let mut copy = File::from(there_and_back(&root, &original).expect("a copy"));
    assert_eq!(fcntl_get_seals(&copy), Ok(SEALED | SealFlags::SEAL));
    let mut rest = Vec::new();
    copy.read_to_end(&mut rest).expect("read");
    assert_eq!(rest, bytes[10..]);
    wait_until_at_rest(&session, &root);
}

#[test]
fn what_means_something_only_here_is_refused_before_it_is_sent() {
    let (_view, _server, _session, root) = start_and_connect();
    let (datagrams, _other) = UnixDatagram::pair().expect("a pair");
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    for (file, what) in [
        (OwnedFd::from(File::open("/proc/self/exe").expect("a file")), "a file"),
        (File::open("/dev/null").expect("a device").into(), "a device"),
        (File::open("/").expect("a directory").into(), "a directory"),
        (memory(b"open", SealFlags::WRITE).into(), "memory that may grow"),
        (memory(&vec![0; (16 << 20) + 1], SEALED).into(), "too much memory"),
        (datagrams.into(), "a socket of datagrams"),
        (listener.into(), "a socket that listens"),
    ] {
        let refused = there_and_back(&root, &file);
        assert_eq!(refused.err(), Some(StatusCode::FDS_NOT_ALLOWED), "{what}");
    }
    assert_eq!(echo(&root, b"goes on"), Ok(b"goes on".to_vec()));
}

#[test]
fn the_files_of_a_parcel_share_what_may_be_copied() {
    let (_view, _server, _session, root) = start_and_connect();
    let large = memory(&vec![0; 9 << 20], SEALED);
    let reply = call(&root, FILE, 0, |data| data.write_file(large.as_fd())).expect("an answer");
    assert!(reply.read_file().is_ok() && reply.read_file().is_err(), "one file, and no other");
    reply.set_data_position(0).expect("the beginning");
    assert!(reply.read_file().is_ok(), "it is copied once");
}

#[test]
fn a_pipe_is_relayed_until_either_end_is_closed() {
    let (_view, _server, session, root) = start_and_connect();
    let (reader, mut writer) = io::pipe().expect("a pipe");
    let mut far = File::from(there_and_back(&root, reader).expect("a pipe"));
    let bytes: Vec<u8> = (0..3_000_000_u32).map(|at| (at % 249) as u8).collect();
    thread::scope(|scope| {
        scope.spawn(|| {
            writer.write_all(&bytes).expect("somebody reads");
            drop(writer);
        });
        let mut read = Vec::new();
        far.read_to_end(&mut read).expect("read");
        assert!(read == bytes, "{} bytes of {}", read.len(), bytes.len());
    });
    let (mut reader, writer) = io::pipe().expect("a pipe");
    let mut far = File::from(there_and_back(&root, writer).expect("a pipe"));
    far.write_all(b"back").expect("somebody reads");
    let mut read = [0; 4];
    reader.read_exact(&mut read).expect("written");
    assert_eq!(&read, b"back");
    drop(reader);
    wait_until(|| far.write_all(b"nobody reads").is_err());
    wait_until_at_rest(&session, &root);
}

#[test]
fn a_socket_is_relayed_in_both_directions() {
    let (_view, _server, session, root) = start_and_connect();
    let (mut near, given) = UnixStream::pair().expect("a pair");
    let mut far = UnixStream::from(there_and_back(&root, given).expect("a socket"));
    for (from, to) in [(0, 1), (1, 0), (0, 1)] {
        let mut ends = [&near, &far];
        ends[from].write_all(b"word").expect("sent");
        let mut read = [0; 4];
        ends[to].read_exact(&mut read).expect("come");
        assert_eq!(&read, b"word");
    }
    near.shutdown(Shutdown::Write).expect("open");
    assert_eq!(far.read(&mut [0; 1]).expect("read"), 0, "its other direction goes on");
    far.write_all(b"on").expect("sent");
    let mut read = [0; 2];
    near.read_exact(&mut read).expect("come");
    drop(far);
    assert_eq!(near.read(&mut read).expect("read"), 0);
    wait_until_at_rest(&session, &root);
}

#[test]
fn who_writes_waits_for_who_reads() {
    let (_view, _server, _session, root) = start_and_connect();
    let (reader, mut writer) = io::pipe().expect("a pipe");
    let far = there_and_back(&root, reader).expect("a pipe");
    rustix::fs::fcntl_setfl(&writer, rustix::fs::OFlags::NONBLOCK).expect("a pipe");
    let mut written = 0;
    // Two relays with a window each, three pipes; a loop that never ends would fill memory.
    wait_until(|| {
        written += writer.write(&[0; 65_536]).unwrap_or(0);
        let before = written;
        thread::yield_now();
        written += writer.write(&[0; 65_536]).unwrap_or(0);
        written == before && written > 256 << 10
    });
    assert!(written <= (2 * 256 + 3 * 64 + 256) << 10, "{written}");
    assert_eq!(echo(&root, b"goes on"), Ok(b"goes on".to_vec()));
    drop(far);
}

#[test]
fn streams_end_with_their_session_and_are_counted() {
    let (_view, server, _session, root) = start_and_connect();
    let (mut near, given) = UnixStream::pair().expect("a pair");
    let mut far = UnixStream::from(there_and_back(&root, given).expect("a socket"));
    far.write_all(b"x").expect("sent");
    near.read_exact(&mut [0; 1]).expect("come");
    let mut held = Vec::new();
    let refused = loop {
        let (reader, writer) = io::pipe().expect("a pipe");
        match there_and_back(&root, reader) {
            Ok(far) => held.push((far, writer)),
            Err(refused) => break refused,
        }
    };
    assert_eq!(refused, StatusCode::NO_MEMORY);
    // Each took two in each of the two ends of the session.
    assert_eq!(held.len(), 31);
    drop(held);
    wait_until(|| there_and_back(&root, io::pipe().expect("a pipe").0).is_ok());
    server.shutdown().expect("from outside of calls");
    assert_eq!(near.read(&mut [0; 1]).expect("read"), 0);
    assert_eq!(far.read(&mut [0; 1]).expect("read"), 0);
}

#[test]
fn a_stream_goes_on_while_calls_are_refused_and_is_no_call_of_the_program() {
    let (is_open, calls) = (Arc::new(AtomicBool::new(true)), Arc::new(AtomicUsize::new(0)));
    let (asked, counted) = (Arc::clone(&is_open), Arc::clone(&calls));
    let (_view, _server, name) = start(move |server| {
        relay(server);
        server.set_call_observer(move |_, _| {
            counted.fetch_add(1, Ordering::Relaxed);
        });
        server.set_call_guard(move || {
            if asked.load(Ordering::Relaxed) { Ok(()) } else { Err(StatusCode::PERMISSION_DENIED) }
        });
    });
    let (_session, root) = connect(&name, |session| {
        session.set_file_descriptor_transport_mode(FdMode::Relayed);
        session.set_max_incoming_threads(2);
    });
    let (near, given) = UnixStream::pair().expect("a pair");
    let far = UnixStream::from(there_and_back(&root, given).expect("a socket"));
    is_open.store(false, Ordering::Relaxed);
    (&near).write_all(b"meanwhile").expect("sent");
    let mut read = [0; 9];
    far.set_read_timeout(Some(HANG_TIMEOUT)).expect("a timeout");
    (&far).read_exact(&mut read).expect("come");
    assert_eq!(echo(&root, b"refused"), Err(StatusCode::PERMISSION_DENIED));
    assert_eq!(calls.load(Ordering::Relaxed), 2, "the one that took the socket, and this");
}

#[test]
fn an_older_version_lists_too_little() {
    let (_view, _server, name) = start(relay);
    let (_session, root) = connect(&name, |session| {
        session.set_file_descriptor_transport_mode(FdMode::Relayed);
        session.set_protocol_version(ProtocolVersion::V1);
    });
    let (reader, _writer) = io::pipe().expect("a pipe");
    assert_eq!(there_and_back(&root, reader).err(), Some(StatusCode::BAD_VALUE));
}

/// An object that says what it likes of the file that it stands for.
struct Liar {
    description: Vec<i64>,
    /// The peer's end of a stream.
    end: Sender<SpIBinder>,
}

impl Remotable for Liar {
    fn get_descriptor() -> &'static str {
        "anybinder.rpc.IRelayedFile"
    }

    fn on_transact(
        &self,
        code: TransactionCode,
        data: &BorrowedParcel<'_>,
        reply: &mut BorrowedParcel<'_>,
    ) -> Result<(), StatusCode> {
        match code {
            1 => {
                let [kind, rest @ ..] = &self.description[..] else { return Ok(()) };
                reply.write(&i32::try_from(*kind).expect("a kind"))?;
                if let [mode] = rest {
                    return reply.write(&i32::try_from(*mode).expect("a mode"));
                }
                let [bytes, seals, position] = rest else { return Ok(()) };
                reply.write(bytes)?;
                reply.write(&i32::try_from(*seals).expect("seals"))?;
                reply.write(position)
            }
            2 => reply.write(&vec![0_u8; 1]),
            _ => {
                self.end.send(data.read()?).expect("a test");
                reply.write(&Binder::new(Deaf).as_binder())
            }
        }
    }
}

/// An end of a stream that hears nothing.
struct Deaf;

impl Remotable for Deaf {
    fn get_descriptor() -> &'static str {
        "anybinder.rpc.IRelayedStream"
    }

    fn on_transact(
        &self,
        _: TransactionCode,
        _: &BorrowedParcel<'_>,
        _: &mut BorrowedParcel<'_>,
    ) -> Result<(), StatusCode> {
        Ok(())
    }
}

#[test]
fn what_a_peer_says_of_its_file_is_not_believed() {
    let (_view, _server, _session, root) = start_and_connect();
    let (end, ends) = channel();
    let give = |description: &[i64]| {
        let liar = Liar { description: description.to_vec(), end: end.clone() };
        let liar = Binder::new(liar).as_binder();
        let reply = call(&root, FILE, 0, |data| data.write_stand_in(liar));
        reply.and_then(|reply| reply.read_file())
    };
    let sealed = i64::from(SEALED.bits());
    for (description, status) in [
        (&[][..], StatusCode::NOT_ENOUGH_DATA),
        (&[4], StatusCode::BAD_VALUE),
        (&[1], StatusCode::NOT_ENOUGH_DATA),
        (&[0], StatusCode::NOT_ENOUGH_DATA),
        (&[0, -1, sealed, 0], StatusCode::BAD_VALUE),
        (&[0, 1 << 40, sealed, 0], StatusCode::NO_MEMORY),
        (&[0, 3, sealed, 0], StatusCode::BAD_VALUE),
        (&[0, 1, sealed, -1], StatusCode::BAD_VALUE),
    ] {
        assert_eq!(give(description).err(), Some(status), "{description:?}");
    }
    let sealed = give(&[0, 1, -1, 0]).expect("a byte");
    assert_eq!(fcntl_get_seals(&sealed), Ok(SEALED | SealFlags::SEAL));
    let mut far = File::from(give(&[1, 0]).expect("a pipe"));
    let end = ends.recv_timeout(HANG_TIMEOUT).expect("the peer's end");
    let tell = |end: &SpIBinder, code, write: &dyn Fn(&mut Parcel) -> Result<(), StatusCode>| {
        let mut data = Parcel::for_codec(end.as_remote().expect("a proxy").codec());
        data.write_interface_token("anybinder.rpc.IRelayedStream").expect("a name");
        write(&mut data).expect("written");
        end.submit_transact(code, data, FLAG_ONEWAY).expect("sent");
    };
    tell(&end, 1, &|data| data.write(&b"so far".to_vec()));
    let mut read = [0; 6];
    far.read_exact(&mut read).expect("come");
    tell(&end, 2, &|data| data.write(&1));
    assert_eq!(far.read(&mut read).expect("read"), 0, "it took nothing, and says that it has");
    let mut far = File::from(give(&[1, 0]).expect("a pipe"));
    let end = ends.recv_timeout(HANG_TIMEOUT).expect("the peer's end");
    tell(&end, 1, &|data| data.write(&b"all".to_vec()));
    drop(end);
    let mut read = Vec::new();
    far.read_to_end(&mut read).expect("read");
    assert_eq!(read, b"all", "it has dropped its end, and says nothing");
    assert_eq!(echo(&root, b"goes on"), Ok(b"goes on".to_vec()));
}

#[test]
fn files_that_the_peer_has_not_opened_are_at_its_expense() {
    let (_view, _server, name) = start(|server| {
        relay(server);
        server.set_max_queued_files(8);
    });
    let (session, root) = connect(&name, |session| {
        session.set_file_descriptor_transport_mode(FdMode::Relayed);
        session.set_max_incoming_threads(2);
    });
    let small = memory(b"small", SEALED);
    let keep = || call(&root, FILE, 0, |data| data.write_file(small.as_fd()));
    let mut kept = Vec::new();
    let refused = loop {
        match keep() {
            Ok(reply) => kept.push(reply),
            Err(refused) => break refused,
        }
    };
    assert_eq!((refused, kept.len()), (StatusCode::NO_MEMORY, 6), "three quarters");
    drop(kept);
    wait_until(|| keep().is_ok());
    wait_until_at_rest(&session, &root);
}

#[test]
fn a_writer_to_a_socket_hears_that_its_reader_is_gone() {
    let (_view, _server, _session, root) = start_and_connect();
    let (mut near, given) = UnixStream::pair().expect("a pair");
    let mut far = UnixStream::from(there_and_back(&root, given).expect("a socket"));
    far.shutdown(Shutdown::Read).expect("open");
    near.set_write_timeout(Some(HANG_TIMEOUT)).expect("a timeout");
    let refused = loop {
        if let Err(refused) = near.write_all(&[0; 4096]) {
            break refused;
        }
    };
    assert_eq!(refused.kind(), io::ErrorKind::BrokenPipe);
    far.write_all(b"on").expect("its other direction goes on");
    near.read_exact(&mut [0; 2]).expect("come");
}

#[test]
fn who_does_not_wait_at_a_file_does_not_at_what_stands_for_it() {
    let (_view, _server, _session, root) = start_and_connect();
    for is_nonblocking in [true, false] {
        let (_near, given) = UnixStream::pair().expect("a pair");
        given.set_nonblocking(is_nonblocking).expect("a socket");
        let far = there_and_back(&root, given).expect("a socket");
        let flags = rustix::fs::fcntl_getfl(&far).expect("open");
        assert_eq!(flags.contains(rustix::fs::OFlags::NONBLOCK), is_nonblocking);
    }
}

#[test]
fn a_stand_in_that_was_not_agreed_on_fails_its_call() {
    let (_view, _server, name) = start(relay);
    let (_session, root) = connect(&name, |session| session.set_max_incoming_threads(1));
    let refused = call(&root, FILE, 0, |data| data.write_stand_in(service().binder));
    assert_eq!(refused.err(), Some(StatusCode::BAD_VALUE));
    assert_eq!(echo(&root, b"goes on"), Ok(b"goes on".to_vec()));
}
