//! `cargo xtask conformance`: which numbers are covered, and where.

use conformance::checks;
use conformance::registry::{Check, TOTAL, UNIT_TESTS, reason_for};

use crate::TaskFailure;

/// The checks that cover a number.
#[derive(Default)]
struct Coverage {
    /// On the core and on devices.
    checks: Vec<Check>,
    /// In a crate's own tests: file and function.
    unit_tests: Vec<(&'static str, &'static str)>,
}

impl Coverage {
    fn of(number: u16) -> Self {
        let checks = checks::all().filter(|check| check.numbers().any(|it| it == number));
        let unit_tests = UNIT_TESTS.iter().filter(|test| test.number == number);
        Self {
            checks: checks.collect(),
            unit_tests: unit_tests.map(|test| (test.file, test.test)).collect(),
        }
    }

    fn is_empty(&self) -> bool {
        self.checks.is_empty() && self.unit_tests.is_empty()
    }

    fn print(&self, number: u16) {
        for check in &self.checks {
            let core = if check.is_for_the_core() { "core" } else { "-" };
            let device = if check.is_for_devices() { "device" } else { "-" };
            println!("C{number:03}  {core:4}  {device:6}  {}", check.title());
        }
        for (file, test) in &self.unit_tests {
            println!("C{number:03}  unit  -       {} ({file})", test.replace('_', " "));
        }
    }
}

/// Prints a line for each number, and how many are covered.
pub(crate) fn print_table() -> Result<(), TaskFailure> {
    let mut covered = 0;
    for number in 1..=TOTAL {
        if let Some(reason) = reason_for(number) {
            println!("C{number:03}  -     -       not yet: {reason}");
            continue;
        }
        let coverage = Coverage::of(number);
        if coverage.is_empty() {
            return Err(format!("C{number:03} is neither covered nor listed as not yet").into());
        }
        covered += 1;
        coverage.print(number);
    }
    println!("{covered} of {TOTAL}");
    Ok(())
}
