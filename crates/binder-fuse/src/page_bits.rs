//! A bit for each page of a receive buffer.

use crate::mapping::MAX_PAGES;

/// Some of the pages.
#[derive(Debug)]
pub(crate) struct PageBits([u64; MAX_PAGES / 64]);

impl PageBits {
    pub(crate) const NONE: Self = Self([0; MAX_PAGES / 64]);

    pub(crate) fn has(&self, page: usize) -> bool {
        self.0[page / 64] & (1 << (page % 64)) != 0
    }

    pub(crate) fn insert(&mut self, page: usize) {
        self.0[page / 64] |= 1 << (page % 64);
    }

    pub(crate) fn remove(&mut self, page: usize) {
        self.0[page / 64] &= !(1 << (page % 64));
    }
}
