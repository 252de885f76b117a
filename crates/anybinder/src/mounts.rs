//! The mounts of binderfs that this process sees.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use binder_os::BINDERFS_TYPE;

/// The state of a directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MountState {
    /// No binderfs of ours.
    Free,
    /// A binderfs of ours that is served.
    Served,
    /// One whose driver is gone.
    Abandoned,
}

/// The types of our binderfs and of the kernel's.
const KINDS: [&str; 2] = [BINDERFS_TYPE, "binder"];

/// The places of all mounts of binderfs, ours and the kernel's.
///
/// # Errors
///
/// As reading /proc/self/mounts.
pub(crate) fn of_binderfs() -> io::Result<Vec<PathBuf>> {
    let mut found = places(&fs::read_to_string("/proc/self/mounts")?, &KINDS);
    // A device that is mounted by itself is no directory to look into.
    found.retain(|place| place.join("binder-control").exists() || !place.is_file());
    Ok(found)
}

/// Whether a binderfs is mounted, or that is not known.
pub(crate) fn has_binderfs() -> bool {
    of_binderfs().map_or(true, |found| !found.is_empty())
}

/// Finds out the state of `dir`, an absolute path without symbolic links.
///
/// # Errors
///
/// As reading /proc/self/mounts.
pub(crate) fn standing_at(dir: &Path) -> io::Result<MountState> {
    if !is_ours(dir)? {
        return Ok(MountState::Free);
    }
    // Attributes may be remembered by the kernel; this asks the driver.
    Ok(match fs::read_dir(dir) {
        Err(error) if is_gone(&error) => MountState::Abandoned,
        Ok(_) | Err(_) => MountState::Served,
    })
}

/// Whether a binderfs of ours is mounted at `dir`, served or not.
///
/// # Errors
///
/// As reading /proc/self/mounts.
pub(crate) fn is_ours(dir: &Path) -> io::Result<bool> {
    let ours = places(&fs::read_to_string("/proc/self/mounts")?, &KINDS[..1]);
    Ok(ours.iter().any(|place| place == dir))
}

fn is_gone(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::NotConnected | ErrorKind::ConnectionAborted)
}

/// The places of mounts of these kinds, in the words of /proc/PID/mounts, each once.
fn places(mounts: &str, kinds: &[&str]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for line in mounts.lines() {
        let mut words = line.split(' ');
        if let (Some(_), Some(place), Some(kind)) = (words.next(), words.next(), words.next())
            && kinds.contains(&kind)
        {
            found.push(PathBuf::from(unescape(place)));
        }
    }
    found.sort();
    found.dedup();
    found
}

/// Decodes the escapes of spaces and the like in names: `\040`.
fn unescape(word: &str) -> String {
    let mut parts = word.split('\\');
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let code = part.get(..3).and_then(|digits| u8::from_str_radix(digits, 8).ok());
        match code {
            Some(code) => {
                plain.push(char::from(code));
                plain.push_str(&part[3..]);
            }
            None => {
                plain.push('\\');
                plain.push_str(part);
            }
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mounts_of_binderfs_are_found_among_others() {
        let mounts = "proc /proc proc rw 0 0\n\
                      anybinder /mnt/a\\040b fuse.anybinder.binder rw,nosuid 0 0\n\
                      binder /mnt/kernel binder rw 0 0\n\
                      anybinder /mnt/a\\040b fuse.anybinder.binder rw 0 0\n\
                      sshfs /mnt/other fuse.sshfs rw 0 0\n";
        assert_eq!(places(mounts, &KINDS), ["/mnt/a b", "/mnt/kernel"].map(PathBuf::from));
        assert_eq!(places(mounts, &KINDS[..1]), [PathBuf::from("/mnt/a b")]);
    }

    #[test]
    fn names_are_taken_back_from_their_escapes() {
        assert_eq!(unescape("/a\\040b\\134c"), "/a b\\c");
        assert_eq!(unescape("/plain"), "/plain");
        assert_eq!(unescape("\\x"), "\\x");
    }

    #[test]
    fn where_nothing_is_mounted_it_is_free() {
        assert_eq!(standing_at(Path::new("/usr")).unwrap(), MountState::Free);
    }
}
