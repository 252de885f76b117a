//! What is checked in is what Android's compiler makes, and what ours does.

#![expect(clippy::unwrap_used, reason = "these are tests")]

use std::fs;
use std::path::{Path, PathBuf};

use binder_build::{Build, Compiler, Unit};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn build() -> Build {
    let unit = |name: &str| {
        let directory = root().join("aidl").join(name);
        Unit::new(&directory).sources_below(&directory).unwrap()
    };
    Build::new()
        .unit(unit("types"))
        .unit(unit("versioned").version(2, "0123456789abcdef"))
        .unit(unit("vintf").vintf())
        .unit(unit("platform"))
        // What programs of other libraries speak.
        .unit(unit("../../foreign/aidl"))
}

fn files(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { found.extend(files(&path)) } else { found.push(path) }
    }
    found.sort();
    found
}

/// A generated file without the comment at its head, which names the compiler.
fn items(path: &Path) -> String {
    let text = fs::read_to_string(path).unwrap_or_default();
    let head = text.starts_with("/*").then(|| text.find("*/\n")).flatten();
    text[head.map_or(0, |end| end + 3)..].to_owned()
}

/// Compares what a compiler makes with what is checked in.
fn assert_same_as_checked_in(fresh: &Path) {
    let checked_in = root().join("generated");
    let generated = files(fresh);
    assert_eq!(generated.len(), files(&checked_in).len(), "another number of files");
    for path in generated {
        let name = path.strip_prefix(fresh).unwrap();
        let (ours, theirs) = (items(&path), items(&checked_in.join(name)));
        let difference = ours.lines().zip(theirs.lines()).find(|(ours, theirs)| ours != theirs);
        assert_eq!(difference, None, "{} differs", name.display());
        assert_eq!(ours.len(), theirs.len(), "{} ends otherwise", name.display());
    }
}

#[test]
fn our_compiler_writes_what_androids_does() {
    let fresh = tempfile::tempdir().unwrap();
    build().compiler(Compiler::built_in()).run_into(fresh.path()).unwrap();
    assert_same_as_checked_in(fresh.path());
}

#[test]
fn the_generated_code_is_the_compilers() {
    let Some(path) = std::env::var_os("AIDL") else {
        binder_testkit::skip("Android's AIDL compiler is not at hand; set AIDL to its path");
        return;
    };
    if std::env::var_os("UPDATE_AIDL").is_some() {
        build().compiler(Compiler::new(&path)).run_into(&root().join("generated")).unwrap();
    }
    let fresh = tempfile::tempdir().unwrap();
    build().compiler(Compiler::new(path)).run_into(fresh.path()).unwrap();
    assert_same_as_checked_in(fresh.path());
}
