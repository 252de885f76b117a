//! Where results go: tables for people, or one JSON object per line.

use std::io::Write;

use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;

use crate::error::{BenchError, failed};
use crate::table::TextTable;

/// The output of a bench.
pub(crate) struct BenchReport<'out> {
    out: &'out mut dyn Write,
    is_json: bool,
}

impl<'out> BenchReport<'out> {
    pub(crate) fn new(out: &'out mut dyn Write, is_json: bool) -> Self {
        Self { out, is_json }
    }

    /// Writes a result for programs, at once.
    pub(crate) fn record(&mut self, row: &impl Serialize) -> Result<(), BenchError> {
        if !self.is_json {
            return Ok(());
        }
        let line = serde_json::to_string(row).map_err(failed("writing a result"))?;
        self.line(&line)
    }

    /// Writes all results for people.
    pub(crate) fn table(&mut self, table: &TextTable) -> Result<(), BenchError> {
        if self.is_json { Ok(()) } else { self.line(table.to_string().trim_end()) }
    }

    /// Writes a line below the table for people.
    pub(crate) fn summary(&mut self, text: &str) -> Result<(), BenchError> {
        if self.is_json { Ok(()) } else { self.line(text) }
    }

    /// Tells people something beside the results.
    pub(crate) fn note(&mut self, text: &str) -> Result<(), BenchError> {
        if !self.is_json {
            return self.line(text);
        }
        eprintln!("{text}");
        Ok(())
    }

    /// Makes a progress bar of `steps` on the terminal, if there is one.
    ///
    /// It draws only when it is moved on, from this thread: a bench must be able to fork.
    pub(crate) fn progress(&self, steps: usize) -> ProgressBar {
        if self.is_json {
            return ProgressBar::hidden();
        }
        let style = ProgressStyle::with_template("{bar:40} {percent:>3}% {msg}, {eta} left")
            .expect("a constant template");
        ProgressBar::new(steps as u64).with_style(style)
    }

    /// Writes and flushes, so that a child forked later has nothing left to write.
    fn line(&mut self, line: &str) -> Result<(), BenchError> {
        writeln!(self.out, "{line}")
            .and_then(|()| self.out.flush())
            .map_err(failed("writing results"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(is_json: bool) -> String {
        #[derive(Serialize)]
        struct Row {
            p50_ns: u64,
        }
        let mut out = Vec::new();
        let mut report = BenchReport::new(&mut out, is_json);
        let mut table = TextTable::new(["p50"]);
        table.row(["7 ns".into()]);
        report.record(&Row { p50_ns: 7 }).unwrap();
        report.table(&table).unwrap();
        report.note("only people read this").unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn people_get_tables_and_programs_get_lines() {
        assert_eq!(written(false), "p50 \n7 ns\nonly people read this\n");
        assert_eq!(written(true), "{\"p50_ns\":7}\n");
    }
}
