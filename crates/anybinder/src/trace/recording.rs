//! Traces in files: made, shown and counted.

use std::fs::File;
use std::io::{Read, Write, stdout};
use std::path::Path;
use std::process::ExitCode;

use binder_trace::{RecordingReader, TraceRecord, recording_block, recording_head};

use super::report::{Report, ReportForm};
use super::stream::{TraceSink, TraceSource};
use super::{ARGUMENT_BYTES, create, world_for};
use crate::cli::{TraceRecordOptions, TraceReportOptions, TraceShowOptions, TraceStatsOptions};
use crate::failure::{Failure, failed};
use crate::log;
use crate::run;

/// A block has not many more bytes than this.
const BLOCK_BYTES: usize = 256 << 10;
/// Bytes that are read in one go.
const PIECE_BYTES: usize = 256 << 10;

/// Records a trace in a file.
pub(super) fn record(options: &TraceRecordOptions) -> Result<ExitCode, Failure> {
    let dir = options.dir.as_deref();
    if let Some(world) = world_for(&options.traced, dir, &[])? {
        return run::run(&world);
    }
    let max_data_bytes = usize::try_from(options.max_bytes).unwrap_or(usize::MAX);
    let source = TraceSource::open(dir, max_data_bytes > 0)?;
    let mut recorder = Recorder::create(&options.file, max_data_bytes)?;
    let followed = source.follow(&options.traced.command, &mut recorder);
    let Recorder { written, dropped, .. } = recorder;
    let lost = match dropped {
        0 => String::new(),
        dropped => format!("; {dropped} were dropped, for this reader was too slow"),
    };
    // Also when the driver has ended: the file has all records until then.
    log::tell(format_args!("anybinder: {written} records are in {}{lost}", options.file.display()));
    followed.map(ExitCode::from)
}

/// A file that records are written to, a block at a time.
struct Recorder {
    file: File,
    tried: String,
    max_data_bytes: usize,
    /// Records of the next block.
    content: Vec<u8>,
    taken: u64,
    /// How many of those are in the file.
    written: u64,
    dropped: u64,
}

impl Recorder {
    fn create(path: &Path, max_data_bytes: usize) -> Result<Self, Failure> {
        let mut file = create(path)?;
        let tried = format!("writing {}", path.display());
        file.write_all(&recording_head()).map_err(failed(&tried))?;
        Ok(Self {
            file,
            tried,
            max_data_bytes,
            content: Vec::new(),
            taken: 0,
            written: 0,
            dropped: 0,
        })
    }
}

impl TraceSink for Recorder {
    fn take(&mut self, mut record: TraceRecord) -> Result<(), Failure> {
        match &mut record {
            TraceRecord::Sent(sent) => sent.data.truncate(self.max_data_bytes),
            TraceRecord::Dropped { records } => {
                self.dropped = self.dropped.saturating_add(*records)
            }
            _ => {}
        }
        self.taken += 1;
        record.encode(&mut self.content);
        if self.content.len() >= BLOCK_BYTES { self.settle() } else { Ok(()) }
    }

    fn settle(&mut self) -> Result<(), Failure> {
        if self.content.is_empty() {
            return Ok(());
        }
        // In one write, so that a kill leaves the whole of it or next to nothing.
        let written = self.file.write_all(&recording_block(&self.content));
        self.content.clear();
        written.map_err(failed(&self.tried))?;
        self.written = self.taken;
        Ok(())
    }
}

/// Shows a recording as a trace.
pub(super) fn show(options: &TraceShowOptions) -> Result<ExitCode, Failure> {
    let shape = match (options.report.counts, options.json) {
        (true, _) => ReportForm::Summary,
        (false, true) => ReportForm::Json,
        (false, false) => ReportForm::Lines,
    };
    let of_arguments = if options.report.aidl.is_empty() { 0 } else { ARGUMENT_BYTES };
    tell(&options.file, &options.report, shape, options.max_bytes.unwrap_or(of_arguments))
}

/// Counts the calls of a recording.
pub(super) fn stats(options: &TraceStatsOptions) -> Result<ExitCode, Failure> {
    tell(&options.file, &options.report, ReportForm::Summary, 0)
}

fn tell(
    path: &Path,
    options: &TraceReportOptions,
    shape: ReportForm,
    max_bytes: u32,
) -> Result<ExitCode, Failure> {
    let mut report = Report::new(options, shape, max_bytes, Box::new(stdout()))?;
    read(path, |record| {
        report.take(record)?;
        report.settle_if_full()
    })?;
    report.finish()?;
    Ok(ExitCode::SUCCESS)
}

/// Hands each record of a recording to `take`, and says so if some of it is damaged.
pub(super) fn read(
    path: &Path,
    mut take: impl FnMut(TraceRecord) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let tried = format!("reading {}", path.display());
    let mut file = File::open(path).map_err(failed(&tried))?;
    let mut piece = Vec::with_capacity(PIECE_BYTES);
    let mut next_piece = |piece: &mut Vec<u8>| {
        piece.clear();
        let read = (&mut file).take(PIECE_BYTES as u64).read_to_end(piece);
        read.map_err(failed(&tried))
    };
    next_piece(&mut piece)?;
    let mut reader = RecordingReader::new(&piece).map_err(failed(&tried))?;
    loop {
        reader.by_ref().try_for_each(&mut take)?;
        if next_piece(&mut piece)? == 0 {
            break;
        }
        reader.push(&piece);
    }
    reader.finish();
    reader.by_ref().try_for_each(&mut take)?;
    let lost = reader.lost_bytes();
    if lost > 0 {
        let file = path.display();
        log::tell(format_args!(
            "anybinder: {lost} bytes of {file} are damaged, or were not all written"
        ));
    }
    Ok(())
}
