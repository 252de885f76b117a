//! Starts what has been made, as its users do.
//!
//! Each trial is in namespaces of its own, whose mounts and processes go with it.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use super::image;
use crate::TaskFailure;
use crate::workspace::succeed;

/// Few calls: that they are answered is all that is asked.
const DEMO: [&str; 3] = ["demo", "--calls", "100"];

/// How long one may take.
const TIME_LIMIT: [&str; 3] = ["timeout", "--kill-after=5", "300"];

/// Starts a program where there is no other file; one that needs a `starter`, with it, as far as that carries.
pub(super) fn start_alone(program: &Path, starter: &[String]) -> Result<(), TaskFailure> {
    let Some((emulator, rest)) = starter.split_first() else {
        let mut bubble = limited("bwrap");
        bubble.args(["--unshare-pid", "--die-with-parent", "--cap-add", "ALL", "--tmpfs", "/"]);
        bubble.args(["--proc", "/proc", "--dev", "/dev", "--dev-bind", "/dev/fuse", "/dev/fuse"]);
        bubble.arg("--ro-bind").arg(program).args(["/anybinder", "/anybinder"]);
        return succeed(bubble.args(DEMO));
    };
    let emulated = |arguments: &[&str]| {
        let mut command = limited(emulator);
        command.args(rest).arg(program).args(arguments);
        command
    };
    succeed(&mut emulated(&["--version"]))?;
    // An emulator has threads and lacks system calls: worlds cannot be made there, and the answer must say so.
    let said = emulated(&["doctor"]).output()?;
    let said = String::from_utf8_lossy(&said.stdout);
    println!("{said}");
    let is_told = |what: &str| said.lines().any(|line| line.starts_with(what));
    if is_told("fuse ") && is_told("run ") {
        Ok(())
    } else {
        Err("doctor does not come to its end under an emulator".into())
    }
}

/// Installs a package into a Debian, uses what it has installed, and removes it again.
///
/// The changes are kept at `place` meanwhile: `debian` itself stays as it is.
pub(super) fn install(package: &Path, debian: &Path, place: &Path) -> Result<(), TaskFailure> {
    fs::create_dir_all(place)?;
    let script = r#"
        mount -t tmpfs tmpfs "$PLACE"; cd "$PLACE"; mkdir upper work root
        mount -t overlay -o "lowerdir=$DEBIAN,upperdir=upper,workdir=work" overlay root
        mount --rbind /dev root/dev; mount -t proc proc root/proc; cp "$PACKAGE" root/anybinder.deb
        exec chroot root env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin sh -euc "$INSIDE""#;
    let inside = r#"
        dpkg --path-include='/usr/share/*' --install /anybinder.deb
        dpkg --verify anybinder
        dpkg --listfiles anybinder >/installed
        for page in anybinder anybinder-run anybinder-world-create anybinder-service-call; do
            grep -qx "/usr/share/man/man1/$page.1.gz" /installed
        done
        bash -c '. /usr/share/bash-completion/completions/anybinder && complete -p anybinder'
        anybinder --version
        anybinder demo --calls 100
        anybinder run -- ls /dev/binder
        anybinder-oci --help | grep -q 'in the place of their runtime'
        test -z "$(LD_PRELOAD=/usr/lib/anybinder/libanybinder_ring.so true 2>&1)"
        dpkg --purge anybinder
        while read -r file; do
            if [ -f "$file" ] || [ -L "$file" ]; then echo "$file is left"; exit 1; fi
        done </installed"#;
    let mut command = limited("unshare");
    command.args(["--mount", "--pid", "--fork", "--kill-child", "sh", "-euc", script]);
    command.env("PLACE", place).env("DEBIAN", debian).env("INSIDE", inside);
    succeed(command.env("PACKAGE", package))
}

/// Runs a container of an image by `runc`, as Docker and podman do.
pub(super) fn start_image(archive: &Path, place: &Path) -> Result<(), TaskFailure> {
    let (layout, bundle) = (place.join("layout"), place.join("bundle"));
    unpack(archive, &layout)?;
    let (layer, config) = image::open(&layout)?;
    unpack(&layer, &bundle.join("rootfs"))?;
    succeed(Command::new("runc").args(["spec", "--bundle"]).arg(&bundle))?;
    let file = bundle.join("config.json");
    let mut spec: Value = serde_json::from_slice(&fs::read(&file)?)?;
    let said = config["Entrypoint"].as_array().cloned().unwrap_or_default();
    let words: Vec<_> = said.into_iter().chain(DEMO.map(Value::from)).collect();
    spec["process"]["args"] = words.into();
    spec["process"]["env"] = config["Env"].clone();
    spec["process"]["terminal"] = false.into();
    for set in ["bounding", "effective", "permitted"] {
        spec["process"]["capabilities"][set] = json!(["CAP_SYS_ADMIN"]);
    }
    // As by `--device /dev/fuse`.
    let fuse =
        json!({ "path": "/dev/fuse", "type": "c", "major": 10, "minor": 229, "fileMode": 0o666 });
    spec["linux"]["devices"] = json!([fuse]);
    spec["linux"]["resources"]["devices"] = json!([
        { "allow": false, "access": "rwm" },
        { "allow": true, "type": "c", "major": 10, "minor": 229, "access": "rw" },
    ]);
    fs::write(file, spec.to_string())?;
    let mut runc = limited("runc");
    runc.arg("--root").arg(place.join("state")).args(["run", "--bundle"]).arg(&bundle);
    succeed(runc.arg(format!("anybinder-{}", std::process::id())))
}

fn unpack(archive: &Path, place: &Path) -> Result<(), TaskFailure> {
    fs::create_dir_all(place)?;
    succeed(Command::new("tar").arg("--extract").arg("--file").arg(archive).arg("-C").arg(place))
}

/// A command that ends in any case.
fn limited(program: &str) -> Command {
    let mut command = Command::new(TIME_LIMIT[0]);
    command.args(&TIME_LIMIT[1..]).arg(program);
    command
}
