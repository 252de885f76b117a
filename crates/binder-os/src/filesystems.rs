//! What /proc/filesystems says, which scripts ask before they mount binderfs or look for devices.

use std::fs;
use std::io;
use std::path::Path;

use rustix::mount::MountFlags;

/// Where the kernel lists the types of file systems that it knows.
pub const FILESYSTEMS: &str = "/proc/filesystems";

/// How it lists binderfs.
const BINDER: &str = "nodev\tbinder";

/// Returns the kernel's list, with binderfs in it.
///
/// # Errors
///
/// As read(2), where /proc is not mounted.
pub fn with_binder() -> io::Result<String> {
    fs::read_to_string(FILESYSTEMS).map(|listed| added(&listed))
}

fn added(listed: &str) -> String {
    if listed.lines().any(|line| line == BINDER) {
        return listed.to_owned();
    }
    format!("{listed}{BINDER}\n")
}

/// Mounts `file` read-only over `place`.
///
/// Where `place` is below a /proc, the processes of user namespaces made afterwards can mount no /proc of their own: to
/// the kernel, it would show them what this one hides.
///
/// # Errors
///
/// As mount(2).
pub fn show(file: &Path, place: &Path) -> io::Result<()> {
    rustix::mount::mount_bind(file, place)?;
    Ok(rustix::mount::mount_remount(place, MountFlags::BIND | MountFlags::RDONLY, c"")?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn binder_is_listed_once() {
        let kernels = "nodev\tsysfs\n\text4\n";
        let listed = added(kernels);
        assert_eq!(listed, "nodev\tsysfs\n\text4\nnodev\tbinder\n");
        assert_eq!(added(&listed), listed);
    }
}
