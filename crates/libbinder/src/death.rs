//! Being told of the death of an object.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread;

use crate::StatusCode;

/// What to do when an object dies.
///
/// Dropping it ends all its links.
pub struct DeathRecipient {
    notice: Arc<DeathNotice>,
}

/// The callback, as transports hold it: weakly.
pub struct DeathNotice(Box<dyn Fn() + Send + Sync>);

impl DeathRecipient {
    /// Calls `callback` once for each linked object that dies.
    pub fn new(callback: impl Fn() + Send + Sync + 'static) -> Self {
        Self { notice: Arc::new(DeathNotice(Box::new(callback))) }
    }

    pub(crate) fn notice(&self) -> &Arc<DeathNotice> {
        &self.notice
    }
}

impl fmt::Debug for DeathRecipient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DeathRecipient").finish_non_exhaustive()
    }
}

impl fmt::Debug for DeathNotice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("DeathNotice")
    }
}

/// The links of one proxy, for transports to embed.
///
/// It answers what the transport must know (is this the first link, was that the last) and delivers
/// each notice once. A recipient that was dropped is as good as unlinked.
#[derive(Debug, Default)]
pub struct DeathLinks {
    state: Mutex<ObjectDeathLinks>,
}

#[derive(Debug)]
enum ObjectDeathLinks {
    Alive(Vec<Weak<DeathNotice>>),
    Dead,
}

impl Default for ObjectDeathLinks {
    fn default() -> Self {
        Self::Alive(Vec::new())
    }
}

impl DeathLinks {
    fn state(&self) -> MutexGuard<'_, ObjectDeathLinks> {
        // No callback runs under the lock, so a panic cannot have left it half changed.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a link and says whether it is the first, that is whether the peer must be asked.
    ///
    /// # Errors
    ///
    /// [`StatusCode::DEAD_OBJECT`] if the object is dead already.
    pub fn link(&self, recipient: &Arc<DeathNotice>) -> Result<bool, StatusCode> {
        match &mut *self.state() {
            ObjectDeathLinks::Dead => Err(StatusCode::DEAD_OBJECT),
            ObjectDeathLinks::Alive(links) => {
                let is_first = links.is_empty();
                links.retain(|link| link.strong_count() > 0);
                links.push(Arc::downgrade(recipient));
                Ok(is_first)
            }
        }
    }

    /// Removes a link and says whether it was the last, that is whether the peer need not tell.
    ///
    /// # Errors
    ///
    /// [`StatusCode::DEAD_OBJECT`] if the object is dead, [`StatusCode::NAME_NOT_FOUND`] if there is
    /// no such link.
    pub fn unlink(&self, recipient: &Arc<DeathNotice>) -> Result<bool, StatusCode> {
        match &mut *self.state() {
            ObjectDeathLinks::Dead => Err(StatusCode::DEAD_OBJECT),
            ObjectDeathLinks::Alive(links) => {
                let wanted = Arc::as_ptr(recipient);
                let found = links.iter().position(|link| link.as_ptr() == wanted);
                links.swap_remove(found.ok_or(StatusCode::NAME_NOT_FOUND)?);
                Ok(links.is_empty())
            }
        }
    }

    /// Whether the object has died.
    pub fn is_dead(&self) -> bool {
        matches!(*self.state(), ObjectDeathLinks::Dead)
    }

    /// Notes the death and tells every recipient, the first time. Call it without locks held.
    pub fn die(&self) {
        tell_all(&self.end());
    }

    /// Notes the death and returns the recipients to tell, the first time.
    fn end(&self) -> Vec<Weak<DeathNotice>> {
        match std::mem::replace(&mut *self.state(), ObjectDeathLinks::Dead) {
            ObjectDeathLinks::Alive(links) => links,
            ObjectDeathLinks::Dead => Vec::new(),
        }
    }
}

fn tell_all(links: &[Weak<DeathNotice>]) {
    for notice in links.iter().filter_map(Weak::upgrade) {
        tell(|| (notice.0)());
    }
}

/// Notes the deaths, and tells every recipient on a thread of its own: a recipient may want what
/// the caller has locked.
pub(crate) fn die_elsewhere<'a>(dead: impl IntoIterator<Item = &'a DeathLinks>) {
    let mut links: Vec<_> = dead.into_iter().flat_map(DeathLinks::end).collect();
    links.retain(|link| link.strong_count() > 0);
    if links.is_empty() {
        return;
    }
    let thread = thread::Builder::new().name("binder-deaths".to_owned());
    if let Err(error) = thread.spawn(move || tell_all(&links)) {
        tracing::error!(%error, "no recipient is told of a death");
    }
}

/// Runs a callback. One that panics keeps neither the others from being told, nor the thread from
/// what it has to do for the transport.
pub(crate) fn tell(callback: impl FnOnce()) {
    if catch_unwind(AssertUnwindSafe(callback)).is_err() {
        tracing::error!("a callback panicked");
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    fn counting() -> (DeathRecipient, Arc<AtomicU32>) {
        let deaths = Arc::new(AtomicU32::new(0));
        let counted = deaths.clone();
        let recipient = DeathRecipient::new(move || {
            counted.fetch_add(1, Ordering::Relaxed);
        });
        (recipient, deaths)
    }

    #[test]
    fn each_link_is_told_once() {
        let links = DeathLinks::default();
        let (one, one_deaths) = counting();
        let (other, other_deaths) = counting();
        assert_eq!(links.link(one.notice()), Ok(true));
        assert_eq!(links.link(other.notice()), Ok(false));
        assert_eq!(links.link(other.notice()), Ok(false));
        assert!(!links.is_dead());
        links.die();
        links.die();
        assert!(links.is_dead());
        assert_eq!(one_deaths.load(Ordering::Relaxed), 1);
        assert_eq!(other_deaths.load(Ordering::Relaxed), 2);
        assert_eq!(links.link(one.notice()), Err(StatusCode::DEAD_OBJECT));
        assert_eq!(links.unlink(one.notice()), Err(StatusCode::DEAD_OBJECT));
    }

    #[test]
    fn unlinked_and_dropped_recipients_are_not_told() {
        let links = DeathLinks::default();
        let (unlinked, unlinked_deaths) = counting();
        let (dropped, dropped_deaths) = counting();
        assert_eq!(links.unlink(unlinked.notice()), Err(StatusCode::NAME_NOT_FOUND));
        assert_eq!(links.link(unlinked.notice()), Ok(true));
        assert_eq!(links.link(dropped.notice()), Ok(false));
        assert_eq!(links.unlink(unlinked.notice()), Ok(false));
        drop(dropped);
        links.die();
        assert_eq!(unlinked_deaths.load(Ordering::Relaxed), 0);
        assert_eq!(dropped_deaths.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn a_callback_that_panics_keeps_nobody_from_being_told() {
        let links = DeathLinks::default();
        let panicking = DeathRecipient::new(|| panic!("as it was asked to"));
        let (other, deaths) = counting();
        assert_eq!(links.link(panicking.notice()), Ok(true));
        assert_eq!(links.link(other.notice()), Ok(false));
        links.die();
        assert_eq!(deaths.load(Ordering::Relaxed), 1);
    }

    #[test]
    fn the_last_unlink_says_that_it_is() {
        let links = DeathLinks::default();
        let (one, _) = counting();
        assert_eq!(links.link(one.notice()), Ok(true));
        assert_eq!(links.unlink(one.notice()), Ok(true));
        assert_eq!(links.link(one.notice()), Ok(true));
    }
}
