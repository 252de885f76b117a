//! Recordings in formats of other programs.

use std::io::Write;
use std::process::ExitCode;

use binder_trace::export::{self, CallLog, DISSECTOR};

use super::{create, method_names, recording};
use crate::cli::{TraceExportOptions, TraceFormat};
use crate::failure::{Failure, failed};
use crate::inspect::print_bytes;
use crate::log;

pub(super) fn run(options: &TraceExportOptions) -> Result<ExitCode, Failure> {
    let bytes = match (&options.file, options.format) {
        (Some(file), Some(format)) => {
            let mut calls = CallLog::new(method_names(&options.aidl, &options.codes)?);
            recording::read(file, |record| {
                calls.take(record);
                Ok(())
            })?;
            calls.finish();
            if calls.dropped() > 0 {
                let (file, dropped) = (file.display(), calls.dropped());
                log::tell(format_args!("anybinder: {dropped} records are missing in {file}"));
            }
            match format {
                TraceFormat::Perfetto => export::perfetto(&calls),
                TraceFormat::Chrome => export::chrome(&calls).into_bytes(),
                TraceFormat::Pcapng => export::pcapng(&calls),
                TraceFormat::Csv => export::csv(&calls).into_bytes(),
            }
        }
        // The command line demands --dissector where one of these is missing.
        _ => DISSECTOR.into(),
    };
    match &options.output {
        Some(path) => create(path)?
            .write_all(&bytes)
            .map_err(failed(&format!("writing {}", path.display())))?,
        None => print_bytes(&bytes)?,
    }
    Ok(ExitCode::SUCCESS)
}
