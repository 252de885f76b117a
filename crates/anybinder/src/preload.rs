//! The library by which unmodified programs use the ring: where they find it.
//!
//! The dynamic linker loads it before a program's own libraries, and after those that the user preloads: what these do
//! about `ioctl` comes first, and a runtime that insists on being the first, as that of AddressSanitizer, is.
//! Static programs, and those that run with other rights than their caller's, do not load it; they make their calls by
//! FUSE, as all do where there is no ring.

use std::env;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use binder_os::credentials;
use binder_os::namespaces::SetupError;
use binder_os::private_dev::{self, RING_LIBRARY};

use crate::failure::{Failure, failed};

/// The library that build.rs has made.
const LIBRARY: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/libanybinder_ring.so"));

/// The dynamic linker's variable. Names in it have colons or spaces between them.
const PRELOAD: &str = "LD_PRELOAD";

/// Programs that find 1 here use no ring.
const NO_RING: &str = "ANYBINDER_NO_RING";

/// What AddressSanitizer's runtime is told in programs that are linked to it: not to refuse to start because another
/// library was loaded before.
const SANITIZER: (&str, &str) = ("ASAN_OPTIONS", "verify_asan_link_order=0");

/// Variables for the command of a world and its children.
#[derive(Debug, Clone)]
pub(crate) struct RingEnvironment {
    /// Whether no program is to use a ring, not even one that knows how.
    is_off: bool,
    /// Where the library is, if there is one.
    library: Option<PathBuf>,
}

impl RingEnvironment {
    /// Without a ring for any program.
    pub(crate) fn off() -> Self {
        Self { is_off: true, library: None }
    }

    /// For programs that know how to use a ring, or need none. What an outer world preloads is out of sight.
    pub(crate) fn without_library() -> Self {
        Self { is_off: false, library: None }
    }

    /// In a world: places the library, if it can be of use.
    pub(crate) fn place() -> Self {
        // Without that, the driver takes no segment from any client.
        let told = credentials::are_told().map_err(failed("asking the kernel who calls"));
        let place = || told.and_then(|()| place().map_err(Failure::from));
        let library = (!is_off()).then(place).and_then(|placed| {
            let note = |failure: &Failure| tracing::debug!(%failure, "no library is preloaded");
            placed.inspect_err(note).ok()
        });
        Self { is_off: false, library }
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
        let Some(library) = self.library.as_ref().filter(|_| is_supervised) else {
            let without = preloaded.is_some().then_some((PRELOAD, others));
            let off = self.is_off.then(|| (NO_RING, "1".into()));
            return without.into_iter().chain(off).collect();
        };
        let (name, wanted) = SANITIZER;
        let said = before(name).unwrap_or_default();
        let preloaded = joined(&others, library.as_os_str());
        vec![(PRELOAD, preloaded), (name, joined(wanted.as_ref(), &said))]
    }
}

/// Whether the environment says that programs are to use no ring.
pub(crate) fn is_off() -> bool {
    env::var_os(NO_RING).is_some_and(|it| it == "1")
}

/// In a world: places the library.
pub(crate) fn place() -> Result<PathBuf, SetupError> {
    private_dev::place_library(LIBRARY)
}

/// The libraries to preload besides ours, which an outer world may have named.
fn others(preloaded: &OsStr) -> OsString {
    let names = preloaded.as_bytes().split(|byte| b": ".contains(byte));
    let others = names.filter(|name| !name.is_empty() && *name != RING_LIBRARY.as_bytes());
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
                "a.so:/dev/.ring/libanybinder_ring.so b.so",
                "a.so:b.so:/dev/.ring/libanybinder_ring.so",
            ),
        ] {
            assert_eq!(joined(&others(before.as_ref()), ours.as_ref()), after, "{before}");
        }
    }
}
