//! The output of this crate's compiler for a unit, before it is written.

use std::fs;
use std::path::Path;

use binder_aidl::{Compilation, Diagnostic, GeneratedFile, MethodCode, MethodListing, Severity};

use crate::{Error, Unit, built_in, glue, report, write};

/// The Rust files of a unit, without mistakes and not written yet.
#[derive(Debug, Clone)]
pub struct CompiledUnit {
    compilation: Compilation,
}

impl Unit {
    /// Compiles the files by this crate's own compiler. Writes nothing.
    ///
    /// # Errors
    ///
    /// [`Error::Mistakes`], or why a file could not be read.
    pub fn compile(&self) -> Result<CompiledUnit, Error> {
        if let Some(flag) = self.flags.first() {
            return Err(Error::UnknownFlag { flag: flag.clone() });
        }
        let compilation = built_in::compile(self)?;
        match errors(&compilation.diagnostics) {
            0 => Ok(CompiledUnit { compilation }),
            count => {
                let report = report::render(compilation.diagnostics.iter(), &compilation.files);
                Err(Error::Mistakes { count, report })
            }
        }
    }

    /// The methods of the interfaces in the files, with their numbers. Imports are not looked for.
    ///
    /// # Errors
    ///
    /// [`Error::Mistakes`] if a source is no AIDL, or the error by which a file could not be read.
    pub fn methods(&self) -> Result<Vec<MethodCode>, Error> {
        let MethodListing { files, diagnostics, methods } =
            binder_aidl::list_methods(built_in::sources(self)?);
        match errors(&diagnostics) {
            0 => Ok(methods),
            count => {
                let report = report::render(diagnostics.iter(), &files);
                Err(Error::Mistakes { count, report })
            }
        }
    }
}

impl CompiledUnit {
    /// The warnings, each in a line behind its file, line and column.
    pub fn warnings(&self) -> Vec<String> {
        let Compilation { diagnostics, files, .. } = &self.compilation;
        diagnostics.iter().map(|it| it.line(files)).collect()
    }

    /// The warnings with their sources, as rustc shows them; empty if there are none.
    pub fn warnings_report(&self) -> String {
        report::render(self.compilation.diagnostics.iter(), &self.compilation.files)
    }

    /// Writes the files by their packages below `out`, and the tree of their modules in its `mod.rs`. What else is
    /// there stays.
    ///
    /// # Errors
    ///
    /// [`Error::Foreign`] if there is another `mod.rs`, before anything is written; or [`Error::File`].
    pub fn write_into(&self, out: &Path) -> Result<(), Error> {
        let tree = out.join("mod.rs");
        if !glue::is_free(&tree)? {
            return Err(Error::Foreign { path: tree });
        }
        self.write_files(out)?;
        let paths = self.compilation.generated.iter().map(|file| Path::new(&file.path));
        write(&tree, &glue::relative_of(paths)?)
    }

    /// Writes the files by their packages below `out`.
    pub(crate) fn write_files(&self, out: &Path) -> Result<(), Error> {
        for GeneratedFile { path, text } in &self.compilation.generated {
            let path = out.join(path);
            if let Some(directory) = path.parent() {
                fs::create_dir_all(directory).map_err(Error::file(directory))?;
            }
            write(&path, text)?;
        }
        Ok(())
    }
}

fn errors(diagnostics: &[Diagnostic]) -> usize {
    diagnostics.iter().filter(|it| it.severity == Severity::Error).count()
}
