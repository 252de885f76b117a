//! Signals on their way to the command.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use crate::caller::{Caller, PROGRAM, Running, children, finish, state, wait_until};

#[test]
fn signals_reach_the_command() {
    for caller in Caller::all() {
        for name in ["INT", "TERM", "HUP", "QUIT", "USR1", "USR2", "WINCH"] {
            let script = format!(
                "trap 'echo caught; exit 3' {name}; echo ready; while :; do sleep 0.01; done"
            );
            let mut running = Running::start(&mut caller.run_script(&script));
            assert_eq!(running.line(), "ready");
            running.signal(name);
            let outcome = running.finish();
            assert_eq!((outcome.code(), &*outcome.stdout), (3, "caught\n"), "{name}");
        }
    }
}

#[test]
fn a_signal_that_ends_the_command_is_told_in_the_status() {
    for caller in Caller::all() {
        for (name, status) in [("TERM", 143), ("HUP", 129), ("INT", 130)] {
            let mut running = Running::start(&mut caller.run_script("echo ready; exec sleep 1000"));
            assert_eq!(running.line(), "ready");
            // The shell may not have become sleep yet; it takes the signal the same way.
            running.signal(name);
            assert_eq!(running.finish().code(), status, "{name}");
        }
    }
}

#[test]
fn the_command_has_the_signal_mask_of_its_caller() {
    for caller in Caller::all() {
        let outcome =
            Running::start(&mut caller.run_script("grep SigBlk /proc/self/status")).finish();
        assert!(outcome.stdout.trim_end().ends_with("0000000000000000"), "{}", outcome.stdout);
    }
}

#[test]
fn the_end_of_children_is_noticed_though_the_caller_ignores_that_of_its_own() {
    for caller in Caller::all() {
        let run = ["run", "--no-manager", "--", "sh", "-c", "exit 3"];
        for (words, status) in [(&["doctor"][..], 0), (&run, 3)] {
            let ignoring = [&["--ignore-signal=CHLD", PROGRAM], words].concat();
            let outcome = finish(&mut caller.wrap("env", &ignoring));
            assert_eq!(outcome.code(), status, "{words:?}: {outcome:?}");
            assert!(!outcome.stdout.contains("No child processes"), "{}", outcome.stdout);
        }
    }
}

#[test]
fn stopping_and_continuing_takes_both() {
    for caller in Caller::all() {
        let mut command = caller.run_script("echo $$; exec sleep 1000");
        // A process group of its own has its parent, the test, in another: so a stop counts.
        let mut running = Running::start(command.process_group(0));
        let sleeper: u32 = running.line().parse().unwrap();
        running.signal("TSTP");
        wait_until(|| state(sleeper) == Some('T') && state(running.pid()) == Some('T'));
        running.signal("CONT");
        wait_until(|| state(sleeper) == Some('S') && state(running.pid()) == Some('S'));
        running.signal("TERM");
        assert_eq!(running.finish().code(), 143);
    }
}

#[test]
fn orphans_of_the_command_are_collected() {
    for caller in Caller::all() {
        let script = "(sleep 0.05 & echo $!); echo $$; read line";
        let mut command = caller.run_script(script);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut next = || lines.next().unwrap().unwrap().parse::<u32>().unwrap();
        let (orphan, shell) = (next(), next());
        wait_until(|| !std::path::Path::new(&format!("/proc/{orphan}")).exists());
        assert!(children(child.id()).contains(&shell));
        child.stdin.take().unwrap().write_all(b"\n").unwrap();
        assert!(child.wait().unwrap().success());
    }
}

#[test]
fn an_interrupt_from_the_terminal_comes_once() {
    if Caller::all().is_empty() {
        return;
    }
    // The trap counts; the loop ends long after a second interrupt would have come.
    let script = "trap 'echo caught' INT; echo ready; i=0; \
                  while [ $i -lt 30 ]; do sleep 0.01; i=$((i+1)); done; echo end";
    // script(1) hands the line to $SHELL, and some shells stay, to die of the interrupt themselves.
    let line = format!("exec {PROGRAM} run -- sh -c '{}'", script.replace('\'', "'\\''"));
    if Command::new("script").arg("--version").output().is_err() {
        return binder_testkit::skip("script(1) is not installed");
    }
    // A shell that starts the tests in the background has them ignore interrupts.
    let mut command = Command::new("env");
    command.args(["--default-signal=HUP,INT,QUIT,TERM", "script"]).env("SHELL", "/bin/sh");
    command.args(["--quiet", "--return", "--command", &line, "/dev/null"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut keyboard = child.stdin.take().unwrap();
    let mut heard = Vec::new();
    for line in BufReader::new(child.stdout.take().unwrap()).lines() {
        let line = line.unwrap().trim_end().to_owned();
        if line == "ready" {
            keyboard.write_all(b"\x03").unwrap();
        }
        heard.push(line);
    }
    assert!(child.wait().unwrap().success());
    let caught = heard.iter().filter(|line| line.ends_with("caught")).count();
    assert_eq!(caught, 1, "{heard:?}");
    assert_eq!(heard.last().map(String::as_str), Some("end"));
}
