//! What one user may do to a server while others use it.

use std::io::{Read, Write};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

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
/// How long another user may wait for a session and an answer. It is 40 ms at most where nothing else goes on; beside
/// compilers the scheduler alone takes more than 100 at times, and a server that attackers can hold up took 700.
const MAX_TIME: Duration = Duration::from_millis(400);
/// How long another user waits before the next.
const CANARY_INTERVAL: Duration = Duration::from_millis(2);
/// How long others are looked after when an attack is complete.
const HELD_TIME: Duration = Duration::from_millis(300);

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

    /// Asks for a session.
    fn begin(name: &str) -> Option<Self> {
        let mut attacker = Self::connect(name)?;
        let version = ProtocolVersion::V1;
        let opening = handshake::open(version, CallDirection::Outgoing, FdMode::None, None);
        attacker.0.write_all(&opening).ok().map(|()| attacker)
    }

    /// Opens a session; `None` if the server refuses it.
    fn open(name: &str) -> Option<Self> {
        let mut attacker = Self::begin(name)?;
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
    let call = encode::OutgoingCall {
        address,
        code,
        flags,
        async_number,
        timeout_us: 0,
        trace_id: 0,
        caller_uid: None,
    };
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

/// Another user's program, which opens a session and makes a call again and again.
struct Canary {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<Duration>,
}

impl Canary {
    fn start(server: &str) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let (is_over, name) = (Arc::clone(&stop), format!("\0{server}"));
        let thread = thread::spawn(move || {
            let mut longest = Duration::ZERO;
            while !is_over.load(Ordering::Relaxed) {
                let begun = Instant::now();
                let session = RpcSession::new();
                let root = session.connect_unix(&name).expect("a session");
                assert_eq!(root.ping_binder(), Ok(()));
                longest = longest.max(begun.elapsed());
                thread::sleep(CANARY_INTERVAL);
            }
            longest
        });
        Self { stop, thread }
    }

    /// Stops, and returns how long the longest session and answer took.
    fn finish(self) -> Duration {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().expect("each gets a session and an answer")
    }
}

/// A server that is attacked, and one that is not: it tells what a busy machine does to both.
struct Place {
    attacked: Server,
    name: String,
    _control: Server,
    control_name: String,
}

impl Place {
    fn new() -> Self {
        let name = format!("crowds-attacks-{}", std::process::id());
        let control_name = format!("crowds-control-{}", std::process::id());
        let (attacked, _control) = (Server::start(&name, None), Server::start(&control_name, None));
        Self { attacked, name, _control, control_name }
    }

    /// Checks that other users get sessions and answers while `attack` runs and for a while after it, with all that it
    /// returns, and that the server does not become large.
    fn check<T: Send>(&self, what: &str, attack: impl FnOnce() -> T + Send) -> T {
        let canaries = [&self.name, &self.control_name].map(|name| Canary::start(name));
        let held = as_stranger(attack);
        thread::sleep(HELD_TIME);
        let [longest, of_control] = canaries.map(Canary::finish);
        let kib = self.attacked.status("VmHWM");
        println!(
            "{what}: at most {longest:.1?} for a session and an answer, {of_control:.1?} of a server that is not \
             attacked, {kib} KiB"
        );
        assert!(kib <= MAX_KIB, "{what}: {kib} KiB");
        assert!(longest <= MAX_TIME.max(of_control * 3), "{what}: {longest:?}, and {of_control:?}");
        held
    }
}

/// How many sessions a user may have: three quarters of 1024.
const MAX_SESSIONS: usize = 768;

#[test]
fn one_user_keeps_no_other_from_a_session_and_an_answer() {
    if !rustix::process::geteuid().is_root() {
        return binder_testkit::skip("only root has two users");
    }
    if !may_open(8192) {
        return;
    }
    let place = Place::new();
    let name = &*place.name;
    place.check("nothing", || {});

    let sessions = || {
        let mut held = Vec::new();
        // One that has been closed may be counted for a moment.
        for _ in 0..20 {
            held.extend(std::iter::from_fn(|| Attacker::open(name)));
            if held.len() >= MAX_SESSIONS {
                break;
            }
            thread::sleep(Duration::from_millis(50));
        }
        held
    };
    let idle = place.check("all sessions that there are, idle", sessions);
    assert_eq!(idle.len(), MAX_SESSIONS);
    drop(idle);

    drop(place.check("connections that say nothing", || {
        let connect = |_| Attacker::connect(name);
        (0..600).map_while(connect).collect::<Vec<_>>()
    }));

    // Each of these threads is of the same user.
    let by_four = |attack: fn(&str)| {
        thread::scope(|scope| (0..4).for_each(|_| drop(scope.spawn(|| attack(name)))));
    };
    place.check("connections that come and go", || {
        by_four(|name| (0..5_000).for_each(|_| drop(Attacker::connect(name))));
    });

    place.check("openings of sessions that are not waited for", || {
        by_four(|name| (0..2_000).for_each(|_| drop(Attacker::begin(name))));
    });

    place.check("sessions that come and go", || {
        (0..2_000).for_each(|_| drop(Attacker::open(name)));
    });

    drop(place.check("one-way calls that wait", || {
        // The first call of each never comes.
        let queue = |_| {
            let mut attacker = Attacker::open(name)?;
            let root = attacker.root()?;
            let sent = |order| attacker.0.write_all(&call(Some(root), 1, 1, order, 500_000));
            let _ = (1..=40).try_for_each(sent);
            Some(attacker)
        };
        (0..64).map(queue).collect::<Vec<_>>()
    }));

    drop(place.check("many small one-way calls that wait", || {
        let queue = |_| {
            let mut attacker = Attacker::open(name)?;
            let root = attacker.root()?;
            let calls: Vec<u8> =
                (1..=500).flat_map(|order| call(Some(root), 1, 1, order, 0)).collect();
            let _ = (0..20).try_for_each(|_| attacker.0.write_all(&calls));
            Some(attacker)
        };
        (0..200).map(queue).collect::<Vec<_>>()
    }));

    drop(place.check("messages that do not go on", || {
        let begin = |_| {
            let mut attacker = Attacker::open(name)?;
            let begun = attacker.0.write_all(&call(None, 0, 0, 0, 600_000)[..500_000]);
            begun.ok().map(|()| attacker)
        };
        (0..300).map(begin).collect::<Vec<_>>()
    }));

    drop(place.check("messages of one byte at a time", || {
        let bytes = call(None, special::GET_MAX_THREADS, 0, 0, 0);
        let mut attackers: Vec<_> = (0..100).filter_map(|_| Attacker::open(name)).collect();
        for byte in &bytes[..bytes.len() - 1] {
            attackers.retain_mut(|attacker| attacker.0.write_all(&[*byte]).is_ok());
        }
        attackers
    }));

    place.check("bytes that are no message", || {
        let bytes: Vec<u8> =
            (0_u32..1_024).flat_map(|at| at.wrapping_mul(0x9e37_79b9).to_le_bytes()).collect();
        for number in 0..2_000 {
            if let Some(mut attacker) = Attacker::open(name) {
                // The server ends the session at any of them.
                let _ = attacker.0.write_all(&bytes[number % 512..]);
            }
        }
    });

    drop(place.check("answers that are not read", || {
        let ask = |_| {
            let mut attacker = Attacker::open(name)?;
            attacker.0.set_nonblocking(true).ok()?;
            let question = call(None, special::GET_MAX_THREADS, 0, 0, 0);
            let questions: Vec<u8> = question.iter().copied().cycle().take(64 << 10).collect();
            while attacker.0.write_all(&questions).is_ok() {}
            Some(attacker)
        };
        (0..200).map(ask).collect::<Vec<_>>()
    }));
    place.check("nothing any more", || {});
}
