//! Looks into a driver, one after the other: the records that `ps`, `top`, `state`, `waits` and `trace` show.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

use binder_report::records::{CallRecord, StateRecord};
use serde::Serialize;

use super::calls::{CallsView, RecentCalls};
use super::frame::{self, Frame};
use crate::failure::Failure;
use crate::inspect::{Binderfs, Finding, Look, WaitMonitor};
use crate::top::{ProcessRow, Sample};
use crate::trace::TraceSource;

/// The result of one look.
#[derive(Serialize)]
struct LookView {
    /// Milliseconds since 1970, by the time of day when the first look was taken: so are those of calls.
    at_ms: u64,
    /// Since the look before.
    interval_ms: u64,
    /// The binderfs.
    dir: String,
    /// As `top --json` shows them.
    processes: Vec<ProcessRow>,
    /// As `state --json` shows them.
    threads: Vec<StateRecord>,
    /// As `transactions --json` shows them.
    calls: Vec<CallRecord>,
    /// As `waits --json` shows them.
    findings: Vec<Finding>,
    /// Calls that have ended since the look before.
    trace: CallsView,
}

/// State that is kept from one look to the next.
pub(super) struct Looks<'a> {
    binderfs: &'a Binderfs,
    before: Sample,
    at: Instant,
    /// When the first look was taken.
    began: (Instant, SystemTime),
    monitor: WaitMonitor,
    /// The trace of the time between looks, or why there is none.
    trace: Result<TraceSource, Failure>,
    seen: RecentCalls,
}

impl<'a> Looks<'a> {
    /// Looks for the first time, so that the next can tell what has changed.
    pub(super) fn start(binderfs: &'a Binderfs) -> Result<Self, Failure> {
        let trace = TraceSource::open(Some(binderfs.dir()), false);
        let at = Instant::now();
        let began = (at, SystemTime::now());
        let look = Look::take(binderfs)?;
        let monitor = WaitMonitor::new(&look);
        let before = Sample::take_with(binderfs, look.calls)?;
        Ok(Self { binderfs, before, at, began, monitor, trace, seen: RecentCalls::default() })
    }

    /// Follows the trace until it is time for a look.
    pub(super) fn wait_until(&mut self, deadline: Instant) -> Result<(), Failure> {
        match &mut self.trace {
            Ok(trace) => trace.follow_until(deadline, &mut self.seen),
            Err(_) => {
                std::thread::sleep(deadline.saturating_duration_since(Instant::now()));
                Ok(())
            }
        }
    }

    /// Looks, and makes the frame that follows the last one.
    pub(super) fn take(&mut self, last: &Frame) -> Result<Frame, Failure> {
        let at = Instant::now();
        let mut look = Look::take(self.binderfs)?;
        let calls = look.calls.clone();
        let sample = Sample::take_with(self.binderfs, calls.clone())?;
        let findings = self.monitor.find(&mut look);
        let is_thread = |record: &StateRecord| matches!(record, StateRecord::Thread { .. });
        let (threads, others) = look.state.into_iter().partition(is_thread);
        let (began, time_of_day) = self.began;
        let first_since_1970 = time_of_day.duration_since(UNIX_EPOCH).unwrap_or_default();
        let since_1970 = first_since_1970 + at.duration_since(began);
        let millis =
            |time: std::time::Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        let view = LookView {
            at_ms: millis(since_1970),
            interval_ms: millis(at.duration_since(self.at)),
            dir: self.binderfs.dir().display().to_string(),
            processes: sample.rows(&self.before),
            threads,
            calls,
            findings,
            trace: self.seen.take(self.trace.as_ref().err()),
        };
        (self.before, self.at) = (sample, at);
        Ok(last.next(&view, frame::objects(others)))
    }
}
