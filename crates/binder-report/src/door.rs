//! The doors by which clients come to their driver.

use alloc::collections::BTreeMap;

use binder_core::ProcessKey;
use serde::{Deserialize, Serialize};

/// How a client makes its calls.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Door {
    /// By the file that it has open, through FUSE.
    #[default]
    Fuse,
    /// By memory that it shares with the driver, and by the file where that cannot serve.
    Ring,
    /// The same, and some calls, from it or to it, by memory that two clients share.
    Lane,
}

impl Door {
    /// Its name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Fuse => "fuse",
            Self::Ring => "ring",
            Self::Lane => "lane",
        }
    }
}

/// The open files of a device whose door is another than FUSE.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Doors(BTreeMap<ProcessKey, Door>);

impl Doors {
    /// Notes one, and its door.
    pub fn add(&mut self, process: ProcessKey, door: Door) {
        self.0.insert(process, door);
    }

    /// Adds those of another slice.
    pub fn append(&mut self, mut others: Self) {
        self.0.append(&mut others.0);
    }

    /// The door of an open file.
    pub fn of(&self, process: ProcessKey) -> Door {
        self.0.get(&process).copied().unwrap_or_default()
    }
}
