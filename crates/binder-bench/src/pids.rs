//! `pids`: what a table of process ids takes to fill, search, walk and empty.

mod likeness;
mod live;
mod readers;
mod shown;
mod sleepers;
mod tables;

use std::hint::black_box;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde::Serialize;

use crate::affinity::Pin;
use crate::error::BenchError;
use crate::pids::tables::{BitmapAndHash, ComparedTable, OurTable, Trees};
use crate::random::Random;
use crate::repeat::{median, median_ns};
use crate::report::BenchReport;
use crate::table::{self, TextTable};

/// Time a table of process ids, by how many there are and in how many namespaces.
///
/// Each process has a number in every namespace from the root to its own. Beside our table: sorted
/// trees under a lock, and bitmaps with a hash, as kernels had before. Then ps, pstree and a listing
/// of /proc, of as many processes, as our view shows them and as the kernel does: that starts them. And ps aux, lsof and a listing of
/// those that were started, over a view of them and over the kernel's /proc. No device is involved.
#[derive(Debug, Clone, clap::Args)]
#[command(after_help = "\
Examples:
  anybinder bench pids
  anybinder bench pids --live 10000 --levels 1 --json
  anybinder bench pids --live 1 --levels 1 --shown 10000    only ps, pstree and the listing")]
pub struct PidsOptions {
    /// How many processes there are
    #[arg(long, value_delimiter = ',', value_name = "NUMBERS", default_value = "10000,1000000",
          value_parser = clap::value_parser!(u32).range(1..=4_000_000))]
    live: Vec<u32>,

    /// In how many namespaces each has a number
    #[arg(long, value_delimiter = ',', value_name = "NUMBERS", default_value = "1,3,32",
          value_parser = clap::value_parser!(u32).range(1..=33))]
    levels: Vec<u32>,

    /// How many processes are shown to ps and pstree, by our view and by the kernel; 0 for none
    #[arg(long, value_name = "N", default_value_t = 10_000,
          value_parser = clap::value_parser!(u32).range(0..=100_000))]
    shown: u32,

    /// How often each of them is run
    #[arg(long, value_name = "N", default_value_t = 5,
          value_parser = clap::value_parser!(u32).range(1..=100))]
    runs: u32,

    /// Where they, and who serves the view, run
    #[arg(long, value_enum, default_value = "same")]
    pin: Pin,

    /// Print one JSON object per line
    #[arg(long)]
    pub(crate) json: bool,
}

/// An operation on a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum TableOperation {
    /// Give a process its numbers.
    Allocate,
    /// Find a random process in the innermost namespace, each by itself.
    LookUp,
    /// The same, many in one read section.
    LookUpPinned,
    /// Find a random process, each by itself, while another thread gives numbers and takes them back.
    LookUpBesideWriter,
    /// The same, many in one read section.
    LookUpPinnedBesideWriter,
    /// Visit all of a namespace in order.
    Iterate,
    /// Take all numbers back.
    Destroy,
}

/// A result: nanoseconds for each process.
#[derive(Debug, Clone, Copy, Serialize)]
struct PidsRow {
    structure: &'static str,
    live: u32,
    levels: u32,
    operation: TableOperation,
    ns: f64,
}

/// How long lookups, and walks through the table, are repeated.
const LONG_ENOUGH: Duration = Duration::from_millis(50);

/// Filling a table takes as long as it takes.
const FOREVER: Duration = Duration::MAX;

/// How many different processes are looked up, if there are that many.
const LOOKUPS: usize = 1 << 16;

pub(crate) fn run(options: &PidsOptions, report: &mut BenchReport<'_>) -> Result<(), BenchError> {
    let mut table = TextTable::new([
        "structure",
        "processes",
        "namespaces",
        "allocate",
        "look up",
        "look up, pinned",
        "beside a writer",
        "pinned, beside a writer",
        "visit",
        "destroy",
    ]);
    let measures = [measure::<OurTable>, measure::<Trees>, measure::<BitmapAndHash>];
    let bar = report.progress(options.live.len() * options.levels.len() * measures.len());
    for live in &options.live {
        for levels in &options.levels {
            bar.set_message(format!("{live} processes in {levels} namespaces"));
            for measure in measures {
                let rows = measure(*live, *levels);
                for row in rows {
                    report.record(&row)?;
                }
                let names = [rows[0].structure.to_owned(), live.to_string(), levels.to_string()];
                let ns = rows.iter().map(|row| table::short_duration(Some(row.ns)));
                table.row(names.into_iter().chain(ns));
                bar.inc(1);
            }
        }
    }
    bar.finish_and_clear();
    report.table(&table)?;
    if options.shown > 0 {
        shown::run(options.shown, options.runs, options.pin, report)?;
    }
    Ok(())
}

fn measure<T: ComparedTable>(live: u32, levels: u32) -> [PidsRow; 7] {
    let row = |operation, ns| PidsRow { structure: T::NAME, live, levels, operation, ns };
    let (mut pids, mut numbers) = (T::new(levels), Vec::new());
    let allocate = median_ns(FOREVER, Some(live), || numbers.push(pids.allocate()));
    let mut random = Random::new(live);
    let wanted: Vec<u32> =
        (0..LOOKUPS.min(live as usize)).map(|_| numbers[random.index(numbers.len())]).collect();
    let look_up = look_up_alone(&pids, &wanted);
    let alone_beside_writer = beside_writer(&pids, || look_up_alone(&pids, &wanted));
    let pinned = look_up_pinned(&pids, &wanted);
    let pinned_beside_writer = beside_writer(&pids, || look_up_pinned(&pids, &wanted));
    let iterate = repeated(|| pids.visit());
    let start = Instant::now();
    pids.destroy();
    let destroy = start.elapsed().as_secs_f64() * 1e9 / f64::from(live);
    [
        row(TableOperation::Allocate, allocate),
        row(TableOperation::LookUp, look_up),
        row(TableOperation::LookUpPinned, pinned),
        row(TableOperation::LookUpBesideWriter, alone_beside_writer),
        row(TableOperation::LookUpPinnedBesideWriter, pinned_beside_writer),
        row(TableOperation::Iterate, iterate),
        row(TableOperation::Destroy, destroy),
    ]
}

/// What it takes to find a process, each by itself.
fn look_up_alone(pids: &impl ComparedTable, wanted: &[u32]) -> f64 {
    let mut wanted = wanted.iter().cycle();
    median_ns(LONG_ENOUGH, None, || {
        black_box(wanted.next().is_some_and(|number| pids.look_up(*number)));
    })
}

/// What it takes to find a process, many in one read section.
fn look_up_pinned(pids: &impl ComparedTable, wanted: &[u32]) -> f64 {
    let mut pieces = wanted.chunks(1 << 10).cycle();
    repeated(|| pieces.next().map_or(0, |numbers| pids.look_up_all(numbers)))
}

/// Measures while another thread changes the table without a pause.
fn beside_writer(pids: &impl ComparedTable, measure: impl FnOnce() -> f64) -> f64 {
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        let change = || {
            while !is_over.load(Ordering::Relaxed) {
                pids.change();
            }
        };
        let _writer = scope.spawn(change);
        let measured = measure();
        is_over.store(true, Ordering::Relaxed);
        measured
    })
}

/// The median time of each of what `act` counts.
fn repeated(mut act: impl FnMut() -> usize) -> f64 {
    let (start, mut times) = (Instant::now(), Vec::new());
    while times.is_empty() || start.elapsed() < LONG_ENOUGH {
        let start = Instant::now();
        let count = act().max(1);
        times.push(start.elapsed().as_secs_f64() * 1e9 / count as f64);
    }
    median(&mut times)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_table_is_measured_in_every_operation() {
        for rows in [
            measure::<OurTable>(100, 3),
            measure::<Trees>(100, 3),
            measure::<BitmapAndHash>(100, 1),
        ] {
            assert!(rows.iter().all(|row| row.ns > 0.0), "{rows:?}");
        }
    }
}
