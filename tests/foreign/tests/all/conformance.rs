//! The checks of the driver's rules, on a device of ours, by every user, by both ways of delivery and by all doors.

use std::path::Path;

use foreign::stage::{self, Stage, User, is_root_to};

#[test]
fn the_rules_hold_however_the_driver_may_deliver() {
    check(User::Myself, "auto", "ring,fuse");
}

#[test]
fn the_rules_hold_where_all_is_stored() {
    check(User::Myself, "store", "fuse");
}

/// Others have the same inode open: clients get pages of their own.
#[test]
fn the_rules_hold_for_nodes_that_are_bind_mounted() {
    if is_root_to("bind-mount inside a world") {
        let script = r#"
mount -t tmpfs tmpfs /mnt; cd /mnt
for name in binder hwbinder vndbinder; do touch $name; mount --bind /dev/binderfs/$name $name; done
export ANYBINDER_TEST_DEVICE=$PWD/binder
"#;
        check_on(&new_stage(), &[], User::Myself, "auto", "ring,fuse", script);
    }
}

/// A user without passthrough, for whom `auto` is the same as `store`.
#[test]
fn the_rules_hold_for_an_ordinary_user() {
    if is_root_to("become an ordinary user") {
        check(User::Ordinary, "auto", "lane");
    }
}

/// As before Linux 5.16, and in containers whose filter is older than that.
#[test]
fn the_rules_hold_where_a_thread_sleeps_on_one_bell_alone() {
    let stage = new_stage();
    stage.compile(&["gcc"], "under_filter", "under_filter");
    let by = [&stage.path_of("under_filter"), "refuse", "futex_waitv"];
    check_on(&stage, &by, User::Myself, "auto", "ring,lane", "");
}

fn check(user: User, delivery: &str, doors: &str) {
    check_on(&new_stage(), &[], user, delivery, doors, "");
}

fn new_stage() -> Stage {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().expect("it is cargo's target/tmp");
    Stage::new(target, &[&stage::conformance(target), Path::new("/bin/sh")])
}

/// Makes the check behind some lines of the shell, in a world that is made by a command. Its hosts take turns at the doors.
fn check_on(stage: &Stage, by: &[&str], user: User, delivery: &str, doors: &str, lines: &str) {
    let world = ["--delivery", delivery];
    let script = format!(
        "{lines}\nANYBINDER_TEST_DOORS={doors} exec \"$(dirname \"$0\")/conformance\" device::"
    );
    let said = stage.run_script_by(by, user, &world, &script);
    let last = said.lines().rfind(|line| line.starts_with("test result:"));
    let result = last.unwrap_or_else(|| panic!("no result as {user:?}:\n{said}"));
    println!("as {user:?}, delivery {delivery}, by {doors}: {result}");
    for line in said.lines().filter(|line| line.contains(" ignored (")) {
        println!("  {line}");
    }
}
