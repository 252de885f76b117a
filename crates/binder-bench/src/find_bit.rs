//! `find-bit`: searches in bitmaps, beside the ways that Linux has.
//!
//! No device takes part: handles, and buffers of some drivers, are found in bitmaps, and this is
//! how fast that can be.

mod areas;
#[path = "../../bitsearch/benches/find_bit/baselines.rs"]
mod baselines;
mod grid;
mod lines;
mod map;

use serde::Serialize;

use crate::error::BenchError;
use crate::find_bit::grid::{MapFill, Other, Worst};
use crate::find_bit::lines::Line;
use crate::find_bit::map::{Fill, SeededNumbers};
use crate::report::BenchReport;
use crate::table::{self, TextTable};

/// Time searches in bitmaps, beside the ways that Linux has.
///
/// The lines of Linux's `find_bit_benchmark`, and the search for areas of clear bits: as Linux does
/// it (old), as was proposed for it in 2026 (new), and as we do it. All must find the same. Then areas of
/// many lengths in maps of every kind: how fast ours is beside the others where it is the slowest.
#[derive(Debug, Clone, clap::Args)]
#[command(after_help = "\
Examples:
  anybinder bench find-bit
  anybinder bench find-bit --largest 1000000 --json")]
pub struct FindBitOptions {
    /// How many bits the largest map has; above 327680 from 10^6 on, in steps of ten
    #[arg(long, value_name = "BITS", default_value_t = 1_000_000_000,
          value_parser = clap::value_parser!(u32).range(..=MAX_BITS))]
    largest: u32,

    /// What the random bits are made of
    #[arg(long, default_value_t = 1)]
    seed: u64,

    /// Of how many seeds the worst is looked for; 0 leaves that out
    #[arg(long, value_name = "N", default_value_t = 20,
          value_parser = clap::value_parser!(u64).range(0..=1000))]
    seeds: u64,

    /// Print one JSON object per line
    #[arg(long)]
    pub(crate) json: bool,
}

/// 512 MiB.
const MAX_BITS: i64 = u32::MAX as i64;

/// A line of `find_bit_benchmark`.
#[derive(Debug, Clone, Copy, Serialize)]
struct LineRow {
    fill: Fill,
    line: Line,
    iterations: u64,
    plain_ns: u64,
    ours_ns: u64,
}

/// A search for an area.
#[derive(Debug, Clone, Copy, Serialize)]
struct AreaRow {
    fill: Fill,
    bits: usize,
    cnt: usize,
    old_ns: Option<f64>,
    new_ns: f64,
    ours_ns: f64,
    old_again: Option<u64>,
    new_again: u64,
}

/// Where ours is the slowest, of areas in maps of a kind.
#[derive(Debug, Clone, Copy, Serialize)]
struct GridRow {
    fill: MapFill,
    bits: usize,
    #[serde(flatten)]
    worst: Worst,
}

pub(crate) fn run(
    options: &FindBitOptions,
    report: &mut BenchReport<'_>,
) -> Result<(), BenchError> {
    let random = &mut SeededNumbers::new(options.seed);
    for fill in Fill::ALL {
        run_lines(fill, random, report)?;
    }
    report.summary("")?;
    let larger = (6..10).map(|power| 10usize.pow(power));
    let larger = larger.filter(|bits| *bits <= options.largest as usize);
    let larger: Vec<usize> = larger.collect();
    run_areas(&[&[lines::BITS], &larger[..]].concat(), random, report)?;
    if options.seeds > 0 {
        run_grid(&[&grid::SIZES, &larger[..]].concat(), options.seeds, report)?;
    }
    Ok(())
}

/// Looks for the places at which ours is the slowest beside the others.
fn run_grid(sizes: &[usize], seeds: u64, report: &mut BenchReport<'_>) -> Result<(), BenchError> {
    let mut table = TextTable::new([
        "zero area of",
        "fill",
        "beside",
        "least",
        "cnt",
        "start",
        "seed",
        "theirs",
        "ours",
    ]);
    let mut least: Option<GridRow> = None;
    let bar = report.progress(sizes.len() * MapFill::ALL.len());
    for &bits in sizes {
        for shape in MapFill::ALL {
            bar.set_message(format!("{bits} bits, {}", shape.name()));
            for worst in grid::measure(shape, bits, seeds_for(bits, seeds))? {
                let row = GridRow { fill: shape, bits, worst };
                report.record(&row)?;
                table.row(row.cells());
                // One bit after the other is faster where few are looked at.
                if worst.than != Other::Naive
                    && least.is_none_or(|least| worst.ratio < least.worst.ratio)
                {
                    least = Some(row);
                }
            }
            bar.inc(1);
        }
    }
    bar.finish_and_clear();
    report.summary("")?;
    report.table(&table)?;
    let Some(GridRow { fill, bits, worst }) = least else { return Ok(()) };
    let Worst { ratio, cnt, start, seed, .. } = worst;
    report.summary(&format!(
        "least beside old and new: {} at {bits} bits, {}, cnt {cnt}, start {start}, seed {seed}",
        table::times(Some(ratio)),
        fill.name(),
    ))
}

/// Of how many seeds: of large maps of one, for each takes long.
fn seeds_for(bits: usize, seeds: u64) -> u64 {
    if bits > 10_000_000 { seeds.min(1) } else { seeds }
}

/// Looks for areas in maps of these sizes.
fn run_areas(
    sizes: &[usize],
    random: &mut SeededNumbers,
    report: &mut BenchReport<'_>,
) -> Result<(), BenchError> {
    let mut table = TextTable::new([
        "zero area of",
        "fill",
        "cnt",
        "old",
        "new",
        "ours",
        "old/ours",
        "new/ours",
        "old again",
        "new again",
    ]);
    let bar = report.progress(sizes.len() * Fill::ALL.len() * areas::COUNTS.len());
    for &bits in sizes {
        for fill in Fill::ALL {
            bar.set_message(format!("{bits} bits"));
            let map = fill.map(bits, random);
            for cnt in areas::COUNTS {
                let row = area_row(fill, &map, bits, cnt)?;
                report.record(&row)?;
                table.row(row.cells());
                bar.inc(1);
            }
        }
    }
    bar.finish_and_clear();
    report.table(&table)
}

/// Measures the seven lines, and prints them as Linux does, with the baseline behind.
fn run_lines(
    fill: Fill,
    random: &mut SeededNumbers,
    report: &mut BenchReport<'_>,
) -> Result<(), BenchError> {
    let [a, b] = [(); 2].map(|()| fill.map(lines::BITS, random));
    let filled = match fill {
        Fill::Random => "random-filled bitmap",
        Fill::Sparse => "sparse bitmap",
    };
    report.summary(&format!("\nStart testing find_bit() with {filled}"))?;
    let mut table = TextTable::new(["line", "a word at a time", "ours", "gain"]);
    for line in Line::ALL {
        let measured = lines::measure(line, fill, &a, &b);
        let lines::LineTimes { plain_ns, ours_ns, iterations, plain_iterations } = measured;
        if iterations != plain_iterations {
            return Err(BenchError::WrongCount { line: line.name(), iterations, plain_iterations });
        }
        report.record(&LineRow { fill, line, iterations, plain_ns, ours_ns })?;
        report.summary(&linux_line(line, ours_ns, iterations))?;
        #[expect(clippy::cast_precision_loss, reason = "times are far below 2^52 ns")]
        let gain = plain_ns as f64 / ours_ns.max(1) as f64;
        table.row([
            line.name().into(),
            table::duration(Some(plain_ns)),
            table::duration(Some(ours_ns)),
            table::times(Some(gain)),
        ]);
    }
    report.summary("")?;
    report.table(&table)
}

/// A line as Linux prints it.
fn linux_line(line: Line, ns: u64, iterations: u64) -> String {
    let name = format!("{}:", line.name());
    format!("{name:<20}{ns:>18} ns, {iterations:>6} iterations")
}

fn area_row(fill: Fill, map: &[u64], bits: usize, cnt: usize) -> Result<AreaRow, BenchError> {
    let areas::AreaTimes { old, new, ours_ns } = areas::measure(map, bits, cnt)?;
    Ok(AreaRow {
        fill,
        bits,
        cnt,
        old_ns: old.map(|old| old.ns),
        new_ns: new.ns,
        ours_ns,
        old_again: old.map(|old| old.again),
        new_again: new.again,
    })
}

impl AreaRow {
    fn cells(&self) -> [String; 10] {
        let times = |ns: Option<f64>| table::times(ns.map(|ns| ns / self.ours_ns));
        [
            format!("{} bits", self.bits),
            match self.fill {
                Fill::Random => "random".into(),
                Fill::Sparse => "sparse".into(),
            },
            self.cnt.to_string(),
            table::short_duration(self.old_ns),
            table::short_duration(Some(self.new_ns)),
            table::short_duration(Some(self.ours_ns)),
            times(self.old_ns),
            times(Some(self.new_ns)),
            self.old_again.map_or("-".into(), |again| again.to_string()),
            self.new_again.to_string(),
        ]
    }
}

impl GridRow {
    fn cells(&self) -> [String; 9] {
        let Worst { than, ratio, cnt, start, seed, theirs_ns, ours_ns } = self.worst;
        [
            format!("{} bits", self.bits),
            self.fill.name().into(),
            format!("{than:?}").to_lowercase(),
            table::times(Some(ratio)),
            cnt.to_string(),
            start.to_string(),
            seed.to_string(),
            table::short_duration(Some(theirs_ns)),
            table::short_duration(Some(ours_ns)),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(is_json: bool) -> String {
        let mut out = Vec::new();
        let report = &mut BenchReport::new(&mut out, is_json);
        run_areas(&[4000, 9000], &mut SeededNumbers::new(1), report).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn lines_have_the_format_of_linux() {
        assert_eq!(
            linux_line(Line::FindNextBit, 733_651, 163_537),
            "find_next_bit:                  733651 ns, 163537 iterations"
        );
        assert_eq!(
            linux_line(Line::FindFirstAndBit, 7, 1),
            "find_first_and_bit:                  7 ns,      1 iterations"
        );
    }

    #[test]
    fn programs_get_a_line_for_each_area() {
        let json = written(true);
        assert_eq!(json.lines().count(), 2 * 2 * areas::COUNTS.len());
        assert!(json.starts_with(r#"{"fill":"random","bits":4000,"cnt":8,"old_ns":"#), "{json}");
    }

    #[test]
    fn the_worst_of_all_is_told_last() {
        let mut out = Vec::new();
        run_grid(&[64, 128], 1, &mut BenchReport::new(&mut out, false)).unwrap();
        let table = String::from_utf8(out).unwrap();
        let last = table.lines().last().unwrap();
        assert!(last.starts_with("least beside old and new: "), "{last}");
        assert_eq!(table.lines().count(), 3 + 2 * MapFill::ALL.len() * Other::ALL.len());
    }

    #[test]
    fn people_get_a_row_for_each_area() {
        let table = written(false);
        assert_eq!(table.lines().count(), 1 + 2 * 2 * areas::COUNTS.len());
        let row = table.lines().last().unwrap();
        assert!(row.starts_with("9000 bits") && row.contains("sparse"), "{row}");
    }
}
