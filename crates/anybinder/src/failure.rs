//! A failure as its reader needs it: what was tried, what the system answered, what to do next.

use std::fmt::Display;

use binder_os::namespaces::SetupError;

use crate::log;

/// Why a subcommand could not do its work.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{tried}: {answer}")]
pub(crate) struct Failure {
    /// What was tried, as a phrase.
    pub(crate) tried: String,
    /// What the system answered.
    pub(crate) answer: String,
    /// What to do next; may be empty.
    pub(crate) advice: String,
}

/// What helps where namespaces or mounts are refused.
pub(crate) const NAMESPACES_ADVICE: &str = "\
user namespaces are turned off or restricted here; check the sysctls user.max_user_namespaces, \
kernel.unprivileged_userns_clone and kernel.apparmor_restrict_unprivileged_userns, and in a \
container its seccomp profile, or run this as root";

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
        Self::new(error.tried, error.source).advise(NAMESPACES_ADVICE)
    }
}

/// Turns an I/O error into a failure of what was tried.
pub(crate) fn failed<E: Display>(tried: &str) -> impl FnOnce(E) -> Failure {
    move |error| Failure::new(tried, error)
}

#[cfg(test)]
mod tests {
    use super::*;

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
