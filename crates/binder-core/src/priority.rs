//! Priorities: while it serves a call, a thread runs as its caller does, and not below what the node asks.
//!
//! A front end that wants this says so ([`Context::inheriting`]) and tells of the priorities of threads before they
//! call, and of processes when they open the device; nothing happens to a thread of which it does not tell. The rules
//! are those of docs/spec/priorities.md; those for nice values alone are the same rules, with less to inherit.

use binder_uapi::{
    FLAT_BINDER_FLAG_INHERIT_RT, FLAT_BINDER_FLAG_SCHED_POLICY_MASK,
    FLAT_BINDER_FLAG_SCHED_POLICY_SHIFT,
};

use crate::context::{Caller, Context};
use crate::effect::Effect;
use crate::node::NodeKey;
use crate::process::ProcessKey;
use crate::thread::{Thread, ThreadKey};
use crate::transaction::{TransactionKey, TransactionKind};

/// What a thread that serves a call inherits.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Inheritance {
    /// Nothing.
    #[default]
    Nothing,
    /// Nice values, as in mainline Linux.
    Nice,
    /// Scheduling policies and priorities, as in Android's common kernels.
    Priority,
}

/// How the scheduler chooses among threads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Policy {
    /// `SCHED_NORMAL`, which POSIX calls `SCHED_OTHER`.
    Normal,
    /// `SCHED_BATCH`.
    Batch,
    /// `SCHED_FIFO`.
    Fifo,
    /// `SCHED_RR`.
    RoundRobin,
}

impl Policy {
    /// The policy that has this number in Linux; `None` if its threads are to be left alone.
    #[must_use]
    pub const fn from_number(number: u32) -> Option<Self> {
        match number {
            0 => Some(Self::Normal),
            1 => Some(Self::Fifo),
            2 => Some(Self::RoundRobin),
            3 => Some(Self::Batch),
            _ => None,
        }
    }

    /// Its number in Linux.
    #[must_use]
    pub const fn number(self) -> u32 {
        match self {
            Self::Normal => 0,
            Self::Fifo => 1,
            Self::RoundRobin => 2,
            Self::Batch => 3,
        }
    }

    /// Whether it is for real-time threads, which all others let run.
    fn is_realtime(self) -> bool {
        match self {
            Self::Normal | Self::Batch => false,
            Self::Fifo | Self::RoundRobin => true,
        }
    }
}

/// How readily a thread gets a processor.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Priority {
    /// Its policy.
    pub policy: Policy,
    /// Its priority, 1 to 99 (the highest), under a real-time policy; else its nice value, 19 to -20 (the highest).
    pub level: i8,
    /// Whether the threads that it starts are ordinary ones (`SCHED_RESET_ON_FORK`).
    pub resets_on_fork: bool,
}

impl Priority {
    /// That of an ordinary thread with nice value 0.
    pub const ORDINARY: Self = Self::nice(0);

    /// That of an ordinary thread with this nice value.
    #[must_use]
    pub const fn nice(nice: i8) -> Self {
        Self { policy: Policy::Normal, level: nice, resets_on_fork: false }
    }

    /// Orders priorities: of two threads the one with the higher rank runs.
    fn rank(self) -> i16 {
        let level = i16::from(self.level);
        if self.policy.is_realtime() { 100 + level } else { -level }
    }

    /// Whether a node that asks for this has to get it where `other` would be inherited. At the same priority a
    /// thread under `SCHED_FIFO` runs longer than one under `SCHED_RR`.
    fn outranks(self, other: Self) -> bool {
        let (own, others) = (self.rank(), other.rank());
        own > others || (own == others && self.policy == Policy::Fifo)
    }

    fn is_same_as(self, other: Self) -> bool {
        (self.policy, self.level) == (other.policy, other.level)
    }
}

/// Why a thread gets another priority.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PriorityChange {
    /// It begins to serve: it gets what its process may have.
    Inherit,
    /// It has served: it gets what it, or its process, had before.
    Restore,
}

/// The scheduling that a node asks of the threads that serve it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct NodeScheduling {
    /// The least priority, if it asks for one that there is.
    least: Option<Priority>,
    /// Whether a real-time caller is served by a real-time thread.
    inherits_realtime: bool,
}

impl NodeScheduling {
    /// Reads the flags of an object.
    pub(crate) fn of(flags: u32, inheritance: Inheritance) -> Self {
        let [byte, ..] = flags.to_le_bytes();
        let number = match inheritance {
            // Mainline Linux has no other, and no sign: beyond 19 the byte asks for nothing.
            Inheritance::Nothing | Inheritance::Nice => 0,
            Inheritance::Priority => {
                (flags & FLAT_BINDER_FLAG_SCHED_POLICY_MASK) >> FLAT_BINDER_FLAG_SCHED_POLICY_SHIFT
            }
        };
        // Two bits hold no other number.
        let policy = Policy::from_number(number).unwrap_or(Policy::Normal);
        let levels = match (policy.is_realtime(), inheritance) {
            (true, _) => 1..=99,
            (false, Inheritance::Priority) => -20..=19,
            (false, Inheritance::Nothing | Inheritance::Nice) => 0..=19,
        };
        let level = i8::from_le_bytes([byte]);
        let least = Priority { policy, level, resets_on_fork: false };
        Self {
            least: levels.contains(&level).then_some(least),
            inherits_realtime: flags & FLAT_BINDER_FLAG_INHERIT_RT != 0,
        }
    }

    /// What a thread gets that serves a call which would have it run at `sent`.
    fn of_thread(self, sent: Priority) -> Priority {
        let is_kept = self.inherits_realtime || !sent.policy.is_realtime();
        let inherited = if is_kept { sent } else { Priority::ORDINARY };
        self.least.filter(|least| least.outranks(inherited)).unwrap_or(inherited)
    }
}

impl Context {
    /// The same, whose threads inherit this.
    #[must_use]
    pub fn inheriting(self, inheritance: Inheritance) -> Self {
        Self { inheritance, ..self }
    }

    /// Notes the priority that the process has by itself.
    pub fn note_default_priority(&mut self, process: ProcessKey, priority: Priority) {
        if let Some(process) = self.processes.get_mut(process) {
            process.default_priority = Some(priority);
        }
    }

    /// Notes the priority of the calling thread as it begins a call; `None` for a thread that is to be left alone.
    pub fn note_priority(&mut self, caller: &Caller, priority: Option<Priority>) {
        let thread = self.enter(caller);
        self.threads[thread].priority = priority;
    }

    /// A thread takes a transaction to `node`, and its priority with it. A one-way brings none of its own: it is
    /// served as the thread's process runs by itself.
    pub(crate) fn inherit_priority(
        &mut self,
        thread: ThreadKey,
        transaction: TransactionKey,
        node: NodeKey,
    ) {
        let Thread { process, priority: own, .. } = self.threads[thread];
        let default = self.processes[process].default_priority;
        let state = &mut self.transactions[transaction];
        state.replaced_priority = own;
        let sent = match state.kind {
            TransactionKind::Oneway => default,
            TransactionKind::Call | TransactionKind::Reply => state.priority.or(default),
        };
        let (Some(own), Some(sent)) = (own, sent) else { return };
        let inherited = self.nodes[node].scheduling.of_thread(sent);
        let resets_on_fork = own.resets_on_fork || inherited.policy.is_realtime();
        let inherited = Priority { resets_on_fork, ..inherited };
        self.set_priority(thread, inherited, PriorityChange::Inherit);
    }

    /// The thread answers, or gives up, a call: it runs as before.
    pub(crate) fn restore_priority(&mut self, thread: ThreadKey, call: TransactionKey) {
        if let Some(priority) = self.transactions[call].replaced_priority {
            self.set_priority(thread, priority, PriorityChange::Restore);
        }
    }

    /// The thread is free for whatever comes: it runs as its process does.
    pub(crate) fn reset_priority(&mut self, thread: ThreadKey) {
        let state = &self.threads[thread];
        if let (Some(_), Some(priority)) =
            (state.priority, self.processes[state.process].default_priority)
        {
            self.set_priority(thread, priority, PriorityChange::Restore);
        }
    }

    fn set_priority(&mut self, thread: ThreadKey, priority: Priority, change: PriorityChange) {
        let state = &mut self.threads[thread];
        if state.priority.is_none_or(|own| !own.is_same_as(priority)) {
            state.priority = Some(priority);
            let (process, tid) = (state.process, state.tid);
            let pid = self.processes[process].opener.pid.number();
            self.effects.push_back(Effect::SetPriority { pid, tid, priority, change });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn fifo(level: i8) -> Priority {
        Priority { policy: Policy::Fifo, level, resets_on_fork: false }
    }

    const fn round_robin(level: i8) -> Priority {
        Priority { policy: Policy::RoundRobin, level, resets_on_fork: false }
    }

    const fn batch(nice: i8) -> Priority {
        Priority { policy: Policy::Batch, level: nice, resets_on_fork: false }
    }

    fn least(flags: u32, inheritance: Inheritance) -> Option<Priority> {
        NodeScheduling::of(flags, inheritance).least
    }

    #[test]
    fn a_node_asks_for_a_nice_value_by_the_low_bits_of_its_flags() {
        let nice = |flags| least(flags, Inheritance::Nice);
        assert_eq!(nice(0x110), Some(Priority::nice(16)));
        assert_eq!(nice(0x100), Some(Priority::nice(0)));
        assert_eq!(nice(20), None);
        assert_eq!(nice(0xff), None);
        // The policy and the sign mean nothing there.
        assert_eq!(nice(0x203), Some(Priority::nice(3)));
        assert_eq!(nice(0xf6), None);
    }

    #[test]
    fn a_node_asks_for_a_policy_and_a_priority_by_its_flags() {
        let asked = |flags| least(flags, Inheritance::Priority);
        assert_eq!(asked(0x113), Some(Priority::nice(19)));
        assert_eq!(asked(0x1f6), Some(Priority::nice(-10)));
        assert_eq!(asked(0x203), Some(fifo(3)));
        assert_eq!(asked(0xc63), Some(round_robin(99)));
        assert_eq!(asked(0x605), Some(batch(5)));
    }

    #[test]
    fn what_no_thread_can_have_is_not_asked_for() {
        for flags in [0x14, 0xeb, 0x200, 0x264, 0x2ff, 0x400, 0x614] {
            assert_eq!(least(flags, Inheritance::Priority), None, "{flags:#x}");
        }
    }

    #[test]
    fn a_callers_priority_is_inherited_but_a_realtime_one_only_by_a_node_that_wants_it() {
        let (plain, wants) = (0x13, 0x813);
        for (flags, sent, expected) in [
            (plain, Priority::nice(-5), Priority::nice(-5)),
            (plain, batch(7), batch(7)),
            (plain, fifo(5), Priority::ORDINARY),
            (plain, round_robin(99), Priority::ORDINARY),
            (wants, Priority::nice(7), Priority::nice(7)),
            (wants, fifo(5), fifo(5)),
            (wants, round_robin(1), round_robin(1)),
        ] {
            let node = NodeScheduling::of(flags, Inheritance::Priority);
            assert_eq!(node.of_thread(sent), expected, "{flags:#x} {sent:?}");
        }
    }

    #[test]
    fn no_thread_serves_below_what_the_node_asks() {
        let (nice_5, nice_minus_10) = (0x805, 0x8f6);
        let (fifo_3, realtime_fifo_3, realtime_rr_3) = (0x203, 0xa03, 0xc03);
        for (flags, sent, expected) in [
            (nice_5, Priority::nice(10), Priority::nice(5)),
            (nice_5, Priority::nice(2), Priority::nice(2)),
            (nice_5, batch(10), Priority::nice(5)),
            (nice_5, batch(5), batch(5)),
            (nice_minus_10, fifo(1), fifo(1)),
            // A real-time caller counts as an ordinary one here.
            (nice_minus_10 & !0x800, fifo(1), Priority::nice(-10)),
            (fifo_3, Priority::nice(-20), fifo(3)),
            (fifo_3, fifo(5), fifo(3)),
            (realtime_fifo_3, fifo(5), fifo(5)),
            (realtime_fifo_3, fifo(2), fifo(3)),
            (realtime_fifo_3, round_robin(3), fifo(3)),
            (realtime_rr_3, fifo(3), fifo(3)),
        ] {
            let node = NodeScheduling::of(flags, Inheritance::Priority);
            assert_eq!(node.of_thread(sent), expected, "{flags:#x} {sent:?}");
        }
    }
}
