//! A file of limits, which an administrator may change while the driver serves.

use std::fmt;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use binder_fuse::{Limits, LimitsControl};

use crate::cli::{self, Limit};
use crate::failure::{Failure, failed};

/// Lines of `NAME=NUMBER`, as of `--limit`. What begins with `#`, and lines without anything, say nothing; nor does a
/// file that is not there.
pub(crate) struct LimitsFile {
    path: PathBuf,
    /// Those of the command line, which come before the file's.
    given: Vec<Limit>,
    /// The limits of the driver, once it serves.
    control: OnceLock<LimitsControl>,
}

impl LimitsFile {
    pub(crate) fn open(path: &Path, given: &[Limit]) -> Result<Self, Failure> {
        // The driver leaves the directory that a relative path starts from.
        let path = std::path::absolute(path).map_err(failed("finding the file of limits"))?;
        Ok(Self { path, given: given.to_vec(), control: OnceLock::new() })
    }

    /// Reads the limits, those of the command line over them.
    pub(crate) fn read(&self) -> Result<Limits, Failure> {
        let tried = || format!("reading limits from {}", self.path.display());
        let text = match fs::read_to_string(&self.path) {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                tracing::warn!(file = %self.path.display(), "there is no such file of limits");
                String::new()
            }
            read => read.map_err(|error| Failure::new(tried(), error))?,
        };
        let read = parse(&text).map_err(|answer| Failure::new(tried(), answer))?;
        Ok(cli::limits(&[read, self.given.clone()].concat()))
    }

    /// Has the limits of a binderfs change with the file.
    pub(crate) fn apply_to(&self, control: LimitsControl) {
        // No other code sets it.
        let _ = self.control.set(control);
    }

    /// Reads the file again. What cannot be read changes nothing.
    pub(crate) fn read_again(&self) {
        match (self.read(), self.control.get()) {
            (Ok(limits), Some(control)) => {
                control.set(limits);
                tracing::info!(file = %self.path.display(), "limits were read again");
            }
            (Ok(_), None) => {}
            (Err(failure), _) => tracing::error!(%failure, "the limits stay as they are"),
        }
    }
}

impl fmt::Debug for LimitsFile {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("LimitsFile").field("path", &self.path).finish_non_exhaustive()
    }
}

fn parse(text: &str) -> Result<Vec<Limit>, String> {
    let lines = text.lines().enumerate().map(|(at, line)| (at + 1, line.trim()));
    let said = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    said.map(|(at, line)| Limit::parse(line).map_err(|why| format!("line {at}: {why}"))).collect()
}

#[cfg(test)]
mod tests {
    use binder_fuse::Resource;

    use super::*;

    #[test]
    fn lines_are_limits_and_the_command_line_comes_before_them() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("limits");
        fs::write(&path, "# for tests\n\n  nodes=7 \nuser-nodes=9\n").unwrap();
        let given = [Limit::parse("user-nodes=10").unwrap()];
        let limits = LimitsFile::open(&path, &given).unwrap().read().unwrap();
        assert_eq!(limits.per_file[Resource::Nodes], 7);
        assert_eq!(limits.per_user[Resource::Nodes], 10);
    }

    #[test]
    fn a_line_that_is_no_limit_is_named() {
        assert!(parse("\nnodes=many").unwrap_err().starts_with("line 2: 'many' is no number"));
        assert!(parse("nodes").is_err());
        assert!(parse("").unwrap().is_empty());
    }
}
