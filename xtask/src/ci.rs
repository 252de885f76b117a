//! `cargo xtask ci`: everything that must pass before a push.
//!
//! All that tests are and start is built first, by one command: cargo then agrees on one set of features, and
//! compiles nothing twice. The tests and the plays, which wait for much of their time, then run beside the compilers of the
//! other checks, which do not and give way to them.

mod limit;
mod programs;
mod stages;
mod web;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;

use crate::TaskFailure;
use crate::package;
use crate::workspace::{PROGRAMS_VARIABLE, cargo, cargo_of, root, target_dir};
use stages::{Stages, Stopped};

/// Runs all of it. Once something has failed, nothing more begins.
pub(crate) fn run() -> Result<(), TaskFailure> {
    let stages = Stages::new()?;
    let _what_failed_is_told_below = run_stages(&stages);
    stages.conclude()
}

/// What is played on our driver, by which doors, which the programs take in turn (the clerk and his assistant have the first two), and what
/// else is said.
const PLAYS: &[(&str, &str, &[&str])] = &[
    ("streams", "fuse", &[]),
    ("streams", "ring,fuse", &[]),
    ("streams", "fuse,ring", &["--bind-mounted", "--seeds", "40"]),
    ("conversations", "lane", &[]),
    ("polls", "ring,fuse,lane,mixed", &[]),
    ("floods", "ring,fuse", &[]),
    ("deaths", "lane,ring,fuse", &[]),
];

fn run_stages(stages: &Stages) -> Result<(), Stopped> {
    stages.run("fmt", &mut cargo(&["fmt", "--all", "--check"]))?;
    // Before the tests: one of them needs the packages of the page.
    web::check(stages)?;
    let programs = programs::build(stages)?;
    thread::scope(|scope| {
        let checks = scope.spawn(|| check(stages));
        let tested = programs::run(stages, &programs).and_then(|()| play(stages));
        checks.join().expect("what fails there is noted").and(tested)
    })
}

/// Plays the same on our driver as was played on a kernel's. Each play waits for much of its time, too.
fn play(stages: &Stages) -> Result<(), Stopped> {
    for (plot, doors, options) in PLAYS {
        let mut plays = own();
        plays.args(["differential", "--plot", plot, "--doors", doors]).args(*options);
        plays.env(PROGRAMS_VARIABLE, built_programs());
        let name = [&[*plot, "by", *doors], *options].concat().join(" ");
        stages.run(&name, &mut plays)?;
    }
    Ok(())
}

/// The stages without test programs of ours: compilers, mostly.
fn check(stages: &Stages) -> Result<(), Stopped> {
    stages.run("check", own().arg("check"))?;
    let lints = ["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"];
    stages.run("clippy", &mut behind(&cargo(&lints)))?;
    // What nothing in the workspace is built with: programs of ours would define symbols of the C library.
    let preloaded = ["clippy", "--package", "binder-ring-preload", "--features", "interpose"];
    let mut lint = cargo(&preloaded);
    lint.args(["--", "-D", "warnings"]);
    stages.run("clippy of the preloaded library", &mut behind(&lint))?;
    let mut docs = cargo(&["doc", "--workspace", "--no-deps", "--document-private-items"]);
    stages.run("rustdoc", &mut behind(docs.env("RUSTDOCFLAGS", "-D warnings")))?;
    stages.run("doctests", &mut behind(&cargo(&["test", "--workspace", "--doc"])))?;
    try_static_build(stages)?;
    check_bare_target(stages)?;
    check_dependencies(stages)?;
    stages.run("package", own().args(["package", "--no-verify", "--allow-dirty"]))?;
    check_oldest_compiler(stages)?;
    check_interleavings(stages)
}

/// A processor without an operating system, whose words are of 32 bits.
const BARE_TARGET: &str = "thumbv7em-none-eabihf";

/// Looks that the crates that others may use do without the standard library.
fn check_bare_target(stages: &Stages) -> Result<(), Stopped> {
    let mut probe = Command::new("rustc");
    probe.current_dir(root()).args(["--print", "target-libdir", "--target", BARE_TARGET]);
    let library = probe.output().map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
    if !library.is_ok_and(|library| Path::new(library.trim()).is_dir()) {
        return skip(stages, "bare target", &format!("{BARE_TARGET} is not installed"));
    }
    let bare = ["check", "--no-default-features", "--target", BARE_TARGET];
    let mut check = cargo(&bare);
    check.args(["--package", "bitsearch", "--package", "idr"]);
    stages.run("bare target", &mut behind(&check))
}

/// Looks at what deny.toml says of others' code, but for advisories: their database is on the net.
fn check_dependencies(stages: &Stages) -> Result<(), Stopped> {
    if !cargo(&["deny", "--version"]).output().is_ok_and(|output| output.status.success()) {
        return skip(stages, "dependencies", "there is no cargo-deny here");
    }
    let looks = ["deny", "--offline", "check", "licenses", "bans", "sources"];
    stages.run("dependencies", &mut behind(&cargo(&looks)))
}

/// Builds the crates that are meant for others with the compiler that their manifests promise to be enough.
fn check_oldest_compiler(stages: &Stages) -> Result<(), Stopped> {
    let mut probe = cargo_of(OLDEST_COMPILER, &["--version"]);
    if !probe.output().is_ok_and(|output| output.status.success()) {
        let why = format!("Rust {OLDEST_COMPILER} is not installed");
        return skip(stages, "oldest compiler", &why);
    }
    let mut check = cargo_of(OLDEST_COMPILER, &["check", "--locked", "--all-features"]);
    check.args(package::names().flat_map(|name| ["--package", name]));
    stages.run("oldest compiler", &mut behind(&check))
}

fn skip(stages: &Stages, what: &str, why: &str) -> Result<(), Stopped> {
    stages.run(what, Command::new("echo").arg(format!("SKIPPED: {what}: {why}")))
}

/// The `rust-version` of the manifests.
const OLDEST_COMPILER: &str = env!("CARGO_PKG_RUST_VERSION");

/// Where no library of the system is linked: the program runs on any distribution.
const STATIC_TARGET: &str = "x86_64-unknown-linux-musl";

/// Builds the program for [`STATIC_TARGET`], packs it as for others, and starts what comes of that.
fn try_static_build(stages: &Stages) -> Result<(), Stopped> {
    let build = cargo(&["build", "--package", "anybinder", "--target", STATIC_TARGET]);
    stages.run("static build", &mut behind(&build))?;
    let program = target_dir().join(STATIC_TARGET).join("debug/anybinder");
    // Artefacts of a program that has been built as it is released.
    let mut dist = own();
    dist.args(["dist", "--architecture", "x86-64", "--program"]).arg(program);
    stages.run("artefacts", &mut dist)
}

/// Runs the small concurrent parts through every interleaving.
fn check_interleavings(stages: &Stages) -> Result<(), Stopped> {
    let packages = ["binder-fuse", "binder-lane", "binder-os", "binder-ring", "idr", "pidns"];
    let mut command = cargo(&["test", "--lib", "--features=idr/std"]);
    command.args(packages.iter().flat_map(|package| ["--package", package]));
    command.args(["--", "combining_lock", "cancel_token::tests", "interleavings"]);
    // Other flags are another build of everything: it must not push out the usual one.
    command.env("CARGO_TARGET_DIR", root().join("target/loom"));
    // The second name is that of the epochs that `idr` uses.
    command.env("RUSTFLAGS", "--cfg loom --cfg crossbeam_loom");
    stages.run("loom", &mut behind(&command))
}

/// This program once more: as it has been built with all others, which may have replaced the one that runs.
fn own() -> Command {
    Command::new(built_programs().join("xtask"))
}

/// Where cargo puts our programs.
fn built_programs() -> PathBuf {
    target_dir().join("debug")
}

/// The same command, behind all others that want a processor: tests have the time that they reckon with.
fn behind(command: &Command) -> Command {
    let mut behind = Command::new("nice");
    behind.args(["-n", "10"]).arg(command.get_program()).args(command.get_args());
    behind.current_dir(command.get_current_dir().unwrap_or(root()));
    for (variable, value) in command.get_envs() {
        match value {
            Some(value) => behind.env(variable, value),
            None => behind.env_remove(variable),
        };
    }
    behind
}
