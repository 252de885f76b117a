//! The Debian package: the installed files, and what dpkg is to know and to do.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use super::architecture::Architecture;
use super::epoch;
use crate::TaskFailure;
use crate::workspace::{succeed, text};

/// The scripts that dpkg runs, by their names in a package.
const SCRIPTS: [&str; 3] = ["postinst", "prerm", "postrm"];

/// Packs what has been laid out at `installed`.
pub(super) fn pack(
    installed: &Path,
    architecture: Architecture,
    package: &Path,
) -> Result<(), TaskFailure> {
    let control = installed.join("DEBIAN");
    fs::create_dir_all(&control)?;
    let size = Command::new("du").args(["-sk", "--apparent-size"]).arg(installed).output()?;
    let size = String::from_utf8(size.stdout)?;
    let kib = size.split_whitespace().next().ok_or("du prints no size")?;
    let fields = text(Path::new("contrib/debian/control"))?
        .replace("@VERSION@", env!("CARGO_PKG_VERSION"))
        .replace("@ARCHITECTURE@", architecture.debian())
        .replace("@INSTALLED_SIZE@", kib);
    fs::write(control.join("control"), fields)?;
    for script in SCRIPTS {
        let place = control.join(script);
        fs::write(&place, text(&Path::new("contrib/debian").join(script))?)?;
        fs::set_permissions(&place, fs::Permissions::from_mode(0o755))?;
    }
    let mut dpkg = Command::new("dpkg-deb");
    // The compression that dpkg has always known.
    dpkg.args(["--root-owner-group", "-Zgzip", "--build"]).args([installed, package]);
    succeed(dpkg.env("SOURCE_DATE_EPOCH", epoch()?))
}
