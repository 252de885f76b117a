//! `anybinder trace`, line by line: nested calls, one-ways, failures, objects, descriptors, a freeze, a death, two devices.

use std::collections::BTreeMap;
use std::env;
use std::fmt::Write;
use std::path::Path;
use std::process::Command;

use binder_testkit::{
    Device, DeviceRig, Entrance, Message, Party, Return, Stage, commands, expect, introduce,
};
use binder_uapi::{
    BINDER_FREEZE, BINDER_TYPE_BINDER, BinderFreezeInfo, FLAT_BINDER_FLAG_ACCEPTS_FDS,
    FlatBinderObject, TF_STATUS_CODE,
};

use super::{PART_VARIABLE, PROGRAM};

/// A descriptor that all processes of the test kit have.
const DESCRIPTOR: u64 = 0;
/// A handle that no process has.
const UNKNOWN_HANDLE: u32 = 77;

/// The trace of [`play`], with roles and places instead of the numbers of processes, threads and objects, and without times.
const EXPECTED: &str = include_str!("trace.txt");

/// Plays the scenario in a traced world, and compares the lines.
pub(super) fn tell_a_scenario() {
    let dir = tempfile::tempdir().unwrap();
    let trace = dir.path().join("trace");
    let mut command = Command::new(PROGRAM);
    command.args(["trace", "--max-bytes", "16", "--output"]).arg(&trace).arg("--");
    command.arg(env::current_exe().unwrap()).env(PART_VARIABLE, "traced");
    let output = command.output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{:?}\n{told}", output.status);
    let roles = String::from_utf8(output.stdout).unwrap();
    let mut masks = Masks::new(&roles);
    let trace = std::fs::read_to_string(trace).unwrap();
    let mut lines: Vec<_> = trace.lines().map(|line| masks.masked(line)).collect();
    // The test kit has a process ready for another host.
    lines.retain(|line| !line.ends_with(" exe"));
    // The processes end together.
    let end = lines.iter().rposition(|line| !line.contains(" closed by ")).unwrap() + 1;
    lines[end..].sort();
    let mut text = lines.join("\n");
    text.push('\n');
    assert!(text == EXPECTED, "expected:\n{EXPECTED}\ntold:\n{text}");
}

/// The scenario. Prints which process plays which role.
pub(super) fn play() {
    let device = Path::new("/dev/binderfs/binder");
    let rig = DeviceRig::new(device, &device.with_file_name("hwbinder")).unwrap();
    let stage = Stage::new(Box::new(rig));
    let flags = FLAT_BINDER_FLAG_ACCEPTS_FDS;
    let object = FlatBinderObject { kind: BINDER_TYPE_BINDER, flags, binder: 1, cookie: 0 };
    let manager = stage.manager_named(object);
    let (client, server) = (stage.party(), stage.party());
    for (role, party) in [("manager", &manager), ("client", &client), ("server", &server)] {
        println!("{role} {}", party.pid());
    }
    let server_at_client = introduce(&manager, &server, (0x10, 0x20), &client);
    let client_at_server = introduce(&manager, &client, (0x30, 0x40), &server);
    call_within_a_call((&client, server_at_client), (&server, client_at_server));
    send_oneways(&client, server_at_client, &server);
    fail(&client, server_at_client, &server);
    send_a_descriptor(&client, &manager);
    freeze(&client, server_at_client, &server);
    use_another_device(&stage, &manager, &server);
    die(&client, server_at_client, &server);
    stage.tear_down();
}

/// The client's only thread waits for the server, and is called by it.
fn call_within_a_call(
    (client, server_at_client): (&Party<'_>, u32),
    (server, client_at_server): (&Party<'_>, u32),
) {
    client.write(commands().call(server_at_client, Message::new(1).bytes(&token("demo.IGreeter"))));
    let outer = server.read_call();
    server.write(commands().call(client_at_server, Message::new(2).bytes(b"who?")));
    expect!(client.read() => [Return::TransactionComplete, Return::Transaction(inner)]);
    client.answer(&inner, Message::new(0).bytes(b"\x1b[31m"));
    let name = server.read_reply();
    server.write(commands().free(name.buffer));
    server.answer(&outer, Message::new(0).bytes(b"hello"));
    expect!(client.read() => [Return::Reply(reply)]);
    client.write(commands().free(reply.buffer));
}

/// Two to one object: the second waits until the first is done.
fn send_oneways(client: &Party<'_>, server_at_client: u32, server: &Party<'_>) {
    for code in [3, 4] {
        let oneway = commands().oneway(server_at_client, Message::new(code));
        expect!(client.exchange(oneway) => [Return::TransactionComplete]);
    }
    for _ in 0..2 {
        let oneway = server.read_call();
        server.write(commands().free(oneway.buffer));
    }
}

/// A call to an unknown handle, and a call that is answered with a status.
fn fail(client: &Party<'_>, server_at_client: u32, server: &Party<'_>) {
    let call = commands().call(UNKNOWN_HANDLE, Message::new(5));
    expect!(client.exchange(call) => [Return::FailedReply]);
    client.write(commands().call(server_at_client, Message::new(6)));
    let call = server.read_call();
    let unknown_transaction = Message::new(0).flags(TF_STATUS_CODE).bytes(&(-74_i32).to_le_bytes());
    server.answer(&call, unknown_transaction);
    let reply = client.read_reply();
    client.write(commands().free(reply.buffer));
}

/// One in a call, which the receiver takes, and one in the reply, which the caller does not accept.
fn send_a_descriptor(client: &Party<'_>, manager: &Party<'_>) {
    client.write(commands().call(0, Message::new(7).descriptor(DESCRIPTOR, 0)));
    let call = manager.read_call();
    manager.answer(&call, Message::new(0).descriptor(DESCRIPTOR, 0));
    expect!(client.read() => [Return::TransactionComplete, Return::FailedReply]);
}

fn freeze(client: &Party<'_>, server_at_client: u32, server: &Party<'_>) {
    let pid = server.pid().unsigned_abs();
    let mut info = BinderFreezeInfo { pid, enable: 1, timeout_ms: 0 };
    client.ioctl(BINDER_FREEZE, &mut info).unwrap();
    let call = commands().call(server_at_client, Message::new(8));
    expect!(client.exchange(call) => [Return::FrozenReply]);
    info.enable = 0;
    client.ioctl(BINDER_FREEZE, &mut info).unwrap();
}

/// The same processes on a device with a context manager of its own.
fn use_another_device(stage: &Stage, manager: &Party<'_>, server: &Party<'_>) {
    let enter = |party: &Party<'_>| {
        let host = Some(party.host());
        stage.enter(Entrance { host, device: Device::Second, ..Entrance::default() })
    };
    let (manager, server) = (enter(manager), enter(server));
    stage.appoint(&manager);
    server.write(commands().call(0, Message::new(9)));
    let call = manager.read_call();
    manager.answer(&call, Message::new(0));
    let reply = server.read_reply();
    server.write(commands().free(reply.buffer));
    server.close();
    manager.close();
}

/// The server ends while it is called, and the client is told of its death as well.
fn die(client: &Party<'_>, server_at_client: u32, server: &Party<'_>) {
    client.write(commands().request_death(server_at_client, 1));
    client.park_with(commands().call(server_at_client, Message::new(10)));
    server.kill();
    expect!(client.woken() => [Return::TransactionComplete, Return::DeadReply]);
    expect!(client.read() => [Return::DeadBinder(1)]);
    client.write(commands().dead_binder_done(1));
}

/// The token with which a call of Android's libraries begins.
fn token(interface: &str) -> Vec<u8> {
    let mut token =
        [[0; 4], [0xff; 4], *b"TSYS", [interface.len().to_le_bytes()[0], 0, 0, 0]].concat();
    let units: Vec<u16> = interface.encode_utf16().chain([0]).collect();
    token.extend(units.iter().flat_map(|unit| unit.to_le_bytes()));
    token.resize(token.len().next_multiple_of(4), 0);
    token
}

/// Replaces the words that differ from run to run.
struct Masks {
    roles: BTreeMap<String, String>,
    /// Threads of each process, in the order in which they are seen.
    threads: BTreeMap<String, Vec<String>>,
    objects: Vec<String>,
}

impl Masks {
    /// `roles` has a line for each process: its role and its number.
    fn new(roles: &str) -> Self {
        let roles = roles.lines().map(|line| {
            let (role, pid) = line.split_once(' ').unwrap();
            (pid.to_owned(), role.to_owned())
        });
        Self { roles: roles.collect(), threads: BTreeMap::new(), objects: Vec::new() }
    }

    /// A line without its time, durations, and the numbers of processes, threads and objects.
    fn masked(&mut self, line: &str) -> String {
        // The time has 15 bytes. Spaces are kept: they show what is nested.
        let mut words = line[15..].split(' ').peekable();
        let mut masked = String::new();
        let mut last = "";
        while let Some(word) = words.next() {
            let is_duration =
                matches!(words.peek(), Some(&("us" | "queued," | "served," | "returning)")));
            if let Some(party) = self.party(word) {
                // Behind it is the name of the program, which all have in common.
                words.next();
                masked.push_str(&party);
            } else if is_duration {
                masked.push_str(if word.starts_with('(') { "(_" } else { "_" });
            } else if last == "object" {
                let (number, comma) = word.split_at(word.trim_end_matches(',').len());
                write!(masked, "{}{comma}", place(&mut self.objects, number)).unwrap();
            } else {
                masked.push_str(word);
            }
            masked.push(' ');
            last = word;
        }
        masked.trim_end().to_owned()
    }

    /// The role of a process, with the place of the thread among those that were seen.
    fn party(&mut self, word: &str) -> Option<String> {
        let (pid, tid) = word.split_once(':').map_or((word, None), |(pid, tid)| (pid, Some(tid)));
        let role = self.roles.get(pid.trim_end_matches(','))?;
        let threads = self.threads.entry(role.clone()).or_default();
        Some(match tid {
            Some(tid) => format!("{role}:{}", place(threads, tid)),
            None => role.clone(),
        })
    }
}

/// The place of something in a list, from 1 on, to which it is added if it is new.
fn place(known: &mut Vec<String>, new: &str) -> usize {
    let at = known.iter().position(|it| it == new).unwrap_or_else(|| {
        known.push(new.to_owned());
        known.len() - 1
    });
    at + 1
}
