//! A thread that follows others onto their processor for a while.
//!
//! Threads inherit the processors on which their starter may run. What a bound thread starts asks for
//! [those of before](allowed_to_started), so that it is not bound as well.

use std::cell::RefCell;
use std::io;

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

thread_local! {
    /// Where the calling thread is bound, and where it might run before.
    static BOUND: RefCell<Option<(u32, Allowed)>> = const { RefCell::new(None) };
}

/// The processors on which a thread may run.
#[derive(Debug, Clone)]
pub struct Allowed(Box<CpuSet>);

/// Binds the calling thread to a processor, and to none if it may not run on that.
///
/// # Errors
///
/// As sched_getaffinity(2) and sched_setaffinity(2).
pub fn bind(cpu: u32) -> io::Result<()> {
    if BOUND.with_borrow(|bound| bound.as_ref().is_some_and(|(at, _)| *at == cpu)) {
        return Ok(());
    }
    release()?;
    let allowed = Allowed(Box::new(sched_getaffinity(None)?));
    let only = only(cpu).filter(|_| allowed.0.is_set(cpu as usize));
    if let Some(only) = only {
        sched_setaffinity(None, &only)?;
        BOUND.set(Some((cpu, allowed)));
    }
    Ok(())
}

/// Lets the calling thread run where it might before it was bound, unless somebody has said meanwhile where it may.
///
/// # Errors
///
/// As sched_getaffinity(2) and sched_setaffinity(2).
pub fn release() -> io::Result<()> {
    let Some((cpu, allowed)) = BOUND.take() else { return Ok(()) };
    if Some(sched_getaffinity(None)?) == only(cpu) { allowed.apply() } else { Ok(()) }
}

/// This processor alone, if there can be such a one.
fn only(cpu: u32) -> Option<CpuSet> {
    let mut only = CpuSet::new();
    let place = usize::try_from(cpu).ok().filter(|it| *it < CpuSet::MAX_CPU)?;
    only.set(place);
    Some(only)
}

/// Where threads may run that the calling one starts, if they are not to be bound as it is.
#[must_use]
pub fn allowed_to_started() -> Option<Allowed> {
    BOUND.with_borrow(|bound| bound.as_ref().map(|(_, allowed)| allowed.clone()))
}

impl Allowed {
    /// Lets the calling thread run there.
    ///
    /// # Errors
    ///
    /// As sched_setaffinity(2).
    pub fn apply(&self) -> io::Result<()> {
        Ok(sched_setaffinity(None, &self.0)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::processes;

    fn allowed() -> CpuSet {
        sched_getaffinity(None).unwrap()
    }

    fn cpus_of(set: &CpuSet) -> Vec<u32> {
        let cpus = 0..u32::try_from(CpuSet::MAX_CPU).unwrap();
        cpus.filter(|cpu| set.is_set(*cpu as usize)).collect()
    }

    #[test]
    fn a_thread_is_bound_and_what_it_starts_is_not() {
        let before = allowed();
        let own = cpus_of(&before);
        for cpu in own.iter().chain(own.last()) {
            bind(*cpu).unwrap();
            assert_eq!((allowed().count(), processes::own_cpu()), (1, *cpu));
        }
        let started = allowed_to_started();
        let of_started = std::thread::spawn(move || {
            let inherited = allowed().count();
            started.unwrap().apply().unwrap();
            (inherited, allowed())
        });
        assert_eq!(of_started.join().unwrap(), (1, before));
        release().unwrap();
        assert_eq!(allowed(), before);
        assert!(allowed_to_started().is_none());
    }

    #[test]
    fn who_says_meanwhile_where_a_thread_may_run_is_heard() {
        let before = allowed();
        let [first, .., last] = cpus_of(&before)[..] else {
            return binder_testkit::skip("there is one processor alone");
        };
        bind(first).unwrap();
        let other = only(last).unwrap();
        sched_setaffinity(None, &other).unwrap();
        release().unwrap();
        assert_eq!(allowed(), other);
        sched_setaffinity(None, &before).unwrap();
    }

    #[test]
    fn a_processor_that_is_not_allowed_binds_nobody() {
        let before = allowed();
        bind(processes::own_cpu()).unwrap();
        bind(u32::MAX).unwrap();
        assert_eq!(allowed(), before);
        assert!(allowed_to_started().is_none());
        release().unwrap();
    }
}
