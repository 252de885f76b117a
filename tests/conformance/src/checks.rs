//! The checks, by part of the specification.
#![expect(clippy::unwrap_used, reason = "checks are tests")]

mod binderfs;
mod buffers;
mod calls;
mod codes;
mod death;
mod descriptors;
mod exit;
mod faults;
mod framing;
mod freeze;
mod handles;
mod isolation;
mod logs;
mod loopers;
mod manager;
mod mapping;
mod objects;
mod oneway;
mod poll;
mod references;
mod robustness;
mod scatter_gather;

use crate::registry::Check;

const PARTS: &[&[Check]] = &[
    codes::CHECKS,
    mapping::CHECKS,
    framing::CHECKS,
    faults::CHECKS,
    manager::CHECKS,
    handles::CHECKS,
    references::CHECKS,
    calls::CHECKS,
    objects::CHECKS,
    descriptors::CHECKS,
    scatter_gather::CHECKS,
    oneway::CHECKS,
    loopers::CHECKS,
    buffers::CHECKS,
    death::CHECKS,
    freeze::CHECKS,
    exit::CHECKS,
    poll::CHECKS,
    binderfs::CHECKS,
    logs::CHECKS,
    robustness::CHECKS,
    isolation::CHECKS,
];

/// Every check, by number.
pub fn all() -> impl Iterator<Item = Check> {
    PARTS.iter().flat_map(|part| part.iter().copied())
}
