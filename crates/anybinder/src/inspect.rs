//! `anybinder ps|state|stats|transactions|waits|log`: reports of a running driver.
//!
//! The driver writes records into files of its binderfs, and these subcommands only read them: they
//! need no socket, no privilege beyond that of reading, and work through any mount of the tree.

mod log;
mod ps;
mod servers;
mod state;
mod stats;
pub(crate) mod table;
mod transactions;
mod waits;

use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use binder_os::private_dev::BINDERFS_DIR;
use binder_report::records;
pub(crate) use binder_trace::printable;
use procview::Membership;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::cli::InspectOptions;
use crate::failure::{Failure, failed};
use crate::mounts;

pub(crate) use log::run as log;
pub(crate) use ps::run as ps;
pub(crate) use servers::{PublishedServer, SessionRecord, servers_tables};
pub(crate) use state::run as state;
pub(crate) use stats::{limits_table, run as stats};
pub(crate) use table::RecordTable;
pub(crate) use transactions::run as transactions;
pub(crate) use waits::run as waits;
pub(crate) use waits::{Finding, Look, WaitMonitor, waits_text};

/// Where the records are, in a binderfs.
const RECORDS_DIR: &str = "binder_logs/anybinder";

/// A binderfs to look into.
pub(crate) struct Binderfs {
    dir: PathBuf,
}

impl Binderfs {
    pub(crate) fn find(options: &InspectOptions) -> Result<Self, Failure> {
        Ok(Self::at(binderfs_at(options.dir.as_deref())?))
    }

    pub(crate) fn at(dir: PathBuf) -> Self {
        Self { dir }
    }

    /// Where a file of records is.
    pub(crate) fn record_path(&self, name: &str) -> PathBuf {
        self.dir.join(RECORDS_DIR).join(name)
    }

    pub(crate) fn dir(&self) -> &Path {
        &self.dir
    }

    fn open(&self, name: &str) -> Result<File, Failure> {
        let path = self.record_path(name);
        File::open(&path).map_err(|error| self.explain(&path, &error))
    }

    /// All records of a file.
    pub(crate) fn read<T: DeserializeOwned>(&self, name: &str) -> Result<Vec<T>, Failure> {
        let text = io::read_to_string(self.open(name)?);
        let path = self.record_path(name);
        let text = text.map_err(|error| self.explain(&path, &error))?;
        text.lines().map(parse).collect()
    }

    pub(crate) fn explain(&self, path: &Path, error: &io::Error) -> Failure {
        let dir = self.dir.display();
        // A read that is under way when the driver ends fails with the second.
        let has_ended =
            matches!(error.kind(), ErrorKind::NotConnected | ErrorKind::ConnectionAborted);
        let advice = if has_ended {
            format!("its driver has ended; `anybinder mount {dir}` serves it again")
        } else if error.kind() != ErrorKind::NotFound {
            "all users who can see the directory may read it; look at its permissions".to_owned()
        } else if !self.dir.join("binder-control").exists() {
            format!("{dir} is no binderfs; name the directory with --dir")
        } else if self.dir.join("binder_logs").exists() {
            format!("this binderfs is the kernel's own; read {dir}/binder_logs/state")
        } else {
            format!(
                "it was mounted without statistics; mount it with `anybinder mount {dir} --stats`"
            )
        };
        Failure::new(format!("reading {}", path.display()), error).advise(advice)
    }
}

/// The binderfs at `dir`, or the only one there is.
pub(crate) fn binderfs_at(dir: Option<&Path>) -> Result<PathBuf, Failure> {
    dir.map_or_else(only_mount, |dir| Ok(dir.to_owned()))
}

/// The processes that have a device of a binderfs open, by the names in its `binder_logs/proc`: the
/// driver answers for one of them, or for all, without a report of what they have.
pub(crate) struct Users {
    logs: PathBuf,
}

impl Users {
    pub(crate) fn of(dir: &Path) -> Result<Self, Failure> {
        let logs = dir.join("binder_logs/proc");
        match fs::metadata(&logs) {
            Ok(_) => Ok(Self { logs }),
            Err(error) => Err(Binderfs { dir: dir.to_owned() }.explain(&logs, &error)),
        }
    }
}

impl Membership for Users {
    fn contains(&self, pid: u32) -> bool {
        fs::symlink_metadata(self.logs.join(pid.to_string())).is_ok()
    }

    fn list(&self) -> io::Result<Vec<u32>> {
        let mut users = Vec::new();
        for entry in fs::read_dir(&self.logs)? {
            users.extend(entry?.file_name().to_str().and_then(|name| name.parse::<u32>().ok()));
        }
        Ok(users)
    }
}

/// Finds the binderfs for a user that names none.
fn only_mount() -> Result<PathBuf, Failure> {
    let found = mounts::of_binderfs().map_err(failed("listing the mounts"))?;
    if let Some(usual) = found.iter().find(|dir| *dir == Path::new(BINDERFS_DIR)) {
        return Ok(usual.clone());
    }
    match &found[..] {
        [] => Err(Failure::new("looking for a binderfs", "none is mounted here").advise(
            "`anybinder run -- COMMAND` gives one to a command, `anybinder mount DIR --stats` to \
             all; call this inside, or name another directory with --dir",
        )),
        [only] => Ok(only.clone()),
        several => {
            let names: Vec<_> = several.iter().map(|dir| dir.display().to_string()).collect();
            let answer = format!("there are several: {}", names.join(", "));
            Err(Failure::new("looking for a binderfs", answer).advise("name one with --dir"))
        }
    }
}

fn parse<T: DeserializeOwned>(line: &str) -> Result<T, Failure> {
    records::from_line(line).map_err(|error| {
        Failure::new("understanding the driver", error)
            .advise("driver and tool may be of different versions; use the same for both")
    })
}

/// Writes to stdout. A reader that closes its end ends the program, and that is no failure.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    print_bytes(text.as_bytes())
}

/// The same for bytes.
pub(crate) fn print_bytes(bytes: &[u8]) -> Result<(), Failure> {
    let mut stdout = io::stdout();
    match stdout.write_all(bytes).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => std::process::exit(0),
        other => other.map_err(failed("writing to stdout")),
    }
}

/// Writes records for programs, or the table that `to_table` makes of them, or `if_empty`.
fn print_records<T: Serialize>(
    options: &InspectOptions,
    records: &[T],
    if_empty: &str,
    to_table: impl FnOnce(&[T]) -> String,
) -> Result<(), Failure> {
    if options.json {
        print(&records::to_lines(records))
    } else if records.is_empty() {
        print(&format!("{if_empty}\n"))
    } else {
        print(&to_table(records))
    }
}

/// The name of a process, as long as it lives; `-` afterwards, and where it cannot be seen.
pub(crate) fn name_of(pid: u32) -> String {
    let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    let name = printable(name.trim_end());
    if name.is_empty() { "-".into() } else { name }
}
