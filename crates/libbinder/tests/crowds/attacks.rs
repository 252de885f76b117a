//! What one user may do to a server while others use it.

use std::io::{Read, Write};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixStream};
use std::thread;
use std::time::Instant;

use binder::IBinder;
use binder::transport::rpc::{ProtocolVersion, RpcSession, SessionLimits};
use binder_rpc::handshake::{self, FdMode};
use binder_rpc::{Address, CallDirection, SessionSide, encode, special};
use binder_testkit::HANG_TIMEOUT;
use rustix::fs::Uid;

use crate::server::{Server, may_open};

/// Not the user who runs the tests.
const STRANGER: u32 = 54_321;
const MAX_KIB: u64 = 64 << 10;

/// A socket of the attacker's.
struct Attacker(UnixStream);

impl Attacker {
    fn connect(name: &str) -> Option<Self> {
        let address = SocketAddr::from_abstract_name(name).expect("a name");
        let socket = UnixStream::connect_addr(&address).ok()?;
        socket.set_read_timeout(Some(HANG_TIMEOUT)).expect("a timeout");
        socket.set_write_timeout(Some(HANG_TIMEOUT)).expect("a timeout");
        Some(Self(socket))
    }

    /// Begins a session; `None` if the server refuses it.
    fn open(name: &str) -> Option<Self> {
        let mut attacker = Self::connect(name)?;
        let version = ProtocolVersion::V1;
        let opening = handshake::open(version, CallDirection::Outgoing, FdMode::None, None);
        attacker.0.write_all(&opening).ok()?;
        attacker.0.read_exact(&mut [0; 8]).ok()?;
        Some(attacker)
    }

    /// Asks for the root object, and returns its address.
    fn root(&mut self) -> Option<Address> {
        self.0.write_all(&call(None, special::GET_ROOT, 0, 0, 0)).ok()?;
        let mut answer = [0; 16 + 20 + 16];
        self.0.read_exact(&mut answer).ok()?;
        let number = u32::from_le_bytes(answer[44..48].try_into().expect("four bytes"));
        Some(Address { owner: SessionSide::Server, number })
    }
}

/// The bytes of a call.
fn call(address: Option<Address>, code: u32, flags: u32, order: u64, bytes: usize) -> Vec<u8> {
    let async_number = order;
    let call =
        encode::OutgoingCall { address, code, flags, async_number, timeout_us: 0, trace_id: 0 };
    let extent = encode::Extent { parcel_bytes: bytes, positions: 0 };
    let head = encode::transact(&call, extent, &SessionLimits::default()).expect("not too long");
    [&head[..], &vec![0; bytes]].concat()
}

/// Runs `attack` as another user; what it returns is held while the others are looked after.
fn as_stranger<T: Send>(attack: impl FnOnce() -> T + Send) -> T {
    thread::scope(|scope| {
        let attacking = scope.spawn(|| {
            // Of this thread alone.
            rustix::thread::set_thread_uid(Uid::from_raw(STRANGER)).expect("root may");
            attack()
        });
        attacking.join().expect("no panic")
    })
}

/// Checks that another user gets a session and an answer, and that the server is not large.
fn check_others(server: &Server, name: &str, during: &str) {
    let start = Instant::now();
    let session = RpcSession::new();
    let root = session.connect_unix(format!("\0{name}"));
    assert_eq!(root.expect("a session").ping_binder(), Ok(()), "{during}");
    let (took, kib) = (start.elapsed(), server.status("VmHWM"));
    println!("{during}: a session and an answer took {took:?}; {kib} KiB at most");
    assert!(kib <= MAX_KIB, "{during}: {kib} KiB");
}

#[test]
fn one_user_keeps_no_other_from_a_session_and_an_answer() {
    if !rustix::process::geteuid().is_root() {
        return binder_testkit::skip("only root has two users");
    }
    if !may_open(8192) {
        return;
    }
    let name = format!("crowds-attacks-{}", std::process::id());
    let server = Server::start(&name, None);
    check_others(&server, &name, "before");

    let idle = as_stranger(|| std::iter::from_fn(|| Attacker::open(&name)).collect::<Vec<_>>());
    assert_eq!(idle.len(), 768, "three quarters of 1024");
    check_others(&server, &name, "all sessions that there are, idle");
    drop(idle);

    let silent = as_stranger(|| {
        let connect = |_| Attacker::connect(&name);
        (0..600).map_while(connect).collect::<Vec<_>>()
    });
    check_others(&server, &name, "connections that say nothing");
    drop(silent);

    let queues = as_stranger(|| {
        // The first call of each never comes.
        let queue = |_| {
            let mut attacker = Attacker::open(&name)?;
            let root = attacker.root()?;
            let sent = |order| attacker.0.write_all(&call(Some(root), 1, 1, order, 500_000));
            let _ = (1..=40).try_for_each(sent);
            Some(attacker)
        };
        (0..64).map(queue).collect::<Vec<_>>()
    });
    check_others(&server, &name, "one-way calls that wait");
    drop(queues);

    let unfinished = as_stranger(|| {
        let begin = |_| {
            let mut attacker = Attacker::open(&name)?;
            let begun = attacker.0.write_all(&call(None, 0, 0, 0, 600_000)[..500_000]);
            begun.ok().map(|()| attacker)
        };
        (0..300).map(begin).collect::<Vec<_>>()
    });
    check_others(&server, &name, "messages that do not go on");
    drop(unfinished);
    check_others(&server, &name, "after");
}
