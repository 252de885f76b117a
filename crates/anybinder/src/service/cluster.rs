//! `anybinder service list --cluster`: what all machines share, as a manager knows it.

use std::process::ExitCode;
use std::time::{SystemTime, UNIX_EPOCH};

use binder::binder_impl::{IBinderInternal as _, Parcel};
use binder::{SpIBinder, StatusCode};
use serde::Serialize;
use service_manager::{
    INSTANCES_PER_ANSWER, InstanceCalls, LIST_INSTANCES_TRANSACTION, ServiceInstance,
};

use super::Asked;
use crate::failure::Failure;
use crate::inspect::{RecordTable, print};

#[derive(Serialize)]
struct ListedInstance<'a> {
    name: &'a str,
    machine: &'a str,
    address: &'a str,
    generation: i64,
    is_shared: bool,
    since_s: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    calls: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    mean_latency_ns: Option<u64>,
}

pub(super) fn list(asked: &Asked) -> Result<ExitCode, Failure> {
    let manager = asked.device.context_object().map_err(asked.failed("asking"))?;
    let instances = instances(&manager).map_err(|status| match status {
        StatusCode::UNKNOWN_TRANSACTION => Failure::new(
            format!("asking the service manager of {}", asked.path),
            "it shares no names with other machines",
        )
        .advise("`anybinder servicemanager --cluster` is one that does"),
        status => asked.failed("listing what all machines share")(status),
    })?;
    if asked.is_json {
        for it in &instances {
            asked.print_json(&ListedInstance {
                name: &it.name,
                machine: machine(&it.address),
                address: &it.address,
                generation: it.generation,
                is_shared: it.is_shared,
                since_s: it.since_s,
                calls: it.calls.map(|calls| calls.count),
                mean_latency_ns: it.calls.and_then(mean_ns),
            })?;
        }
        return Ok(ExitCode::SUCCESS);
    }
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let columns = ["NAME", "MACHINE", "INSTANCE", ">GENERATION", ">AGE", ">CALLS", ">LATENCY"];
    let mut table = RecordTable::new(columns);
    for it in &instances {
        table.row([
            it.name.clone(),
            machine(&it.address).to_owned(),
            it.address.clone(),
            it.generation.to_string(),
            age(now.saturating_sub(it.since_s)),
            it.calls.map_or_else(nothing, |calls| calls.count.to_string()),
            it.calls.and_then(mean_ns).map_or_else(nothing, latency),
        ]);
    }
    print(&table.text())?;
    Ok(ExitCode::SUCCESS)
}

/// Asks a manager, as often as one answer does not hold all.
fn instances(manager: &SpIBinder) -> Result<Vec<ServiceInstance>, StatusCode> {
    let mut all: Vec<ServiceInstance> = Vec::new();
    loop {
        let mut data =
            manager.as_remote().map_or_else(Parcel::new, |it| Parcel::for_codec(it.codec()));
        data.write(&!all.is_empty())?;
        if let Some(last) = all.last() {
            last.write(data.borrowed())?;
        }
        let reply = manager.submit_transact(LIST_INSTANCES_TRANSACTION, data, 0)?;
        let count = usize::try_from(reply.read::<i32>()?).map_err(|_| StatusCode::BAD_VALUE)?;
        for _ in 0..count {
            all.push(ServiceInstance::read(&reply)?);
        }
        if count < INSTANCES_PER_ANSWER {
            return Ok(all);
        }
    }
}

fn nothing() -> String {
    "-".to_owned()
}

/// How long a call took, in the mean; `None` if there was none.
fn mean_ns(calls: InstanceCalls) -> Option<u64> {
    calls.total_ns.checked_div(calls.count)
}

fn latency(nanoseconds: u64) -> String {
    match nanoseconds / 1000 {
        micros @ 0..10_000 => format!("{micros} us"),
        micros @ 10_000..10_000_000 => format!("{} ms", micros / 1000),
        micros => format!("{} s", micros / 1_000_000),
    }
}

/// The host of an address.
fn machine(address: &str) -> &str {
    let host = address.strip_prefix("tls://").unwrap_or(address);
    host.rsplit_once(':').map_or(host, |(host, _)| host)
}

fn age(seconds: u64) -> String {
    match seconds {
        0..120 => format!("{seconds} s"),
        120..7200 => format!("{} min", seconds / 60),
        7200..172_800 => format!("{} h", seconds / 3600),
        _ => format!("{} d", seconds / 86_400),
    }
}
