//! Every bench, in small, on the device named by ANYBINDER_TEST_DEVICE.
//!
//! ANYBINDER_DAEMON_PID names the process that serves it; by default it is this one itself, whose
//! memory can be read as well. No harness: benches fork, and its threads forbid that.

use std::process::ExitCode;
use std::thread;

use binder_bench::Bench;
use clap::Parser;
use serde_json::Value;

#[derive(Parser)]
struct CommandLine {
    #[command(subcommand)]
    bench: Bench,
}

const DEVICE: &str = "ANYBINDER_TEST_DEVICE";
const DAEMON_PID: &str = "ANYBINDER_DAEMON_PID";

fn main() -> ExitCode {
    let Ok(device) = std::env::var(DEVICE) else {
        binder_testkit::skip(format_args!("no device to measure; {DEVICE} names one"));
        return ExitCode::SUCCESS;
    };
    ping_has_a_line_for_each_peer_and_size(&device);
    ping_sets_the_device_against_its_baselines(&device);
    ping_has_a_line_for_each_number_of_files(&device);
    ping_sets_traced_calls_against_others(&device);
    throughput_has_a_line_for_each_count_and_peer(&device);
    throughput_has_a_line_for_each_number_of_devices_and_cores(&device);
    serial_fraction_has_a_line_for_each_peer_and_size(&device);
    soak_leaves_nothing_behind(&device);
    handles_has_lines_for_each_bucket(&device);
    flood_has_a_line_for_each_flood(&device);
    freeze_has_a_line_for_each_kind_of_watcher(&device);
    idle_has_a_line_for_each_state(&device);
    a_device_that_is_none_is_an_error();
    ExitCode::SUCCESS
}

fn run(words: &[&str], device: &str) -> Result<String, String> {
    let line = [&["bench"], words, &["--device", device]].concat();
    let bench = CommandLine::try_parse_from(line).map_err(|error| error.to_string())?.bench;
    let mut out = Vec::new();
    bench.run(&mut out).map_err(|error| error.to_string())?;
    String::from_utf8(out).map_err(|error| error.to_string())
}

fn rows(words: &[&str], device: &str) -> Vec<Value> {
    let out = run(words, device).expect("a result");
    out.lines().map(|line| serde_json::from_str(line).expect("a line of JSON")).collect()
}

/// What there is of unmodified programs, which need the preloaded library: their lines are others' beside.
fn unmodified() -> Option<&'static str> {
    let maps = std::fs::read_to_string("/proc/self/maps").expect("a /proc");
    maps.contains("libanybinder_ring.so").then_some("unmodified")
}

fn ping_has_a_line_for_each_peer_and_size(device: &str) {
    let words = ["ping", "--json", "--sizes", "0,64,65536", "--rounds", "2", "--calls", "10"];
    let rows = rows(&words, device);
    let peers = ["binder", "deferred", "ring", "deferred_ring", "futex", "unix"];
    for what in peers.into_iter().chain(unmodified()) {
        let lines: Vec<_> = rows.iter().filter(|row| row["what"] == what).collect();
        assert_eq!(lines.len(), 3, "{what}");
        for line in lines {
            let [p50, p99] = ["p50_ns", "p99_ns"].map(|key| line[key].as_u64().expect("a number"));
            assert!(0 < p50 && p50 <= p99, "{line}");
            assert!(line["client_cpu_ns"].as_u64() > Some(0), "{line}");
        }
    }
    assert!(rows.iter().filter(|row| row["what"] == "futex").all(|row| row["times_futex"] == 1.0));
}

fn ping_sets_traced_calls_against_others(device: &str) {
    let words = ["ping", "--json", "--trace", "--sizes", "64", "--rounds", "1", "--calls", "20"];
    let rows = rows(&words, device);
    for what in ["traced", "traced_ring"] {
        let lines: Vec<_> = rows.iter().filter(|row| row["what"] == what).collect();
        let [line] = lines[..] else { panic!("{what}: {rows:?}") };
        assert!(line["times_without"].as_f64() > Some(0.0), "{line}");
    }
}

fn ping_sets_the_device_against_its_baselines(device: &str) {
    let has_two = thread::available_parallelism().is_ok_and(|cores| cores.get() > 1);
    for pin in if has_two { &["none", "apart", "daemon"][..] } else { &["none"] } {
        let words = ["ping", "--sizes", "4", "--rounds", "1", "--calls", "3", "--pin", pin];
        let out = run(&words, device).expect("a result");
        let lines: Vec<_> = out.lines().collect();
        assert!(lines[0].starts_with("peer") && lines[0].ends_with("x unix"), "{out}");
        let of_driver = ["binder", "deferred", "ring", "deferred ring"];
        let peers = of_driver.into_iter().chain(unmodified()).chain(["futex", "unix"]);
        for (line, what) in lines[1..].iter().zip(peers) {
            assert!(line.starts_with(what) && line.ends_with(" x"), "{out}");
        }
    }
}

fn ping_has_a_line_for_each_number_of_files(device: &str) {
    let words = ["ping", "--json", "--sizes", "0,64", "--rounds", "1", "--calls", "10"];
    let rows = rows(&[&words[..], &["--descriptors", "1,253"]].concat(), device);
    let of_driver = ["binder", "deferred", "ring", "deferred_ring"];
    let carry_files: Vec<_> = of_driver.into_iter().chain(unmodified()).chain(["unix"]).collect();
    for (bytes, files) in [(0, 1), (0, 253), (64, 1), (64, 253)] {
        let lines = rows.iter().filter(|row| row["bytes"] == bytes && row["files"] == files);
        let lines: Vec<_> = lines.collect();
        assert_eq!(lines.iter().map(|row| &row["what"]).collect::<Vec<_>>(), carry_files);
        let has_both = |row: &&Value| {
            row["times_unix"].as_f64() > Some(0.0) && row["times_without"].as_f64() > Some(0.0)
        };
        assert!(lines.iter().all(has_both), "{lines:?}");
    }
}

fn handles_has_lines_for_each_bucket(device: &str) {
    let rows = rows(&["handles", "--json", "--nodes", "50", "--bucket", "20"], device);
    let (growth, rows) = rows.split_last().expect("results");
    assert!(growth["last_over_first"].as_f64() > Some(0.0), "{growth}");
    for allocator in ["device", "pool", "scan"] {
        let lines = rows.iter().filter(|row| row["allocator"] == allocator);
        let lines = lines.inspect(|row| assert!(row["p50_ns"].as_f64() > Some(0.0), "{row}"));
        let firsts: Vec<_> = lines.map(|row| row["first_node"].as_u64()).collect();
        assert_eq!(firsts, [Some(0), Some(20), Some(40)], "{allocator}");
    }
}

fn throughput_has_a_line_for_each_count_and_peer(device: &str) {
    let words = ["throughput", "--workers", "1,3", "--iterations", "20", "--rounds", "2"];
    let rows = rows(&[&words[..], &["--json"]].concat(), device);
    let lines = rows.iter().map(|row| (row["what"].as_str(), row["workers"].as_u64()));
    let peers = ["binder", "ring"].into_iter().chain(unmodified()).chain(["unix"]);
    let expected = [1, 3].map(|workers| peers.clone().map(move |what| (Some(what), Some(workers))));
    assert!(lines.eq(expected.into_iter().flatten()), "{rows:?}");
    for row in &rows {
        let is_without_fuse =
            ["ring", "unmodified"].contains(&row["what"].as_str().expect("a name"));
        assert_eq!(row["times_binder"].as_f64() > Some(0.0), is_without_fuse, "{row}");
    }
    assert!(rows.iter().all(|row| row["devices"] == 1 && row["cores"].is_null()), "{rows:?}");
    for row in &rows {
        let [calls, mean, p50, max] =
            ["calls_per_s", "mean_ns", "p50_ns", "max_ns"].map(|key| row[key].as_u64());
        assert!(Some(0) < calls && Some(0) < p50 && p50 <= max && mean <= max, "{row}");
    }
    assert_eq!(rows[0]["times_first"], 1.0);
    let out = run(&[&words[..], &["--histogram"]].concat(), device).expect("a result");
    assert!(out.contains("unix, 3 workers") && out.contains('#'), "{out}");
}

fn throughput_has_a_line_for_each_number_of_devices_and_cores(device: &str) {
    let words = ["throughput", "--json", "--workers", "3", "--iterations", "20", "--rounds", "1"];
    let words = [&words[..], &["--devices", "1,2", "--cores", "1,1"]].concat();
    if std::env::var_os(DAEMON_PID).is_none() {
        let error = run(&words, device).expect_err("no daemon to pin");
        assert!(error.contains("--daemon-pid"), "{error}");
        return binder_testkit::skip(format_args!("no daemon to pin; {DAEMON_PID} names it"));
    }
    let rows = rows(&words, device);
    let lines = rows.iter().map(|row| (row["what"].as_str(), row["devices"].as_u64()));
    // Rings need as many devices beside the others.
    let of = |devices: u64, peers: &[Option<&'static str>]| -> Vec<_> {
        peers.iter().flatten().map(|what| (Some(*what), Some(devices))).collect()
    };
    let one = of(1, &[Some("binder"), Some("ring"), unmodified(), Some("unix")]);
    let two = of(2, &[Some("binder"), unmodified()]);
    assert_eq!(lines.collect::<Vec<_>>(), [&one[..], &one, &two, &two].concat());
    for row in &rows {
        assert!(row["cores"] == 1 && row["calls_per_s"].as_u64() > Some(0), "{row}");
        assert!(row["times_first_cores"].as_f64() > Some(0.0), "{row}");
    }
    for first in (0..one.len()).chain((0..two.len()).map(|at| 2 * one.len() + at)) {
        assert_eq!(rows[first]["times_first_cores"], 1.0);
    }
    let cores = ["throughput", "--cores", "100000"];
    let error = run(&cores, device).expect_err("not as many cores");
    assert!(error.contains("100000 cores are wanted"), "{error}");
}

fn serial_fraction_has_a_line_for_each_peer_and_size(device: &str) {
    let words = ["serial-fraction", "--json", "--sizes", "0,64", "--calls", "50"];
    if std::env::var_os(DAEMON_PID).is_none() {
        let error = run(&words, device).expect_err("no daemon to look at");
        assert!(error.contains("--daemon-pid"), "{error}");
        return binder_testkit::skip(format_args!("no daemon to look at; {DAEMON_PID} names it"));
    }
    let rows = rows(&words, device);
    let lines = rows.iter().map(|row| (row["what"].as_str(), row["bytes"].as_u64()));
    let of = |bytes| ["binder", "deferred"].map(|what| (Some(what), Some(bytes)));
    assert_eq!(lines.collect::<Vec<_>>(), [of(0), of(64)].concat());
    for row in &rows {
        // Few of so few holds are timed, and one in which a busy machine stopped the daemon counts for all: none of the
        // times is large or small for certain.
        let [held, daemon, all] =
            ["held_ns", "daemon_cpu_ns", "all_cpu_ns"].map(|key| row[key].as_u64());
        assert!(Some(0) < held && Some(0) < daemon && daemon < all, "{row}");
        let [share, of_8, at_most] = ["share", "times_of_8", "times_at_most"]
            .map(|key| row[key].as_f64().expect("a number"));
        assert!(0.0 < share && (at_most * share - 1.0).abs() < 1e-6, "{row}");
        assert_eq!(of_8 < at_most, share < 1.0, "{row}");
        assert!(row["holds"].as_f64() > Some(1.0), "{row}");
    }
}

fn soak_leaves_nothing_behind(device: &str) {
    let words = ["soak", "--json", "--seconds", "3", "--clients", "12", "--threads", "4"];
    let rows = rows(&words, device);
    let (outcome, deeds) = rows.split_last().expect("results");
    let named: Vec<_> = deeds.iter().map(|row| row["deed"].as_str()).collect();
    let all = ["call", "oneway", "call_back", "call_back_twice", "object", "file"];
    assert_eq!(named, all.map(Some));
    for row in deeds {
        let [p50, max] = ["p50_ns", "max_ns"].map(|key| row[key].as_u64());
        assert!(Some(1000) < p50 && p50 <= max, "{row}");
    }
    for key in ["served", "ended", "killed", "deaths"] {
        assert!(outcome[key].as_u64() > Some(0), "{outcome}");
    }
    let left = &outcome["left"];
    assert!(left.is_null() || left.as_object().is_some_and(|it| it.is_empty()), "{outcome}");
}

fn flood_has_a_line_for_each_flood(device: &str) {
    let rows = rows(&["flood", "--json", "--calls", "20", "--objects", "25000"], device);
    let floods = [
        "spin",
        "oneways",
        "bytes",
        "objects",
        "thousands",
        "deaths",
        "opens",
        "descriptors",
        "reads",
        "mappings",
        "churn",
        "threads",
        "logs",
    ];
    let named: Vec<_> = rows.iter().map(|row| row["flood"].as_str()).collect();
    assert_eq!(named, [&[None], &floods.map(Some)[..]].concat());
    assert_eq!(rows[0]["times_alone_p50"], 1.0);
    assert!(rows.iter().all(|row| row["p50_ns"].as_u64() > Some(0)), "{rows:?}");
}

fn freeze_has_a_line_for_each_kind_of_watcher(device: &str) {
    let rows = rows(&["freeze", "--json", "--nodes", "20", "--rounds", "3"], device);
    let watched: Vec<_> = rows.iter().map(|row| row["is_watched"].as_bool()).collect();
    assert_eq!(watched, [Some(false), Some(true)]);
    for key in ["freeze_p50_ns", "freeze_p99_ns", "thaw_p50_ns", "thaw_p99_ns"] {
        assert!(rows.iter().all(|row| row[key].as_u64() > Some(0)), "{rows:?}");
    }
}

fn idle_has_a_line_for_each_state(device: &str) {
    let this = std::process::id().to_string();
    let daemon = std::env::var(DAEMON_PID).unwrap_or(this);
    let rows = rows(&["idle", "--json", "--clients", "3", "--daemon-pid", &daemon], device);
    let states: Vec<_> = rows.iter().map(|row| (&row["state"], &row["clients"])).collect();
    let three = 3.into();
    let all = ["open", "parked", "processes"].map(Value::from);
    assert_eq!(states, all.each_ref().map(|state| (state, &three)));
    assert!(rows.iter().all(|row| row["bytes_per_client"].is_i64()), "{rows:?}");
}

fn a_device_that_is_none_is_an_error() {
    let error =
        run(&["ping", "--rounds", "1", "--calls", "1"], "/dev/null").expect_err("no device");
    assert!(error.contains("binder server"), "{error}");
}
