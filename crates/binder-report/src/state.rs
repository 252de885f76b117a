//! The files `state`, `transactions` and `proc/PID`.

use alloc::string::String;

use binder_core::{
    BufferView, NodeView, ProcessKey, ProcessView, ReferenceView, StackSide, ThreadView,
    TransactionKind, TransactionView, WorkView,
};

use crate::{DeviceReport, Pointers, TextLines};

const NS_PER_MS: u64 = 1_000_000;

/// How much of a process is told.
#[derive(Clone, Copy, PartialEq, Eq)]
enum StateExtent {
    All,
    /// Only processes and threads with transactions under way.
    Busy,
}

/// The text of `state`.
pub fn state(devices: &[DeviceReport], pointers: Pointers<'_>) -> String {
    let mut dump = Dump { text: TextLines::default(), pointers };
    dump.text.line(format_args!("binder state:"));
    let mut dead = devices.iter().flat_map(|device| &device.snapshot.dead_nodes).peekable();
    if dead.peek().is_some() {
        dump.text.line(format_args!("dead nodes:"));
    }
    for node in dead {
        dump.node(None, node);
    }
    dump.processes(devices, StateExtent::All, |_| true);
    dump.text.0
}

/// The text of `transactions`.
pub fn transactions(devices: &[DeviceReport], pointers: Pointers<'_>) -> String {
    let mut dump = Dump { text: TextLines::default(), pointers };
    dump.text.line(format_args!("binder transactions:"));
    dump.processes(devices, StateExtent::Busy, |_| true);
    dump.text.0
}

/// The text of `proc/PID`.
pub fn process_state(devices: &[DeviceReport], pid: u32, pointers: Pointers<'_>) -> String {
    let mut dump = Dump { text: TextLines::default(), pointers };
    dump.text.line(format_args!("binder proc state:"));
    dump.processes(devices, StateExtent::All, |process| process.pid == pid);
    dump.text.0
}

struct Dump<'a> {
    text: TextLines,
    pointers: Pointers<'a>,
}

impl Dump<'_> {
    fn processes(
        &mut self,
        devices: &[DeviceReport],
        extent: StateExtent,
        is_wanted: impl Fn(&ProcessView) -> bool,
    ) {
        for device in devices {
            for process in device.snapshot.processes.iter().filter(|process| is_wanted(process)) {
                self.process(&device.name, process, extent);
            }
        }
    }

    fn process(&mut self, context: &str, process: &ProcessView, extent: StateExtent) {
        let start = self.text.0.len();
        self.text.line(format_args!("proc {}", process.pid));
        self.text.line(format_args!("context {context}"));
        let header_end = self.text.0.len();
        for thread in &process.threads {
            if extent == StateExtent::All || !(thread.stack.is_empty() && thread.todo.is_empty()) {
                self.thread(process.key, thread);
            }
        }
        for node in &process.nodes {
            if extent == StateExtent::All || node.has_oneway_in_flight {
                self.node(Some(process.key), node);
            }
        }
        if extent == StateExtent::All {
            for reference in &process.references {
                self.reference(reference);
            }
        }
        for buffer in &process.buffers {
            self.buffer(buffer);
        }
        for work in &process.todo {
            self.work("  ", process.key, work);
        }
        if process.has_delivered_deaths {
            self.text.line(format_args!("  has delivered dead binder"));
        }
        if process.has_delivered_freezes {
            self.text.line(format_args!("  has delivered freeze binder"));
        }
        if extent == StateExtent::Busy && self.text.0.len() == header_end {
            self.text.0.truncate(start);
        }
    }

    fn thread(&mut self, process: ProcessKey, thread: &ThreadView) {
        let need_return = u8::from(thread.need_return);
        self.text.line(format_args!(
            "  thread {}: l {:02x} need_return {need_return} tr 0",
            thread.tid, thread.looper
        ));
        for entry in &thread.stack {
            let prefix = match entry.direction {
                StackSide::Outgoing => "    outgoing transaction",
                StackSide::Incoming => "    incoming transaction",
            };
            self.transaction(prefix, Some(process), &entry.transaction);
        }
        for work in &thread.todo {
            self.work("    ", process, work);
        }
    }

    /// A transaction; where it goes to `process`, with its data.
    fn transaction(
        &mut self,
        prefix: &str,
        process: Option<ProcessKey>,
        transaction: &TransactionView,
    ) {
        let TransactionView { id, from_pid, from_tid, to_pid, to_tid, .. } = transaction;
        let pointer = self.pointers.of_driver(u64::from(*id));
        let is_oneway = u8::from(transaction.kind == TransactionKind::Oneway);
        let is_reply = u8::from(transaction.kind == TransactionKind::Reply);
        let elapsed_ms = transaction.elapsed_ns / NS_PER_MS;
        self.text.put(format_args!(
            "{prefix} {id}: {pointer:016x} from {from_pid}:{from_tid} to {to_pid}:{to_tid} \
             code {:x} flags {:x} pri 0 a{is_oneway} r{is_reply} elapsed {elapsed_ms}ms",
            transaction.code, transaction.flags,
        ));
        if process.is_some() && transaction.to == process {
            match &transaction.buffer {
                None => self.text.put(format_args!(" buffer free")),
                Some(buffer) => {
                    if let Some(node) = buffer.node {
                        self.text.put(format_args!(" node {node}"));
                    }
                    let BufferView { data_len, offsets_len, start, .. } = buffer;
                    self.text.put(format_args!(" size {data_len}:{offsets_len} offset {start:x}"));
                }
            }
        }
        self.text.line(format_args!(""));
    }

    fn node(&mut self, owner: Option<ProcessKey>, node: &NodeView) {
        self.text.put(format_args!(
            "  node {}: u{:016x} c{:016x} hs {} hw {} ls {} lw {} is {} iw {} tr 1",
            node.id,
            self.pointers.of_client(node.ptr),
            self.pointers.of_client(node.cookie),
            u8::from(node.has_strong),
            u8::from(node.has_weak),
            node.local_strong,
            node.local_weak,
            node.strong_references,
            node.references,
        ));
        if !node.holders.is_empty() {
            self.text.put(format_args!(" proc"));
            for holder in &node.holders {
                self.text.put(format_args!(" {holder}"));
            }
        }
        self.text.line(format_args!(""));
        for oneway in &node.waiting_oneways {
            self.transaction("    pending async transaction", owner, oneway);
        }
    }

    fn reference(&mut self, reference: &ReferenceView) {
        let dead = if reference.is_dead { "dead " } else { "" };
        let death = reference.death.map_or(0, |number| self.pointers.of_driver(number));
        self.text.line(format_args!(
            "  ref {}: desc {} {dead}node {} s {} w {} d {death:016x}",
            reference.id, reference.handle, reference.node, reference.strong, reference.weak,
        ));
    }

    fn buffer(&mut self, buffer: &BufferView) {
        let BufferView { id, start, data_len, offsets_len, extra_len, .. } = buffer;
        let state = if buffer.is_active { "active" } else { "delivered" };
        self.text.line(format_args!(
            "  buffer {id}: {start:x} size {data_len}:{offsets_len}:{extra_len} {state}"
        ));
    }

    fn work(&mut self, indent: &str, process: ProcessKey, work: &WorkView) {
        match work {
            WorkView::Transaction(transaction) => {
                self.text.put(format_args!("{indent}"));
                self.transaction("pending transaction", Some(process), transaction);
            }
            WorkView::TransactionError(code) => {
                self.text.line(format_args!("{indent}transaction error: {code}"));
            }
            WorkView::TransactionComplete => {
                self.text.line(format_args!("{indent}transaction complete"));
            }
            WorkView::Node { id, ptr, cookie } => {
                let (ptr, cookie) =
                    (self.pointers.of_client(*ptr), self.pointers.of_client(*cookie));
                self.text.line(format_args!("{indent}node work {id}: u{ptr:016x} c{cookie:016x}"));
            }
            WorkView::DeadBinder => self.text.line(format_args!("{indent}has dead binder")),
            WorkView::ClearedDeadBinder => {
                self.text.line(format_args!("{indent}has cleared dead binder"));
            }
            WorkView::ClearedDeathNotification => {
                self.text.line(format_args!("{indent}has cleared death notification"));
            }
            WorkView::FrozenBinder => self.text.line(format_args!("{indent}has frozen binder")),
            WorkView::ClearedFreezeNotification => {
                self.text.line(format_args!("{indent}has cleared freeze notification"));
            }
        }
    }
}
