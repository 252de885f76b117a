//! The checks of the driver's rules, on a device of ours, by every user and by both ways of delivery.

use std::path::Path;

use foreign::stage::{self, Stage, User};

#[test]
fn the_rules_hold_for_every_user_and_way_of_delivery() {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().expect("it is cargo's target/tmp");
    let stage = Stage::new(target, &[&stage::conformance(target)]);
    for &user in User::all() {
        // An ordinary user has no passthrough: `auto` is then the same as `store`.
        for delivery in ["auto", "store"] {
            let said = stage.run_in(user, &["--delivery", delivery], "conformance", &["device::"]);
            let last = said.lines().rfind(|line| line.starts_with("test result:"));
            let result = last.unwrap_or_else(|| panic!("no result as {user:?}:\n{said}"));
            println!("as {user:?}, delivery {delivery}: {result}");
            for line in said.lines().filter(|line| line.contains(" ignored (")) {
                println!("  {line}");
            }
        }
    }
}
