//! Which of the busy clients are watched, each by which thread, and who gives a place up where all are taken.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::fair_share::who_gives_way;

/// Places to be watched in: so many threads watch so many bells each.
#[derive(Debug, Clone)]
pub(super) struct BellPlaces {
    threads: usize,
    bells: usize,
    taken: Arc<Mutex<TakenPlaces>>,
}

#[derive(Debug, Default)]
struct TakenPlaces {
    /// The one that was taken first comes first.
    list: Vec<TakenPlace>,
    /// How many have been taken ever.
    count: u64,
}

#[derive(Debug, Clone, Copy)]
struct TakenPlace {
    number: u64,
    thread: usize,
    user: u32,
}

/// A client's place. It is given back when this is dropped.
#[derive(Debug)]
pub(super) struct BellPlace {
    all: BellPlaces,
    number: u64,
    /// The thread that is to watch the client.
    pub(super) thread: usize,
    /// The place of the same thread's that another client gives up for this.
    gives_way: Option<u64>,
}

impl BellPlaces {
    pub(super) fn new(threads: usize, bells: usize) -> Self {
        Self { threads, bells, taken: Arc::default() }
    }

    /// Takes a place for a client of `user`; where all are taken, that of a client whose user has more.
    pub(super) fn take(&self, user: u32) -> Option<BellPlace> {
        let mut taken = self.lock();
        let watched_by = |thread: usize| taken.list.iter().filter(|it| it.thread == thread).count();
        let free = (0..self.threads).min_by_key(|thread| watched_by(*thread))?;
        let (thread, gives_way) = if watched_by(free) < self.bells {
            (free, None)
        } else {
            let users: Vec<_> = taken.list.iter().map(|it| it.user).collect();
            let loser = who_gives_way(user, &users)?;
            let loser = users.iter().position(|it| *it == loser)?;
            let TakenPlace { number, thread, .. } = taken.list.remove(loser);
            (thread, Some(number))
        };
        taken.count += 1;
        let number = taken.count;
        taken.list.push(TakenPlace { number, thread, user });
        Some(BellPlace { all: self.clone(), number, thread, gives_way })
    }

    fn lock(&self) -> MutexGuard<'_, TakenPlaces> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl BellPlace {
    /// Whether it is taken in place of `other`.
    pub(super) fn replaces(&self, other: &Self) -> bool {
        self.gives_way == Some(other.number)
    }

    /// How many clients other threads watch, each of them one.
    pub(super) fn watched_by_others(&self) -> usize {
        if self.all.threads == 1 { 0 } else { self.all.lock().list.len().saturating_sub(1) }
    }
}

impl Drop for BellPlace {
    fn drop(&mut self) {
        self.all.lock().list.retain(|it| it.number != self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_are_watched_by_the_thread_that_watches_the_fewest() {
        let places = BellPlaces::new(3, 2);
        let mut taken: Vec<_> = (0..6).map(|_| places.take(1000).expect("a place")).collect();
        let threads: Vec<_> = taken.iter().map(|it| it.thread).collect();
        assert_eq!(threads, [0, 1, 2, 0, 1, 2]);
        assert!(places.take(1000).is_none(), "all are taken, by the same user");
        drop(taken.remove(1));
        let next = places.take(1000).expect("that is free");
        assert_eq!((next.thread, next.gives_way), (1, None));
    }

    #[test]
    fn a_user_with_fewer_places_takes_one_of_the_user_with_the_most() {
        let places = BellPlaces::new(4, 1);
        let full: Vec<_> = (0..4).map(|_| places.take(1000).expect("a place")).collect();
        let other = places.take(2000).expect("the first of the other's");
        assert_eq!(other.thread, 0);
        assert!(other.replaces(&full[0]) && !other.replaces(&full[1]));
        let more = places.take(2000).expect("and the next");
        assert!(more.replaces(&full[1]));
        assert!(places.take(2000).is_none(), "each has two");
        drop(full);
        assert_eq!(other.watched_by_others(), 1, "what was given up is not given back");
        assert!(places.take(3000).is_some_and(|it| it.thread == 2));
    }

    #[test]
    fn a_thread_that_watches_all_knows_of_no_others() {
        let places = BellPlaces::new(1, 127);
        let taken = [places.take(1000), places.take(1000)];
        assert_eq!(taken.map(|it| it.map(|it| it.watched_by_others())), [Some(0), Some(0)]);
    }
}
