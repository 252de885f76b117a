//! A table of the processes that the kernel shows, so that both are looked at for the same.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io;

use binder_os::ProcDir;
use binder_os::proc_files::split_stat;
use procview::{Facts, ProcessTable, TableError};

/// The ticks that /proc counts time in.
const TICKS_PER_SECOND: u64 = 100;

/// What the kernel tells of a process.
struct Original {
    parent: u32,
    process_group: u32,
    session: u32,
    threads: Vec<u32>,
    facts: Facts,
}

/// Why there is no likeness.
#[derive(Debug, thiserror::Error)]
pub(super) enum LikenessError {
    #[error(transparent)]
    Read(#[from] io::Error),
    #[error(transparent)]
    Table(#[from] TableError),
}

/// Fills `table` with the processes of `proc`: with their tree, names, arguments, environments, users and
/// threads, but numbers of their own, which are returned, parents first.
///
/// They are numbered in the order of their originals, for what `pstree` takes to find the parent of each
/// depends on how long before it that was listed.
pub(super) fn fill(table: &ProcessTable, proc: &ProcDir) -> Result<Vec<u32>, LikenessError> {
    // Who ends meanwhile was not there.
    let mut originals: BTreeMap<u32, Original> = proc
        .numbers(".")?
        .into_iter()
        .filter_map(|pid| Some((pid, Original::read(table, proc, pid)?)))
        .collect();
    let mut children: HashMap<u32, Vec<u32>> = HashMap::new();
    let mut next = BTreeSet::new();
    for (pid, original) in &originals {
        if originals.contains_key(&original.parent) {
            children.entry(original.parent).or_default().push(*pid);
        } else {
            next.insert(*pid);
        }
    }
    let mut numbers: HashMap<u32, u32> = HashMap::new();
    let mut in_order = Vec::new();
    while let Some(pid) = next.pop_first() {
        next.extend(children.remove(&pid).unwrap_or_default());
        let Some(Original { parent, process_group, session, threads, facts }) =
            originals.remove(&pid)
        else {
            continue;
        };
        let of = |pid| numbers.get(&pid).copied();
        let (process_group, session) = (of(process_group), of(session));
        let facts = Facts { parent: of(parent), process_group, session, ..facts };
        let comm = facts.comm.clone();
        let number = table.spawn(table.root(), facts)?.global_nr();
        for _ in threads.iter().filter(|tid| **tid != pid) {
            table.spawn_thread(number, &comm)?;
        }
        numbers.insert(pid, number);
        in_order.push(number);
    }
    Ok(in_order)
}

impl Original {
    fn read(table: &ProcessTable, proc: &ProcDir, pid: u32) -> Option<Self> {
        let file = |name: &str| proc.read(format!("{pid}/{name}"));
        let stat = file("stat").ok()?;
        let (before, behind_name) = split_stat(&stat)?;
        let comm_start = before.iter().position(|byte| *byte == b'(')? + 1;
        let comm = &before[comm_start..before.len() - 1];
        let behind_name = String::from_utf8_lossy(behind_name);
        let fields: Vec<&str> = behind_name.split_ascii_whitespace().collect();
        // By their numbers in proc(5), of which the third is the first behind the name.
        let field = |number: usize| fields.get(number - 3)?.parse::<u64>().ok();
        let number = |at: usize| field(at).and_then(|it| u32::try_from(it).ok()).unwrap_or(0);
        // Not every user may read an environment, and threads of the kernel have none.
        let words = |name: &str| {
            let text = file(name).unwrap_or_default();
            let words = text.strip_suffix(b"\0").unwrap_or(&text).split(|byte| *byte == 0);
            if text.is_empty() { Vec::new() } else { words.map(<[u8]>::to_vec).collect() }
        };
        let owner = proc.stat(pid.to_string()).ok()?;
        let facts = Facts {
            comm: comm.to_vec(),
            argv: words("cmdline"),
            environ: words("environ"),
            exe: proc.read_link(format!("{pid}/exe")).unwrap_or_default(),
            uids: owner.uid.into(),
            gids: owner.gid.into(),
            user_ticks: field(14)?,
            system_ticks: field(15)?,
            start_ticks: field(22)?.min(table.machine().uptime().as_secs() * TICKS_PER_SECOND),
            virtual_bytes: field(23)?,
            resident_pages: field(24)?,
            ..Facts::default()
        };
        let threads = proc.numbers(format!("{pid}/task")).ok()?;
        let (parent, process_group, session) = (number(4), number(5), number(6));
        Some(Self { parent, process_group, session, threads, facts })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use procview::Machine;

    use super::*;

    #[test]
    fn a_table_has_the_processes_that_the_kernel_shows() {
        let proc = ProcDir::open().unwrap();
        let machine = Machine::like_this_one(&proc, Duration::from_secs(1000)).unwrap();
        let table = ProcessTable::new(machine);
        let own = Original::read(&table, &proc, std::process::id()).unwrap();
        assert!(own.threads.contains(&std::process::id()), "{:?}", own.threads);
        let argv: Vec<_> =
            std::env::args_os().map(std::ffi::OsString::into_encoded_bytes).collect();
        assert_eq!(own.facts.argv, argv);
        assert_eq!(own.facts.environ.len(), std::env::vars_os().count());
        let numbers = fill(&table, &proc).unwrap();
        let processes: std::collections::HashSet<u32> = numbers.iter().copied().collect();
        assert_eq!(processes.len(), numbers.len());
        assert!(numbers.iter().all(|number| table.process(*number).is_ok()));
    }
}
