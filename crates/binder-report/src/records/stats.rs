//! How often what happened.

use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::Device;
use crate::stats::{named_counters, sum_of_counters, sum_of_objects};

/// One figure.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum StatsRecord {
    /// Objects of the mount, of one kind.
    Objects {
        /// The kind, as the logs name it.
        name: String,
        /// Live ones.
        active: u64,
        /// All that ever were, modulo 2^32.
        total: u32,
    },
    /// How often a command was given, or a return read.
    Counter {
        /// The process, or `None` for all of the mount, also those that are gone.
        pid: Option<u32>,
        /// The device of the process.
        device: Option<String>,
        /// The C name of the code.
        name: String,
        /// How often, modulo 2^32.
        count: u32,
    },
}

/// The figures of a mount: all objects, all counters, then the counters of each process.
pub fn stats_records(devices: &[Device]) -> Vec<StatsRecord> {
    let objects = sum_of_objects(devices).into_iter().map(|object| StatsRecord::Objects {
        name: object.name.into(),
        active: object.active,
        total: object.total,
    });
    let all = sum_of_counters(devices);
    let of_all = named_counters(&all).map(|(name, count)| StatsRecord::Counter {
        pid: None,
        device: None,
        name: name.into(),
        count,
    });
    let of_each = devices.iter().flat_map(|device| {
        device.snapshot.processes.iter().flat_map(|process| {
            named_counters(&process.counters).map(|(name, count)| StatsRecord::Counter {
                pid: Some(process.pid),
                device: Some(device.name.clone()),
                name: name.into(),
                count,
            })
        })
    });
    objects.chain(of_all).chain(of_each).collect()
}
