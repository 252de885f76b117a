//! What a Binder driver tells of itself, as text.
//!
//! Snapshots of the core go in; out come the formats of binderfs's logs ([`state`](state()),
//! [`stats`](stats()), [`transaction_log`]), which parsers of Android read, and [`records`], which
//! tools read: one JSON object per line. Nothing here looks at the system.

#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod interface;
mod log;
mod pointers;
pub mod records;
mod state;
mod stats;

use alloc::string::String;

pub use interface::{Interfaces, Peek};
pub use log::{DeviceEntry, newest_entries, transaction_log};
pub use pointers::Pointers;
pub use state::{process_state, state, transactions};
pub use stats::stats;

/// One device of a mount at one moment.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DeviceReport {
    /// Its name.
    pub name: String,
    /// Its tables.
    pub snapshot: binder_core::Snapshot,
}

/// Text that grows line by line.
#[derive(Default)]
struct Text(String);

impl Text {
    fn put(&mut self, words: core::fmt::Arguments<'_>) {
        // Writing to a String cannot fail.
        let _ = core::fmt::Write::write_fmt(&mut self.0, words);
    }

    fn line(&mut self, words: core::fmt::Arguments<'_>) {
        self.put(words);
        self.0.push('\n');
    }
}
