//! Commands of a world at a terminal.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use super::home::Home;
use crate::caller::{Caller, PROGRAM, state, wait_until};

/// A terminal in which `script` runs, and what is typed there.
struct Typewriter {
    child: Child,
    keyboard: ChildStdin,
    paper: BufReader<ChildStdout>,
}

impl Typewriter {
    /// `None` where script(1) is missing.
    fn start(home: &Home, script: &str) -> Option<Self> {
        if Command::new("script").arg("--version").output().is_err() {
            binder_testkit::skip("script(1) is not installed");
            return None;
        }
        let mut command = Command::new("env");
        command.args(["--default-signal=HUP,INT,QUIT,TERM", "script"]).env("SHELL", "/bin/sh");
        command.args(["--quiet", "--return", "--command", script, "/dev/null"]);
        command.env("XDG_RUNTIME_DIR", home.dir()).env("PS1", "").env_remove("ENV");
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let keyboard = child.stdin.take().unwrap();
        let paper = BufReader::new(child.stdout.take().unwrap());
        Some(Self { child, keyboard, paper })
    }

    fn type_in(&mut self, text: &str) {
        self.keyboard.write_all(text.as_bytes()).unwrap();
    }

    /// Reads on until a line ends with this, and returns the line.
    fn read_until(&mut self, end: &str) -> String {
        loop {
            let mut line = String::new();
            assert_ne!(self.paper.read_line(&mut line).unwrap(), 0, "no line ends with {end}");
            if line.trim_end().ends_with(end) {
                return line.trim_end().to_owned();
            }
        }
    }

    fn status(mut self) -> i32 {
        drop(self.keyboard);
        std::io::copy(&mut self.paper, &mut std::io::sink()).unwrap();
        self.child.wait().unwrap().code().unwrap()
    }
}

fn with_world(test: impl Fn(&Home)) {
    if Caller::all().contains(&Caller::Root) {
        let home = Home::of(Caller::Root);
        home.fine(&["create", "dev"]);
        test(&home);
    }
}

#[test]
fn a_shell_in_a_world_has_a_terminal_of_its_own_and_job_control() {
    with_world(|home| {
        let script = format!("stty rows 33 cols 77 && exec {PROGRAM} world exec dev -- sh -i");
        let Some(mut terminal) = Typewriter::start(home, &script) else { return };
        terminal.type_in("stty -echo; tty; stty size; echo of-$((40+2))\n");
        terminal.read_until("33 77");
        terminal.read_until("of-42");
        // The keys mean the command that is in the foreground of that terminal, and not this program.
        terminal.type_in("sh -c 'trap \"echo caught; exit 5\" INT; echo on-$((40+2)); while :; do sleep 0.01; done'\n");
        terminal.read_until("on-42");
        terminal.type_in("\x03");
        terminal.read_until("caught");
        terminal.type_in("echo status-$?\n");
        terminal.read_until("status-5");
        terminal.type_in("sh -c 'echo go-$((40+2)); exec sleep 1000'\n");
        terminal.read_until("go-42");
        // A shell that was just starting a program would wait for that, stopped too, and not be told of as stopped.
        terminal.type_in("\x1a");
        // What is typed before the terminal has stopped the command is thrown away with it.
        let is_stopped = terminal.read_until("sleep 1000\"");
        assert!(is_stopped.contains("Stopped"), "{is_stopped}");
        terminal.type_in("echo stopped-$?\n");
        terminal.read_until("stopped-148");
        terminal.type_in("kill %1; exit 6\n");
        terminal.type_in("exit 6\n");
        assert_eq!(terminal.status(), 6);
    });
}

#[test]
fn all_that_a_command_prints_is_shown() {
    with_world(|home| {
        let script = format!("exec {PROGRAM} world exec dev -- seq 1 20000");
        let Some(mut terminal) = Typewriter::start(home, &script) else { return };
        let (mut lines, mut last) = (0, String::new());
        loop {
            let mut line = String::new();
            if terminal.paper.read_line(&mut line).unwrap() == 0 {
                break;
            }
            (lines, last) = (lines + 1, line);
        }
        assert_eq!((lines, last.trim_end()), (20_000, "20000"));
        assert_eq!(terminal.status(), 0);
    });
}

#[test]
fn what_is_typed_at_once_arrives_whole() {
    with_world(|home| {
        let script = format!(
            "stty -echo; exec {PROGRAM} world exec dev -- sh -c 'echo ready; head -n 3000 | cksum; seq 3000 | cksum'"
        );
        let Some(mut terminal) = Typewriter::start(home, &script) else { return };
        terminal.read_until("ready");
        let text: String = (1..=3000).map(|number| format!("{number}\n")).collect();
        terminal.type_in(&text);
        let mut sum = || {
            let mut line = String::new();
            terminal.paper.read_line(&mut line).unwrap();
            line
        };
        assert_eq!(sum(), sum());
        assert_eq!(terminal.status(), 0);
    });
}

#[test]
fn a_terminal_is_given_back_as_it_was() {
    with_world(|home| {
        let script = format!(
            "stty -echo -icanon; stty -g; {PROGRAM} world exec dev -- stty echo icanon; echo of-$?; stty -g; exit 4"
        );
        let Some(mut terminal) = Typewriter::start(home, &script) else { return };
        let mut line = || {
            let mut line = String::new();
            terminal.paper.read_line(&mut line).unwrap();
            line.trim_end().to_owned()
        };
        let before = line();
        assert_eq!(line(), "of-0");
        assert_eq!(line(), before);
        assert_eq!(terminal.status(), 4);
    });
}

#[test]
fn what_has_a_terminal_is_hung_up_when_that_goes() {
    with_world(|home| {
        let script =
            format!("exec {PROGRAM} world exec dev -- sh -c 'echo pid-$$; exec sleep 1000'");
        let Some(mut terminal) = Typewriter::start(home, &script) else { return };
        let line = terminal.read_until("");
        let inside: u32 = line.trim_start_matches("pid-").parse().unwrap();
        terminal.child.kill().unwrap();
        terminal.child.wait().unwrap();
        wait_until(|| state(inside).is_none());
    });
}

#[test]
fn without_a_terminal_for_its_output_a_command_is_interrupted_as_a_group() {
    with_world(|home| {
        let inner = "sh -c \"trap \\\"echo caught >&2; exit 7\\\" INT; echo ready >&2; while :; do sleep 0.01; done\"; exit 8";
        let script = format!("{PROGRAM} world exec dev -- sh -c '{inner}' | cat");
        let Some(mut terminal) = Typewriter::start(home, &script) else { return };
        terminal.read_until("ready");
        terminal.type_in("\x03");
        terminal.read_until("caught");
        // The shell that has started both is interrupted as well.
        assert_eq!(terminal.status(), 130);
    });
}
