//! Checks, conformance table, oracle, artefacts and Miri runs of this workspace.

mod check;
mod ci;
mod conformance;
mod differential;
mod dist;
mod emulate;
mod guests;
mod kernel_bench;
mod matrix;
mod miri;
mod oracle;
mod package;
mod schema;
mod workspace;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// The failure of a subcommand: a sentence for people.
type TaskFailure = Box<dyn std::error::Error>;

/// The tasks of this workspace.
#[derive(Parser)]
#[command(name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    task: XtaskCommand,
}

#[derive(Subcommand)]
enum XtaskCommand {
    /// Says which of the specification's numbered checks are covered, and where
    Conformance,
    /// Runs the checks on the driver of a real kernel, in a guest, and refreshes docs/conformance.md
    Oracle {
        /// Runs only the checks whose names contain this
        filter: Option<String>,
    },
    /// Plays random command streams on our driver and compares what comes of them with a real kernel's
    Differential(differential::Plays),
    /// Checks what no compiler checks: which crate uses which, sizes, links, the list of unsafe modules
    Check,
    /// Looks for undefined behaviour in the crates with `unsafe` of their own, with Miri if there is one
    Miri,
    /// Runs the tests of the crates that need no kernel on the other processor, by qemu-user
    Emulate,
    /// Writes docs/records.schema.json: what tools may rely on in the program's JSON output
    Schema,
    /// Packs the crates that are meant for others, and builds each from its package
    Package(package::PackageOptions),
    /// Makes the release artefacts: static programs, Debian packages, container images; and starts each
    Dist(dist::DistOptions),
    /// Tries the static program on the kernels of distributions, in guests, and refreshes docs/requirements.md
    Matrix(matrix::MatrixOptions),
    /// Counts what a call takes by each way beside a kernel's own driver, in guests, and refreshes docs/benchmarks.md
    KernelBench(kernel_bench::KernelBenchOptions),
    /// Runs everything that must pass before a push
    Ci,
}

fn main() -> ExitCode {
    let result = match Arguments::parse().task {
        XtaskCommand::Conformance => conformance::print_table(),
        XtaskCommand::Oracle { filter } => oracle::run(filter.as_deref()),
        XtaskCommand::Differential(options) => differential::run(&options),
        XtaskCommand::Check => check::run(),
        XtaskCommand::Miri => miri::run(),
        XtaskCommand::Emulate => emulate::run(),
        XtaskCommand::Schema => schema::write(),
        XtaskCommand::Package(options) => package::run(&options),
        XtaskCommand::Dist(options) => dist::run(&options),
        XtaskCommand::Matrix(options) => matrix::run(&options),
        XtaskCommand::KernelBench(options) => kernel_bench::run(&options),
        XtaskCommand::Ci => ci::run(),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("xtask: {failure}");
            ExitCode::FAILURE
        }
    }
}
