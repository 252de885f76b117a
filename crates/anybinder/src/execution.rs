//! Programs that are to be executed, and what its user reads of one that cannot be.

use std::env;
use std::ffi::OsStr;
use std::io;
use std::path::Path;

use crate::failure::Failure;

/// Looks for a program where execvp(3) would.
///
/// # Errors
///
/// `NotFound` if there is none.
pub(crate) fn find_program(program: &OsStr) -> io::Result<()> {
    if program.as_encoded_bytes().contains(&b'/') {
        return Path::new(program).metadata().map(drop);
    }
    // Without the variable the C library has directories of its own.
    let Some(directories) = env::var_os("PATH") else { return Ok(()) };
    if env::split_paths(&directories).any(|directory| directory.join(program).is_file()) {
        return Ok(());
    }
    Err(io::Error::from_raw_os_error(NO_ENTRY))
}

/// Ends this process, which was to become a command, as env(1) and the shells end: with status 127 if there is no such
/// program, and 126 if it cannot be executed.
pub(crate) fn end_unexecuted(program: &OsStr, error: &io::Error) -> ! {
    let name = program.display();
    let failure = Failure::new(format!("executing {name}"), error);
    failure.advise(execution_advice(Path::new(program), error)).print();
    std::process::exit(if error.kind() == io::ErrorKind::NotFound { 127 } else { 126 })
}

/// Advice where a program could not be executed.
fn execution_advice(program: &Path, error: &io::Error) -> String {
    let name = program.display();
    let is_path = program.components().count() > 1 || program.is_absolute();
    let has_format = error.raw_os_error() != Some(NO_FORMAT);
    match error.kind() {
        io::ErrorKind::NotFound if !is_path => {
            format!("install it, or name it by its path, as ./{name}: no directory of $PATH has it")
        }
        io::ErrorKind::NotFound if program.exists() => {
            format!(
                "`file {name}`: it is there, but not the loader or interpreter that it asks for"
            )
        }
        io::ErrorKind::PermissionDenied if program.is_dir() => "name a program in it".to_owned(),
        io::ErrorKind::PermissionDenied => format!("chmod +x {name}"),
        _ if !has_format => {
            format!(
                "`file {name}`: it is no program for this machine, and no script with a `#!` line"
            )
        }
        _ => String::new(),
    }
}

/// ENOENT.
const NO_ENTRY: i32 = 2;
/// ENOEXEC, for which there is no kind of errors.
const NO_FORMAT: i32 = 8;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_is_not_executed_is_told_with_what_helps() {
        let advice = |program: &str, errno| {
            execution_advice(Path::new(program), &io::Error::from_raw_os_error(errno))
        };
        let (enoent, eacces) = (2, 13);
        assert!(advice("nosuch", enoent).contains("$PATH"));
        assert_eq!(advice("./nosuch", enoent), "");
        assert!(advice("/proc/self/exe", enoent).contains("loader"));
        assert_eq!(advice("/tmp", eacces), "name a program in it");
        assert_eq!(advice("./script", eacces), "chmod +x ./script");
        assert!(advice("./script", NO_FORMAT).contains("#!"));
    }

    #[test]
    fn programs_are_found_as_they_are_executed() {
        for found in ["sh", "/bin/sh"] {
            assert!(find_program(OsStr::new(found)).is_ok(), "{found}");
        }
        for missing in ["is-nowhere", "./is-nowhere", "/bin/is-nowhere"] {
            let error = find_program(OsStr::new(missing)).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::NotFound, "{missing}");
        }
    }
}
