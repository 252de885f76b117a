//! The server of a soak: as many threads as wished, and one ledger of what has arrived.

use std::collections::{HashMap, VecDeque};
use std::convert::Infallible;
use std::fs::File;
use std::io::Write;
use std::os::fd::AsRawFd;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use binder_uapi::{
    BC_ACQUIRE, BC_CLEAR_DEATH_NOTIFICATION, BC_DEAD_BINDER_DONE, BC_DECREFS, BC_FREE_BUFFER,
    BC_INCREFS, BC_RELEASE, BC_REQUEST_DEATH_NOTIFICATION, BINDER_TYPE_FD, BINDER_TYPE_HANDLE,
    BinderFdObject, BinderHandleCookie, BinderTransactionData, FlatBinderObject, name_of,
};
use rustix::fs::MemfdFlags;
use serde::{Deserialize, Serialize};
use zerocopy::{FromBytes, IntoBytes};

use super::message::{MessageHead, OBJECT_AT, broken, wish};
use super::talk::{Outgoing, Party};
use crate::actor::Actor;
use crate::error::{BenchError, failed};
use crate::service::become_context_manager;
use crate::session::{DriverSession, ReceivedReturn, SessionDoor};

/// What the server answers when it is asked how things are.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct ServerProgress {
    /// Transactions that have arrived.
    pub(super) served: u64,
    /// Objects that are kept.
    pub(super) kept: u64,
    /// Of all that ever were, those whose owners' deaths were told.
    pub(super) deaths: u64,
    /// Why a thread has given up.
    pub(super) failure: Option<String>,
}

/// What all threads know.
#[derive(Debug, Default)]
struct SoakLedger {
    progress: ServerProgress,
    /// By the life of a client.
    clients: HashMap<u32, KnownClient>,
    /// By the cookie of the link to its owner's death.
    kept: HashMap<u64, KeptObject>,
    last_cookie: u64,
}

/// The server's record of a client.
#[derive(Debug, Default)]
struct KnownClient {
    notes: u32,
    /// The cookies of its objects, the oldest first.
    kept: VecDeque<u64>,
}

/// An object of a client.
#[derive(Debug)]
struct KeptObject {
    handle: u32,
    life: u32,
    /// Whether the link is being taken back.
    is_unlinking: bool,
}

/// How many objects of a client are kept: for a new one the oldest goes.
const KEPT_PER_CLIENT: usize = 8;

/// Starts the server and waits until it serves.
pub(super) fn start(device: &Path, threads: u32, door: SessionDoor) -> Result<Actor, BenchError> {
    let mut server = Actor::start("server of the soak", |link| {
        let session = DriverSession::open_by(door, device)?;
        become_context_manager(session.client())?;
        let ledger = Arc::new(Mutex::new(SoakLedger::default()));
        for _ in 0..threads {
            let mut worker =
                ServerWorker { session: session.for_another_thread(), ledger: Arc::clone(&ledger) };
            let thread = thread::Builder::new().spawn(move || {
                let Err(error) = worker.serve();
                worker.ledger().progress.failure.get_or_insert(error.to_string());
            });
            thread.map_err(failed("starting a thread"))?;
        }
        link.answer(&())?;
        while link.receive::<()>()?.is_some() {
            let progress = lock(&ledger).progress.clone();
            link.answer(&progress)?;
        }
        Ok(())
    })?;
    server.expect_ready()?;
    Ok(server)
}

fn lock(ledger: &Mutex<SoakLedger>) -> MutexGuard<'_, SoakLedger> {
    // A thread that panicked has spoilt nothing that the others need to end the soak.
    ledger.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A thread of the server.
struct ServerWorker {
    session: DriverSession,
    ledger: Arc<Mutex<SoakLedger>>,
}

impl Party for ServerWorker {
    fn session(&mut self) -> &mut DriverSession {
        &mut self.session
    }

    fn handle(&mut self, event: ReceivedReturn) -> Result<(), BenchError> {
        match event {
            ReceivedReturn::Call(call) => self.answer(&call),
            ReceivedReturn::Died(cookie) => self.bury(cookie),
            ReceivedReturn::Unlinked(cookie) => self.drop_kept(cookie),
            ReceivedReturn::Reply(_) | ReceivedReturn::Complete | ReceivedReturn::Refused(_) => {
                Err(broken(format!("{} came for nothing", name_of(event.code()))))
            }
        }
    }
}

impl ServerWorker {
    fn ledger(&self) -> MutexGuard<'_, SoakLedger> {
        lock(&self.ledger)
    }

    fn serve(&mut self) -> Result<Infallible, BenchError> {
        self.session.enter_looper();
        loop {
            let event = self.session.next_event()?;
            self.handle(event)?;
        }
    }

    fn answer(&mut self, call: &BinderTransactionData) -> Result<(), BenchError> {
        let mut data = Vec::new();
        self.session.copy(call, &mut data)?;
        let (head, rest) = MessageHead::split(&data)?;
        // One-ways do not tell their sender, nor do calls whose sender is gone.
        if ![0, head.pid].contains(&call.sender_pid.cast_unsigned()) {
            let (sender, pid) = (call.sender_pid, head.pid);
            return Err(broken(format!("a message of process {pid} came as one of {sender}")));
        }
        self.ledger().progress.served += 1;
        match call.code {
            wish::ECHO => {
                MessageHead::read(&data)?;
                self.reply(call, &data, &[])
            }
            wish::NOTE => {
                MessageHead::read(&data)?;
                self.note(head)?;
                self.session.push(BC_FREE_BUFFER, &call.buffer);
                Ok(())
            }
            wish::COUNT => {
                let notes = self.ledger().clients.get(&head.life).map_or(0, |known| known.notes);
                self.reply(call, notes.as_bytes(), &[])
            }
            wish::CALL_BACK => {
                let handle = handle_in(rest, head)?;
                self.call_back(handle, head)?;
                self.reply(call, head.as_bytes(), &[])
            }
            wish::KEEP => {
                let handle = handle_in(rest, head)?;
                self.keep(handle, head.life);
                self.reply(call, head.as_bytes(), &[])
            }
            wish::FILE => {
                let file = file_of(head)?;
                let fd = file.as_raw_fd().cast_unsigned();
                let object = BinderFdObject { kind: BINDER_TYPE_FD, fd, ..Default::default() };
                self.reply(call, object.as_bytes(), &[0])
            }
            other => Err(broken(format!("a call with code {other} arrived"))),
        }
    }

    /// Takes a one-way, which must be the next of its client.
    fn note(&self, head: MessageHead) -> Result<(), BenchError> {
        let mut ledger = self.ledger();
        let known = ledger.clients.entry(head.life).or_default();
        if known.notes != head.number {
            let (life, due) = (head.life, known.notes);
            let number = head.number;
            return Err(broken(format!(
                "of client {life}, one-way {number} arrived in place of {due}"
            )));
        }
        known.notes += 1;
        Ok(())
    }

    /// Calls the object of a client, which waits; it may call in turn.
    fn call_back(&mut self, handle: u32, head: MessageHead) -> Result<(), BenchError> {
        let message = head.message();
        let outgoing = Outgoing { handle, code: wish::ECHO, data: &message, offsets: &[] };
        match self.call(outgoing)? {
            Ok(reply) if reply != message => Err(head.spoilt()),
            // Refused: it died meanwhile.
            Ok(_) | Err(_) => Ok(()),
        }
    }

    /// Keeps an object; for the eighth of a client, its oldest goes.
    fn keep(&mut self, handle: u32, life: u32) {
        let mut ledger = lock(&self.ledger);
        let ledger = &mut *ledger;
        ledger.last_cookie += 1;
        let cookie = ledger.last_cookie;
        ledger.kept.insert(cookie, KeptObject { handle, life, is_unlinking: false });
        ledger.progress.kept += 1;
        let session = &mut self.session;
        session.push(BC_INCREFS, &handle);
        session.push(BC_ACQUIRE, &handle);
        session.push(BC_REQUEST_DEATH_NOTIFICATION, &BinderHandleCookie { handle, cookie });
        let kept = &mut ledger.clients.entry(life).or_default().kept;
        kept.push_back(cookie);
        if kept.len() <= KEPT_PER_CLIENT {
            return;
        }
        let oldest =
            kept.pop_front().and_then(|cookie| Some((cookie, ledger.kept.get_mut(&cookie)?)));
        if let Some((cookie, oldest)) = oldest {
            oldest.is_unlinking = true;
            let link = BinderHandleCookie { handle: oldest.handle, cookie };
            session.push(BC_CLEAR_DEATH_NOTIFICATION, &link);
        }
    }

    /// The owner of an object is gone.
    fn bury(&mut self, cookie: u64) -> Result<(), BenchError> {
        self.session.push(BC_DEAD_BINDER_DONE, &cookie);
        let is_unlinking = {
            let mut ledger = self.ledger();
            ledger.progress.deaths += 1;
            let kept = ledger.kept.get(&cookie);
            kept.ok_or_else(|| broken(format!("death {cookie} was told twice")))?.is_unlinking
        };
        // Otherwise the word that the link is gone is still to come.
        if is_unlinking { Ok(()) } else { self.drop_kept(cookie) }
    }

    /// Lets an object go.
    fn drop_kept(&mut self, cookie: u64) -> Result<(), BenchError> {
        let handle = {
            let mut ledger = self.ledger();
            let kept = ledger.kept.remove(&cookie);
            let kept = kept.ok_or_else(|| broken(format!("link {cookie} was taken back twice")))?;
            ledger.progress.kept -= 1;
            if let Some(known) = ledger.clients.get_mut(&kept.life) {
                known.kept.retain(|other| *other != cookie);
            }
            kept.handle
        };
        self.session.push(BC_RELEASE, &handle);
        self.session.push(BC_DECREFS, &handle);
        Ok(())
    }
}

/// The handle of the object that came along.
fn handle_in(rest: &[u8], head: MessageHead) -> Result<u32, BenchError> {
    let object = FlatBinderObject::read_from_prefix(rest).ok().map(|(object, _)| object);
    let handle = object.filter(|object| object.kind == BINDER_TYPE_HANDLE);
    let handle = handle.map(|object| object.handle());
    handle.ok_or_else(|| {
        let (life, number) = (head.life, head.number);
        broken(format!("message {number} of client {life} came without its object, at {OBJECT_AT}"))
    })
}

/// A file with the bytes of a message.
fn file_of(head: MessageHead) -> Result<File, BenchError> {
    let tried = "making a file in memory";
    let file = rustix::fs::memfd_create(c"soak", MemfdFlags::CLOEXEC).map_err(failed(tried))?;
    let mut file = File::from(file);
    file.write_all(&head.message()).map_err(failed(tried))?;
    Ok(file)
}
