//! Processors that artefacts are made for.

use std::process::Command;

use crate::Failure;

/// One of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub(crate) enum Architecture {
    /// What PCs have
    #[value(name = "x86-64", alias = "x86_64")]
    X86_64,
    /// 64-bit ARM
    Aarch64,
}

impl Architecture {
    /// As Rust says.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::X86_64 => "x86_64",
            Self::Aarch64 => "aarch64",
        }
    }

    /// As Debian and container images say.
    pub(crate) fn debian(self) -> &'static str {
        match self {
            Self::X86_64 => "amd64",
            Self::Aarch64 => "arm64",
        }
    }

    /// The compiler's target for programs without libraries.
    pub(crate) fn target(self) -> String {
        format!("{}-unknown-linux-musl", self.name())
    }

    /// Whether this machine runs its programs.
    pub(crate) fn is_own(self) -> bool {
        self.name() == std::env::consts::ARCH
    }

    /// The words before a program of this processor that have it run here; none where that is the machine's.
    pub(crate) fn starter(self) -> Result<Vec<String>, Failure> {
        if self.is_own() {
            return Ok(Vec::new());
        }
        let emulator = format!("qemu-{}-static", self.name());
        match Command::new(&emulator).arg("--version").output() {
            Ok(_) => Ok(vec![emulator]),
            Err(error) => {
                Err(format!("{emulator}: {error}; try: apt-get install qemu-user-static").into())
            }
        }
    }
}
