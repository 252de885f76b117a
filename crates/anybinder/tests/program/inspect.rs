//! The subcommands that tell: doctor, demo, completions, man.

use std::process::Command;

use serde_json::Value;

use crate::caller::{Caller, PROGRAM, finish, is_root, without_fuse};

fn findings(stdout: &str) -> Vec<Value> {
    stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn is_found(findings: &[Value], check: &str) -> bool {
    let finding = findings.iter().find(|finding| finding["check"] == check);
    finding.unwrap()["found"].as_bool().unwrap()
}

#[test]
fn the_doctor_knows_what_each_caller_can_do() {
    for caller in Caller::all() {
        let outcome = finish(&mut caller.command(&["doctor", "--json"]));
        assert_eq!(outcome.code(), 0, "{outcome:?}");
        let findings = findings(&outcome.stdout);
        assert!(is_found(&findings, "fuse") && is_found(&findings, "run"));
        if *caller == Caller::Ordinary && is_root() {
            assert!(!is_found(&findings, "mount") && !is_found(&findings, "passthrough"));
            assert!(is_found(&findings, "user_namespace"));
        }
        for finding in findings {
            let is_open_question = finding["advice"].as_str().unwrap().is_empty();
            let is_optional = ["kernel_binder", "seccomp_notify"].map(Value::from);
            let is_good = finding["found"].as_bool().unwrap();
            assert!(is_good || !is_open_question || is_optional.contains(&finding["check"]));
        }
    }
}

#[test]
fn the_doctor_fails_where_run_would() {
    let Some(mut command) = without_fuse(&["doctor"]) else {
        return binder_testkit::skip("only root can close /dev/fuse to somebody");
    };
    let outcome = finish(&mut command);
    assert_eq!(outcome.code(), 1);
    for part in ["/dev/fuse", "does not work here", "try: "] {
        assert!(outcome.stdout.contains(part), "{part} is missing: {}", outcome.stdout);
    }
    // What the user is told to do is what helps, and nothing else.
    let advice = |check: &str| {
        let mut lines = outcome.stdout.lines().skip_while(|line| !line.starts_with(check));
        lines.nth(1).unwrap_or_default().trim().to_owned()
    };
    assert!(
        advice("run ").starts_with("try: give yourself access with `sudo chmod 0666 /dev/fuse`")
    );
    assert!(advice("mount ").starts_with("try: run it as root"), "{}", outcome.stdout);
    assert!(advice("mount_privilege ").starts_with("try: run it as root"), "{}", outcome.stdout);
}

#[test]
fn the_demo_shows_calls_in_ten_lines() {
    for caller in Caller::all() {
        let outcome = finish(&mut caller.command(&["demo", "--calls", "50"]));
        assert_eq!((outcome.code(), &*outcome.stderr), (0, ""));
        assert!(outcome.stdout.lines().count() <= 10, "{}", outcome.stdout);
        assert!(outcome.stdout.contains("50 calls answered"), "{}", outcome.stdout);
    }
}

#[test]
fn completions_and_the_manual_know_every_subcommand() {
    for arguments in [&["completions", "bash"][..], &["completions", "zsh"], &["man"], &["--help"]]
    {
        let outcome = finish(Command::new(PROGRAM).args(arguments));
        assert_eq!(outcome.code(), 0);
        for subcommand in [
            "run",
            "world",
            "aidl",
            "oci",
            "mount",
            "ps",
            "log",
            "doctor",
            "demo",
            "servicemanager",
            "completions",
            "man",
        ] {
            assert!(outcome.stdout.contains(subcommand), "{arguments:?}: {subcommand}");
        }
        if arguments[0] != "completions" {
            assert!(!outcome.stdout.contains("demo-cast"), "{arguments:?}");
        }
    }
}

#[test]
fn bash_offers_commands_after_the_separator_of_run() {
    let offered = |line: &str| {
        // In the last word of the line, as the shell calls a completion.
        let script = "eval \"$($0 completions bash)\"
            COMP_WORDS=($1) COMP_CWORD=$(($(set -- $1; echo $#) - 1))
            _anybinder_or_command anybinder \"${COMP_WORDS[COMP_CWORD]}\" \"${COMP_WORDS[COMP_CWORD - 1]}\"
            echo \" ${COMPREPLY[*]} \"";
        let bash = ["--norc", "-c", script, PROGRAM, line];
        let outcome = finish(Command::new("bash").args(bash));
        assert_eq!((outcome.code(), &*outcome.stderr), (0, ""));
        outcome.stdout
    };
    for line in [
        "run -- unsh",
        "run --proc -- unsh",
        "procview run --scenario -- unsh",
        "world exec dev -- unsh",
    ] {
        let line = format!("anybinder {line}");
        assert!(offered(&line).contains(" unshare "), "{line}: {}", offered(&line));
    }
    assert!(offered("anybinder run --no-sec").contains(" --no-seccomp "));
    assert!(offered("anybinder moun").contains(" mount "));
    assert!(!offered("anybinder mount -- unsh").contains("unshare"));
}

#[test]
fn the_help_of_each_subcommand_shows_its_two_commonest_uses() {
    for line in
        ["", "run", "mount", "procview mount", "procview run", "doctor", "demo", "ps", "top"]
            .into_iter()
            .chain([
                "state",
                "stats",
                "transactions",
                "log",
                "bench",
                "bench ping",
                "world",
                "world create",
                "world list",
                "world enter",
                "world exec",
                "world stop",
                "world rm",
                "world logs",
                "oci",
                "procview",
                "servicemanager",
                "service",
                "completions",
                "man",
            ])
    {
        let outcome = finish(Command::new(PROGRAM).args(line.split_whitespace()).arg("--help"));
        let (_, examples) = outcome.stdout.split_once("\nExamples:\n").unwrap_or_default();
        let uses = examples.lines().take_while(|use_of_it| use_of_it.starts_with("  "));
        let called = format!("anybinder {line}");
        assert!(
            uses.filter(|line| line.contains(called.trim_end())).count() >= 2,
            "{line}: {outcome:?}"
        );
    }
}

#[test]
fn every_page_that_the_manual_names_is_there() {
    let dir = std::env::temp_dir().join(format!("anybinder-man-{}", std::process::id()));
    let written = finish(Command::new(PROGRAM).args(["man", "--dir"]).arg(&dir));
    assert_eq!(written.code(), 0, "{written:?}");
    let pages: Vec<_> = std::fs::read_dir(&dir).unwrap().map(|entry| entry.unwrap()).collect();
    let mut named = 0;
    for page in &pages {
        let text = std::fs::read_to_string(page.path()).unwrap().replace('\\', "");
        for name in text.split_whitespace().filter_map(|word| word.strip_suffix("(1)")) {
            named += 1;
            assert!(dir.join(format!("{name}.1")).exists(), "{name}, of {:?}", page.path());
        }
        assert!(!text.contains("demo-cast"), "{text}");
        let subcommand = page.file_name().into_string().unwrap();
        // Some subcommands have names of two words, and pages like any other.
        let words = subcommand.trim_end_matches(".1").replace("find-bit", "find bit");
        let words =
            words.replace("serial-fraction", "serial fraction").replace("debug-info", "debug info");
        let words: Vec<_> = words.split('-').skip(1).map(|word| word.replace(' ', "-")).collect();
        let printed = finish(Command::new(PROGRAM).arg("man").args(words));
        assert_eq!((printed.code(), printed.stdout.replace('\\', "")), (0, text));
    }
    assert_eq!(named + 1, pages.len(), "each is named once, by the one above it");
    std::fs::remove_dir_all(&dir).unwrap();
    let none = finish(Command::new(PROGRAM).args(["man", "nothing"]));
    assert!(none.code() == 1 && none.stderr.contains("there is no 'nothing'"), "{none:?}");
}
