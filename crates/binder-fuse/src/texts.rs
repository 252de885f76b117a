//! The texts of logs that are being read.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// What all texts that are being read may take, for clients may open a file as often as they
/// like. A single one may be longer: it is as long as what there is to tell.
const TEXTS_MAX_BYTES: usize = 64 << 20;

/// The memory that texts take, all together.
#[derive(Clone, Debug, Default)]
pub(crate) struct TextBudget(Arc<AtomicUsize>);

/// A text that is being read, and the memory that it takes.
#[derive(Debug)]
pub(crate) struct KeptText {
    text: String,
    budget: TextBudget,
}

impl TextBudget {
    /// Keeps a text, unless there are too many.
    pub(crate) fn keep(&self, text: String) -> Option<Arc<KeptText>> {
        let before = self.0.fetch_add(text.len(), Ordering::Relaxed);
        let kept = KeptText { text, budget: self.clone() };
        let is_room = before == 0 || before + kept.text.len() <= TEXTS_MAX_BYTES;
        is_room.then(|| Arc::new(kept))
    }
}

impl Drop for KeptText {
    fn drop(&mut self) {
        self.budget.0.fetch_sub(self.text.len(), Ordering::Relaxed);
    }
}

impl KeptText {
    pub(crate) fn slice(&self, offset: u64, size: u32) -> &[u8] {
        part(self.text.as_bytes(), offset, size)
    }
}

/// The part of a file that a read asks for.
pub(crate) fn part(bytes: &[u8], offset: u64, size: u32) -> &[u8] {
    let start = usize::try_from(offset).unwrap_or(usize::MAX).min(bytes.len());
    &bytes[start..start.saturating_add(size as usize).min(bytes.len())]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_share_a_budget_and_give_back_what_they_took() {
        let budget = TextBudget::default();
        let text = |len| "x".repeat(len);
        let long = budget.keep(text(TEXTS_MAX_BYTES + 1));
        assert!(long.is_some(), "one may be as long as it must");
        assert!(budget.keep(text(1)).is_none());
        drop(long);
        let half = budget.keep(text(TEXTS_MAX_BYTES / 2));
        let other_half = budget.keep(text(TEXTS_MAX_BYTES / 2));
        assert!(half.is_some() && other_half.is_some());
        assert!(budget.keep(text(1)).is_none());
        drop(half);
        assert!(budget.keep(text(1)).is_some());
    }

    #[test]
    fn a_part_ends_with_the_text() {
        let text = b"abcdef";
        for (offset, size, expected) in
            [(0, 3, &b"abc"[..]), (3, 100, b"def"), (6, 1, b""), (u64::MAX, u32::MAX, b"")]
        {
            assert_eq!(part(text, offset, size), expected);
        }
    }
}
