//! `anybinder service dump`: services tell people about themselves, into a pipe.

use std::io::{self, Read as _};
use std::process::ExitCode;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use binder::binder_impl::{IBinderInternal as _, Parcel};
use binder::{SpIBinder, StatusCode};
use serde::Serialize;

use super::Asked;
use crate::cli::{DumpPriority, ServiceDumpOptions};
use crate::failure::{Failure, failed};
use crate::inspect::print;

/// In which process is it?
const DEBUG_PID_TRANSACTION: u32 = u32::from_be_bytes(*b"_PID");
/// Every priority.
const DUMP_FLAG_PRIORITY_ALL: i32 = 15;

/// A dump as a record.
#[derive(Serialize)]
struct DumpRecord<'a> {
    name: &'a str,
    text: String,
    error: Option<String>,
}

pub(super) fn run(asked: &Asked, options: &ServiceDumpOptions) -> Result<ExitCode, Failure> {
    if let Some(name) = &options.name {
        let service = if options.wait {
            let waited = asked.device.start_thread_pool();
            waited.map_err(failed("starting a thread"))?;
            let found = asked.manager.wait(name, None);
            found.map_err(asked.failed(&format!("waiting for {name}")))?
        } else {
            Some(asked.require(name)?)
        };
        let Some(service) = service else { return Ok(ExitCode::FAILURE) };
        return dump(asked, options, name, service, &options.arguments).map(status_of);
    }
    let flags = options.priority.map_or(DUMP_FLAG_PRIORITY_ALL, flag_of);
    let names = asked.manager.list_by_priority(flags);
    let mut names = names.map_err(asked.failed("listing services"))?;
    names.sort();
    names.retain(|name| !options.skip.contains(name));
    if !asked.is_json {
        let lines: String = names.iter().map(|name| format!("  {name}\n")).collect();
        print(&format!("Currently running services:\n{lines}"))?;
    }
    if options.list {
        return Ok(ExitCode::SUCCESS);
    }
    let arguments = all_arguments(options);
    let mut is_whole = true;
    for name in &names {
        // One that has ended since is not missed.
        let Some(service) = asked.find(name)? else { continue };
        let start = Instant::now();
        if !asked.is_json {
            print(&format!("{}\nDUMP OF SERVICE {name}:\n", "-".repeat(79)))?;
        }
        is_whole &= dump(asked, options, name, service, &arguments)?;
        if !asked.is_json {
            let seconds = start.elapsed().as_secs_f64();
            print(&format!("--------- {seconds:.3}s was the duration of dumpsys {name}\n"))?;
        }
    }
    Ok(status_of(is_whole))
}

fn status_of(is_whole: bool) -> ExitCode {
    if is_whole { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn flag_of(priority: DumpPriority) -> i32 {
    match priority {
        DumpPriority::Critical => 1,
        DumpPriority::High => 2,
        DumpPriority::Normal => 4,
    }
}

/// The arguments of services if all of a priority are dumped, as by dumpsys.
fn all_arguments(options: &ServiceDumpOptions) -> Vec<String> {
    let words: &[&str] = match options.priority {
        None => &["-a"],
        Some(DumpPriority::Critical) => &["--dump-priority", "CRITICAL"],
        Some(DumpPriority::High) => &["--dump-priority", "HIGH"],
        Some(DumpPriority::Normal) => &["--dump-priority", "NORMAL", "-a"],
    };
    words.iter().map(|word| (*word).to_owned()).collect()
}

/// Dumps one service, and says whether all of it came.
fn dump(
    asked: &Asked,
    options: &ServiceDumpOptions,
    name: &str,
    service: SpIBinder,
    arguments: &[String],
) -> Result<bool, Failure> {
    let timeout = Duration::from_secs_f64(options.timeout);
    let mut text = String::new();
    let mut show = |piece: &str| {
        if asked.is_json {
            text.push_str(piece);
            return Ok(());
        }
        print(piece)
    };
    let begun = if options.pid { begin_pid(service) } else { begin_dump(service, arguments)? };
    let deadline = Instant::now() + timeout;
    let error = loop {
        match begun.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
            Ok(DumpPiece::Text(piece)) => show(&piece)?,
            Ok(DumpPiece::End(Ok(()))) => break None,
            Ok(DumpPiece::End(Err(status))) => break Some(status.to_string()),
            Err(RecvTimeoutError::Disconnected) => break None,
            Err(RecvTimeoutError::Timeout) => {
                let time = timeout.as_millis();
                show(&format!("\n*** SERVICE '{name}' DUMP TIMEOUT ({time}ms) EXPIRED ***\n\n"))?;
                break Some(StatusCode::TIMED_OUT.to_string());
            }
        }
    };
    let is_whole = error.is_none();
    if asked.is_json {
        asked.print_json(&DumpRecord { name, text, error })?;
    } else if let Some(error) = error {
        Failure::new(format!("dumping {name}"), error).print();
    }
    Ok(is_whole)
}

/// A part of a dump, or its end.
enum DumpPiece {
    Text(String),
    End(Result<(), StatusCode>),
}

/// Has a service dump into a pipe, from which a thread reads. A service that hangs holds up nothing but these threads.
fn begin_dump(service: SpIBinder, arguments: &[String]) -> Result<Receiver<DumpPiece>, Failure> {
    let (mut reader, writer) = io::pipe().map_err(failed("creating a pipe"))?;
    let (told, pieces) = mpsc::channel();
    let arguments = arguments.to_vec();
    let (read_told, called_told) = (told.clone(), told);
    let read = move || {
        let mut bytes = [0; 4096];
        while let Ok(len @ 1..) = reader.read(&mut bytes) {
            let text = String::from_utf8_lossy(&bytes[..len]).into_owned();
            if read_told.send(DumpPiece::Text(text)).is_err() {
                return;
            }
        }
    };
    let reading = thread::Builder::new().spawn(read).map_err(failed("starting a thread"))?;
    let call = move || {
        let arguments: Vec<_> = arguments.iter().map(String::as_str).collect();
        let ended = service.dump(&writer, &arguments);
        drop(writer);
        // Output that a service wrote before its answer is read before the end is reported.
        let _ = reading.join();
        // If this fails, the waiting thread has ended.
        let _ = called_told.send(DumpPiece::End(ended));
    };
    thread::Builder::new().spawn(call).map_err(failed("starting a thread"))?;
    Ok(pieces)
}

/// Asks for a service's process.
fn begin_pid(service: SpIBinder) -> Receiver<DumpPiece> {
    let (told, pieces) = mpsc::channel();
    let ask = move || {
        let data = service.as_remote().map_or_else(Parcel::new, |it| Parcel::for_codec(it.codec()));
        let asked = service.submit_transact(DEBUG_PID_TRANSACTION, data, 0);
        let pid = asked.and_then(|reply| reply.read::<i32>());
        let _ = pid.as_ref().map(|pid| told.send(DumpPiece::Text(format!("{pid}\n"))));
        let _ = told.send(DumpPiece::End(pid.map(drop)));
    };
    let _ = thread::Builder::new().spawn(ask);
    pieces
}
