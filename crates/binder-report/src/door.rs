//! The doors by which clients come to their driver.

use alloc::collections::BTreeSet;

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
}

impl Door {
    /// Its name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Fuse => "fuse",
            Self::Ring => "ring",
        }
    }
}

/// The open files of a device that have a ring.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Doors(BTreeSet<ProcessKey>);

impl Doors {
    /// Notes one that has a ring.
    pub fn add_ring(&mut self, process: ProcessKey) {
        self.0.insert(process);
    }

    /// Adds those of another slice.
    pub fn append(&mut self, mut others: Self) {
        self.0.append(&mut others.0);
    }

    /// The door of an open file.
    pub fn of(&self, process: ProcessKey) -> Door {
        if self.0.contains(&process) { Door::Ring } else { Door::Fuse }
    }
}
