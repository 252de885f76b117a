//! The processes of the machine as they were listed last, and who of them belongs to the view.

use std::collections::HashMap;
use std::io;
use std::sync::{Arc, MutexGuard};
use std::time::{Duration, Instant};

use super::{Kernel, Members, parent_in};
use crate::errno::found;

/// A process in a listing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ListedProcess {
    pub(crate) pid: u32,
    /// By which the kernel's /proc tells it from others that have had the number; 0 if that was not asked.
    pub(crate) inode: u64,
}

/// How a view shows a process to a reader.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Showing {
    /// Not at all.
    Nothing,
    /// In words of the view's: the kernel names a parent that is not shown.
    Told,
    /// As the kernel does.
    Passed,
}

/// The listings that are remembered.
#[derive(Default)]
pub(super) struct ProcessLists {
    /// By number: the inode of a process that was listed, and whether it belongs, which cannot change.
    known: HashMap<u32, (u64, bool)>,
    last: Option<LastList>,
}

struct LastList {
    at: Instant,
    population: Population,
    processes: Arc<Vec<ListedProcess>>,
}

/// What changes whenever a process comes, or goes: the number that was given last, and how many threads
/// there are. In an inner pid namespace an end may be outweighed by a birth outside of it, and anywhere by one
/// that was under way: a process has its number a moment before it is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Population {
    last_number: u32,
    threads: u32,
}

impl Population {
    /// Takes it from the text of `loadavg`: `0.00 0.01 0.05 1/123 4567`.
    fn parse(loadavg: &[u8]) -> Option<Self> {
        let mut words = std::str::from_utf8(loadavg).ok()?.split_ascii_whitespace().skip(3);
        let (_, threads) = words.next()?.split_once('/')?;
        let threads = threads.parse().ok()?;
        Some(Self { last_number: words.next()?.parse().ok()?, threads })
    }
}

impl ProcessLists {
    fn belongs(&self, listed: ListedProcess) -> Option<bool> {
        let (inode, belongs) = self.known.get(&listed.pid)?;
        (*inode == listed.inode).then_some(*belongs)
    }
}

impl Kernel {
    /// All processes that `reader` sees, in order. With an `age` it may be a list that was made that long
    /// ago, if no process has come or gone since.
    pub(crate) fn list(
        &self,
        reader: Option<u32>,
        age: Duration,
    ) -> io::Result<Arc<Vec<ListedProcess>>> {
        let list = match &self.members {
            Members::None => Arc::default(),
            Members::All | Members::Below(_) => self.list_again(age)?,
            Members::Told(membership) => {
                let mut processes = Vec::new();
                for pid in found(membership.list())?.unwrap_or_default() {
                    if self.tgid_of(pid)? == Some(pid) {
                        processes.push(ListedProcess { pid, inode: 0 });
                    }
                }
                processes.sort_unstable_by_key(|it| it.pid);
                processes.dedup();
                Arc::new(processes)
            }
        };
        let Some(reader) = reader else { return Ok(list) };
        match list.binary_search_by_key(&reader, |it| it.pid) {
            Ok(_) => Ok(list),
            Err(at) => {
                let mut list = list.to_vec();
                list.insert(at, ListedProcess { pid: reader, inode: 0 });
                Ok(Arc::new(list))
            }
        }
    }

    fn list_again(&self, age: Duration) -> io::Result<Arc<Vec<ListedProcess>>> {
        // Others that list meanwhile wait, and have the same list.
        let mut lists = self.lists();
        // Before the list, so that who comes meanwhile makes it an old one.
        let population = match age {
            Duration::ZERO => None,
            _ => self.proc.read("loadavg").ok().and_then(|text| Population::parse(&text)),
        };
        if let Some(last) = &lists.last
            && Some(last.population) == population
            && last.at.elapsed() < age
        {
            return Ok(last.processes.clone());
        }
        let at = Instant::now();
        let all =
            self.proc.numbered()?.into_iter().map(|(pid, inode)| ListedProcess { pid, inode });
        let processes = Arc::new(match self.members {
            Members::Below(ancestor) => self.below(ancestor, all.collect(), &mut lists)?,
            Members::None | Members::All | Members::Told(_) => all.collect(),
        });
        lists.last =
            population.map(|population| LastList { at, population, processes: processes.clone() });
        Ok(processes)
    }

    /// Those of `all` that are below a process. Each is asked for its parent once in its life.
    fn below(
        &self,
        ancestor: u32,
        all: Vec<ListedProcess>,
        lists: &mut ProcessLists,
    ) -> io::Result<Vec<ListedProcess>> {
        let mut parents = HashMap::new();
        lists.known =
            all.iter().filter_map(|it| Some((it.pid, (it.inode, lists.belongs(*it)?)))).collect();
        for ListedProcess { pid, .. } in all.iter().filter(|it| !lists.known.contains_key(&it.pid))
        {
            let stat = found(self.proc.read(format!("{pid}/stat")))?;
            if let Some(parent) = stat.and_then(|stat| parent_in(&stat)) {
                parents.insert(*pid, parent);
            }
        }
        let is_below = |pid: u32| {
            let mut at = pid;
            // The bound is for a line that changed meanwhile.
            for _ in 0..=parents.len() {
                match (lists.known.get(&at), parents.get(&at)) {
                    _ if at == ancestor => return Ok(true),
                    (Some((_, belongs)), _) => return Ok(*belongs),
                    (None, Some(0)) => return Ok(false),
                    (None, Some(parent)) => at = *parent,
                    (None, None) => break,
                }
            }
            Ok::<_, io::Error>(at != pid && self.is_below(pid, ancestor)?)
        };
        let mut below = Vec::new();
        let mut learned = Vec::with_capacity(parents.len());
        for it in all {
            let belongs = is_below(it.pid)?;
            if belongs {
                below.push(it);
            }
            if parents.contains_key(&it.pid) {
                learned.push((it.pid, (it.inode, belongs)));
            }
        }
        lists.known.extend(learned);
        Ok(below)
    }

    /// How process or thread `number` is shown to process `reader`; the kernel has an inode for it.
    pub(crate) fn showing(
        &self,
        number: ListedProcess,
        reader: impl FnOnce() -> io::Result<Option<u32>>,
    ) -> io::Result<Showing> {
        let ancestor = match &self.members {
            Members::All => return Ok(Showing::Passed),
            Members::Below(ancestor) => *ancestor,
            Members::None | Members::Told(_) => {
                let is_shown = self.shows(number.pid, reader()?)?;
                return Ok(if is_shown { Showing::Told } else { Showing::Nothing });
            }
        };
        if number.pid == ancestor {
            return Ok(Showing::Told);
        }
        let known = self.lists().belongs(number);
        match known {
            Some(true) => Ok(Showing::Passed),
            Some(false) | None => {
                let Some(tgid) = self.tgid_of(number.pid)? else { return Ok(Showing::Nothing) };
                Ok(match (self.is_below(tgid, ancestor)?, tgid == ancestor) {
                    (true, false) => Showing::Passed,
                    (true, true) => Showing::Told,
                    (false, _) if reader()? == Some(tgid) => Showing::Told,
                    (false, _) => Showing::Nothing,
                })
            }
        }
    }

    fn lists(&self) -> MutexGuard<'_, ProcessLists> {
        self.lists.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

#[cfg(test)]
mod tests {
    use binder_os::ProcDir;

    use super::*;

    #[test]
    fn a_population_is_read_from_the_load() {
        let read = |text: &[u8]| Population::parse(text);
        let population = Population { last_number: 4567, threads: 123 };
        assert_eq!(read(b"0.00 0.01 0.05 1/123 4567\n"), Some(population));
        for wrong in [&b""[..], b"0.00 0.01 0.05\n", b"0 0 0 123 4567\n", b"0 0 0 1/x 4567\n"] {
            assert_eq!(read(wrong), None);
        }
    }

    /// Whether all threads of the machine are counted with those that we see, by the namespace's fixed number.
    fn in_outermost() -> bool {
        let proc = ProcDir::open().unwrap();
        proc.stat_behind("self/ns/pid").unwrap().inode == 0xefff_fffc
    }

    #[test]
    fn a_list_has_who_was_started_before_however_old_it_may_be() {
        let this = std::process::id();
        let kernel = Kernel::new(ProcDir::open().unwrap(), Members::Below(this));
        let has = |pid: u32| {
            let list = kernel.list(None, Duration::from_secs(3600)).unwrap();
            list.binary_search_by_key(&pid, |it| it.pid).is_ok()
        };
        const ROUNDS: usize = 20;
        let mut unlisted = 0;
        for _ in 0..ROUNDS {
            let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
            assert!(has(child.id()));
            child.kill().unwrap();
            child.wait().unwrap();
            unlisted += usize::from(!has(child.id()));
        }
        // Elsewhere only the age bounds it; and now and then another process's birth outweighs the end.
        assert!(!in_outermost() || unlisted > ROUNDS / 2, "{unlisted}");
        assert!(has(this) && !has(1));
    }

    #[test]
    fn who_belongs_is_shown_as_the_kernel_does_and_the_first_of_them_otherwise() {
        let this = std::process::id();
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let proc = ProcDir::open().unwrap();
        let kernel = Kernel::new(ProcDir::open().unwrap(), Members::Below(this));
        let showing = |pid: u32| {
            let inode = proc.stat(pid.to_string()).map_or(0, |stat| stat.inode);
            kernel.showing(ListedProcess { pid, inode }, || Ok(Some(this))).unwrap()
        };
        let expected = [Showing::Told, Showing::Passed, Showing::Nothing];
        assert_eq!([this, child.id(), 1].map(showing), expected);
        kernel.list(None, Duration::ZERO).unwrap();
        assert_eq!([this, child.id(), 1].map(showing), expected);
        // A number that has gone to another is asked for anew.
        kernel.lists().known.insert(1, (0, true));
        assert_eq!(showing(1), Showing::Nothing);
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(showing(child.id()), Showing::Nothing);
    }
}
