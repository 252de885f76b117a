//! The file `stats`.

use alloc::string::String;
use alloc::vec::Vec;

use binder_core::{Counters, ObjectCount, ProcessView, Snapshot, WorkView};
use binder_uapi::{command_name, return_name};

use crate::{DeviceReport, TextLines};

/// The text of `stats`.
pub fn stats(devices: &[DeviceReport]) -> String {
    let mut text = TextLines::default();
    text.line(format_args!("binder stats:"));
    for (name, count) in named_counters(&sum_of_counters(devices)) {
        text.line(format_args!("{name}: {count}"));
    }
    for ObjectCount { name, active, total } in sum_of_objects(devices) {
        text.line(format_args!("{name}: active {active} total {total}"));
    }
    for device in devices {
        for process in &device.snapshot.processes {
            put_process(&mut text, &device.name, process);
        }
    }
    text.0
}

/// The counters of all processes of all devices, including those that are gone.
pub(crate) fn sum_of_counters(devices: &[DeviceReport]) -> Counters {
    totals(devices).counters
}

/// Objects of all devices by kind; kinds of which there never was one are left out.
pub(crate) fn sum_of_objects(devices: &[DeviceReport]) -> Vec<ObjectCount> {
    let mut sum = totals(devices);
    sum.objects.retain(|object| object.active > 0 || object.total > 0);
    sum.objects
}

fn totals(devices: &[DeviceReport]) -> Snapshot {
    let mut sum = Snapshot::default();
    for device in devices {
        sum.add_totals(&device.snapshot);
    }
    sum
}

/// Counters that are not zero, by their C names: commands, then returns.
pub(crate) fn named_counters(counters: &Counters) -> impl Iterator<Item = (&'static str, u32)> {
    let named = |counts: &[u32], name: fn(u8) -> Option<&'static str>| {
        let named = (0..).zip(counts).map(|(number, count)| (name(number), *count));
        named.filter_map(|(name, count)| Some((name?, count))).collect::<Vec<_>>()
    };
    let mut all = named(counters.commands(), command_name);
    all.extend(named(counters.returns(), return_name));
    all.into_iter().filter(|(_, count)| *count > 0)
}

/// Calls, one-ways and replies that wait for any thread of the process.
pub(crate) fn pending_transactions(process: &ProcessView) -> usize {
    process.todo.iter().filter(|work| matches!(work, WorkView::Transaction(_))).count()
}

fn put_process(text: &mut TextLines, context: &str, process: &ProcessView) {
    let requested = u8::from(process.has_requested_thread);
    let strong: u64 = process.references.iter().map(|it| u64::from(it.strong)).sum();
    let weak: u64 = process.references.iter().map(|it| u64::from(it.weak)).sum();
    let pages = process.pages;
    text.line(format_args!("proc {}", process.pid));
    text.line(format_args!("context {context}"));
    text.line(format_args!("  threads: {}", process.threads.len()));
    text.line(format_args!(
        "  requested threads: {requested}+{}/{}",
        process.started_threads, process.max_threads
    ));
    text.line(format_args!("  ready threads {}", process.ready_threads));
    text.line(format_args!("  free async space {}", process.oneway_room));
    text.line(format_args!("  nodes: {}", process.nodes.len()));
    text.line(format_args!("  refs: {} s {strong} w {weak}", process.references.len()));
    text.line(format_args!("  buffers: {}", process.buffers.len()));
    text.line(format_args!("  pages: {}:{}:{}", pages.in_use, pages.idle, process.absent_pages));
    text.line(format_args!("  pages high watermark: {}", process.pages_high_watermark));
    text.line(format_args!("  pending transactions: {}", pending_transactions(process)));
    for (name, count) in named_counters(&process.counters) {
        text.line(format_args!("  {name}: {count}"));
    }
}
