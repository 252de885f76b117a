//! What the files of a process in a table tell, in the kernel's formats, with numbers as a
//! namespace sees them.

use std::fmt::Write;
use std::sync::Arc;

use pidns::{Pid, PidNamespace};

use crate::files::{FileLink, NsKind, Text};
use crate::table::ProcessTable;
use crate::task::{Facts, Leader, LedBy, State, Task, TaskIds};

/// The ticks that /proc counts time in.
pub(crate) const TICKS_PER_SECOND: u64 = 100;

/// Bytes in a page, as /proc and its readers count them.
pub(crate) fn page_bytes() -> u64 {
    binder_os::page_bytes() as u64
}

/// A process and its reader.
pub(crate) struct TaskView<'a> {
    pub(crate) table: &'a ProcessTable,
    pub(crate) namespace: &'a PidNamespace<Task>,
    pub(crate) task: &'a Pid<Task>,
}

impl TaskView<'_> {
    /// Writes a file, if its content follows from a record.
    pub(crate) fn text(&self, text: Text) -> Option<Vec<u8>> {
        let facts = self.task.process().facts();
        Some(match text {
            Text::Stat => self.stat(&facts),
            Text::Status => self.status(&facts),
            Text::Statm => statm(&facts),
            Text::Cmdline => with_nuls(&facts.argv),
            Text::Environ => with_nuls(&facts.environ),
            Text::Comm => [&facts.comm[..], b"\n"].concat(),
            Text::Cgroup => b"0::/\n".to_vec(),
            _ => return None,
        })
    }

    /// Where a link leads; nowhere once the process has ended.
    pub(crate) fn link(&self, link: FileLink) -> Option<Vec<u8>> {
        let facts = self.task.process().facts();
        match link {
            _ if facts.state == State::Zombie => None,
            FileLink::Exe => Some(facts.exe.clone()),
            FileLink::Cwd => Some(facts.cwd.clone()),
            FileLink::Root => Some(b"/".to_vec()),
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

    /// The process that this is a thread of; `None` if it is one itself.
    fn leader(&self) -> Option<Arc<Pid<Task>>> {
        match self.task.process().leader {
            Leader::Itself => None,
            Leader::Other(leader) => self.table.root().get_pid(leader),
        }
    }

    /// How many threads the process has; a thread tells that of its process.
    fn threads(&self) -> usize {
        let leader = self.leader();
        leader.as_deref().unwrap_or(self.task).process().relatives().threads.len() + 1
    }

    /// The number of the process that the table knows by `global` in its root; 0 if it is not seen.
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

    fn numbers(&self, facts: &Facts) -> TaskNumbers {
        let of = |leader: &Option<Arc<Pid<Task>>>| {
            leader.as_ref().map_or_else(|| self.tgid(), |it| it.nr_ns(self.namespace))
        };
        let LedBy { process_group, session } = &self.task.process().led_by;
        TaskNumbers {
            parent: facts.parent.map_or(0, |parent| self.nr(parent)),
            process_group: of(process_group),
            session: of(session),
        }
    }

    /// As `do_task_stat` of Linux's `fs/proc/array.c`: 52 fields. The name, in parentheses, may
    /// hold anything, so readers look for the last one.
    fn stat(&self, facts: &Facts) -> Vec<u8> {
        let mut line = format!("{} (", self.own_nr()).into_bytes();
        line.extend_from_slice(&facts.comm);
        let TaskNumbers { parent, process_group, session } = self.numbers(facts);
        let (state, _) = facts.state.words();
        let foreground = if facts.tty == 0 { -1 } else { i64::from(process_group) };
        let (tty, priority, nice) = (facts.tty, 20 + facts.nice, facts.nice);
        let (user, system) = (facts.user_ticks, facts.system_ticks);
        let (threads, start) = (self.threads(), facts.start_ticks);
        let (virtual_bytes, resident) = (facts.virtual_bytes, facts.resident_pages);
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
        let TaskNumbers { parent, .. } = self.numbers(facts);
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
        let LedBy { process_group, session } = &self.task.process().led_by;
        let leader = self.leader();
        let process = leader.as_deref().unwrap_or(self.task);
        let of = |leader: &Option<Arc<Pid<Task>>>| {
            self.numbers_inside(leader.as_deref().unwrap_or(process))
        };
        let _ = write!(
            text,
            "NStgid:\t{}\nNSpid:\t{}\nNSpgid:\t{}\nNSsid:\t{}\nKthread:\t0\n",
            self.numbers_inside(process),
            self.numbers_inside(self.task),
            of(process_group),
            of(session),
        );
        if facts.state != State::Zombie {
            let (size, rss) =
                (facts.virtual_bytes / 1024, facts.resident_pages * page_bytes() / 1024);
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

    /// The numbers of a process, from the viewing namespace down to that of this task.
    fn numbers_inside(&self, process: &Pid<Task>) -> String {
        let levels = self.namespace.level() as usize..self.task.numbers().len();
        let numbers = levels.map(|it| process.numbers().get(it).copied().unwrap_or(0));
        numbers.map(|nr| nr.to_string()).collect::<Vec<_>>().join("\t")
    }
}

struct TaskNumbers {
    parent: u32,
    process_group: u32,
    session: u32,
}

fn statm(facts: &Facts) -> Vec<u8> {
    let (size, resident) = (facts.virtual_bytes / page_bytes(), facts.resident_pages);
    format!("{size} {resident} 0 0 0 {size} 0\n").into_bytes()
}

fn four(ids: TaskIds) -> String {
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
