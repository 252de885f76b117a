//! The processes with an open device, and what each holds.

use alloc::string::String;
use alloc::vec::Vec;

use binder_core::{ProcessView, StackSide, TransactionKind, WorkView};
use serde::{Deserialize, Serialize};

use super::count_work;
use crate::{DeviceReport, Door};

const NS_PER_US: u64 = 1_000;

/// An open file of a device.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ProcessRecord {
    /// The process that opened it.
    pub pid: u32,
    /// The device.
    pub device: String,
    /// How it makes its calls.
    #[serde(default)]
    pub door: Door,
    /// Its threads that the driver knows.
    pub threads: usize,
    /// Those of them that are idle.
    pub ready_threads: usize,
    /// How many threads the driver may ask for.
    pub max_threads: u32,
    /// Objects that it offers.
    pub nodes: usize,
    /// Handles of others' objects.
    pub handles: usize,
    /// Items that wait to be read, by any thread or a certain one; completions of sends are none.
    pub queued: usize,
    /// One-ways that wait behind another to the same object.
    pub waiting_oneways: usize,
    /// Buffers in its receive area.
    pub buffers: usize,
    /// The bytes that these take.
    pub buffer_bytes: u64,
    /// The length of the receive area; 0 if it has none.
    pub area_bytes: u32,
    /// Pages of the receive area that hold buffers.
    pub pages_in_use: u32,
    /// Pages of it that have memory and hold nothing.
    pub pages_idle: u32,
    /// The longest that a call which it served took, from being sent to being answered.
    pub longest_call_us: u64,
    /// Calls that it was sent and has not answered.
    pub incoming_calls: usize,
    /// Calls that it waits for.
    pub outgoing_calls: usize,
}

/// The processes of all devices.
pub fn processes(devices: &[DeviceReport]) -> impl Iterator<Item = ProcessRecord> {
    devices.iter().flat_map(|device| {
        let DeviceReport { name, snapshot, doors, .. } = device;
        snapshot.processes.iter().map(|process| record(name, process, doors.of(process.key)))
    })
}

fn record(device: &str, process: &ProcessView, door: Door) -> ProcessRecord {
    let todo = || process.threads.iter().flat_map(|it| &it.todo).chain(&process.todo);
    let stacked: Vec<_> = process.threads.iter().flat_map(|thread| &thread.stack).collect();
    let on_stacks = |direction| stacked.iter().filter(|entry| entry.direction == direction).count();
    let is_call = |work: &&WorkView| matches!(work, WorkView::Transaction(it) if it.kind == TransactionKind::Call);
    ProcessRecord {
        pid: process.pid,
        device: device.into(),
        door,
        threads: process.threads.len(),
        ready_threads: process.ready_threads,
        max_threads: process.max_threads,
        nodes: process.nodes.len(),
        handles: process.references.len(),
        queued: count_work(todo()),
        waiting_oneways: process.nodes.iter().map(|node| node.waiting_oneways.len()).sum(),
        buffers: process.buffers.len(),
        buffer_bytes: process.buffers.iter().map(|it| u64::from(it.slot_len)).sum(),
        area_bytes: process.area_bytes,
        pages_in_use: process.pages.in_use,
        pages_idle: process.pages.idle,
        longest_call_us: process.longest_call_ns / NS_PER_US,
        incoming_calls: on_stacks(StackSide::Incoming) + todo().filter(is_call).count(),
        outgoing_calls: on_stacks(StackSide::Outgoing),
    }
}
