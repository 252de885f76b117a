//! The page of how long calls take, by interface and method.

use std::time::Instant;

use binder_trace::{CallTracker, MethodNames, Summary, TraceItem, TraceRecord};

use crate::failure::Failure;
use crate::inspect::Binderfs;
use crate::trace::{TraceSink, TraceSource, latency_table};

/// The calls since the page is shown. Nothing is traced while it is not shown.
#[derive(Default)]
pub(super) struct CallsPage {
    source: Option<TraceSource>,
    counted: CountedCalls,
}

/// Calls, counted as they end.
#[derive(Default)]
struct CountedCalls {
    tracker: CallTracker,
    methods: MethodNames,
    summary: Summary,
}

impl CallsPage {
    /// Takes the records that have come, or begins to trace.
    pub(super) fn look(&mut self, binderfs: &Binderfs) -> Result<(), Failure> {
        match &mut self.source {
            Some(source) => source.follow_until(Instant::now(), &mut self.counted),
            None => {
                self.source = Some(TraceSource::open(Some(binderfs.dir()), false)?);
                Ok(())
            }
        }
    }

    /// Ends the trace.
    pub(super) fn leave(&mut self) {
        *self = Self::default();
    }

    /// The methods that take most of the time first.
    pub(super) fn text(&self) -> String {
        let Summary { dropped, .. } = self.counted.summary;
        let mut text = latency_table("METHOD", &self.counted.summary.by_method());
        if dropped > 0 {
            text.push_str(&format!(
                "{dropped} records were missed, for this reader was too slow\n"
            ));
        }
        text
    }
}

impl TraceSink for CountedCalls {
    fn take(&mut self, record: TraceRecord) -> Result<(), Failure> {
        let Self { tracker, methods, summary } = self;
        if let TraceRecord::Dropped { records } = record {
            summary.dropped = summary.dropped.saturating_add(records);
        }
        tracker.take(record, |tracker, item| {
            if let TraceItem::Ended(call) = item {
                summary.add(&call, tracker, methods);
            }
        });
        Ok(())
    }

    fn settle(&mut self) -> Result<(), Failure> {
        Ok(())
    }
}
