//! Many threads that call at once: each with a session of its own, or all with one.

use std::thread;
use std::time::Instant;

use binder::SpIBinder;
use serde::{Deserialize, Serialize};

use super::calls::{BenchCaller, Op, failure};
use super::rpc;
use crate::actor::{Actor, ActorLink};
use crate::error::BenchError;
use crate::report::BenchReport;
use crate::statistics::{Samples, ratio};
use crate::table::{self, TextTable};

/// How threads share sessions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Sessions {
    /// One each.
    Own,
    /// One for all, with one connection.
    Shared,
    /// One for all, with eight connections.
    SharedWide,
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct ConcurrentOrder {
    sessions: Sessions,
    clients: u32,
    calls: u32,
}

#[derive(Debug, Clone, Serialize)]
struct ConcurrentRow {
    transport: &'static str,
    op: &'static str,
    sessions: Sessions,
    clients: u32,
    calls_per_s: u64,
    times_one: Option<f64>,
}

pub(super) fn run(rounds: u32, calls: u32, report: &mut BenchReport<'_>) -> Result<(), BenchError> {
    let name = rpc::socket_name("concurrent");
    let mut server = rpc::start_server(None, &name)?;
    let mut client = Actor::start("RPC clients", |link| play(link, &name))?;
    let mut table = TextTable::new(["sessions", "clients", "calls per second", "x one"]);
    for sessions in [Sessions::Own, Sessions::Shared, Sessions::SharedWide] {
        let numbers = [1, 2, 4, 8];
        let mut tallies = numbers.map(|_| Samples::default());
        for round in 0..=rounds {
            for (clients, tally) in numbers.into_iter().zip(&mut tallies) {
                let order = ConcurrentOrder { sessions, clients, calls };
                let per_second: u64 = client.ask_beside(&mut server, &order)?;
                // The first warms up.
                if round > 0 {
                    tally.extend(&[per_second]);
                }
            }
        }
        let medians = tallies.map(|mut tally| tally.percentile(50));
        for (clients, calls_per_s) in numbers.into_iter().zip(medians) {
            let times_one = ratio(calls_per_s, medians[0]);
            let op = "ping";
            let row =
                ConcurrentRow { transport: "rpc", op, sessions, clients, calls_per_s, times_one };
            report.record(&row)?;
            table.row([
                sessions.name().into(),
                clients.to_string(),
                calls_per_s.to_string(),
                table::times(times_one),
            ]);
        }
    }
    report.table(&table)?;
    report.summary("pings over RPC, not pinned")
}

impl Sessions {
    fn name(self) -> &'static str {
        match self {
            Self::Own => "own",
            Self::Shared => "one, 1 connection",
            Self::SharedWide => "one, 8 connections",
        }
    }
}

fn play(link: &mut ActorLink, name: &str) -> Result<(), BenchError> {
    while let Some(order) = link.receive()? {
        link.answer(&play_order(order, name)?)?;
    }
    Ok(())
}

/// Has all threads call, and returns how many calls they made in a second together.
fn play_order(order: ConcurrentOrder, name: &str) -> Result<u64, BenchError> {
    let (sessions, connections) = match order.sessions {
        Sessions::Own => (order.clients, 1),
        Sessions::Shared => (1, 1),
        Sessions::SharedWide => (1, 8),
    };
    let sessions: Vec<_> =
        (0..sessions).map(|_| rpc::connect(name, connections)).collect::<Result<_, _>>()?;
    let objects: Vec<SpIBinder> = sessions.iter().map(|(_, object)| object.clone()).collect();
    let start = Instant::now();
    thread::scope(|scope| {
        let threads: Vec<_> = (0..order.clients)
            .zip(objects.iter().cycle())
            .map(|(_, object)| {
                scope.spawn(|| {
                    let caller = BenchCaller::new(Op::Ping);
                    (0..order.calls).try_for_each(|_| caller.call(object).map(drop))
                })
            })
            .collect();
        threads.into_iter().try_for_each(|thread| match thread.join() {
            Ok(result) => result.map_err(|status| failure(Op::Ping, &status)),
            Err(_) => Err(failure(Op::Ping, &"it panicked")),
        })
    })?;
    let calls = u128::from(order.clients) * u128::from(order.calls);
    let per_second = calls * 1_000_000_000 / start.elapsed().as_nanos().max(1);
    Ok(u64::try_from(per_second).unwrap_or(u64::MAX))
}
