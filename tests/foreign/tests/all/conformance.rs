//! The checks of the driver's rules, on a device of ours, by every user and by both ways of delivery.

use std::path::Path;

use foreign::stage::{self, Stage, User, is_root_to};

#[test]
fn the_rules_hold_however_the_driver_may_deliver() {
    check(User::Myself, "auto");
}

#[test]
fn the_rules_hold_where_all_is_stored() {
    check(User::Myself, "store");
}

/// Who has no passthrough, so `auto` is the same as `store`.
#[test]
fn the_rules_hold_for_an_ordinary_user() {
    if is_root_to("become an ordinary user") {
        check(User::Ordinary, "auto");
    }
}

fn check(user: User, delivery: &str) {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().expect("it is cargo's target/tmp");
    let stage = Stage::new(target, &[&stage::conformance(target)]);
    let said = stage.run_in(user, &["--delivery", delivery], "conformance", &["device::"]);
    let last = said.lines().rfind(|line| line.starts_with("test result:"));
    let result = last.unwrap_or_else(|| panic!("no result as {user:?}:\n{said}"));
    println!("as {user:?}, delivery {delivery}: {result}");
    for line in said.lines().filter(|line| line.contains(" ignored (")) {
        println!("  {line}");
    }
}
