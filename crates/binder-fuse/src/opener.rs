//! Who opens a device, as /proc tells.

use std::io;

use binder_core::{Opener, UidMap, UidRange};
use binder_os::proc_files;

use crate::pids::Pids;

/// Identifies the process that opens a file as user `uid`, with these `numbers` from the daemon's namespace
/// to its own; `default_label` is for one without a label.
pub(crate) fn identify(
    numbers: &[u32],
    uid: u32,
    pids: &Pids,
    default_label: &str,
) -> io::Result<Opener> {
    let pid = numbers.first().copied().ok_or(io::ErrorKind::NotFound)?;
    let label = proc_files::security_label(pid).unwrap_or_else(|| default_label.into());
    Ok(Opener {
        pid: pids.adopt(numbers)?,
        uid,
        uids: uids_of(pid),
        security_label: label.into_boxed_slice(),
    })
}

/// The uids that a process knows. A process of the daemon's own user namespace knows the same.
fn uids_of(pid: u32) -> UidMap {
    let in_same_namespace = proc_files::shares_user_namespace(pid).unwrap_or(true);
    match proc_files::uid_map(pid) {
        Ok(ranges) if !in_same_namespace => UidMap::new(
            ranges
                .iter()
                .map(|range| UidRange {
                    inside: range.inside,
                    outside: range.outside,
                    len: range.count,
                })
                .collect(),
        ),
        Ok(_) | Err(_) => UidMap::identity(),
    }
}
