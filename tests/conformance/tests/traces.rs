//! Scenarios of real processes on a device, whose traces are compared line by line.
//!
//! Times and numbers that differ from run to run are masked: a process is a letter, a thread of it another number, and
//! objects count from 1 on in the order in which they are mentioned.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Mutex, PoisonError};

use binder_testkit::Return::{
    DeadReply, FailedReply, FrozenReply, Reply, Transaction, TransactionComplete,
};
use binder_testkit::{
    Device, DeviceRig, Entrance, Message, Party, Stage, act_if_asked, close_before, commands,
    expect, introduce,
};
use binder_trace::{CallTracker, LineWriter, RecordStream, TraceFilter};
use binder_uapi::{
    BINDER_FREEZE, BINDER_TYPE_BINDER, BinderFreezeInfo, FLAT_BINDER_FLAG_ACCEPTS_FDS,
    FlatBinderObject,
};
use conformance::runner::DEVICE_VARIABLE;
use libtest_mimic::{Arguments, Completion, Trial};
use rustix::fs::OFlags;

const OBJECT: (u64, u64) = (0x1000, 0x2000);
/// The descriptor that every host has.
const SOCKET: u64 = 0;

/// What a trace calls every party: they are begun as `/proc/self/exe`.
const PARTY_NAME: &str = "exe";

/// A device has one context manager: scenarios take turns.
static TURN: Mutex<()> = Mutex::new(());

type Scenario = fn(&Stage, &Path);

const SCENARIOS: [(&str, Scenario); 7] = [
    ("a_nested_call_is_told_within_its_call", nested_calls),
    ("a_oneway_is_told_when_it_is_sent_and_when_it_is_received", oneways),
    ("calls_that_fail_are_told_with_the_cause", failures),
    ("objects_and_descriptors_are_told_with_what_carries_them", objects),
    ("devices_are_told_apart", several_devices),
    ("deaths_and_freezes_are_told", deaths_and_freezes),
    ("data_is_told_to_who_asks_for_it", data),
];

fn main() -> ExitCode {
    act_if_asked();
    let device = std::env::var_os(DEVICE_VARIABLE).map(PathBuf::from);
    let trial = |(name, scenario): (&str, Scenario)| {
        let device = device.clone();
        Trial::ignorable_test(name, move || Ok(play(device.as_deref(), scenario)))
    };
    let trials = SCENARIOS.map(trial).into();
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

fn play(device: Option<&Path>, scenario: Scenario) -> Completion {
    let Some(device) = device else {
        return Completion::ignored_with(format!("{DEVICE_VARIABLE} names no device"));
    };
    let device = device.canonicalize().unwrap();
    let logs = device.with_file_name("binder_logs/anybinder");
    if !logs.exists() {
        return Completion::ignored_with("this driver tells no traces");
    }
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let rig = DeviceRig::new(&device, &device.with_file_name("hwbinder")).unwrap();
    let stage = Stage::new(Box::new(rig));
    // Another that follows all the time changes nothing.
    let _other = Trace::begin(&logs);
    scenario(&stage, &logs);
    stage.tear_down();
    Completion::Completed
}

/// A trace that is followed from here on.
struct Trace {
    file: File,
    max_data_bytes: usize,
}

impl Trace {
    fn begin(logs: &Path) -> Self {
        Self::open(logs, "trace.stream", 0)
    }

    fn open(logs: &Path, name: &str, max_data_bytes: usize) -> Self {
        let flags = OFlags::NONBLOCK.bits().cast_signed();
        let file = OpenOptions::new().read(true).custom_flags(flags).open(logs.join(name));
        Self { file: file.unwrap(), max_data_bytes }
    }

    /// What has happened to these parties, in the order of their letters, from A on.
    fn lines(mut self, parties: &[&Party<'_>]) -> Vec<String> {
        let mut stream = RecordStream::default();
        let mut piece = vec![0; 1 << 16];
        while let Ok(len) = self.file.read(&mut piece) {
            stream.push(&piece[..len]);
        }
        let pids: Vec<_> = parties.iter().map(|party| party.pid().unsigned_abs()).collect();
        let filter = TraceFilter { pids: pids.clone(), ..TraceFilter::default() };
        let max_data_bytes = self.max_data_bytes;
        let mut writer = LineWriter { filter, max_data_bytes, ..LineWriter::default() };
        writer.methods.add("demo.IGreeter", 7, "hello");
        let (mut tracker, mut text) = (CallTracker::default(), String::new());
        while let Some(record) = stream.next_record().unwrap() {
            tracker.take(record, |tracker, item| writer.write(tracker, &item, &mut text));
        }
        assert!(!stream.is_torn());
        let mut mask = Mask { pids, ..Mask::default() };
        text.lines().map(|line| mask.line(line)).collect()
    }
}

/// Numbers that stand for those of a run.
#[derive(Default)]
struct Mask {
    pids: Vec<u32>,
    tids: Vec<BTreeMap<u32, usize>>,
    objects: BTreeMap<u32, usize>,
}

impl Mask {
    /// A line without its time and with other numbers.
    fn line(&mut self, line: &str) -> String {
        let (time, rest) = line.split_once("  ").unwrap();
        assert_eq!(time.len(), "12:34:56.789012".len(), "{line}");
        let indent = rest[10..].len() - rest[10..].trim_start().len();
        let mut words: Vec<String> = vec![" ".repeat(indent) + rest.split(' ').next().unwrap()];
        let mut given = rest[10..].split_whitespace().peekable();
        while let Some(word) = given.next() {
            // No other number is a party's: times are as large.
            let named = given.peek() == Some(&PARTY_NAME);
            if let Some(party) = named.then(|| self.party(word)).flatten() {
                words.push(party);
                given.next();
            } else if word == "object" {
                let number = given.next().unwrap();
                let digits = number.trim_end_matches(',');
                let next = self.objects.len() + 1;
                let object = *self.objects.entry(digits.parse().unwrap()).or_insert(next);
                words.push(format!("object {object}{}", &number[digits.len()..]));
            } else if word.trim_start_matches('(').parse::<u64>().is_ok()
                && given.peek().is_some_and(|unit| is_time(unit))
            {
                let open = if word.starts_with('(') { "(" } else { "" };
                words.push(format!("{open}N"));
            } else {
                words.push(word.into());
            }
        }
        words.join(" ")
    }

    /// A party of the scenario, by its letter and the number of its thread.
    fn party(&mut self, word: &str) -> Option<String> {
        let (pid, tid) = word.split_once(':').map_or((word, None), |(pid, tid)| (pid, Some(tid)));
        let pid: u32 = pid.parse().ok()?;
        let at = self.pids.iter().position(|known| *known == pid)?;
        let letter = char::from(b'A' + u8::try_from(at).unwrap());
        let Some(tid) = tid else { return Some(letter.into()) };
        self.tids.resize_with(self.pids.len(), BTreeMap::new);
        let tids = &mut self.tids[at];
        let next = tids.len() + 1;
        let thread = tids.entry(tid.parse().unwrap()).or_insert(next);
        Some(format!("{letter}{thread}"))
    }
}

fn is_time(unit: &str) -> bool {
    ["us", "queued,", "served,", "returning)"].contains(&unit)
}

/// A call of a method that has a name.
fn greeting() -> Message {
    let name: Vec<u8> = "demo.IGreeter".encode_utf16().flat_map(u16::to_le_bytes).collect();
    let mut bytes = [[0; 4], [0xff; 4]].concat();
    bytes.extend(u32::from_be_bytes(*b"SYST").to_le_bytes());
    bytes.extend(13_u32.to_le_bytes());
    bytes.extend(name);
    bytes.extend([0; 6]);
    Message::new(7).bytes(&bytes)
}

/// A device with a name that is not that of every machine.
fn on(device: &str, lines: &[&str]) -> Vec<String> {
    let line = |line: &&str| {
        let (indent, rest) = line.split_at(line.len() - line.trim_start().len());
        format!("{indent}{device} {rest}")
    };
    lines.iter().map(line).collect()
}

fn nested_calls(stage: &Stage, logs: &Path) {
    let (m, p) = (stage.manager(), stage.party());
    let handle = introduce(&m, &p, OBJECT, &m);
    let trace = Trace::begin(logs);
    p.park_with(commands().call(0, greeting()));
    let call = m.read_call();
    m.write(commands().call(handle, Message::new(2)));
    expect!(p.woken() => [TransactionComplete, Transaction(nested)]);
    expect!(m.thread().exchange(commands().oneway(handle, Message::new(3))) => [TransactionComplete]);
    p.answer(&nested, Message::new(0));
    m.read_reply();
    m.answer(&call, Message::new(0).bytes(&[1; 8]));
    expect!(p.read() => [Reply(_)]);
    let lines = trace.lines(&[&m, &p]);
    let expected = on(
        "binder",
        &[
            "call B1 -> A demo.IGreeter.hello 48 bytes",
            "  call A1 -> B1 code 2 0 bytes",
            "one-way A2 -> B code 3 0 bytes",
            "  reply B1 -> A1 code 2 0 bytes N us (N queued, N served, N returning)",
            "reply A1 -> B1 demo.IGreeter.hello 8 bytes N us (N queued, N served, N returning)",
        ],
    );
    assert_eq!(lines, expected, "{lines:#?}");
}

fn oneways(stage: &Stage, logs: &Path) {
    let (m, p) = (stage.manager(), stage.party());
    let trace = Trace::begin(logs);
    for code in [1, 2] {
        let oneway = commands().oneway(0, Message::new(code).bytes(&[0; 16]));
        expect!(p.exchange(oneway) => [TransactionComplete]);
    }
    let first = m.read_call();
    m.write(commands().free(first.buffer));
    let second = m.read_call();
    assert_eq!((first.code, second.code), (1, 2));
    let expected = on(
        "binder",
        &[
            "one-way B1 -> A code 1 16 bytes",
            "one-way B1 -> A code 2 16 bytes",
            "received by A1 code 1 N us",
            "received by A1 code 2 N us",
        ],
    );
    assert_eq!(trace.lines(&[&m, &p]), expected);
}

fn failures(stage: &Stage, logs: &Path) {
    let (m, p, q) = (stage.manager(), stage.party(), stage.party());
    let handle = introduce(&m, &q, OBJECT, &p);
    let trace = Trace::begin(logs);
    expect!(p.exchange(commands().call(99, Message::new(1))) => [FailedReply]);
    let mut info = BinderFreezeInfo { pid: m.pid().unsigned_abs(), enable: 1, timeout_ms: 0 };
    p.ioctl(BINDER_FREEZE, &mut info).unwrap();
    expect!(p.exchange(commands().call(0, Message::new(2))) => [FrozenReply]);
    info.enable = 0;
    p.ioctl(BINDER_FREEZE, &mut info).unwrap();
    p.park_with(commands().call(handle, Message::new(3)));
    q.read_call();
    q.exit_thread();
    expect!(p.woken() => [TransactionComplete, DeadReply]);
    q.close();
    let expected = on(
        "binder",
        &[
            "call B1 -> handle 99 code 1 0 bytes",
            "failed B1 code 1 BR_FAILED_REPLY (EINVAL) N us",
            "frozen A",
            "call B1 -> A code 2 0 bytes",
            "failed B1 code 2 BR_FROZEN_REPLY N us",
            "thawed A",
            "call B1 -> C code 3 0 bytes",
            "failed B1 code 3 BR_DEAD_REPLY N us",
        ],
    );
    let lines = trace.lines(&[&m, &p, &q]);
    assert_eq!(lines[..8], expected);
}

fn objects(stage: &Stage, logs: &Path) {
    let flags = FLAT_BINDER_FLAG_ACCEPTS_FDS;
    let object = FlatBinderObject { kind: BINDER_TYPE_BINDER, flags, binder: 1, cookie: 0 };
    let (m, p) = (stage.manager_named(object), stage.party());
    let handle = introduce(&m, &p, OBJECT, &m);
    let trace = Trace::begin(logs);
    p.write(commands().call(0, Message::new(1).binder(8, 8).descriptor(SOCKET, 0)));
    let call = m.read_call();
    m.answer(&call, Message::new(0).handle(handle));
    p.read();
    let expected = on(
        "binder",
        &[
            "call B1 -> A code 1 48 bytes",
            "  with object 1 as handle 2",
            "  with descriptor 0",
            "reply A1 -> B1 code 1 24 bytes N us (N queued, N served, N returning)",
            "  with object 2, the receiver's own",
        ],
    );
    assert_eq!(trace.lines(&[&m, &p]), expected);
}

fn several_devices(stage: &Stage, logs: &Path) {
    let trace = Trace::begin(logs);
    let m = stage.manager();
    let n = stage.enter(Entrance { device: Device::Second, ..Entrance::default() });
    stage.appoint(&n);
    let p = stage.party();
    let q = stage.enter(Entrance { device: Device::Second, ..Entrance::default() });
    for (client, server) in [(&p, &m), (&q, &n)] {
        client.write(commands().call(0, Message::new(1)));
        let call = server.read_call();
        server.answer(&call, Message::new(0));
        client.read_reply();
    }
    let story = |client: &str, server: &str| {
        [
            format!("call {client}1 -> {server} code 1 0 bytes"),
            format!(
                "reply {server}1 -> {client}1 code 1 0 bytes N us (N queued, N served, N returning)"
            ),
        ]
    };
    let first = story("B", "A");
    let second = story("D", "C");
    let mut expected = on("binder", &["opened by A", "opened by B"]);
    expected.insert(1, "hwbinder opened by C".into());
    expected.push("hwbinder opened by D".into());
    expected.extend(on("binder", &first.each_ref().map(String::as_str)));
    expected.extend(on("hwbinder", &second.each_ref().map(String::as_str)));
    assert_eq!(trace.lines(&[&m, &p, &n, &q]), expected);
}

fn deaths_and_freezes(stage: &Stage, logs: &Path) {
    let (m, p, q) = (stage.manager(), stage.party(), stage.party());
    let handle = introduce(&m, &q, OBJECT, &p);
    let trace = Trace::begin(logs);
    let mut info = BinderFreezeInfo { pid: q.pid().unsigned_abs(), enable: 1, timeout_ms: 0 };
    p.ioctl(BINDER_FREEZE, &mut info).unwrap();
    info.enable = 0;
    p.ioctl(BINDER_FREEZE, &mut info).unwrap();
    close_before(&q, &p, handle);
    let expected = on("binder", &["frozen C", "thawed C", "death of the owner of object 1, for B"]);
    let lines = trace.lines(&[&m, &p, &q]);
    assert_eq!(lines[..3], expected);
}

fn data(stage: &Stage, logs: &Path) {
    let (m, p) = (stage.manager(), stage.party());
    let trace = Trace::open(logs, "trace_data.stream", 6);
    let without = Trace::open(logs, "trace.stream", 6);
    p.write(commands().call(0, Message::new(1).bytes(b"question")));
    let call = m.read_call();
    m.answer(&call, Message::new(0).bytes(b"ok"));
    p.read_reply();
    let expected = on(
        "binder",
        &[
            "call B1 -> A code 1 8 bytes",
            "  0000 71 75 65 73 74 69 questi",
            "reply A1 -> B1 code 1 2 bytes N us (N queued, N served, N returning)",
            "  0000 6f 6b ok",
        ],
    );
    assert_eq!(trace.lines(&[&m, &p]), expected);
    assert_eq!(without.lines(&[&m, &p]).len(), 2);
}
