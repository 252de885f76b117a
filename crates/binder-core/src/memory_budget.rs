//! The memory that the receive buffers of all users may have together.

use alloc::sync::Arc;
use core::sync::atomic::{AtomicUsize, Ordering};

/// How much memory receive buffers may take. Clones count together: all devices of a daemon share one.
///
/// Pages that live buffers touch are what counts against the limit. Idle ones may exceed it for a moment,
/// until the front end has had them given back.
#[derive(Clone, Debug)]
pub struct MemoryBudget(Arc<BudgetCounts>);

#[derive(Debug)]
struct BudgetCounts {
    page_bytes: u32,
    limit_bytes: AtomicUsize,
    present_bytes: AtomicUsize,
    used_bytes: AtomicUsize,
}

impl MemoryBudget {
    /// The size of a page, in bytes, where it is not said: the least of any system.
    pub const PAGE_BYTES: u32 = 4096;

    /// A budget of which nothing is spent, by pages of [`PAGE_BYTES`](Self::PAGE_BYTES).
    pub fn new(limit_bytes: usize) -> Self {
        Self::in_pages_of(Self::PAGE_BYTES, limit_bytes)
    }

    /// A budget of which nothing is spent. Memory comes and goes by pages of that many bytes, a power of two.
    ///
    /// # Panics
    ///
    /// If it is none.
    pub fn in_pages_of(page_bytes: u32, limit_bytes: usize) -> Self {
        assert!(page_bytes.is_power_of_two(), "no page has {page_bytes} bytes");
        let (present_bytes, used_bytes) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let limit_bytes = AtomicUsize::new(limit_bytes);
        Self(Arc::new(BudgetCounts { page_bytes, limit_bytes, present_bytes, used_bytes }))
    }

    /// The size of a page, in bytes: the unit in which memory comes and goes.
    pub fn page_bytes(&self) -> u32 {
        self.0.page_bytes
    }

    /// Changes how much there may be. What there is stays, also if it is more.
    pub fn set_limit_bytes(&self, limit_bytes: usize) {
        self.0.limit_bytes.store(limit_bytes, Ordering::Relaxed);
    }

    /// How much there may be, in bytes.
    pub fn limit_bytes(&self) -> usize {
        self.0.limit_bytes.load(Ordering::Relaxed)
    }

    /// What the pages take that have memory, in bytes.
    pub fn present_bytes(&self) -> usize {
        self.0.present_bytes.load(Ordering::Relaxed)
    }

    /// What the pages take that live buffers touch, in bytes.
    pub fn used_bytes(&self) -> usize {
        self.0.used_bytes.load(Ordering::Relaxed)
    }

    /// By how much the pages that have memory exceed the limit, in bytes.
    pub fn excess_bytes(&self) -> usize {
        self.present_bytes().saturating_sub(self.limit_bytes())
    }

    /// Counts memory that pages have got.
    pub(crate) fn add_present(&self, bytes: usize) {
        self.0.present_bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Takes back what [`add_present`](Self::add_present) counted.
    pub(crate) fn remove_present(&self, bytes: usize) {
        self.0.present_bytes.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// Counts memory of pages that a live buffer has come to touch.
    pub(crate) fn add_used(&self, bytes: usize) {
        self.0.used_bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Takes back what [`add_used`](Self::add_used) counted.
    pub(crate) fn remove_used(&self, bytes: usize) {
        self.0.used_bytes.fetch_sub(bytes, Ordering::Relaxed);
    }
}
