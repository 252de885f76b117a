//! Processes on a device that wait for each other, found in what the driver tells.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use binder_report::WaitGraph;
use binder_report::records::{CallRecord, StateRecord, from_line};
use binder_testkit::Return::{Reply, TransactionComplete};
use binder_testkit::{DeviceRig, Message, Party, Stage, act_if_asked, commands, expect, introduce};
use conformance::runner::DEVICE_VARIABLE;
use libtest_mimic::{Arguments, Completion, Trial};
use serde::de::DeserializeOwned;

fn main() -> ExitCode {
    act_if_asked();
    let device = std::env::var_os(DEVICE_VARIABLE).map(PathBuf::from);
    let name = "a_deadlock_is_found_while_it_lasts_and_who_waits_for_it_is_not_in_it";
    let trial = Trial::ignorable_test(name, move || Ok(play(device.as_deref())));
    libtest_mimic::run(&Arguments::from_args(), vec![trial]).exit_code()
}

fn play(device: Option<&Path>) -> Completion {
    let Some(device) = device else {
        return Completion::ignored_with(format!("{DEVICE_VARIABLE} names no device"));
    };
    let device = device.canonicalize().unwrap();
    let logs = device.with_file_name("binder_logs/anybinder");
    if !logs.exists() {
        return Completion::ignored_with("this driver tells no records");
    }
    let rig = DeviceRig::new(&device, &device.with_file_name("hwbinder")).unwrap();
    let stage = Stage::new(Box::new(rig));
    deadlock(&stage, &logs);
    stage.tear_down();
    Completion::Completed
}

fn records<T: DeserializeOwned>(logs: &Path, name: &str) -> Vec<T> {
    let text = std::fs::read_to_string(logs.join(name)).unwrap();
    text.lines().map(|line| from_line(line).unwrap()).collect()
}

/// The processes in deadlocks, sorted.
fn deadlocked(logs: &Path) -> Vec<u32> {
    let calls: Vec<CallRecord> = records(logs, "transactions.json");
    let state: Vec<StateRecord> = records(logs, "state.json");
    let graph = WaitGraph::new(&calls, &state);
    let mut pids: Vec<_> = graph.deadlocks().iter().flatten().map(|call| call.from_pid).collect();
    pids.sort_unstable();
    pids
}

fn deadlock(stage: &Stage, logs: &Path) {
    let (m, p, q, r) = (stage.manager(), stage.party(), stage.party(), stage.party());
    let q_at_p = introduce(&m, &q, (0x10, 0x20), &p);
    let p_at_q = introduce(&m, &p, (0x30, 0x40), &q);
    let p_at_r = introduce(&m, &p, (0x50, 0x60), &r);
    let pid = |party: &Party<'_>| party.pid().unsigned_abs();
    r.park_with(commands().call(p_at_r, Message::new(3)));
    p.park_with(commands().call(q_at_p, Message::new(1)));
    assert!(deadlocked(logs).is_empty(), "q may read");
    q.park_with(commands().call(p_at_q, Message::new(2)));
    let mut both = [pid(&p), pid(&q)];
    both.sort_unstable();
    assert_eq!(deadlocked(logs), both);
    // A thread that comes to read ends it.
    let helper = q.thread();
    let call = helper.read_call();
    assert!(deadlocked(logs).is_empty());
    helper.answer(&call, Message::new(0));
    expect!(p.woken() => [TransactionComplete, Reply(_)]);
}
