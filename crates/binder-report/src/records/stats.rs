//! How often what happened.

use alloc::string::String;
use alloc::vec::Vec;

use binder_core::{Holdings, UserView};
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
    /// What all files together have that one user has open of one device.
    User {
        /// The user, as the driver sees him.
        uid: u32,
        /// The device.
        device: String,
        /// The open files.
        files: usize,
        /// Their threads.
        threads: usize,
        /// Objects that they offer.
        nodes: usize,
        /// Their handles.
        handles: usize,
        /// One-ways that they have sent and nobody has read.
        oneways: usize,
        /// Bytes in use in their receive buffers.
        buffer_bytes: u64,
        /// What their receive buffers have of memory, in bytes, also in pages that are idle.
        bytes: usize,
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

/// The figures of a mount: all objects, what users have, all counters, then the counters of each process.
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
    let users = devices.iter().flat_map(|device| {
        device.snapshot.users().map(|UserView { uid, holdings, buffer_bytes }| {
            let Holdings { files, threads, nodes, handles, oneways, bytes } = holdings;
            let device = device.name.clone();
            StatsRecord::User {
                uid,
                device,
                files,
                threads,
                nodes,
                handles,
                oneways,
                buffer_bytes,
                bytes,
            }
        })
    });
    objects.chain(users).chain(of_all).chain(of_each).collect()
}
