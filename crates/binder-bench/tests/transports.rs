//! What `bench transports` tells, and that the calls it times are as cheap as is promised.

use std::process::ExitCode;

use binder_bench::Bench;
use clap::Parser;

#[derive(Parser)]
struct CommandLine {
    #[command(subcommand)]
    bench: Bench,
}

// The bench forks, so it needs a process with one thread: no test harness.
fn main() -> ExitCode {
    a_call_takes_two_system_calls_on_each_side();
    threads_get_lines_by_how_they_share();
    ExitCode::SUCCESS
}

fn run(words: &[&str]) -> Vec<serde_json::Value> {
    let words = [&["bench", "transports", "--json"], words].concat();
    let bench = CommandLine::try_parse_from(words).expect("a command line").bench;
    let mut out = Vec::new();
    bench.run(&mut out).expect("a result");
    let text = String::from_utf8(out).expect("text");
    text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

fn a_call_takes_two_system_calls_on_each_side() {
    let rows = run(&["--rounds", "1", "--calls", "50"]);
    let rpc: Vec<_> = rows.iter().filter(|row| row["transport"] == "rpc").collect();
    let (rest, rpc) = rpc.split_last().expect("rows");
    assert_eq!(rest["wakeups_per_s"], 0.0, "a server that nobody calls");
    assert_eq!(rpc.len(), 13, "{rows:?}");
    for row in rpc {
        assert!(row["p50_ns"].as_u64().is_some_and(|ns| ns > 0), "{row}");
    }
    if rpc[0]["syscalls_client"].is_null() {
        binder_testkit::skip("no strace to count system calls with");
        return;
    }
    for op in ["ping", "binder"] {
        let row = rpc.iter().find(|row| row["op"] == op).expect("every kind of call");
        for side in ["syscalls_client", "syscalls_server"] {
            let calls = row[side].as_f64().expect("a number");
            assert!((1.9..2.1).contains(&calls), "{row}");
        }
    }
}

fn threads_get_lines_by_how_they_share() {
    let rows = run(&["--concurrent", "--rounds", "1", "--calls", "50"]);
    assert_eq!(rows.len(), 12, "{rows:?}");
    assert!(rows.iter().all(|row| row["calls_per_s"].as_u64().is_some_and(|calls| calls > 0)));
}
