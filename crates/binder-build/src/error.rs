//! What can go wrong.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// Why nothing was generated.
///
/// It shows itself by `Debug` as by `Display`: what `main` of a build script returns, Rust shows by `Debug`.
#[derive(thiserror::Error)]
pub enum Error {
    /// Not run by Cargo.
    #[error("OUT_DIR is not set: Build::run is for build scripts, Build::run_into for others")]
    NoOutDir,
    /// There is no compiler.
    #[error(
        "cannot run {path:?}: {source}; unset AIDL, for binder-build can compile by itself, or set AIDL to the path \
         of Android's compiler"
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
    /// The files have mistakes.
    #[error("{count} {} in AIDL files\n\n{report}\n", if *count == 1 { "mistake" } else { "mistakes" })]
    Mistakes {
        /// How many.
        count: usize,
        /// Where, and what.
        report: String,
    },
    /// Only Android's compiler may know such an option.
    #[error("{flag:?} is an option for Android's compiler: set AIDL to its path")]
    UnknownFlag {
        /// The option.
        flag: String,
    },
    /// A source is not text.
    #[error("{path:?} is not UTF-8")]
    NotText {
        /// The file.
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

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Error {
    /// An error about `path`.
    pub(crate) fn file(path: &Path) -> impl FnOnce(io::Error) -> Self + use<> {
        let path = path.to_owned();
        |source| Self::File { path, source }
    }
}
