//! C programs that know only `<linux/android/binder.h>` run on our driver.

use std::path::{Path, PathBuf};
use std::process::Command;

use foreign::stage::{Stage, User};

/// Compiles `tests/raw/NAME.c` and puts it on a stage.
fn stage_with(name: &str) -> Stage {
    let place = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let source = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("../raw/{name}.c"));
    let program = place.join(name);
    let mut gcc = Command::new("gcc");
    gcc.args(["-O2", "-Wall", "-Werror", "-pthread", "-o"]).arg(&program).arg(source);
    assert!(gcc.status().expect("gcc is installed").success(), "{name}.c does not compile");
    let target = place.parent().expect("it is cargo's target/tmp");
    Stage::new(target, &[&program, Path::new("/bin/sh")])
}

/// Runs `rawbinder`, which checks every echo itself, and returns the column `n` of each row it printed.
fn transactions(stage: &Stage, user: User, args: &[&str]) -> Vec<u64> {
    let table = stage.run(user, "rawbinder", args);
    let n = |row: &str| row.split('\t').nth(7)?.parse().ok();
    table.lines().map(|row| n(row).unwrap_or_else(|| panic!("no count in {row:?}"))).collect()
}

#[test]
fn a_program_that_has_never_heard_of_us_says_hello() {
    let stage = stage_with("hello_binder");
    for &user in User::all() {
        let said = stage.run(user, "hello_binder", &[]);
        assert_eq!(said, "hello, world; you are my parent\n", "as {user:?}");
    }
}

#[test]
fn the_raw_benchmark_runs_in_all_its_modes() {
    let stage = stage_with("rawbinder");
    for &user in User::all() {
        let run = |args: &[&str]| transactions(&stage, user, args);
        assert_eq!(run(&["ping", "-n", "500", "-w", "10", "-s", "0,4,4096,100000"]), [500; 4]);
        assert_eq!(run(&["oneway", "-n", "2000", "-w", "10", "-s", "4,4096"]), [2000; 2]);
        assert_eq!(run(&["handles", "-n", "10000", "-b", "5000", "-w", "0"]), [5000; 2]);
        assert_eq!(
            run(&["multi", "-n", "200", "-w", "10", "-C", "1,8", "-T", "1,4"]),
            [200, 200, 1600, 1600]
        );
    }
}

/// Container managers bind-mount single nodes; an open through such a mount comes without a look-up.
#[test]
fn a_node_that_is_bind_mounted_serves_all_who_open_it() {
    if !rustix::process::geteuid().is_root() {
        println!("SKIPPED: only root can bind-mount inside a world");
        return;
    }
    let stage = stage_with("rawbinder");
    let script = r#"
node=$(mktemp)
mount --bind /dev/binderfs/binder "$node"
for mode in "ping -n 300 -w 10 -s 0,64,4096,100000" "multi -n 100 -w 10 -C 4 -T 3" "handles -n 300 -b 300"; do
    "$(dirname "$0")/rawbinder" $mode -d "$node"
done
umount "$node"
rm "$node"
"#;
    for delivery in ["auto", "store"] {
        let world = ["--delivery", delivery];
        let shell = stage.path_of("sh");
        let table = stage.run_in(User::Myself, &world, "sh", &["-ec", script, &shell]);
        assert_eq!(table.lines().count(), 6, "{table}");
    }
}
