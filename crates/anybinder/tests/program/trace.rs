//! `trace`: what is called, seen while it is, recorded, and told to those alone who may know.

use std::fs::File;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use binder_os::BinderClient;
use binder_trace::{RecordStream, TraceRecord};
use serde_json::Value;

use crate::caller::{Caller, Outcome, PROGRAM, Running, finish, is_root};
use crate::mount::in_private_mounts;

/// `anybinder trace OPTIONS -- sh -c SCRIPT`, whose trace is on stderr.
fn traced(caller: Caller, options: &[&str], script: &str) -> Outcome {
    let command = ["--", "sh", "-c", script, PROGRAM];
    let outcome = finish(&mut caller.command(&[&["trace"], options, &command].concat()));
    assert_eq!(outcome.code(), 7, "{outcome:?}");
    outcome
}

fn json_lines(text: &str) -> Vec<Value> {
    text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

/// Whether a line tells of something of this kind.
fn is_of(kind: &'static str) -> impl Fn(&&str) -> bool {
    move |line| line.contains(&format!("  binder    {kind} "))
}

fn of_kind<'v>(values: &'v [Value], kind: &str) -> Vec<&'v Value> {
    values.iter().filter(|value| value["kind"] == kind).collect()
}

#[test]
fn a_command_in_a_world_of_its_own_is_traced_to_its_end() {
    for caller in Caller::all() {
        let outcome = traced(*caller, &[], "$0 demo-cast director 3 && exit 7");
        assert!(outcome.stdout.contains("3 calls answered"), "{outcome:?}");
        // One that it shows, and three that it measures.
        for (kind, count) in [("call", 4), ("reply", 4), ("opened", 2), ("failed", 0)] {
            assert_eq!(outcome.stderr.lines().filter(is_of(kind)).count(), count, "{outcome:?}");
        }
        let replies: Vec<_> = outcome.stderr.lines().filter(is_of("reply")).collect();
        assert!(replies[0].contains(" anybinder  code 1  ") && replies[0].contains(" us ("));
    }
}

#[test]
fn an_empty_trace_says_why_it_is_empty() {
    for (script, is_told) in [
        ("exit 7", true),
        // It makes a world within that one.
        ("$0 run -- $0 demo-cast director 1 && exit 7", true),
        ("$0 demo-cast director 1 && exit 7", false),
    ] {
        for form in [&[][..], &["--json"], &["--count"]] {
            let outcome = traced(Caller::all()[0], form, script);
            let notice = "anybinder: nothing happened on the traced devices; those of a world that the command makes";
            assert_eq!(outcome.stderr.contains(notice), is_told, "{script} {form:?}: {outcome:?}");
        }
    }
}

#[test]
fn who_traces_in_a_world_is_told_of_the_other_that_the_command_gets() {
    for (options, is_found, is_told) in
        [("", false, true), ("--manager", true, false), ("--here", true, false)]
    {
        let script = format!("$0 trace {options} -- $0 service check manager && exit 7; exit 8");
        let world = ["run", "--manager", "--", "sh", "-c", &script, PROGRAM];
        let outcome = finish(&mut Caller::all()[0].command(&world));
        assert_eq!(outcome.code(), if is_found { 7 } else { 8 }, "{options}: {outcome:?}");
        let notice =
            "the command has a world of its own, without the services at /dev/binderfs; --here ";
        assert_eq!(outcome.stderr.contains(notice), is_told, "{options}: {outcome:?}");
    }
}

#[test]
fn clients_in_another_pid_namespace_have_the_numbers_that_the_driver_sees() {
    for caller in Caller::all() {
        // There they are 1 and 2.
        let script = "unshare --user -r --pid --fork $0 demo-cast director 1 > /dev/null; exit 7";
        let outcome = traced(*caller, &[], script);
        let lines: Vec<_> = outcome
            .stderr
            .lines()
            .map(|line| line.split_whitespace().collect::<Vec<_>>())
            .collect();
        let opened = lines.iter().filter(|words| words[2..4] == ["opened", "by"]);
        let pids: Vec<u32> = opened.map(|words| words[4].parse().unwrap()).collect();
        let [client, server] = pids[..] else { panic!("{outcome:?}") };
        assert!(client > 2 && server > 2, "{outcome:?}");
        let told = lines.iter().filter(|words| ["call", "reply"].contains(&words[2]));
        let told: Vec<_> = told.map(|words| words[2..words.len().min(11)].join(" ")).collect();
        let call = format!("call {client}:{client} anybinder -> {server} anybinder code 1 9");
        let reply =
            format!("reply {server}:{server} anybinder -> {client}:{client} anybinder code 1 44");
        assert_eq!(told, [&*call, &*reply, &*call, &*reply], "{outcome:?}");
    }
}

#[test]
fn filters_choose_and_a_count_counts() {
    let script = "$0 demo-cast director 100 > /dev/null; exit 7";
    let outcome = traced(Caller::all()[0], &["--count"], script);
    let words: Vec<_> = outcome.stderr.lines().map(|line| line.trim().to_owned()).collect();
    assert!(words[0].starts_with("CALLS  ERRORS"), "{outcome:?}");
    assert!(words[1].starts_with("101       0"), "{outcome:?}");
    assert_eq!(words.last().unwrap(), "101 calls, 0 one-ways");
    for none in
        [&["--errors"][..], &["--method", "2"], &["--slower-than", "1e9"], &["-n", "nobody"]]
    {
        let outcome = traced(Caller::all()[0], none, script);
        assert!(!outcome.stderr.contains(" call "), "{none:?}: {outcome:?}");
    }
}

#[test]
fn processes_that_a_chosen_one_starts_are_followed() {
    // The shell has no device, and what it starts has.
    for (options, is_seen) in [
        ("--pid $$", false),
        ("--pid $$ --follow", true),
        ("--pid 999999999 --follow", false),
        ("--pid 999999999 --follow=all", true),
        ("--name nobody --follow=all", true),
    ] {
        let script = format!(
            "$0 trace --here --json {options} -- sh -c '$0 service check manager; exit 0' $0; exit 7"
        );
        let world = ["run", "--manager", "--", "sh", "-c", &script, PROGRAM];
        let outcome = finish(&mut Caller::all()[0].command(&world));
        assert_eq!(outcome.code(), 7, "{outcome:?}");
        let told = json_lines(&outcome.stderr);
        let kinds = ["opened", "call", "closed"].map(|kind| !of_kind(&told, kind).is_empty());
        assert_eq!(kinds, [is_seen; 3], "{options}: {outcome:?}");
    }
}

#[test]
fn a_soak_is_traced_call_by_call() {
    let script =
        "$0 bench soak --device /dev/binder --seconds 1 --clients 4 --kills-per-s 3 --json; exit 7";
    let outcome = traced(Caller::all()[0], &["--json"], script);
    let soak = json_lines(&outcome.stdout);
    let told = soak.iter().find(|line| line["served"].is_u64()).unwrap();
    let traced = json_lines(&outcome.stderr);
    let sends: Vec<_> = traced.iter().filter(|it| it["queue_ns"].is_u64()).collect();
    // The server is called more than all others together.
    let count = |pid: &Value| sends.iter().filter(|it| it["to_pid"] == *pid).count() as u64;
    let received = sends.iter().map(|send| count(&send["to_pid"])).max().unwrap();
    let dropped: u64 =
        of_kind(&traced, "dropped").iter().filter_map(|it| it["records"].as_u64()).sum();
    assert_eq!(dropped, 0, "a reader that does nothing else is fast enough for a second");
    assert_eq!(Some(received), told["served"].as_u64());
    assert_eq!(of_kind(&traced, "death").len() as u64, told["deaths"].as_u64().unwrap());
}

/// What is called of the service manager by `service list`.
const MANAGER_SOURCE: &str = "
    package android.os;
    interface IServiceManager {
        Service checkService2(@utf8InCpp String name) = 3;
        @utf8InCpp String[] listServices(int dumpPriority) = 5;
        ServiceDebugInfo[] getServiceDebugInfo() = 15;
    }
    union Service { ServiceWithMetadata serviceWithMetadata; @nullable IBinder accessor; }
    parcelable ServiceWithMetadata { @nullable IBinder service; boolean isLazyService; }
    parcelable ServiceDebugInfo { @utf8InCpp String name; int debugPid; }
";

#[test]
fn arguments_and_results_are_decoded_by_aidl_sources() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("IServiceManager.aidl"), MANAGER_SOURCE).unwrap();
    let aidl = dir.path().to_str().unwrap();
    let script = "$0 service list > /dev/null; exit 7";
    let caller = Caller::all()[0];
    let filters = ["--manager", "--aidl", aidl, "--interface", "IServiceManager"];
    let outcome = traced(caller, &filters, script);
    let values: Vec<_> = outcome
        .stderr
        .lines()
        .filter_map(|line| line.split_once("  binder      ").map(|(_, words)| words))
        .filter(|words| words.starts_with('(') || words.starts_with("->"))
        .map(|words| words.replace(|it: char| it.is_ascii_digit(), ""))
        .collect();
    let expected = [
        "()",
        "-> ([ServiceDebugInfo{name: \"manager\", debugPid: }])",
        "(dumpPriority: )",
        "-> ([\"manager\"])",
        "(name: \"manager\")",
        "-> (Service{serviceWithMetadata: ServiceWithMetadata{service: object  as handle , \
         isLazyService: false}})",
    ];
    assert_eq!(values, expected, "{outcome:?}");
    assert!(!outcome.stderr.contains("  0000  "), "what is decoded is not shown as bytes");

    let outcome = traced(caller, &[&filters[..], &["--json"]].concat(), script);
    let calls = json_lines(&outcome.stderr);
    let [_, list, check] = &calls[..] else { panic!("{outcome:?}") };
    assert_eq!(list["arguments"], serde_json::json!({ "dumpPriority": 15 }));
    assert_eq!(list["results"], serde_json::json!({ "return": ["manager"] }));
    assert_eq!(check["arguments"]["name"], "manager");
    let service = &check["results"]["return"]["serviceWithMetadata"];
    assert_eq!(service["isLazyService"], false);
    assert!(service["service"].as_str().unwrap().starts_with("object "), "{check}");
    assert_eq!(check["results_end"], Value::Null);

    // Of a few bytes as much is told as these are; of a binderfs nothing, unless it is asked for.
    let outcome =
        traced(caller, &[&filters[..], &["--json", "--max-bytes", "80"]].concat(), script);
    let check = &json_lines(&outcome.stderr)[2];
    assert_eq!(check["arguments"]["name"], "...", "{check}");
    assert!(check["arguments_end"].as_str().unwrap().starts_with("cut"), "{check}");
    let here = format!("$0 trace --here --aidl '{aidl}' -- $0 service list > /dev/null; exit 7");
    let world = ["run", "--manager", "--", "sh", "-c", &here, PROGRAM];
    let outcome = finish(&mut caller.command(&world));
    assert!(outcome.stderr.contains(".listServices"), "{outcome:?}");
    assert!(!outcome.stderr.contains("dumpPriority"), "{outcome:?}");
}

#[test]
fn a_recording_tells_what_the_trace_would() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("calls.abtrace");
    let file = file.to_str().unwrap();
    let script = "$0 demo-cast director 3 > /dev/null; exit 7";
    let command = ["trace", "record", file, "--max-bytes", "9", "--", "sh", "-c", script, PROGRAM];
    let recorded = finish(Command::new(PROGRAM).args(command));
    assert_eq!(recorded.code(), 7, "{recorded:?}");
    assert!(recorded.stderr.contains(" records are in "), "{recorded:?}");
    let ask = |arguments: &[&str]| {
        let outcome = finish(Command::new(PROGRAM).arg("trace").args(arguments));
        assert_eq!(outcome.code(), 0, "{outcome:?}");
        outcome
    };
    let shown = ask(&["show", file, "--json", "--max-bytes", "99"]);
    let calls = json_lines(&shown.stdout);
    let calls = of_kind(&calls, "call");
    assert_eq!((calls.len(), &*shown.stderr), (4, ""));
    assert_eq!(calls[0]["data"], "77686f20616d20493f", "\"who am I?\"");
    assert!(ask(&["stats", file]).stdout.ends_with("4 calls, 0 one-ways\n"));

    // As if the recorder had been killed while it wrote the last block: the head of a recording has 12 bytes.
    let whole = std::fs::read(file).unwrap();
    let torn = [&whole[..], &whole[12..whole.len() - 1]].concat();
    std::fs::write(file, torn).unwrap();
    let torn = ask(&["show", file]);
    assert!(torn.stderr.contains(" bytes of "), "{torn:?}");
    assert!(torn.stdout.lines().filter(is_of("call")).count() >= 4, "{torn:?}");
}

#[test]
fn a_command_goes_on_when_its_trace_cannot_be_kept() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("calls.abtrace");
    // As a disk that is full after 4 KiB. The command may write what it likes, and lasts until that is told.
    let script = format!(
        "trap '' XFSZ; ulimit -S -f 8
         $0 trace record {file} --here 2> {told} -- sh -c '
             ulimit -S -f unlimited; $0 demo-cast director 900 > /dev/null
             for look in $(seq 1000); do grep -q \"goes on\" {told} && break; sleep 0.01; done; echo done' $0
         status=$?; cat {told} >&2; exit $status",
        file = file.display(),
        told = dir.path().join("told").display()
    );
    let outcome = finish(Command::new(PROGRAM).args(["run", "--", "sh", "-c", &script, PROGRAM]));
    assert_eq!((outcome.code(), &*outcome.stdout), (1, "done\n"), "{outcome:?}");
    assert!(outcome.stderr.contains("calls.abtrace: File too large"), "{outcome:?}");
    assert!(outcome.stderr.contains("the command goes on"), "{outcome:?}");
}

#[test]
fn a_command_goes_on_when_its_trace_is_read_no_more() {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    // The trace is written while it runs.
    let script = "$0 demo-cast director 900 > /dev/null && echo done && exit 7";
    let mut trace = Command::new(PROGRAM);
    trace.args(["trace", "--", "sh", "-c", script, PROGRAM]).stderr(writer);
    let output = trace.output().unwrap();
    assert_eq!((output.status.code(), &*output.stdout), (Some(7), &b"done\n"[..]));
}

#[test]
fn a_trace_ends_with_its_command_while_others_go_on() {
    let script = "$0 bench soak --device /dev/binder --seconds 60 --clients 2 > /dev/null & soak=$!
         until $0 ps | grep -q anybinder; do sleep 0.01; done
         $0 trace --here --count -- sleep 0.1
         kill $soak && echo still calling";
    let outcome = finish(Command::new(PROGRAM).args(["run", "--", "sh", "-c", script, PROGRAM]));
    assert_eq!(outcome.stdout, "still calling\n", "{outcome:?}");
}

#[test]
fn a_recording_is_for_its_user_alone() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("calls.abtrace");
    let record = format!("umask 0; exec $0 trace record {} -- true", file.display());
    assert_eq!(finish(Command::new("sh").args(["-c", &record, PROGRAM])).code(), 0);
    assert_eq!(std::fs::metadata(file).unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn a_reader_that_has_seen_enough_of_an_export_is_no_failure() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("calls.abtrace");
    // More than a pipe holds.
    let record =
        ["trace", "record", file.to_str().unwrap(), "--", PROGRAM, "demo-cast", "director", "500"];
    assert_eq!(finish(Command::new(PROGRAM).args(record)).code(), 0);
    let (reader, writer) = std::io::pipe().unwrap();
    let mut export = Command::new(PROGRAM);
    export.args(["trace", "export", "--format", "csv"]).arg(&file).stdout(writer);
    drop(reader);
    let outcome =
        export.stderr(std::process::Stdio::piped()).spawn().unwrap().wait_with_output().unwrap();
    assert_eq!((outcome.status.code(), &*outcome.stderr), (Some(0), &b""[..]));
}

#[test]
fn a_recording_is_replayed_against_a_service() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("IServiceManager.aidl"), MANAGER_SOURCE).unwrap();
    let aidl = dir.path().to_str().unwrap();
    let [whole, bare] =
        ["whole", "bare"].map(|name| dir.path().join(name).to_str().unwrap().to_owned());
    for (file, bytes) in [(&whole, "4096"), (&bare, "0")] {
        let record = ["trace", "record", "--manager", "--max-bytes", bytes, file];
        let list = ["--", PROGRAM, "service", "list"];
        let recorded = finish(Command::new(PROGRAM).args([&record[..], &list].concat()));
        assert_eq!(recorded.code(), 0, "{recorded:?}");
    }
    let replay = |file: &str, options: &[&str]| {
        let replay =
            ["run", "--manager", "--", PROGRAM, "trace", "replay", file, "--against", "manager"];
        finish(Command::new(PROGRAM).args([&replay[..], options].concat()))
    };
    // The new manager is another process, which its list of processes shows; objects are others each time.
    let outcome = replay(&whole, &["--aidl", aidl]);
    let (shown, counts) = outcome.stdout.trim_end().rsplit_once('\n').unwrap();
    let refused = "1 refused (1 with objects in the reply); 0 one-ways sent";
    assert_eq!((outcome.code(), counts), (1, &*format!("1 equal, 1 different, {refused}")));
    assert!(shown.starts_with("different: android.os.IServiceManager.getServiceDebugInfo, call "));
    for which in ["recorded", "replayed"] {
        let debug = format!("  {which} -> ([ServiceDebugInfo{{name: \"manager\", debugPid: ");
        assert!(shown.contains(&debug), "{shown}");
    }
    let outcome = replay(&whole, &["--aidl", aidl, "--method", "listServices", "--json"]);
    let lines = json_lines(&outcome.stdout);
    assert_eq!((outcome.code(), lines.len()), (0, 2), "{outcome:?}");
    assert_eq!((&lines[0]["kind"], &lines[0]["code"]), (&"equal".into(), &6.into()));
    assert_eq!((&lines[1]["kind"], &lines[1]["equal"]), (&"summary".into(), &1.into()));
    let outcome = replay(&whole, &["--limit", "1"]);
    assert!(outcome.stdout.contains("  replayed -> 40 bytes 0000000001"), "{outcome:?}");
    assert!(outcome.stdout.ends_with("0 equal, 1 different, 0 refused; 0 one-ways sent\n"));

    let outcome = replay(&bare, &[]);
    let counts = "0 equal, 0 different, 3 refused (3 recorded in part); 0 one-ways sent\n";
    assert_eq!((outcome.code(), &*outcome.stdout), (1, counts));
    let outcome = replay(&whole, &["--method", "99"]);
    assert_eq!((outcome.code(), &*outcome.stdout), (1, ""));
    assert!(outcome.stderr.contains("it has no such call of android.os.IServiceManager"));
}

#[test]
fn a_replay_ends_when_a_service_does_not_answer() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    let [once, often] = ["once", "often"].map(path);
    let record = ["trace", "record", "--manager", "--max-bytes", "4096", &once];
    let list = ["--", PROGRAM, "service", "list", "--names"];
    assert_eq!(finish(Command::new(PROGRAM).args([&record[..], &list].concat())).code(), 0);
    // Enough for their lines to fill a pipe: the replay is under way for as long as nobody reads them.
    let recorded = std::fs::read(&once).unwrap();
    let (head, blocks) = recorded.split_at(12);
    std::fs::write(&often, [head, &blocks.repeat(2000)].concat()).unwrap();
    // On a busy machine the manager may need long for an answer, until it is stopped.
    let script = format!(
        "manager=$($0 ps | awk '/servicemanager/ {{ print $1 }}')
         replay() {{ $0 trace replay {often} --against manager --method 6 --timeout $@; }}
         {{ replay 5 --json; echo $?; }} | {{ read first; kill -STOP $manager; echo $first; cat; }}
         replay 0.2; echo $?; kill -CONT $manager"
    );
    let outcome = finish(Command::new(PROGRAM).args([
        "run",
        "--manager",
        "--",
        "sh",
        "-c",
        &script,
        PROGRAM,
    ]));
    let Some((json, status)) = outcome.stdout.trim_end().rsplit_once("\n1\n") else {
        panic!("{outcome:?}")
    };
    let lines = json_lines(json);
    let ([.., overdue, summary], equal) = (&lines[..], of_kind(&lines, "equal").len()) else {
        panic!("{outcome:?}")
    };
    assert_eq!((&overdue["kind"], &overdue["code"]), (&"unanswered".into(), &6.into()));
    assert!(equal > 0 && lines.len() == equal + 2, "{outcome:?}");
    assert_eq!((&summary["equal"], &summary["unanswered"]), (&equal.into(), &1.into()));
    assert_eq!(summary["not_made"], 2000 - equal - 1);
    // Neither does the manager, whom it asks for the service.
    assert_eq!(status, "1");
    assert!(outcome.stderr.contains("TIMED_OUT"), "{outcome:?}");
}

/// Records four calls, and exports them.
fn exported(dir: &std::path::Path, format: &str) -> String {
    let [recording, file] =
        ["calls.abtrace", format].map(|name| dir.join(name).to_str().unwrap().to_owned());
    if !std::path::Path::new(&recording).exists() {
        let command = ["trace", "record", &recording, "--", PROGRAM, "demo-cast", "director", "3"];
        assert_eq!(finish(Command::new(PROGRAM).args(command)).code(), 0);
    }
    let export = ["trace", "export", &recording, "--format", format, "--output", &file];
    assert_eq!(finish(Command::new(PROGRAM).args(export)).code(), 0);
    file
}

#[test]
fn wireshark_understands_an_export() {
    if Command::new("tshark").arg("--version").output().is_err() {
        return binder_testkit::skip("tshark is not installed");
    }
    let dir = tempfile::tempdir().unwrap();
    let capture = exported(dir.path(), "pcapng");
    let dissector = dir.path().join("anybinder.lua");
    let dissector = dissector.to_str().unwrap();
    let printed = finish(Command::new(PROGRAM).args(["trace", "export", "--dissector"]));
    std::fs::write(dissector, printed.stdout).unwrap();
    let script = format!("lua_script:{dissector}");
    let fields =
        ["-T", "fields", "-e", "binder.kind", "-e", "binder.from.name", "-e", "binder.status"];
    let read = finish(Command::new("tshark").args(["-X", &script, "-r", &capture]).args(fields));
    assert_eq!(read.code(), 0, "{read:?}");
    let expected = "0\tanybinder\tok\n2\tanybinder\tok\n".repeat(4);
    assert_eq!(read.stdout, expected, "{}", read.stderr);
}

#[test]
fn perfetto_understands_an_export() {
    let script = "
import collections, sys
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace
trace = Trace()
trace.ParseFromString(open(sys.argv[1], 'rb').read())
events = [packet.track_event for packet in trace.packet if packet.HasField('track_event')]
flows = collections.Counter(flow for event in events for flow in event.flow_ids)
tracks = [packet.track_descriptor for packet in trace.packet if packet.HasField('track_descriptor')]
print(len([event for event in events if event.type == event.TYPE_SLICE_BEGIN]),
      len([event for event in events if event.type == event.TYPE_SLICE_END]),
      sorted(flows.values()), {track.process.process_name for track in tracks if track.HasField('process')})";
    let import = ["-c", "import perfetto.protos.perfetto.trace.perfetto_trace_pb2"];
    if !Command::new("python3").args(import).output().is_ok_and(|it| it.status.success()) {
        return binder_testkit::skip("the perfetto package of Python is not installed");
    }
    let dir = tempfile::tempdir().unwrap();
    let file = exported(dir.path(), "perfetto");
    let read = finish(Command::new("python3").args(["-c", script, &file]));
    assert_eq!(read.stdout, "8 8 [2, 2, 2, 2] {'anybinder'}\n", "{}", read.stderr);
}

#[test]
fn exports_for_chrome_and_tables_have_all_calls() {
    let dir = tempfile::tempdir().unwrap();
    let chrome = std::fs::read_to_string(exported(dir.path(), "chrome")).unwrap();
    let chrome: Value = serde_json::from_str(&chrome).unwrap();
    let slices = chrome["traceEvents"].as_array().unwrap();
    assert_eq!(slices.iter().filter(|event| event["ph"] == "X").count(), 8);
    let table = std::fs::read_to_string(exported(dir.path(), "csv")).unwrap();
    assert_eq!(table.lines().count(), 5);
}

#[test]
fn a_recording_of_a_recorder_that_is_killed_is_read() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("calls.abtrace");
    let file = file.to_str().unwrap();
    // When a recording has grown there is something in it.
    let script = format!(
        "$0 trace record '{file}' & recorder=$!
         until [ -s '{file}' ]; do sleep 0.01; done
         $0 demo-cast director 200 > /dev/null
         until [ $(stat -c %s '{file}') -gt 1000 ]; do sleep 0.01; done
         kill -KILL $recorder"
    );
    let outcome = finish(Command::new(PROGRAM).args(["run", "--", "sh", "-c", &script, PROGRAM]));
    assert_eq!(outcome.code(), 0, "{outcome:?}");
    let shown = finish(Command::new(PROGRAM).args(["trace", "show", file]));
    assert_eq!(shown.code(), 0, "{shown:?}");
    assert!(shown.stdout.contains("  binder    call "), "{shown:?}");
}

#[test]
fn a_user_sees_his_own_calls_and_no_data_unless_the_mount_allows_it() {
    let told = in_private_mounts(
        "$PROGRAM mount $DIR --devices binder --mode 0666 --stats
         as_user() { exec setpriv --reuid 1000 --regid 1000 --clear-groups -- \"$@\"; }
         export DIR PROGRAM
         cat $DIR/binder_logs/anybinder/trace_data.stream 2>/dev/null || echo no data
         # A trace is open once it was read from: the first record tells the time.
         cat $DIR/binder_logs/anybinder/trace.stream > /mnt/root & root=$!
         as_user sh -c 'exec cat $DIR/binder_logs/anybinder/trace.stream > /mnt/user' & user=$!
         until [ -s /mnt/root ] && [ -s /mnt/user ]; do sleep 0.01; done
         $PROGRAM bench soak --device $DIR/binder --seconds 1 --clients 2 > /dev/null
         until [ $(stat -c %s /mnt/root) -gt 200 ]; do sleep 0.01; done
         kill $root $user; wait $root $user || true
         umount $DIR
         [ $(stat -c %s /mnt/user) -lt 50 ] && echo the user sees nothing",
    );
    assert!(told.is_none_or(|told| told == "no data\nthe user sees nothing\n"));
}

#[test]
fn a_reader_that_is_too_slow_is_told_what_it_missed_and_keeps_nobody_waiting() {
    if !is_root() || !Caller::all().contains(&Caller::Root) {
        return binder_testkit::skip("only root sees a world from outside");
    }
    let script = format!("{PROGRAM} demo-cast service & echo $!; wait");
    let mut world = Running::start(&mut Caller::Root.run_script(&script));
    let service: u32 = world.line().parse().unwrap();
    assert!(world.line().contains("context manager"));
    let dir = format!("/proc/{service}/root/dev/binderfs");
    let path = format!("{dir}/binder_logs/anybinder/trace_data.stream");
    let mut trace = File::options().read(true).open(path).unwrap();
    let client = BinderClient::open(format!("{dir}/binder").as_ref()).unwrap();
    let calls = 4_000;
    for _ in 0..calls {
        client.call(1, &[0; 2000]).unwrap();
    }
    let (mut stream, mut piece) = (RecordStream::default(), vec![0; 1 << 16]);
    let (mut told, mut dropped) = (0, 0);
    // A call and a reply are sent and received, and there was one open.
    while told + dropped < 4 * calls + 1 {
        let len = trace.read(&mut piece).unwrap();
        stream.push(&piece[..len]);
        while let Some(record) = stream.next_record().unwrap() {
            match record {
                TraceRecord::Dropped { records } => dropped += records,
                TraceRecord::Clock { .. } | TraceRecord::Named { .. } => {}
                _ => told += 1,
            }
        }
    }
    assert_eq!(told + dropped, 4 * calls + 1);
    assert!(dropped > 0 && told > 0, "{told} told, {dropped} dropped");
}
