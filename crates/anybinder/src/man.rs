//! `anybinder man`: the manual pages, made from the definition of the command line.

use std::fs;
use std::io::{self, Write};
use std::process::ExitCode;

use clap::{Command, CommandFactory};
use clap_mangen::Man;

use crate::cli::{Cli, ManOptions};
use crate::failure::{Failure, failed};

pub(crate) fn run(options: &ManOptions) -> Result<ExitCode, Failure> {
    // A page of its own says no more about `help` than `--help` does.
    let mut program = Cli::command().disable_help_subcommand(true);
    program.build();
    if let Some(dir) = &options.dir {
        fs::create_dir_all(dir)
            .and_then(|()| clap_mangen::generate_to(program, dir))
            .map_err(failed(&format!("writing manual pages to {}", dir.display())))?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut page = Vec::new();
    let man = Man::new(subcommand(&program, &options.subcommand)?);
    man.render(&mut page).map_err(failed("rendering the manual page"))?;
    io::stdout().write_all(&page).map_err(failed("writing to stdout"))?;
    Ok(ExitCode::SUCCESS)
}

/// The subcommand of these words; none mean the program.
fn subcommand(program: &Command, words: &[String]) -> Result<Command, Failure> {
    let mut found = program;
    for word in words {
        found = found.find_subcommand(word).ok_or_else(|| {
            let tried = format!("looking for the manual page of '{}'", words.join(" "));
            Failure::new(tried, format!("there is no '{word}'")).advise("anybinder --help")
        })?;
    }
    Ok(found.clone())
}
