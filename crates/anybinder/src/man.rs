//! `anybinder man`: the manual page, one section per subcommand.

use std::io::{self, Write};
use std::process::ExitCode;

use clap::{Command, CommandFactory};
use clap_mangen::Man;

use crate::cli::Cli;
use crate::failure::{Failure, failed};

pub(crate) fn run() -> Result<ExitCode, Failure> {
    let mut page = Vec::new();
    render(&mut page).map_err(failed("rendering the manual page"))?;
    io::stdout().write_all(&page).map_err(failed("writing to stdout"))?;
    Ok(ExitCode::SUCCESS)
}

fn render(page: &mut Vec<u8>) -> io::Result<()> {
    let mut command = Cli::command();
    // Gives the subcommands their full names and the options they share.
    command.build();
    Man::new(command.clone()).render(page)?;
    let visible = |sub: &&Command| !sub.is_hide_set() && sub.get_name() != "help";
    for sub in command.get_subcommands().filter(visible) {
        writeln!(page, ".SH \"ANYBINDER {}\"", sub.get_name().to_uppercase())?;
        let man = Man::new(sub.clone());
        man.render_synopsis_section(page)?;
        man.render_description_section(page)?;
        man.render_options_section(page)?;
        man.render_extra_section(page)?;
    }
    Ok(())
}
