//! What the driver tells of itself.
//!
//! A binderfs shows it in `binder_logs/`, if it was mounted with `stats=global`; a kernel also in
//! debugfs, of all devices together. So nothing is said of processes that a check does not know.

use std::fs;
use std::path::{Path, PathBuf};

use binder_testkit::{DeviceRig, Driver, Message, Party, Stage, commands};
use binder_uapi::BR_FAILED_REPLY;

use crate::registry::checks;

/// Where a kernel's driver shows itself outside binderfs.
const DEBUGFS: &str = "/sys/kernel/debug/binder";

/// Entries that a log keeps.
const LOG_ENTRIES: usize = 32;

const PTR: u64 = 0x7fff_1234_5678;
const COOKIE: u64 = 0x7fff_1234_5680;

checks! {
    Device c237_the_state_shows_what_a_process_has,
    Device c238_statistics_count_and_come_back_to_zero,
    Device c239_transactions_leave_idle_processes_out,
    Device c240_the_logs_keep_the_last_32_sends,
}

/// The directory of the logs of the driver under test.
fn logs(stage: &Stage) -> PathBuf {
    let system = stage.rig().system().expect("a check for devices");
    let own = system.device_path().with_file_name("binder_logs");
    if own.exists() {
        return own;
    }
    if stage.driver() == Driver::Kernel && Path::new(DEBUGFS).join("state").exists() {
        return DEBUGFS.into();
    }
    stage.skip("the driver shows no logs: mount its binderfs with stats=global")
}

fn read(stage: &Stage, name: &str) -> String {
    fs::read_to_string(logs(stage).join(name)).unwrap()
}

/// What a log says of one process, without its head; `None` if it does not mention it.
fn section<'a>(log: &'a str, party: &Party<'_>) -> Option<Vec<&'a str>> {
    let head = format!("proc {}", party.pid());
    let mut lines = log.lines().skip_while(|line| *line != head);
    lines.next()?;
    Some(lines.take_while(|line| !line.starts_with("proc ")).collect())
}

/// The words of the one line that begins so.
fn words<'a>(lines: &[&'a str], start: &str) -> Vec<&'a str> {
    let found: Vec<_> = lines.iter().filter(|line| line.starts_with(start)).collect();
    assert_eq!(found.len(), 1, "{start:?} in {lines:#?}");
    found[0].split_whitespace().collect()
}

/// The word after `name`.
fn value<'a>(words: &[&'a str], name: &str) -> &'a str {
    let at = words.iter().position(|word| *word == name);
    words[at.unwrap_or_else(|| panic!("no {name} in {words:?}")) + 1]
}

fn c237_the_state_shows_what_a_process_has(stage: &Stage) {
    let directory = logs(stage);
    let m = stage.manager();
    let p = stage.party();
    p.write(commands().call(0, Message::new(0x1f).flags(0x10).binder(PTR, COOKIE)));
    let call = m.read_call();
    let handle = m.objects(&call)[0].handle();
    m.write(commands().increfs(handle));

    let state = read(stage, "state");
    assert_eq!(state.lines().next(), Some("binder state:"));
    let of_m = section(&state, &m).unwrap();
    let device = stage.rig().system().unwrap().device_path().file_name().unwrap();
    assert_eq!(of_m[0], format!("context {}", device.to_str().unwrap()));
    let thread = words(&of_m, "  thread ");
    assert_eq!([thread[2], thread[3], thread[4]], ["l", "00", "need_return"]);
    let incoming = words(&of_m, "    incoming transaction ");
    let (from, to) = (format!("{}:", p.pid()), format!("{}:", m.pid()));
    assert!(value(&incoming, "from").starts_with(&from), "{incoming:?}");
    assert!(value(&incoming, "to").starts_with(&to), "{incoming:?}");
    assert_eq!((value(&incoming, "code"), value(&incoming, "flags")), ("1f", "10"));
    assert_eq!(value(&incoming, "size"), "24:8");
    let buffer = words(&of_m, "  buffer ");
    assert_eq!(buffer[1], incoming[2], "a buffer has the number of its transaction");
    assert_eq!((value(&buffer, "size"), buffer[buffer.len() - 1]), ("24:8:0", "active"));
    let reference = words(&of_m, "  ref ");
    assert_eq!(value(&reference, "desc"), handle.to_string());
    assert_eq!((value(&reference, "s"), value(&reference, "w")), ("1", "1"));

    let of_p = section(&state, &p).unwrap();
    let outgoing = words(&of_p, "    outgoing transaction ");
    assert_eq!(outgoing[2], incoming[2], "both sides show one transaction");
    let node = words(&of_p, "  node ");
    assert_eq!(node[1].trim_end_matches(':'), value(&reference, "node"));
    assert_eq!((node[2], node[3]), (&*format!("u{PTR:016x}"), &*format!("c{COOKIE:016x}")));
    assert_eq!((value(&node, "iw"), value(&node, "proc")), ("1", &*m.pid().to_string()));

    let own = fs::read_to_string(directory.join("proc").join(m.pid().to_string())).unwrap();
    assert_eq!(own.lines().next(), Some("binder proc state:"));
    assert_eq!(section(&own, &m).unwrap()[0], of_m[0]);
    assert!(section(&own, &p).is_none());
}

/// The live objects of each kind, as `stats` says.
fn active(stats: &str) -> Vec<(&str, &str)> {
    let all = stats.lines().take_while(|line| !line.starts_with("proc ") || line.contains(':'));
    all.filter_map(|line| {
        let (kind, rest) = line.split_once(": active ")?;
        Some((kind, rest.split(' ').next()?))
    })
    .collect()
}

fn c238_statistics_count_and_come_back_to_zero(stage: &Stage) {
    logs(stage);
    // A stage of its own, which is torn down before the check ends.
    let path = stage.rig().system().unwrap().device_path();
    let inner = Stage::new(Box::new(DeviceRig::new(path, path).unwrap()));
    let m = inner.manager();
    let p = inner.party();
    m.set_max_threads(15);
    for code in 1..=2 {
        p.write(commands().call(0, Message::new(code)));
        let call = m.read_call();
        m.answer(&call, Message::new(0));
        p.read_reply();
    }
    let stats = read(stage, "stats");
    assert_eq!(stats.lines().next(), Some("binder stats:"));
    let of_p = section(&stats, &p).unwrap();
    for line in ["  threads: 1", "  requested threads: 0+0/0", "  nodes: 0", "  BC_TRANSACTION: 2"]
    {
        assert!(of_p.contains(&line), "{line}: {of_p:#?}");
    }
    let of_m = section(&stats, &m).unwrap();
    for line in
        ["  requested threads: 0+0/15", "  nodes: 1", "  BR_TRANSACTION: 2", "  BC_REPLY: 2"]
    {
        assert!(of_m.contains(&line), "{line}: {of_m:#?}");
    }
    let is_zero = |line: &&str| line.trim_start().starts_with(['B']) && line.ends_with(": 0");
    assert_eq!(stats.lines().find(is_zero), None);
    for kind in ["proc", "thread", "node"] {
        assert!(active(&stats).iter().any(|(found, count)| *found == kind && *count != "0"));
    }
    inner.tear_down();
    let mut attempts = 0;
    while active(&read(stage, "stats")).iter().any(|(_, count)| *count != "0") {
        // Closing happens behind the scenes.
        assert!(attempts < 10_000, "{}", read(stage, "stats"));
        attempts += 1;
        std::thread::yield_now();
    }
}

fn c239_transactions_leave_idle_processes_out(stage: &Stage) {
    logs(stage);
    let m = stage.manager();
    let p = stage.party();
    let idle = stage.party();
    p.write(commands().call(0, Message::new(1)));
    m.read_call();
    let busy = read(stage, "transactions");
    assert_eq!(busy.lines().next(), Some("binder transactions:"));
    words(&section(&busy, &m).unwrap(), "    incoming transaction ");
    words(&section(&busy, &p).unwrap(), "    outgoing transaction ");
    assert_eq!(section(&busy, &idle), None);
    assert!(!busy.contains("  ref "), "{busy}");

    idle.write(commands().oneway(0, Message::new(2)));
    idle.read();
    let queued = read(stage, "transactions");
    assert_eq!(section(&queued, &idle), None, "nothing of a one-way is left with its sender");
    let of_m = section(&queued, &m).unwrap();
    let pending = words(&of_m, "  pending transaction ");
    assert_eq!(value(&pending, "code"), "2");
    words(&of_m, "  node ");
}

fn c240_the_logs_keep_the_last_32_sends(stage: &Stage) {
    logs(stage);
    let m = stage.manager();
    let p = stage.party();
    p.write(commands().call(77, Message::new(1).bytes(&[0; 12])));
    p.read();
    let ending = format!("handle 77 size 12:0 ret {BR_FAILED_REPLY}/-22 l=");
    let start = format!(": call  from {}:", p.pid());
    let is_failed = |line: &&str| line.contains(&ending) && line.contains(&start);
    for log in ["transaction_log", "failed_transaction_log"] {
        let text = read(stage, log);
        assert_eq!(text.lines().filter(is_failed).count(), 1, "{log}: {text}");
        assert!(text.lines().count() <= LOG_ENTRIES);
    }
    for _ in 0..LOG_ENTRIES {
        p.write(commands().oneway(0, Message::new(2)));
        p.read();
    }
    let log = read(stage, "transaction_log");
    assert_eq!(log.lines().count(), LOG_ENTRIES);
    let (from, to) = (format!(": async from {}:", p.pid()), format!(" to {}:0 ", m.pid()));
    for line in log.lines() {
        assert!(line.contains(&from) && line.contains(&to), "{line}");
        assert!(line.contains(" handle 0 size 0:0 ret 0/0 l=0"), "{line}");
    }
    let ids: Vec<u32> =
        log.lines().map(|line| line.split(':').next().unwrap().parse().unwrap()).collect();
    assert!(ids.is_sorted(), "the oldest comes first: {ids:?}");
    let failed = read(stage, "failed_transaction_log");
    assert_eq!(failed.lines().filter(is_failed).count(), 1, "it stays where no other failed");
}
