//! An independent Binder library, its service manager and its tools run on our driver, and with our library and our
//! service manager.

use std::path::Path;

use foreign::stage::{self, Stage, User};

fn stage() -> Stage {
    let target_dir =
        Path::new(env!("CARGO_TARGET_TMPDIR")).parent().expect("it is cargo's target/tmp");
    let tools = stage::rsbinder_tools(target_dir);
    let programs = [
        Path::new(env!("CARGO_BIN_EXE_foreign_scenario")),
        Path::new(env!("CARGO_BIN_EXE_rsbinder_service")),
        Path::new(env!("CARGO_BIN_EXE_rsbinder_client")),
        Path::new(env!("CARGO_BIN_EXE_library_service")),
        Path::new(env!("CARGO_BIN_EXE_library_client")),
        &tools.join("rsb_hub"),
        &tools.join("rsb_service"),
        Path::new("/bin/sh"),
    ];
    Stage::new(target_dir, &programs)
}

const DONE: &str = "foreign_scenario: done\n";

#[test]
fn rsbinder_and_our_library_run_with_each_service_manager() {
    let stage = stage();
    for &user in User::all() {
        for service in ["rsbinder", "library"] {
            for client in ["rsbinder", "library"] {
                for manager in ["rsb_hub", "servicemanager"] {
                    let cast = [service, client, manager];
                    let said = stage.run(user, "foreign_scenario", &cast);
                    assert!(said.ends_with(DONE), "{cast:?}: {said}");
                }
            }
        }
    }
}

/// Ways into containers that end with what they have started.
const CONTAINERS: [&str; 3] = [
    "unshare --pid --fork --kill-child",
    "unshare --user --map-root-user",
    "unshare --user --map-root-user --pid --fork --kill-child",
];

/// Has the devices of a world be those of a driver that `anybinder mount` starts, without a supervisor.
const OF_A_MACHINE: &str = r#"
here=$(dirname "$0")
dir=$(mktemp -d)
chmod 755 "$dir"
"$here/anybinder" mount --mode 666 --no-links "$dir"
mount --bind "$dir" /dev/binderfs
"#;

/// The processes of a container that was ended may close their files a moment later.
const UNMOUNT: &str = r#"
tries=0
until umount --quiet /dev/binderfs; do
  tries=$((tries + 1))
  [ $tries -lt 100 ] || umount /dev/binderfs
  sleep 0.05
done
umount "$dir"
rmdir "$dir"
"#;

#[test]
fn rsbinder_calls_and_is_called_across_the_borders_of_containers() {
    let stage = stage();
    for &user in User::all() {
        let is_root = matches!(user, User::Myself) && rustix::process::geteuid().is_root();
        for container in &CONTAINERS[usize::from(!is_root)..] {
            for side in ["service", "client"] {
                let play = format!("rsbinder rsbinder rsb_hub {side} {container}");
                let words: Vec<_> = play.split(' ').collect();
                let said = stage.run(user, "foreign_scenario", &words);
                assert!(said.ends_with(DONE), "{play}, of {user:?} in a world: {said}");
                if !is_root {
                    continue;
                }
                let script = format!(
                    r#"{OF_A_MACHINE}
"$here/foreign_scenario" {play}
{UNMOUNT}"#
                );
                let said = stage.run_script(user, &["--no-seccomp", "--no-ring"], &script);
                assert!(said.ends_with(DONE), "{play}, on a machine: {said}");
            }
        }
    }
}
