//! An independent Binder library, its service manager and its tools run on our driver, and with our library and our
//! service manager.

use std::path::Path;

use foreign::stage::{self, Stage, User};

#[test]
fn rsbinder_and_our_library_run_with_each_service_manager() {
    let target_dir = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
    let tools = stage::rsbinder_tools(target_dir);
    let programs = [
        Path::new(env!("CARGO_BIN_EXE_foreign_scenario")),
        Path::new(env!("CARGO_BIN_EXE_rsbinder_service")),
        Path::new(env!("CARGO_BIN_EXE_rsbinder_client")),
        Path::new(env!("CARGO_BIN_EXE_library_service")),
        Path::new(env!("CARGO_BIN_EXE_library_client")),
        &tools.join("rsb_hub"),
        &tools.join("rsb_service"),
    ];
    let stage = Stage::new(target_dir, &programs);
    for &user in User::all() {
        for service in ["rsbinder", "library"] {
            for client in ["rsbinder", "library"] {
                for manager in ["rsb_hub", "servicemanager"] {
                    let cast = [service, client, manager];
                    let said = stage.run(user, "foreign_scenario", &cast);
                    assert!(said.ends_with("foreign_scenario: done\n"), "{cast:?}: {said}");
                }
            }
        }
    }
}
