//! A failure as its reader needs it: what was tried, what the system answered, what to do next.

use std::any::Any;
use std::env;
use std::ffi::OsStr;
use std::fmt::Display;
use std::io;
use std::path::Path;

use binder_os::ExhaustedLimit;
use binder_os::namespaces::SetupError;

use crate::log;

/// Why a subcommand could not do its work.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{tried}: {answer}")]
pub(crate) struct Failure {
    /// The action that failed, as a phrase.
    pub(crate) tried: String,
    /// The system's answer.
    pub(crate) answer: String,
    /// Advice for the user; may be empty.
    pub(crate) advice: String,
}

/// Advice where namespaces or mounts are refused.
pub(crate) const NAMESPACES_ADVICE: &str = "\
user namespaces are turned off or restricted here; check the sysctls user.max_user_namespaces, \
kernel.unprivileged_userns_clone and kernel.apparmor_restrict_unprivileged_userns, in a container its \
seccomp profile, and that this is no chroot, which has none; or run it as root";

impl Failure {
    pub(crate) fn new(tried: impl Into<String>, answer: impl Display) -> Self {
        Self { tried: tried.into(), answer: answer.to_string(), advice: String::new() }
    }

    pub(crate) fn advise(mut self, advice: impl Into<String>) -> Self {
        self.advice = advice.into();
        self
    }

    /// Writes the failure to stderr.
    pub(crate) fn print(&self) {
        let advice = match &*self.advice {
            "" => String::new(),
            advice => format!("\n  try: {advice}"),
        };
        log::tell(format_args!("anybinder: {self}{advice}"));
    }

    /// Puts the failure into bytes, for a pipe.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        [&*self.tried, &*self.answer, &*self.advice].join("\0").into_bytes()
    }

    /// Takes it out again; `None` for other bytes.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let mut parts = str::from_utf8(bytes).ok()?.split('\0').map(String::from);
        let failure = Self { tried: parts.next()?, answer: parts.next()?, advice: parts.next()? };
        parts.next().is_none().then_some(failure)
    }
}

impl From<SetupError> for Failure {
    fn from(error: SetupError) -> Self {
        let advice = limit_advice(&error.source).unwrap_or(NAMESPACES_ADVICE);
        Self::new(error.tried, error.source).advise(advice)
    }
}

/// Turns an error into a failure of what was tried, with what helps if a limit was reached.
pub(crate) fn failed<E: Display + 'static>(tried: &str) -> impl FnOnce(E) -> Failure {
    move |error| {
        let of_system = (&error as &dyn Any).downcast_ref::<io::Error>();
        let advice = of_system.and_then(limit_advice).unwrap_or_default();
        Failure::new(tried, error).advise(advice)
    }
}

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

/// Advice where a limit was reached.
pub(crate) fn limit_advice(error: &io::Error) -> Option<&'static str> {
    Some(match ExhaustedLimit::of(error)? {
        ExhaustedLimit::Files => {
            "let it open more files: `ulimit -n 1024`, or more; of a service, LimitNOFILE="
        }
        ExhaustedLimit::AllFiles => {
            "let the machine open more files: the sysctl fs.file-max; or end what has so many open"
        }
        ExhaustedLimit::Tasks => {
            "let this user have more processes and threads: `ulimit -u`; of a service or container, \
             TasksMax= or pids.max"
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_that_was_reached_is_named_with_what_helps() {
        let advice = |errno| {
            let error = io::Error::from_raw_os_error(errno);
            let tried = String::from("starting it");
            let setup = SetupError { tried, source: io::Error::from_raw_os_error(errno) };
            (failed::<io::Error>("starting it")(error).advice, Failure::from(setup).advice)
        };
        let (emfile, eagain, eperm) = (24, 11, 1);
        for (errno, part) in [(emfile, "ulimit -n"), (eagain, "ulimit -u")] {
            let (failed, setup) = advice(errno);
            assert!(failed.contains(part) && failed == setup, "{failed} {setup}");
        }
        assert_eq!(advice(eperm), (String::new(), NAMESPACES_ADVICE.to_owned()));
        assert_eq!(failed::<&str>("starting it")("no").advice, "");
    }

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

    #[test]
    fn a_failure_survives_a_pipe() {
        for advice in ["", "give up"] {
            let failure = Failure::new("mounting", "no: such\nthing").advise(advice);
            assert_eq!(Failure::from_bytes(&failure.to_bytes()), Some(failure));
        }
        for bytes in [&b""[..], b"a\0b", b"a\0b\0c\0d", b"\xff\0\0"] {
            assert_eq!(Failure::from_bytes(bytes), None);
        }
    }
}
