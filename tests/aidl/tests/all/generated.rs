//! What is checked in is what the compiler makes.

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

#[test]
fn the_generated_code_is_the_compilers() {
    if !Compiler::from_env().is_there() {
        binder_testkit::skip("there is no AIDL compiler; set AIDL to its path");
        return;
    }
    let checked_in = root().join("generated");
    if std::env::var_os("UPDATE_AIDL").is_some() {
        build().run_into(&checked_in).unwrap();
    }
    let fresh = tempfile::tempdir().unwrap();
    build().run_into(fresh.path()).unwrap();
    let generated = files(fresh.path());
    assert_eq!(generated.len(), files(&checked_in).len(), "another number of files");
    for path in generated {
        let name = path.strip_prefix(fresh.path()).unwrap();
        let ours = fs::read_to_string(checked_in.join(name)).unwrap_or_default();
        assert!(ours == fs::read_to_string(&path).unwrap(), "{} differs", name.display());
    }
}
