//! Compiles AIDL to Rust from a build script.
//!
//! There is a Rust file for each `.aidl` file. They expect a module tree that follows their packages, and a module
//! `crate::mangled` that knows them all: this crate writes both.
//!
//! ```no_run
//! // build.rs
//! fn main() -> Result<(), binder_build::Error> {
//!     binder_build::Build::new()
//!         .unit(binder_build::Unit::new("aidl").sources_below("aidl")?)
//!         .run()
//! }
//! ```
//!
//! ```ignore
//! // src/lib.rs, at the root of the crate; needs the crates `binder` and `async-trait`
//! include!(concat!(env!("OUT_DIR"), "/aidl.rs"));
//!
//! use aidl::com::example::IHello::IHello;
//! ```
//!
//! Nothing needs to be installed: the compiler is the crate `binder-aidl`, whose output is that of Android's. With
//! `$AIDL` set, it is the program there, of Android 14 or later.

#![forbid(unsafe_code)]

mod built_in;
mod compiled;
mod compiler;
mod error;
mod glue;
mod report;
mod unit;

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

pub use binder_aidl::MethodCode;
pub use compiled::CompiledUnit;
pub use compiler::Compiler;
pub use error::Error;
pub use unit::Unit;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct BinderBuildReadme;

/// The units to compile, and where their output goes.
#[derive(Debug, Clone, Default)]
pub struct Build {
    units: Vec<Unit>,
    dependencies: Vec<String>,
    compiler: Option<Compiler>,
}

impl Build {
    /// Nothing yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds files that are compiled together, with the same version and stability.
    #[must_use]
    pub fn unit(mut self, unit: Unit) -> Self {
        self.units.push(unit);
        self
    }

    /// Adds a crate whose own generated code these files import. Its `mangled` module must be public,
    /// as that of [`Self::run`] is.
    #[must_use]
    pub fn dependency(mut self, name: impl Into<String>) -> Self {
        self.dependencies.push(name.into());
        self
    }

    /// Uses this compiler instead of [`Compiler::from_env`].
    #[must_use]
    pub fn compiler(mut self, compiler: Compiler) -> Self {
        self.compiler = Some(compiler);
        self
    }

    /// Generates into Cargo's `OUT_DIR`, with the tree in its `aidl.rs`, and tells Cargo what that
    /// depends on.
    ///
    /// # Errors
    ///
    /// [`Error`].
    pub fn run(self) -> Result<(), Error> {
        let out = env::var_os("OUT_DIR").ok_or(Error::NoOutDir)?;
        println!("cargo::rerun-if-env-changed=AIDL");
        for path in self.units.iter().flat_map(Unit::inputs) {
            println!("cargo::rerun-if-changed={}", path.display());
        }
        let out = PathBuf::from(out);
        let generated = out.join("aidl");
        for warning in self.generate(&generated)? {
            println!("cargo::warning={warning}");
        }
        write(&out.join("aidl.rs"), &glue::absolute(&generated, &self.dependencies)?)
    }

    /// Generates into `out` to be checked in, with the tree in its `mod.rs`.
    ///
    /// The crate's root says `#[path = "../out/mod.rs"] pub mod aidl; pub use aidl::mangled;`.
    ///
    /// # Errors
    ///
    /// [`Error`].
    pub fn run_into(self, out: &Path) -> Result<(), Error> {
        self.generate(out)?;
        write(&out.join("mod.rs"), &glue::relative(out, &self.dependencies)?)
    }

    /// Generates into `out`. Returns the warnings.
    fn generate(&self, out: &Path) -> Result<Vec<String>, Error> {
        // Files that are generated no more must not stay in the tree.
        match fs::remove_dir_all(out) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(Error::file(out)(error));
            }
            Ok(()) | Err(_) => {}
        }
        fs::create_dir_all(out).map_err(Error::file(out))?;
        let compiler = self.compiler.clone().unwrap_or_else(Compiler::from_env);
        let mut warnings = Vec::new();
        for unit in &self.units {
            warnings.extend(compiler.compile(unit, out)?);
        }
        Ok(warnings)
    }
}

fn write(path: &Path, text: &str) -> Result<(), Error> {
    fs::write(path, text).map_err(Error::file(path))
}
