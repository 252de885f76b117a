//! The AIDL compiler.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{Error, Unit};

/// What AIDL files may import of Android's: types of the library's, by their names there.
const PLATFORM: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/platform");
/// The one there is. The compiler refuses to find it twice.
const BUNDLE: &str = "android/os/PersistableBundle.aidl";

/// A program that understands the options of Android's `aidl`.
#[derive(Debug, Clone)]
pub struct Compiler {
    path: PathBuf,
}

impl Compiler {
    /// The compiler at `path`; a bare name is looked for in the `PATH`.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    /// `$AIDL`, or `aidl`.
    #[must_use]
    pub fn from_env() -> Self {
        Self::new(env::var_os("AIDL").unwrap_or_else(|| "aidl".into()))
    }

    /// Whether it can be run.
    #[must_use]
    pub fn is_there(&self) -> bool {
        Command::new(&self.path).arg("--help").output().is_ok()
    }

    /// Writes the Rust files of a unit below `out`, by their packages.
    pub(crate) fn compile(&self, unit: &Unit, out: &Path) -> Result<(), Error> {
        let mut command = Command::new(&self.path);
        // The command would name this machine's directories in every file.
        command.args(["--lang=rust", "--structured", "--omit_invocation"]).args(&unit.flags);
        let has_its_own = unit.includes.iter().any(|root| root.join(BUNDLE).exists());
        let platform = (!has_its_own).then(|| Path::new(PLATFORM).to_owned());
        for include in unit.includes.iter().chain(&platform) {
            command.arg("-I").arg(include);
        }
        command.arg("-o").arg(out).args(&unit.sources);
        let output = command
            .output()
            .map_err(|source| Error::NoCompiler { path: self.path.clone(), source })?;
        if output.status.success() {
            return Ok(());
        }
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        // Version 10 knows only Java, C++ and the NDK.
        if stderr.contains("nsupported language") || stderr.contains("nrecognized option '--omit") {
            return Err(Error::NoRust { path: self.path.clone() });
        }
        Err(Error::Refused { command: format!("{command:?}"), stderr })
    }
}
