//! `anybinder list-hook`: a hook that a container runtime calls in the mounts of a container that it is about to make, so that
//! the container's /proc/filesystems lists binder.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use binder_os::filesystems;
use serde_json::Value;

use crate::cli::ListHookOptions;
use crate::log;

/// If the list cannot be shown, the container goes without: most programs never read it.
pub(crate) fn run(options: &ListHookOptions) -> ExitCode {
    let shown = root_of_container().and_then(|root| {
        let place = root.join(filesystems::FILESYSTEMS.trim_start_matches('/'));
        // A container may have no /proc.
        if place.exists() { filesystems::show(&options.list, &place) } else { Ok(()) }
    });
    if let Err(error) = shown {
        log::tell(format_args!("anybinder: the container's list of file systems stays: {error}"));
    }
    ExitCode::SUCCESS
}

/// The root of the container whose state the runtime tells on standard input.
fn root_of_container() -> io::Result<PathBuf> {
    let state: Value = serde_json::from_reader(io::stdin())?;
    let bundle = Path::new(state["bundle"].as_str().unwrap_or("."));
    let spec: Value = serde_json::from_slice(&fs::read(bundle.join("config.json"))?)?;
    Ok(bundle.join(spec["root"]["path"].as_str().unwrap_or("rootfs")))
}
