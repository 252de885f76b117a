//! `anybinder waits`: calls that wait, deadlocks, exhausted thread pools, one-ways that pile up.

mod watcher;

use std::collections::{BTreeMap, BTreeSet};
use std::process::ExitCode;
use std::thread;
use std::time::Duration;

use binder_report::records::{CallKind, CallRecord, Stage, StateRecord, to_lines};
use binder_report::{ExhaustedPool, WaitGraph};
use serde::Serialize;

use super::transactions::{age, code_words, party};
use super::{Binderfs, name_of, print};
use crate::cli::WaitsOptions;
use crate::failure::Failure;

pub(crate) use watcher::{WaitNews, WaitWatcher};

/// Time between two looks: a wait that both see has lasted for as long.
const CONFIRM_AFTER: Duration = Duration::from_millis(100);
/// Looks at queues before one is said to grow.
const GROWTH_LOOKS: usize = 5;
/// A queue of fewer one-ways is none to speak of.
const GROWTH_LEAST: usize = 8;

/// A condition that will not end by itself, or may not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(crate) enum Finding {
    /// Calls that wait for each other.
    Deadlock { device: String, calls: Vec<CallRecord> },
    /// A process without a thread for the calls that wait.
    Exhausted {
        device: String,
        pid: u32,
        name: String,
        loopers: usize,
        queued: Vec<CallRecord>,
        served: Vec<CallRecord>,
    },
    /// One-ways that come faster than they are read.
    Growing { device: String, pid: u32, name: String, was: usize, is: usize },
    /// A call that waits for long.
    LongWait { call: Box<CallRecord> },
}

impl Finding {
    /// Identifies it from one look to the next.
    fn key(&self) -> String {
        match self {
            Self::Deadlock { calls, .. } => {
                let ids: BTreeSet<u32> = calls.iter().map(|call| call.id).collect();
                format!("deadlock {ids:?}")
            }
            Self::Exhausted { device, pid, .. } => format!("exhausted {device} {pid}"),
            Self::Growing { device, pid, .. } => format!("growing {device} {pid}"),
            Self::LongWait { call } => format!("long wait {} {}", call.device, call.id),
        }
    }

    /// The lines that describe it.
    pub(crate) fn words(&self) -> String {
        match self {
            Self::LongWait { call } => {
                format!("LONG WAIT on {}: {}", call.device, wait_words(call).trim_start())
            }
            Self::Deadlock { device, calls } => {
                let head =
                    format!("DEADLOCK on {device}: {} calls wait for each other\n", calls.len());
                head + &calls.iter().map(wait_words).collect::<String>()
            }
            Self::Exhausted { device, pid, name, loopers, queued, served } => {
                let oldest = queued.first().map_or(0, |call| call.elapsed_ms);
                let head = format!(
                    "NO THREAD LEFT in {pid} {name} on {device}: {loopers} loopers, none of them idle; {} calls wait, the \
                     oldest for {}\n",
                    queued.len(),
                    age(oldest)
                );
                head + &served.iter().map(wait_words).collect::<String>()
            }
            Self::Growing { device, pid, name, was, is } => {
                format!(
                    "ONE-WAYS PILE UP for {pid} {name} on {device}: {is} wait, {was} did before\n"
                )
            }
        }
    }
}

/// One-ways that wait, by device and receiver.
type Queues = BTreeMap<(String, u32), usize>;

/// The records of one look.
pub(crate) struct Look {
    pub(crate) calls: Vec<CallRecord>,
    pub(crate) state: Vec<StateRecord>,
}

impl Look {
    pub(crate) fn take(binderfs: &Binderfs) -> Result<Self, Failure> {
        Ok(Self { calls: binderfs.read("transactions.json")?, state: binderfs.read("state.json")? })
    }

    /// Leaves out calls that are new since `before`: they may be over in a moment.
    fn confirm(&mut self, before: &[CallRecord]) {
        let known: BTreeSet<(u32, &str)> =
            before.iter().map(|call| (call.id, call.device.as_str())).collect();
        self.calls.retain(|call| known.contains(&(call.id, call.device.as_str())));
    }

    /// Calls that have waited for that long.
    fn long_waits(&self, patience: Duration) -> impl Iterator<Item = Finding> {
        let is_long = move |call: &&CallRecord| {
            call.kind == CallKind::Call && Duration::from_millis(call.elapsed_ms) >= patience
        };
        let calls = self.calls.iter().filter(is_long).cloned();
        calls.map(|call| Finding::LongWait { call: call.into() })
    }

    fn queues(&self) -> Queues {
        let mut queues = Queues::new();
        for call in &self.calls {
            let waits = matches!(call.stage, Stage::InLine | Stage::Queued);
            if waits && call.kind == CallKind::Oneway {
                *queues.entry((call.device.clone(), call.to_pid)).or_default() += 1;
            }
        }
        queues
    }
}

/// The last looks at queues.
#[derive(Default)]
struct QueueGrowth(Vec<Queues>);

impl QueueGrowth {
    fn note(&mut self, queues: Queues) {
        if self.0.len() == GROWTH_LOOKS {
            self.0.remove(0);
        }
        self.0.push(queues);
    }

    /// Queues that were longer at each look, or as long, and have grown.
    fn findings(&self) -> Vec<Finding> {
        let Some(now) = self.0.last().filter(|_| self.0.len() == GROWTH_LOOKS) else {
            return Vec::new();
        };
        let mut findings = Vec::new();
        for (queue, is) in now {
            let lengths: Vec<usize> = self
                .0
                .iter()
                .map(|queues| queues.get(queue).copied().unwrap_or_default())
                .collect();
            if lengths.is_sorted() && *is >= GROWTH_LEAST && lengths[0] < *is {
                let (device, pid) = queue.clone();
                let (name, was) = (name_of(pid), lengths[0]);
                findings.push(Finding::Growing { device, pid, name, was, is: *is });
            }
        }
        findings
    }
}

/// Looks at a driver one after the other, and finds what lasts.
pub(crate) struct WaitMonitor {
    growth: QueueGrowth,
    /// Calls that the last look has seen.
    known: Vec<CallRecord>,
}

impl WaitMonitor {
    pub(crate) fn new(first: &Look) -> Self {
        let mut growth = QueueGrowth::default();
        growth.note(first.queues());
        Self { growth, known: first.calls.clone() }
    }

    /// Finds conditions that this look and the last one show. Calls that are new are taken out of this one.
    pub(crate) fn find(&mut self, look: &mut Look) -> Vec<Finding> {
        self.growth.note(look.queues());
        let known = std::mem::replace(&mut self.known, look.calls.clone());
        look.confirm(&known);
        findings(look, &self.growth)
    }
}

pub(crate) fn run(options: &WaitsOptions) -> Result<ExitCode, Failure> {
    let binderfs = Binderfs::find(&options.inspect)?;
    if options.watch { watch(&binderfs, options) } else { look(&binderfs, options) }
}

/// Prints the waits and findings once.
fn look(binderfs: &Binderfs, options: &WaitsOptions) -> Result<ExitCode, Failure> {
    let mut last = Look::take(binderfs)?;
    let mut monitor = WaitMonitor::new(&last);
    let mut findings = Vec::new();
    for _ in 1..GROWTH_LOOKS {
        thread::sleep(CONFIRM_AFTER);
        last = Look::take(binderfs)?;
        findings = monitor.find(&mut last);
    }
    if options.inspect.json {
        print(&to_lines(findings))?;
        return Ok(ExitCode::SUCCESS);
    }
    print(&waits_text(&last, &findings))?;
    Ok(ExitCode::SUCCESS)
}

/// Waits and findings, in lines.
pub(crate) fn waits_text(look: &Look, findings: &[Finding]) -> String {
    let chains = chain_words(&WaitGraph::new(&look.calls, &look.state));
    let found: Vec<_> = findings.iter().map(Finding::words).collect();
    match (&*chains, &*found) {
        ("", []) => "Nothing waits.\n".into(),
        (chains, found) => format!("{chains}{}", found.concat()),
    }
}

/// Prints each finding once it has lasted, and when it is over, until a signal ends the program.
fn watch(binderfs: &Binderfs, options: &WaitsOptions) -> Result<ExitCode, Failure> {
    let interval = Duration::from_secs_f64(options.interval);
    let mut watcher = WaitWatcher::new(binderfs, Duration::from_secs_f64(options.longer_than))?;
    loop {
        thread::sleep(interval);
        for news in watcher.look()? {
            match news {
                WaitNews::Lasts(finding) if options.inspect.json => print(&to_lines([&finding]))?,
                WaitNews::Lasts(finding) => print(&finding.words())?,
                WaitNews::Over(_) if options.inspect.json => {}
                WaitNews::Over(key) => print(&format!("over: {key}\n"))?,
            }
        }
    }
}

fn findings(look: &Look, growth: &QueueGrowth) -> Vec<Finding> {
    let graph = WaitGraph::new(&look.calls, &look.state);
    let owned = |calls: &[&CallRecord]| calls.iter().map(|call| (*call).clone()).collect();
    let deadlock = |calls: Vec<&CallRecord>| {
        let device = calls.first().map_or(String::new(), |call| call.device.clone());
        Finding::Deadlock { device, calls: owned(&calls) }
    };
    let exhausted = |pool: ExhaustedPool<'_>| Finding::Exhausted {
        device: pool.device.into(),
        pid: pool.pid,
        name: name_of(pool.pid),
        loopers: pool.loopers,
        queued: owned(&pool.queued),
        served: owned(&pool.served),
    };
    let deadlocks = graph.deadlocks().into_iter().map(deadlock);
    let pools = graph.exhausted().into_iter().map(exhausted);
    deadlocks.chain(pools).chain(growth.findings()).collect()
}

/// All waits, each below the wait for its thread.
fn chain_words(graph: &WaitGraph<'_>) -> String {
    let mut text = String::new();
    for chain in graph.chains() {
        for (depth, call) in chain.into_iter().enumerate() {
            text.push_str(&"  ".repeat(depth));
            text.push_str(wait_words(call).trim_start());
        }
    }
    text
}

/// A call that waits, in a line.
fn wait_words(call: &CallRecord) -> String {
    let how = match call.stage {
        Stage::Served => "",
        Stage::Queued => ", which has not taken it",
        Stage::InLine => ", behind others",
        Stage::Abandoned => ", which is gone",
    };
    let interface = call.interface.as_deref().map(|name| format!("{name} ")).unwrap_or_default();
    let (from, to) = (party(call.from_pid, call.from_tid), party(call.to_pid, call.to_tid));
    let (code, age) = (code_words(call.code), age(call.elapsed_ms));
    format!("  {from} waits for {to}{how}: {interface}code {code}, for {age}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queues(length: usize) -> Queues {
        [(("binder".to_owned(), 1), length)].into()
    }

    #[test]
    fn a_queue_grows_that_never_shrinks() {
        let told = |lengths: &[usize]| {
            let mut growth = QueueGrowth::default();
            lengths.iter().for_each(|length| growth.note(queues(*length)));
            growth.findings().len()
        };
        assert_eq!(told(&[1, 2, 3, 9, 30]), 1);
        assert_eq!(told(&[99, 1, 2, 3, 9, 30]), 1, "what was long before does not count");
        assert_eq!(told(&[1, 2, 3, 30]), 0, "too few looks");
        assert_eq!(told(&[10, 20, 15, 30, 40]), 0);
        assert_eq!(told(&[30, 30, 30, 30, 30]), 0);
        assert_eq!(told(&[1, 2, 3, 4, 5]), 0, "a few always wait");
    }
}
