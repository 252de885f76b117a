//! Processors that artefacts are made for.

use std::process::Command;

use crate::TaskFailure;

/// One of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub(crate) enum Architecture {
    /// The processor of PCs
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

    /// The compiler's target for programs with Debian's C library.
    pub(crate) fn dynamic_target(self) -> String {
        format!("{}-unknown-linux-gnu", self.name())
    }

    /// A tool that makes programs for it: Debian's cross compiler, where it is not this machine's.
    pub(crate) fn tool(self, name: &str) -> String {
        if self.is_own() { name.to_owned() } else { format!("{}-linux-gnu-{name}", self.name()) }
    }

    /// Names the tools of a target to cargo. Those of Debian link programs with musl, too.
    pub(crate) fn cross_compile(self, target: &str, cargo: &mut Command) {
        if self.is_own() {
            return;
        }
        let variable = target.replace('-', "_");
        cargo.env(format!("CC_{variable}"), self.tool("gcc"));
        cargo.env(format!("AR_{variable}"), self.tool("ar"));
        cargo.env(format!("CARGO_TARGET_{}_LINKER", variable.to_uppercase()), self.tool("gcc"));
    }

    /// The linker's option by which places that are moved at start take bits, not 24 bytes each, where
    /// Debian's linker knows it for this processor. The C library of the newest compiler reads them.
    pub(super) fn packed_relocations(self) -> Option<&'static str> {
        (self == Self::X86_64).then_some("-Clink-arg=-Wl,-z,pack-relative-relocs")
    }

    /// What is to be done where its programs could not be built.
    pub(crate) fn advice(self, target: &str) -> String {
        let packages = if self.is_own() {
            "musl-tools".to_owned()
        } else {
            format!("gcc-{}-linux-gnu libc6-dev-{}-cross", self.name(), self.debian())
        };
        format!(
            "is there all that it needs? try: rustup target add {target}; apt-get install {packages}"
        )
    }

    /// Whether this machine runs its programs.
    pub(crate) fn is_own(self) -> bool {
        self.name() == std::env::consts::ARCH
    }

    /// The words before a program of this processor that have it run here; none where that is the machine's.
    pub(crate) fn starter(self) -> Result<Vec<String>, TaskFailure> {
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
