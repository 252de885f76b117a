//! Reports of a Binder driver, as text.
//!
//! Snapshots of the core go in; out come the formats of binderfs's logs ([`state`](state()),
//! [`stats`](stats()), [`transaction_log`]), which parsers of Android read, and [`records`], which
//! tools read: one JSON object per line; and [`DeviceFigures`], a few numbers for each device. Nothing here looks at the
//! system.

#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod door;
mod figures;
mod interface;
mod log;
mod pointers;
pub mod records;
mod state;
mod stats;
mod waits;

use alloc::string::String;

pub use door::{Door, Doors};
pub use figures::{DeviceFigures, device_figures};
pub use interface::{Interfaces, Peek, interface_of_data};
pub use log::{DeviceEntry, newest_entries, transaction_log};
pub use pointers::Pointers;
pub use state::{process_state, state, transactions};
pub use stats::stats;
pub use waits::{ExhaustedPool, WaitGraph, WaitingThread};

/// One device of a mount at one moment.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DeviceReport {
    /// Its name.
    pub name: String,
    /// Its tables.
    pub snapshot: binder_core::Snapshot,
    /// How its clients make their calls.
    pub doors: Doors,
    /// How its lock was used; `None` for the sum of devices that are gone.
    pub lock: Option<LockUsage>,
}

/// How the lock of a device was used, since there is the device.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, serde::Serialize, serde::Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LockUsage {
    /// How often it was taken to do something for clients.
    pub holds: u64,
    /// For how long it was held then, all together.
    pub held_ns: u64,
}

/// Text that grows line by line.
#[derive(Default)]
struct TextLines(String);

impl TextLines {
    fn put(&mut self, words: core::fmt::Arguments<'_>) {
        // Writing to a String cannot fail.
        let _ = core::fmt::Write::write_fmt(&mut self.0, words);
    }

    fn line(&mut self, words: core::fmt::Arguments<'_>) {
        self.put(words);
        self.0.push('\n');
    }
}
