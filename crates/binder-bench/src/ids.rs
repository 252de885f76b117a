//! `ids`: what taking and freeing an id takes, by how many are taken, and by who finds the free one.

mod structures;

use std::hint::black_box;
use std::sync::{Barrier, Mutex};
use std::time::Duration;

use idr::IdPool;
use serde::Serialize;

use crate::error::BenchError;
use crate::ids::structures::{Flat, FreeRanges, IdSet, Roaring, Scan, Slab};
use crate::random::Random;
use crate::repeat::{median, median_ns};
use crate::report::BenchReport;
use crate::table::{self, TextTable};

/// Time ways to find a free id, by how many are taken.
///
/// All but `slab` hand out the lowest free id, as handles need it. No device is involved.
#[derive(Debug, Clone, clap::Args)]
#[command(after_help = "\
Examples:
  anybinder bench ids
  anybinder bench ids --live 1000,1000000 --json")]
pub struct IdsOptions {
    /// How many ids are taken
    #[arg(long, value_delimiter = ',', value_name = "NUMBERS",
          default_value = "8,64,100,1000,10000,100000,1000000,10000000",
          value_parser = clap::value_parser!(u32).range(MIN_LIVE..=MAX_LIVE))]
    live: Vec<u32>,

    /// How long each figure may take, in milliseconds
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=60_000))]
    budget_ms: u32,

    /// Print one JSON object per line
    #[arg(long)]
    pub(crate) json: bool,
}

/// The structures take turns, so that what disturbs for a while disturbs them all; but not where it takes
/// longer to fill them than to measure.
fn rounds(live: u32) -> u32 {
    if live > 1_000_000 { 1 } else { 5 }
}

/// Enough for an eighth of them to be a hole.
const MIN_LIVE: i64 = 8;

const MAX_LIVE: i64 = 100_000_000;

/// In which order ids are freed and taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Pattern {
    /// One more and one more.
    Sequential,
    /// All are taken; a random one is freed and taken again.
    FullThenFreeOne,
    /// An eighth is free, here and there; one is taken and a random one freed.
    Holes,
    /// As [`Self::FullThenFreeOne`], by two threads that share a lock.
    TwoThreads,
}

/// A result.
#[derive(Debug, Clone, Serialize)]
struct IdsRow {
    structure: &'static str,
    live: u32,
    pattern: Pattern,
    ns: f64,
    bytes_per_id: Option<f64>,
}

pub(crate) fn run(options: &IdsOptions, report: &mut BenchReport<'_>) -> Result<(), BenchError> {
    let budget = Duration::from_millis(options.budget_ms.into());
    let mut table = TextTable::new([
        "structure",
        "taken",
        "one more",
        "free and take",
        "in holes",
        "two threads",
        "bytes per id",
    ]);
    let measures: [fn(u32, Duration) -> Vec<IdsRow>; 7] = [
        measure::<Scan>,
        measure::<Flat<false>>,
        measure::<Flat<true>>,
        measure::<IdPool>,
        measure::<Slab>,
        measure::<Roaring>,
        measure::<FreeRanges>,
    ];
    let bar = report.progress(options.live.len());
    for live in &options.live {
        let mut measured = measures.map(|_| Vec::new());
        bar.set_message(format!("{live} ids"));
        let rounds = rounds(*live);
        for _ in 0..rounds {
            for (measure, taken) in measures.iter().zip(&mut measured) {
                taken.push(measure(*live, budget / rounds));
            }
        }
        bar.inc(1);
        for rows in measured.map(medians) {
            for row in &rows {
                report.record(row)?;
            }
            if let Some(first) = rows.first() {
                let ns = rows.iter().map(|row| table::short_duration(Some(row.ns)));
                let bytes = first.bytes_per_id.map_or("-".into(), |bytes| format!("{bytes:.2}"));
                let names = [first.structure.to_owned(), live.to_string()];
                table.row(names.into_iter().chain(ns).chain([bytes]));
            }
        }
    }
    bar.finish_and_clear();
    report.table(&table)
}

/// The medians of what was measured in several rounds.
fn medians(rounds: Vec<Vec<IdsRow>>) -> Vec<IdsRow> {
    let mut rows = rounds.first().cloned().unwrap_or_default();
    for (nth, row) in rows.iter_mut().enumerate() {
        row.ns = median(&mut rounds.iter().map(|rows| rows[nth].ns).collect::<Vec<_>>());
    }
    rows
}

fn measure<I: IdSet>(live: u32, budget: Duration) -> Vec<IdsRow> {
    let mut ids = I::filled(live);
    let bytes_per_id = ids.heap_bytes().map(|bytes| bytes as f64 / f64::from(live));
    let row = |pattern, ns| IdsRow { structure: I::NAME, live, pattern, ns, bytes_per_id };
    let mut random = Random::new(live);
    let one = median_ns(budget, None, || {
        ids.release(random.below(live));
        black_box(ids.acquire());
    });
    let two = two_threads(&mut ids, live, budget);
    let sequential = sequential(&mut ids, live, budget);
    // Afresh, for some have grown above what was full.
    let holes = holes(&mut I::filled(live), live, budget);
    vec![
        row(Pattern::Sequential, sequential),
        row(Pattern::FullThenFreeOne, one),
        row(Pattern::Holes, holes),
        row(Pattern::TwoThreads, two),
    ]
}

/// Takes more ids, as many again at most.
fn sequential<I: IdSet>(ids: &mut I, live: u32, budget: Duration) -> f64 {
    median_ns(budget, Some(live), || {
        black_box(ids.acquire());
    })
}

fn holes<I: IdSet>(ids: &mut I, live: u32, budget: Duration) -> f64 {
    let mut random = Random::new(live);
    let mut taken: Vec<u32> = (0..live).collect();
    for _ in 0..live / 8 {
        let index = random.index(taken.len());
        ids.release(taken.swap_remove(index));
    }
    median_ns(budget, None, || {
        let new = ids.acquire();
        let index = random.index(taken.len());
        ids.release(std::mem::replace(&mut taken[index], new));
    })
}

/// The time of a pair in each of two threads.
fn two_threads<I: IdSet>(ids: &mut I, live: u32, budget: Duration) -> f64 {
    let ids = Mutex::new(ids);
    let locked = || ids.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let barrier = Barrier::new(2);
    let times: Vec<f64> = std::thread::scope(|scope| {
        let halves = [(0, live / 2), (live / 2, live - live / 2)];
        let threads = halves.map(|(first, len)| {
            let (locked, barrier) = (&locked, &barrier);
            scope.spawn(move || {
                let mut random = Random::new(first + 1);
                // Each frees only what it took itself.
                let mut own: Vec<u32> = (first..first + len).collect();
                barrier.wait();
                median_ns(budget, None, || {
                    let index = random.index(own.len());
                    locked().release(own[index]);
                    own[index] = locked().acquire();
                })
            })
        });
        threads.into_iter().filter_map(|thread| thread.join().ok()).collect()
    });
    times.iter().sum::<f64>() / times.len().max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_structure_is_measured_in_every_pattern() {
        for live in [8, 100] {
            for rows in [
                measure::<Scan>(live, Duration::from_millis(1)),
                measure::<IdPool>(live, Duration::from_millis(1)),
            ] {
                let patterns: Vec<_> = rows.iter().map(|row| row.pattern).collect();
                use Pattern::{FullThenFreeOne, Holes, Sequential, TwoThreads};
                assert_eq!(patterns, [Sequential, FullThenFreeOne, Holes, TwoThreads]);
                assert!(rows.iter().all(|row| row.ns > 0.0 && row.live == live));
            }
        }
    }
}
