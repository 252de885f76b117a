//! Traces: the events of devices, for programs that follow them.
//!
//! A traced device encodes its [events](DeviceTracer) into the inbox of the [`TraceHub`] after each job. The writer, a
//! thread that runs while there is a follower, moves the records of some milliseconds into the queue of each follower
//! that may see them, and answers the reads that wait. The inbox and the queues are bounded: an event that finds no room
//! is dropped and counted, and a record tells the follower how many were. So no follower, however slow, delays a call.

mod batch;
mod follower;

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use binder_core::{
    Errno, LogEntry, ProcessKey, SendEnd, TraceEvent, Traced, TracedData, TracedObject,
    TransactionKind,
};
use binder_os::{FuseDevice, MappedMemory, SteadyClock, descendants, proc_files};
use binder_trace::{CarriedObject, SendKind, SendStatus, SentRecord, TraceRecord};

use crate::events::FollowerId;
use crate::logs::DataWanted;
use crate::stream_reads::StreamRead;
use batch::{QueuedKind, RecordBatch};
use follower::TraceFollower;

pub(crate) use follower::FollowerAccess;

/// Bytes of a transaction's data that are told, where data is.
const DATA_MAX_BYTES: u32 = 4096;
/// Ancestors that are told of a process.
const ANCESTORS_MAX: usize = 16;
/// The most followers at a time, and the most of one user who does not see all events.
const FOLLOWERS_MAX: usize = 16;
const FOLLOWERS_PER_USER: usize = 4;
/// How long the writer lets events gather: to wake a follower takes longer than to make a call.
const GATHERS_FOR: Duration = Duration::from_millis(10);

/// The records that wait for the writer.
#[derive(Debug, Default)]
struct WaitingRecords {
    batch: RecordBatch,
    dropped: u64,
    /// Whether there is a writer, and whether it sleeps until something comes.
    has_writer: bool,
    is_writer_idle: bool,
    /// The writer is to end.
    is_closed: bool,
}

impl WaitingRecords {
    /// Whether the writer sleeps on, as a thread that puts something in is told: also when it was woken and a read has taken all
    /// meanwhile.
    fn keeps_writer_idle(&mut self) -> bool {
        self.is_writer_idle = self.batch.entries.is_empty() && !self.is_closed;
        self.is_writer_idle
    }

    /// Puts a record or a name into the batch, or counts it as dropped.
    fn put(&mut self, push: impl FnOnce(&mut RecordBatch)) {
        if self.batch.has_room() {
            push(&mut self.batch);
        } else {
            self.dropped += 1;
        }
    }
}

/// The followers, and the names of processes.
#[derive(Debug, Default)]
struct Followers {
    by_id: HashMap<FollowerId, TraceFollower>,
    names: BTreeMap<u32, String>,
    /// Memory of the writer, kept from one batch to the next.
    batch: RecordBatch,
}

/// The trace of a mount, and its followers.
///
/// `followers` is locked before `inbox`, where both are; `inbox` is locked within jobs of devices, for as long as it
/// takes to put something in it.
#[derive(Debug)]
pub(crate) struct TraceHub {
    fuse: Arc<FuseDevice>,
    clock: Option<SteadyClock>,
    inbox: Mutex<WaitingRecords>,
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
    pub(crate) fn add_follower(&self, id: FollowerId, access: FollowerAccess) -> Result<(), Errno> {
        let mut followers = self.followers();
        let of_user = followers.by_id.values().filter(|it| it.access().uid == access.uid).count();
        let is_full = followers.by_id.len() >= FOLLOWERS_MAX
            || (!access.sees_all && of_user >= FOLLOWERS_PER_USER);
        if is_full {
            return Err(Errno::EMFILE);
        }
        // Events so far are for the followers that were here before.
        self.flush_to(&mut followers);
        let mut follower = TraceFollower::new(access);
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
            followers.batch = RecordBatch::default();
        }
    }

    /// What devices are to trace: `None` without a follower, else whether any of them wants data, too.
    pub(crate) fn wanted(&self) -> Option<DataWanted> {
        let followers = self.followers();
        let wants_data = followers.by_id.values().any(|it| it.access().data == DataWanted::Yes);
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
            let has_come = self.arrived.wait_while(self.inbox(), WaitingRecords::keeps_writer_idle);
            let inbox = has_come.unwrap_or_else(|poisoned| poisoned.into_inner());
            let gathered = self.arrived.wait_timeout_while(inbox, GATHERS_FOR, |it| !it.is_closed);
            let (mut inbox, _) = gathered.unwrap_or_else(|poisoned| poisoned.into_inner());
            if inbox.is_closed {
                *inbox = WaitingRecords::default();
                return;
            }
            drop(inbox);
            self.flush();
        }
    }

    /// Moves the records that have come to each follower that may see them, and answers reads that wait.
    pub(crate) fn flush(&self) {
        self.flush_to(&mut self.followers());
    }

    fn flush_to(&self, followers: &mut Followers) {
        let mut batch = std::mem::take(&mut followers.batch);
        let dropped = {
            let mut inbox = self.inbox();
            std::mem::swap(&mut inbox.batch, &mut batch);
            std::mem::take(&mut inbox.dropped)
        };
        followers.distribute(&batch);
        batch.clear();
        followers.batch = batch;
        for follower in followers.by_id.values_mut() {
            follower.note_dropped(dropped);
            follower.answer(&self.fuse);
        }
    }

    /// Answers a read of the stream, at once or when there is something to tell.
    pub(crate) fn read(&self, id: FollowerId, read: StreamRead) {
        if read.is_nonblocking {
            // It asks for all that has happened until now: if it gets less than it has room for, it has all of that.
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

    /// Tells the names of processes that had a device open before the trace began.
    pub(crate) fn name_processes(&self, pids: impl IntoIterator<Item = u32>) {
        for pid in pids {
            if let Some(name) = name_of(pid) {
                self.inbox().put(|batch| batch.push_name(pid, &name));
            }
        }
    }

    fn inbox(&self) -> MutexGuard<'_, WaitingRecords> {
        self.inbox.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    fn followers(&self) -> MutexGuard<'_, Followers> {
        self.followers.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

impl Followers {
    /// Puts records into the queues of the followers that may see them.
    fn distribute(&mut self, batch: &RecordBatch) {
        let Self { by_id, names, .. } = self;
        for (entry, full, bare) in batch.parts() {
            let [pid, _] = entry.pids;
            if entry.kind == QueuedKind::Name {
                names.insert(pid, String::from_utf8_lossy(full).into_owned());
                // Followers may know an earlier name.
                by_id.values_mut().for_each(|follower| follower.forget_name(pid));
                continue;
            }
            let bare = if bare.is_empty() { full } else { bare };
            for follower in by_id.values_mut() {
                let Some(wanted) = follower.access().of(entry.uids) else { continue };
                for pid in entry.pids.into_iter().filter(|pid| *pid != 0) {
                    follower.introduce(pid, || known_name(names, pid));
                }
                follower.put_encoded(match wanted {
                    DataWanted::Yes => full,
                    DataWanted::No => bare,
                });
            }
            if entry.kind == QueuedKind::LastRecord {
                names.remove(&pid);
                by_id.values_mut().for_each(|follower| follower.forget_name(pid));
            }
        }
    }
}

/// The name of a process, which is read if it is not known yet.
fn known_name(names: &mut BTreeMap<u32, String>, pid: u32) -> Option<String> {
    match names.entry(pid) {
        Entry::Occupied(known) => Some(known.get().clone()),
        Entry::Vacant(unknown) => name_of(pid).map(|name| unknown.insert(name).clone()),
    }
}

/// Hands the events of one device to the hub.
#[derive(Debug)]
pub(crate) struct DeviceTracer {
    hub: Arc<TraceHub>,
    data: DataWanted,
    /// Memory for the events of a job, kept from one to the next.
    events: Vec<TraceEvent>,
    /// The send that is encoded, or was last, and the device.
    sent: SentRecord,
}

/// The memory of a process's receive buffer.
type BufferOf<'c> = dyn Fn(ProcessKey) -> Option<&'c MappedMemory> + 'c;

impl DeviceTracer {
    pub(crate) fn new(hub: Arc<TraceHub>, device: &str, data: DataWanted) -> Self {
        Self { hub, data, events: Vec::new(), sent: no_send(device) }
    }

    /// Hands on the events that `take` moves out of the core. The data of sends still lies in the receive buffers,
    /// whose memory `buffer_of` finds.
    pub(crate) fn hand_on(
        &mut self,
        buffer_of: &BufferOf<'_>,
        take: impl FnOnce(&mut Vec<TraceEvent>) -> u64,
    ) {
        let dropped = take(&mut self.events);
        // To read /proc takes longer than the inbox may be locked.
        let openers: Vec<_> = self.events.iter().filter_map(TracedOpener::of).collect();
        let mut openers = openers.into_iter();
        let mut inbox = self.hub.inbox();
        inbox.dropped += dropped;
        for event in &self.events {
            match event.what {
                Traced::Sent { ref entry, within, data } => {
                    let (at_ns, sent) = (event.at_ns, &mut self.sent);
                    put_send(sent, at_ns, entry, within);
                    (sent.interface, sent.data) =
                        look_at_data(entry.kind, data, buffer_of, self.data);
                    inbox.put(|batch| batch.push_sent(event, sent));
                }
                Traced::Opened { pid } => {
                    let TracedOpener { name, ancestors } = openers.next().unwrap_or_default();
                    if let Some(name) = name {
                        inbox.put(|batch| batch.push_name(pid, &name));
                    }
                    let (at_ns, device) = (event.at_ns, self.sent.device.clone());
                    let record = TraceRecord::Opened { at_ns, device, pid, ancestors };
                    inbox.put(|batch| batch.push_record(event, &record));
                }
                ref other => {
                    if let Some(record) = record_of(event.at_ns, &self.sent.device, other) {
                        inbox.put(|batch| batch.push_record(event, &record));
                    }
                }
            }
        }
        self.events.clear();
        if std::mem::take(&mut inbox.is_writer_idle) {
            self.hub.arrived.notify_one();
        }
    }
}

/// The interface that a send shows, and its data, as far as that is wanted.
fn look_at_data(
    kind: TransactionKind,
    place: Option<TracedData>,
    buffer_of: &BufferOf<'_>,
    wanted: DataWanted,
) -> (Option<String>, Vec<u8>) {
    let Some(TracedData { receiver, start, len }) = place else { return (None, Vec::new()) };
    let Some(memory) = buffer_of(receiver) else { return (None, Vec::new()) };
    let read = |at: usize, into: &mut [u8]| {
        at + into.len() <= len as usize && memory.read(start as usize + at, into).is_ok()
    };
    let is_call = kind != TransactionKind::Reply;
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

fn name_of(pid: u32) -> Option<String> {
    Some(proc_files::comm(pid).ok()?.to_string_lossy().trim_end().to_owned())
}

/// No send yet, on a device.
fn no_send(device: &str) -> SentRecord {
    SentRecord {
        at_ns: 0,
        device: device.into(),
        id: 0,
        kind: SendKind::Call,
        from_pid: 0,
        from_tid: 0,
        to_pid: 0,
        to_tid: 0,
        node: 0,
        handle: 0,
        code: 0,
        flags: 0,
        data_bytes: 0,
        offsets_bytes: 0,
        within: 0,
        status: SendStatus::Accepted,
        interface: None,
        data: Vec::new(),
    }
}

/// Puts all of a send in place of another but its device and what its data shows.
fn put_send(sent: &mut SentRecord, at_ns: u64, entry: &LogEntry, within: u32) {
    sent.at_ns = at_ns;
    sent.id = entry.id;
    sent.kind = match entry.kind {
        TransactionKind::Call => SendKind::Call,
        TransactionKind::Oneway => SendKind::Oneway,
        TransactionKind::Reply => SendKind::Reply,
    };
    (sent.from_pid, sent.from_tid) = (entry.from_pid, entry.from_tid);
    (sent.to_pid, sent.to_tid) = (entry.to_pid, entry.to_tid);
    (sent.node, sent.handle) = (entry.node, entry.handle);
    (sent.code, sent.flags) = (entry.code, entry.flags);
    (sent.data_bytes, sent.offsets_bytes) = (entry.data_size, entry.offsets_size);
    sent.within = within;
    sent.status = send_status(entry.end);
}

/// A process that opens a device. It waits for its open, so that it is there still.
#[derive(Default)]
struct TracedOpener {
    name: Option<String>,
    ancestors: Vec<u32>,
}

impl TracedOpener {
    /// Reads of the process in /proc, if the event is an open.
    fn of(event: &TraceEvent) -> Option<Self> {
        let Traced::Opened { pid } = event.what else { return None };
        let ancestors = descendants::ancestors(pid).take(ANCESTORS_MAX).collect();
        Some(Self { name: name_of(pid), ancestors })
    }
}

/// The record of an event other than a send and an open.
fn record_of(at_ns: u64, device: &Arc<str>, what: &Traced) -> Option<TraceRecord> {
    let device = || device.clone();
    Some(match *what {
        Traced::Sent { .. } | Traced::Opened { .. } => return None,
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
        Traced::Closed { pid } => TraceRecord::Closed { at_ns, device: device(), pid },
        Traced::Died { node, pid } => TraceRecord::Died { at_ns, device: device(), node, pid },
        Traced::Frozen { pid } => TraceRecord::Frozen { at_ns, device: device(), pid },
        Traced::Thawed { pid } => TraceRecord::Thawed { at_ns, device: device(), pid },
    })
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
    use std::time::Instant;

    use super::*;

    /// Nothing here takes long.
    const HANG_TIMEOUT: Duration = Duration::from_secs(60);

    #[test]
    fn a_writer_that_was_woken_for_nothing_is_woken_again() {
        let fuse = Arc::new(FuseDevice::open().expect("/dev/fuse can be opened"));
        let hub = Arc::new(TraceHub::new(fuse, None));
        hub.start_writer().expect("a thread");
        let wait_until = |is_so: fn(&WaitingRecords) -> bool| {
            let began = Instant::now();
            while !is_so(&hub.inbox()) {
                assert!(began.elapsed() < HANG_TIMEOUT, "it never came to be");
                thread::sleep(Duration::from_millis(1));
            }
        };
        wait_until(|inbox| inbox.is_writer_idle);
        // As when a read takes all that has come before the writer runs.
        hub.inbox().is_writer_idle = false;
        hub.arrived.notify_one();
        wait_until(|inbox| inbox.is_writer_idle);
        hub.stop_writer();
        wait_until(|inbox| !inbox.has_writer);
    }
}
