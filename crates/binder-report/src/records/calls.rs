//! Transactions under way.

use alloc::string::String;
use alloc::vec::Vec;

use binder_core::{ProcessView, StackSide, TransactionKind, TransactionView, WorkView};
use serde::{Deserialize, Serialize};

use crate::{DeviceReport, Interfaces};

const NS_PER_MS: u64 = 1_000_000;

/// The kinds of transactions.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum CallKind {
    /// Its sender waits for a reply.
    Call,
    /// Its sender does not wait.
    Oneway,
    /// The answer to a call.
    Reply,
}

impl From<TransactionKind> for CallKind {
    fn from(kind: TransactionKind) -> Self {
        match kind {
            TransactionKind::Call => Self::Call,
            TransactionKind::Oneway => Self::Oneway,
            TransactionKind::Reply => Self::Reply,
        }
    }
}

/// How far it has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// It waits behind another one-way to the same object.
    InLine,
    /// Its receiver has not read it.
    Queued,
    /// Its receiver has read it and has not replied.
    Served,
    /// Its receiver is gone; its sender will be told.
    Abandoned,
}

/// A call, one-way or reply under way.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CallRecord {
    /// Its debug id.
    pub id: u32,
    /// The device.
    pub device: String,
    /// Whether it is a call, a one-way or a reply.
    pub kind: CallKind,
    /// How far it has come.
    pub stage: Stage,
    /// The sending process.
    pub from_pid: u32,
    /// The sending thread.
    pub from_tid: u32,
    /// The receiving process; 0 once it is gone.
    pub to_pid: u32,
    /// The receiving thread; 0 while it may be any.
    pub to_tid: u32,
    /// The debug id of the object called.
    pub node: Option<u32>,
    /// The transaction's code.
    pub code: u32,
    /// The transaction's flags.
    pub flags: u32,
    /// Since when.
    pub elapsed_ms: u64,
    /// Bytes of data, while the receiver keeps them.
    pub data_bytes: Option<u32>,
    /// The interface that it speaks, where its data shows one.
    pub interface: Option<String>,
}

/// All that is under way on a device, the oldest first.
pub fn calls(device: &DeviceReport, interfaces: &Interfaces) -> Vec<CallRecord> {
    let mut calls = Vec::new();
    for process in &device.snapshot.processes {
        for (stage, transaction) in received_by(process) {
            calls.push(record(&device.name, stage, transaction, interfaces));
        }
        let outgoing = process.threads.iter().flat_map(|thread| &thread.stack);
        for entry in outgoing.filter(|entry| entry.direction == StackSide::Outgoing) {
            if entry.transaction.to.is_none() {
                calls.push(record(&device.name, Stage::Abandoned, &entry.transaction, interfaces));
            }
        }
    }
    calls.sort_by_key(|call| core::cmp::Reverse(call.elapsed_ms));
    calls
}

/// The transactions that were sent to a process: each is at its receiver once.
fn received_by(process: &ProcessView) -> impl Iterator<Item = (Stage, &TransactionView)> {
    let in_line = process.nodes.iter().flat_map(|node| &node.waiting_oneways);
    let todo = process.threads.iter().flat_map(|it| &it.todo).chain(&process.todo);
    let queued = todo.filter_map(|work| match work {
        WorkView::Transaction(transaction) => Some(transaction),
        WorkView::TransactionError(_)
        | WorkView::TransactionComplete
        | WorkView::Node { .. }
        | WorkView::DeadBinder
        | WorkView::ClearedDeadBinder
        | WorkView::ClearedDeathNotification
        | WorkView::FrozenBinder
        | WorkView::ClearedFreezeNotification => None,
    });
    let stacks = process.threads.iter().flat_map(|thread| &thread.stack);
    let served = stacks.filter(|entry| entry.direction == StackSide::Incoming);
    in_line
        .map(|it| (Stage::InLine, it))
        .chain(queued.map(|it| (Stage::Queued, it)))
        .chain(served.map(|it| (Stage::Served, &it.transaction)))
}

fn record(
    device: &str,
    stage: Stage,
    transaction: &TransactionView,
    interfaces: &Interfaces,
) -> CallRecord {
    let buffer = transaction.buffer.as_ref();
    CallRecord {
        id: transaction.id,
        device: device.into(),
        kind: transaction.kind.into(),
        stage,
        from_pid: transaction.from_pid,
        from_tid: transaction.from_tid,
        to_pid: transaction.to_pid,
        to_tid: transaction.to_tid,
        node: buffer.and_then(|buffer| buffer.node),
        code: transaction.code,
        flags: transaction.flags,
        elapsed_ms: transaction.elapsed_ns / NS_PER_MS,
        data_bytes: buffer.map(|buffer| buffer.data_len),
        interface: interfaces.get(transaction.id).map(String::from),
    }
}
