//! The library by which unmodified programs use the ring: where they find it.
//!
//! The dynamic linker loads it before a program's own libraries, and after those that the user preloads: what these do
//! about `ioctl` comes first, and a runtime that insists on being the first, as that of AddressSanitizer, is.
//! Static programs, and those that run with other rights than their caller's, do not load it; they make their calls by
//! FUSE, as all do where there is no ring.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use binder_os::mounts;
use binder_os::namespaces::SetupError;
use binder_os::private_dev::{self, LIBRARY_DIR, LIBRARY_NAME, RING_LIBRARY};

use crate::cli::PreloadOptions;
use crate::failure::{Failure, failed};

/// The library that build.rs has made.
const LIBRARY: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/libanybinder_ring.so"));

/// The dynamic linker's variable. Names in it have colons or spaces between them.
const PRELOAD: &str = "LD_PRELOAD";

/// Programs that find 1 here use no ring.
pub(crate) const NO_RING: &str = "ANYBINDER_NO_RING";

/// What AddressSanitizer's runtime is told in programs that are linked to it: not to refuse to start because another
/// library was loaded before.
const SANITIZER: (&str, &str) = ("ASAN_OPTIONS", "verify_asan_link_order=0");

/// `anybinder preload`: writes the library to a file, for programs outside of worlds.
pub(crate) fn run(options: &PreloadOptions) -> Result<ExitCode, Failure> {
    let PreloadOptions { file } = options;
    let tried = format!("writing {}", file.display());
    let dir = file.parent().filter(|it| !it.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if !mounts::may_execute(dir).map_err(failed(&tried))? {
        let answer = "no program could load it there, where the file system is mounted noexec";
        return Err(
            Failure::new(tried, answer).advise("name a file elsewhere, as below /usr/local/lib")
        );
    }
    replace(file, LIBRARY).map_err(failed(&tried))?;
    Ok(ExitCode::SUCCESS)
}

/// Puts a file, readable by all, in the place of what has its name. Whoever has that mapped keeps it as it was.
fn replace(file: &Path, content: &[u8]) -> io::Result<()> {
    let mut name = file.file_name().ok_or(io::ErrorKind::IsADirectory)?.to_owned();
    name.push(format!(".new-{}", std::process::id()));
    let new = file.with_file_name(name);
    let mut written = OpenOptions::new().write(true).create_new(true).mode(0o644).open(&new)?;
    let replaced = written
        .write_all(content)
        // The umask may have withheld some.
        .and_then(|()| written.set_permissions(PermissionsExt::from_mode(0o644)))
        .and_then(|()| fs::rename(&new, file));
    replaced.inspect_err(|_| {
        // It is of no use to anyone.
        let _ = fs::remove_file(&new);
    })
}

/// Variables for the command of a world and its children.
#[derive(Debug, Clone)]
pub(crate) struct RingEnvironment {
    /// Whether no program is to use a ring, not even one that knows how.
    is_off: bool,
    /// Whether programs find the library.
    has_library: bool,
}

impl RingEnvironment {
    /// Without a ring for any program.
    pub(crate) fn off() -> Self {
        Self { is_off: true, has_library: false }
    }

    /// For programs that know how to use a ring, or need none. What an outer world preloads is out of sight.
    pub(crate) fn without_library() -> Self {
        Self { is_off: false, has_library: false }
    }

    /// In a world: places the library, if it can be of use.
    pub(crate) fn place() -> Self {
        Self::place_in(Path::new(LIBRARY_DIR))
    }

    /// The same in a new directory, which programs will see where those of worlds do.
    pub(crate) fn place_in(dir: &Path) -> Self {
        let placed = (!is_off()).then(|| place(dir));
        if let Some(Err(error)) = &placed {
            tracing::debug!(%error, "no library is preloaded");
        }
        Self { is_off: false, has_library: placed.is_some_and(|it| it.is_ok()) }
    }

    /// Whether programs find the library where worlds have it.
    pub(crate) fn has_library(&self) -> bool {
        self.has_library
    }

    /// The variables to set. Nothing is preloaded where there is no supervisor, which tells programs that confine their system
    /// calls to leave the ring.
    ///
    /// `before` says what a variable was.
    pub(crate) fn variables(
        &self,
        is_supervised: bool,
        before: impl Fn(&str) -> Option<OsString>,
    ) -> Vec<(&'static str, OsString)> {
        let preloaded = before(PRELOAD);
        let others = others(preloaded.as_deref().unwrap_or_default());
        if !self.has_library || !is_supervised {
            let without = preloaded.is_some().then_some((PRELOAD, others));
            let off = self.is_off.then(|| (NO_RING, "1".into()));
            return without.into_iter().chain(off).collect();
        }
        let (name, wanted) = SANITIZER;
        let said = before(name).unwrap_or_default();
        let is_said = said.as_bytes().split(|byte| *byte == b':').any(|it| it == wanted.as_bytes());
        let options = if is_said { said } else { joined(wanted.as_ref(), &said) };
        vec![(PRELOAD, joined(&others, RING_LIBRARY.as_ref())), (name, options)]
    }
}

/// Whether the environment says that programs are to use no ring.
pub(crate) fn is_off() -> bool {
    env::var_os(NO_RING).is_some_and(|it| it == "1")
}

/// Places the library in a new directory.
pub(crate) fn place(dir: &Path) -> Result<PathBuf, SetupError> {
    private_dev::place_library(dir, LIBRARY)
}

/// The loaders that take the library, where C libraries have them.
const LOADERS: &[&str] = if cfg!(target_arch = "aarch64") {
    &["lib/ld-linux-aarch64.so.1", "lib/ld-musl-aarch64.so.1"]
} else {
    &["lib64/ld-linux-x86-64.so.2", "lib/ld-musl-x86_64.so.1"]
};

/// Those of Android, which end a program that may not load what is to be preloaded, such as a 32-bit one.
const STRICT_LOADERS: [&str; 2] = ["system/bin/linker64", "system/bin/linker"];

/// Whether programs of another root file system may be told to preload the library.
pub(crate) fn suits(root: &Path) -> bool {
    let has = |path: &&str| root.join(path).symlink_metadata().is_ok();
    LOADERS.iter().any(has) && !STRICT_LOADERS.iter().any(has)
}

/// The libraries to preload besides ours, which an outer world may have named, or its user: of several the first makes all calls, and the
/// supervisor knows that of the world.
fn others(preloaded: &OsStr) -> OsString {
    let names = preloaded.as_bytes().split(|byte| b": ".contains(byte));
    let is_ours = |name: &&[u8]| {
        Path::new(OsStr::from_bytes(name)).file_name() == Some(LIBRARY_NAME.as_ref())
    };
    let others = names.filter(|name| !name.is_empty() && !is_ours(name));
    OsStr::from_bytes(&others.collect::<Vec<_>>().join(&b':')).to_owned()
}

/// Both, with a colon between them if there is something on both sides.
fn joined(first: &OsStr, second: &OsStr) -> OsString {
    let colon = if first.is_empty() || second.is_empty() { "" } else { ":" };
    [first, colon.as_ref(), second].into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_others_preload_comes_first_and_ours_once() {
        let ours = "/dev/.ring/libanybinder_ring.so";
        for (before, after) in [
            ("", ours),
            ("/a.so", "/a.so:/dev/.ring/libanybinder_ring.so"),
            ("a.so b.so", "a.so:b.so:/dev/.ring/libanybinder_ring.so"),
            (ours, ours),
            (
                "/usr/lib/anybinder/libanybinder_ring.so:/a.so",
                "/a.so:/dev/.ring/libanybinder_ring.so",
            ),
            (
                "a.so:/dev/.ring/libanybinder_ring.so b.so",
                "a.so:b.so:/dev/.ring/libanybinder_ring.so",
            ),
        ] {
            assert_eq!(joined(&others(before.as_ref()), ours.as_ref()), after, "{before}");
        }
    }

    #[test]
    fn a_file_is_replaced_as_a_whole() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("library.so");
        replace(&file, b"old").unwrap();
        let mapped = fs::File::open(&file).unwrap();
        replace(&file, b"newer").unwrap();
        assert_eq!(fs::read(&file).unwrap(), b"newer");
        assert_eq!(io::read_to_string(mapped).unwrap(), "old");
        assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o644);
        let below = dir.path().join("directory");
        fs::create_dir(&below).unwrap();
        assert!(replace(&below, b"").is_err() && replace(Path::new("/"), b"").is_err());
        assert!(replace(&below.join("none/library.so"), b"").is_err());
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2, "nothing else is left");
    }

    #[test]
    fn containers_of_android_are_told_of_no_library() {
        let root = env::temp_dir().join(format!("anybinder-loaders-{}", std::process::id()));
        let add = |path: &str| {
            let file = root.join(path);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, "").unwrap();
        };
        assert!(!suits(&root));
        add("lib/ld-linux.so.2");
        assert!(!suits(&root), "it is for 32-bit programs");
        add(LOADERS[1]);
        assert!(suits(&root));
        add("system/bin/linker64");
        assert!(!suits(&root));
        fs::remove_dir_all(&root).unwrap();
    }

    #[test]
    fn the_sanitizer_is_told_once() {
        let ring = RingEnvironment { is_off: false, has_library: true };
        let (ours, told) = (RING_LIBRARY, SANITIZER.1);
        let variables = |said: &'static str| {
            let before = move |name: &str| (name == SANITIZER.0).then(|| OsString::from(said));
            ring.variables(true, before)
        };
        for (said, after) in
            [("", told.to_owned()), (told, told.to_owned()), ("a=1", format!("{told}:a=1"))]
        {
            assert_eq!(variables(said), [(PRELOAD, ours.into()), (SANITIZER.0, after.into())]);
        }
    }
}
