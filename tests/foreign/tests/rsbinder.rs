//! An independent Binder library, its service manager and its tools run on our driver.

use std::path::Path;

use foreign::stage::{self, Stage, User};

#[test]
fn rsbinder_and_its_service_manager_run_unmodified() {
    let target_dir = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
    let tools = stage::rsbinder_tools(target_dir);
    let programs = [
        Path::new(env!("CARGO_BIN_EXE_foreign_scenario")),
        Path::new(env!("CARGO_BIN_EXE_rsbinder_service")),
        Path::new(env!("CARGO_BIN_EXE_rsbinder_client")),
        &tools.join("rsb_hub"),
        &tools.join("rsb_service"),
    ];
    let stage = Stage::new(target_dir, &programs);
    for &user in User::all() {
        let said = stage.run(user, "foreign_scenario", &[]);
        assert!(said.ends_with("foreign_scenario: done\n"), "{said}");
    }
}
