//! A client of a soak: what it does in its life.

use std::fs;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use binder_uapi::{
    BINDER_TYPE_BINDER, BINDER_TYPE_FD, BinderFdObject, BinderTransactionData, FlatBinderObject,
    name_of,
};
use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};
use zerocopy::{FromBytes, IntoBytes};

use super::message::{MessageHead, OBJECT_AT, broken, wish};
use super::talk::{Outgoing, Party};
use crate::actor::{Actor, ActorLink, HANG_TIMEOUT};
use crate::error::{BenchError, failed};
use crate::random::Random;
use crate::service::NO_HANDLE;
use crate::session::{DriverSession, ReceivedReturn, SessionDoor};

/// What a client does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Deed {
    /// Calls.
    Call,
    /// Sends a one-way.
    Oneway,
    /// Calls with an object that the server calls before it replies.
    CallBack,
    /// The same, and calls the server from within.
    CallBackTwice,
    /// Shows the server an object, which that keeps.
    Object,
    /// Asks the server for a file.
    File,
}

/// What a client tells at the end of its life.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct ClientLife {
    /// How long each deed took: pairs of nanoseconds and how often.
    pub(super) times_ns: Vec<(Deed, Vec<(u64, u64)>)>,
    /// One-ways that the server had no room for.
    pub(super) refused: u64,
    /// Whether it left without looking whether its one-ways had arrived.
    pub(super) is_abrupt: bool,
}

/// A client at work.
struct SoakClient {
    session: DriverSession,
    life: u32,
    random: Random,
    messages: u32,
    notes: u32,
    objects: u64,
    files: u32,
    refused: u64,
    /// What it does when its object is called.
    calls_in_turn: bool,
}

/// Of as many deeds, at most, a life consists.
const DEEDS_MAX: u32 = 1000;
/// The longest message. All clients' calls together must fit into the server's buffer.
const BODY_MAX_BYTES: u32 = 4096;
/// The files it asks for: they stay open as long as it lives.
const FILES_MAX: u32 = 40;

impl Deed {
    pub(super) const ALL: [Self; 6] =
        [Self::Call, Self::Oneway, Self::CallBack, Self::CallBackTwice, Self::Object, Self::File];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Call => "call",
            Self::Oneway => "oneway",
            Self::CallBack => "call back",
            Self::CallBackTwice => "and in turn",
            Self::Object => "object",
            Self::File => "file",
        }
    }

    fn any(random: &mut Random) -> Self {
        match random.below(100) {
            0..40 => Self::Call,
            40..70 => Self::Oneway,
            70..80 => Self::CallBack,
            80..85 => Self::CallBackTwice,
            85..98 => Self::Object,
            _ => Self::File,
        }
    }
}

/// Starts a client, which lives until `end` at most.
pub(super) fn start(
    device: &Path,
    door: SessionDoor,
    life: u32,
    seed: u32,
    end: Instant,
) -> Result<Actor, BenchError> {
    Actor::start("client of the soak", |link| live(link, (device, door), life, seed, end))
}

/// Takes nanoseconds to three digits, from an hour on as an hour.
pub(super) fn histogram() -> Histogram<u64> {
    Histogram::new_with_bounds(1, 3_600_000_000_000, 3).expect("constant bounds")
}

fn live(
    link: &mut ActorLink,
    (device, door): (&Path, SessionDoor),
    life: u32,
    seed: u32,
    end: Instant,
) -> Result<(), BenchError> {
    let mut client = SoakClient {
        session: DriverSession::open_by(door, device)?,
        life,
        random: Random::new(seed ^ life.wrapping_mul(0x9e37_79b9)),
        messages: 0,
        notes: 0,
        objects: 0,
        files: 0,
        refused: 0,
        calls_in_turn: false,
    };
    let mut times: Vec<_> = Deed::ALL.map(|deed| (deed, histogram())).into();
    let deeds = 1 + client.random.below(DEEDS_MAX);
    for _ in 0..deeds {
        if Instant::now() >= end {
            break;
        }
        let deed = Deed::any(&mut client.random);
        let start = Instant::now();
        client.act(deed)?;
        let ns = u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX);
        if let Some((_, histogram)) = times.iter_mut().find(|(known, _)| *known == deed) {
            histogram.saturating_record(ns);
        }
    }
    let is_abrupt = client.random.below(4) == 0;
    if !is_abrupt {
        client.look_for_notes()?;
    }
    let counted = |histogram: &Histogram<u64>| {
        histogram.iter_recorded().map(|it| (it.value_iterated_to(), it.count_at_value())).collect()
    };
    let times_ns = times.iter().map(|(deed, histogram)| (*deed, counted(histogram))).collect();
    link.answer(&ClientLife { times_ns, refused: client.refused, is_abrupt })
}

impl Party for SoakClient {
    fn session(&mut self) -> &mut DriverSession {
        &mut self.session
    }

    fn handle(&mut self, event: ReceivedReturn) -> Result<(), BenchError> {
        let ReceivedReturn::Call(call) = event else {
            return Err(broken(format!("{} came to a client", name_of(event.code()))));
        };
        self.answer(&call)
    }
}

impl SoakClient {
    fn act(&mut self, deed: Deed) -> Result<(), BenchError> {
        match deed {
            Deed::Call => self.echo(),
            Deed::Oneway => self.note(),
            Deed::CallBack | Deed::CallBackTwice => {
                self.calls_in_turn = deed == Deed::CallBackTwice;
                self.show_object(wish::CALL_BACK)
            }
            Deed::Object => self.show_object(wish::KEEP),
            Deed::File => self.ask_for_file(),
        }
    }

    fn next_head(&mut self) -> MessageHead {
        self.messages += 1;
        let len = self.random.below(BODY_MAX_BYTES);
        MessageHead { life: self.life, pid: std::process::id(), number: self.messages, len }
    }

    fn ask(&mut self, code: u32, data: &[u8], offsets: &[u64]) -> Result<Vec<u8>, BenchError> {
        let reply = self.call(Outgoing { handle: NO_HANDLE, code, data, offsets })?;
        reply.map_err(|code| broken(format!("a call brought {}", name_of(code))))
    }

    fn echo(&mut self) -> Result<(), BenchError> {
        let head = self.next_head();
        let message = head.message();
        let reply = self.ask(wish::ECHO, &message, &[])?;
        if reply == message { Ok(()) } else { Err(head.spoilt()) }
    }

    fn note(&mut self) -> Result<(), BenchError> {
        let head = MessageHead { number: self.notes, ..self.next_head() };
        let message = head.message();
        let outgoing =
            Outgoing { handle: NO_HANDLE, code: wish::NOTE, data: &message, offsets: &[] };
        if self.send(outgoing)? {
            self.notes += 1;
        } else {
            // The server's room for one-ways is full. The next has the same number.
            self.refused += 1;
        }
        Ok(())
    }

    fn show_object(&mut self, code: u32) -> Result<(), BenchError> {
        self.objects += 1;
        let name = self.objects * 16;
        let object =
            FlatBinderObject { kind: BINDER_TYPE_BINDER, flags: 0, binder: name, cookie: name };
        let head = self.next_head();
        let data = [head.as_bytes(), object.as_bytes()].concat();
        let reply = self.ask(code, &data, &[OBJECT_AT])?;
        if reply == head.as_bytes() { Ok(()) } else { Err(head.spoilt()) }
    }

    /// The server calls one of its objects.
    fn answer(&mut self, call: &BinderTransactionData) -> Result<(), BenchError> {
        let mut data = Vec::new();
        self.session.copy(call, &mut data)?;
        let head = MessageHead::read(&data)?;
        if head.life != self.life || call.target != self.objects * 16 {
            return Err(head.spoilt());
        }
        if self.calls_in_turn {
            self.echo()?;
        }
        self.reply(call, &data, &[])
    }

    fn ask_for_file(&mut self) -> Result<(), BenchError> {
        if self.files == FILES_MAX {
            return self.echo();
        }
        self.files += 1;
        let head = self.next_head();
        let reply = self.ask(wish::FILE, &head.message(), &[])?;
        let object = BinderFdObject::read_from_bytes(&reply).ok();
        let object = object.filter(|object| object.kind == BINDER_TYPE_FD);
        let fd = object.ok_or_else(|| head.spoilt())?.fd;
        let file = fs::read(format!("/proc/self/fd/{fd}"));
        let file = file.map_err(failed("reading a file that was received"))?;
        if file == head.message() { Ok(()) } else { Err(head.spoilt()) }
    }

    /// Waits until all one-ways have arrived.
    fn look_for_notes(&mut self) -> Result<(), BenchError> {
        let start = Instant::now();
        loop {
            let head = self.next_head();
            let reply = self.ask(wish::COUNT, &head.message(), &[])?;
            let arrived = u32::read_from_bytes(&reply).map_err(|_| head.spoilt())?;
            if arrived == self.notes {
                return Ok(());
            }
            if arrived > self.notes || start.elapsed() > HANG_TIMEOUT {
                let (life, sent) = (self.life, self.notes);
                return Err(broken(format!(
                    "of {sent} one-ways of client {life}, {arrived} have arrived"
                )));
            }
            thread::sleep(Duration::from_millis(1));
        }
    }
}
