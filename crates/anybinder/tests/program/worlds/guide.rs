//! The lines of docs/worlds.md, typed into two terminals.

use std::process::Command;

use super::home::Home;
use crate::caller::{Caller, PROGRAM, Running, finish, raw_source};

const GUIDE: &str = include_str!("../../../../../docs/worlds.md");

/// The blocks of commands below a head line of the guide.
fn commands_below(head: &str) -> Vec<&'static str> {
    let section = GUIDE.split("\n## ").find(|section| section.starts_with(head)).unwrap();
    let blocks = section.split("```sh\n").skip(1);
    blocks.map(|block| block.split("```").next().unwrap()).collect()
}

/// A directory with the programs that the guide names.
fn programs() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let hello_binder = dir.path().join("hello_binder");
    let built =
        Command::new("cc").arg(raw_source("hello_binder.c")).arg("-o").arg(hello_binder).status();
    assert!(built.unwrap().success());
    std::os::unix::fs::symlink(PROGRAM, dir.path().join("anybinder")).unwrap();
    // Also for others than root, whatever the umask.
    for path in [dir.path(), &dir.path().join("hello_binder")] {
        std::fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(0o755))
            .unwrap();
    }
    dir
}

#[test]
fn what_the_guide_shows_in_two_terminals_works() {
    let [first, second, last] = commands_below("Two terminals")[..] else { panic!("{GUIDE}") };
    let programs = programs();
    let path = format!("{}:{}", programs.path().display(), std::env::var("PATH").unwrap());
    for caller in Caller::all() {
        let home = Home::of(*caller);
        let terminal = |script: &str| {
            let mut command = caller.wrap("sh", &["-ec", script]);
            command.env("XDG_RUNTIME_DIR", home.dir()).env("PATH", &path).env("SHELL", "/bin/sh");
            command
        };
        let mut one = Running::start(&mut terminal(first));
        assert_eq!(one.line(), "ready");
        let two = finish(&mut terminal(second));
        assert_eq!(two.code(), 0, "{two:?}");
        let lines: Vec<_> = two.stdout.lines().collect();
        assert!(lines[1].contains("hello_binder"), "{two:?}");
        assert!(two.stdout.contains("hello, world; you are a stranger"), "{two:?}");
        assert_eq!(one.finish().code(), 0);
        let end = finish(&mut terminal(last));
        assert_eq!((end.code(), &*end.stderr), (0, ""), "{end:?}");
        assert_eq!(home.list(), Vec::<String>::new());
    }
}
