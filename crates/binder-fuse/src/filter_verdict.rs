//! What is known of the seccomp filters that programs were started under.

use std::sync::atomic::{AtomicBool, Ordering};

use binder_core::Errno;
use binder_os::seccomp::{LibraryCalls, SeccompFilter};

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

    /// Of so many filters, for which `allow` tells whether they all let calls pass. A lane takes a ring.
    pub(crate) fn of(filters: u32, allow: impl Fn(LibraryCalls) -> bool) -> Self {
        let allows_rings = allow(LibraryCalls::OfRings);
        let allows_lanes = allows_rings && allow(LibraryCalls::OfLanes);
        Self { filters, allows_rings, allows_lanes }
    }

    /// Of filters of which nothing is known. They have to let pass what rings take.
    pub(crate) const fn of_unknown(filters: u32) -> Self {
        Self { filters, allows_rings: true, allows_lanes: false }
    }

    /// What a program hears that asks for a ring.
    pub(crate) fn answer(self) -> Errno {
        if self.allows_rings { Errno::EBADF } else { Errno::EPERM }
    }
}

/// The filters that processes of a world were seen to install, all together: who has which of them is not known.
#[derive(Debug, Default)]
pub(crate) struct InstalledFilters {
    refuse_rings: AtomicBool,
    refuse_lanes: AtomicBool,
}

impl InstalledFilters {
    /// Notes a filter before it is installed. One that could not be read may do anything.
    pub(crate) fn note(&self, filter: Option<&SeccompFilter>) {
        for calls in [LibraryCalls::OfRings, LibraryCalls::OfLanes] {
            let refuses = filter.is_none_or(|it| it.first_refused(calls).is_some());
            self.refuse(calls).fetch_or(refuses, Ordering::Relaxed);
        }
    }

    /// What any of them lets pass, of a process that has so many.
    pub(crate) fn verdict(&self, filters: u32) -> FilterVerdict {
        FilterVerdict::of(filters, |calls| !self.refuse(calls).load(Ordering::Relaxed))
    }

    fn refuse(&self, calls: LibraryCalls) -> &AtomicBool {
        match calls {
            LibraryCalls::OfRings => &self.refuse_rings,
            LibraryCalls::OfLanes => &self.refuse_lanes,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_that_is_not_known_allows_nothing_to_anyone() {
        let installed = InstalledFilters::default();
        let all = FilterVerdict { filters: 2, allows_rings: true, allows_lanes: true };
        assert_eq!(installed.verdict(2), all);
        installed.note(None);
        let none = FilterVerdict { filters: 2, allows_rings: false, allows_lanes: false };
        assert_eq!(installed.verdict(2), none);
    }
}
