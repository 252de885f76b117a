//! Which cores processes run on.

use std::collections::BTreeMap;
use std::fs;
use std::io;

use rustix::io::Errno;
use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use crate::actor::Actor;
use crate::error::{BenchError, failed};

/// Where the processes of a bench run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Pin {
    /// All on one core: one thing happens at a time, and the time is that of the work
    Same,
    /// Wherever the scheduler puts them
    None,
}

/// The threads of a process that is pinned to some cores. They are let go when this value ends, or when
/// the bench is killed.
#[derive(Debug)]
pub(crate) struct PinnedProcess {
    /// Ending it is what lets the threads go.
    _caretaker: Actor,
}

/// Returns the core that everything is pinned to: the first that this process may use.
pub(crate) fn core() -> Result<usize, BenchError> {
    let allowed = sched_getaffinity(None).map_err(failed("asking for the allowed cores"))?;
    let first = (0..CpuSet::MAX_CPU).find(|&cpu| allowed.is_set(cpu));
    Ok(first.expect("a running thread may run somewhere"))
}

/// Returns the second of the cores that this process may use.
///
/// # Errors
///
/// [`BenchError::FewerCores`] if there is one alone.
pub(crate) fn second_core() -> Result<usize, BenchError> {
    let (first, two) = (core()?, first_cores(2)?);
    let second = (0..CpuSet::MAX_CPU).find(|&cpu| cpu != first && two.is_set(cpu));
    Ok(second.expect("there are two"))
}

/// Returns the first `count` of the cores that this process may use.
///
/// # Errors
///
/// [`BenchError::FewerCores`] if there are not as many.
pub(crate) fn first_cores(count: u32) -> Result<CpuSet, BenchError> {
    let allowed = sched_getaffinity(None).map_err(failed("asking for the allowed cores"))?;
    let mut cores = CpuSet::new();
    for cpu in (0..CpuSet::MAX_CPU).filter(|&cpu| allowed.is_set(cpu)).take(count as usize) {
        cores.set(cpu);
    }
    if cores.count() == count {
        Ok(cores)
    } else {
        Err(BenchError::FewerCores { wanted: count, allowed: cores.count() })
    }
}

/// Pins the calling thread.
pub(crate) fn pin_self(core: usize) -> Result<(), BenchError> {
    sched_setaffinity(None, &only(core)).map_err(failed(format!("pinning to core {core}")))
}

/// The calling thread, pinned to some cores for as long as this value lives; so are the processes that it starts
/// meanwhile, for good.
#[derive(Debug)]
pub(crate) struct PinnedSelf {
    before: CpuSet,
}

impl PinnedSelf {
    /// Pins the calling thread.
    pub(crate) fn new(cores: &CpuSet) -> Result<Self, BenchError> {
        let before = sched_getaffinity(None).map_err(failed("asking for the allowed cores"))?;
        sched_setaffinity(None, cores).map_err(failed("pinning the bench"))?;
        Ok(Self { before })
    }
}

impl Drop for PinnedSelf {
    fn drop(&mut self) {
        // It was there before, so it may be there; if no core of those is left, the kernel has chosen others.
        let _ = sched_setaffinity(None, &self.before);
    }
}

impl PinnedProcess {
    /// Pins all threads of process `pid`.
    ///
    /// # Errors
    ///
    /// [`BenchError`] if that is not permitted; nothing is pinned then.
    pub(crate) fn new(pid: u32, cores: CpuSet) -> Result<Self, BenchError> {
        let mut caretaker = Actor::start_caretaker("keeper of the daemon's cores", |link| {
            let mut before = BTreeMap::new();
            let pinned = pin_all(pid, &cores, &mut before);
            if pinned.is_ok() {
                link.answer(&())?;
                // No order is ever given: this returns when the bench has ended.
                link.receive::<()>()?;
            }
            let restored = restore_all(pid, &before);
            pinned.and(restored).map_err(failed(format!("pinning the threads of process {pid}")))
        })?;
        caretaker.expect_ready()?;
        Ok(Self { _caretaker: caretaker })
    }
}

/// Pins the threads of `pid`, and those that they start meanwhile, noting where they ran `before`.
fn pin_all(pid: u32, pinned_to: &CpuSet, before: &mut BTreeMap<i32, CpuSet>) -> io::Result<()> {
    loop {
        let mut is_complete = true;
        for thread in threads_of(pid)? {
            let tid = thread.as_raw_nonzero().get();
            if before.contains_key(&tid) {
                continue;
            }
            is_complete = false;
            unless_ended(sched_getaffinity(Some(thread)).and_then(|cores| {
                sched_setaffinity(Some(thread), pinned_to)?;
                before.insert(tid, cores);
                Ok(())
            }))?;
        }
        if is_complete {
            return Ok(());
        }
    }
}

/// Lets the threads of `pid` run where they did before; new ones, where its first thread did.
fn restore_all(pid: u32, before: &BTreeMap<i32, CpuSet>) -> io::Result<()> {
    let first = i32::try_from(pid).ok().and_then(|pid| before.get(&pid));
    for thread in threads_of(pid)? {
        let known = before.get(&thread.as_raw_nonzero().get());
        if let Some(cores) = known.or(first) {
            unless_ended(sched_setaffinity(Some(thread), cores))?;
        }
    }
    Ok(())
}

fn threads_of(pid: u32) -> io::Result<Vec<Pid>> {
    let entries = fs::read_dir(format!("/proc/{pid}/task"))?.flatten();
    let tids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    Ok(tids.filter_map(Pid::from_raw).collect())
}

fn unless_ended(result: rustix::io::Result<()>) -> io::Result<()> {
    match result {
        Err(Errno::SRCH) => Ok(()),
        result => Ok(result?),
    }
}

/// Returns that core and no other.
pub(crate) fn only(core: usize) -> CpuSet {
    let mut cores = CpuSet::new();
    cores.set(core);
    cores
}

#[cfg(test)]
mod tests {
    use std::sync::{Mutex, PoisonError, mpsc};
    use std::thread;

    use super::*;

    /// Held by who pins threads, or looks where they may run: one test pins all there are.
    static PINNING: Mutex<()> = Mutex::new(());

    #[test]
    fn all_threads_are_pinned_and_let_go_again() {
        let _alone = PINNING.lock().unwrap_or_else(PoisonError::into_inner);
        let (end, ended) = mpsc::channel::<()>();
        let (tell, told) = mpsc::channel();
        let other = thread::spawn(move || {
            tell.send(rustix::thread::gettid()).unwrap();
            ended.recv().unwrap_err();
        });
        let other_tid = told.recv().unwrap();
        let cores = || sched_getaffinity(Some(other_tid)).unwrap();
        let (pid, wide) = (std::process::id(), cores());

        let mut before = BTreeMap::new();
        pin_all(pid, &only(core().unwrap()), &mut before).unwrap();
        assert_eq!(cores(), only(core().unwrap()));
        assert!(before.len() >= 2);
        restore_all(pid, &before).unwrap();
        assert_eq!(cores(), wide);

        drop(end);
        other.join().unwrap();
    }

    #[test]
    fn as_many_cores_as_wanted_are_the_first_of_those_allowed() {
        let _alone = PINNING.lock().unwrap_or_else(PoisonError::into_inner);
        let all = sched_getaffinity(None).unwrap();
        assert_eq!(first_cores(1).unwrap(), only(core().unwrap()));
        assert_eq!(first_cores(all.count()).unwrap(), all);
        let more = first_cores(all.count() + 1);
        assert!(matches!(more, Err(BenchError::FewerCores { .. })), "{more:?}");
    }

    #[test]
    fn a_thread_is_let_go_when_its_pin_ends() {
        let _alone = PINNING.lock().unwrap_or_else(PoisonError::into_inner);
        let cores = || sched_getaffinity(None).unwrap();
        let (before, one) = (cores(), only(core().unwrap()));
        let pinned = PinnedSelf::new(&one).unwrap();
        assert_eq!(cores(), one);
        drop(pinned);
        assert_eq!(cores(), before);
    }
}
