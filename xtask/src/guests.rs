//! Guests with the kernels of distributions.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::TaskFailure;
use crate::dist::Architecture;
use crate::workspace::{root, succeed};

/// A command of `kernel-vm.sh` for the guest of a suite, or of a flavour of its kernel, which is fetched if it is not here yet.
pub(crate) fn machine(suite: &str, architecture: Architecture) -> Result<Command, TaskFailure> {
    let caches = std::env::var("HOME").map_err(|_| "there is no $HOME")?;
    let name = format!("{}-{}", suite.replace(':', "-"), architecture.name());
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
    architecture: Architecture,
    program: &Path,
    name: &str,
    guest_root: &Path,
) -> Result<(), TaskFailure> {
    let needed = Needed::of(program)?;
    // A dynamic linker looks there on its own.
    let directory = guest_root.join("lib");
    fs::create_dir_all(&directory)?;
    for library in &needed.libraries {
        fs::copy(library_path(architecture, library)?, directory.join(library))?;
    }
    let place = guest_root.join(needed.interpreter.strip_prefix("/")?);
    fs::create_dir_all(place.parent().ok_or("the dynamic linker is no directory")?)?;
    let linker = needed.interpreter.file_name().ok_or("the dynamic linker has no name")?;
    fs::copy(library_path(architecture, &linker.to_string_lossy())?, place)?;
    fs::create_dir_all(guest_root.join("bin"))?;
    fs::copy(program, guest_root.join("bin").join(name))?;
    Ok(())
}

/// Where the compiler of a processor has a library.
fn library_path(architecture: Architecture, library: &str) -> Result<PathBuf, TaskFailure> {
    let mut compiler = Command::new(architecture.tool("gcc"));
    let found = compiler.arg(format!("-print-file-name={library}")).output()?;
    Ok(String::from_utf8(found.stdout)?.trim_end().into())
}

/// What a program says that it cannot run without.
#[derive(Debug, PartialEq, Eq)]
struct Needed {
    interpreter: PathBuf,
    libraries: Vec<String>,
}

impl Needed {
    fn of(program: &Path) -> Result<Self, TaskFailure> {
        let mut reader = Command::new("readelf");
        let listed = reader.args(["-W", "-d", "-l"]).arg(program).env("LC_ALL", "C").output()?;
        let listed = String::from_utf8(listed.stdout)?;
        Self::parse(&listed)
            .ok_or_else(|| format!("{} names no dynamic linker", program.display()).into())
    }

    fn parse(listed: &str) -> Option<Self> {
        let named = |head: &'static str| {
            listed.lines().filter_map(move |line| line.split_once(head)?.1.strip_suffix(']'))
        };
        Some(Self {
            interpreter: named("[Requesting program interpreter: ").next()?.into(),
            libraries: named("(NEEDED)             Shared library: [").map(str::to_owned).collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_tells_its_libraries_and_its_linker() {
        let listed = "  INTERP  0x000318 0x0318 0x0318 0x00001b 0x00001b R   0x1\n      \
                      [Requesting program interpreter: /lib/ld-linux-aarch64.so.1]\n \
                      0x0000000000000001 (NEEDED)             Shared library: [libgcc_s.so.1]\n \
                      0x0000000000000001 (NEEDED)             Shared library: [libc.so.6]\n";
        let needed = Needed::parse(listed).unwrap();
        assert_eq!(needed.interpreter, Path::new("/lib/ld-linux-aarch64.so.1"));
        assert_eq!(needed.libraries, ["libgcc_s.so.1", "libc.so.6"]);
        assert_eq!(Needed::parse("There is no dynamic section in this file.\n"), None);
    }
}
