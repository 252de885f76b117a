//! Calls that pass the driver by, checked against what any call is: on the device /dev/binder, in a world of their own.
//!
//! Without an argument it is the client, and starts itself as its servers. How many calls the driver has seen is what its
//! statistics say, so nothing else may use the device meanwhile.

use std::error::Error;
use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::ops::RangeInclusive;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use std::{env, fs, thread};

use binder_os::BinderClient;
use binder_os::binder_client::{CallError, Incoming};
use binder_uapi::{
    BC_ACQUIRE, BC_ENTER_LOOPER, BC_FREE_BUFFER, BC_REPLY, BC_TRANSACTION, BC_TRANSACTION_SG,
    BINDER_TYPE_BINDER, BR_REPLY, BR_TRANSACTION, BinderTransactionData, BinderTransactionDataSg,
    FlatBinderObject, TF_ONE_WAY, payload_len,
};
use rustix::process::{Pid, Signal, kill_process};
use zerocopy::{FromBytes as _, IntoBytes as _};

type Outcome<T = ()> = Result<T, Box<dyn Error>>;

const DEVICE: &str = "/dev/binder";
const STATISTICS: &str = "/dev/binderfs/binder_logs/stats";

/// What a server is asked for: its call's bytes.
const ECHO: u32 = 1;
/// Who calls.
const WHO: u32 = 2;
/// Its bytes, after a while.
const SLOW: u32 = 3;
/// Nothing: it ends. This and what a call must bring an object for are no small numbers: a caller that scribbles writes those to the place
/// of the code, and would ask for it.
const END: u32 = 1004;
/// How many calls it has served that were one-way.
const COUNT: u32 = 5;
/// To keep the object that the call brings.
const KEEP: u32 = 1006;
/// What that object answers to the call's bytes.
const NEST: u32 = 1007;

/// Longer than a call stays in a lane.
const A_WHILE: Duration = Duration::from_millis(60);
/// How many calls bring a lane into use.
const WARM_UP: u32 = 40;

fn main() -> ExitCode {
    let role = env::args().nth(1);
    let outcome = match role.as_deref() {
        Some("server") => serve(false),
        Some("deferring server") => serve(true),
        Some("scribbling server") => {
            thread::spawn(scribble);
            serve(false)
        }
        Some("caller") => call_for_ever(),
        Some("scribbling caller") => call_and_scribble(),
        _ => check(),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            println!("lanes: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Serves until the device ends it.
fn serve(defers: bool) -> Outcome {
    let client = BinderClient::open_with_lanes(Path::new(DEVICE), 4)?;
    while client.become_context_manager().is_err() {
        thread::sleep(Duration::from_millis(1));
    }
    println!("ready");
    let (mut oneways, mut kept) = (0_u32, 0);
    let mut answer = |incoming: Incoming, is_oneway: bool| {
        oneways += u32::from(is_oneway);
        match incoming.code {
            KEEP => {
                kept = keep(&client, &incoming.data).expect("an object");
                Vec::new()
            }
            NEST => call_object(&client, kept, &incoming.data).expect("an answer"),
            WHO => [incoming.sender_pid.to_ne_bytes(), incoming.sender_euid.to_ne_bytes()].concat(),
            SLOW => {
                thread::sleep(A_WHILE);
                incoming.data
            }
            END => std::process::exit(0),
            COUNT => oneways.to_ne_bytes().into(),
            _ => incoming.data,
        }
    };
    if defers {
        match client.serve(|incoming| answer(incoming, false))? {}
    }
    let mut commands = BC_ENTER_LOOPER.to_ne_bytes().to_vec();
    let mut reply = Vec::new();
    loop {
        let mut returns = [0; 256];
        let filled = client.exchange(&commands, &[&reply], &mut returns)?;
        commands.clear();
        let mut rest = &returns[..filled];
        while let Some((code, after)) = rest.split_first_chunk() {
            let code = u32::from_ne_bytes(*code);
            let (payload, after) = after.split_at(payload_len(code));
            rest = after;
            if code != BR_TRANSACTION {
                continue;
            }
            let call =
                BinderTransactionData::read_from_bytes(payload).map_err(|_| "half a call")?;
            let mut data = Vec::new();
            client.copy_received(&call, &mut data)?;
            let BinderTransactionData { code, sender_pid, sender_euid, .. } = call;
            let is_oneway = call.flags & TF_ONE_WAY != 0;
            reply = answer(Incoming { code, sender_pid, sender_euid, data }, is_oneway);
            commands.extend(BC_FREE_BUFFER.to_ne_bytes());
            commands.extend(call.buffer.to_ne_bytes());
            if !is_oneway {
                commands.extend(BC_REPLY.to_ne_bytes());
                commands.extend(send(0, 0, &reply).as_bytes());
            }
        }
    }
}

/// Holds the object that a call has brought, whose handle this gives.
fn keep(client: &BinderClient, data: &[u8]) -> Outcome<u32> {
    let object = FlatBinderObject::read_from_bytes(data).map_err(|_| "half an object")?;
    let handle = u32::try_from(object.binder)?;
    let commands = [BC_ACQUIRE, handle].map(u32::to_ne_bytes);
    client.exchange(commands.as_flattened(), &[], &mut [])?;
    Ok(handle)
}

/// Calls an object, from within a call too.
fn call_object(client: &BinderClient, handle: u32, data: &[u8]) -> Outcome<Vec<u8>> {
    let head = BinderTransactionData { target: handle.into(), ..send(ECHO, 0, data) };
    let commands = [&BC_TRANSACTION.to_ne_bytes()[..], head.as_bytes()].concat();
    answer_until_reply(client, &commands, data, &mut |_| Vec::new())
}

/// Makes a call by `commands` that point to `data`, and answers those that come meanwhile.
fn answer_until_reply(
    client: &BinderClient,
    commands: &[u8],
    data: &[u8],
    answer: &mut dyn FnMut(Vec<u8>) -> Vec<u8>,
) -> Outcome<Vec<u8>> {
    let (mut commands, mut reply) = (commands.to_vec(), Vec::new());
    loop {
        let mut returns = [0; 256];
        let filled = client.exchange(&commands, &[data, &reply], &mut returns)?;
        commands.clear();
        let mut rest = &returns[..filled];
        while let Some((code, after)) = rest.split_first_chunk() {
            let code = u32::from_ne_bytes(*code);
            let (payload, after) = after.split_at(payload_len(code));
            rest = after;
            if ![BR_TRANSACTION, BR_REPLY].contains(&code) {
                continue;
            }
            let call =
                BinderTransactionData::read_from_bytes(payload).map_err(|_| "half a call")?;
            let mut received = Vec::new();
            client.copy_received(&call, &mut received)?;
            commands.extend(BC_FREE_BUFFER.to_ne_bytes());
            commands.extend(call.buffer.to_ne_bytes());
            if code == BR_REPLY {
                client.exchange(&commands, &[], &mut [])?;
                return Ok(received);
            }
            reply = answer(received);
            commands.extend(BC_REPLY.to_ne_bytes());
            commands.extend(send(0, 0, &reply).as_bytes());
        }
    }
}

fn send(code: u32, flags: u32, data: &[u8]) -> BinderTransactionData {
    let (data_size, buffer) = (data.len() as u64, data.as_ptr() as u64);
    BinderTransactionData { code, flags, data_size, buffer, ..Default::default() }
}

/// A server that serves.
struct Server(Child);

impl Server {
    fn start(role: &str) -> Outcome<Self> {
        let mut child = Command::new("/proc/self/exe").arg(role).stdout(Stdio::piped()).spawn()?;
        let said = child.stdout.take().ok_or("it has a pipe")?;
        let server = Self(child);
        let mut line = String::new();
        BufReader::new(said).read_line(&mut line)?;
        if line == "ready\n" { Ok(server) } else { Err("the server did not start".into()) }
    }

    fn kill(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
    }
}

/// How many calls, replies and one-ways the driver has sent on.
fn sent() -> Outcome<u64> {
    number_of("transaction: ")
}

/// How many commands of a name there were, those of lanes included.
fn count_of(command: &str) -> Outcome<u64> {
    number_of(&format!("{command}: "))
}

/// The number at the end of the line in the statistics that begins so.
fn number_of(heading: &str) -> Outcome<u64> {
    let text = fs::read_to_string(STATISTICS)?;
    let line = text.lines().find(|line| line.starts_with(heading));
    Ok(line.and_then(|line| line.split(' ').next_back()).map_or(Ok(0), str::parse)?)
}

fn expect<T: PartialEq + std::fmt::Debug>(what: &str, found: T, expected: T) -> Outcome {
    if found == expected {
        Ok(())
    } else {
        Err(format!("{what}: {found:?} instead of {expected:?}").into())
    }
}

fn open() -> Outcome<BinderClient> {
    Ok(BinderClient::open_with_lanes(Path::new(DEVICE), 4)?)
}

fn echo(client: &BinderClient, len: usize) -> Outcome {
    let data: Vec<u8> = (0..len).map(|at| (at * 7 + len).to_le_bytes()[0]).collect();
    let reply = client.call(ECHO, &data)?;
    if reply == data { Ok(()) } else { Err(format!("an echo of {len} bytes is another").into()) }
}

/// How many rounds of calls are made without a pause.
const HURRIED_ROUNDS: u32 = 20;
/// Where a server's processor is wanted by others, it comes to look in this time.
const PAUSE: Duration = Duration::from_millis(1);

/// Makes calls until they pass the driver by: twice as many as a thread makes by itself, that was refused a lane so often that
/// it hardly asks (4 << 12), or whose calls by one went wrong (1 << 10).
///
/// On a busy processor the next call may always be made before the server has come to look. Calls with pauses between leave it the time.
fn warm_up(client: &BinderClient) -> Outcome {
    for round in 0..1000 {
        let before = sent()?;
        for _ in 0..WARM_UP {
            if round >= HURRIED_ROUNDS {
                thread::sleep(PAUSE);
            }
            echo(client, 8)?;
        }
        if sent()? - before < u64::from(WARM_UP) / 2 {
            return Ok(());
        }
    }
    Err("calls do not pass the driver by".into())
}

/// A promise of Binder's, which a lane keeps.
type Check = fn() -> Outcome;

fn check() -> Outcome {
    let checks: [(&str, Check); 17] = [
        ("calls of all sizes come back whole", all_sizes),
        ("a server whose completions ride along has a lane", deferring),
        ("the server learns who calls, at each call", identity),
        ("a slow call is the driver's", slow),
        ("the end of a server ends its calls", server_ends),
        ("the end of a caller leaves its server as it was", caller_ends),
        ("a call comes after the one-way before it", order),
        ("what is not plain goes by the driver", not_plain),
        ("a call from within a call comes to the thread that waits", nested),
        ("a frozen server is not called", frozen),
        ("many callers are served", many),
        ("tools tell who has lanes", shown),
        ("calls by lanes are counted as others are", counted),
        ("who is traced has no lanes", traced),
        ("a caller that scribbles harms its own calls alone", scribbling_caller),
        ("a server that scribbles harms the calls to it alone", scribbling_server),
        ("a process that is killed at any moment leaves the others", killed),
    ];
    for (what, check) in checks {
        check().map_err(|error| format!("{what}: {error}"))?;
        println!("ok: {what}");
    }
    Ok(())
}

fn all_sizes() -> Outcome {
    let _server = Server::start("server")?;
    let client = open()?;
    warm_up(&client)?;
    for len in (0..300).chain([4096, 65_536, 73_000, 73_536, 73_537, 80_000, 200_000]) {
        echo(&client, len)?;
        echo(&client, 3)?;
    }
    warm_up(&client)
}

fn deferring() -> Outcome {
    let _server = Server::start("deferring server")?;
    let client = open()?;
    warm_up(&client)?;
    for len in [0, 5, 4096, 65_536] {
        echo(&client, len)?;
    }
    let slow = client.call(SLOW, b"slow")?;
    expect("the reply", &slow[..], b"slow")
}

fn who(client: &BinderClient) -> Outcome<(u32, u32)> {
    let told = client.call(WHO, &[])?;
    let [pid, uid] = *told.as_chunks::<4>().0 else { return Err("no two numbers".into()) };
    Ok((u32::from_ne_bytes(pid), u32::from_ne_bytes(uid)))
}

fn identity() -> Outcome {
    let _server = Server::start("server")?;
    let client = open()?;
    warm_up(&client)?;
    let (pid, uid) = (std::process::id(), rustix::process::geteuid().as_raw());
    // On a busy machine a call may take so long that the driver adopts it.
    let mut passes_by = false;
    for _ in 0..50 {
        warm_up(&client)?;
        let before = sent()?;
        expect("who calls", who(&client)?, (pid, uid))?;
        passes_by = sent()? == before;
        if passes_by {
            break;
        }
    }
    expect("a call passes the driver by", passes_by, true)?;
    if uid == 0 {
        let other = rustix::process::Uid::from_raw(12_345);
        // This thread is another user from here on, and the driver is not asked.
        rustix::thread::set_thread_res_uid(other, other, rustix::process::Uid::ROOT)?;
        let told = who(&client);
        rustix::thread::set_thread_res_uid(
            rustix::process::Uid::ROOT,
            rustix::process::Uid::ROOT,
            rustix::process::Uid::ROOT,
        )?;
        expect("who calls with another uid", told?, (pid, 12_345))?;
        expect("who calls", who(&client)?, (pid, 0))?;
    }
    Ok(())
}

fn slow() -> Outcome {
    let _server = Server::start("server")?;
    let client = open()?;
    for _ in 0..3 {
        warm_up(&client)?;
        let reply = client.call(SLOW, b"later")?;
        expect("the reply", &reply[..], b"later")?;
        echo(&client, 10)?;
    }
    Ok(())
}

fn server_ends() -> Outcome {
    let mut server = Server::start("server")?;
    let client = open()?;
    warm_up(&client)?;
    let begun = Instant::now();
    let ended = client.call(END, &[]);
    expect("the call", matches!(ended, Err(CallError::Dead)), true)?;
    expect("it took long", begun.elapsed() < Duration::from_secs(10), true)?;
    expect("another", matches!(client.call(ECHO, &[]), Err(CallError::Dead)), true)?;
    server.kill();
    // Killed from outside, while it serves.
    let mut server = Server::start("server")?;
    let client = open()?;
    warm_up(&client)?;
    let pid = server.0.id();
    let killer = thread::spawn(move || {
        thread::sleep(Duration::from_millis(5));
        let pid = Pid::from_raw(pid.cast_signed()).expect("a number");
        kill_process(pid, Signal::KILL)
    });
    let ended = client.call(SLOW, &[]);
    killer.join().map_err(|_| "no killer")??;
    expect("the call", matches!(ended, Err(CallError::Dead)), true)?;
    server.kill();
    Ok(())
}

fn caller_ends() -> Outcome {
    let _server = Server::start("server")?;
    for at in 0..20 {
        let caller = thread::spawn(move || {
            let client = open().map_err(|error| error.to_string())?;
            warm_up(&client).map_err(|error| error.to_string())?;
            if at % 2 == 0 { Ok(()) } else { echo(&client, at).map_err(|error| error.to_string()) }
        });
        caller.join().map_err(|_| "it panics")??;
    }
    let client = open()?;
    warm_up(&client)
}

fn order() -> Outcome {
    let _server = Server::start("server")?;
    let client = open()?;
    warm_up(&client)?;
    count_oneways(&client, 1..=100)?;
    // While others keep the server busy, by lanes and by the driver.
    let is_over = AtomicBool::new(false);
    let crowd = |open: fn() -> Outcome<BinderClient>| -> Result<(), String> {
        let other = open().map_err(|error| error.to_string())?;
        while !is_over.load(Ordering::Relaxed) {
            echo(&other, 8).map_err(|error| error.to_string())?;
        }
        Ok(())
    };
    thread::scope(|scope| {
        let by_fuse = || Ok(BinderClient::open_without_ring(Path::new(DEVICE))?);
        let others: [fn() -> Outcome<BinderClient>; 4] = [open, open, by_fuse, by_fuse];
        let others = others.map(|open| scope.spawn(move || crowd(open)));
        let counted = count_oneways(&client, 101..=1000);
        is_over.store(true, Ordering::Relaxed);
        for other in others {
            other.join().map_err(|_| "it panics")??;
        }
        counted
    })
}

/// Sends one-ways to a server of one thread, and after each a call that tells how many there were.
fn count_oneways(client: &BinderClient, numbers: RangeInclusive<u32>) -> Outcome {
    for expected in numbers {
        let head = send(ECHO, TF_ONE_WAY, &[]);
        let commands = [&BC_TRANSACTION.to_ne_bytes()[..], head.as_bytes()].concat();
        client.exchange(&commands, &[], &mut [0; 256])?;
        let count = client.call(COUNT, &[])?;
        expect("one-ways before a call", &count[..], &expected.to_ne_bytes())?;
        echo(client, 4)?;
    }
    Ok(())
}

fn not_plain() -> Outcome {
    let _server = Server::start("server")?;
    let client = open()?;
    warm_up(&client)?;
    for (flags, what) in [(TF_ONE_WAY, "a one-way"), (0x20, "one whose buffer is to be cleared")] {
        let before = sent()?;
        let head = send(ECHO, flags, &[]);
        let commands = [&BC_TRANSACTION.to_ne_bytes()[..], head.as_bytes()].concat();
        let mut returns = [0; 256];
        let mut filled = client.exchange(&commands, &[], &mut returns)?;
        // A completion, and a reply with its buffer.
        while flags != TF_ONE_WAY && filled < 64 {
            filled = client.exchange(&[], &[], &mut returns)?;
        }
        let sent = sent()? - before;
        expect(what, sent, if flags == TF_ONE_WAY { 1 } else { 2 })?;
    }
    let before = sent()?;
    echo(&client, 100_000)?;
    expect("a large call, and its reply", sent()? - before, 2)?;
    // It could bring buffers, though it brings none.
    warm_up(&client)?;
    let before = count_of("BC_TRANSACTION_SG")?;
    let transaction_data = send(ECHO, 0, b"gather");
    let head = BinderTransactionDataSg { transaction_data, buffers_size: 0 };
    let commands = [&BC_TRANSACTION_SG.to_ne_bytes()[..], head.as_bytes()].concat();
    let mut filled = client.exchange(&commands, &[b"gather"], &mut [0; 256])?;
    while filled < 64 {
        filled = client.exchange(&[], &[], &mut [0; 256])?;
    }
    expect("one that may gather buffers", count_of("BC_TRANSACTION_SG")? - before, 1)
}

/// Another thread of the caller's is idle, to which a call from within must not come.
fn nested() -> Outcome {
    let _server = Server::start("server")?;
    let client = open()?;
    let idle = client.for_another_thread();
    // It ends with this process.
    thread::spawn(move || idle.serve(|_| b"the other thread".to_vec()));
    let object = FlatBinderObject { kind: BINDER_TYPE_BINDER, binder: 8, ..Default::default() };
    let offsets = [0_u64];
    let head = BinderTransactionData {
        offsets_size: 8,
        offsets: offsets.as_ptr() as u64,
        ..send(KEEP, 0, object.as_bytes())
    };
    let commands = [&BC_TRANSACTION.to_ne_bytes()[..], head.as_bytes()].concat();
    let (mut filled, mut returns) = (0, [0; 256]);
    let mut unsent = &commands[..];
    while filled < 64 {
        filled = client.exchange(unsent, &[object.as_bytes(), offsets.as_bytes()], &mut returns)?;
        unsent = &[];
    }
    for len in 0..20_u8 {
        warm_up(&client)?;
        let question: Vec<u8> = (0..len).collect();
        let head = send(NEST, 0, &question);
        let commands = [&BC_TRANSACTION.to_ne_bytes()[..], head.as_bytes()].concat();
        let (mut asked, answer) = (Vec::new(), vec![len; 3]);
        let told = answer_until_reply(&client, &commands, &question, &mut |question| {
            asked.push(question);
            answer.clone()
        })?;
        expect("what was asked of the thread that waits", asked, vec![question])?;
        expect("what it answered", told, answer)?;
    }
    warm_up(&client)
}

fn frozen() -> Outcome {
    let server = Server::start("server")?;
    let (client, mut other) = (open()?, BinderClient::open_without_ring(Path::new(DEVICE))?);
    for _ in 0..5 {
        warm_up(&client)?;
        other.set_frozen(server.0.id(), true)?;
        let refused = client.call(ECHO, &[]);
        expect("the call", matches!(refused, Err(CallError::Frozen)), true)?;
        other.set_frozen(server.0.id(), false)?;
    }
    warm_up(&client)?;
    for (who, pid) in [("server", server.0.id()), ("caller", std::process::id())] {
        other = with_a_call_under_way(&client, other, pid).map_err(|it| format!("{who}: {it}"))?;
        warm_up(&client)?;
    }
    Ok(())
}

/// Looks that a process cannot be frozen while the client's call is under way. On a busy machine that may be over by the time of
/// the freeze.
fn with_a_call_under_way(
    client: &BinderClient,
    mut other: BinderClient,
    pid: u32,
) -> Outcome<BinderClient> {
    for _ in 0..20 {
        warm_up(client)?;
        let freezer = thread::spawn(move || {
            thread::sleep(Duration::from_millis(10));
            let frozen = other.set_frozen(pid, true).map_err(|error| error.raw_os_error());
            (other, frozen)
        });
        let reply = client.call(SLOW, b"under way");
        let busy;
        (other, busy) = freezer.join().map_err(|_| "no freezer")?;
        match (reply, busy) {
            (Ok(reply), Err(Some(11))) => {
                expect("the reply", &reply[..], b"under way")?;
                return Ok(other);
            }
            (_, Ok(())) => other.set_frozen(pid, false)?,
            (reply, busy) => return Err(format!("{reply:?}, and the freeze: {busy:?}").into()),
        }
    }
    Err("it can be frozen although it is busy".into())
}

/// The program whose driver this is.
fn program() -> Outcome<Command> {
    Ok(Command::new(env::current_exe()?.with_file_name("anybinder")))
}

/// How many open files have lanes, in either direction.
fn files_with_lanes() -> Outcome<usize> {
    let told = program()?.args(["ps", "--json"]).output()?;
    Ok(String::from_utf8(told.stdout)?.matches(r#""door":"lane""#).count())
}

fn shown() -> Outcome {
    let _server = Server::start("server")?;
    let client = open()?;
    echo(&client, 4)?;
    expect("open files with lanes", files_with_lanes()?, 0)?;
    warm_up(&client)?;
    expect("open files with lanes", files_with_lanes()?, 2)
}

fn counted() -> Outcome {
    let _server = Server::start("server")?;
    let client = open()?;
    warm_up(&client)?;
    let counts = || -> Outcome<[u64; 4]> {
        let [calls, replies] = [count_of("BC_TRANSACTION")?, count_of("BC_REPLY")?];
        Ok([calls, replies, count_of("BR_TRANSACTION")?, count_of("BR_REPLY")?])
    };
    let before = counts()?;
    (0..WARM_UP).try_for_each(|_| echo(&client, 4))?;
    let expected = before.map(|count| count + u64::from(WARM_UP));
    expect("commands and returns", counts()?, expected)?;
    // Of those that are gone as well.
    drop(client);
    expect("commands and returns", counts()?, expected)
}

fn traced() -> Outcome {
    let _server = Server::start("server")?;
    let client = open()?;
    warm_up(&client)?;
    let trace = program()?.args(["trace", "--json"]).stdout(Stdio::null()).spawn()?;
    let trace = Server(trace);
    let until = Instant::now() + Duration::from_secs(20);
    loop {
        let before = sent()?;
        (0..WARM_UP).try_for_each(|_| echo(&client, 4))?;
        if sent()? - before == 2 * u64::from(WARM_UP) {
            break;
        }
        expect("calls pass a traced driver by", Instant::now() < until, true)?;
    }
    drop(trace);
    warm_up(&client)
}

/// Writes anything to the words of this process's lanes and rings, without an end.
fn scribble() {
    let mut random = u64::from(std::process::id()) | 1;
    let mut next = move |below: usize| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        usize::try_from(random >> 11).expect("a machine of 64 bits") % below
    };
    let Ok(memory) = File::options().write(true).open("/proc/self/mem") else { return };
    loop {
        thread::sleep(Duration::from_millis(1));
        let Ok(maps) = fs::read_to_string("/proc/self/maps") else { return };
        let start = |line: &str| u64::from_str_radix(line.split('-').next()?, 16).ok();
        let of = |name: &str| -> Vec<u64> {
            maps.lines().filter(|line| line.contains(name)).filter_map(start).collect()
        };
        let (lanes, rings) = (of("memfd:binder-lane"), of("memfd:binder-ring"));
        for _ in 0..200 {
            let value = match next(4) {
                0 => u32::try_from(next(16)).expect("a small number"),
                1 => u32::MAX,
                _ => u32::try_from(next(1 << 32)).expect("32 bits"),
            };
            let of_lane = lanes.get(next(lanes.len().max(1)));
            let place = match (of_lane, rings.first()) {
                (Some(lane), _) if next(3) > 0 => {
                    lane + [0, 64, 68, 72, 76, 128, 132, 136, 140, 192][next(10)]
                }
                // What a thread does by a lane, and where it stands.
                (_, Some(ring)) => ring + (4096 + next(31) * (72 << 10) + 20 + next(4) * 4) as u64,
                _ => continue,
            };
            // It may have been unmapped by now.
            let _ = memory.write_at(&value.to_ne_bytes(), place);
        }
    }
}

/// Makes calls for ever, in two threads.
fn call_for_ever() -> Outcome {
    println!("ready");
    let client = open()?;
    let other = client.for_another_thread();
    let thread = thread::spawn(move || while other.call(ECHO, &[5; 8]).is_ok() {});
    while client.call(ECHO, &[6; 8]).is_ok() {}
    thread.join().map_err(|_| "it panics".into())
}

/// Makes calls for ever, whatever comes of them, while another thread scribbles.
fn call_and_scribble() -> Outcome {
    thread::spawn(scribble);
    println!("ready");
    loop {
        let Ok(client) = open() else { continue };
        for at in 0..1000 {
            let _ = client.call(ECHO, &[7; 64][..at % 64]);
        }
    }
}

fn scribbling_caller() -> Outcome {
    let _server = Server::start("server")?;
    let client = open()?;
    for _ in 0..6 {
        let mut hostile = Server::start("scribbling caller")?;
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_millis(500) {
            echo(&client, 100)?;
        }
        hostile.kill();
    }
    warm_up(&client)
}

fn scribbling_server() -> Outcome {
    for _ in 0..4 {
        let mut server = Server::start("scribbling server")?;
        let client = open()?;
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_millis(500) {
            // It may be any, but it ends.
            let called = Instant::now();
            let killer = kill_after(server.0.id(), Duration::from_secs(2));
            let _ = client.call(ECHO, &[3; 100]);
            drop(killer);
            expect("a call takes long", called.elapsed() < Duration::from_secs(20), true)?;
        }
        server.kill();
        expect("the server is gone", client.call(ECHO, &[]).is_err(), true)?;
    }
    let _server = Server::start("server")?;
    warm_up(&open()?)
}

/// Kills a process after a while, unless what this returns is dropped before.
fn kill_after(pid: u32, after: Duration) -> std::sync::mpsc::Sender<()> {
    let (keep, kept) = std::sync::mpsc::channel();
    thread::spawn(move || {
        let is_over = kept.recv_timeout(after) == Err(std::sync::mpsc::RecvTimeoutError::Timeout);
        if is_over && let Some(pid) = Pid::from_raw(pid.cast_signed()) {
            let _ = kill_process(pid, Signal::KILL);
        }
    });
    keep
}

fn killed() -> Outcome {
    // A caller.
    let server = Server::start("server")?;
    let client = open()?;
    for at in 0..30 {
        let mut caller = Server::start("caller")?;
        thread::sleep(Duration::from_micros(3000 + at * 997));
        caller.kill();
        echo(&client, 50)?;
    }
    warm_up(&client)?;
    drop(server);
    // A server.
    for at in 0..30 {
        let mut server = Server::start("server")?;
        let client = open()?;
        let killer = kill_after(server.0.id(), Duration::from_micros(3000 + at * 997));
        let failed = (0..).find_map(|_| echo(&client, 50).err());
        drop(killer);
        expect("the call fails", failed.is_some(), true)?;
        server.kill();
    }
    Ok(())
}

/// How many lanes may lead to one open file.
const MAX_LANES: usize = 24;

/// More callers than may have lanes: the others are served all the same.
fn many() -> Outcome {
    const CALLERS: usize = MAX_LANES + 16;
    let _server = Server::start("server")?;
    let have_called = Barrier::new(CALLERS + 1);
    let have_been_counted = Barrier::new(CALLERS + 1);
    let call = &|at: usize| -> Result<(), String> {
        let called = open().and_then(|client| {
            (0..300).try_for_each(|len| echo(&client, len + at))?;
            Ok(client)
        });
        // Whatever has become of it, others wait for it here.
        have_called.wait();
        have_been_counted.wait();
        called.and_then(|client| echo(&client, 4)).map_err(|error| error.to_string())
    };
    thread::scope(|scope| {
        let callers: Vec<_> = (0..CALLERS).map(|at| scope.spawn(move || call(at))).collect();
        have_called.wait();
        let with_lanes = files_with_lanes();
        have_been_counted.wait();
        for caller in callers {
            caller.join().map_err(|_| "it panics")??;
        }
        // The server is one of them.
        let with_lanes = with_lanes?;
        let is_within = (2..=1 + MAX_LANES).contains(&with_lanes);
        if is_within { Ok(()) } else { Err(format!("{with_lanes} files have lanes").into()) }
    })
}
