//! `anybinder completions`: made from the definition of the command line.

use std::io;
use std::process::ExitCode;

use clap::CommandFactory;

use crate::cli::{Cli, CompletionsOptions};
use crate::failure::Failure;

pub(crate) fn run(options: &CompletionsOptions) -> Result<ExitCode, Failure> {
    clap_complete::generate(options.shell, &mut Cli::command(), "anybinder", &mut io::stdout());
    Ok(ExitCode::SUCCESS)
}
