//! The rig's side of one actor: its socket, its memory, its threads.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, socketpair};
use zerocopy::{FromBytes, IntoBytes};

use super::actor::{ACTOR_ARGUMENT, ARENA_LEN_BYTES};
use super::door::Door;
use super::wire::{Answer, MAIN, Order, Request};
use super::{Look, sys};
use crate::hang::HANG_TIMEOUT;

/// How long a look waits for an answer before it looks at the thread.
const GLANCE: Duration = Duration::from_millis(1);

const LIVES: &str = "the actor lives";

pub(super) struct HostProcess {
    child: Child,
    /// None of one that was killed.
    link: Option<Link>,
    memory: Option<File>,
    arena: u64,
    allocated: u64,
    /// Thread ids by number.
    tids: Vec<i32>,
}

/// The socket to an actor.
struct Link {
    socket: OwnedFd,
    /// Answers that the test has not asked for yet.
    answers: BTreeMap<u32, Result<u64, Errno>>,
}

impl HostProcess {
    pub(super) fn start(door: Option<Door>, devices: &[PathBuf]) -> Self {
        let (socket, theirs) =
            socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)
                .expect("a socket pair");
        let mut program = Command::new("/proc/self/exe");
        program.arg(ACTOR_ARGUMENT).args(devices).stdin(Stdio::from(theirs));
        if let Some(door) = door {
            door.prepare(&mut program);
        }
        let child = program.spawn().expect("starts an actor");
        let mut link = Link { socket, answers: BTreeMap::new() };
        let arena = link.finish(MAIN).expect("the actor's arena");
        // The file belongs to the address space of its open, so the actor must run by now.
        let memory = OpenOptions::new()
            .read(true)
            .write(true)
            .open(format!("/proc/{}/mem", child.id()))
            .expect("a child's memory");
        let (link, memory) = (Some(link), Some(memory));
        Self { child, link, memory, arena, allocated: 0, tids: Vec::new() }
    }

    pub(super) fn pid(&self) -> i32 {
        i32::try_from(self.child.id()).expect("a process number")
    }

    pub(super) fn kill(&mut self) {
        if self.link.is_some() {
            self.child.kill().expect("kills an actor");
            self.child.wait().expect("reaps an actor");
            // An actor that has lost its socket ends by itself, so it goes last.
            (self.link, self.memory) = (None, None);
        }
    }

    fn link(&mut self) -> &mut Link {
        self.link.as_mut().expect(LIVES)
    }

    fn memory(&self) -> &File {
        self.memory.as_ref().expect(LIVES)
    }

    // --- orders ---

    pub(super) fn order(&mut self, order: Order, operands: [u64; 3]) -> Result<u64, Errno> {
        self.begin(order, MAIN, operands);
        self.finish(MAIN)
    }

    pub(super) fn start_thread(&mut self) -> u32 {
        let number = u32::try_from(self.tids.len()).expect("few threads");
        self.begin(Order::StartThread, number, [0; 3]);
        let tid = self.finish(MAIN).expect("starts a thread");
        self.tids.push(i32::try_from(tid).expect("a thread number"));
        number
    }

    pub(super) fn begin(&mut self, order: Order, thread: u32, operands: [u64; 3]) {
        self.link().begin(order, thread, operands);
    }

    pub(super) fn finish(&mut self, thread: u32) -> Result<u64, Errno> {
        self.link().finish(thread)
    }

    /// Looks what has become of the call that `thread` was told to make.
    pub(super) fn look(&mut self, thread: u32) -> Look {
        self.link().receive(GLANCE);
        self.look_at_once(thread)
    }

    /// The same, without waiting for an answer that is on its way.
    pub(super) fn look_at_once(&mut self, thread: u32) -> Look {
        self.link().receive(Duration::ZERO);
        if let Some(answer) = self.link().answers.get(&thread) {
            return Look::Ended(*answer);
        }
        // "running", or the number of the system call that the thread sleeps in and its arguments. Between
        // orders, and while it sends an answer, it sleeps on a futex of its own if at all.
        let call = self.read_of_thread(thread, "syscall");
        let mut words = call.split_whitespace();
        let number = words.next().and_then(|number| number.parse::<i64>().ok());
        // That file tells the number, too, of a call whose sleep is over while the processor where
        // the thread is to run has not heard of it.
        match number.filter(|number| *number >= 0 && !self.is_awake(thread)) {
            Some(libc::SYS_futex) if words.next().is_some_and(|word| self.is_shared(word)) => {
                Look::InSlot
            }
            None | Some(libc::SYS_futex) => Look::Running,
            Some(_) => Look::Asleep,
        }
    }

    /// Whether an address, as /proc tells it, lies in a segment of the ring or of a lane.
    fn is_shared(&self, address: &str) -> bool {
        let number = |text: &str| u64::from_str_radix(text.trim_start_matches("0x"), 16).ok();
        self.mapped("/memfd:binder-").iter().any(|line| {
            let range = line.split(' ').next().and_then(|range| range.split_once('-'));
            let bounds = range.map(|(start, end)| number(start)..number(end));
            bounds.is_some_and(|bounds| bounds.contains(&number(address)))
        })
    }

    /// Whether it has a ring.
    pub(super) fn has_ring(&self) -> bool {
        !self.mapped("/memfd:binder-ring").is_empty()
    }

    /// Whether it calls or is called by a lane.
    pub(super) fn has_lane(&self) -> bool {
        !self.mapped("/memfd:binder-lane").is_empty()
    }

    /// Its segments of this name, as /proc tells them.
    fn mapped(&self, name: &str) -> Vec<String> {
        let maps = std::fs::read_to_string(format!("/proc/{}/maps", self.pid())).expect("a host");
        maps.lines().filter(|line| line.contains(name)).map(str::to_owned).collect()
    }

    /// Whether a thread runs, or is to.
    fn is_awake(&self, thread: u32) -> bool {
        // The name, in parentheses, may have any characters.
        let stat = self.read_of_thread(thread, "stat");
        stat.rsplit_once(") ").is_none_or(|(_, rest)| rest.starts_with('R'))
    }

    fn read_of_thread(&self, thread: u32, file: &str) -> String {
        let tid = self.tids[thread as usize];
        let path = format!("/proc/{}/task/{tid}/{file}", self.pid());
        std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
    }

    pub(super) fn set_urgency(&self, thread: u32, is_urgent: bool) -> Result<(), Errno> {
        sys::set_urgency(self.tids[thread as usize], is_urgent)
    }

    pub(super) fn interrupt(&mut self, thread: u32) {
        // A call in a slot goes on in an ioctl. On its way there no signal ends it, as none does that comes before any
        // call: a test that waits for its effect has to know that the thread sleeps.
        let deadline = Instant::now() + HANG_TIMEOUT;
        while self.has_ring() && matches!(self.look_at_once(thread), Look::InSlot | Look::Running) {
            assert!(Instant::now() < deadline, "the thread does not sleep in a call");
            std::thread::sleep(Duration::from_micros(50));
        }
        sys::interrupt(self.pid(), self.tids[thread as usize]).expect("tgkill");
    }

    // --- memory ---

    pub(super) fn allocate(&mut self, len: usize) -> u64 {
        let address = self.arena + self.allocated;
        self.allocated += (len as u64).next_multiple_of(8);
        // The last page is left to `guard`.
        assert!(address + (1 << 16) < self.guard(), "the check uses too much memory");
        address
    }

    pub(super) fn guard(&self) -> u64 {
        self.arena + ARENA_LEN_BYTES as u64
    }

    pub(super) fn poke(&self, address: u64, bytes: &[u8]) {
        self.memory().write_all_at(bytes, address).expect("writes an actor's memory");
    }

    pub(super) fn peek(&self, address: u64, bytes: &mut [u8]) -> Result<(), Errno> {
        let read = self.memory().read_exact_at(bytes, address);
        read.map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::FAULT))
    }
}

impl Link {
    fn begin(&mut self, order: Order, thread: u32, operands: [u64; 3]) {
        self.answers.remove(if order.is_for_threads() { &thread } else { &MAIN });
        let request = Request::new(order, thread, operands);
        rustix::net::send(&self.socket, request.as_bytes(), SendFlags::NOSIGNAL).expect(LIVES);
    }

    /// The answer of `thread`, which must come.
    fn finish(&mut self, thread: u32) -> Result<u64, Errno> {
        let deadline = Instant::now() + HANG_TIMEOUT;
        loop {
            if let Some(answer) = self.answers.get(&thread) {
                return *answer;
            }
            assert!(Instant::now() < deadline, "the call does not return");
            self.receive(Duration::from_millis(100));
        }
    }

    /// Receives the answers that come within `patience`, at least those that are there.
    fn receive(&mut self, patience: Duration) {
        let mut patience = patience;
        while self.has_answer(patience) {
            let mut answer = [0; size_of::<Answer>()];
            let (len, _) = rustix::net::recv(&self.socket, &mut answer, RecvFlags::empty())
                .expect("the actor's answer");
            assert_eq!(len, answer.len(), "the actor is gone");
            let Answer { thread, errno, value } =
                Answer::read_from_bytes(&answer).expect("an answer");
            let result = if errno == 0 { Ok(value) } else { Err(Errno::from_raw_os_error(errno)) };
            self.answers.insert(thread, result);
            patience = Duration::ZERO;
        }
    }

    fn has_answer(&self, patience: Duration) -> bool {
        let timeout = Timespec { tv_sec: 0, tv_nsec: patience.subsec_nanos().into() };
        let mut fds = [PollFd::new(&self.socket, PollFlags::IN)];
        poll(&mut fds, Some(&timeout)).expect("poll") > 0
    }
}

impl Drop for HostProcess {
    fn drop(&mut self) {
        if self.link.is_some() {
            // A check that failed leaves its actors to us; they may be gone already.
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}
