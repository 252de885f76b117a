//! `anybinder completions`: made from the definition of the command line.

use std::io::{self, Write};
use std::process::ExitCode;

use clap::CommandFactory;

use crate::cli::{Cli, CompletionsOptions};
use crate::failure::{Failure, failed};

pub(crate) fn run(options: &CompletionsOptions) -> Result<ExitCode, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(options.shell, &mut Cli::command(), "anybinder", &mut script);
    io::stdout().write_all(&script).map_err(failed("writing to stdout"))?;
    Ok(ExitCode::SUCCESS)
}
