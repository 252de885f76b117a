//! `anybinder log`: calls that failed.

use std::io::{BufRead, BufReader};
use std::process::ExitCode;
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use binder_report::records::{EventRecord, to_lines};

use super::transactions::name_of_kind;
use super::waits::{WaitNews, WaitWatcher};
use super::{Binderfs, parse, print};
use crate::cli::{InspectOptions, LogOptions};
use crate::failure::{Failure, failed};

/// How often waits are looked at.
const LOOK_EVERY: Duration = Duration::from_secs(1);

pub(crate) fn run(options: &LogOptions) -> Result<ExitCode, Failure> {
    let binderfs = Binderfs::find(&options.inspect)?;
    if let Some(seconds) = options.waits {
        tell_waits(&options.inspect, Duration::from_secs_f64(seconds))?;
    }
    let file = if options.follow { "events.stream" } else { "events.json" };
    let mut is_empty = true;
    for line in BufReader::new(binderfs.open(file)?).lines() {
        let line = line.map_err(|error| {
            Failure::new("reading the driver's log", error)
                .advise("the driver may have ended; look at the process that mounted it")
        })?;
        is_empty = false;
        if options.inspect.json {
            print(&format!("{line}\n"))?;
        } else {
            print(&to_text(&parse(&line)?))?;
        }
    }
    if is_empty && !options.inspect.json {
        print("Nothing has gone wrong.\n")?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Starts a thread that reports calls that wait for that long, and waits that do not end, while the program runs.
fn tell_waits(options: &InspectOptions, patience: Duration) -> Result<(), Failure> {
    let (binderfs, is_json) = (Binderfs::find(options)?, options.json);
    // A mistake in the command line is told at once.
    drop(WaitWatcher::new(&binderfs, patience)?);
    let watch = move || -> Result<(), Failure> {
        let mut watcher = WaitWatcher::new(&binderfs, patience)?;
        loop {
            thread::sleep(LOOK_EVERY.min(patience));
            for news in watcher.look()? {
                print(&news_text(news, is_json))?;
            }
        }
    };
    // Once the driver has ended the reader of its events says so.
    let watch = move || drop(watch());
    thread::Builder::new().spawn(watch).map_err(failed("starting a thread"))?;
    Ok(())
}

/// A finding under the time of day, or as an object.
fn news_text(news: WaitNews, is_json: bool) -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let now = time_of_day(u64::try_from(now.as_millis()).unwrap_or_default());
    match news {
        WaitNews::Lasts(finding) if is_json => to_lines([&finding]),
        WaitNews::Lasts(finding) => format!("{now}  {}", finding.words()),
        WaitNews::Over(_) if is_json => String::new(),
        WaitNews::Over(key) => format!("{now}  over: {key}\n"),
    }
}

/// One line: time, kind, sender, receiver, reason.
fn to_text(event: &EventRecord) -> String {
    let to = match (event.to_pid, event.to_tid) {
        (None, _) => format!("handle {}", event.handle),
        (Some(pid), None) => pid.to_string(),
        (Some(pid), Some(tid)) => format!("{pid}:{tid}"),
    };
    let errno = event.errno.map(describe);
    let cause = event.reason.as_ref().or(errno.as_ref());
    let cause = cause.map_or(String::new(), |cause| format!(" ({cause})"));
    format!(
        "{}  {:<8} {:<7} {}:{} -> {to}  code {}  {} bytes  {}{cause}\n",
        time_of_day(event.unix_ms),
        event.device,
        name_of_kind(event.kind),
        event.from_pid,
        event.from_tid,
        event.code,
        event.data_bytes,
        event.error,
    )
}

/// The words for an errno, without its number.
fn describe(errno: i32) -> String {
    let error = std::io::Error::from_raw_os_error(errno);
    // The system's words speak of disks.
    if error.kind() == std::io::ErrorKind::StorageFull {
        return "no room in the receive buffer".into();
    }
    error.to_string().split(" (os error").next().unwrap_or_default().to_lowercase()
}

/// Hours, minutes, seconds and milliseconds, UTC.
fn time_of_day(unix_ms: u64) -> String {
    let (ms, seconds) = (unix_ms % 1_000, unix_ms / 1_000);
    let (hours, minutes) = (seconds / 3_600 % 24, seconds / 60 % 60);
    format!("{hours:02}:{minutes:02}:{:02}.{ms:03}", seconds % 60)
}

#[cfg(test)]
mod tests {
    use binder_report::records::CallKind;

    use super::*;

    #[test]
    fn an_event_is_a_line() {
        let event = EventRecord {
            seq: 0,
            unix_ms: 86_400_000 + 3_723_004,
            device: "binder".into(),
            error: "BR_FAILED_REPLY".into(),
            errno: Some(22),
            reason: None,
            id: 9,
            kind: CallKind::Call,
            from_pid: 7,
            from_tid: 8,
            to_pid: None,
            to_tid: None,
            node: None,
            handle: 99,
            code: 1,
            flags: 0,
            data_bytes: 16,
        };
        assert_eq!(
            to_text(&event),
            "01:02:03.004  binder   call    7:8 -> handle 99  code 1  16 bytes  \
             BR_FAILED_REPLY (invalid argument)\n"
        );
        let to = EventRecord { to_pid: Some(5), ..event };
        let undelivered = EventRecord { reason: Some("a debugger".into()), ..to.clone() };
        assert!(to_text(&undelivered).ends_with("BR_FAILED_REPLY (a debugger)\n"));
        let accepted = EventRecord { errno: None, ..to };
        assert!(to_text(&accepted).ends_with("7:8 -> 5  code 1  16 bytes  BR_FAILED_REPLY\n"));
    }
}
