//! Processes of the kernel's, read anew each time: nobody would tell us when they change.

use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard};

use binder_os::ProcDir;
use binder_os::proc_files::split_stat;

use crate::node::SERIAL_MAX;

/// Which of the kernel's processes belong to a view. Whoever reads sees itself in any case.
pub enum Members {
    /// Nobody.
    Nobody,
    /// All.
    All,
    /// This process and its children, their children, and so on. It adopts the orphans among them
    /// (`PR_SET_CHILD_SUBREAPER`), so who is below stays there, and nobody else ever comes.
    Below(u32),
    /// Those of whom this says so, each time that somebody asks.
    Told(Box<dyn Membership>),
}

/// Says who belongs to a view.
pub trait Membership: Send + Sync {
    /// Whether process `pid` belongs to it. Whoever reads of one process asks for it and for each
    /// that it names, so this must not cost more for many members.
    fn contains(&self, pid: u32) -> bool;

    /// All who belong to it.
    fn list(&self) -> Vec<u32>;
}

/// The kernel's processes.
pub(crate) struct Kernel {
    proc: ProcDir,
    members: Members,
    slots: Mutex<Slots>,
}

/// The processes and threads that the view's kernel side knows of.
///
/// A slot's number is never another's later: what the kernel knows by it may outlive the process.
#[derive(Default)]
struct Slots {
    slots: HashMap<u32, Slot>,
    by_place: HashMap<Place, u32>,
    next: u32,
    /// From so many on, the dead are looked for.
    full: usize,
}

/// Where in the kernel's /proc a process or a thread is found. The files of a thread below its process
/// tell of the thread alone, and those at its number of the whole process.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Place {
    /// At its number.
    Root(u32),
    /// In `task/` of its process.
    Task(u32),
}

/// A process, or a thread, for as long as somebody knows a file of it.
struct Slot {
    place: Place,
    /// The process; of a process, itself.
    tgid: u32,
    /// It stays that process's when the number goes to another.
    dir: Arc<ProcDir>,
    /// Whether it is one of those [below](Members::Below), once somebody has asked.
    is_below: Option<bool>,
    lookups: u64,
}

/// A process, or a thread, that keeps its slot for as long as somebody has this.
pub(crate) struct Adopted {
    pub(crate) slot: u32,
    tgid: u32,
    dir: Arc<ProcDir>,
}

/// A child, and its parent as it was found to be.
struct Step {
    child: Adopted,
    parent: u32,
}

/// How many slots there may be before those of the dead are looked for.
const SLOTS_BEFORE_SWEEP: usize = 256;

/// How often a line of ancestors is followed that changes meanwhile.
const LINE_TRIES: usize = 64;

impl Kernel {
    pub(crate) fn new(proc: ProcDir, members: Members) -> Self {
        Self { proc, members, slots: Mutex::default() }
    }

    pub(crate) fn proc(&self) -> &ProcDir {
        &self.proc
    }

    /// The process of thread `tid`, if we see it.
    pub(crate) fn tgid_of(&self, tid: u32) -> Option<u32> {
        if tid == 0 {
            return None;
        }
        Some(self.adopt(tid).ok()?.tgid)
    }

    /// Whether process or thread `number` may be seen by process `reader`.
    pub(crate) fn shows(&self, number: u32, reader: Option<u32>) -> bool {
        if let Members::All = self.members {
            return number != 0;
        }
        let Some(tgid) = self.tgid_of(number) else { return false };
        if reader == Some(tgid) {
            return true;
        }
        self.has(tgid)
    }

    fn has(&self, tgid: u32) -> bool {
        match &self.members {
            Members::Nobody => false,
            Members::All => true,
            Members::Below(ancestor) => self.is_below(tgid, *ancestor),
            Members::Told(membership) => membership.contains(tgid),
        }
    }

    /// The number of a process as `reader` sees it: 0 if it does not, as a process outside of the
    /// reader's namespace is told of.
    pub(crate) fn as_seen(&self, number: u32, reader: Option<u32>) -> u32 {
        if self.shows(number, reader) { number } else { 0 }
    }

    /// Who is told for a parent that is not seen. A tree is drawn from 1, so what is shown of the
    /// kernel's processes hangs there, whether or not that is seen itself; in a table 1 is somebody
    /// else.
    pub(crate) fn adopter(&self) -> u32 {
        match self.members {
            Members::Nobody => 0,
            Members::All | Members::Below(_) | Members::Told(_) => 1,
        }
    }

    /// All processes that `reader` sees, in order.
    pub(crate) fn list(&self, reader: Option<u32>) -> io::Result<Vec<u32>> {
        let mut list = match &self.members {
            Members::Nobody => Vec::new(),
            Members::All => return self.proc.numbers("."),
            Members::Below(ancestor) => self.below(*ancestor)?,
            Members::Told(membership) => {
                let mut told = membership.list();
                told.retain(|pid| self.tgid_of(*pid) == Some(*pid));
                told
            }
        };
        list.extend(reader);
        list.sort_unstable();
        list.dedup();
        Ok(list)
    }

    fn below(&self, ancestor: u32) -> io::Result<Vec<u32>> {
        let all = self.proc.numbers(".")?;
        let parent = |pid: &u32| {
            let stat = self.proc.read(format!("{pid}/stat")).ok()?;
            Some((*pid, parent_in(&stat)?))
        };
        let parents: HashMap<u32, u32> = all.iter().filter_map(parent).collect();
        let is_below = |pid: &u32| {
            let mut at = *pid;
            // The bound is for a line that changed meanwhile.
            for _ in 0..=parents.len() {
                match parents.get(&at) {
                    _ if at == ancestor => return true,
                    Some(0) => return false,
                    Some(parent) => at = *parent,
                    None => break,
                }
            }
            at != *pid && self.is_below(*pid, ancestor)
        };
        Ok(all.into_iter().filter(is_below).collect())
    }

    /// Whether a process is `ancestor` or below it. Each process is asked once in its life.
    fn is_below(&self, pid: u32, ancestor: u32) -> bool {
        for _ in 0..LINE_TRIES {
            let mut line = Vec::new();
            let Some(answer) = self.follow(pid, ancestor, &mut line) else {
                if line.is_empty() {
                    return false;
                }
                // An ancestor has ended on the way.
                continue;
            };
            // One may have, and its number gone to another.
            if line.iter().all(|step| parent_of(&step.child.dir) == Some(step.parent)) {
                let mut slots = self.slots();
                for Step { child, .. } in &line {
                    if let Some(slot) = slots.slots.get_mut(&child.slot) {
                        slot.is_below = Some(answer);
                    }
                }
                return answer;
            }
        }
        false
    }

    /// Follows the parents of a process until one is known to be below `ancestor`, or not; `None` if
    /// somebody is gone.
    fn follow(&self, pid: u32, ancestor: u32, line: &mut Vec<Step>) -> Option<bool> {
        let mut at = pid;
        loop {
            if at == ancestor || at <= 1 {
                return Some(at == ancestor);
            }
            let child = self.adopt(at).ok()?;
            let known = self.slots().slots.get(&child.slot)?.is_below;
            if known.is_some() {
                return known;
            }
            at = parent_of(&child.dir)?;
            line.push(Step { child, parent: at });
        }
    }

    /// Takes a process, or a thread, into a slot.
    pub(crate) fn adopt(&self, number: u32) -> io::Result<Adopted> {
        self.adopt_at(Place::Root(number), || self.proc.dir(number.to_string()))
    }

    /// Takes a thread into a slot, as it is found in the `task/` of `process`.
    pub(crate) fn adopt_thread(&self, process: &ProcDir, tid: u32) -> io::Result<Adopted> {
        // Opened in any case: that somewhere there is such a thread does not make it this process's.
        let dir = process.dir(format!("task/{tid}"))?;
        self.adopt_at(Place::Task(tid), || Ok(dir))
    }

    fn adopt_at(
        &self,
        place: Place,
        open: impl FnOnce() -> io::Result<ProcDir>,
    ) -> io::Result<Adopted> {
        let mut slots = self.slots();
        if let Some(&at) = slots.by_place.get(&place)
            && let Some(slot) = slots.slots.get(&at).filter(|slot| slot.lives())
        {
            return Ok(Adopted { slot: at, tgid: slot.tgid, dir: slot.dir.clone() });
        }
        if slots.slots.len() >= slots.full {
            slots.sweep();
        }
        let dir = Arc::new(open()?);
        let tgid = dir.tgid()?;
        let at = slots.free();
        let slot = Slot { place, tgid, dir: dir.clone(), is_below: None, lookups: 0 };
        slots.slots.insert(at, slot);
        slots.by_place.insert(place, at);
        Ok(Adopted { slot: at, tgid, dir })
    }

    /// The directory of what is in a slot, and its number; `None` if it has ended.
    pub(crate) fn dir(&self, slot: u32) -> Option<(u32, Arc<ProcDir>)> {
        let slots = self.slots();
        let slot = slots.slots.get(&slot)?;
        Some((slot.place.number(), slot.dir.clone()))
    }

    /// The kernel learns of a file of what is in a slot; false if that has been given up meanwhile,
    /// and is to be looked for again.
    #[must_use = "the kernel may not be told of what nobody keeps"]
    pub(crate) fn remember(&self, slot: u32) -> bool {
        let mut slots = self.slots();
        let found = slots.slots.get_mut(&slot);
        found.map(|slot| slot.lookups += 1).is_some()
    }

    /// The kernel has forgotten some.
    pub(crate) fn forget(&self, slot: u32, lookups: u64) {
        let mut slots = self.slots();
        let Some(found) = slots.slots.get_mut(&slot) else { return };
        found.lookups = found.lookups.saturating_sub(lookups);
        if found.is_idle() {
            let place = found.place;
            slots.slots.remove(&slot);
            if slots.by_place.get(&place) == Some(&slot) {
                slots.by_place.remove(&place);
            }
        }
    }

    fn slots(&self) -> MutexGuard<'_, Slots> {
        self.slots.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

/// The parent of the process that a directory is of.
fn parent_of(dir: &ProcDir) -> Option<u32> {
    parent_in(&dir.read("stat").ok()?)
}

fn parent_in(stat: &[u8]) -> Option<u32> {
    let (_, rest) = split_stat(stat)?;
    rest.split(|byte| *byte == b' ').nth(1).and_then(number)
}

impl Slots {
    /// A number that no slot has: they come round, and a process may have been here since.
    fn free(&mut self) -> u32 {
        loop {
            let at = self.next;
            self.next = (at + 1) & SERIAL_MAX;
            if !self.slots.contains_key(&at) {
                return at;
            }
        }
    }

    /// Gives up the dead, and what nobody knows.
    fn sweep(&mut self) {
        self.slots.retain(|_, slot| !slot.is_idle() && (slot.is_held() || slot.lives()));
        let Self { slots, by_place, .. } = self;
        by_place.retain(|_, at| slots.contains_key(at));
        self.full = SLOTS_BEFORE_SWEEP.max(2 * self.slots.len());
    }
}

impl Place {
    fn number(self) -> u32 {
        match self {
            Self::Root(number) | Self::Task(number) => number,
        }
    }
}

impl Slot {
    /// Whether somebody deals with it at this moment.
    fn is_held(&self) -> bool {
        Arc::strong_count(&self.dir) > 1
    }

    /// Whether nobody does, and the kernel does not know of it either.
    fn is_idle(&self) -> bool {
        self.lookups == 0 && !self.is_held()
    }

    fn lives(&self) -> bool {
        self.dir.stat("stat").is_ok()
    }
}

pub(crate) fn number(word: &[u8]) -> Option<u32> {
    std::str::from_utf8(word).ok()?.trim_ascii().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kernel() -> (Kernel, u32) {
        (Kernel::new(ProcDir::open().unwrap(), Members::All), std::process::id())
    }

    #[test]
    fn the_number_of_a_slot_is_not_anothers_when_they_come_round() {
        let (kernel, this) = kernel();
        let process = kernel.adopt(this).unwrap();
        kernel.slots().next = process.slot;
        let thread = kernel.adopt_thread(&process.dir, this).unwrap();
        assert_ne!(process.slot, thread.slot);
        assert_eq!(kernel.adopt(this).unwrap().slot, process.slot);
        assert_eq!(kernel.dir(process.slot).unwrap().0, this);
    }

    #[test]
    fn a_slot_stays_while_somebody_deals_with_it() {
        let (kernel, this) = kernel();
        let adopted = kernel.adopt(this).unwrap();
        let slot = adopted.slot;
        assert!(kernel.remember(slot));
        // The kernel forgets it, and the dead are looked for, while its name is being found again.
        kernel.forget(slot, 1);
        kernel.slots().sweep();
        assert!(kernel.dir(slot).is_some() && kernel.remember(slot));
        drop(adopted);
        kernel.slots().sweep();
        assert!(kernel.dir(slot).is_some());
        kernel.forget(slot, 1);
        assert!(kernel.dir(slot).is_none() && !kernel.remember(slot));
    }
}
