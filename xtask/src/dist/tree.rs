//! The files of an installed program, at their places.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::process::Command;

use super::architecture::Architecture;
use super::{epoch, notices};
use crate::TaskFailure;
use crate::workspace::{root, succeed, text};

/// Where the package installs the program, and where a user copies it to.
const PACKAGED: &str = "/usr/bin/anybinder";
const BY_HAND: &str = "/usr/local/bin/anybinder";

/// Where programs find the library that they may preload.
const PRELOADED: &str = "usr/lib/anybinder/libanybinder_ring.so";

/// Shells, with the places where Debian's look for completions.
const COMPLETIONS: [(&str, &str); 3] = [
    ("bash", "usr/share/bash-completion/completions/anybinder"),
    ("zsh", "usr/share/zsh/vendor-completions/_anybinder"),
    ("fish", "usr/share/fish/vendor_completions.d/anybinder.fish"),
];

/// Files of the sources that are installed as they are.
const COPIED: [(&str, &str); 7] = [
    ("contrib/apparmor/anybinder", "usr/share/anybinder/apparmor/anybinder"),
    ("contrib/systemd/limits", "usr/share/doc/anybinder/examples/limits"),
    ("README.md", "usr/share/doc/anybinder/README.md"),
    ("SECURITY.md", "usr/share/doc/anybinder/SECURITY.md"),
    ("CHANGELOG.md", "usr/share/doc/anybinder/changelog"),
    ("docs/records.schema.json", "usr/share/anybinder/records.schema.json"),
    ("contrib/debian/copyright", "usr/share/doc/anybinder/copyright"),
];

/// Lays them out below `place`. `starter` are the words before the program that have it run on this machine.
pub(super) fn lay_out(
    program: &Path,
    starter: &[String],
    architecture: Architecture,
    place: &Path,
) -> Result<(), TaskFailure> {
    install(program, &place.join("usr/bin/anybinder"), 0o755)?;
    symlink("anybinder", place.join("usr/bin/anybinder-oci"))?;
    for (from, to) in COPIED {
        install(&root().join(from), &place.join(to), 0o644)?;
    }
    let unit = text(Path::new("contrib/systemd/anybinder.service"))?;
    let unit = unit.replace(BY_HAND, PACKAGED);
    let unit = unit.lines().filter(|line| !is_about_copying(line)).fold(String::new(), in_lines);
    write(&place.join("usr/lib/systemd/system/anybinder.service"), unit.as_bytes())?;
    let notices = notices::of_program(architecture)?;
    write(&place.join("usr/share/doc/anybinder/THIRD-PARTY-NOTICES"), notices.as_bytes())?;
    let words: Vec<_> = starter.iter().map(AsRef::as_ref).chain([program.as_os_str()]).collect();
    for (shell, to) in COMPLETIONS {
        let mut command = Command::new(words[0]);
        let said = command.args(&words[1..]).args(["completions", shell]).output()?;
        if !said.status.success() {
            return Err(format!("{command:?}: {}", said.status).into());
        }
        write(&place.join(to), &said.stdout)?;
    }
    let library = place.join(PRELOADED);
    fs::create_dir_all(library.parent().expect("it is below a directory"))?;
    let mut preload = Command::new(words[0]);
    succeed(preload.args(&words[1..]).arg("preload").arg(library))?;
    let pages = place.join("usr/share/man/man1");
    let mut man = Command::new(words[0]);
    succeed(man.args(&words[1..]).args(["man", "--dir"]).arg(&pages))?;
    let finish = "gzip --no-name --best usr/share/man/man1/* usr/share/doc/anybinder/changelog
        chmod -R u=rwX,go=rX .; find . -exec touch --no-dereference --date=\"@$1\" {} +";
    let mut shell = Command::new("sh");
    succeed(shell.args(["-ec", finish, "sh", &epoch()?]).current_dir(place))
}

/// Adds a program beside the first.
pub(super) fn add_program(program: &Path, name: &str, place: &Path) -> Result<(), TaskFailure> {
    let to = place.join("usr/bin").join(name);
    install(program, &to, 0o755)?;
    let date = format!("@{}", epoch()?);
    // The directory has changed, too.
    let both = [to.as_path(), to.parent().expect("it is in a directory")];
    succeed(Command::new("touch").args(["--date", &date]).args(both))
}

/// Lines of the unit for users who copy it by hand.
fn is_about_copying(line: &str) -> bool {
    line.contains("Copy to /etc/systemd") || line.contains("systemctl daemon-reload")
}

fn in_lines(text: String, line: &str) -> String {
    text + line + "\n"
}

fn install(from: &Path, to: &Path, mode: u32) -> Result<(), TaskFailure> {
    let bytes = fs::read(from).map_err(|error| format!("{}: {error}", from.display()))?;
    write(to, &bytes)?;
    fs::set_permissions(to, fs::Permissions::from_mode(mode))?;
    Ok(())
}

fn write(to: &Path, bytes: &[u8]) -> Result<(), TaskFailure> {
    fs::create_dir_all(to.parent().expect("it is below a directory"))?;
    fs::write(to, bytes).map_err(|error| format!("{}: {error}", to.display()).into())
}
