//! Calls that pass our driver by.

use std::path::Path;

use foreign::stage::{Stage, User};

/// Runs all checks of lanes, as every user.
#[test]
fn calls_that_pass_the_driver_by_are_calls() {
    let target_dir = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().expect("it is cargo's");
    let checks = Path::new(env!("CARGO_BIN_EXE_lane_checks"));
    let stage = Stage::new(target_dir, &[checks, Path::new("/bin/sh")]);
    let script = r#"
here=$(dirname "$0")
"$here/lane_checks"
"$here/anybinder" state --json"#;
    for &user in User::all() {
        let said = stage.run_script(user, &[], script);
        println!("as {user:?}:\n{said}");
        let left = said.lines().filter(|line| line.starts_with('{'));
        assert_eq!(left.count(), 0, "as {user:?}: {said}");
    }
}

/// Runs the checks of the library with a lane after each call, so that most things happen to one.
#[test]
fn the_checks_of_the_library_pass_with_lanes() {
    let target_dir = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().expect("it is cargo's");
    let checks = Path::new(env!("CARGO_BIN_EXE_library_checks"));
    let stage = Stage::new(target_dir, &[checks, Path::new("/bin/sh")]);
    let script = r#"
here=$(dirname "$0")
ANYBINDER_LANES=1 "$here/library_checks" --color never
"$here/anybinder" state --json"#;
    let said = stage.run_script(User::Myself, &[], script);
    let (checked, left) = said.split_once("test result:").unwrap_or_else(|| panic!("{said}"));
    assert!(!checked.contains("FAILED"), "{said}");
    let processes = left.lines().filter(|line| line.starts_with('{'));
    assert_eq!(processes.count(), 0, "{left}");
}
