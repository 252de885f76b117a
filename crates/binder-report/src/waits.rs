//! The graph of waits, made of the records of calls and threads: deadlocks, and processes without an idle thread.
//!
//! A thread waits for its innermost call. A served call waits for the thread that serves it; a queued call waits for any
//! thread of its receiver, and so is stuck only if all of them are. Records are not of one moment, so a thread counts as
//! stuck only if the records show what it waits for: a deadlock that is found is real, and one that involves more than
//! Binder is not found.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;

use crate::records::{CallKind, CallRecord, Stage, StateRecord};

/// Looper bits of a thread that takes calls of its process: registered or entered.
const LOOPER_TAKES_CALLS: u8 = 0x1 | 0x2;
/// It waits for them.
const LOOPER_WAITING: u8 = 0x10;

/// A thread, by the numbers of its process and its own.
pub type WaitingThread = (u32, u32);

/// An open device of a process: the device and the process.
type Pool<'a> = (&'a str, u32);

/// The threads that wait, and the calls that they wait for.
#[derive(Clone, Debug)]
pub struct WaitGraph<'a> {
    /// The innermost call of each thread that waits for one.
    waits: BTreeMap<WaitingThread, &'a CallRecord>,
    calls: &'a [CallRecord],
    /// The threads of each process that the driver knows, and whether each is idle, or else takes calls.
    threads: BTreeMap<Pool<'a>, Vec<(u32, ThreadUse)>>,
}

/// Whether a thread can take calls to its process.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum ThreadUse {
    /// It waits for calls.
    Idle,
    /// It takes calls, and is busy.
    Looper,
    /// It may never take any.
    Other,
}

/// A process without a thread that could take a call that waits.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ExhaustedPool<'a> {
    /// The device.
    pub device: &'a str,
    /// The process.
    pub pid: u32,
    /// How many of its threads take calls.
    pub loopers: usize,
    /// Calls and one-ways that wait for one of them, the oldest first.
    pub queued: Vec<&'a CallRecord>,
    /// Calls that its threads serve, the oldest first.
    pub served: Vec<&'a CallRecord>,
}

impl<'a> WaitGraph<'a> {
    /// Puts the graph together.
    pub fn new(calls: &'a [CallRecord], state: &'a [StateRecord]) -> Self {
        let mut waits: BTreeMap<WaitingThread, &CallRecord> = BTreeMap::new();
        for call in calls.iter().filter(|call| call.kind == CallKind::Call) {
            let innermost = waits.entry((call.from_pid, call.from_tid)).or_insert(call);
            // Of the calls that a thread has made, the last is innermost; numbers begin anew at their end.
            if call.id.wrapping_sub(innermost.id) < u32::MAX / 2 {
                *innermost = call;
            }
        }
        let mut threads: BTreeMap<Pool<'_>, Vec<_>> = BTreeMap::new();
        for record in state {
            if let StateRecord::Thread { device, pid, tid, looper, .. } = record {
                let thread = match (looper & LOOPER_WAITING, looper & LOOPER_TAKES_CALLS) {
                    (0, 0) => ThreadUse::Other,
                    (0, _) => ThreadUse::Looper,
                    (_, 0) => ThreadUse::Other,
                    (_, _) => ThreadUse::Idle,
                };
                threads.entry((device.as_str(), *pid)).or_default().push((*tid, thread));
            }
        }
        Self { waits, calls, threads }
    }

    /// The threads of the process that a call was sent to.
    fn pool<'s>(&'s self, call: &'s CallRecord) -> &'s [(u32, ThreadUse)] {
        self.threads.get(&(call.device.as_str(), call.to_pid)).map_or(&[], Vec::as_slice)
    }

    /// The threads that wait for calls, each with its innermost, that one of them would have to answer.
    fn stuck(&self) -> BTreeMap<WaitingThread, &'a CallRecord> {
        let mut stuck = self.waits.clone();
        loop {
            let frees: Vec<_> = stuck
                .iter()
                .filter(|(_, call)| !self.is_stuck(call, &stuck))
                .map(|(it, _)| *it)
                .collect();
            if frees.is_empty() {
                return stuck;
            }
            for thread in frees {
                stuck.remove(&thread);
            }
        }
    }

    /// Whether a call cannot end while the `stuck` threads wait.
    fn is_stuck(&self, call: &CallRecord, stuck: &BTreeMap<WaitingThread, &CallRecord>) -> bool {
        let is_thread_stuck = |tid: u32| stuck.contains_key(&(call.to_pid, tid));
        match call.stage {
            Stage::Served => is_thread_stuck(call.to_tid),
            Stage::Queued if call.to_tid == 0 => {
                let pool = self.pool(call);
                !pool.is_empty() && pool.iter().all(|(tid, _)| is_thread_stuck(*tid))
            }
            // The call is for one thread, which waits in a read and takes it.
            Stage::Queued | Stage::InLine | Stage::Abandoned => false,
        }
    }

    /// Circles of calls none of which can end, each from its first caller on. A thread is in one of them at most.
    pub fn deadlocks(&self) -> Vec<Vec<&'a CallRecord>> {
        let stuck = self.stuck();
        let mut cycles = Vec::new();
        let mut visited = BTreeSet::new();
        for start in stuck.keys() {
            let (mut path, mut next) = (Vec::new(), Some(*start));
            while let Some(thread) = next.filter(|thread| visited.insert(*thread)) {
                path.push(thread);
                next = self.blocker(stuck[&thread], &stuck);
            }
            if let Some(at) = path.iter().position(|thread| Some(*thread) == next) {
                cycles.push(path[at..].iter().map(|thread| stuck[thread]).collect());
            }
        }
        cycles
    }

    /// A stuck thread that a stuck call waits for.
    fn blocker(
        &self,
        call: &CallRecord,
        stuck: &BTreeMap<WaitingThread, &CallRecord>,
    ) -> Option<WaitingThread> {
        let tid = match call.stage {
            Stage::Served => Some(call.to_tid),
            Stage::Queued | Stage::InLine | Stage::Abandoned => {
                self.pool(call).first().map(|(tid, _)| *tid)
            }
        };
        tid.map(|tid| (call.to_pid, tid)).filter(|thread| stuck.contains_key(thread))
    }

    /// Processes with queued work for any of their threads, and without an idle one.
    pub fn exhausted(&self) -> Vec<ExhaustedPool<'a>> {
        let mut queued: BTreeMap<Pool<'a>, Vec<&'a CallRecord>> = BTreeMap::new();
        for call in self.calls {
            let is_for_any = call.stage == Stage::Queued && call.to_tid == 0;
            if is_for_any && call.kind != CallKind::Reply && call.to_pid != 0 {
                queued.entry((call.device.as_str(), call.to_pid)).or_default().push(call);
            }
        }
        let mut exhausted = Vec::new();
        for ((device, pid), mut queued) in queued {
            let pool = self.threads.get(&(device, pid)).map_or(&[][..], Vec::as_slice);
            if pool.iter().any(|(_, thread)| *thread == ThreadUse::Idle) {
                continue;
            }
            let is_here = |call: &&CallRecord| {
                call.stage == Stage::Served && call.to_pid == pid && call.device == device
            };
            let mut served: Vec<_> = self.calls.iter().filter(is_here).collect();
            for calls in [&mut queued, &mut served] {
                calls.sort_by_key(|call| core::cmp::Reverse(call.elapsed_ms));
            }
            let loopers = pool.iter().filter(|(_, thread)| *thread == ThreadUse::Looper).count();
            exhausted.push(ExhaustedPool { device, pid, loopers, queued, served });
        }
        exhausted
    }

    /// Chains of waits, the oldest first: each begins with a wait of a thread that no thread waits for, and goes on with what
    /// that waits for in turn.
    pub fn chains(&self) -> Vec<Vec<&'a CallRecord>> {
        let awaited: BTreeSet<WaitingThread> =
            self.waits.values().map(|it| (it.to_pid, it.to_tid)).collect();
        let starts = self.waits.keys().filter(|thread| !awaited.contains(thread));
        let follow = |start: &WaitingThread| {
            let (mut chain, mut next) = (Vec::new(), self.waits.get(start));
            // No chain is longer than all waits: one that ends in a circle ends there.
            while let Some(call) = next.filter(|_| chain.len() < self.waits.len()) {
                chain.push(*call);
                let server = (call.to_pid, call.to_tid);
                next = self.waits.get(&server).filter(|_| call.stage == Stage::Served);
            }
            chain
        };
        let mut chains: Vec<Vec<&CallRecord>> = starts.map(follow).collect();
        chains.sort_by_key(|chain| core::cmp::Reverse(chain.first().map(|call| call.elapsed_ms)));
        chains
    }

    /// The graph in the language of Graphviz: an arrow for each call under way, red in a deadlock.
    pub fn to_dot(&self, name_of: impl Fn(u32) -> String) -> String {
        let in_cycles: BTreeSet<u32> =
            self.deadlocks().iter().flatten().map(|call| call.id).collect();
        let mut text = crate::TextLines::default();
        text.line(format_args!("digraph binder {{"));
        text.line(format_args!("  node [shape=box];"));
        let processes: BTreeSet<u32> =
            self.calls.iter().flat_map(|call| [call.from_pid, call.to_pid]).collect();
        for pid in processes {
            let label = if pid == 0 { String::from("nobody") } else { name_of(pid) };
            text.line(format_args!("  {pid} [label=\"{}\\n{pid}\"];", escaped(&label)));
        }
        for call in self.calls {
            let CallRecord { id, from_pid, to_pid, code, elapsed_ms, .. } = call;
            let interface = call.interface.as_deref().unwrap_or_default();
            let style = match (call.kind, in_cycles.contains(id)) {
                (_, true) => " color=red fontcolor=red",
                (CallKind::Call, false) => "",
                (CallKind::Oneway | CallKind::Reply, false) => " style=dashed",
            };
            let interface = escaped(interface);
            text.line(format_args!(
                "  {from_pid} -> {to_pid} [label=\"{interface} code {code}\\n{elapsed_ms} ms\"{style}];"
            ));
        }
        text.line(format_args!("}}"));
        text.0
    }
}

/// Text within the quotes of Graphviz.
fn escaped(text: &str) -> String {
    let plain = text.chars().filter(|char| !char.is_control());
    plain
        .flat_map(|char| ['"', '\\'].contains(&char).then_some('\\').into_iter().chain([char]))
        .collect()
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;
    use crate::Door;

    fn call(id: u32, from: WaitingThread, to: WaitingThread, stage: Stage) -> CallRecord {
        CallRecord {
            id,
            device: "binder".into(),
            kind: CallKind::Call,
            stage,
            from_pid: from.0,
            from_tid: from.1,
            to_pid: to.0,
            to_tid: to.1,
            node: None,
            code: 1,
            flags: 0,
            elapsed_ms: u64::from(1000_u32.saturating_sub(id)),
            data_bytes: None,
            interface: None,
        }
    }

    fn thread(pid: u32, tid: u32, looper: u8) -> StateRecord {
        let (device, door) = ("binder".into(), Door::default());
        StateRecord::Thread { device, pid, tid, door, looper, stack: Vec::new(), queued: 0 }
    }

    fn ids(cycles: Vec<Vec<&CallRecord>>) -> Vec<Vec<u32>> {
        cycles.into_iter().map(|cycle| cycle.into_iter().map(|call| call.id).collect()).collect()
    }

    #[test]
    fn two_processes_whose_threads_all_wait_for_each_other_are_a_deadlock() {
        let calls = vec![
            call(1, (10, 10), (20, 0), Stage::Queued),
            call(2, (20, 20), (10, 0), Stage::Queued),
        ];
        let state = [thread(10, 10, 0), thread(20, 20, 2)];
        let graph = WaitGraph::new(&calls, &state);
        assert_eq!(ids(graph.deadlocks()), [[1, 2]]);
        assert_eq!(graph.exhausted().len(), 2);
        // One more thread that does something else may come to it.
        let state = [thread(10, 10, 0), thread(20, 20, 2), thread(20, 21, 1)];
        assert!(WaitGraph::new(&calls, &state).deadlocks().is_empty());
        assert!(WaitGraph::new(&calls, &[]).deadlocks().is_empty(), "nothing is known of them");
    }

    #[test]
    fn who_waits_for_a_deadlock_is_in_none() {
        let calls = vec![
            call(1, (5, 5), (10, 10), Stage::Served),
            call(2, (10, 10), (20, 20), Stage::Served),
            call(3, (20, 20), (30, 0), Stage::Queued),
            call(4, (30, 30), (20, 0), Stage::Queued),
        ];
        let state = [thread(5, 5, 0), thread(10, 10, 2), thread(20, 20, 2), thread(30, 30, 2)];
        let graph = WaitGraph::new(&calls, &state);
        assert_eq!(ids(graph.deadlocks()), [[3, 4]]);
        assert_eq!(ids(graph.chains()), [vec![1, 2, 3], vec![4]]);
    }

    #[test]
    fn a_chain_that_comes_back_to_a_waiting_thread_is_no_deadlock() {
        // The nested call goes to the thread that waits, which takes it.
        let calls = vec![
            call(1, (10, 10), (20, 20), Stage::Served),
            call(2, (20, 20), (10, 10), Stage::Served),
            call(3, (10, 10), (30, 30), Stage::Served),
        ];
        let state = [thread(10, 10, 0), thread(20, 20, 2), thread(30, 30, 2)];
        let graph = WaitGraph::new(&calls, &state);
        assert!(graph.deadlocks().is_empty());
        let queued = vec![calls[0].clone(), call(2, (20, 20), (10, 10), Stage::Queued)];
        assert!(WaitGraph::new(&queued, &state).deadlocks().is_empty());
    }

    #[test]
    fn a_pool_is_exhausted_when_something_waits_and_no_thread_does() {
        let calls = vec![
            call(1, (10, 10), (20, 20), Stage::Served),
            call(2, (11, 11), (20, 0), Stage::Queued),
            call(3, (12, 12), (20, 0), Stage::Queued),
        ];
        let graph_with = |looper| {
            let state = [thread(20, 20, 2), thread(20, 21, looper)];
            let graph = WaitGraph::new(&calls, &state);
            let told = |it: &ExhaustedPool<'_>| (it.loopers, it.queued[0].id, it.served.len());
            graph.exhausted().iter().map(told).collect::<Vec<_>>()
        };
        assert_eq!(graph_with(0), [(1, 2, 1)]);
        assert_eq!(graph_with(LOOPER_WAITING | 1), []);
    }

    #[test]
    fn the_innermost_call_is_the_youngest_also_when_numbers_begin_anew() {
        let calls = vec![
            call(u32::MAX, (10, 10), (20, 20), Stage::Served),
            call(3, (10, 10), (30, 30), Stage::Served),
        ];
        let graph = WaitGraph::new(&calls, &[]);
        assert_eq!(graph.waits[&(10, 10)].id, 3);
    }

    #[test]
    fn names_cannot_leave_their_quotes() {
        let calls = vec![call(1, (10, 10), (0, 0), Stage::Abandoned)];
        let dot = WaitGraph::new(&calls, &[]).to_dot(|_| "a\"];\n\\".into());
        assert!(dot.contains("10 [label=\"a\\\"];\\\\\\n10\"];"), "{dot}");
        assert!(dot.contains("  10 -> 0 [label=\" code 1\\n999 ms\"];"), "{dot}");
    }
}
