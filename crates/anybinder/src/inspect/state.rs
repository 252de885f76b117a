//! `anybinder state`: the driver's tables.

use std::process::ExitCode;

use binder_report::records::StateRecord;

use super::table::RecordTable;
use super::{Binderfs, print_records};
use crate::cli::StateOptions;
use crate::failure::Failure;

/// The meanings of a looper's bits, from the lowest.
const LOOPER_BITS: [&str; 6] = ["registered", "entered", "exited", "invalid", "waits", "polls"];

pub(crate) fn run(options: &StateOptions) -> Result<ExitCode, Failure> {
    let mut records: Vec<StateRecord> = Binderfs::find(&options.inspect)?.read("state.json")?;
    if options.pid.is_some() {
        records.retain(|record| owner(record) == options.pid);
    }
    let if_empty = match options.pid {
        Some(_) => "The driver knows nothing of this process.",
        None => "No process has called the driver.",
    };
    print_records(&options.inspect, &records, if_empty, to_tables)?;
    Ok(ExitCode::SUCCESS)
}

fn owner(record: &StateRecord) -> Option<u32> {
    match record {
        StateRecord::Thread { pid, .. }
        | StateRecord::Reference { pid, .. }
        | StateRecord::Buffer { pid, .. } => Some(*pid),
        StateRecord::Node { pid, .. } => *pid,
    }
}

/// A table for each kind of object of which there is one.
fn to_tables(records: &[StateRecord]) -> String {
    let mut threads =
        RecordTable::new([">PID", ">THREAD", "DEVICE", "DOOR", "LOOPER", "CALLS", ">QUEUED"]);
    let mut nodes = RecordTable::new([
        ">PID",
        ">NODE",
        "DEVICE",
        ">STRONG",
        ">LOCAL STRONG",
        ">LOCAL WEAK",
        ">IN LINE",
        "KNOWN TO",
    ]);
    let mut references = RecordTable::new([
        ">PID",
        ">HANDLE",
        "DEVICE",
        ">NODE",
        ">STRONG",
        ">WEAK",
        "OWNER",
        "DEATH LINK",
    ]);
    let mut buffers =
        RecordTable::new([">PID", ">BUFFER", "DEVICE", ">DATA", ">OFFSETS", ">EXTRA", "STATE"]);
    for record in records {
        match record {
            StateRecord::Thread { device, pid, tid, door, looper, stack, queued } => threads.row([
                pid.to_string(),
                tid.to_string(),
                device.clone(),
                door.name().into(),
                looper_words(*looper),
                list(stack),
                queued.to_string(),
            ]),
            StateRecord::Node {
                device,
                pid,
                id,
                local_strong,
                local_weak,
                strong_references,
                holders,
                waiting_oneways,
                ..
            } => nodes.row([
                pid.map_or("gone".into(), |pid| pid.to_string()),
                id.to_string(),
                device.clone(),
                strong_references.to_string(),
                local_strong.to_string(),
                local_weak.to_string(),
                waiting_oneways.to_string(),
                list(holders),
            ]),
            StateRecord::Reference {
                device,
                pid,
                handle,
                node,
                is_dead,
                strong,
                weak,
                has_death_link,
                ..
            } => references.row([
                pid.to_string(),
                handle.to_string(),
                device.clone(),
                node.to_string(),
                strong.to_string(),
                weak.to_string(),
                if *is_dead { "gone" } else { "lives" }.into(),
                if *has_death_link { "yes" } else { "no" }.into(),
            ]),
            StateRecord::Buffer {
                device,
                pid,
                id,
                data_bytes,
                offsets_bytes,
                extra_bytes,
                is_active,
                ..
            } => buffers.row([
                pid.to_string(),
                id.to_string(),
                device.clone(),
                data_bytes.to_string(),
                offsets_bytes.to_string(),
                extra_bytes.to_string(),
                if *is_active { "active" } else { "delivered" }.into(),
            ]),
        }
    }
    let tables = [
        threads.text_if_any(),
        nodes.text_if_any(),
        references.text_if_any(),
        buffers.text_if_any(),
    ];
    tables.into_iter().flatten().collect::<Vec<_>>().join("\n")
}

fn looper_words(looper: u8) -> String {
    let set = (0..).zip(LOOPER_BITS).filter(|(bit, _)| looper & (1 << bit) != 0);
    let words: Vec<_> = set.map(|(_, word)| word).collect();
    if words.is_empty() { "-".into() } else { words.join(",") }
}

fn list(numbers: &[u32]) -> String {
    let words: Vec<_> = numbers.iter().map(u32::to_string).collect();
    if words.is_empty() { "-".into() } else { words.join(",") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looper_bits_are_told_in_words() {
        assert_eq!(
            [0, 0x12, 0x29].map(looper_words),
            ["-", "entered,waits", "registered,invalid,polls"]
        );
    }
}
