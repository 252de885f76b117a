//! Records for tools: one JSON object per line, with keys in `snake_case`.
//!
//! The driver writes them and tools read them, by the same types. They hold less than the logs: no
//! address of any process.

mod calls;
mod events;
mod processes;
mod state;
mod stats;

use alloc::string::String;

use binder_core::WorkView;
use serde::Serialize;
use serde::de::DeserializeOwned;

pub use calls::{CallKind, CallRecord, Stage, calls};
pub use events::{EventRecord, NO_MANAGER};
pub use processes::{ProcessRecord, processes};
pub use state::{StateRecord, state_records};
pub use stats::{MemoryRecord, Share, StatsRecord, stats_records};

/// How much work waits in queues. A completion does not count: it tells a thread about its own send, and may wait for
/// the thread's next read.
fn count_work<'a>(todo: impl Iterator<Item = &'a WorkView>) -> usize {
    todo.filter(|work| !matches!(work, WorkView::TransactionComplete)).count()
}

/// Writes records as lines.
pub fn to_lines<T: Serialize>(records: impl IntoIterator<Item = T>) -> String {
    let mut lines = String::new();
    for record in records {
        // Records are plain values: writing one into memory does not fail.
        if let Ok(line) = serde_json::to_string(&record) {
            lines.push_str(&line);
            lines.push('\n');
        }
    }
    lines
}

/// Reads one line.
///
/// # Errors
///
/// When it is not a record of this kind.
pub fn from_line<T: DeserializeOwned>(line: &str) -> Result<T, serde_json::Error> {
    serde_json::from_str(line)
}
