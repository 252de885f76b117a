//! All tables, object by object.

use alloc::string::String;
use alloc::vec::Vec;

use binder_core::{NodeView, ProcessView};
use serde::{Deserialize, Serialize};

use super::count_work;
use crate::{DeviceReport, Door};

/// One object of the driver.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum StateRecord {
    /// A thread that has called the driver.
    Thread {
        /// The device.
        device: String,
        /// The process.
        pid: u32,
        /// The thread.
        tid: u32,
        /// How its process makes its calls.
        #[serde(default)]
        door: Door,
        /// Looper bits: 1 registered, 2 entered, 4 exited, 8 invalid, 16 waits in a read, 32 polls.
        looper: u8,
        /// The debug ids of calls that it waits for or serves, the innermost first.
        stack: Vec<u32>,
        /// Items that only it may read.
        queued: usize,
    },
    /// An object on offer.
    Node {
        /// The device.
        device: String,
        /// Its owner; `None` once that is gone.
        pid: Option<u32>,
        /// Its debug id.
        id: u32,
        /// Its owner was told of a strong reference.
        has_strong: bool,
        /// Its owner was told of a weak reference.
        has_weak: bool,
        /// Strong counts within the owner.
        local_strong: u32,
        /// Weak counts within the owner.
        local_weak: u32,
        /// Strong references of others.
        strong_references: u32,
        /// The processes that refer to it.
        holders: Vec<u32>,
        /// A one-way to it is queued or being handled.
        has_oneway_in_flight: bool,
        /// One-ways behind that.
        waiting_oneways: usize,
    },
    /// A handle.
    Reference {
        /// The device.
        device: String,
        /// The process.
        pid: u32,
        /// Its debug id.
        id: u32,
        /// The number by which the process knows it.
        handle: u32,
        /// The debug id of the object.
        node: u32,
        /// The object's owner is gone.
        is_dead: bool,
        /// Strong counts.
        strong: u32,
        /// Weak counts.
        weak: u32,
        /// The process wants to hear of the owner's end.
        has_death_link: bool,
    },
    /// A piece of a receive area.
    Buffer {
        /// The device.
        device: String,
        /// The process.
        pid: u32,
        /// The debug id of its transaction.
        id: u32,
        /// The debug id of the object called.
        node: Option<u32>,
        /// Bytes of data.
        data_bytes: u32,
        /// Bytes of offsets.
        offsets_bytes: u32,
        /// Bytes of the rest.
        extra_bytes: u32,
        /// Its transaction has not come to its end.
        is_active: bool,
    },
}

/// The objects of all devices.
pub fn state_records(devices: &[DeviceReport]) -> Vec<StateRecord> {
    let mut records = Vec::new();
    for DeviceReport { name, snapshot, doors, lock: _ } in devices {
        records.extend(snapshot.dead_nodes.iter().map(|it| node(name, None, it)));
        for process in &snapshot.processes {
            put_process(&mut records, name, process, doors.of(process.key));
        }
    }
    records
}

fn put_process(records: &mut Vec<StateRecord>, name: &str, process: &ProcessView, door: Door) {
    let pid = process.pid;
    let device = || String::from(name);
    records.extend(process.threads.iter().map(|it| StateRecord::Thread {
        device: device(),
        pid,
        tid: it.tid,
        door,
        looper: it.looper,
        stack: it.stack.iter().map(|entry| entry.transaction.id).collect(),
        queued: count_work(it.todo.iter()),
    }));
    records.extend(process.nodes.iter().map(|it| node(name, Some(pid), it)));
    records.extend(process.references.iter().map(|it| StateRecord::Reference {
        device: device(),
        pid,
        id: it.id,
        handle: it.handle,
        node: it.node,
        is_dead: it.is_dead,
        strong: it.strong,
        weak: it.weak,
        has_death_link: it.death.is_some(),
    }));
    records.extend(process.buffers.iter().map(|it| StateRecord::Buffer {
        device: device(),
        pid,
        id: it.id,
        node: it.node,
        data_bytes: it.data_len,
        offsets_bytes: it.offsets_len,
        extra_bytes: it.extra_len,
        is_active: it.is_active,
    }));
}

fn node(device: &str, pid: Option<u32>, node: &NodeView) -> StateRecord {
    StateRecord::Node {
        device: device.into(),
        pid,
        id: node.id,
        has_strong: node.has_strong,
        has_weak: node.has_weak,
        local_strong: node.local_strong,
        local_weak: node.local_weak,
        strong_references: node.strong_references,
        holders: node.holders.clone(),
        has_oneway_in_flight: node.has_oneway_in_flight,
        waiting_oneways: node.waiting_oneways.len(),
    }
}
