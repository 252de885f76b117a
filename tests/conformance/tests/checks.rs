//! The checks as a test of this workspace.

use std::process::ExitCode;

fn main() -> ExitCode {
    conformance::runner::main()
}
