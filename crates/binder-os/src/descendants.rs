//! Parents and children: ancestors of processes, and the descendants of this one, which has [adopted](crate::processes::adopt_orphans) their orphans.

use std::fs;
use std::io;
use std::iter;
use std::os::fd::OwnedFd;

use crate::processes::{self, Signal};

/// Lists the descendants of process `of` that have not ended, except for `spared` and theirs. Those whose /proc may
/// not be read are left out.
#[must_use]
pub fn list(of: u32, spared: Option<u32>) -> Vec<u32> {
    let mut found = children(of);
    found.retain(|pid| Some(*pid) != spared);
    let mut next = 0;
    while let Some(pid) = found.get(next) {
        found.extend(children(*pid));
        next += 1;
    }
    found.retain(|pid| processes::is_alive(*pid));
    found
}

/// Sends `signals`, in their order, to all descendants of this process except for `spared` and theirs. Returns to how
/// many.
///
/// What a process starts meanwhile gets none of them.
pub fn signal(signals: &[Signal], spared: Option<u32>) -> usize {
    let own = std::process::id();
    let signalled = list(own, spared).into_iter().filter(|pid| {
        // The descriptor comes first: should the number have gone to another process, that is none of ours.
        processes::pidfd(*pid).is_ok_and(|it| is_below(*pid, own) && send(&it, signals).is_ok())
    });
    signalled.count()
}

fn send(process: &OwnedFd, signals: &[Signal]) -> io::Result<()> {
    signals.iter().try_for_each(|signal| Ok(rustix::process::pidfd_send_signal(process, *signal)?))
}

/// Whether process `pid` is a descendant of `ancestor`.
fn is_below(pid: u32, ancestor: u32) -> bool {
    ancestors(pid).any(|above| above == ancestor)
}

/// The ancestors of process `pid`, its parent first, as far as they can be seen from here.
pub fn ancestors(pid: u32) -> impl Iterator<Item = u32> {
    iter::successors(parent(pid), |above| parent(*above))
}

/// The parent of process `pid`; `None` at the top, and of one that is gone.
fn parent(pid: u32) -> Option<u32> {
    let stat = fs::read(format!("/proc/{pid}/stat")).ok()?;
    // The name, in parentheses, may hold anything, parentheses too.
    let after_name = stat.rsplit(|byte| *byte == b')').next()?;
    let parent = str::from_utf8(after_name).ok()?.split_ascii_whitespace().nth(1)?;
    parent.parse().ok().filter(|pid| *pid != 0)
}

fn children(pid: u32) -> Vec<u32> {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let lists = tasks.filter_map(|task| fs::read_to_string(task.path().join("children")).ok());
    let numbers = |list: String| {
        let numbers = list.split_ascii_whitespace().filter_map(|pid| pid.parse().ok());
        numbers.collect::<Vec<u32>>()
    };
    lists.flat_map(numbers).collect()
}
