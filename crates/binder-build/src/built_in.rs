//! The compiler of this crate: reads files and has `binder-aidl` compile them.

use std::fs;
use std::path::{Path, PathBuf};

use binder_aidl::{Compilation, ImportLoader, SourceFile};

use crate::{Error, Unit};

/// Types of Android's that AIDL files may import, and the library's types for them.
const PLATFORM: [(&str, &str); 1] = [(
    "android/os/PersistableBundle.aidl",
    include_str!("../platform/android/os/PersistableBundle.aidl"),
)];

/// Compiles the files of a unit.
pub(crate) fn compile(unit: &Unit) -> Result<Compilation, Error> {
    let mut loader = IncludeDirectories { roots: &unit.includes };
    Ok(binder_aidl::compile(sources(unit)?, &mut loader, &unit.options))
}

/// Reads the files of a unit.
pub(crate) fn sources(unit: &Unit) -> Result<Vec<SourceFile>, Error> {
    unit.sources.iter().map(|path| read(path).map_err(|error| error.into_error(path))).collect()
}

/// Why a source is none.
enum Unreadable {
    Io(std::io::Error),
    NotText,
}

impl Unreadable {
    fn into_error(self, path: &Path) -> Error {
        match self {
            Self::Io(error) => Error::file(path)(error),
            Self::NotText => Error::NotText { path: path.to_owned() },
        }
    }
}

fn read(path: &Path) -> Result<SourceFile, Unreadable> {
    let bytes = fs::read(path).map_err(Unreadable::Io)?;
    let text = String::from_utf8(bytes).map_err(|_| Unreadable::NotText)?;
    Ok(SourceFile::new(path.display().to_string(), text))
}

/// Where imports are looked for.
struct IncludeDirectories<'u> {
    roots: &'u [PathBuf],
}

impl ImportLoader for IncludeDirectories<'_> {
    fn load(&mut self, path: &str) -> Result<Option<SourceFile>, String> {
        let mut found: Option<PathBuf> = None;
        for candidate in self.roots.iter().map(|root| root.join(path)).filter(|it| it.is_file()) {
            match &found {
                None => found = Some(candidate),
                // One directory may be named twice.
                Some(first) if is_same(first, &candidate) => {}
                Some(first) => {
                    let (first, second) = (first.display(), candidate.display());
                    return Err(format!("there are two files for this: {first} and {second}"));
                }
            }
        }
        if let Some(found) = found {
            return match read(&found) {
                Ok(file) => Ok(Some(file)),
                Err(Unreadable::Io(error)) => Err(format!("{}: {error}", found.display())),
                Err(Unreadable::NotText) => Err(format!("{} is not UTF-8", found.display())),
            };
        }
        let platform = PLATFORM.iter().find(|(known, _)| *known == path);
        Ok(platform.map(|(path, text)| SourceFile::new(format!("<binder-build>/{path}"), *text)))
    }
}

fn is_same(first: &Path, second: &Path) -> bool {
    matches!((first.canonicalize(), second.canonicalize()), (Ok(a), Ok(b)) if a == b)
}
