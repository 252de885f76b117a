//! Something for each namespace that a process has a number in.

use alloc::vec::Vec;
use core::ops::{Deref, DerefMut};

/// One for each level. Most processes are in the root alone, and take no memory for this.
pub(crate) enum PerLevel<T> {
    One([T; 1]),
    More(Vec<T>),
}

impl<T> FromIterator<T> for PerLevel<T> {
    fn from_iter<I: IntoIterator<Item = T>>(levels: I) -> Self {
        let mut levels = levels.into_iter();
        if levels.size_hint() == (1, Some(1))
            && let Some(only) = levels.next()
        {
            return Self::One([only]);
        }
        Self::More(levels.collect())
    }
}

impl<T> Deref for PerLevel<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        match self {
            Self::One(one) => one,
            Self::More(more) => more,
        }
    }
}

impl<T> DerefMut for PerLevel<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        match self {
            Self::One(one) => one,
            Self::More(more) => more,
        }
    }
}
