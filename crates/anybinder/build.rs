//! Builds the library that `run` preloads, for the machine that the program is built for.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The package, and the file that cargo makes of it.
const PACKAGE: &str = "binder-ring-preload";
const BUILT: &str = "libbinder_ring_preload.so";

/// What the program includes.
const LIBRARY: &str = "libanybinder_ring.so";

/// The crates that it is made of.
const SOURCES: [&str; 5] =
    ["binder-ring-preload", "binder-ring-client", "binder-lane", "binder-ring", "binder-uapi"];

/// Without any library of the system, and so that what it would need of one is found out here.
const LINK_ARGUMENTS: [&str; 4] =
    ["-nostdlib", "-nostartfiles", "-Wl,--no-undefined", "-Wl,-soname,libanybinder_ring.so"];

/// What was meant for the program, or comes from a tool that looks at its sources.
const NOT_FOR_THE_LIBRARY: [&str; 6] = [
    "CARGO_BUILD_TARGET",
    "CARGO_TARGET_DIR",
    "RUSTC_WORKSPACE_WRAPPER",
    "RUSTFLAGS",
    "RUSTDOCFLAGS",
    "CARGO_BUILD_RUSTFLAGS",
];

fn main() {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    for name in SOURCES {
        let place = workspace.join("crates").join(name);
        println!("cargo::rerun-if-changed={}", place.join("src").display());
        println!("cargo::rerun-if-changed={}", place.join("Cargo.toml").display());
    }
    for name in ["Cargo.toml", "Cargo.lock"] {
        println!("cargo::rerun-if-changed={}", workspace.join(name).display());
    }
    println!("cargo::rerun-if-changed=build.rs");

    let out = PathBuf::from(variable("OUT_DIR"));
    let built = build(&workspace, &out.join("preload"));
    fs::copy(&built, out.join(LIBRARY))
        .unwrap_or_else(|error| panic!("copying {}: {error}", built.display()));
}

/// Builds the library below `place` and returns where it is. Another cargo does, since the library has a profile of its
/// own, and none of the features that other crates ask of its dependencies; in a place of its own, since this one's is
/// locked.
fn build(workspace: &Path, place: &Path) -> PathBuf {
    let target = variable("TARGET");
    // A static program is built with the same target; a library cannot be static.
    let flags = if target.contains("musl") { "-Ctarget-feature=-crt-static" } else { "" };
    let mut cargo = Command::new(variable("CARGO"));
    cargo.current_dir(workspace).args(["rustc", "--quiet", "--locked", "--package", PACKAGE]);
    cargo.args(["--lib", "--crate-type", "cdylib", "--features", "interpose"]);
    cargo.args(["--profile", "preload", "--target", &target, "--target-dir"]).arg(place);
    cargo.arg("--").args(LINK_ARGUMENTS.map(|argument| format!("-Clink-arg={argument}")));
    NOT_FOR_THE_LIBRARY.iter().for_each(|name| {
        cargo.env_remove(name);
    });
    cargo.env("CARGO_ENCODED_RUSTFLAGS", flags);
    let status = cargo.status().unwrap_or_else(|error| panic!("starting {cargo:?}: {error}"));
    assert!(status.success(), "{cargo:?}: {status}");
    place.join(target).join("preload").join(BUILT)
}

fn variable(name: &str) -> String {
    env::var(name).unwrap_or_else(|error| panic!("{name}: {error}"))
}
