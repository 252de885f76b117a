//! The paths of binder devices that a process has open.
//!
//! Each look-up of a device finds an inode of its own, so the kernel takes those that were found before
//! for deleted, and says so. Whether a device was indeed removed is not found out: only its driver knows, which may be
//! another world's, and need not answer.

use std::io;

use binder_os::{BINDERFS_TYPE, ProcDir};

use crate::errno::found;

/// What the kernel adds to the path of a file that has lost its name.
const DELETED: &[u8] = b" (deleted)";

/// Where descriptor `fd` of a process leads, of which the kernel says `target`.
pub(in crate::view) fn target_of(
    process: &ProcDir,
    fd: u32,
    target: Vec<u8>,
) -> io::Result<Vec<u8>> {
    let Some(path) = target.strip_suffix(DELETED) else { return Ok(target) };
    let is_of_binderfs = found(is_of_binderfs(process, fd))?.unwrap_or(false);
    Ok(if is_of_binderfs { path.to_vec() } else { target })
}

/// Whether a descriptor is of a binderfs.
fn is_of_binderfs(process: &ProcDir, fd: u32) -> io::Result<bool> {
    let info = process.read(format!("fdinfo/{fd}"))?;
    let mount = lines(&info).find_map(|line| line.strip_prefix(b"mnt_id:"));
    let mounts = process.read("mountinfo")?;
    Ok(mount.is_some_and(|mount| is_binderfs(&mounts, mount.trim_ascii())))
}

/// Whether the mount of this number, in the words of mountinfo, is a binderfs.
fn is_binderfs(mountinfo: &[u8], mount: &[u8]) -> bool {
    lines(mountinfo).any(|line| {
        let mut words = line.split(|byte| *byte == b' ');
        // Behind a single dash: the number of fields before it differs.
        words.next() == Some(mount) && words.find(|word| *word == b"-").is_some() && {
            words.next() == Some(BINDERFS_TYPE.as_bytes())
        }
    })
}

fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(|byte| *byte == b'\n')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mount_is_found_by_its_number_and_known_by_its_type() {
        let mounts = b"36 35 98:0 / /mnt1 rw - ext3 /dev/root rw\n\
                       37 35 0:49 / /dev/fuse.anybinder rw shared:1 master:2 - fuse.anybinder.binder a rw\n\
                       7 35 0:50 / /x rw - fuse.other fuse.anybinder.binder rw\n";
        assert!(is_binderfs(mounts, b"37"));
        for other in [&b"36"[..], b"7", b"3", b"35", b""] {
            assert!(!is_binderfs(mounts, other), "{other:?}");
        }
    }
}
