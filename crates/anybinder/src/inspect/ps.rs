//! `anybinder ps`: the processes that use a binder.

use std::process::ExitCode;

use binder_report::records::ProcessRecord;
use serde::Serialize;

use super::table::RecordTable;
use super::{Binderfs, name_of, print_records};
use crate::cli::PsOptions;
use crate::failure::Failure;

/// A process of the driver, with the name that it has here.
#[derive(Debug, Serialize)]
struct NamedProcess {
    name: String,
    #[serde(flatten)]
    record: ProcessRecord,
}

pub(crate) fn run(options: &PsOptions) -> Result<ExitCode, Failure> {
    let options = &options.inspect;
    let mut records: Vec<ProcessRecord> = Binderfs::find(options)?.read("processes.json")?;
    records.sort_by(|a, b| (a.pid, &a.device).cmp(&(b.pid, &b.device)));
    let processes: Vec<_> = records
        .into_iter()
        .map(|record| NamedProcess { name: name_of(record.pid), record })
        .collect();
    print_records(options, &processes, "No process has a device open.", to_table)?;
    Ok(ExitCode::SUCCESS)
}

fn to_table(processes: &[NamedProcess]) -> String {
    let mut table = RecordTable::new([
        ">PID", "NAME", "DEVICE", "DOOR", ">THREADS", ">IDLE", ">NODES", ">HANDLES", ">QUEUED",
        ">BUFFERS", ">BYTES", ">SERVING", ">WAITING",
    ]);
    for NamedProcess { name, record } in processes {
        table.row([
            record.pid.to_string(),
            name.clone(),
            record.device.clone(),
            record.door.name().into(),
            record.threads.to_string(),
            record.ready_threads.to_string(),
            record.nodes.to_string(),
            record.handles.to_string(),
            (record.queued + record.waiting_oneways).to_string(),
            record.buffers.to_string(),
            record.buffer_bytes.to_string(),
            record.incoming_calls.to_string(),
            record.outgoing_calls.to_string(),
        ]);
    }
    table.text()
}
