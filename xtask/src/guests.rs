//! Guests with the kernels of distributions.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::Failure;
use crate::dist::Architecture;
use crate::workspace::{root, succeed};

/// A command of `kernel-vm.sh` for the guest of a suite, whose kernel is fetched if it is not here yet.
pub(crate) fn machine(suite: &str, architecture: Architecture) -> Result<Command, Failure> {
    let caches = std::env::var("HOME").map_err(|_| "there is no $HOME")?;
    let name = format!("{suite}-{}", architecture.name());
    let guest = Path::new(&caches).join(".cache/kernel-vm/matrix").join(name);
    let machine = || {
        let mut command = Command::new(root().join("tools/kernel-vm/kernel-vm.sh"));
        command.env("KERNEL_VM_DIR", &guest).env("KERNEL_VM_ARCH", architecture.name());
        command
    };
    if !guest.join("initrd").exists() {
        succeed(machine().args(["setup", suite]))?;
    }
    Ok(machine())
}

/// Puts a program, under this name, and the libraries that it is linked to where a guest is to have them.
pub(crate) fn copy_with_libraries(
    program: &Path,
    name: &str,
    guest_root: &Path,
) -> Result<(), Failure> {
    let listed = Command::new("ldd").arg(program).output()?;
    let listed = String::from_utf8(listed.stdout)?;
    // The kernel's own has no path.
    let paths = listed.split_ascii_whitespace().filter(|word| word.starts_with('/'));
    for path in paths.map(Path::new) {
        let place = guest_root.join(path.strip_prefix("/")?);
        fs::create_dir_all(place.parent().ok_or("a library is no directory")?)?;
        fs::copy(path, place)?;
    }
    fs::create_dir_all(guest_root.join("bin"))?;
    fs::copy(program, guest_root.join("bin").join(name))?;
    Ok(())
}
