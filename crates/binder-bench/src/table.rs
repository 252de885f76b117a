//! Tables for people: aligned columns, with units.

use std::fmt;

/// Rows under heads, the first column aligned to the left and the others to the right.
#[derive(Debug)]
pub(crate) struct TextTable {
    rows: Vec<Vec<String>>,
}

impl TextTable {
    pub(crate) fn new<'h>(heads: impl IntoIterator<Item = &'h str>) -> Self {
        Self { rows: vec![heads.into_iter().map(String::from).collect()] }
    }

    /// Adds a row, which has as many cells as there are heads.
    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().collect());
        debug_assert_eq!(self.rows.last().map(Vec::len), self.rows.first().map(Vec::len));
    }
}

impl fmt::Display for TextTable {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let columns = self.rows.first().map_or(0, Vec::len);
        let cells = |column| self.rows.iter().filter_map(move |row| row.get(column));
        let widths: Vec<usize> = (0..columns)
            .map(|column| cells(column).map(String::len).max().unwrap_or_default())
            .collect();
        for row in &self.rows {
            let (first, others) = row.split_first().ok_or(fmt::Error)?;
            write!(formatter, "{first:<0$}", widths[0])?;
            for (cell, width) in others.iter().zip(&widths[1..]) {
                write!(formatter, "  {cell:>width$}")?;
            }
            writeln!(formatter)?;
        }
        Ok(())
    }
}

/// The cell of what was not measured.
const NOTHING: &str = "-";

/// Writes a duration in the unit that leaves one to three digits before the point.
#[expect(clippy::cast_precision_loss, reason = "three digits are shown")]
pub(crate) fn duration(ns: Option<u64>) -> String {
    match ns {
        None => NOTHING.into(),
        Some(ns @ ..1_000) => format!("{ns} ns"),
        Some(ns @ 1_000..1_000_000) => format!("{:.1} us", ns as f64 / 1e3),
        Some(ns) => format!("{:.1} ms", ns as f64 / 1e6),
    }
}

/// Writes a duration that may be of a few nanoseconds.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "whole nanoseconds")]
pub(crate) fn short_duration(ns: Option<f64>) -> String {
    match ns {
        Some(ns) if ns < 100.0 => format!("{ns:.1} ns"),
        longer => duration(longer.map(|ns| ns.round() as u64)),
    }
}

/// Writes how many times one thing is another.
pub(crate) fn times(ratio: Option<f64>) -> String {
    ratio.map_or(NOTHING.into(), |ratio| format!("{ratio:.2} x"))
}

/// Writes a number of bytes, as bytes or in KiB.
#[expect(clippy::cast_precision_loss, reason = "one digit behind the point is shown")]
pub(crate) fn bytes(bytes: i64) -> String {
    match bytes {
        -1023..=1023 => format!("{bytes} B"),
        _ if bytes % 1024 == 0 => format!("{} KiB", bytes / 1024),
        _ => format!("{:.1} KiB", bytes as f64 / 1024.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let mut table = TextTable::new(["peer", "p50", "n"]);
        table.row(["unix".into(), duration(Some(12_340)), "9".into()]);
        table.row(["a longer one".into(), duration(None), "10000".into()]);
        let expected = "\
peer              p50      n
unix          12.3 us      9
a longer one        -  10000
";
        assert_eq!(table.to_string(), expected);
    }

    #[test]
    fn durations_change_their_unit() {
        let written =
            [0, 999, 1_000, 999_900, 1_000_000, 2_345_000_000].map(|ns| duration(Some(ns)));
        assert_eq!(written, ["0 ns", "999 ns", "1.0 us", "999.9 us", "1.0 ms", "2345.0 ms"]);
    }

    #[test]
    fn short_durations_have_a_fraction() {
        let written = [0.0, 3.13, 99.94, 123.4, 5200.0].map(|ns| short_duration(Some(ns)));
        assert_eq!(written, ["0.0 ns", "3.1 ns", "99.9 ns", "123 ns", "5.2 us"]);
    }

    #[test]
    fn bytes_are_whole_where_they_can() {
        let written = [0, 64, -1023, 4096, 65536, 1536, -2048].map(bytes);
        assert_eq!(written, ["0 B", "64 B", "-1023 B", "4 KiB", "64 KiB", "1.5 KiB", "-2 KiB"]);
    }

    #[test]
    fn what_was_not_measured_is_a_dash() {
        assert_eq!((times(None), times(Some(1.006))), ("-".into(), "1.01 x".into()));
    }
}
