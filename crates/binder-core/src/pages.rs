//! Which pages of a receive buffer hold live buffers, which are idle, and which are absent.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

/// Bytes of a page: the unit in which memory comes and goes.
pub(crate) const PAGE_BYTES: u32 = 4096;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Page {
    /// Never touched, or given back.
    Absent,
    /// This many live buffers touch it.
    InUse(u32),
    /// No live buffer touches it; its memory is kept for the next one. Idle since this moment.
    Idle(u64),
}

/// The pages of one receive buffer.
#[derive(Debug)]
pub(crate) struct Pages {
    /// As long as the highest page ever touched.
    states: Vec<Page>,
    /// Idle pages, the longest idle first.
    idle: BTreeMap<u64, u32>,
    moment: u64,
}

/// How many pages are in which state.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PageCounts {
    /// Touched by a live buffer.
    pub in_use: u32,
    /// Kept, but touched by none.
    pub idle: u32,
}

impl Pages {
    pub(crate) fn new() -> Self {
        Self { states: Vec::new(), idle: BTreeMap::new(), moment: 0 }
    }

    fn spanned(start: u32, len_bytes: u32) -> core::ops::Range<u32> {
        start / PAGE_BYTES..(start + len_bytes).div_ceil(PAGE_BYTES)
    }

    /// Notes a live buffer over the range.
    pub(crate) fn use_range(&mut self, start: u32, len_bytes: u32) {
        let pages = Self::spanned(start, len_bytes);
        if self.states.len() < pages.end as usize {
            self.states.resize(pages.end as usize, Page::Absent);
        }
        for page in pages {
            let state = &mut self.states[page as usize];
            *state = match *state {
                Page::Absent => Page::InUse(1),
                Page::InUse(buffers) => Page::InUse(buffers + 1),
                Page::Idle(since) => {
                    self.idle.remove(&since);
                    Page::InUse(1)
                }
            };
        }
    }

    /// Notes the end of a buffer over the range: pages that no other touches become idle.
    pub(crate) fn leave_range(&mut self, start: u32, len_bytes: u32) {
        for page in Self::spanned(start, len_bytes) {
            let state = &mut self.states[page as usize];
            *state = match *state {
                Page::InUse(1) => {
                    self.moment += 1;
                    self.idle.insert(self.moment, page);
                    Page::Idle(self.moment)
                }
                Page::InUse(buffers) => Page::InUse(buffers - 1),
                unused @ (Page::Absent | Page::Idle(_)) => {
                    debug_assert!(false, "page {page} is left but was not in use");
                    unused
                }
            };
        }
    }

    /// Gives up the page that has been idle longest.
    pub(crate) fn reclaim(&mut self) -> Option<u32> {
        let (_, page) = self.idle.pop_first()?;
        self.states[page as usize] = Page::Absent;
        Some(page)
    }

    pub(crate) fn counts(&self) -> PageCounts {
        let in_use = self.states.iter().filter(|page| matches!(page, Page::InUse(_))).count();
        PageCounts {
            in_use: u32::try_from(in_use).unwrap_or(u32::MAX),
            idle: u32::try_from(self.idle.len()).unwrap_or(u32::MAX),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // C176
    #[test]
    fn a_page_shared_by_two_buffers_becomes_idle_with_the_second() {
        let mut pages = Pages::new();
        pages.use_range(0, 4000);
        pages.use_range(4000, 200);
        assert_eq!(pages.counts(), PageCounts { in_use: 2, idle: 0 });
        pages.leave_range(0, 4000);
        assert_eq!(pages.counts(), PageCounts { in_use: 2, idle: 0 });
        pages.leave_range(4000, 200);
        assert_eq!(pages.counts(), PageCounts { in_use: 0, idle: 2 });
    }

    // C177
    #[test]
    fn only_idle_pages_are_reclaimed_the_longest_idle_first() {
        let mut pages = Pages::new();
        for page in 0..4 {
            pages.use_range(page * PAGE_BYTES, PAGE_BYTES);
        }
        pages.leave_range(2 * PAGE_BYTES, PAGE_BYTES);
        pages.leave_range(0, PAGE_BYTES);
        assert_eq!(pages.reclaim(), Some(2));
        assert_eq!(pages.reclaim(), Some(0));
        assert_eq!(pages.reclaim(), None);
        assert_eq!(pages.counts(), PageCounts { in_use: 2, idle: 0 });
        pages.use_range(0, 8);
        assert_eq!(pages.counts(), PageCounts { in_use: 3, idle: 0 });
    }
}
