//! Files that are compiled together.

use std::path::{self, Path, PathBuf};

use binder_aidl::AidlOptions;

use crate::glue::files_below;
use crate::{Error, built_in};

/// Files of one package root, version and stability.
#[derive(Debug, Clone)]
pub struct Unit {
    pub(crate) includes: Vec<PathBuf>,
    pub(crate) sources: Vec<PathBuf>,
    pub(crate) options: AidlOptions,
    /// Further options for the compiler, if it is a program.
    pub(crate) flags: Vec<String>,
}

impl Unit {
    /// Files whose packages start at the directory `root`.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self {
            includes: vec![root.into()],
            sources: Vec::new(),
            options: AidlOptions::default(),
            flags: Vec::new(),
        }
    }

    /// Files, and all `.aidl` files below directories. Imports are found where the packages of the files start.
    ///
    /// # Errors
    ///
    /// [`Error::NoSources`] if there are none below a directory, or why a file could not be read.
    pub fn of_paths(paths: impl IntoIterator<Item = impl AsRef<Path>>) -> Result<Self, Error> {
        let (includes, options) = (Vec::new(), AidlOptions::default());
        let mut unit = Self { includes, sources: Vec::new(), options, flags: Vec::new() };
        for path in paths {
            let path = path.as_ref();
            unit = if path.is_dir() { unit.sources_below(path)? } else { unit.source(path) };
        }
        let texts = built_in::sources(&unit)?;
        for (path, file) in unit.sources.iter_mut().zip(texts) {
            let package = binder_aidl::package_of(&file.text).unwrap_or_default();
            let package: PathBuf = package.split('.').filter(|name| !name.is_empty()).collect();
            let mut root = package_root(path, &package);
            // Paths within the package do not name all of it.
            if root.is_none()
                && let Ok(whole) = path::absolute(&path)
                && let Some(found) = package_root(&whole, &package)
            {
                (root, *path) = (Some(found), whole);
            }
            unit.includes.extend(root.filter(|root| !unit.includes.contains(root)));
        }
        Ok(unit)
    }

    /// Adds a directory to look for imports in, such as declarations of types that are written by hand
    /// (`parcelable Foo rust_type "crate::Foo";`), which the compiler takes as imports only.
    /// `android.os.PersistableBundle` is known without.
    #[must_use]
    pub fn include(mut self, root: impl Into<PathBuf>) -> Self {
        self.includes.push(root.into());
        self
    }

    /// Adds a file to compile.
    #[must_use]
    pub fn source(mut self, path: impl Into<PathBuf>) -> Self {
        self.sources.push(path.into());
        self
    }

    /// Adds all `.aidl` files below a directory.
    ///
    /// # Errors
    ///
    /// [`Error::NoSources`] if there are none, or [`Error::File`].
    pub fn sources_below(mut self, directory: impl AsRef<Path>) -> Result<Self, Error> {
        let directory = directory.as_ref();
        let found = files_below(directory, "aidl")?;
        if found.is_empty() {
            return Err(Error::NoSources { path: directory.to_owned() });
        }
        self.sources.extend(found);
        Ok(self)
    }

    /// Gives the interfaces a version and a hash, which callers can ask for.
    #[must_use]
    pub fn version(mut self, version: u32, hash: &str) -> Self {
        self.options.version = Some(version);
        self.options.hash = Some(hash.to_owned());
        self
    }

    /// Declares everything stable across system and vendor images (`@VintfStability`).
    #[must_use]
    pub fn vintf(mut self) -> Self {
        self.options.is_vintf = true;
        self
    }

    /// Adds an option of Android's compiler. The one of this crate has no others than those above.
    #[must_use]
    pub fn flag(mut self, flag: impl Into<String>) -> Self {
        self.flags.push(flag.into());
        self
    }

    /// The options of a program.
    pub(crate) fn arguments(&self) -> Vec<String> {
        let AidlOptions { version, hash, is_vintf } = &self.options;
        let version = version.map(|version| format!("--version={version}"));
        let hash = hash.as_ref().map(|hash| format!("--hash={hash}"));
        let stability = is_vintf.then(|| "--stability=vintf".to_owned());
        let own = version.into_iter().chain(hash).chain(stability);
        own.chain(self.flags.iter().cloned()).collect()
    }

    /// The files whose change means generating again.
    pub(crate) fn inputs(&self) -> impl Iterator<Item = &PathBuf> {
        self.includes.iter().chain(&self.sources)
    }
}

/// The directory in which the package of a file starts, if its path has the whole package.
fn package_root(file: &Path, package: &Path) -> Option<PathBuf> {
    let directory = file.parent().filter(|directory| directory.ends_with(package))?;
    let root = directory.ancestors().nth(package.components().count())?;
    Some(if root == Path::new("") { PathBuf::from(".") } else { root.to_owned() })
}
