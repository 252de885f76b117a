//! Traces: what happens on devices, for those who follow it.
//!
//! A device that is traced hands its [events](DeviceTracer) to the inbox of the [`TraceHub`] after each job: names and
//! numbers, nothing written yet. The writer, a thread that there is while somebody follows, encodes what has come, a
//! few milliseconds' worth at a time, into the queue of each follower who may see it, and wakes those who sleep.
//! Neither the inbox nor a queue grows beyond a bound: what finds no room is dropped and counted, and a follower is
//! told how much. So no follower, however slow, keeps a call waiting.

mod follower;

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use binder_core::{Errno, SendEnd, TraceEvent, Traced, TracedData, TracedObject, TransactionKind};
use binder_os::{FuseDevice, SteadyClock, descendants, proc_files};
use binder_trace::{CarriedObject, SendKind, SendStatus, SentRecord, TraceRecord};

use crate::client::Clients;
use crate::events::FollowerId;
use crate::stream_reads::StreamRead;
use follower::TraceFollower;

pub(crate) use follower::Sight;

/// Events that may wait for the writer, and the bytes of data that they may have.
const INBOX_EVENTS: usize = 32 << 10;
const INBOX_DATA_BYTES: usize = 8 << 20;
/// Room for so many is kept.
const MESSAGES_KEPT: usize = 2 << 10;
/// Bytes of a transaction's data that are told, where data is.
const DATA_MAX_BYTES: u32 = 4096;
/// Ancestors that are told of a process.
const ANCESTORS_MAX: usize = 16;
/// As many may follow at a time, and as many of one user who does not see all.
const FOLLOWERS_MAX: usize = 16;
const FOLLOWERS_PER_USER: usize = 4;
/// How long the writer lets events gather: to wake a follower takes longer than to make a call.
const GATHERS_FOR: Duration = Duration::from_millis(10);

/// Something for the writer.
#[derive(Debug)]
enum Message {
    /// An event of a device, with what was to be found of it then.
    Event { device: Arc<str>, event: TraceEvent, found: Found },
    /// A process is called this.
    Name { pid: u32, name: String },
}

/// What is looked up when an event happens, since it may be gone later.
#[derive(Debug, Default)]
struct Found {
    /// The interface that the data of a send shows.
    interface: Option<String>,
    /// The data, as far as it is wanted.
    data: Vec<u8>,
    /// The ancestors of a process that opens a device.
    ancestors: Vec<u32>,
}

/// What waits for the writer.
#[derive(Debug, Default)]
struct Inbox {
    messages: Vec<Message>,
    data_bytes: usize,
    dropped: u64,
    /// Whether there is a writer, and whether it sleeps until something comes.
    has_writer: bool,
    is_writer_idle: bool,
    /// The writer is to end.
    is_closed: bool,
}

impl Inbox {
    fn push(&mut self, message: Message) {
        let data_bytes = match &message {
            Message::Event { found, .. } => found.data.len(),
            Message::Name { .. } => 0,
        };
        if self.messages.len() < INBOX_EVENTS && self.data_bytes + data_bytes <= INBOX_DATA_BYTES {
            self.data_bytes += data_bytes;
            self.messages.push(message);
        } else {
            self.dropped += 1;
        }
    }
}

/// Those who follow, and the names of processes.
#[derive(Debug, Default)]
struct Followers {
    by_id: HashMap<FollowerId, TraceFollower>,
    names: BTreeMap<u32, String>,
    memory: WriterMemory,
}

/// Memory for what is written, kept from one time to the next: to have it anew for each record costs more than to write that.
#[derive(Debug, Default)]
struct WriterMemory {
    messages: Vec<Message>,
    /// A record as those are told it who see the data, and as the others are.
    full: Vec<u8>,
    bare: Vec<u8>,
}

/// All that is traced of a mount, and all who follow it.
///
/// `followers` is locked before `inbox`, where both are; `inbox` is locked within jobs of devices, for as long as it
/// takes to put something in it.
#[derive(Debug)]
pub(crate) struct TraceHub {
    fuse: Arc<FuseDevice>,
    clock: Option<SteadyClock>,
    inbox: Mutex<Inbox>,
    arrived: Condvar,
    followers: Mutex<Followers>,
    /// How devices are traced. Held while they begin and end to be.
    switch: Mutex<Option<DataWanted>>,
}

impl TraceHub {
    pub(crate) fn new(fuse: Arc<FuseDevice>, clock: Option<SteadyClock>) -> Self {
        Self {
            fuse,
            clock,
            inbox: Mutex::default(),
            arrived: Condvar::new(),
            followers: Mutex::default(),
            switch: Mutex::default(),
        }
    }

    /// Adds a follower, unless there are too many.
    pub(crate) fn add_follower(&self, id: FollowerId, sight: Sight) -> Result<(), Errno> {
        let mut followers = self.followers();
        let of_user = followers.by_id.values().filter(|it| it.sight().uid == sight.uid).count();
        let is_full = followers.by_id.len() >= FOLLOWERS_MAX
            || (!sight.sees_all && of_user >= FOLLOWERS_PER_USER);
        if is_full {
            return Err(Errno::EMFILE);
        }
        // What has happened before is for those who followed then.
        self.flush_to(&mut followers);
        let mut follower = TraceFollower::new(sight);
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let unix_ns = u64::try_from(now.as_nanos()).unwrap_or(u64::MAX);
        let at_ns = self.clock.map_or(0, SteadyClock::now_ns);
        follower.put(&TraceRecord::Clock { at_ns, unix_ns });
        followers.by_id.insert(id, follower);
        Ok(())
    }

    /// Forgets an open file.
    pub(crate) fn forget(&self, id: FollowerId) {
        let mut followers = self.followers();
        followers.by_id.remove(&id);
        if followers.by_id.is_empty() {
            followers.memory = WriterMemory::default();
        }
    }

    /// What is wanted of devices: `None` if nobody follows, else whether somebody follows data, too.
    pub(crate) fn wanted(&self) -> Option<DataWanted> {
        let followers = self.followers();
        let wants_data = followers.by_id.values().any(|it| it.sight().data == DataWanted::Yes);
        let wanted = if wants_data { DataWanted::Yes } else { DataWanted::No };
        (!followers.by_id.is_empty()).then_some(wanted)
    }

    /// How devices are traced. Keeps others from beginning or ending to trace them meanwhile.
    pub(crate) fn switch(&self) -> MutexGuard<'_, Option<DataWanted>> {
        self.switch.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Starts the writer, unless there is one.
    pub(crate) fn start_writer(self: &Arc<Self>) -> io::Result<()> {
        let mut inbox = self.inbox();
        inbox.is_closed = false;
        if inbox.has_writer {
            return Ok(());
        }
        let hub = self.clone();
        thread::Builder::new().name("trace".into()).spawn(move || hub.write_all())?;
        inbox.has_writer = true;
        Ok(())
    }

    /// Has the writer end.
    pub(crate) fn stop_writer(&self) {
        self.inbox().is_closed = true;
        self.arrived.notify_all();
    }

    fn write_all(&self) {
        loop {
            let mut inbox = self.inbox();
            inbox.is_writer_idle = true;
            let is_idle = |it: &mut Inbox| it.messages.is_empty() && !it.is_closed;
            inbox = self.arrived.wait_while(inbox, is_idle).unwrap_or_else(|it| it.into_inner());
            inbox.is_writer_idle = false;
            let gathered = self.arrived.wait_timeout_while(inbox, GATHERS_FOR, |it| !it.is_closed);
            let (mut inbox, _) = gathered.unwrap_or_else(|poisoned| poisoned.into_inner());
            if inbox.is_closed {
                *inbox = Inbox::default();
                return;
            }
            drop(inbox);
            self.flush();
        }
    }

    /// Encodes what has come for those who may see it, and answers their reads.
    pub(crate) fn flush(&self) {
        self.flush_to(&mut self.followers());
    }

    fn flush_to(&self, followers: &mut Followers) {
        let mut messages = std::mem::take(&mut followers.memory.messages);
        let dropped = {
            let mut inbox = self.inbox();
            std::mem::swap(&mut inbox.messages, &mut messages);
            inbox.data_bytes = 0;
            std::mem::take(&mut inbox.dropped)
        };
        messages.iter_mut().for_each(|message| followers.distribute(message));
        messages.clear();
        messages.shrink_to(MESSAGES_KEPT);
        followers.memory.messages = messages;
        for follower in followers.by_id.values_mut() {
            follower.note_dropped(dropped);
            follower.answer(&self.fuse);
        }
    }

    /// Answers a read of the stream, at once or when there is something to tell.
    pub(crate) fn read(&self, id: FollowerId, read: StreamRead) {
        if read.is_nonblocking && !self.is_readable(id, None) {
            // It asks for what there is now.
            self.flush();
        }
        if let Some(follower) = self.followers().by_id.get_mut(&id) {
            follower.read(&self.fuse, read);
        }
    }

    /// Answers poll(2): whether there is something to read.
    pub(crate) fn is_readable(&self, id: FollowerId, poll_handle: Option<u64>) -> bool {
        self.followers().by_id.get_mut(&id).is_none_or(|it| it.is_readable(poll_handle))
    }

    /// Ends the sleep of the read behind request `target`. Says whether there was one.
    pub(crate) fn interrupt(&self, target: u64) -> bool {
        let mut followers = self.followers();
        followers.by_id.values_mut().any(|follower| follower.interrupt(&self.fuse, target))
    }

    /// Tells how processes are called that have been here before.
    pub(crate) fn name_processes(&self, pids: impl IntoIterator<Item = u32>) {
        for pid in pids {
            if let Some(name) = name_of(pid) {
                self.inbox().push(Message::Name { pid, name });
            }
        }
    }

    fn inbox(&self) -> MutexGuard<'_, Inbox> {
        self.inbox.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    fn followers(&self) -> MutexGuard<'_, Followers> {
        self.followers.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

impl Followers {
    /// Tells what is in a message, whose parts it takes: messages are too large to be moved without need.
    fn distribute(&mut self, message: &mut Message) {
        let (device, event, found) = match message {
            Message::Name { pid, name } => {
                self.names.insert(*pid, std::mem::take(name));
                // What it was called before.
                self.by_id.values_mut().for_each(|follower| follower.forget_name(*pid));
                return;
            }
            Message::Event { device, event, found } => (&*device, &*event, found),
        };
        let Self { by_id, names, memory: WriterMemory { full, bare, .. } } = self;
        full.clear();
        bare.clear();
        let mut record = record_of(device, event, found);
        record.encode(full);
        if let TraceRecord::Sent(sent) = &mut record
            && !sent.data.is_empty()
        {
            sent.data.clear();
            record.encode(bare);
        }
        let bare = if bare.is_empty() { &*full } else { &*bare };
        for follower in by_id.values_mut() {
            let Some(wanted) = follower.sight().of(event.uids) else { continue };
            for pid in pids_of(&event.what).into_iter().filter(|pid| *pid != 0) {
                follower.introduce(pid, || known_name(names, pid));
            }
            follower.put_encoded(match wanted {
                DataWanted::Yes => full,
                DataWanted::No => bare,
            });
        }
        if let Traced::Closed { pid } = event.what {
            // The number may be another's soon.
            names.remove(&pid);
            by_id.values_mut().for_each(|follower| follower.forget_name(pid));
        }
    }
}

/// What a process is called, looked up if it was not before.
fn known_name(names: &mut BTreeMap<u32, String>, pid: u32) -> Option<String> {
    match names.entry(pid) {
        Entry::Occupied(known) => Some(known.get().clone()),
        Entry::Vacant(unknown) => name_of(pid).map(|name| unknown.insert(name).clone()),
    }
}

/// Whether data of transactions is wanted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum DataWanted {
    Yes,
    No,
}

/// What hands the events of one device on.
#[derive(Debug)]
pub(crate) struct DeviceTracer {
    hub: Arc<TraceHub>,
    device: Arc<str>,
    data: DataWanted,
    /// Memory for what is handed on.
    events: Vec<TraceEvent>,
    messages: Vec<Message>,
}

impl DeviceTracer {
    pub(crate) fn new(hub: Arc<TraceHub>, device: &str, data: DataWanted) -> Self {
        Self { hub, device: device.into(), data, events: Vec::new(), messages: Vec::new() }
    }

    /// Hands on what `take` has noted: what was sent lies in the buffers of `clients` still.
    pub(crate) fn hand_on(
        &mut self,
        clients: &Clients,
        take: impl FnOnce(&mut Vec<TraceEvent>) -> u64,
    ) {
        let dropped = take(&mut self.events);
        if self.events.is_empty() && dropped == 0 {
            return;
        }
        for event in self.events.drain(..) {
            let (interface, data) = look_at_data(&event.what, clients, self.data);
            let mut found = Found { interface, data, ancestors: Vec::new() };
            // The process waits for its open, so that it is there still.
            if let Traced::Opened { pid } = event.what {
                let name = name_of(pid).map(|name| Message::Name { pid, name });
                self.messages.extend(name);
                found.ancestors = descendants::ancestors(pid).take(ANCESTORS_MAX).collect();
            }
            let device = self.device.clone();
            self.messages.push(Message::Event { device, event, found });
        }
        let mut inbox = self.hub.inbox();
        inbox.dropped += dropped;
        self.messages.drain(..).for_each(|message| inbox.push(message));
        if std::mem::take(&mut inbox.is_writer_idle) {
            self.hub.arrived.notify_one();
        }
    }
}

/// The interface that a send shows, and its data, as far as that is wanted.
fn look_at_data(what: &Traced, clients: &Clients, wanted: DataWanted) -> (Option<String>, Vec<u8>) {
    let Traced::Sent { entry, data: Some(place), .. } = what else { return (None, Vec::new()) };
    let TracedData { receiver, start, len } = *place;
    let Some(client) = clients.get(receiver) else { return (None, Vec::new()) };
    let memory = client.buffer.memory();
    let read = |at: usize, into: &mut [u8]| {
        at + into.len() <= len as usize && memory.read(start as usize + at, into).is_ok()
    };
    let is_call = entry.kind != TransactionKind::Reply;
    let interface = is_call.then(|| binder_report::interface_of_data(read)).flatten();
    let mut data = Vec::new();
    if wanted == DataWanted::Yes {
        data.resize(len.min(DATA_MAX_BYTES) as usize, 0);
        if !read(0, &mut data) {
            data.clear();
        }
    }
    (interface, data)
}

/// The processes that an event is about; 0 is none.
fn pids_of(what: &Traced) -> [u32; 2] {
    match *what {
        Traced::Sent { entry, .. } => [entry.from_pid, entry.to_pid],
        Traced::Received { pid, .. }
        | Traced::Unanswered { pid, .. }
        | Traced::Opened { pid }
        | Traced::Closed { pid }
        | Traced::Died { pid, .. }
        | Traced::Frozen { pid }
        | Traced::Thawed { pid } => [pid, 0],
        Traced::Undelivered { .. } | Traced::Carried { .. } => [0, 0],
    }
}

fn name_of(pid: u32) -> Option<String> {
    Some(proc_files::comm(pid).ok()?.to_string_lossy().trim_end().to_owned())
}

fn record_of(device: &Arc<str>, event: &TraceEvent, found: &mut Found) -> TraceRecord {
    let at_ns = event.at_ns;
    let device = || device.clone();
    match event.what {
        Traced::Sent { ref entry, within, .. } => TraceRecord::Sent(SentRecord {
            at_ns,
            device: device(),
            id: entry.id,
            kind: match entry.kind {
                TransactionKind::Call => SendKind::Call,
                TransactionKind::Oneway => SendKind::Oneway,
                TransactionKind::Reply => SendKind::Reply,
            },
            from_pid: entry.from_pid,
            from_tid: entry.from_tid,
            to_pid: entry.to_pid,
            to_tid: entry.to_tid,
            node: entry.node,
            handle: entry.handle,
            code: entry.code,
            flags: entry.flags,
            data_bytes: entry.data_size,
            offsets_bytes: entry.offsets_size,
            within,
            status: send_status(entry.end),
            interface: found.interface.take(),
            data: std::mem::take(&mut found.data),
        }),
        Traced::Received { id, pid, tid } => TraceRecord::Received { at_ns, id, pid, tid },
        Traced::Undelivered { id, errno } => {
            TraceRecord::Undelivered { at_ns, id, errno: errno.unsigned_abs() }
        }
        Traced::Unanswered { id, pid, tid, code } => {
            TraceRecord::Unanswered { at_ns, id, pid, tid, code }
        }
        Traced::Carried { id, object } => {
            let object = match object {
                TracedObject::Node { node, handle } => CarriedObject::Node { node, handle },
                TracedObject::File { fd } => CarriedObject::File { fd },
            };
            TraceRecord::Carried { at_ns, id, object }
        }
        Traced::Opened { pid } => {
            let ancestors = std::mem::take(&mut found.ancestors);
            TraceRecord::Opened { at_ns, device: device(), pid, ancestors }
        }
        Traced::Closed { pid } => TraceRecord::Closed { at_ns, device: device(), pid },
        Traced::Died { node, pid } => TraceRecord::Died { at_ns, device: device(), node, pid },
        Traced::Frozen { pid } => TraceRecord::Frozen { at_ns, device: device(), pid },
        Traced::Thawed { pid } => TraceRecord::Thawed { at_ns, device: device(), pid },
    }
}

fn send_status(end: SendEnd) -> SendStatus {
    match end {
        SendEnd::Accepted | SendEnd::Incomplete => SendStatus::Accepted,
        SendEnd::Refused { code, errno, .. } => {
            SendStatus::Refused { code, errno: errno.unsigned_abs() }
        }
        SendEnd::Undelivered { errno, .. } => {
            let code = binder_uapi::BR_FAILED_REPLY;
            SendStatus::Refused { code, errno: errno.unsigned_abs() }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_inbox_has_as_many_messages_and_bytes_as_it_may() {
        let event = |len| Message::Event {
            device: "binder".into(),
            event: TraceEvent { at_ns: 0, uids: [0; 2], what: Traced::Opened { pid: 1 } },
            found: Found { data: vec![0; len], ..Found::default() },
        };
        let mut inbox = Inbox::default();
        inbox.push(event(INBOX_DATA_BYTES));
        inbox.push(event(1));
        assert_eq!((inbox.messages.len(), inbox.dropped), (1, 1));
        (0..INBOX_EVENTS).for_each(|_| inbox.push(event(0)));
        assert_eq!((inbox.messages.len(), inbox.dropped), (INBOX_EVENTS, 2));
    }
}
