//! `anybinder man`: the manual page, made from the definition of the command line.

use std::io::{self, Write};
use std::process::ExitCode;

use clap::CommandFactory;

use crate::cli::Cli;
use crate::failure::{Failure, failed};

pub(crate) fn run() -> Result<ExitCode, Failure> {
    // Flat: one page, on which every subcommand has its options.
    let man = clap_mangen::Man::new(Cli::command().flatten_help(true));
    let mut page = Vec::new();
    man.render(&mut page).map_err(failed("rendering the manual page"))?;
    io::stdout().write_all(&page).map_err(failed("writing to stdout"))?;
    Ok(ExitCode::SUCCESS)
}
