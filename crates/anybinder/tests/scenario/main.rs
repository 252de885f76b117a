//! Known scenarios, and what tools show of them: the page of `anybinder web`, and `anybinder trace`.
//!
//! The processes of a scenario are those of the test kit, in a private world: this program starts itself there once more,
//! to play the part that [`PART_VARIABLE`] names.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod page;
mod trace;

use std::env;
use std::process::ExitCode;

use binder_testkit::act_if_asked;
use libtest_mimic::{Arguments, Trial};

const PROGRAM: &str = env!("CARGO_BIN_EXE_anybinder");
/// Which part this process plays in a private world.
const PART_VARIABLE: &str = "ANYBINDER_TEST_PART";

fn main() -> ExitCode {
    act_if_asked();
    match env::var(PART_VARIABLE).as_deref() {
        Ok("requests") => page::refuse_strangers(),
        Ok("browser") => page::show_a_scenario(),
        Ok("guest") => page::be_a_guest(),
        Ok("traced") => trace::play(),
        Ok(other) => panic!("there is no part {other}"),
        Err(_) => {
            let trial = |name: &str, test: fn()| {
                Trial::test(name, move || {
                    test();
                    Ok(())
                })
            };
            let trials = vec![
                trial("page_refuses_strangers", || page::play("requests")),
                trial("page_shows_in_a_browser_who_waits_for_whom", || page::play("browser")),
                trial("trace_tells_each_call_and_event", trace::tell_a_scenario),
            ];
            return libtest_mimic::run(&Arguments::from_args(), trials).exit_code();
        }
    }
    ExitCode::SUCCESS
}
