//! A failure as its reader needs it: what was tried, what the system answered, what to do next.

use std::any::Any;
use std::fmt::Display;
use std::io;

use binder_os::ExhaustedLimit;
use binder_os::namespaces::SetupError;

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
