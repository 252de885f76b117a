//! The memory that receive buffers may have, by what the daemon itself may have.

use std::sync::OnceLock;

use binder_core::{Limits, MemoryBudget, Resource};
use binder_os::{memory_limit, page_bytes};

/// The part of the daemon's memory that all receive buffers may have together. Another is for the page cache's
/// copies, where there is no passthrough, and the rest for tables and payloads on their way.
const SHARE_OF_ALL: usize = 3;
/// What a user may have of that.
const SHARE_OF_USER: usize = 2;

/// How much open files and users may have unless it is said: for receive buffers, no more than fits into the
/// memory that this process may have.
pub fn default_limits() -> Limits {
    limits_within(memory_limit::of_this_process())
}

fn limits_within(memory_bytes: u64) -> Limits {
    let Limits { per_file, per_user, .. } = Limits::default();
    let all_bytes = usize::try_from(memory_bytes).unwrap_or(usize::MAX) / SHARE_OF_ALL;
    let user_bytes = per_user[Resource::Bytes].min(all_bytes / SHARE_OF_USER);
    Limits { per_file, per_user: per_user.with(Resource::Bytes, user_bytes), all_bytes }
}

/// The budget of the daemon, which all that it serves shares, by the kernel's pages: `limit_bytes` is what the first has.
pub(crate) fn budget(limit_bytes: usize) -> MemoryBudget {
    static ALL: OnceLock<MemoryBudget> = OnceLock::new();
    ALL.get_or_init(|| {
        let page_bytes = u32::try_from(page_bytes()).expect("no kernel has pages of 4 GiB");
        MemoryBudget::in_pages_of(page_bytes, limit_bytes)
    })
    .clone()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_share_what_fits_into_the_memory_that_there_is() {
        let limits = |mebibytes: u64| {
            let Limits { per_user, all_bytes, .. } = limits_within(mebibytes << 20);
            [per_user[Resource::Bytes] >> 20, all_bytes >> 20]
        };
        assert_eq!(limits(96), [16, 32]);
        assert_eq!(limits(48 << 10), [1 << 10, 16 << 10]);
        assert_eq!(limits_within(u64::MAX).all_bytes, usize::MAX / 3);
    }
}
