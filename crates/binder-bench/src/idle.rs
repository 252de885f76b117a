//! `idle`: what clients that do nothing cost the daemon.
//!
//! One process opens the device many times over, each open with a receive buffer of its own: to the
//! driver these are as many clients. Then there are processes, each of which opens it once. What the daemon
//! needs for them is the difference of its memory before and after. No byte is ever sent, so no page of a
//! receive buffer is touched.

use std::ffi::OsStr;
use std::fs;
use std::path::Path;
use std::sync::mpsc::{self, Sender};
use std::thread;
use std::time::{Duration, Instant};

use binder_os::{BinderClient, processes};
use indicatif::ProgressBar;
use serde::{Deserialize, Serialize};

use crate::actor::{Actor, ActorLink};
use crate::daemon::{Daemon, Memory};
use crate::error::{BenchError, failed};
use crate::report::BenchReport;
use crate::table::{self, TextTable};
use crate::target::BenchTarget;

/// Measure what clients that do nothing cost the daemon.
///
/// A client has opened the device, mapped its receive buffer and asked for the version; `parked`
/// ones also wait for a call, each in a thread of its own; `processes` are clients that are each a process.
#[derive(Debug, Clone, clap::Args)]
#[command(after_help = "\
Examples:
  anybinder run -- anybinder bench idle
  anybinder bench idle --device /dev/binderfs/binder --daemon-pid 1234 --clients 10000")]
pub struct IdleOptions {
    #[command(flatten)]
    pub(crate) target: BenchTarget,

    /// How many clients there are
    #[arg(long, default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..))]
    clients: u32,

    /// How many of them are processes of their own; 0 leaves these out
    #[arg(long, default_value_t = 1000)]
    processes: u32,
}

/// What the clients do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum IdleState {
    /// They have the device open.
    Open,
    /// They wait for calls.
    Parked,
    /// They have the device open, each in a process of its own.
    Processes,
}

/// A line of the result. Bytes are signed: memory can be given back, too.
#[derive(Debug, Clone, Serialize)]
struct IdleRow {
    state: IdleState,
    clients: u32,
    /// Of the proportional set size, the one with a bar.
    bytes_per_client: i64,
    private_bytes_per_client: i64,
    rss_bytes_per_client: i64,
    /// Of all clients together, after they have closed.
    remaining_bytes: i64,
    remaining_private_bytes: i64,
    remaining_rss_bytes: i64,
    /// All of it, before the first client came, while all were there, and after they had closed.
    before_bytes: i64,
    with_bytes: i64,
    after_bytes: i64,
}

/// How many clients are opened at one order.
const BATCH: u32 = 100;

/// Enough for a thread that opens a device and waits.
const STACK_BYTES: usize = 128 * 1024;

/// How long memory must stay as it is to count as settled: a daemon may give back what it does not
/// need after a second of rest, or when two have passed.
const STAYS_FOR: Duration = Duration::from_millis(2500);
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// How long after the clients have closed the memory is looked at.
const BACK_AFTER: Duration = Duration::from_secs(10);
/// After this long it counts as settled anyway.
const SETTLES_WITHIN: Duration = Duration::from_secs(10);

pub(crate) fn run(options: &IdleOptions, report: &mut BenchReport<'_>) -> Result<(), BenchError> {
    let daemon = options.target.daemon().ok_or(BenchError::NoDaemon)?;
    let rows = [
        (IdleState::Open, options.clients),
        (IdleState::Parked, options.clients),
        (IdleState::Processes, options.processes.min(options.clients)),
    ];
    let bar = report.progress(rows.iter().map(|(_, clients)| *clients as usize).sum());
    let mut table = TextTable::new([
        "clients",
        "number",
        "Pss each",
        "private each",
        "RSS each",
        "before",
        "with",
        "after 10 s",
        "Pss left",
        "private left",
        "RSS left",
    ]);
    // The same for all: what the daemon keeps from the first it has at hand for the others.
    let before = settled(daemon)?;
    for (state, clients) in rows.into_iter().filter(|(_, clients)| *clients > 0) {
        bar.set_message(format!("{} clients", state.name()));
        let (during, after) = measure(options, state, clients, daemon, &bar)?;
        let row = IdleRow::new(state, clients, [before, during, after]);
        report.record(&row)?;
        table.row(row.cells());
    }
    bar.finish_and_clear();
    report.table(&table)?;
    report.summary(
        "each: more memory of the daemon per client; before, with, after: its Pss; left: 10 s after \
         all have closed",
    )
}

/// Returns the memory of the daemon with the clients and without them again.
fn measure(
    options: &IdleOptions,
    state: IdleState,
    clients: u32,
    daemon: Daemon,
    bar: &ProgressBar,
) -> Result<(Memory, Memory), BenchError> {
    let device = options.target.device();
    let (actors_wanted, each) = match state {
        IdleState::Open | IdleState::Parked => (1, clients),
        IdleState::Processes => (clients, 1),
    };
    // Each is at the other end of a socket.
    processes::raise_open_file_limit().map_err(failed("raising the limit of open files"))?;
    let mut actors = Vec::new();
    for _ in 0..actors_wanted {
        let mut actor = Actor::start("idle clients", |link| idle(link, device, state))?;
        actor.expect_ready()?;
        let mut missing = each;
        while missing > 0 {
            let more = missing.min(BATCH);
            actor.ask::<()>(&more)?;
            missing -= more;
            bar.inc(more.into());
        }
        actors.push(actor);
    }
    let during = settled(daemon)?;
    // No actor has failed meanwhile.
    actors.iter_mut().try_for_each(|actor| actor.ask::<()>(&0))?;
    drop(actors);
    thread::sleep(BACK_AFTER);
    Ok((during, daemon.memory()?))
}

/// In the process of the clients: opens as many as ordered, keeps them, and answers once they idle.
fn idle(link: &mut ActorLink, device: &Path, state: IdleState) -> Result<(), BenchError> {
    processes::raise_open_file_limit().map_err(failed("raising the limit of open files"))?;
    link.answer(&())?;
    let (tell, told) = mpsc::channel();
    let mut open = Vec::new();
    while let Some(more) = link.receive::<u32>()? {
        // Each client has told that it is open; more is told by those that failed afterwards.
        told.try_iter().collect::<Result<(), _>>()?;
        for _ in 0..more {
            match state {
                IdleState::Open | IdleState::Processes => open.push(open_client(device)?),
                IdleState::Parked => {
                    park(device, tell.clone())?;
                    told.recv().expect("a sender is ours")?;
                }
            }
        }
        wait_until_asleep()?;
        link.answer(&())?;
    }
    Ok(())
}

fn open_client(device: &Path) -> Result<BinderClient, BenchError> {
    let client =
        BinderClient::open(device).map_err(failed(format!("opening {}", device.display())))?;
    client.version().map_err(failed("asking for the version"))?;
    Ok(client)
}

/// Starts a thread that opens a client, tells so, and waits for calls, which never come.
fn park(device: &Path, tell: Sender<Result<(), BenchError>>) -> Result<(), BenchError> {
    let device = device.to_owned();
    let wait = move || {
        let opened = open_client(&device);
        let failure = opened.and_then(|client| {
            // The listener is gone only when the process is about to end; here and below.
            let _ = tell.send(Ok(()));
            match client.serve(|call| call.data).map_err(failed("waiting for calls"))? {}
        });
        let _ = tell.send(failure);
    };
    let thread = thread::Builder::new().stack_size(STACK_BYTES);
    thread.spawn(wait).map(drop).map_err(failed("starting a thread"))
}

/// Waits until all other threads of this process sleep: in their ioctl, for they do nothing else.
fn wait_until_asleep() -> Result<(), BenchError> {
    let this = rustix::thread::gettid().as_raw_nonzero().get().to_string();
    let is_asleep = |tid: &OsStr| {
        let stat = fs::read_to_string(Path::new("/proc/self/task").join(tid).join("stat"));
        // The name, in parentheses, comes before the state. A thread that ended is not waited for.
        stat.is_ok_and(|stat| stat.rsplit(") ").next().is_some_and(|rest| rest.starts_with('S')))
    };
    loop {
        let threads = fs::read_dir("/proc/self/task").map_err(failed("listing threads"))?;
        let tids = threads.flatten().map(|thread| thread.file_name());
        if tids.filter(|tid| *tid != *this).all(|tid| is_asleep(&tid)) {
            return Ok(());
        }
        thread::sleep(Duration::from_millis(1));
    }
}

/// Measures the memory of the daemon once it no longer changes: the daemon goes on working for a
/// moment after its clients have what they asked for.
fn settled(daemon: Daemon) -> Result<Memory, BenchError> {
    let start = Instant::now();
    let (mut memory, mut since) = (daemon.memory()?, start);
    while since.elapsed() < STAYS_FOR && start.elapsed() < SETTLES_WITHIN {
        thread::sleep(LOOK_EVERY);
        let now = daemon.memory()?;
        if now != memory {
            (memory, since) = (now, Instant::now());
        }
    }
    Ok(memory)
}

impl IdleState {
    fn name(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Parked => "parked",
            Self::Processes => "processes",
        }
    }
}

impl IdleRow {
    fn new(state: IdleState, clients: u32, memory: [Memory; 3]) -> Self {
        let [before, during, after] = memory;
        let each = |of: fn(&Memory) -> i64| (of(&during) - of(&before)) / i64::from(clients);
        let left = |of: fn(&Memory) -> i64| of(&after) - of(&before);
        Self {
            state,
            clients,
            bytes_per_client: each(|memory| memory.pss),
            private_bytes_per_client: each(|memory| memory.private),
            rss_bytes_per_client: each(|memory| memory.rss),
            remaining_bytes: left(|memory| memory.pss),
            remaining_private_bytes: left(|memory| memory.private),
            remaining_rss_bytes: left(|memory| memory.rss),
            before_bytes: before.pss,
            with_bytes: during.pss,
            after_bytes: after.pss,
        }
    }

    fn cells(&self) -> [String; 11] {
        [
            self.state.name().into(),
            self.clients.to_string(),
            table::bytes(self.bytes_per_client),
            table::bytes(self.private_bytes_per_client),
            table::bytes(self.rss_bytes_per_client),
            table::bytes(self.before_bytes),
            table::bytes(self.with_bytes),
            table::bytes(self.after_bytes),
            table::bytes(self.remaining_bytes),
            table::bytes(self.remaining_private_bytes),
            table::bytes(self.remaining_rss_bytes),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_shares_out_what_was_added_and_tells_what_is_left() {
        let memory = |pss, private, rss| Memory { pss, private, rss };
        let memory = [memory(1000, 500, 2000), memory(9000, 2500, 1600), memory(1100, 400, 2000)];
        let row = IdleRow::new(IdleState::Parked, 4, memory);
        assert_eq!(
            [row.bytes_per_client, row.private_bytes_per_client, row.rss_bytes_per_client],
            [2000, 500, -100]
        );
        assert_eq!([row.before_bytes, row.with_bytes, row.after_bytes], [1000, 9000, 1100]);
        assert_eq!(
            [row.remaining_bytes, row.remaining_private_bytes, row.remaining_rss_bytes],
            [100, -100, 0]
        );
    }
}
