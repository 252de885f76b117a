//! Our service manager, and clients of every release of Android's.

use std::path::Path;

use foreign::stage::{Stage, User};

/// How many devices the checks have, one each.
const DEVICES: usize = 30;

#[test]
fn the_checks_of_the_service_manager_pass() {
    let target_dir = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().expect("it is cargo's");
    let stage = Stage::new(target_dir, &[Path::new(env!("CARGO_BIN_EXE_manager_checks"))]);
    let devices: Vec<_> = (0..DEVICES).map(|number| format!("m{number}")).collect();
    let world = ["--devices", &devices.join(",")];
    for &user in User::all() {
        let said = stage.run_in(user, &world, "manager_checks", &["--color", "never"]);
        println!("as {user:?}: {}", said.lines().last().unwrap_or_default());
        assert!(!said.contains("FAILED"), "{said}");
    }
}
