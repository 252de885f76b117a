//! `anybinder trace`: every call, as it is made or was recorded.
//!
//! The driver writes records into a stream of its binderfs, and this reads them. [`stream`] follows it, while a command
//! runs if there is one; [`report`] shows the records, [`recording`] keeps them in a file and reads them again, [`replay`]
//! makes the recorded calls once more.

mod export;
mod recording;
mod replay;
mod report;
mod stream;

use std::env;
use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use binder_trace::MethodNames;
use clap::Parser;

use crate::cli::{Cli, Command, TraceAction, TraceOptions, TracedCommand};
use crate::failure::{Failure, failed};
use crate::log;
use crate::mounts;
use crate::run;
use crate::this_program;
use crate::trace::report::{Report, ReportForm};

pub(crate) use report::latency_table;
pub(crate) use stream::{TraceSink, TraceSource};

/// Bytes of data that are decoded where types are known and no number is asked for.
const ARGUMENT_BYTES: u32 = 1024;

pub(crate) fn run(options: &TraceOptions) -> Result<ExitCode, Failure> {
    match &options.action {
        Some(TraceAction::Record(options)) => recording::record(options),
        Some(TraceAction::Show(options)) => recording::show(options),
        Some(TraceAction::Stats(options)) => recording::stats(options),
        Some(TraceAction::Export(options)) => export::run(options),
        Some(TraceAction::Replay(options)) => replay::run(options),
        None => follow(options),
    }
}

/// Shows the trace until the command ends, or a signal comes.
fn follow(options: &TraceOptions) -> Result<ExitCode, Failure> {
    let dir = options.inspect.dir.as_deref();
    // All processes of a private world are the user's own: with types, arguments are shown unasked.
    let wants_arguments = options.max_bytes.is_none() && !options.report.aidl.is_empty();
    let extra = wants_arguments.then(|| format!("--max-bytes={ARGUMENT_BYTES}"));
    if let Some(world) = world_for(&options.traced, dir, extra.as_slice())? {
        return run::run(&world);
    }
    let out: Box<dyn Write> = match &options.output {
        Some(path) => Box::new(create(path)?),
        // The command has stdout for itself.
        None if !options.traced.command.is_empty() => Box::new(std::io::stderr()),
        None => Box::new(std::io::stdout()),
    };
    let shape = match (options.report.counts, options.inspect.json) {
        (true, _) => ReportForm::Summary,
        (false, true) => ReportForm::Json,
        (false, false) => ReportForm::Lines,
    };
    let max_bytes = options.max_bytes.unwrap_or_default();
    let mut report = Report::new(&options.report, shape, max_bytes, out)?;
    if !options.traced.command.is_empty() {
        report.outlive_reader();
    }
    let source = TraceSource::open(dir, max_bytes > 0)?;
    let status = source.follow(&options.traced.command, &mut report)?;
    report.finish()?;
    Ok(ExitCode::from(status))
}

/// The options of `run` that give the command a world of its own and trace it there, with `extra` options, if it is
/// to have one.
fn world_for(
    traced: &TracedCommand,
    dir: Option<&Path>,
    extra: &[String],
) -> Result<Option<crate::cli::RunOptions>, Failure> {
    if traced.here || traced.command.is_empty() || dir.is_some() {
        return Ok(None);
    }
    if !traced.manager {
        tell_world_apart();
    }
    let mut words = vec![OsString::from("anybinder"), "run".into()];
    words.extend(traced.manager.then(|| "--manager".into()));
    words.extend(["--".into(), this_program::path()?]);
    let given: Vec<_> = env::args_os().skip(1).collect();
    // Words behind it are the command's.
    let end = given.iter().position(|word| word == "--").unwrap_or(given.len());
    words.extend(given[..end].iter().filter(|word| *word != "--manager").cloned());
    words.push("--here".into());
    words.extend(extra.iter().map(OsString::from));
    words.extend_from_slice(&given[end..]);
    let parsed = Cli::try_parse_from(words).map_err(failed("putting the command into a world"))?;
    match parsed.command {
        Command::Run(options) => Ok(Some(options)),
        _ => Ok(None),
    }
}

/// Says that a command does not see the binderfs that is here: within a world its user may think it does.
fn tell_world_apart() {
    // Only to say so: to go on does not need the mounts.
    if let Some(dir) = mounts::of_binderfs().ok().and_then(|found| found.into_iter().next()) {
        log::tell(format_args!(
            "anybinder: the command has a world of its own, without the services at {}; --here runs it among these, \
             --manager gives its world a service manager",
            dir.display()
        ));
    }
}

/// Creates a file, or empties the one that is there. A new one is for its user alone: others may not see what it tells.
fn create(path: &Path) -> Result<File, Failure> {
    let mut options = OpenOptions::new();
    let opened = options.write(true).create(true).truncate(true).mode(0o600).open(path);
    opened.map_err(failed(&format!("creating {}", path.display())))
}

/// The names and types of methods in sources and code maps. Says which sources do not parse.
fn method_names(aidl: &[PathBuf], codes: &[PathBuf]) -> Result<MethodNames, Failure> {
    let mut sources = Vec::new();
    for dir in aidl {
        add_sources(&mut sources, dir)?;
    }
    let (mut names, mistakes) = MethodNames::of_aidl(sources);
    for mistake in mistakes {
        log::tell(format_args!("anybinder: {mistake}; arguments of its types are shown as bytes"));
    }
    for file in codes {
        let tried = format!("reading {}", file.display());
        let text = fs::read_to_string(file).map_err(failed(&tried))?;
        names.add_code_map(&text).map_err(failed(&tried))?;
    }
    Ok(names)
}

/// Adds the paths and texts of the AIDL sources in a directory and in those below it.
fn add_sources(sources: &mut Vec<(String, String)>, dir: &Path) -> Result<(), Failure> {
    let tried = format!("reading {}", dir.display());
    for entry in fs::read_dir(dir).map_err(failed(&tried))? {
        let entry = entry.map_err(failed(&tried))?;
        let path = entry.path();
        // A link could lead back here.
        if entry.file_type().map_err(failed(&tried))?.is_dir() {
            add_sources(sources, &path)?;
        } else if path.extension().is_some_and(|extension| extension == "aidl") {
            let source = fs::read(&path).map_err(failed(&format!("reading {}", path.display())))?;
            let text = String::from_utf8_lossy(&source).into_owned();
            sources.push((path.display().to_string(), text));
        }
    }
    Ok(())
}
