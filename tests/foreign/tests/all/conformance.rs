//! The checks of the driver's rules, on a device of ours, by every user, by both ways of delivery and by all doors.

use std::path::Path;

use binder_testkit::skip;
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
        check_in(User::Myself, "auto", "ring,fuse", script);
    }
}

/// A user without passthrough, for whom `auto` is the same as `store`.
#[test]
fn the_rules_hold_for_an_ordinary_user() {
    if is_root_to("become an ordinary user") {
        check(User::Ordinary, "auto", "lane");
    }
}

fn check(user: User, delivery: &str, doors: &str) {
    check_in(user, delivery, doors, "");
}

/// Makes the check behind some lines of the shell. Its hosts take turns at the doors.
fn check_in(user: User, delivery: &str, doors: &str, lines: &str) {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().expect("it is cargo's target/tmp");
    let stage = Stage::new(target, &[&stage::conformance(target), Path::new("/bin/sh")]);
    let world = ["--delivery", delivery];
    let mut doors = doors;
    if stage.run_script(user, &world, "echo $LD_PRELOAD").trim().is_empty() && doors != "fuse" {
        skip("threads cannot sleep on several words (Linux 5.16), so there is no ring");
        doors = "fuse";
    }
    let script = format!(
        "{lines}\nANYBINDER_TEST_DOORS={doors} exec \"$(dirname \"$0\")/conformance\" device::"
    );
    let said = stage.run_script(user, &world, &script);
    let last = said.lines().rfind(|line| line.starts_with("test result:"));
    let result = last.unwrap_or_else(|| panic!("no result as {user:?}:\n{said}"));
    println!("as {user:?}, delivery {delivery}, by {doors}: {result}");
    for line in said.lines().filter(|line| line.contains(" ignored (")) {
        println!("  {line}");
    }
}
