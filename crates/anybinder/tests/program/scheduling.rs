//! Who reads requests at a real-time priority.

use std::process::{Command, Stdio};

use crate::caller::{Caller, PROGRAM, finish};

/// Prints the names of the daemon's threads that are not ordinary.
const LIST: &str = r#"
policy() { sed 's/.*) //' "$1/stat" | cut -d ' ' -f 39; }
list() {
    for task in /proc/$ANYBINDER_DAEMON_PID/task/*; do
        [ "$(policy $task)" = 0 ] || echo "$(cat $task/comm) $(policy $task)"
    done
}
"#;

/// Whether the doctor says that threads of this caller's may be real-time.
fn may_be_realtime(caller: Caller) -> bool {
    let outcome = finish(&mut caller.command(&["doctor", "--json"]));
    let mut checks = outcome.stdout.lines().filter(|line| line.contains(r#""check":"realtime""#));
    checks.next().unwrap_or_else(|| panic!("{outcome:?}")).contains(r#""found":true"#)
}

fn run(caller: Caller, scheduling: &str, script: &str) -> crate::caller::Outcome {
    let script = format!("{LIST}{script}");
    let options = ["run", "--scheduling", scheduling, "--", "sh", "-ec", &script, PROGRAM];
    finish(&mut caller.command(&options))
}

#[test]
fn only_the_reader_is_a_realtime_thread_where_that_is_allowed_and_wanted() {
    // Calls have other threads of the daemon at work, too.
    let script = r#"
"$0" bench ping --pin none --rounds 1 --calls 20 --sizes 64 > /dev/null
list
"#;
    for &caller in Caller::all() {
        let reader = "reader 1\n";
        let auto = if may_be_realtime(caller) { reader } else { "" };
        for (scheduling, expected) in [("auto", auto), ("ordinary", "")] {
            let outcome = run(caller, scheduling, script);
            assert_eq!(outcome.stdout, expected, "{caller:?}, {scheduling}: {outcome:?}");
        }
        let outcome = run(caller, "realtime", script);
        if may_be_realtime(caller) {
            assert_eq!(outcome.stdout, reader, "{caller:?}: {outcome:?}");
        } else {
            assert_ne!(outcome.code(), 0, "{caller:?}: {outcome:?}");
            let reason = "making a thread real-time";
            assert!(outcome.stderr.contains(reason), "{caller:?}: {outcome:?}");
        }
    }
}

#[test]
fn a_reader_that_was_made_ordinary_is_a_realtime_thread_again_soon() {
    let has_chrt = Command::new("chrt").arg("--version").stdout(Stdio::null()).status().is_ok();
    if !has_chrt || !Caller::all().contains(&Caller::Root) || !may_be_realtime(Caller::Root) {
        return println!("SKIPPED: no thread may be real-time here, or chrt(1) is not installed");
    }
    // The driver looks before it rests, and now and then while requests come in.
    let script = r#"
reader=$(grep -l '^reader$' /proc/$ANYBINDER_DAEMON_PID/task/*/comm | sed 's|/comm||')
chrt --other --pid 0 "${reader##*/}"
list
until [ -n "$(list)" ]; do
    for pause in $(seq 60); do [ -n "$(list)" ] || sleep 0.05; done
    "$0" stats > /dev/null
done
list
"#;
    let outcome = run(Caller::Root, "realtime", script);
    assert_eq!(outcome.stdout, "reader 1\n", "{outcome:?}");
}
