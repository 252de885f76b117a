//! The checks, by part of the specification.

mod calls;
mod framing;

use crate::registry::Check;

const PARTS: &[&[Check]] = &[framing::CHECKS, calls::CHECKS];

/// Every check, by number.
pub fn all() -> impl Iterator<Item = Check> {
    PARTS.iter().flat_map(|part| part.iter().copied())
}
