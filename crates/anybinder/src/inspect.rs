//! `anybinder ps|state|stats|transactions|log`: what a running driver tells of itself.
//!
//! The driver writes records into files of its binderfs, and these subcommands only read them: they
//! need no socket, no privilege beyond that of reading, and work through any mount of the tree.

mod log;
mod ps;
mod state;
mod stats;
mod table;
mod transactions;

use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use binder_os::private_dev::BINDERFS_DIR;
use binder_report::records;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::cli::InspectOptions;
use crate::failure::{Failure, failed};

pub(crate) use log::run as log;
pub(crate) use ps::run as ps;
pub(crate) use state::run as state;
pub(crate) use stats::run as stats;
pub(crate) use transactions::run as transactions;

/// Where the records are, in a binderfs.
const RECORDS_DIR: &str = "binder_logs/anybinder";

/// A binderfs to look into.
struct Binderfs {
    dir: PathBuf,
}

impl Binderfs {
    fn find(options: &InspectOptions) -> Result<Self, Failure> {
        Ok(Self { dir: binderfs_at(options.dir.as_deref())? })
    }

    fn open(&self, name: &str) -> Result<File, Failure> {
        let path = self.dir.join(RECORDS_DIR).join(name);
        File::open(&path).map_err(|error| self.explain(&path, &error))
    }

    /// All records of a file.
    fn read<T: DeserializeOwned>(&self, name: &str) -> Result<Vec<T>, Failure> {
        let text = io::read_to_string(self.open(name)?);
        let path = self.dir.join(RECORDS_DIR).join(name);
        let text = text.map_err(|error| self.explain(&path, &error))?;
        text.lines().map(parse).collect()
    }

    fn explain(&self, path: &Path, error: &io::Error) -> Failure {
        let dir = self.dir.display();
        let advice = if error.kind() != ErrorKind::NotFound {
            "whoever can see the directory may read it; look at its permissions".to_owned()
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

/// The processes that have a device of the binderfs at `dir` open.
pub(crate) fn users_of(dir: &Path) -> Result<Vec<u32>, Failure> {
    let binderfs = Binderfs { dir: dir.to_owned() };
    let records: Vec<records::ProcessRecord> = binderfs.read("processes.json")?;
    Ok(records.into_iter().map(|record| record.pid).collect())
}

/// Finds the binderfs that a user means who names none.
fn only_mount() -> Result<PathBuf, Failure> {
    let mounts = fs::read_to_string("/proc/self/mounts").map_err(failed("listing the mounts"))?;
    let found = binderfs_mounts(&mounts);
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

/// The places of all mounts of binderfs, ours and the kernel's, in the words of /proc/PID/mounts.
fn binderfs_mounts(mounts: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for line in mounts.lines() {
        let mut words = line.split(' ');
        if let (Some(_), Some(place), Some("fuse.anybinder" | "binder")) =
            (words.next(), words.next(), words.next())
        {
            let place = PathBuf::from(unescape(place));
            // A device that is mounted by itself is no directory to look into.
            if place.join("binder-control").exists() || !place.is_file() {
                found.push(place);
            }
        }
    }
    found.sort();
    found.dedup();
    found
}

/// Takes back what the kernel does to spaces and the like in names: `\040`.
fn unescape(word: &str) -> String {
    let mut parts = word.split('\\');
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let code = part.get(..3).and_then(|digits| u8::from_str_radix(digits, 8).ok());
        match code {
            Some(code) => {
                plain.push(char::from(code));
                plain.push_str(&part[3..]);
            }
            None => {
                plain.push('\\');
                plain.push_str(part);
            }
        }
    }
    plain
}

fn parse<T: DeserializeOwned>(line: &str) -> Result<T, Failure> {
    records::from_line(line).map_err(|error| {
        Failure::new("understanding the driver", error)
            .advise("driver and tool may be of different versions; use the same for both")
    })
}

/// Writes to stdout. A reader that has heard enough ends the program, and that is no failure.
fn print(text: &str) -> Result<(), Failure> {
    let mut stdout = io::stdout();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
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
fn name_of(pid: u32) -> String {
    let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    // A process names itself: nothing of that may act on the terminal.
    let name: String = name.trim_end().chars().filter(|char| !char.is_control()).collect();
    if name.is_empty() { "-".into() } else { name }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mounts_of_binderfs_are_found_among_others() {
        let mounts = "proc /proc proc rw 0 0\n\
                      anybinder /mnt/a\\040b fuse.anybinder rw,nosuid 0 0\n\
                      binder /mnt/kernel binder rw 0 0\n\
                      anybinder /mnt/a\\040b fuse.anybinder rw 0 0\n\
                      sshfs /mnt/other fuse.sshfs rw 0 0\n";
        assert_eq!(binderfs_mounts(mounts), ["/mnt/a b", "/mnt/kernel"].map(PathBuf::from));
    }

    #[test]
    fn names_are_taken_back_from_their_escapes() {
        assert_eq!(unescape("/a\\040b\\134c"), "/a b\\c");
        assert_eq!(unescape("/plain"), "/plain");
        assert_eq!(unescape("\\x"), "\\x");
    }
}
