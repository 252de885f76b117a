//! The checks as a program that can be carried to another machine, a guest for instance.

use std::process::ExitCode;

fn main() -> ExitCode {
    conformance::runner::main()
}
