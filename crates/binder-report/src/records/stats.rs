//! Counters, and the use of limited resources.

use alloc::collections::BTreeMap;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use binder_core::{Amounts, Resource};
use serde::{Deserialize, Serialize};

use crate::stats::{named_counters, sum_of_counters, sum_of_objects};
use crate::{DeviceReport, LockUsage};

/// One figure.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
    /// The resources of all files of one device that one user has open.
    User {
        /// The user, by the number that the driver sees.
        uid: u32,
        /// The device.
        device: String,
        /// How much of each [`Resource`] is in use, by its name.
        #[serde(flatten)]
        held: BTreeMap<String, usize>,
        /// How much of each may be in use.
        limits: BTreeMap<String, usize>,
        /// Bytes in use in the user's receive buffers.
        buffer_bytes: u64,
    },
    /// The part of the daemon's own resources that is spent for one user, on all devices.
    Share(Share),
    /// The receive buffers of all users, on all devices and mounts of the daemon.
    Memory(MemoryRecord),
    /// How the lock of a device was used.
    Lock {
        /// The device.
        device: String,
        /// How often, and for how long.
        #[serde(flatten)]
        usage: LockUsage,
    },
    /// How often a command was given, or a return read.
    Counter {
        /// The process, or `None` for all of the mount, including those that are gone.
        pid: Option<u32>,
        /// The device of the process.
        device: Option<String>,
        /// The C name of the code.
        name: String,
        /// How often, modulo 2^32.
        count: u32,
    },
}

/// The part of a resource of the daemon that is spent for a user.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Share {
    /// The user.
    pub uid: u32,
    /// The resource.
    pub name: String,
    /// How much of it.
    pub used: u32,
    /// How much may be.
    pub limit: u32,
}

/// The memory of the daemon's receive buffers, in bytes.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MemoryRecord {
    /// Of pages that have some.
    pub present_bytes: usize,
    /// Of those that live buffers touch.
    pub used_bytes: usize,
    /// How much these may have.
    pub limit_bytes: usize,
}

/// The figures of a mount: all objects, what users have, and their `shares` of the daemon, the `memory` of all,
/// the locks of the devices, all counters, then the counters of each process.
pub fn stats_records(
    devices: &[DeviceReport],
    shares: &[Share],
    memory: MemoryRecord,
) -> Vec<StatsRecord> {
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
    let by_name = |amounts: Amounts| {
        Resource::ALL.map(|resource| (resource.name().to_string(), amounts[resource])).into()
    };
    let users = devices.iter().flat_map(|device| {
        device.snapshot.users().map(|user| StatsRecord::User {
            uid: user.uid,
            device: device.name.clone(),
            held: by_name(user.held),
            limits: by_name(user.limits),
            buffer_bytes: user.buffer_bytes,
        })
    });
    let shares = shares.iter().cloned().map(StatsRecord::Share);
    let memory = [StatsRecord::Memory(memory)];
    let locks = devices.iter().filter_map(|device| {
        let (device, usage) = (device.name.clone(), device.lock?);
        Some(StatsRecord::Lock { device, usage })
    });
    objects
        .chain(users)
        .chain(shares)
        .chain(memory)
        .chain(locks)
        .chain(of_all)
        .chain(of_each)
        .collect()
}
