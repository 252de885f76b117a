//! Where the driver of a device keeps its logs: Linux's own, or ours.

use std::fs;
use std::path::{Path, PathBuf};

/// Where the log of a name may be.
pub(crate) fn places(device: &Path, name: &str) -> impl Iterator<Item = PathBuf> {
    let beside = fs::canonicalize(device).ok().and_then(|device| Some(device.parent()?.to_owned()));
    let dirs = beside.into_iter().chain([PathBuf::from("/dev/binderfs")]);
    let dirs = dirs.map(|dir| dir.join("binder_logs"));
    dirs.chain(["/sys/kernel/debug/binder".into()]).map(move |dir| dir.join(name))
}
