//! What is checked in is what the compiler makes.

use std::path::Path;

use binder_build::{Build, Compiler, Unit};

#[test]
fn the_generated_code_is_the_compilers() {
    if !Compiler::from_env().is_there() {
        eprintln!("skipped: there is no AIDL compiler; set AIDL to its path");
        return;
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let directory = root.join("../foreign/aidl");
    let build = || Build::new().unit(Unit::new(&directory).sources_below(&directory).unwrap());
    let checked_in = root.join("generated");
    if std::env::var_os("UPDATE_AIDL").is_some() {
        build().run_into(&checked_in).unwrap();
    }
    let fresh = tempfile::tempdir().unwrap();
    build().run_into(fresh.path()).unwrap();
    for name in ["mod.rs", "foreign/IHost.rs", "foreign/ISession.rs", "foreign/IVisitor.rs"] {
        let read = |directory: &Path| std::fs::read_to_string(directory.join(name)).unwrap();
        assert!(read(&checked_in) == read(fresh.path()), "{name} differs");
    }
}
