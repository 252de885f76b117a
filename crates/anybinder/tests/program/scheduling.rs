//! Who reads requests at a real-time priority.

use std::process::{Command, Stdio};

use crate::caller::{Caller, PROGRAM, finish};

/// Prints the names of the daemon's threads that are not ordinary.
const LIST: &str = r#"
policy() { sed 's/.*) //' "$1/stat" 2>/dev/null | cut -d ' ' -f 39; }
list() {
    for task in /proc/$ANYBINDER_DAEMON_PID/task/*; do
        policy=$(policy $task)
        # A thread may end meanwhile.
        [ "${policy:-0}" = 0 ] || echo "$(cat $task/comm) $policy"
    done
}
"#;

/// Whether the doctor says that threads of this caller's may be real-time.
fn may_be_realtime(caller: Caller) -> bool {
    let outcome = finish(&mut caller.command(&["doctor", "--json"]));
    let mut checks = outcome.stdout.lines().filter(|line| line.contains(r#""check":"realtime""#));
    checks.next().unwrap_or_else(|| panic!("{outcome:?}")).contains(r#""found":true"#)
}

/// The names and priorities that were listed: there is a reader for each processor. The thread that serves rings, which is
/// one only while it has to wait for processors otherwise, may be there or not.
fn each_once(outcome: &crate::caller::Outcome) -> String {
    let lines = outcome.stdout.split_inclusive('\n');
    let mut lines: Vec<_> = lines.filter(|line| *line != "ring 1\n").collect();
    lines.dedup();
    lines.concat()
}

fn run(caller: Caller, scheduling: &str, script: &str) -> crate::caller::Outcome {
    let script = format!("{LIST}{script}");
    let options = ["run", "--scheduling", scheduling, "--", "sh", "-ec", &script, PROGRAM];
    finish(&mut caller.command(&options))
}

#[test]
fn only_readers_are_realtime_threads_where_that_is_allowed_and_wanted() {
    // Calls have other threads of the daemon at work, too.
    let script = r#"
"$0" bench ping --pin none --rounds 1 --calls 20 --sizes 64 > /dev/null
list
"#;
    for &caller in Caller::all() {
        let reader = "reader 1\n";
        let auto = if may_be_realtime(caller) { reader } else { "" };
        let outcome = run(caller, "auto", script);
        assert_eq!(each_once(&outcome), auto, "{caller:?}: {outcome:?}");
        let outcome = run(caller, "ordinary", script);
        assert_eq!(outcome.stdout, "", "{caller:?}: {outcome:?}");
        let outcome = run(caller, "realtime", script);
        if may_be_realtime(caller) {
            assert_eq!(each_once(&outcome), reader, "{caller:?}: {outcome:?}");
        } else {
            assert_ne!(outcome.code(), 0, "{caller:?}: {outcome:?}");
            let reason = "making a thread real-time";
            assert!(outcome.stderr.contains(reason), "{caller:?}: {outcome:?}");
        }
    }
}

#[test]
fn readers_that_were_made_ordinary_are_realtime_threads_again_soon() {
    let has_chrt = Command::new("chrt").arg("--version").stdout(Stdio::null()).status().is_ok();
    if !has_chrt || !Caller::all().contains(&Caller::Root) || !may_be_realtime(Caller::Root) {
        return binder_testkit::skip(
            "no thread may be real-time here, or chrt(1) is not installed",
        );
    }
    // The driver looks before it rests, and now and then while requests come in.
    let script = r#"
for reader in $(grep -l '^reader$' /proc/$ANYBINDER_DAEMON_PID/task/*/comm | sed 's|/comm||'); do
    chrt --other --pid 0 "${reader##*/}"
done
list
until [ -n "$(list)" ]; do
    for pause in $(seq 60); do [ -n "$(list)" ] || sleep 0.05; done
    "$0" stats > /dev/null
done
list
"#;
    let outcome = run(Caller::Root, "realtime", script);
    assert_eq!(each_once(&outcome), "reader 1\n", "{outcome:?}");
}

#[test]
fn further_readers_read_while_requests_come_faster_than_they_are_answered() {
    // How often each reader has slept, at the end: one that was never wanted slept once or twice.
    let script = r#"
ANYBINDER_NO_RING=1 "$0" bench throughput --rounds 1 --workers 8 --iterations 2000 > /dev/null
for task in /proc/$ANYBINDER_DAEMON_PID/task/*; do
    [ "$(cat $task/comm)" = reader ] || continue
    grep ^voluntary $task/status
done
"#;
    let options = ["run", "--readers", "3", "--", "sh", "-ec", script, PROGRAM];
    let mut most = 0;
    for _ in 0..20 {
        let outcome = finish(&mut Caller::all()[0].command(&options));
        let counts = outcome.stdout.lines().filter_map(|line| line.split_whitespace().last());
        let slept: Vec<u64> = counts.map(|count| count.parse().expect("a number")).collect();
        assert_eq!(slept.len(), 3, "{outcome:?}");
        most = slept.iter().filter(|count| **count > 10).count();
        if most > 1 {
            return;
        }
    }
    panic!("{most} readers have read");
}
