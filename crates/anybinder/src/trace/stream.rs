//! The stream of a driver's records, and the command that runs meanwhile.

use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read};
use std::os::fd::AsFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use binder_os::processes::{self, Child, Fork, Signal};
use binder_os::readiness::{self, Readiness};
use binder_os::signals::{Sender, SignalStream};
use binder_trace::{RecordStream, TraceRecord};

use crate::failure::{Failure, failed};
use crate::inspect::{Binderfs, binderfs_at};
use crate::log;
use crate::world::{PASSED_ON, become_command};

const O_NONBLOCK: i32 = 0o4000;
/// Bytes that are read in one go.
const READ_BYTES: usize = 64 << 10;

/// A receiver of records.
pub(crate) trait TraceSink {
    /// Takes one.
    fn take(&mut self, record: TraceRecord) -> Result<(), Failure>;

    /// Writes out the records that were taken: the next one may be long in coming.
    fn settle(&mut self) -> Result<(), Failure>;
}

/// The trace of a driver.
pub(crate) struct TraceSource {
    file: File,
    path: PathBuf,
    records: RecordStream,
    /// Whether anything has happened on the traced devices.
    has_events: bool,
}

impl TraceSource {
    /// Opens the trace of a binderfs, which has all events from here on.
    pub(crate) fn open(dir: Option<&Path>, with_data: bool) -> Result<Self, Failure> {
        let binderfs = Binderfs::at(binderfs_at(dir)?);
        let name = if with_data { "trace_data.stream" } else { "trace.stream" };
        let path = binderfs.record_path(name);
        let opened = OpenOptions::new().read(true).custom_flags(O_NONBLOCK).open(&path);
        let file = opened.map_err(|error| match error.kind() {
            ErrorKind::PermissionDenied if with_data => {
                Failure::new(format!("reading {}", path.display()), &error).advise(
                    "this binderfs does not tell the data of calls; mount it with --trace-data, or trace without \
                     --max-bytes",
                )
            }
            _ => binderfs.explain(&path, &error),
        })?;
        Ok(Self { file, path, records: RecordStream::default(), has_events: false })
    }

    /// Hands each record to `sink`, until `command` ends, or, if there is none, a signal comes. Returns the status to
    /// exit with.
    pub(super) fn follow(
        mut self,
        command: &[OsString],
        sink: &mut impl TraceSink,
    ) -> Result<u8, Failure> {
        let signals = SignalStream::block(&[&[Signal::CHILD][..], &PASSED_ON].concat())
            .map_err(failed("blocking signals"))?;
        let child = start(command, &signals)?;
        loop {
            let files = [self.file.as_fd(), signals.as_fd()].map(|it| (it, Readiness::Read));
            let ready = readiness::wait(&files, None).map_err(failed("waiting for the driver"))?;
            if ready[0]
                && let Err(failure) = self.read_some(sink)
            {
                return Err(match child {
                    None => failure,
                    Some(child) => go_on_untraced(&failure, child, &signals),
                });
            }
            if ready[1] {
                let arrived = signals.next().map_err(failed("waiting for signals"))?;
                if let Some(status) = react(arrived.signal, arrived.sender, child)? {
                    // The events until now: a read that is not full had the last, and others may go on for ever.
                    while self.read_some(sink)? == READ_BYTES {}
                    if child.is_some() && !self.has_events {
                        tell_nothing_happened();
                    }
                    return Ok(status);
                }
            }
        }
    }

    /// Hands records to `sink` until the time is over.
    pub(crate) fn follow_until(
        &mut self,
        deadline: Instant,
        sink: &mut impl TraceSink,
    ) -> Result<(), Failure> {
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let file = [(self.file.as_fd(), Readiness::Read)];
            let ready =
                readiness::wait(&file, Some(left)).map_err(failed("waiting for the driver"))?;
            if ready[0] {
                self.read_some(sink)?;
            }
            if Instant::now() >= deadline {
                return Ok(());
            }
        }
    }

    /// Hands the records of one read to `sink`. Returns how many bytes were read.
    fn read_some(&mut self, sink: &mut impl TraceSink) -> Result<usize, Failure> {
        let mut bytes = vec![0; READ_BYTES];
        let tried = || format!("reading {}", self.path.display());
        let len = match self.file.read(&mut bytes) {
            Ok(0) => return Err(Failure::new(tried(), "the driver has ended")),
            Ok(len) => len,
            Err(error)
                if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) =>
            {
                0
            }
            Err(error) => {
                return Err(Failure::new(tried(), error).advise("the driver may have ended"));
            }
        };
        self.records.push(&bytes[..len]);
        loop {
            let next = self.records.next_record().map_err(|error| {
                Failure::new("understanding the driver", error)
                    .advise("driver and tool may be of different versions; use the same for both")
            })?;
            match next {
                Some(record) => {
                    let is_introduction =
                        matches!(record, TraceRecord::Clock { .. } | TraceRecord::Named { .. });
                    self.has_events |= !is_introduction;
                    sink.take(record)?;
                }
                None => return sink.settle().map(|()| len),
            }
        }
    }
}

/// Says why a trace is empty: its user may not know that the command has its devices elsewhere.
fn tell_nothing_happened() {
    log::tell(format_args!(
        "anybinder: nothing happened on the traced devices; those of a world that the command makes itself, as \
         `anybinder run` and `anybinder demo` do, are not among them"
    ));
}

/// Starts the command, if there is one.
fn start(command: &[OsString], signals: &SignalStream) -> Result<Option<Child>, Failure> {
    let Some((program, arguments)) = command.split_first() else { return Ok(None) };
    let this = std::process::id();
    match processes::fork().map_err(failed("starting a process"))? {
        Fork::Child => {
            let mut program = Command::new(program);
            become_command(program.args(arguments), this, &signals.mask_before())
        }
        Fork::Parent(child) => Ok(Some(child)),
    }
}

/// Waits for the end of the command although its trace has ended: the command must not fail because of its tracer.
fn go_on_untraced(failure: &Failure, child: Child, signals: &SignalStream) -> Failure {
    failure.print();
    log::tell(format_args!("anybinder: the command goes on, and is traced no more"));
    let waited = loop {
        let arrived = signals.next().map_err(failed("waiting for signals"));
        match arrived.and_then(|it| react(it.signal, it.sender, Some(child))) {
            Ok(None) => {}
            Ok(Some(_)) => break Ok(()),
            Err(failure) => break Err(failure),
        }
    };
    waited
        .err()
        .unwrap_or_else(|| Failure::new("tracing the command", "a part is missing, see above"))
}

/// Reacts to a signal. Returns the status to exit with, if it ends the program.
fn react(signal: Signal, sender: Sender, child: Option<Child>) -> Result<Option<u8>, Failure> {
    let ends = [Signal::INT, Signal::TERM, Signal::HUP, Signal::QUIT];
    match (child, signal, sender) {
        (None, signal, _) => Ok(ends.contains(&signal).then_some(0)),
        (Some(child), Signal::CHILD, _) => {
            let tried = "waiting for the command";
            while let Some((pid, change)) = processes::next_change().map_err(failed(tried))? {
                if pid == child.pid()
                    && let Some(status) = change.exit_status()
                {
                    return Ok(Some(status));
                }
            }
            Ok(None)
        }
        // The terminal has sent it to the command as well.
        (Some(_), _, Sender::Kernel) => Ok(None),
        (Some(child), signal, Sender::Process) => {
            child.signal(signal).map_err(failed("passing a signal on"))?;
            Ok(None)
        }
    }
}
