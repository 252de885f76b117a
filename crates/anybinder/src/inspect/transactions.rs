//! `anybinder transactions`: calls under way.

use std::process::ExitCode;

use binder_report::WaitGraph;
use binder_report::records::{CallKind, CallRecord, Stage, StateRecord};

use super::table::RecordTable;
use super::{Binderfs, name_of, print, print_records};
use crate::cli::TransactionsOptions;
use crate::failure::Failure;

pub(crate) fn run(options: &TransactionsOptions) -> Result<ExitCode, Failure> {
    let show_graph = options.graph;
    let options = &options.inspect;
    let binderfs = Binderfs::find(options)?;
    let mut calls: Vec<CallRecord> = binderfs.read("transactions.json")?;
    if show_graph {
        let state: Vec<StateRecord> = binderfs.read("state.json")?;
        print(&WaitGraph::new(&calls, &state).to_dot(name_of))?;
        return Ok(ExitCode::SUCCESS);
    }
    calls.sort_by_key(|call| std::cmp::Reverse(call.elapsed_ms));
    print_records(options, &calls, "Nothing is under way.", to_table)?;
    Ok(ExitCode::SUCCESS)
}

fn to_table(calls: &[CallRecord]) -> String {
    let mut table = RecordTable::new([
        ">ID",
        "DEVICE",
        "KIND",
        "STATE",
        "FROM",
        "TO",
        ">CODE",
        ">BYTES",
        ">SINCE",
        "INTERFACE",
    ]);
    for call in calls {
        table.row([
            call.id.to_string(),
            call.device.clone(),
            name_of_kind(call.kind).into(),
            name_of_stage(call.stage).into(),
            party(call.from_pid, call.from_tid),
            party(call.to_pid, call.to_tid),
            code_words(call.code),
            call.data_bytes.map_or("-".into(), |bytes| bytes.to_string()),
            age(call.elapsed_ms),
            call.interface.clone().unwrap_or("-".into()),
        ]);
    }
    table.text()
}

pub(super) fn name_of_kind(kind: CallKind) -> &'static str {
    match kind {
        CallKind::Call => "call",
        CallKind::Oneway => "one-way",
        CallKind::Reply => "reply",
    }
}

fn name_of_stage(stage: Stage) -> &'static str {
    match stage {
        Stage::InLine => "in line",
        Stage::Queued => "queued",
        Stage::Served => "served",
        Stage::Abandoned => "abandoned",
    }
}

/// A process and, where it matters, its thread, with the name that it has here.
pub(super) fn party(pid: u32, tid: u32) -> String {
    match (pid, tid) {
        (0, _) => "nobody".into(),
        (pid, 0) => format!("{pid} {}", name_of(pid)),
        (pid, tid) => format!("{pid}:{tid} {}", name_of(pid)),
    }
}

/// A code as people know it: Android's own are four letters, as `_PNG` for a ping.
pub(super) fn code_words(code: u32) -> String {
    let letters = code.to_be_bytes();
    if letters[0] == b'_' && letters.iter().all(u8::is_ascii_graphic) {
        return letters.map(char::from).iter().collect();
    }
    code.to_string()
}

/// Time in the unit that people would use.
pub(super) fn age(ms: u64) -> String {
    match ms {
        0..1_000 => format!("{ms} ms"),
        1_000..60_000 => format!("{}.{} s", ms / 1_000, ms % 1_000 / 100),
        60_000..3_600_000 => format!("{} min", ms / 60_000),
        _ => format!("{} h {} min", ms / 3_600_000, ms / 60_000 % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_of_android_are_letters() {
        let written = [1, 0x5f50_4e47, 0x5f00_0001].map(code_words);
        assert_eq!(written, ["1", "_PNG", "1593835521"]);
    }

    #[test]
    fn ages_change_their_unit() {
        let written = [0, 999, 1_000, 59_999, 60_000, 3_600_000, 5_000_000].map(age);
        assert_eq!(
            written,
            ["0 ms", "999 ms", "1.0 s", "59.9 s", "1 min", "1 h 0 min", "1 h 23 min"]
        );
    }
}
