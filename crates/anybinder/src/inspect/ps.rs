//! `anybinder ps`: the processes that use a binder, and the RPC servers that programs publish.

use std::process::ExitCode;

use binder_report::records::ProcessRecord;
use serde::Serialize;

use super::table::RecordTable;
use super::{Binderfs, PublishedServer, name_of, print, print_records, servers_tables};
use crate::cli::{InspectOptions, PsOptions};
use crate::failure::Failure;
use crate::mounts;

/// A process of the driver, with the name that it has here.
#[derive(Debug, Serialize)]
struct NamedProcess {
    name: String,
    #[serde(flatten)]
    record: ProcessRecord,
}

pub(crate) fn run(options: &PsOptions) -> Result<ExitCode, Failure> {
    let options = &options.inspect;
    let servers = PublishedServer::all();
    let is_rpc_alone = options.dir.is_none() && !servers.is_empty() && !mounts::has_binderfs();
    if !is_rpc_alone {
        let processes = processes(options)?;
        print_records(options, &processes, "No process has a device open.", to_table)?;
    }
    if servers.is_empty() {
        return Ok(ExitCode::SUCCESS);
    }
    if !is_rpc_alone && !options.json {
        print("\n")?;
    }
    let to_tables = |servers: &[_]| servers_tables(servers, |_, session| session.mean_rate());
    print_records(options, &servers, "", to_tables)?;
    Ok(ExitCode::SUCCESS)
}

/// The records of the driver, by process and device.
fn processes(options: &InspectOptions) -> Result<Vec<NamedProcess>, Failure> {
    let mut records: Vec<ProcessRecord> = Binderfs::find(options)?.read("processes.json")?;
    records.sort_by(|a, b| (a.pid, &a.device).cmp(&(b.pid, &b.device)));
    let named = records.into_iter();
    Ok(named.map(|record| NamedProcess { name: name_of(record.pid), record }).collect())
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
