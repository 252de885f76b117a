//! The output of a trace: lines for people, JSON for programs, or counts.

use std::io::{self, ErrorKind, Write};
use std::time::Duration;

use binder_trace::{
    CallTracker, LineWriter, NewProcesses, Summary, SummaryRow, TraceFilter, TraceItem,
    TraceRecord, TracedCall, note_to_json, to_json,
};

use super::method_names;
use super::stream::TraceSink;
use crate::cli::{FollowedProcesses, TraceReportOptions};
use crate::failure::{Failure, failed};
use crate::inspect::RecordTable;
use crate::log;

/// Bytes of a recording's output that are printed in one go.
const TEXT_BYTES: usize = 64 << 10;

/// How a trace is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReportForm {
    Lines,
    Json,
    Summary,
}

/// Tells a trace, record by record.
pub(super) struct Report {
    tracker: CallTracker,
    writer: LineWriter,
    summary: Summary,
    shape: ReportForm,
    /// Output that is not written yet.
    text: String,
    out: Box<dyn Write>,
    needs_reader: bool,
}

impl Report {
    /// Tells a trace to `out`, and ends the program when its reader has gone.
    pub(super) fn new(
        options: &TraceReportOptions,
        shape: ReportForm,
        max_bytes: u32,
        out: Box<dyn Write>,
    ) -> Result<Self, Failure> {
        let least = options.slower_than.map(|ms| Duration::try_from_secs_f64(ms / 1e3));
        let least = least.transpose().map_err(failed("reading --slower-than"))?;
        let filter = TraceFilter {
            pids: options.pids.clone(),
            names: options.names.clone(),
            devices: options.devices.clone(),
            interfaces: options.interfaces.clone(),
            methods: options.methods.clone(),
            least_ns: least.map(|least| u64::try_from(least.as_nanos()).unwrap_or(u64::MAX)),
            only_errors: options.errors,
            follows: match options.follow {
                None => NewProcesses::None,
                Some(FollowedProcesses::Descendants) => NewProcesses::Descendants,
                Some(FollowedProcesses::All) => NewProcesses::All,
            },
            ..TraceFilter::default()
        };
        let methods = method_names(&options.aidl, &options.codes)?;
        let max_data_bytes = usize::try_from(max_bytes).unwrap_or(usize::MAX);
        Ok(Self {
            tracker: CallTracker::default(),
            writer: LineWriter { filter, methods, max_data_bytes },
            summary: Summary::default(),
            shape,
            text: String::new(),
            out,
            needs_reader: true,
        })
    }

    /// Goes on without a reader: a command is traced, and does not end with its trace.
    pub(super) fn outlive_reader(&mut self) {
        self.needs_reader = false;
    }

    /// Writes the calls that are still under way, and the counts.
    pub(super) fn finish(mut self) -> Result<(), Failure> {
        let mut text = std::mem::take(&mut self.text);
        let pending: Vec<TracedCall> = self.tracker.take_pending().collect();
        let mut pending_count = 0;
        for call in &pending {
            let is_wanted = self.writer.filter.wants(call, &self.tracker, &self.writer.methods);
            pending_count += usize::from(is_wanted);
            match self.shape {
                ReportForm::Lines => self.writer.write_pending(&self.tracker, call, &mut text),
                ReportForm::Json if is_wanted => {
                    let Self { tracker, writer, summary, shape, .. } = &mut self;
                    put_call(*shape, call, tracker, writer, summary, &mut text);
                }
                ReportForm::Json | ReportForm::Summary => {}
            }
        }
        if self.shape == ReportForm::Summary {
            text = summary_text(&self.summary, pending_count);
        }
        self.print(&text)?;
        let given_up = self.tracker.given_up();
        if given_up > 0 {
            log::tell(format_args!(
                "anybinder: the ends of {given_up} calls are not told, for too many were under way"
            ));
        }
        Ok(())
    }

    /// Prints the output so far, if it is long: lines of a recording need not be printed one by one.
    pub(super) fn settle_if_full(&mut self) -> Result<(), Failure> {
        if self.text.len() >= TEXT_BYTES { self.settle() } else { Ok(()) }
    }

    fn print(&mut self, text: &str) -> Result<(), Failure> {
        if text.is_empty() {
            return Ok(());
        }
        match self.out.write_all(text.as_bytes()).and_then(|()| self.out.flush()) {
            // The reader has seen enough.
            Err(error) if error.kind() == ErrorKind::BrokenPipe => {
                if self.needs_reader {
                    std::process::exit(0);
                }
                self.out = Box::new(io::sink());
                Ok(())
            }
            other => other.map_err(failed("writing the trace")),
        }
    }
}

impl TraceSink for Report {
    /// Writes the lines that a record adds.
    fn take(&mut self, record: TraceRecord) -> Result<(), Failure> {
        if let TraceRecord::Dropped { records } = record {
            let dropped = &mut self.summary.dropped;
            *dropped = dropped.saturating_add(records);
        }
        let Self { tracker, writer, summary, shape, text, .. } = self;
        writer.filter.learn(&record, tracker);
        tracker.take(record, |tracker, item| match (*shape, &item) {
            (ReportForm::Lines, item) => writer.write(tracker, item, text),
            (_, TraceItem::Ended(call)) => {
                if writer.filter.wants(call, tracker, &writer.methods) {
                    put_call(*shape, call, tracker, writer, summary, text);
                }
            }
            (ReportForm::Json, TraceItem::Note(note)) => {
                if writer.filter.wants_note(note, tracker) {
                    text.push_str(&note_to_json(note, tracker));
                }
            }
            (ReportForm::Json | ReportForm::Summary, _) => {}
        });
        Ok(())
    }

    fn settle(&mut self) -> Result<(), Failure> {
        let text = std::mem::take(&mut self.text);
        self.print(&text)
    }
}

fn put_call(
    shape: ReportForm,
    call: &TracedCall,
    tracker: &CallTracker,
    writer: &LineWriter,
    summary: &mut Summary,
    text: &mut String,
) {
    match shape {
        ReportForm::Json => {
            text.push_str(&to_json(call, tracker, &writer.methods, writer.max_data_bytes));
        }
        ReportForm::Summary => summary.add(call, tracker, &writer.methods),
        ReportForm::Lines => {}
    }
}

/// Tables like those of strace, one by method and one by pair, and the totals.
fn summary_text(summary: &Summary, pending: usize) -> String {
    let by_method = latency_table("METHOD", &summary.by_method());
    let by_pair = latency_table("FROM -> TO", &summary.by_pair());
    let (calls, oneways, dropped) = (summary.calls(), summary.oneways(), summary.dropped);
    let mut text = format!("{by_method}\n{by_pair}\n{calls} calls, {oneways} one-ways");
    if pending > 0 {
        text.push_str(&format!(", {pending} more under way"));
    }
    if dropped > 0 {
        text.push_str(&format!("; {dropped} records were dropped, for this reader was too slow"));
    }
    text.push('\n');
    text
}

/// Calls, errors and times under these heads.
pub(crate) fn latency_table(head: &str, rows: &[(&str, &SummaryRow)]) -> String {
    let heads =
        [">CALLS", ">ERRORS", ">TOTAL ms", ">MEAN us", ">P50 us", ">P99 us", ">BYTES", head];
    let mut table = RecordTable::new(heads);
    let us = |ns: u64| format!("{:.1}", Duration::from_nanos(ns).as_secs_f64() * 1e6);
    for (key, row) in rows {
        table.row([
            row.calls().to_string(),
            row.errors.to_string(),
            format!("{:.3}", Duration::from_nanos(row.took.total_ns()).as_secs_f64() * 1e3),
            us(row.took.mean_ns()),
            us(row.took.percentile_ns(50)),
            us(row.took.percentile_ns(99)),
            row.bytes.to_string(),
            (*key).to_owned(),
        ]);
    }
    table.text()
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use binder_trace::{MethodNames, SendKind, SendStatus, SentRecord};

    use super::*;

    fn sent(id: u32, from_pid: u32) -> TraceRecord {
        TraceRecord::Sent(SentRecord {
            at_ns: 0,
            device: "binder".into(),
            id,
            kind: SendKind::Call,
            from_pid,
            from_tid: from_pid,
            to_pid: 20,
            to_tid: 0,
            node: 1,
            handle: 1,
            code: 1,
            flags: 0,
            data_bytes: 0,
            offsets_bytes: 0,
            within: 0,
            status: SendStatus::Accepted,
            interface: None,
            data: Vec::new(),
        })
    }

    #[test]
    fn calls_under_way_that_are_wanted_and_dropped_records_are_counted() {
        let (mut told, out) = io::pipe().unwrap();
        let filter = TraceFilter { pids: vec![1], ..TraceFilter::default() };
        let mut report = Report {
            tracker: CallTracker::default(),
            writer: LineWriter { filter, methods: MethodNames::default(), max_data_bytes: 0 },
            summary: Summary::default(),
            shape: ReportForm::Summary,
            text: String::new(),
            out: Box::new(out),
            needs_reader: true,
        };
        for (id, from_pid) in [(1, 1), (2, 2), (3, 1)] {
            report.take(sent(id, from_pid)).unwrap();
        }
        // Counts of a file may be any.
        (0..2).for_each(|_| report.take(TraceRecord::Dropped { records: u64::MAX }).unwrap());
        report.finish().unwrap();
        let mut text = String::new();
        told.read_to_string(&mut text).unwrap();
        let end = "\n0 calls, 0 one-ways, 2 more under way; 18446744073709551615 records were dropped, for this reader \
                   was too slow\n";
        assert!(text.ends_with(end), "{text}");
    }
}
