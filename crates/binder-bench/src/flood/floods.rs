//! The floods, each in processes of its own.

use std::fs::File;
use std::io::Read;
use std::iter;
use std::ops::Range;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::slice;
use std::thread;

use binder_os::shared_page::SharedPage;
use binder_os::{BinderClient, BinderDevice, processes};
use binder_uapi::{
    BC_ACQUIRE, BC_CLEAR_DEATH_NOTIFICATION, BC_REQUEST_DEATH_NOTIFICATION, BINDER_TYPE_BINDER,
    BR_CLEAR_DEATH_NOTIFICATION_DONE, BinderHandleCookie, FLAT_BINDER_FLAG_ACCEPTS_FDS,
    FlatBinderObject,
};
use rustix::fs::{OFlags, fcntl_setfl};
use serde::Serialize;
use zerocopy::{FromBytes, IntoBytes};

use crate::actor::{Actor, ActorLink};
use crate::error::{BenchError, failed};
use crate::logs;
use crate::service::{KEEP, LEND, LEND_LAST, NO_HANDLE};
use crate::session::DriverSession;

/// What the driver is flooded with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub(crate) enum FloodKind {
    /// Nothing: a process takes all the time of a processor that it gets
    Spin,
    /// One-ways of some bytes
    Oneways,
    /// One-ways of 100 KiB
    Bytes,
    /// New objects, a hundred in a one-way
    Objects,
    /// New objects, ten thousand in a one-way
    Thousands,
    /// Death links, made and cleared
    Deaths,
    /// Opens
    Opens,
    /// Files, some in a one-way
    Descriptors,
    /// Non-blocking reads in vain, of a process with thousands of open files
    Reads,
    /// One-ways to a process with thousands of mappings, none of which is a receive buffer
    Mappings,
    /// Nothing: a process makes threads that end at once
    Churn,
    /// Threads that call once and end
    Threads,
    /// Reads of the driver's log of many objects
    Logs,
}

/// Objects, or links, that go into one write.
const BATCH: u64 = 100;

/// Objects that go into one transaction which takes the driver long.
const THOUSANDS: u64 = 10_000;

/// How much of a log is read at a time.
const LOG_PIECE_BYTES: usize = 1 << 20;

/// Files that go into one write.
const FILES: usize = 8;

/// Files that are open beside the device, as far as they may be.
const OPEN_FILES: usize = 20_000;

/// How many of these give way to the device.
const ROOM_FOR_DEVICE: usize = 8;

/// What a process has mapped besides, as far as it may.
const MAPPINGS: usize = 60_000;

/// How many of these give way to what it needs itself.
const ROOM_FOR_PROGRAM: usize = 256;

/// Threads that live at a time: more would take the processors, whatever they call.
const THREADS: usize = 8;

/// Enough for a thread that makes a call.
const STACK_BYTES: usize = 64 * 1024;

impl FloodKind {
    pub(crate) const ALL: &'static [Self] = &[
        Self::Spin,
        Self::Oneways,
        Self::Bytes,
        Self::Objects,
        Self::Thousands,
        Self::Deaths,
        Self::Opens,
        Self::Descriptors,
        Self::Reads,
        Self::Mappings,
        Self::Churn,
        Self::Threads,
        Self::Logs,
    ];

    /// What takes the processors in the same way, and makes no calls.
    pub(crate) fn without_calls(self) -> Self {
        match self {
            Self::Churn | Self::Threads => Self::Churn,
            Self::Spin
            | Self::Oneways
            | Self::Bytes
            | Self::Objects
            | Self::Thousands
            | Self::Deaths
            | Self::Opens
            | Self::Descriptors
            | Self::Reads
            | Self::Mappings
            | Self::Logs => Self::Spin,
        }
    }

    /// Whether the driver of a device can be flooded so.
    pub(crate) fn is_possible(self, device: &Path) -> bool {
        self != Self::Logs || log_of(device).is_some()
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Spin => "spin",
            Self::Oneways => "oneways",
            Self::Bytes => "bytes",
            Self::Objects => "objects",
            Self::Thousands => "thousands",
            Self::Deaths => "deaths",
            Self::Opens => "opens",
            Self::Descriptors => "descriptors",
            Self::Reads => "reads",
            Self::Mappings => "mappings",
            Self::Churn => "churn",
            Self::Threads => "threads",
            Self::Logs => "logs",
        }
    }
}

/// What becomes of objects that the receiver is sent.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Received {
    /// It lets go of them.
    Freed,
    /// It holds them for ever.
    Kept,
}

/// Starts a flood, with its receivers, and waits until it flows: `logs` when they tell of as many objects.
pub(crate) fn start(
    kind: FloodKind,
    device: &Path,
    logged_objects: u64,
) -> Result<Vec<Actor>, BenchError> {
    let (received, objects) = match kind {
        FloodKind::Logs => (Received::Kept, logged_objects),
        _ => (Received::Freed, 0),
    };
    let receiver = format!("receiver of the flood of {}", kind.name());
    let mut sink = Actor::start(&receiver, |link| match kind {
        FloodKind::Mappings => call_with_many_mappings(link, device),
        _ => swallow(link, device, received),
    })?;
    // By this number the server knows the receiver, if that was told.
    let known_as: u32 = sink.ask(&())?;
    // To make them takes its time: each part is told.
    let parts = objects.div_ceil(THOUSANDS);
    let mut flooder = Actor::start(&format!("flood of {}", kind.name()), |link| {
        let mut session = DriverSession::open(device)?;
        let lend = if known_as == NO_HANDLE { LEND_LAST } else { LEND };
        let target = session.fetch(lend, known_as.as_bytes())?;
        for part in 0..parts {
            let Range { start, end } = nth(part, THOUSANDS);
            make_known(&mut session, target, start..end.min(objects))?;
            link.answer(&())?;
        }
        link.answer(&())?;
        match kind {
            FloodKind::Spin => loop {
                std::hint::spin_loop();
            },
            FloodKind::Oneways | FloodKind::Mappings => {
                flood_with(&mut session, target, |_| (vec![0x5a; 64], vec![]))
            }
            FloodKind::Bytes => {
                flood_with(&mut session, target, |_| (vec![0x5a; 100 << 10], vec![]))
            }
            FloodKind::Objects => {
                flood_with(&mut session, target, |number| new_objects(nth(number, BATCH)))
            }
            FloodKind::Thousands => {
                flood_with(&mut session, target, |number| new_objects(nth(number, THOUSANDS)))
            }
            FloodKind::Deaths => flood_with_deaths(&mut session, target),
            FloodKind::Opens => flood_with_opens(device),
            FloodKind::Descriptors => flood_with_files(&mut session, target),
            FloodKind::Reads => flood_with_reads(device),
            FloodKind::Churn => flood_with_threads(|| ()),
            FloodKind::Threads => {
                let client = BinderDevice::open(device)
                    .map_err(failed(format!("opening {}", device.display())))?;
                // Refused or not: it goes on.
                flood_with_threads(|| drop(client.version()))
            }
            FloodKind::Logs => flood_with_logs(device),
        }
    })?;
    // And then that it flows.
    for _ in 0..=parts {
        flooder.expect_ready_beside(slice::from_mut(&mut sink))?;
    }
    Ok(vec![flooder, sink])
}

/// In the receiver: shows the server an object, and frees whatever is sent to that.
fn swallow(link: &mut ActorLink, device: &Path, received: Received) -> Result<(), BenchError> {
    let mut session = DriverSession::open(device)?;
    let _order: Option<()> = link.receive()?;
    let mut reply = Vec::new();
    let flags = FLAT_BINDER_FLAG_ACCEPTS_FDS;
    let object = FlatBinderObject { flags, ..own_object(8) };
    session.call(KEEP, object.as_bytes(), &[0], &mut reply)?;
    let handle = reply.first_chunk().map_or(NO_HANDLE, |bytes| u32::from_ne_bytes(*bytes));
    link.answer(&handle)?;
    session.enter_looper();
    loop {
        let oneway = session.next_call(&mut reply)?;
        if received == Received::Kept {
            for object in reply.chunks_exact(size_of::<FlatBinderObject>()) {
                if let Ok(object) = FlatBinderObject::read_from_bytes(object) {
                    session.push(BC_ACQUIRE, &object.handle());
                }
            }
        }
        session.free(&oneway);
    }
}

/// In a receiver: shows the server an object, and then calls over and over, so that each one-way to that object has the driver
/// look for a receive buffer again, in vain, among many mappings.
fn call_with_many_mappings(link: &mut ActorLink, device: &Path) -> Result<(), BenchError> {
    let mut session = DriverSession::open_without_buffer(device)?;
    let mut others: Vec<SharedPage> =
        iter::repeat_with(|| SharedPage::new(0)).take(MAPPINGS).map_while(Result::ok).collect();
    others.truncate(others.len().saturating_sub(ROOM_FOR_PROGRAM));
    let _order: Option<()> = link.receive()?;
    session.call_in_vain(KEEP, own_object(8).as_bytes())?;
    link.answer(&NO_HANDLE)?;
    loop {
        session.client().version().map_err(failed("asking for the version"))?;
    }
}

fn flood_with(
    session: &mut DriverSession,
    target: u32,
    mut next: impl FnMut(u64) -> (Vec<u8>, Vec<u64>),
) -> Result<(), BenchError> {
    for number in 0.. {
        let (data, offsets) = next(number);
        // Refused or not: it goes on.
        session.send(target, &data, &offsets)?;
    }
    Ok(())
}

/// The numbers of the objects of a one-way, when each has `count`.
fn nth(oneway: u64, count: u64) -> Range<u64> {
    oneway * count..(oneway + 1) * count
}

fn new_objects(numbers: Range<u64>) -> (Vec<u8>, Vec<u64>) {
    let count = numbers.end - numbers.start;
    let data =
        numbers.flat_map(|number| own_object((1 + number) * 8).as_bytes().to_vec()).collect();
    let offsets = (0..count).map(|object| object * size_of::<FlatBinderObject>() as u64).collect();
    (data, offsets)
}

fn own_object(name: u64) -> FlatBinderObject {
    FlatBinderObject { kind: BINDER_TYPE_BINDER, flags: 0, binder: name, cookie: name }
}

/// Has the receiver know some objects more.
fn make_known(
    session: &mut DriverSession,
    target: u32,
    numbers: Range<u64>,
) -> Result<(), BenchError> {
    let (data, offsets) = new_objects(numbers);
    // Its buffer has room for one such one-way, or two, that it has not freed.
    while !session.send(target, &data, &offsets)? {
        thread::yield_now();
    }
    Ok(())
}

/// The longest of the logs that tell of a device.
fn log_of(device: &Path) -> Option<PathBuf> {
    logs::places(device, "state").find(|place| File::open(place).is_ok())
}

/// Reads the longest of the driver's logs, over and over.
fn flood_with_logs(device: &Path) -> Result<(), BenchError> {
    let place = log_of(device).ok_or(BenchError::NoLogs)?;
    let mut piece = vec![0; LOG_PIECE_BYTES];
    loop {
        let reading = || failed(format!("reading {}", place.display()));
        let mut log = File::open(&place).map_err(reading())?;
        while log.read(&mut piece).map_err(reading())? > 0 {}
    }
}

fn flood_with_deaths(session: &mut DriverSession, target: u32) -> Result<(), BenchError> {
    session.push(BC_ACQUIRE, &target);
    loop {
        for cookie in 0..BATCH {
            let link = BinderHandleCookie { handle: target, cookie };
            session.push(BC_REQUEST_DEATH_NOTIFICATION, &link);
            session.push(BC_CLEAR_DEATH_NOTIFICATION, &link);
        }
        session.run_until(BR_CLEAR_DEATH_NOTIFICATION_DONE)?;
    }
}

fn flood_with_opens(device: &Path) -> Result<(), BenchError> {
    let mut open = Vec::new();
    loop {
        match BinderClient::open(device) {
            Ok(client) => open.push(client),
            // That is all there are: from here on it opens and closes.
            Err(_) => open.truncate(open.len() / 2),
        }
    }
}

fn flood_with_files(session: &mut DriverSession, target: u32) -> Result<(), BenchError> {
    let file = File::open("/dev/null").map_err(failed("opening /dev/null"))?;
    loop {
        // Refused or not: it goes on.
        session.send_files(target, &[file.as_fd(); FILES])?;
    }
}

fn flood_with_reads(device: &Path) -> Result<(), BenchError> {
    processes::raise_open_file_limit().map_err(failed("raising the limit of open files"))?;
    let null = File::open("/dev/null").map_err(failed("opening /dev/null"))?;
    let mut others: Vec<File> =
        iter::repeat_with(|| null.try_clone()).take(OPEN_FILES).map_while(Result::ok).collect();
    // Room for the device, if there was no more. It comes last: a walk meets all others first.
    others.truncate(others.len().saturating_sub(ROOM_FOR_DEVICE));
    let client = BinderClient::open_without_ring(device)
        .map_err(failed(format!("opening {}", device.display())))?;
    // Asked for after the open, it shows only in the process's list of open files.
    fcntl_setfl(&client, OFlags::RDWR | OFlags::NONBLOCK).map_err(failed("asking not to wait"))?;
    let mut returns = [0; 256];
    loop {
        // All but the first find nothing to read.
        let _ = client.exchange(&[], &[], &mut returns);
    }
}

fn flood_with_threads(call: impl Fn() + Sync) -> Result<(), BenchError> {
    loop {
        thread::scope(|scope| {
            for _ in 0..THREADS {
                // A thread that cannot be started is not missed.
                let _ = thread::Builder::new().stack_size(STACK_BYTES).spawn_scoped(scope, &call);
            }
        });
    }
}
