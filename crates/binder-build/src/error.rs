//! What can go wrong.

use std::io;
use std::path::{Path, PathBuf};

/// Why nothing was generated.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Not run by Cargo.
    #[error("OUT_DIR is not set: Build::run is for build scripts, Build::run_into for others")]
    NoOutDir,
    /// There is no compiler.
    #[error(
        "cannot run {path:?}: {source}; install the AIDL compiler (aidl 14; Debian unstable has it) or set \
         AIDL to its path"
    )]
    NoCompiler {
        /// What was tried.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The compiler has no Rust backend.
    #[error("{path:?} is too old to generate Rust; version 14 does")]
    NoRust {
        /// The compiler.
        path: PathBuf,
    },
    /// The compiler refused the files.
    #[error("{command}\n{stderr}")]
    Refused {
        /// How it was run.
        command: String,
        /// What it said.
        stderr: String,
    },
    /// There is nothing to compile.
    #[error("no .aidl files below {path:?}")]
    NoSources {
        /// Where they were looked for.
        path: PathBuf,
    },
    /// A file or directory could not be read or written.
    #[error("{path:?}: {source}")]
    File {
        /// Which.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A file name that is no text cannot become a module.
    #[error("{path:?} is no name for a module")]
    NoName {
        /// The file.
        path: PathBuf,
    },
}

impl Error {
    /// An error about `path`.
    pub(crate) fn file(path: &Path) -> impl FnOnce(io::Error) -> Self + use<> {
        let path = path.to_owned();
        |source| Self::File { path, source }
    }
}
