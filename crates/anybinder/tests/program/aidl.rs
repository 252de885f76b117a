//! `aidl`: what a stranger types, and what comes of it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use tempfile::TempDir;

use crate::caller::{Outcome, PROGRAM, finish};

const HELLO: &str = "package com.example;
interface IHello {
    String greet(String name);
    oneway void shout(String text);
    Kind kind();
}
";

/// A package with two files below `aidl`, and one with a mistake below `bad`.
fn project() -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    let write = |path: &str, text: &str| {
        let path = directory.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    write("aidl/com/example/IHello.aidl", HELLO);
    write("aidl/com/example/Kind.aidl", "package com.example; enum Kind { A, B }");
    write("bad/com/example/IHello.aidl", &HELLO.replace("String name", "Strng name"));
    directory
}

/// `anybinder aidl ARGUMENTS` in a directory, by nobody in particular: there need not even be an environment.
fn aidl(directory: impl AsRef<Path>, arguments: &str) -> Outcome {
    let mut command = Command::new(PROGRAM);
    command.env_clear().current_dir(directory).arg("aidl").args(arguments.split(' '));
    finish(&mut command)
}

/// All files below a directory.
fn files(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).into_iter().flatten() {
        let path = entry.unwrap().path();
        if path.is_dir() { found.extend(files(&path)) } else { found.push(path) }
    }
    found
}

#[test]
fn rust_is_written_with_a_tree_of_modules() {
    let project = project();
    let out = project.path().join("out");
    // From wherever in the tree it is called.
    for (from, arguments) in [
        ("", "-o out aidl"),
        ("aidl", "-o ../out ."),
        ("aidl/com/example", "--output ../../../out IHello.aidl Kind.aidl"),
    ] {
        let outcome = aidl(project.path().join(from), arguments);
        assert_eq!((outcome.code(), outcome.stdout.as_str()), (0, ""), "{outcome:?}");
        assert_eq!(files(&out).len(), 3);
        let tree = fs::read_to_string(out.join("mod.rs")).unwrap();
        assert!(tree.contains("pub mod r#IHello;") && tree.contains("pub mod r#Kind;"), "{tree}");
        let hello = fs::read_to_string(out.join("com/example/IHello.rs")).unwrap();
        assert!(hello.contains("pub trait IHello: binder::Interface"), "{hello}");
        fs::remove_dir_all(&out).unwrap();
    }
}

#[test]
fn versions_and_stability_are_what_is_asked_for() {
    let project = project();
    let arguments = "-o out --interface-version 3 --stability vintf aidl";
    assert_eq!(aidl(&project, arguments).code(), 0);
    let hello = fs::read_to_string(project.path().join("out/com/example/IHello.rs")).unwrap();
    assert!(hello.contains("pub const VERSION: i32 = 3;"), "{hello}");
    assert!(hello.contains("pub const HASH: &str = \"notfrozen\";"), "{hello}");
}

#[test]
fn mistakes_are_shown_with_their_sources_and_nothing_is_written() {
    let project = project();
    for arguments in ["--check -I aidl bad", "-o out -I aidl bad"] {
        let outcome = aidl(&project, arguments);
        assert_eq!((outcome.code(), outcome.stdout.as_str()), (1, ""), "{outcome:?}");
        let wanted = "\
error: unknown type `Strng`
 --> bad/com/example/IHello.aidl:3:18
  |
3 |     String greet(Strng name);
  |                  ^^^^^ not found
  |
  = help: import it, or put its file beside this one in its package

anybinder: compiling AIDL: 1 mistake
";
        assert_eq!(outcome.stderr, wanted);
        assert!(!project.path().join("out").exists());
    }
    let outcome = aidl(&project, "--check aidl");
    assert_eq!((outcome.code(), outcome.stderr.as_str()), (0, ""), "{outcome:?}");
}

#[test]
fn a_warning_is_shown_and_keeps_nothing_from_being_written() {
    let project = project();
    let java = "package com.example; @JavaOnlyStableParcelable parcelable Java;";
    fs::write(project.path().join("aidl/com/example/Java.aidl"), java).unwrap();
    let outcome = aidl(&project, "-o out aidl");
    assert_eq!(outcome.code(), 0, "{outcome:?}");
    assert!(outcome.stderr.starts_with("warning: `Java` is for Java only"), "{outcome:?}");
    assert!(outcome.stderr.contains("--> aidl/com/example/Java.aidl:1:59"), "{outcome:?}");
    assert_eq!(files(&project.path().join("out")).len(), 3);
}

#[test]
fn what_others_have_written_stays() {
    let project = project();
    fs::create_dir(project.path().join("src")).unwrap();
    fs::write(project.path().join("src/mod.rs"), "mod mine;").unwrap();
    let outcome = aidl(&project, "-o src aidl");
    assert_eq!(outcome.code(), 1, "{outcome:?}");
    assert!(outcome.stderr.contains("src/mod.rs was not generated"), "{outcome:?}");
    assert_eq!(files(&project.path().join("src")).len(), 1);
}

#[test]
fn methods_are_listed_for_people_and_for_programs() {
    let project = project();
    // No import needs to be there.
    fs::remove_file(project.path().join("aidl/com/example/Kind.aidl")).unwrap();
    let outcome = aidl(&project, "--list aidl");
    let wanted = "\
# INTERFACE         CODE  METHOD
com.example.IHello     1  greet
com.example.IHello     2  shout   # oneway
com.example.IHello     3  kind
";
    assert_eq!((outcome.code(), outcome.stdout.as_str()), (0, wanted), "{outcome:?}");
    let outcome = aidl(&project, "--list --json aidl");
    let methods = outcome.stdout.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let methods: Vec<_> = methods.map(|it| (it["code"].clone(), it["oneway"].clone())).collect();
    assert_eq!(
        methods,
        [(1.into(), false.into()), (2.into(), true.into()), (3.into(), false.into())]
    );
}

#[test]
fn slips_are_told() {
    let project = project();
    for (arguments, status, part) in [
        ("aidl", 2, "<--output <DIR>|--check|--list>"),
        ("--check", 2, "<PATH>..."),
        ("--check --list aidl", 2, "cannot be used with"),
        ("--check --json aidl", 2, "cannot be used with"),
        ("--check none.aidl", 1, "none.aidl: No such file or directory"),
        ("--check out", 1, "out: No such file or directory"),
        ("--check bad/com/example/../..", 1, "unknown type `Strng`"),
    ] {
        let outcome = aidl(&project, arguments);
        assert_eq!(outcome.code(), status, "{arguments}: {outcome:?}");
        assert!(outcome.stderr.contains(part), "{arguments}: {outcome:?}");
    }
}
