//! The daemon's descriptors and mappings, which all that it serves share.

use std::sync::{Arc, OnceLock};

use binder_core::{Amounts, Limits, Resource};
use binder_os::{proc_files, processes};

use crate::error::MountError;
use crate::quota::Quota;

/// What a process takes that has a device open: its directory in /proc, and its pidfd.
pub(crate) const PER_PROCESS: u32 = 2;
/// What an open file takes whose process transfers short messages: its memory in /proc.
pub(crate) const PER_MEMORY: u32 = 1;
/// What a thread takes.
pub(crate) const PER_THREAD: u32 = 1;
/// What a file on its way takes.
pub(crate) const PER_FILE: u32 = 1;
/// Kept back for what the daemon opens for a moment.
const RESERVED: u64 = 64;
/// Of the mappings that the kernel allows, this part stays for the daemon itself.
const RESERVED_MAPPINGS: u64 = 8;

/// With fewer than this many a process could not open a device, of which it gets a quarter at most, or only
/// to fail at its first calls.
const LEAST: u64 = 2 * RESERVED;

/// Checks that there are descriptors enough to serve a client.
///
/// # Errors
///
/// [`MountError::Descriptors`] if not.
pub(crate) fn check() -> Result<(), MountError> {
    let limit = processes::open_file_limit();
    if limit < LEAST { Err(MountError::Descriptors { limit, least: LEAST }) } else { Ok(()) }
}

/// The descriptors that this process may open.
pub(crate) fn descriptors() -> Arc<Quota> {
    static ALL: OnceLock<Arc<Quota>> = OnceLock::new();
    let limit = || processes::open_file_limit().saturating_sub(RESERVED);
    ALL.get_or_init(|| Quota::new("descriptors", limit())).clone()
}

/// These limits, but for more than there are descriptors: what one open file has on its way is an eighth
/// of them at most, and what all of a user have a quarter, so that he has some left to open more.
pub(crate) fn affordable(limits: Limits) -> Limits {
    let total = descriptors().total() as usize;
    let at_most = |amounts: Amounts, most: usize| {
        let wanted = amounts[Resource::Descriptors];
        amounts.with(Resource::Descriptors, wanted.min(most))
    };
    let (per_file, per_user) =
        (at_most(limits.per_file, total / 8), at_most(limits.per_user, total / 4));
    Limits { per_file, per_user, ..limits }
}

/// The receive buffers that this process may map: one for each open file.
pub(crate) fn mappings() -> Arc<Quota> {
    static ALL: OnceLock<Arc<Quota>> = OnceLock::new();
    let limit = || proc_files::max_mappings().unwrap_or(u64::MAX);
    ALL.get_or_init(|| Quota::new("mappings", limit() - limit() / RESERVED_MAPPINGS)).clone()
}
