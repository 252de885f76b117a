//! Which compiler compiles.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{Error, Unit};

/// Types of Android's that AIDL files may import, and the library's types for them.
const PLATFORM: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/platform");
/// The one there is. The compiler refuses to find it twice.
const BUNDLE: &str = "android/os/PersistableBundle.aidl";

/// The compiler: this crate itself, or a program that understands the options of Android's `aidl`.
#[derive(Debug, Clone)]
pub struct Compiler {
    /// The program, if it is one.
    path: Option<PathBuf>,
}

impl Compiler {
    /// This crate's own. It needs nothing to be installed.
    #[must_use]
    pub fn built_in() -> Self {
        Self { path: None }
    }

    /// The program at `path`; a bare name is looked for in the `PATH`.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: Some(path.into()) }
    }

    /// The program of `$AIDL`, or this crate's own where that is not set.
    #[must_use]
    pub fn from_env() -> Self {
        Self { path: env::var_os("AIDL").filter(|it| !it.is_empty()).map(PathBuf::from) }
    }

    /// Whether it can be run.
    #[must_use]
    pub fn is_there(&self) -> bool {
        let Some(path) = &self.path else { return true };
        Command::new(path).arg("--help").output().is_ok()
    }

    /// Writes the Rust files of a unit below `out`, by their packages. Returns what else there is to say.
    pub(crate) fn compile(&self, unit: &Unit, out: &Path) -> Result<Vec<String>, Error> {
        match &self.path {
            None => {
                let compiled = unit.compile()?;
                compiled.write_files(out)?;
                Ok(compiled.warnings())
            }
            Some(path) => run(path, unit, out).map(|()| Vec::new()),
        }
    }
}

/// Runs a program.
fn run(path: &Path, unit: &Unit, out: &Path) -> Result<(), Error> {
    let mut command = Command::new(path);
    // The command would name this machine's directories in every file.
    command.args(["--lang=rust", "--structured", "--omit_invocation"]).args(unit.arguments());
    let has_its_own = unit.includes.iter().any(|root| root.join(BUNDLE).exists());
    let platform = (!has_its_own).then(|| Path::new(PLATFORM).to_owned());
    for include in unit.includes.iter().chain(&platform) {
        command.arg("-I").arg(include);
    }
    command.arg("-o").arg(out).args(&unit.sources);
    let output =
        command.output().map_err(|source| Error::NoCompiler { path: path.to_owned(), source })?;
    if output.status.success() {
        return Ok(());
    }
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    // Version 10 knows only Java, C++ and the NDK.
    if stderr.contains("nsupported language") || stderr.contains("nrecognized option '--omit") {
        return Err(Error::NoRust { path: path.to_owned() });
    }
    Err(Error::Refused { command: format!("{command:?}"), stderr })
}
