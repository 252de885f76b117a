//! Processes of the kernel's, read anew each time: the kernel does not tell when they change.

mod process_lists;

use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard};

use binder_os::proc_files::split_stat;
use binder_os::{ProcDir, processes};

use crate::errno::found;
use crate::node::SERIAL_MAX;
use process_lists::ProcessLists;
pub(crate) use process_lists::{ListedProcess, Showing};

/// Which of the kernel's processes belong to a view. A reader sees itself in any case.
pub enum Members {
    /// No process.
    None,
    /// All.
    All,
    /// This process and its children, their children, and so on. It adopts the orphans among them
    /// (`PR_SET_CHILD_SUBREAPER`), so a process below stays there, and none comes from elsewhere.
    Below(u32),
    /// The processes that this names, asked anew for each read.
    Told(Box<dyn Membership>),
}

/// Says who belongs to a view.
pub trait Membership: Send + Sync {
    /// Whether process `pid` belongs to it. A read of one process asks for that one and for each
    /// that it names, so this must not cost more for many members.
    fn contains(&self, pid: u32) -> bool;

    /// All who belong to it.
    ///
    /// # Errors
    ///
    /// If they cannot be found out.
    fn list(&self) -> io::Result<Vec<u32>>;
}

/// Whose numbers the processes of a view have, and so the numbers given for a process that is not shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Numbering {
    /// The kernel's. A tree is drawn from 1, so what has a parent that is not shown hangs there, whether or
    /// not 1 is itself; a group or session has the number that getsid(2) has for it.
    Kernels,
    /// A table's, in which the kernel's numbers are others': 0.
    Tables,
}

/// The kernel's processes.
pub(crate) struct Kernel {
    proc: ProcDir,
    members: Members,
    slots: Mutex<Slots>,
    lists: Mutex<ProcessLists>,
}

/// The processes and threads that the view's kernel side knows of.
///
/// A slot's number is never another's later: what the kernel knows by it may outlive the process.
#[derive(Default)]
struct Slots {
    slots: HashMap<u32, Slot>,
    by_place: HashMap<ProcPlace, u32>,
    next: u32,
    /// Those whose directories were opened since idle ones were closed.
    opened: Vec<u32>,
    /// From that many on, the dead are looked for.
    full: usize,
}

/// Where in the kernel's /proc a process or a thread is found. The files of a thread below its process
/// tell of the thread alone, and those at its number of the whole process.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum ProcPlace {
    /// At its number.
    Root(u32),
    /// In `task/` of its process.
    Task(u32),
}

/// A process, or a thread, for as long as the kernel knows, or a thread uses, a file of it.
struct Slot {
    place: ProcPlace,
    /// The process; of a process, itself.
    tgid: u32,
    dir: SlotDir,
    /// Whether it is one of those [below](Members::Below), once that was asked for.
    is_below: Option<bool>,
    lookups: u64,
}

/// The directory of the process in a slot.
enum SlotDir {
    /// It stays that process's when the number goes to another.
    Open(Arc<ProcDir>),
    /// Too many were open. The process with the number is the same if it started at this tick of
    /// the clock.
    Closed { started: u64 },
    /// Closed, and the process is gone.
    Ended,
}

/// A process, or a thread, that keeps its slot for as long as this value lives.
pub(crate) struct Adopted {
    pub(crate) slot: u32,
    tgid: u32,
    pub(crate) dir: Arc<ProcDir>,
}

/// A child, and its parent as it was found to be.
struct ParentStep {
    child: Adopted,
    parent: u32,
}

/// How many slots there may be before those of the dead are looked for.
const SLOTS_BEFORE_SWEEP: usize = 256;

/// How often a line of ancestors is followed that changes meanwhile.
const LINE_TRIES: usize = 64;

impl Kernel {
    pub(crate) fn new(proc: ProcDir, members: Members) -> Self {
        Self { proc, members, slots: Mutex::default(), lists: Mutex::default() }
    }

    pub(crate) fn proc(&self) -> &ProcDir {
        &self.proc
    }

    /// The process of thread `tid`, if we see it.
    pub(crate) fn tgid_of(&self, tid: u32) -> io::Result<Option<u32>> {
        if tid == 0 {
            return Ok(None);
        }
        Ok(found(self.adopt(tid))?.map(|adopted| adopted.tgid))
    }

    /// Whether process or thread `number` may be seen by process `reader`.
    pub(crate) fn shows(&self, number: u32, reader: Option<u32>) -> io::Result<bool> {
        if let Members::All = self.members {
            return Ok(number != 0);
        }
        let Some(tgid) = self.tgid_of(number)? else { return Ok(false) };
        if reader == Some(tgid) {
            return Ok(true);
        }
        self.has(tgid)
    }

    fn has(&self, tgid: u32) -> io::Result<bool> {
        match &self.members {
            Members::None => Ok(false),
            Members::All => Ok(true),
            Members::Below(ancestor) => self.is_below(tgid, *ancestor),
            Members::Told(membership) => Ok(membership.contains(tgid)),
        }
    }

    /// The number of a process as `reader` sees it: 0 if it does not, as a process outside of the
    /// reader's namespace is told of.
    pub(crate) fn as_seen(&self, number: u32, reader: Option<u32>) -> io::Result<u32> {
        Ok(if self.shows(number, reader)? { number } else { 0 })
    }

    /// Whose numbers the processes of this view have.
    pub(crate) fn numbers(&self) -> Numbering {
        match self.members {
            Members::None => Numbering::Tables,
            Members::All | Members::Below(_) | Members::Told(_) => Numbering::Kernels,
        }
    }

    /// Whether a process is `ancestor` or below it. Each process is asked once in its life.
    fn is_below(&self, pid: u32, ancestor: u32) -> io::Result<bool> {
        for _ in 0..LINE_TRIES {
            let mut line = Vec::new();
            let Some(answer) = self.follow(pid, ancestor, &mut line)? else {
                if line.is_empty() {
                    return Ok(false);
                }
                // An ancestor has ended on the way.
                continue;
            };
            // One may have, and its number gone to another.
            let mut is_same = true;
            for step in &line {
                is_same &= parent_of(&step.child.dir)? == Some(step.parent);
            }
            if is_same {
                let mut slots = self.slots();
                for ParentStep { child, .. } in &line {
                    if let Some(slot) = slots.slots.get_mut(&child.slot) {
                        slot.is_below = Some(answer);
                    }
                }
                return Ok(answer);
            }
        }
        Ok(false)
    }

    /// Follows the parents of a process until one is known to be below `ancestor`, or not; `None`
    /// if one of them is gone.
    fn follow(
        &self,
        pid: u32,
        ancestor: u32,
        line: &mut Vec<ParentStep>,
    ) -> io::Result<Option<bool>> {
        let mut at = pid;
        loop {
            if at == ancestor || at <= 1 {
                return Ok(Some(at == ancestor));
            }
            let Some(child) = found(self.adopt(at))? else { return Ok(None) };
            let known = self.slots().slots.get(&child.slot).map(|slot| slot.is_below);
            match known {
                Some(None) => {}
                Some(known) => return Ok(known),
                None => return Ok(None),
            }
            let Some(parent) = parent_of(&child.dir)? else { return Ok(None) };
            at = parent;
            line.push(ParentStep { child, parent });
        }
    }

    /// Takes a process, or a thread, into a slot.
    pub(crate) fn adopt(&self, number: u32) -> io::Result<Adopted> {
        self.adopt_at(ProcPlace::Root(number), || self.proc.dir(number.to_string()))
    }

    /// Takes a thread into a slot, as it is found in the `task/` of `process`.
    pub(crate) fn adopt_thread(&self, process: &ProcDir, tid: u32) -> io::Result<Adopted> {
        // Opened in any case: that somewhere there is such a thread does not make it this process's.
        let dir = process.dir(format!("task/{tid}"))?;
        self.adopt_at(ProcPlace::Task(tid), || Ok(dir))
    }

    fn adopt_at(
        &self,
        place: ProcPlace,
        open: impl FnOnce() -> io::Result<ProcDir>,
    ) -> io::Result<Adopted> {
        let mut slots = self.slots();
        if let Some(&at) = slots.by_place.get(&place)
            && let Some((slot, dir)) = slots.open(at, &self.proc)?
            && dir.stat("stat").is_ok()
        {
            return Ok(Adopted { slot: at, tgid: slot.tgid, dir });
        }
        if slots.slots.len() >= slots.full {
            slots.sweep(&self.proc);
        }
        slots.make_room();
        let dir = Arc::new(open()?);
        let tgid = dir.tgid()?;
        let at = slots.free();
        let held = SlotDir::Open(dir.clone());
        let slot = Slot { place, tgid, dir: held, is_below: None, lookups: 0 };
        slots.slots.insert(at, slot);
        slots.by_place.insert(place, at);
        slots.opened.push(at);
        Ok(Adopted { slot: at, tgid, dir })
    }

    /// The directory of the process in a slot, and its number; `None` if it has ended.
    pub(crate) fn dir(&self, slot: u32) -> io::Result<Option<(u32, Arc<ProcDir>)>> {
        let mut slots = self.slots();
        Ok(slots.open(slot, &self.proc)?.map(|(slot, dir)| (slot.place.number(), dir)))
    }

    /// Notes that the kernel learns of a file of the process in a slot; false if that has been given up meanwhile,
    /// and is to be looked for again.
    #[must_use = "the kernel must not be told of a file that is not kept"]
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

/// The parent of the process that a directory is of; `None` if it has ended.
fn parent_of(dir: &ProcDir) -> io::Result<Option<u32>> {
    Ok(found(dir.read("stat"))?.and_then(|stat| parent_in(&stat)))
}

fn parent_in(stat: &[u8]) -> Option<u32> {
    let (_, rest) = split_stat(stat)?;
    rest.split(|byte| *byte == b' ').nth(1).and_then(number)
}

/// When a process or a thread started, in ticks of the clock; `None` if it has ended.
fn start_of(dir: &ProcDir) -> io::Result<Option<u64>> {
    let Some(stat) = found(dir.read("stat"))? else { return Ok(None) };
    let start = |rest: &[u8]| {
        let word = rest.split(|byte| *byte == b' ').nth(19)?;
        std::str::from_utf8(word).ok()?.parse().ok()
    };
    Ok(split_stat(&stat).and_then(|(_, rest)| start(rest)))
}

/// How many directories may be open: others of this process's files need room, too.
fn open_max() -> usize {
    usize::try_from(processes::open_file_limit() / 2).unwrap_or(usize::MAX)
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

    /// A slot and its directory, which is opened if it was closed; `None` if the process has ended.
    fn open(&mut self, at: u32, proc: &ProcDir) -> io::Result<Option<(&Slot, Arc<ProcDir>)>> {
        let is_closed = |slot: &Slot| matches!(slot.dir, SlotDir::Closed { .. });
        if self.slots.get(&at).is_some_and(is_closed) {
            self.make_room();
            self.opened.push(at);
        }
        let Some(slot) = self.slots.get_mut(&at) else { return Ok(None) };
        if let SlotDir::Closed { started } = slot.dir {
            let dir = found(proc.dir(slot.path()))?;
            let start = dir.as_ref().map(start_of).transpose()?.flatten();
            slot.dir = match dir {
                Some(dir) if start == Some(started) => SlotDir::Open(Arc::new(dir)),
                _ => SlotDir::Ended,
            };
        }
        match &slot.dir {
            SlotDir::Open(dir) => Ok(Some((slot, dir.clone()))),
            SlotDir::Closed { .. } | SlotDir::Ended => Ok(None),
        }
    }

    /// Sees to it that one more directory may be opened.
    fn make_room(&mut self) {
        if self.opened.len() >= open_max() {
            self.close_idle();
        }
    }

    /// Closes the directories that no thread uses at this moment.
    fn close_idle(&mut self) {
        let Self { slots, opened, .. } = self;
        opened.retain(|at| slots.get_mut(at).is_some_and(Slot::stays_open));
    }

    /// Gives up the slots of dead processes, and idle ones.
    fn sweep(&mut self, proc: &ProcDir) {
        self.slots.retain(|_, slot| !slot.is_idle() && (slot.is_held() || slot.lives(proc)));
        let Self { slots, by_place, .. } = self;
        by_place.retain(|_, at| slots.contains_key(at));
        self.full = SLOTS_BEFORE_SWEEP.max(2 * self.slots.len());
    }
}

impl ProcPlace {
    fn number(self) -> u32 {
        match self {
            Self::Root(number) | Self::Task(number) => number,
        }
    }
}

impl Slot {
    /// Whether a thread uses its directory at this moment.
    fn is_held(&self) -> bool {
        matches!(&self.dir, SlotDir::Open(dir) if Arc::strong_count(dir) > 1)
    }

    /// Whether no thread does, and the kernel does not know of it either.
    fn is_idle(&self) -> bool {
        self.lookups == 0 && !self.is_held()
    }

    /// Of one whose directory is closed, the number may be another's by now.
    fn lives(&self, proc: &ProcDir) -> bool {
        match &self.dir {
            SlotDir::Open(dir) => dir.stat("stat").is_ok(),
            SlotDir::Closed { .. } => proc.stat(self.path()).is_ok(),
            SlotDir::Ended => false,
        }
    }

    /// Closes its directory, unless a thread uses it; returns whether it is open still.
    fn stays_open(&mut self) -> bool {
        let is_held = self.is_held();
        let SlotDir::Open(dir) = &self.dir else { return false };
        if is_held {
            return true;
        }
        let Ok(start) = start_of(dir) else { return true };
        self.dir = start.map_or(SlotDir::Ended, |started| SlotDir::Closed { started });
        false
    }

    fn path(&self) -> String {
        match self.place {
            ProcPlace::Root(number) => number.to_string(),
            ProcPlace::Task(tid) => format!("{}/task/{tid}", self.tgid),
        }
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
        assert_eq!(kernel.dir(process.slot).unwrap().unwrap().0, this);
    }

    #[test]
    fn a_slot_stays_while_somebody_deals_with_it() {
        let (kernel, this) = kernel();
        let adopted = kernel.adopt(this).unwrap();
        let slot = adopted.slot;
        assert!(kernel.remember(slot));
        // The kernel forgets it, and the dead are looked for, while its name is being found again.
        kernel.forget(slot, 1);
        kernel.slots().sweep(kernel.proc());
        assert!(kernel.dir(slot).unwrap().is_some() && kernel.remember(slot));
        drop(adopted);
        kernel.slots().sweep(kernel.proc());
        assert!(kernel.dir(slot).unwrap().is_some());
        kernel.forget(slot, 1);
        assert!(kernel.dir(slot).unwrap().is_none() && !kernel.remember(slot));
    }

    #[test]
    fn a_directory_that_was_closed_is_opened_again_for_the_same_process_alone() {
        let (kernel, this) = kernel();
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let adopt = |pid| {
            let process = kernel.adopt(pid).unwrap();
            let thread = kernel.adopt_thread(&process.dir, pid).unwrap();
            assert!(kernel.remember(process.slot) && kernel.remember(thread.slot));
            [process.slot, thread.slot]
        };
        let [ours, theirs] = [this, child.id()].map(adopt);
        let closed = |slot: &u32| matches!(kernel.slots().slots[slot].dir, SlotDir::Closed { .. });
        let held = kernel.dir(ours[0]).unwrap();
        kernel.slots().close_idle();
        assert!(!closed(&ours[0]), "a thread uses it");
        drop(held);
        kernel.slots().close_idle();
        assert!(ours.iter().chain(&theirs).all(closed));
        kernel.slots().sweep(kernel.proc());
        for (pid, slots) in [(this, ours), (child.id(), theirs)] {
            for slot in slots {
                let (number, dir) = kernel.dir(slot).unwrap().unwrap();
                assert_eq!((number, dir.tgid().unwrap()), (pid, pid));
            }
            assert_eq!(kernel.adopt(pid).unwrap().slot, slots[0]);
        }
        // As if the number had come to another.
        for slot in ours {
            kernel.slots().slots.get_mut(&slot).unwrap().dir = SlotDir::Closed { started: 1 };
            assert!(kernel.dir(slot).unwrap().is_none());
        }
        assert_ne!(kernel.adopt(this).unwrap().slot, ours[0]);
        kernel.slots().close_idle();
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(theirs.iter().all(|slot| kernel.dir(*slot).unwrap().is_none()));
    }
}
