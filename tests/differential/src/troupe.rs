//! The processes that play, and what each knows of itself.

use std::collections::BTreeMap;
use std::time::Duration;

use binder_testkit::{
    Caller, Device, DeviceRig, Driver, Host, Mode, Process, Protection, Rig, Thread, Waiter,
};
use binder_uapi::{
    BINDER_GET_FROZEN_INFO, BINDER_SET_CONTEXT_MGR_EXT, BINDER_TYPE_BINDER, BINDER_WRITE_READ,
    BinderFrozenStatusInfo, BinderWriteRead, FLAT_BINDER_FLAG_ACCEPTS_FDS, FlatBinderObject,
};
use rustix::io::Errno;
use zerocopy::{FromBytes, IntoBytes};

/// What is played.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Plot {
    /// Whatever a client may do.
    Streams,
    /// Mostly plain calls of threads that block, also by who is called, and replies.
    Conversations,
    /// The same, where threads of every other process poll before they read.
    Polls,
    /// Messages of one length, faster than they are read and freed.
    Floods,
    /// Streams or conversations, by turns, of processes that are killed in the middle.
    Deaths,
}

impl Plot {
    pub(crate) fn of_name(name: &str) -> Option<Self> {
        match name {
            "streams" => Some(Self::Streams),
            "conversations" => Some(Self::Conversations),
            "polls" => Some(Self::Polls),
            "floods" => Some(Self::Floods),
            "deaths" => Some(Self::Deaths),
            _ => None,
        }
    }

    /// How large a receive area is: small, or with room for what comes by lanes, for which a quarter is set aside at most.
    fn area_bytes(self) -> usize {
        match self {
            Self::Streams | Self::Floods => 64 << 10,
            Self::Conversations | Self::Polls | Self::Deaths => 1 << 20,
        }
    }

    fn cast(self) -> &'static [Role] {
        match self {
            Self::Streams | Self::Floods | Self::Deaths => &[FIRST_DEVICE; 4],
            Self::Conversations | Self::Polls => &[
                FIRST_DEVICE,
                FIRST_DEVICE,
                Role { elder: Some(1), ..FIRST_DEVICE },
                FIRST_DEVICE,
                Role { device: Device::Second, elder: Some(0) },
                Role { device: Device::Second, elder: Some(3) },
            ],
        }
    }
}

/// What a process is in a plot. The first of a device is its context manager.
struct Role {
    device: Device,
    /// Of whose program it is a further file, which all its threads use, too.
    elder: Option<usize>,
}

/// A program of its own.
const FIRST_DEVICE: Role = Role { device: Device::First, elder: None };

/// How much of its memory a process uses in one play.
const SCRATCH_BYTES: usize = 512 << 10;
pub(crate) const READ_BYTES: usize = 4096;
/// How many files are closed after another one, of which is waited for the end.
const FILES_AFTER: u32 = 3;
/// More files than a process is sent in a play.
const FILES: u64 = 64;
const SEATS: usize = 2;

/// What a thread sleeps in.
#[derive(Clone, Copy)]
pub(crate) enum Sleep {
    /// A read, with this struct.
    Read(BinderWriteRead),
    /// poll(2), or epoll_wait(2).
    Poll,
}

/// A thread of a process.
pub(crate) struct Seat {
    pub(crate) thread: Thread,
    pub(crate) argument: u64,
    pub(crate) read_buffer: u64,
    pub(crate) parked: Option<Sleep>,
    /// It has sent a call and not read what came of it.
    pub(crate) awaits: bool,
    /// How many calls it was handed and has not answered.
    pub(crate) serves: u32,
    /// It was told by `BINDER_GET_EXTENDED_ERROR` of a refusal, which it may not have read.
    pub(crate) has_been_refused: bool,
    /// Its commands are refused until it has read why one failed.
    pub(crate) must_read: bool,
    /// It has said that it serves calls.
    pub(crate) is_looper: bool,
}

impl Seat {
    /// Whether it may take work of its process.
    pub(crate) fn is_worker(&self) -> bool {
        !self.awaits && self.serves == 0
    }
}

/// A buffer in a receive area. It goes by its number: of free ranges that are equally long, each driver
/// takes another.
pub(crate) struct Buffer {
    pub(crate) number: u32,
    pub(crate) address: u64,
    len: u64,
}

/// A process: its open file, and what it has learned by reading.
pub(crate) struct Member {
    device: Device,
    pub(crate) host: Host,
    pub(crate) pid: i32,
    pub(crate) file: Process,
    /// It has closed the file, and opened no other.
    has_left: bool,
    pub(crate) base: u64,
    area_bytes: u64,
    pub(crate) mode: Mode,
    pub(crate) seats: Vec<Seat>,
    scratch: u64,
    used: usize,
    /// Handles that it was given.
    pub(crate) handles: Vec<u32>,
    /// The handle that it has called last, in a conversation.
    pub(crate) called: Option<u32>,
    /// The handles whose deaths and whose freezes it last asked to be told of.
    pub(crate) watched: [Option<u32>; 2],
    /// Buffers that it has not freed.
    pub(crate) buffers: Vec<Buffer>,
    /// How many buffers it was handed.
    handed: u32,
    /// References it was told of and has not acknowledged: whether strong, pointer, cookie.
    pub(crate) notices: Vec<(bool, u64, u64)>,
    /// Deaths it was told of and has not acknowledged.
    pub(crate) deaths: Vec<u64>,
    /// The number of the first file that it is sent.
    first_fd: u64,
    /// A thread of it has polled the file.
    pub(crate) has_polled: bool,
    /// It may be asked for more threads.
    pub(crate) may_grow: bool,
    /// It was told of a reference to an object of its own.
    pub(crate) has_been_referred_to: bool,
    /// The C driver may call it readable because of an object that it has looked at.
    pub(crate) may_seem_readable: bool,
}

impl Member {
    pub(crate) fn caller(&self, seat: usize) -> Caller {
        Caller { process: self.file, thread: self.seats[seat].thread }
    }

    /// Takes note of a buffer that it was handed, and says by which number it goes.
    pub(crate) fn take_buffer(&mut self, address: u64, len: u64) -> u32 {
        let end = address + len;
        assert!(address.is_multiple_of(8), "a buffer is at {address:#x}");
        assert!(self.base <= address && end <= self.base + self.area_bytes, "no such area");
        let is_apart =
            |buffer: &Buffer| end <= buffer.address || buffer.address + buffer.len <= address;
        assert!(self.buffers.iter().all(is_apart), "the buffer at {address:#x} was not free");
        self.handed += 1;
        self.buffers.push(Buffer { number: self.handed, address, len });
        self.handed
    }

    /// A descriptor as it would be if none were inherited.
    pub(crate) fn name_of_fd(&self, fd: u64) -> u64 {
        fd.wrapping_sub(self.first_fd)
    }

    /// Whether a thread that may take work of the process may be woken by what comes to nothing: it sleeps with little room,
    /// or in a poll.
    pub(crate) fn may_wake_for_nothing(&self) -> bool {
        let may_wake = |sleep: &Sleep| match sleep {
            Sleep::Read(read) => read.read_size < READ_BYTES as u64,
            Sleep::Poll => true,
        };
        self.seats.iter().any(|seat| seat.is_worker() && seat.parked.as_ref().is_some_and(may_wake))
    }

    pub(crate) fn is_idle(&self) -> bool {
        self.seats.iter().all(|seat| seat.parked.is_none())
    }
}

/// All who play on a device, from seed to seed, and a clerk who asks the driver how things stand.
pub(crate) struct Troupe<'r> {
    pub(crate) rig: &'r DeviceRig,
    pub(crate) plot: Plot,
    pub(crate) members: Vec<Member>,
    /// Who makes the calls of a conversation.
    pub(crate) talker: usize,
    clerk: Caller,
    clerk_argument: u64,
    dummy: Host,
    /// How often what occurred.
    pub(crate) counts: BTreeMap<String, u64>,
}

impl<'r> Troupe<'r> {
    pub(crate) fn new(rig: &'r DeviceRig, plot: Plot) -> Self {
        let host = rig.start_host();
        let process = rig.open(host, Device::First, Mode::Blocking).expect("open");
        let clerk = Caller { process, thread: rig.start_thread(host) };
        let clerk_argument = rig.allocate(host, 64);
        let mut troupe = Self {
            rig,
            plot,
            members: Vec::new(),
            talker: 1,
            clerk,
            clerk_argument,
            dummy: rig.start_host(),
            counts: BTreeMap::new(),
        };
        for role in plot.cast() {
            let member = troupe.hire(role);
            troupe.members.push(member);
        }
        troupe
    }

    /// Kills a process, and waits until the driver has forgotten it. Another takes its place, which has no file yet.
    pub(crate) fn replace(&mut self, index: usize) {
        let Member { device, host, pid, .. } = self.members[index];
        assert_eq!(self.members_of_host(index).count(), 1, "it is a program of its own");
        self.rig.kill(host);
        self.await_end_of(pid);
        self.members[index] = self.hire(&Role { device, elder: None });
        self.leave(index);
    }

    fn hire(&self, role: &Role) -> Member {
        let rig = self.rig;
        let elder = role.elder.map(|index| &self.members[index]);
        let host = elder.map_or_else(|| rig.start_host(), |elder| elder.host);
        let seats = (0..SEATS).map(|at| {
            let memory = rig.allocate(host, 2 * READ_BYTES + 64);
            Seat {
                thread: elder.map_or_else(|| rig.start_thread(host), |it| it.seats[at].thread),
                argument: memory,
                // At the start of a page: a read is never cut by the end of one.
                read_buffer: (memory + 64).next_multiple_of(READ_BYTES as u64),
                parked: None,
                awaits: false,
                serves: 0,
                has_been_refused: false,
                must_read: false,
                is_looper: false,
            }
        });
        let (seats, scratch) = (seats.collect(), rig.allocate(host, SCRATCH_BYTES));
        let (file, base) = self.open(role.device, host, Mode::Blocking);
        // What was inherited, and its own.
        let descriptors = rig.descriptors();
        let first_fd =
            (0..).find(|fd| descriptors.file(host, *fd).is_none()).expect("a free number");
        Member {
            device: role.device,
            host,
            pid: rig.pid(host),
            file,
            has_left: false,
            base,
            area_bytes: self.area_bytes(),
            mode: Mode::Blocking,
            seats,
            scratch,
            used: SCRATCH_BYTES / 4,
            handles: Vec::new(),
            called: None,
            watched: [None; 2],
            buffers: Vec::new(),
            notices: Vec::new(),
            deaths: Vec::new(),
            first_fd,
            handed: 0,
            has_polled: false,
            may_grow: false,
            has_been_referred_to: false,
            may_seem_readable: false,
        }
    }

    /// How large the receive area of each process is.
    pub(crate) fn area_bytes(&self) -> u64 {
        self.plot.area_bytes() as u64
    }

    fn open(&self, device: Device, host: Host, mode: Mode) -> (Process, u64) {
        let file = self.rig.open(host, device, mode).expect("open");
        let base = self.rig.map(file, self.plot.area_bytes(), Protection::ReadOnly).expect("mmap");
        (file, base)
    }

    /// Begins a play: every process has a fresh file.
    pub(crate) fn begin(&mut self) {
        self.talker = 1;
        for index in 0..self.members.len() {
            let member = &mut self.members[index];
            let zeros = vec![0; member.used];
            self.rig.poke(member.host, member.scratch, &zeros);
            member.used = 0;
            self.leave(index);
        }
        for index in 0..self.members.len() {
            self.act_for(index, 0);
            self.come_back(index, Mode::Blocking);
        }
    }

    /// Closes a process's file, and waits until the driver has forgotten it.
    pub(crate) fn leave(&mut self, index: usize) {
        let member = &mut self.members[index];
        let device = member.device;
        self.rig.close(member.file);
        member.has_left = true;
        if self.members_of_host(index).any(|of| !self.members[of].has_left) {
            // By its number it is asked after in vain. Files are looked after in the order in which they were closed, about.
            return (0..FILES_AFTER).for_each(|_| self.pass_file(device));
        }
        let member = &self.members[index];
        let descriptors = self.rig.descriptors();
        // Files of arrays, whose buffers it has not freed.
        for fd in member.first_fd..member.first_fd + FILES {
            if descriptors.file(member.host, fd).is_none() {
                continue;
            }
            // A thread that is offered a lane has a socket for a moment.
            std::thread::sleep(Duration::from_millis(1));
            if descriptors.file(member.host, fd).is_some() {
                descriptors.close_descriptor(member.host, fd);
            }
        }
        let pid = member.pid;
        self.await_end_of(pid);
        // It is no more in the list of processes; what follows is done when the next one is gone, too.
        self.pass_file(device);
    }

    /// Opens a file of a device and closes it, and waits until the driver has forgotten it.
    fn pass_file(&self, device: Device) {
        let file = self.rig.open(self.dummy, device, Mode::Blocking).expect("open");
        self.rig.close(file);
        self.await_end_of(self.rig.pid(self.dummy));
    }

    fn await_end_of(&self, pid: i32) {
        let asked = BinderFrozenStatusInfo { pid: pid.unsigned_abs(), ..Default::default() };
        loop {
            let (host, argument) = (Host(0), self.clerk_argument);
            self.rig.poke(host, argument, asked.as_bytes());
            self.rig.ioctl(self.clerk, BINDER_GET_FROZEN_INFO, argument);
            match self.rig.finish(self.clerk.thread) {
                Err(Errno::INVAL) => return,
                Ok(()) => std::thread::yield_now(),
                Err(error) => panic!("BINDER_GET_FROZEN_INFO: {error}"),
            }
        }
    }

    /// Opens a file for a process whose calls are all over.
    pub(crate) fn come_back(&mut self, index: usize, mode: Mode) {
        let member = &self.members[index];
        let (file, base) = self.open(member.device, member.host, mode);
        let member = &mut self.members[index];
        (member.file, member.base, member.mode) = (file, base, mode);
        member.has_left = false;
        member.handles = vec![0];
        (member.called, member.watched) = (None, [None; 2]);
        member.buffers.clear();
        member.notices.clear();
        member.deaths.clear();
        member.handed = 0;
        member.has_polled = false;
        member.may_grow = false;
        (member.has_been_referred_to, member.may_seem_readable) = (false, false);
        for seat in &mut member.seats {
            (seat.parked, seat.awaits, seat.serves, seat.must_read) = (None, false, 0, false);
            (seat.has_been_refused, seat.is_looper) = (false, false);
        }
        if self.is_manager(index) {
            let flags = FLAT_BINDER_FLAG_ACCEPTS_FDS;
            let manager =
                FlatBinderObject { kind: BINDER_TYPE_BINDER, flags, binder: 0, cookie: 0 };
            let argument = self.place(index, manager.as_bytes());
            let caller = self.members[index].caller(0);
            self.rig.ioctl(caller, BINDER_SET_CONTEXT_MGR_EXT, argument);
            self.rig.finish(caller.thread).expect("becomes the context manager");
        }
    }

    /// The context manager of the device that a process uses.
    pub(crate) fn manager_of(&self, index: usize) -> usize {
        let device = self.members[index].device;
        let manager = self.members.iter().position(|member| member.device == device);
        manager.expect("that process at least")
    }

    pub(crate) fn is_manager(&self, index: usize) -> bool {
        self.manager_of(index) == index
    }

    /// All who are files of the same program as that one, with it.
    pub(crate) fn members_of_host(&self, index: usize) -> impl Iterator<Item = usize> {
        let host = self.members[index].host;
        (0..self.members.len()).filter(move |other| self.members[*other].host == host)
    }

    /// In a call on which file a thread sleeps.
    pub(crate) fn where_sleeps(&self, index: usize, seat: usize) -> Option<usize> {
        self.members_of_host(index).find(|of| self.members[*of].seats[seat].parked.is_some())
    }

    pub(crate) fn sleeps(&self, index: usize, seat: usize) -> bool {
        self.where_sleeps(index, seat).is_some()
    }

    /// Has a program act for a user.
    pub(crate) fn act_for(&self, index: usize, uid: u32) {
        self.rig.set_effective_user(self.members[index].host, uid).expect("root may");
    }

    /// Whether calls may pass the driver by.
    pub(crate) fn has_lanes(&self) -> bool {
        self.members.iter().any(|member| self.rig.has_lane(member.host))
    }

    /// Counts that something occurred.
    pub(crate) fn count(&mut self, what: &str) {
        *self.counts.entry(what.to_owned()).or_default() += 1;
    }

    /// Puts bytes into a process's memory, for this play.
    pub(crate) fn place(&mut self, index: usize, bytes: &[u8]) -> u64 {
        let member = &mut self.members[index];
        let address = member.scratch + member.used as u64;
        // Reads beyond a write buffer give zeros.
        member.used += bytes.len().next_multiple_of(8) + 128;
        assert!(member.used < SCRATCH_BYTES, "a play uses too much memory");
        self.rig.poke(member.host, address, bytes);
        address
    }

    /// Puts commands into a process's memory, and returns a call that writes them and reads nothing.
    pub(crate) fn place_commands(&mut self, index: usize, commands: &[u8]) -> BinderWriteRead {
        BinderWriteRead {
            write_size: commands.len() as u64,
            write_buffer: self.place(index, commands),
            ..BinderWriteRead::default()
        }
    }

    pub(crate) fn peek(&self, index: usize, address: u64, len: usize) -> Vec<u8> {
        let mut bytes = vec![0; len];
        self.rig.peek(self.members[index].host, address, &mut bytes).expect("its memory");
        bytes
    }

    pub(crate) fn peek_value<T: FromBytes>(&self, index: usize, address: u64) -> T {
        T::read_from_bytes(&self.peek(index, address, size_of::<T>())).expect("a value of its size")
    }

    /// Begins an ioctl of a thread. Whether it is over; else it sleeps.
    pub(crate) fn ioctl(&self, index: usize, seat: usize, request: u32, argument: u64) -> bool {
        let caller = self.members[index].caller(seat);
        self.be_urgent(caller.thread, true);
        self.rig.begin_ioctl(caller, request, argument);
        let is_over = !self.rig.ended(&[caller.thread]).is_empty();
        self.be_urgent(caller.thread, false);
        is_over
    }

    /// On one processor, who is woken does not run before who wakes it has ended its call.
    fn be_urgent(&self, thread: Thread, is_urgent: bool) {
        if self.rig.driver() == Driver::Kernel {
            self.rig.set_urgency(thread, is_urgent).expect("root may");
        }
    }

    /// Begins a poll of a thread. Whether it is over; else it sleeps.
    pub(crate) fn wait_readable(&self, index: usize, seat: usize, waiter: Waiter) -> bool {
        let caller = self.members[index].caller(seat);
        self.rig.begin_wait_readable(caller, waiter);
        !self.rig.ended(&[caller.thread]).is_empty()
    }

    /// Begins a `BINDER_WRITE_READ`.
    pub(crate) fn write_read(&self, index: usize, seat: usize, request: &BinderWriteRead) -> bool {
        let member = &self.members[index];
        let argument = member.seats[seat].argument;
        self.rig.poke(member.host, argument, request.as_bytes());
        self.ioctl(index, seat, BINDER_WRITE_READ, argument)
    }
}
