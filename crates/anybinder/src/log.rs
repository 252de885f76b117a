//! Messages on stderr. Writing there may fail and may block, and must not hold up a thread that serves.
//!
//! A process that serves requests hands each line to a queue, and one thread alone writes. The
//! reader of stderr may have gone, or have stopped reading, or keep it on a disk that is full: then
//! lines are lost, and counted, and the first that can be written again says how many. Before, in
//! the one thread that a process has while it starts, lines are written at once.
//!
//! `tracing-appender` has such a queue, but speaks up on stdout where it cannot be emptied at the end, and
//! panics if that fails too.

use std::backtrace::{Backtrace, BacktraceStatus};
use std::collections::VecDeque;
use std::env;
use std::fmt::Display;
use std::io::{self, IsTerminal, Write};
use std::panic::PanicHookInfo;
use std::sync::{Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;
use std::time::Duration;

use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::fmt;
use tracing_subscriber::prelude::*;

use crate::failure::{Failure, failed};

/// Lines that wait for the writer take this much memory at most.
const QUEUE_BYTES: usize = 256 << 10;
/// How long a process that ends waits for its last lines to be written.
const FLUSH_TIME: Duration = Duration::from_millis(500);

/// Whether messages may have colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Colors {
    /// It may at a terminal.
    AtTerminal,
    /// It may not: it goes to a file later.
    None,
}

/// Sends log lines to stderr: warnings, or more by `verbose`, or as RUST_LOG says.
pub(crate) fn start(verbose: u8, colors: Colors) {
    let level = match verbose {
        0 => LevelFilter::WARN,
        1 => LevelFilter::INFO,
        2 => LevelFilter::DEBUG,
        3.. => LevelFilter::TRACE,
    };
    let wanted = env::var("RUST_LOG").ok().and_then(|wanted| wanted.parse::<Targets>().ok());
    let filter = wanted.unwrap_or_else(|| Targets::new().with_default(level));
    let lines = fmt::layer()
        .with_ansi(colors == Colors::AtTerminal && io::stderr().is_terminal())
        .with_writer(|| Stderr)
        // It would tell of them on stderr, and panic where that fails.
        .log_internal_errors(false);
    tracing_subscriber::registry().with(filter).with(lines).init();
    std::panic::set_hook(Box::new(tell_panic));
}

/// Has a thread of its own write from now on. Processes that come of this one later lack it.
///
/// # Errors
///
/// [`Failure`] if there can be no other thread.
pub(crate) fn write_in_background() -> Result<(), Failure> {
    static QUEUE: Queue = Queue::new();
    if WRITTEN_FROM.get().is_some() {
        return Ok(());
    }
    let write = || QUEUE.write_to(&mut io::stderr());
    let started = thread::Builder::new().name("log".into()).spawn(write);
    started.map_err(failed("starting the thread of the log"))?;
    // No other code has set it: a process that serves does so once.
    let _ = WRITTEN_FROM.set(&QUEUE);
    Ok(())
}

/// Writes a line, whether or not it can be read.
pub(crate) fn tell(line: impl Display) {
    write(format!("{line}\n").into_bytes());
}

impl Failure {
    /// Writes the failure to stderr.
    pub(crate) fn print(&self) {
        let advice = match &*self.advice {
            "" => String::new(),
            advice => format!("\n  try: {advice}"),
        };
        tell(format_args!("anybinder: {self}{advice}"));
    }
}

/// Ends the process, after a moment for what was not written yet.
pub(crate) fn exit(status: i32) -> ! {
    flush();
    std::process::exit(status);
}

/// Waits a moment for what was not written yet.
pub(crate) fn flush() {
    if let Some(queue) = WRITTEN_FROM.get() {
        queue.wait_until_written(FLUSH_TIME);
    }
}

/// The queue of this process, once a thread writes its lines.
static WRITTEN_FROM: OnceLock<&Queue> = OnceLock::new();

fn write(line: Vec<u8>) {
    match WRITTEN_FROM.get() {
        Some(queue) => queue.push(line),
        // If this fails, there is no place left to report that.
        None => drop(io::stderr().write_all(&line)),
    }
}

fn tell_panic(panic: &PanicHookInfo<'_>) {
    let thread = thread::current();
    let name = thread.name().unwrap_or("<unnamed>");
    // RUST_BACKTRACE decides whether there is one.
    let trace = Backtrace::capture();
    match trace.status() {
        BacktraceStatus::Captured => tell(format_args!("thread '{name}' {panic}\n{trace}")),
        _ => tell(format_args!("thread '{name}' {panic}")),
    }
}

/// A line on its way to stderr, as the formatter of log lines sees it.
struct Stderr;

impl Write for Stderr {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        write(line.to_vec());
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Lines that wait to be written.
#[derive(Debug)]
struct Queue {
    lines: Mutex<LogLines>,
    changed: Condvar,
}

#[derive(Debug)]
struct LogLines {
    waiting: VecDeque<Vec<u8>>,
    waiting_bytes: usize,
    /// Since it was last told how many.
    lost: u64,
    is_writing: bool,
}

impl Queue {
    const fn new() -> Self {
        let lines =
            LogLines { waiting: VecDeque::new(), waiting_bytes: 0, lost: 0, is_writing: false };
        Self { lines: Mutex::new(lines), changed: Condvar::new() }
    }

    fn lock(&self) -> MutexGuard<'_, LogLines> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a line, or counts it where there is no room.
    fn push(&self, line: Vec<u8>) {
        let mut lines = self.lock();
        if lines.waiting_bytes + line.len() > QUEUE_BYTES {
            lines.lost += 1;
            return;
        }
        lines.waiting_bytes += line.len();
        lines.waiting.push_back(line);
        self.changed.notify_all();
    }

    /// Writes what comes, for ever.
    fn write_to(&self, to: &mut impl Write) {
        loop {
            self.write_next(to);
        }
    }

    /// Waits for a line and writes it, after how many were lost before it.
    fn write_next(&self, to: &mut impl Write) {
        let mut lines = self
            .changed
            .wait_while(self.lock(), |lines| lines.waiting.is_empty())
            .unwrap_or_else(PoisonError::into_inner);
        let line = lines.waiting.pop_front().unwrap_or_default();
        lines.waiting_bytes -= line.len();
        lines.is_writing = true;
        let lost = lines.lost;
        drop(lines);
        let told = match lost {
            0 => Ok(()),
            _ => writeln!(to, "anybinder: {lost} lines were lost, which could not be written here"),
        };
        let written = told.is_ok() && to.write_all(&line).is_ok();
        let mut lines = self.lock();
        lines.is_writing = false;
        if told.is_ok() {
            lines.lost -= lost;
        }
        lines.lost += u64::from(!written);
        self.changed.notify_all();
    }

    /// Waits for that long at most until nothing waits.
    fn wait_until_written(&self, time: Duration) {
        let is_busy = |lines: &mut LogLines| lines.is_writing || !lines.waiting.is_empty();
        drop(self.changed.wait_timeout_while(self.lock(), time, is_busy));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Where nothing can be written for a while, as on a disk that is full.
    #[derive(Default)]
    struct Full {
        is_full: bool,
        written: Vec<u8>,
    }

    impl Write for Full {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            if self.is_full {
                return Err(io::ErrorKind::StorageFull.into());
            }
            self.written.write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn lines_that_were_lost_are_counted_and_told_with_the_next() {
        let (queue, mut to) = (Queue::new(), Full { is_full: true, ..Full::default() });
        for line in [&b"first\n"[..], b"second\n", b"third\n"] {
            queue.push(line.to_vec());
        }
        queue.write_next(&mut to);
        queue.write_next(&mut to);
        to.is_full = false;
        queue.write_next(&mut to);
        let expected =
            "anybinder: 2 lines were lost, which could not be written here\nthird\n".to_owned();
        assert_eq!(String::from_utf8(to.written), Ok(expected));
        assert_eq!(queue.lock().lost, 0);
    }

    #[test]
    fn a_queue_that_nobody_empties_takes_no_more_than_its_bytes() {
        let queue = Queue::new();
        for _ in 0..QUEUE_BYTES / 1000 + 10 {
            queue.push(vec![b'x'; 1000]);
        }
        let lines = queue.lock();
        assert!(lines.waiting_bytes <= QUEUE_BYTES, "{}", lines.waiting_bytes);
        assert_eq!(lines.lost, 10);
    }

    #[test]
    fn who_ends_does_not_wait_for_a_writer_that_is_stuck() {
        let queue = Queue::new();
        queue.push(b"never written\n".to_vec());
        queue.wait_until_written(Duration::from_millis(1));
        assert_eq!(queue.lock().waiting.len(), 1);
    }
}
