//! What is known of the seccomp filters that a program was started under.

/// What the filters of a process's threads let pass.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct FilterVerdict {
    /// How many were looked at.
    pub(crate) filters: u32,
    pub(crate) allows_rings: bool,
    pub(crate) allows_lanes: bool,
}

impl FilterVerdict {
    /// Of the filters that clients have as a rule, and of none.
    pub(crate) const OF_USUAL_FILTERS: Self =
        Self { filters: 0, allows_rings: true, allows_lanes: true };

    /// Of filters that we may not read. They have to let pass what rings take.
    pub(crate) const fn of_unread(filters: u32) -> Self {
        Self { filters, allows_rings: true, allows_lanes: false }
    }
}
