//! How many numbers and how many levels there may be.

/// After a namespace has once come past this number, its circle does not return below.
pub const RESERVED_PIDS: u32 = 300;

/// One more than the highest number of a namespace, unless it is told otherwise.
pub const PID_MAX_DEFAULT: u32 = 32_768;

/// The lowest `pid_max` there may be: one number beyond the reserved ones.
pub const PID_MAX_MIN: u32 = RESERVED_PIDS + 1;

/// The highest `pid_max` there may be.
pub const PID_MAX_LIMIT: u32 = 4_194_304;

/// The level of the innermost namespaces; the root's is 0.
pub const MAX_PID_NS_LEVEL: u32 = 32;

/// A `pid_max` that no namespace can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a pid_max of {pid_max} is not within {PID_MAX_MIN} and {PID_MAX_LIMIT}")]
pub struct PidMaxOutOfRange {
    /// What was asked for.
    pub pid_max: u32,
}

/// A namespace below the innermost level.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a pid namespace of level {level} would be below the innermost, {MAX_PID_NS_LEVEL}")]
pub struct TooDeep {
    /// The level it would have.
    pub level: u32,
}
