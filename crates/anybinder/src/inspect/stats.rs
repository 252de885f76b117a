//! `anybinder stats`: counters, and the resources of users beside their limits.

use std::process::ExitCode;

use binder_report::records::{MemoryRecord, Share, StatsRecord};

use super::table::RecordTable;
use super::{Binderfs, print_records};
use crate::cli::StatsOptions;
use crate::failure::Failure;

pub(crate) fn run(options: &StatsOptions) -> Result<ExitCode, Failure> {
    let mut records: Vec<StatsRecord> = Binderfs::find(&options.inspect)?.read("stats.json")?;
    if let Some(wanted) = options.pid {
        records.retain(|record| match record {
            StatsRecord::Counter { pid, .. } => *pid == Some(wanted),
            StatsRecord::Objects { .. }
            | StatsRecord::User { .. }
            | StatsRecord::Share(_)
            | StatsRecord::Memory(_)
            | StatsRecord::Lock { .. } => false,
        });
    }
    let shown = |record: &StatsRecord| match record {
        StatsRecord::Counter { pid, .. } => *pid == options.pid,
        StatsRecord::Objects { .. }
        | StatsRecord::User { .. }
        | StatsRecord::Share(_)
        | StatsRecord::Memory(_)
        | StatsRecord::Lock { .. } => true,
    };
    let if_empty = match options.pid {
        Some(_) => "This process has given no command.",
        None => "Nothing has happened yet.",
    };
    print_records(&options.inspect, &records, if_empty, |records| {
        to_tables(records.iter().filter(|record| shown(record)))
    })?;
    Ok(ExitCode::SUCCESS)
}

/// Objects, users and counters, each if there are any.
fn to_tables<'a>(records: impl Iterator<Item = &'a StatsRecord> + Clone) -> String {
    let users = limits_table(records.clone());
    let mut objects = RecordTable::new(["OBJECTS", ">ACTIVE", ">TOTAL"]);
    let mut counters = RecordTable::new(["COMMAND OR RETURN", "DEVICE", ">COUNT"]);
    for record in records {
        match record {
            StatsRecord::Objects { name, active, total } => {
                objects.row([name.clone(), active.to_string(), total.to_string()]);
            }
            StatsRecord::User { .. } | StatsRecord::Share(_) | StatsRecord::Memory(_) => {}
            // Two of them tell something, what lies between: that is for tools.
            StatsRecord::Lock { .. } => {}
            StatsRecord::Counter { device, name, count, .. } => {
                let device = device.clone().unwrap_or("all".into());
                counters.row([name.clone(), device, count.to_string()]);
            }
        }
    }
    let tables = [objects.text_if_any(), users, counters.text_if_any()];
    tables.into_iter().flatten().collect::<Vec<_>>().join("\n")
}

/// The resources of users beside their limits, if there are any users.
pub(crate) fn limits_table<'a>(records: impl Iterator<Item = &'a StatsRecord>) -> Option<String> {
    let mut users = RecordTable::new([">UID", "DEVICE", "WHAT", ">USED", ">LIMIT"]);
    for record in records {
        match record {
            StatsRecord::User { uid, device, held, limits, buffer_bytes } => {
                let mut row = |what: &str, used: String, limit: Option<&usize>| {
                    let limit = limit.map_or("-".into(), usize::to_string);
                    users.row([uid.to_string(), device.clone(), what.into(), used, limit]);
                };
                for (name, used) in held {
                    row(name, used.to_string(), limits.get(name));
                }
                row("bytes in use", buffer_bytes.to_string(), None);
            }
            StatsRecord::Share(Share { uid, name, used, limit }) => users.row([
                uid.to_string(),
                "all".into(),
                format!("{name} of the daemon"),
                used.to_string(),
                limit.to_string(),
            ]),
            StatsRecord::Memory(MemoryRecord { present_bytes, used_bytes, limit_bytes }) => {
                let mut row = |what: &str, bytes: &usize, limit: String| {
                    let [all, what] = ["all", what].map(String::from);
                    users.row([all.clone(), all, what, bytes.to_string(), limit]);
                };
                row("bytes", present_bytes, limit_bytes.to_string());
                row("bytes in use", used_bytes, "-".into());
            }
            StatsRecord::Objects { .. }
            | StatsRecord::Lock { .. }
            | StatsRecord::Counter { .. } => {}
        }
    }
    users.text_if_any()
}
