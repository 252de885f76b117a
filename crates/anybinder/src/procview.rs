//! `anybinder procview`: processes in the shape of /proc, at a directory or for a command.

use std::convert::Infallible;
use std::fs;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};
use std::sync::Arc;

use binder_os::processes::Stream;
use procview::KernelFiles;

use crate::cli::{ProcviewCommand, ProcviewMountOptions, ProcviewRunOptions};
use crate::driver;
use crate::execution;
use crate::failure::{Failure, failed};
use crate::links::Links;
use crate::mount::OwnMount;
use crate::process_view::{self, Freshness, Shown};
use crate::world::World;

pub(crate) fn run(command: &ProcviewCommand) -> Result<ExitCode, Failure> {
    match command {
        ProcviewCommand::Mount(options) => mount(options),
        ProcviewCommand::Run(options) => run_command(options).map(|never| match never {}),
    }
}

fn mount(options: &ProcviewMountOptions) -> Result<ExitCode, Failure> {
    // A serving process leaves the directory that a relative path starts from.
    let dir = fs::canonicalize(&options.dir).map_err(|error| {
        let dir = options.dir.display();
        Failure::new(format!("looking for {dir}"), error).advise(format!("mkdir -p {dir}"))
    })?;
    // One that an ended view has left there tells nothing, and can be mounted on.
    if fs::metadata(&dir).is_ok_and(|it| !it.is_dir()) {
        let tried = format!("mounting the view at {}", dir.display());
        return Err(Failure::new(tried, "it is not a directory"));
    }
    let shown = Shown::find(&options.shown)?;
    let device = Arc::default();
    let links = Links::default();
    let own = OwnMount { dir: dir.clone(), device: Arc::clone(&device), links, limits: None };
    let show = || {
        // A user unmounts one mount.
        let (session, mount) = shown.session(KernelFiles::Served)?;
        // No other code has set it.
        let _ = device.set(mount.device().map_err(failed("looking at the view"))?);
        process_view::attach(&mount, &dir)?;
        Ok(session)
    };
    if options.foreground {
        own.unmount_on_signals()?;
        process_view::serve(show()?)?;
        return Ok(ExitCode::SUCCESS);
    }
    let mounted = || {
        driver::leave_terminal(&[Stream::Input, Stream::Output, Stream::Error], c"procview")?;
        std::env::set_current_dir("/").map_err(failed("changing to /"))?;
        own.unmount_on_signals()?;
        show()
    };
    let answers = || fs::metadata(dir.join("uptime")).is_ok();
    let child = driver::in_background(mounted, process_view::serve, answers)?;
    tracing::info!(dir = %dir.display(), pid = child.pid(), "the view answers");
    Ok(ExitCode::SUCCESS)
}

fn run_command(options: &ProcviewRunOptions) -> Result<Infallible, Failure> {
    let shown = Shown::find(&options.shown)?;
    World::privacy()?;
    shown.serve_apart(Freshness::of(options.fresh))?.show()?;
    let [program, arguments @ ..] = &options.command[..] else {
        return Err(Failure::new("executing", "there is no command"));
    };
    let error = Command::new(program).args(arguments).exec();
    execution::end_unexecuted(program, &error)
}
