//! Which pages of a receive buffer hold live buffers, which are idle, and which are absent.

use alloc::vec::Vec;

use crate::memory_budget::MemoryBudget;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Page {
    /// Never touched, or given back.
    Absent,
    /// This many live buffers touch it.
    InUse(u32),
    /// No live buffer touches it since that turn; its memory is kept for the next one. The neighbours
    /// in the order of idling: the one idle longer, and the one idle for a shorter time.
    Idle { since: u32, older: Option<u32>, newer: Option<u32> },
}

/// The pages of one receive buffer.
#[derive(Debug)]
pub(crate) struct Pages {
    /// Pays for them.
    budget: MemoryBudget,
    /// The size of one, in bytes, as a power of two.
    page_shift: u32,
    /// Reaches to the highest page that has memory, or further.
    states: Vec<Page>,
    /// How many have memory.
    present: u32,
    /// How many of these live buffers touch.
    used: u32,
    /// The end of the highest page that was ever touched.
    high_watermark: u32,
    /// The turn that it is: only the distance of two counts, so it may start again at 0.
    turn: u32,
    oldest_idle: Option<u32>,
    newest_idle: Option<u32>,
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
    /// Pages without memory.
    pub(crate) fn new(budget: MemoryBudget) -> Self {
        Self {
            page_shift: budget.page_bytes().trailing_zeros(),
            budget,
            states: Vec::new(),
            present: 0,
            used: 0,
            high_watermark: 0,
            turn: 0,
            oldest_idle: None,
            newest_idle: None,
        }
    }

    /// The size of a page, in bytes.
    pub(crate) fn page_bytes(&self) -> u32 {
        1 << self.page_shift
    }

    /// What that many pages take.
    pub(crate) fn bytes_of(&self, pages: u32) -> usize {
        (pages as usize) << self.page_shift
    }

    fn spanned(&self, start: u32, len_bytes: u32) -> core::ops::Range<u32> {
        start >> self.page_shift
            ..(start + len_bytes).next_multiple_of(self.page_bytes()) >> self.page_shift
    }

    /// Notes a live buffer over the range.
    pub(crate) fn use_range(&mut self, start: u32, len_bytes: u32) {
        let pages = self.spanned(start, len_bytes);
        if self.states.len() < pages.end as usize {
            self.states.resize(pages.end as usize, Page::Absent);
        }
        self.high_watermark = self.high_watermark.max(pages.end);
        let (mut got, mut warm) = (0, 0);
        for page in pages {
            self.states[page as usize] = match self.states[page as usize] {
                Page::Absent => {
                    got += 1;
                    Page::InUse(1)
                }
                Page::InUse(buffers) => Page::InUse(buffers + 1),
                Page::Idle { older, newer, .. } => {
                    self.unlink(older, newer);
                    warm += 1;
                    Page::InUse(1)
                }
            };
        }
        self.present += got;
        self.used += got + warm;
        if got > 0 {
            self.budget.add_present(self.bytes_of(got));
        }
        if got + warm > 0 {
            self.budget.add_used(self.bytes_of(got + warm));
        }
    }

    /// Notes the end of a buffer over the range: pages that no other touches become idle.
    pub(crate) fn leave_range(&mut self, start: u32, len_bytes: u32) {
        let mut left = 0;
        for page in self.spanned(start, len_bytes) {
            self.states[page as usize] = match self.states[page as usize] {
                Page::InUse(1) => {
                    left += 1;
                    self.link_newest(page)
                }
                Page::InUse(buffers) => Page::InUse(buffers - 1),
                unused @ (Page::Absent | Page::Idle { .. }) => {
                    debug_assert!(false, "page {page} is left but was not in use");
                    unused
                }
            };
        }
        self.used -= left;
        if left > 0 {
            self.budget.remove_used(self.bytes_of(left));
        }
    }

    /// Begins another turn: what has been idle all through one is cold.
    pub(crate) fn end_turn(&mut self) {
        self.turn = self.turn.wrapping_add(1);
    }

    /// Gives up the page that has been idle longest, if it has been for that many ends of turns.
    pub(crate) fn reclaim(&mut self, least_turns: u32) -> Option<u32> {
        let page = self.oldest_idle?;
        if let Page::Idle { since, older, newer } = self.states[page as usize] {
            if self.turn.wrapping_sub(since) < least_turns {
                return None;
            }
            self.unlink(older, newer);
        }
        self.states[page as usize] = Page::Absent;
        self.present -= 1;
        self.budget.remove_present(self.bytes_of(1));
        if self.oldest_idle.is_none() {
            self.forget_absent();
        }
        Some(page)
    }

    /// Gives back the memory that was needed to remember absent pages at the end.
    fn forget_absent(&mut self) {
        while let Some(Page::Absent) = self.states.last() {
            self.states.pop();
        }
        self.states.shrink_to_fit();
    }

    fn link_newest(&mut self, page: u32) -> Page {
        let older = self.newest_idle.replace(page);
        match older.map(|older| &mut self.states[older as usize]) {
            Some(Page::Idle { newer, .. }) => *newer = Some(page),
            _ => self.oldest_idle = Some(page),
        }
        Page::Idle { since: self.turn, older, newer: None }
    }

    /// Joins the neighbours of a page that leaves the order of idling.
    fn unlink(&mut self, its_older: Option<u32>, its_newer: Option<u32>) {
        match its_older.map(|older| &mut self.states[older as usize]) {
            Some(Page::Idle { newer, .. }) => *newer = its_newer,
            _ => self.oldest_idle = its_newer,
        }
        match its_newer.map(|newer| &mut self.states[newer as usize]) {
            Some(Page::Idle { older, .. }) => *older = its_older,
            _ => self.newest_idle = its_older,
        }
    }

    /// Whether some have memory that no live buffer touches.
    pub(crate) fn has_idle(&self) -> bool {
        self.used < self.present
    }

    /// How many pages have memory.
    pub(crate) fn present(&self) -> u32 {
        self.present
    }

    /// The end of the highest page that was ever touched, in pages.
    pub(crate) fn high_watermark(&self) -> usize {
        self.high_watermark as usize
    }

    pub(crate) fn counts(&self) -> PageCounts {
        let mut counts = PageCounts::default();
        for page in &self.states {
            match page {
                Page::Absent => {}
                Page::InUse(_) => counts.in_use += 1,
                Page::Idle { .. } => counts.idle += 1,
            }
        }
        counts
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        self.budget.remove_present(self.bytes_of(self.present));
        self.budget.remove_used(self.bytes_of(self.used));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE_BYTES: u32 = MemoryBudget::PAGE_BYTES;

    fn pages() -> Pages {
        Pages::new(MemoryBudget::new(usize::MAX))
    }

    #[test]
    fn a_budget_pays_for_pages_until_they_are_given_up_or_their_mapping_ends() {
        let budget = MemoryBudget::new(2 * PAGE_BYTES as usize);
        let spent = || {
            [budget.present_bytes(), budget.used_bytes(), budget.excess_bytes()]
                .map(|bytes| bytes / PAGE_BYTES as usize)
        };
        let (mut one, mut other) = (Pages::new(budget.clone()), Pages::new(budget.clone()));
        one.use_range(0, 2 * PAGE_BYTES);
        other.use_range(0, PAGE_BYTES + 1);
        other.use_range(0, 8);
        assert_eq!(spent(), [4, 4, 2]);
        one.leave_range(0, 2 * PAGE_BYTES);
        other.leave_range(0, 8);
        assert_eq!(spent(), [4, 2, 2]);
        one.use_range(0, 8);
        assert_eq!(spent(), [4, 3, 2]);
        assert_eq!((one.reclaim(0), one.has_idle()), (Some(1), false));
        assert_eq!(spent(), [3, 3, 1]);
        drop(other);
        assert_eq!(spent(), [1, 1, 0]);
        drop(one);
        assert_eq!(spent(), [0, 0, 0]);
    }

    // C176
    #[test]
    fn a_page_shared_by_two_buffers_becomes_idle_with_the_second() {
        let mut pages = pages();
        pages.use_range(0, 4000);
        pages.use_range(4000, 200);
        assert_eq!(pages.counts(), PageCounts { in_use: 2, idle: 0 });
        pages.leave_range(0, 4000);
        assert_eq!(pages.counts(), PageCounts { in_use: 2, idle: 0 });
        pages.leave_range(4000, 200);
        assert_eq!(pages.counts(), PageCounts { in_use: 0, idle: 2 });
    }

    #[test]
    fn a_page_is_as_large_as_the_kernels() {
        let budget = MemoryBudget::in_pages_of(16 << 10, usize::MAX);
        let mut pages = Pages::new(budget.clone());
        pages.use_range(0, PAGE_BYTES);
        pages.use_range(3 * PAGE_BYTES, PAGE_BYTES);
        pages.use_range(4 * PAGE_BYTES, 1);
        assert_eq!(
            (pages.counts(), pages.high_watermark()),
            (PageCounts { in_use: 2, idle: 0 }, 2)
        );
        assert_eq!(budget.present_bytes(), 32 << 10);
        pages.leave_range(0, PAGE_BYTES);
        assert_eq!(pages.reclaim(0), None, "another part of it is in use");
        pages.leave_range(3 * PAGE_BYTES, PAGE_BYTES);
        assert_eq!(pages.reclaim(0), Some(0));
        assert_eq!((budget.present_bytes(), budget.used_bytes()), (16 << 10, 16 << 10));
    }

    // C177
    #[test]
    fn only_idle_pages_are_reclaimed_the_longest_idle_first() {
        let mut pages = pages();
        for page in 0..4 {
            pages.use_range(page * PAGE_BYTES, PAGE_BYTES);
        }
        pages.leave_range(2 * PAGE_BYTES, PAGE_BYTES);
        pages.leave_range(0, PAGE_BYTES);
        assert_eq!(pages.reclaim(0), Some(2));
        assert_eq!(pages.reclaim(0), Some(0));
        assert_eq!(pages.reclaim(0), None);
        assert_eq!(pages.counts(), PageCounts { in_use: 2, idle: 0 });
        pages.use_range(0, 8);
        assert_eq!(pages.counts(), PageCounts { in_use: 3, idle: 0 });
    }

    #[test]
    fn pages_that_were_used_lately_are_kept() {
        let mut pages = pages();
        for page in [0, 1] {
            pages.use_range(page * PAGE_BYTES, PAGE_BYTES);
            pages.leave_range(page * PAGE_BYTES, PAGE_BYTES);
            pages.end_turn();
        }
        assert_eq!(pages.reclaim(3), None);
        assert_eq!(pages.reclaim(2), Some(0));
        assert_eq!(pages.reclaim(2), None);
        // Used again, it is young again.
        pages.use_range(PAGE_BYTES, 8);
        pages.leave_range(PAGE_BYTES, 8);
        assert_eq!(pages.reclaim(1), None);
        pages.end_turn();
        assert_eq!(pages.reclaim(1), Some(1));
        assert_eq!((pages.counts(), pages.high_watermark()), (PageCounts::default(), 2));
        assert_eq!(pages.states.capacity(), 0);
    }

    #[test]
    fn turns_are_counted_around_the_end_of_numbers() {
        let mut pages = pages();
        pages.turn = u32::MAX;
        pages.use_range(0, 8);
        pages.leave_range(0, 8);
        assert_eq!(pages.reclaim(1), None);
        pages.end_turn();
        assert_eq!(pages.reclaim(1), Some(0));
    }
}
