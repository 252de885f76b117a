//! What the files of a process in a table tell, in the kernel's formats, with numbers as a
//! namespace sees them.

use std::fmt::Write;

use pidns::{Pid, PidNamespace};

use crate::files::{Link, NsKind, Text};
use crate::table::Table;
use crate::task::{Facts, Ids, Leader, State, Task};

/// The ticks that /proc counts time in.
pub(crate) const TICKS_PER_SECOND: u64 = 100;

/// Bytes in a page, as /proc counts them.
const PAGE_BYTES: u64 = 4096;

/// A process and who looks at it.
pub(crate) struct Seen<'a> {
    pub(crate) table: &'a Table,
    pub(crate) namespace: &'a PidNamespace<Task>,
    pub(crate) task: &'a Pid<Task>,
}

impl Seen<'_> {
    /// Writes a file, if a record can tell what is in it.
    pub(crate) fn text(&self, text: Text) -> Option<Vec<u8>> {
        let facts = self.task.process().facts();
        Some(match text {
            Text::Stat => self.stat(&facts),
            Text::Status => self.status(&facts),
            Text::Statm => statm(&facts),
            Text::Cmdline if facts.state == State::Zombie => Vec::new(),
            Text::Cmdline => with_nuls(&facts.argv),
            Text::Environ if facts.state == State::Zombie => Vec::new(),
            Text::Environ => with_nuls(&facts.environ),
            Text::Comm => [&facts.comm[..], b"\n"].concat(),
            Text::Cgroup => b"0::/\n".to_vec(),
            _ => return None,
        })
    }

    /// Where a link leads.
    pub(crate) fn link(&self, link: Link) -> Vec<u8> {
        let facts = self.task.process().facts();
        match link {
            Link::Exe => facts.exe.clone(),
            Link::Cwd => facts.cwd.clone(),
            Link::Root => b"/".to_vec(),
        }
    }

    /// The number that names a namespace of the process. But for pids, all share the first ones.
    pub(crate) fn namespace_number(&self, kind: NsKind) -> u32 {
        match kind {
            NsKind::Pid | NsKind::PidForChildren => self.task.process().pid_namespace,
            NsKind::Time | NsKind::TimeForChildren => 4_026_531_834,
            NsKind::Cgroup => 4_026_531_835,
            NsKind::User => 4_026_531_837,
            NsKind::Uts => 4_026_531_838,
            NsKind::Ipc => 4_026_531_839,
            NsKind::Net => 4_026_531_840,
            NsKind::Mnt => 4_026_531_841,
        }
    }

    /// How many threads the process has; a thread tells that of its process.
    fn threads(&self) -> usize {
        let count = |task: &Pid<Task>| task.process().kin().threads.len() + 1;
        match self.task.process().leader {
            Leader::Itself => count(self.task),
            Leader::Other(leader) => self.table.root().get_pid(leader).map_or(1, |it| count(&it)),
        }
    }

    /// The number of somebody that the table knows by `global` in its root; 0 if it is not seen.
    fn nr(&self, global: u32) -> u32 {
        self.table.root().get_pid(global).map_or(0, |pid| pid.nr_ns(self.namespace))
    }

    fn own_nr(&self) -> u32 {
        self.task.nr_ns(self.namespace)
    }

    /// The number of the process that this is, or is a thread of.
    fn tgid(&self) -> u32 {
        match self.task.process().leader {
            Leader::Itself => self.own_nr(),
            Leader::Other(leader) => self.nr(leader),
        }
    }

    fn numbers(&self, facts: &Facts) -> Numbers {
        let of = |leader: Option<u32>| leader.map_or_else(|| self.tgid(), |it| self.nr(it));
        Numbers {
            parent: facts.parent.map_or(0, |parent| self.nr(parent)),
            process_group: of(facts.process_group),
            session: of(facts.session),
        }
    }

    /// As `do_task_stat` of Linux's `fs/proc/array.c`: 52 fields. The name, in parentheses, may
    /// hold anything, so readers look for the last one.
    fn stat(&self, facts: &Facts) -> Vec<u8> {
        let mut line = format!("{} (", self.own_nr()).into_bytes();
        line.extend_from_slice(&facts.comm);
        let Numbers { parent, process_group, session } = self.numbers(facts);
        let (state, _) = facts.state.words();
        let foreground = if facts.tty == 0 { -1 } else { i64::from(process_group) };
        let (tty, priority, nice) = (facts.tty, 20 + facts.nice, facts.nice);
        let (user, system) = (facts.user_ticks, facts.system_ticks);
        let (threads, start) = (self.threads(), facts.start_ticks);
        let (virtual_bytes, resident) = memory(facts);
        let exit_signal = if self.task.process().leader == Leader::Itself { 17 } else { -1 };
        let rest = format!(
            ") {state} {parent} {process_group} {session} {tty} {foreground} 4194304 0 0 0 0 {user} \
             {system} 0 0 {priority} {nice} {threads} 0 {start} {virtual_bytes} {resident} {} \
             0 0 0 0 0 0 0 0 0 0 0 0 {exit_signal} 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n",
            u64::MAX
        );
        line.extend_from_slice(rest.as_bytes());
        line
    }

    /// As `proc_pid_status` there.
    fn status(&self, facts: &Facts) -> Vec<u8> {
        let mut name = b"Name:\t".to_vec();
        for byte in &facts.comm {
            match byte {
                b'\n' => name.extend_from_slice(b"\\n"),
                b'\\' => name.extend_from_slice(b"\\\\"),
                other => name.push(*other),
            }
        }
        let mut text = String::with_capacity(1200);
        let (letter, word) = facts.state.words();
        let Numbers { parent, process_group, session } = self.numbers(facts);
        let _ = write!(
            text,
            "\nUmask:\t0022\nState:\t{letter} ({word})\nTgid:\t{}\nNgid:\t0\nPid:\t{}\n\
             PPid:\t{parent}\nTracerPid:\t0\nUid:\t{}\nGid:\t{}\nFDSize:\t64\nGroups:\t",
            self.tgid(),
            self.own_nr(),
            four(facts.uids),
            four(facts.gids),
        );
        for group in &facts.groups {
            let _ = write!(text, "{group} ");
        }
        text.push_str(if facts.groups.is_empty() { " \n" } else { "\n" });
        // From the namespace that looks to the process's own.
        let level = self.namespace.level() as usize;
        let inner = |numbers: &[u32]| {
            let numbers: Vec<String> =
                numbers.iter().skip(level).map(ToString::to_string).collect();
            numbers.join("\t")
        };
        let own_level = self.task.numbers().len();
        let group_inside = |nr: u32, leader: Option<u32>| match leader {
            None => match self.task.process().leader {
                Leader::Itself => inner(self.task.numbers()),
                Leader::Other(leader) => self.inner_numbers(leader, level, own_level, nr),
            },
            Some(leader) => self.inner_numbers(leader, level, own_level, nr),
        };
        let tgid = match self.task.process().leader {
            Leader::Itself => inner(self.task.numbers()),
            Leader::Other(leader) => self.inner_numbers(leader, level, own_level, self.tgid()),
        };
        let _ = write!(
            text,
            "NStgid:\t{tgid}\nNSpid:\t{}\nNSpgid:\t{}\nNSsid:\t{}\nKthread:\t0\n",
            inner(self.task.numbers()),
            group_inside(process_group, facts.process_group),
            group_inside(session, facts.session),
        );
        if facts.state != State::Zombie {
            let (virtual_bytes, resident) = memory(facts);
            let (size, rss) = (virtual_bytes / 1024, resident * PAGE_BYTES / 1024);
            for (name, kib) in [
                ("VmPeak", size),
                ("VmSize", size),
                ("VmLck", 0),
                ("VmPin", 0),
                ("VmHWM", rss),
                ("VmRSS", rss),
                ("RssAnon", rss),
                ("RssFile", 0),
                ("RssShmem", 0),
                ("VmData", size),
                ("VmStk", 0),
                ("VmExe", 0),
                ("VmLib", 0),
                ("VmPTE", 0),
                ("VmSwap", 0),
            ] {
                let _ = writeln!(text, "{name}:\t{kib:>8} kB");
            }
        }
        let _ = write!(text, "CoreDumping:\t0\nThreads:\t{}\nSigQ:\t0/0\n", self.threads());
        for name in ["SigPnd", "ShdPnd", "SigBlk", "SigIgn", "SigCgt", "CapInh"] {
            let _ = writeln!(text, "{name}:\t0000000000000000");
        }
        let capabilities = if facts.uids.effective == 0 { 0x1ff_ffff_ffff_u64 } else { 0 };
        for name in ["CapPrm", "CapEff"] {
            let _ = writeln!(text, "{name}:\t{capabilities:016x}");
        }
        text.push_str(
            "CapBnd:\t000001ffffffffff\nCapAmb:\t0000000000000000\nNoNewPrivs:\t0\nSeccomp:\t0\n\
             Seccomp_filters:\t0\nCpus_allowed:\t1\nCpus_allowed_list:\t0\nMems_allowed:\t1\n\
             Mems_allowed_list:\t0\nvoluntary_ctxt_switches:\t0\nnonvoluntary_ctxt_switches:\t0\n",
        );
        name.extend_from_slice(text.as_bytes());
        name
    }

    /// Numbers of somebody else, from the namespace that looks down to that of the process.
    fn inner_numbers(&self, global: u32, level: usize, own_levels: usize, seen: u32) -> String {
        let Some(pid) = self.table.root().get_pid(global) else { return seen.to_string() };
        let numbers = (level..own_levels).map(|it| pid.numbers().get(it).copied().unwrap_or(0));
        numbers.map(|nr| nr.to_string()).collect::<Vec<_>>().join("\t")
    }
}

struct Numbers {
    parent: u32,
    process_group: u32,
    session: u32,
}

fn memory(facts: &Facts) -> (u64, u64) {
    match facts.state {
        State::Zombie => (0, 0),
        State::Running | State::Sleeping | State::Waiting | State::Stopped => {
            (facts.virtual_bytes, facts.resident_pages)
        }
    }
}

fn statm(facts: &Facts) -> Vec<u8> {
    let (virtual_bytes, resident) = memory(facts);
    let size = virtual_bytes / PAGE_BYTES;
    format!("{size} {resident} 0 0 0 {size} 0\n").into_bytes()
}

fn four(ids: Ids) -> String {
    format!("{}\t{}\t{}\t{}", ids.real, ids.effective, ids.saved, ids.filesystem)
}

fn with_nuls(words: &[Vec<u8>]) -> Vec<u8> {
    let mut text = Vec::with_capacity(words.iter().map(|word| word.len() + 1).sum());
    for word in words {
        text.extend_from_slice(word);
        text.push(0);
    }
    text
}

#[cfg(test)]
mod tests;
