//! The container image, in the layout of the Open Container Initiative: one layer with the program and its papers.
//!
//! `podman load`, `docker load` and `skopeo` read its archive. No tool of containers is needed to make it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use super::architecture::Architecture;
use super::epoch;
use crate::TaskFailure;
use crate::workspace::{succeed, text};

/// The default command of its containers.
const RECIPE: &str = "contrib/oci/config.json";

const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
const CONFIG: &str = "application/vnd.oci.image.config.v1+json";
const LAYER: &str = "application/vnd.oci.image.layer.v1.tar+gzip";

/// Makes the image of what has been laid out at `installed`; returns the directory that holds it.
pub(super) fn make(
    installed: &Path,
    architecture: Architecture,
    place: &Path,
) -> Result<PathBuf, TaskFailure> {
    let layout = place.join("layout");
    fs::create_dir_all(layout.join("blobs/sha256"))?;
    let tar = place.join("layer.tar");
    pack(&tar, installed, &["usr/bin", "usr/share/doc/anybinder"])?;
    let unpacked = digest(&tar)?;
    succeed(Command::new("gzip").args(["--no-name", "--best"]).arg(&tar))?;
    let layer = blob(&layout, LAYER, &fs::read(place.join("layer.tar.gz"))?)?;
    let config = json!({
        "architecture": architecture.debian(),
        "os": "linux",
        "config": serde_json::from_str::<Value>(&text(Path::new(RECIPE))?)?,
        "rootfs": { "type": "layers", "diff_ids": [unpacked] },
    });
    let config = blob(&layout, CONFIG, config.to_string().as_bytes())?;
    let manifest = json!({
        "schemaVersion": 2, "mediaType": MANIFEST, "config": config, "layers": [layer],
    });
    let mut manifest = blob(&layout, MANIFEST, manifest.to_string().as_bytes())?;
    let name = format!("anybinder:{}", env!("CARGO_PKG_VERSION"));
    manifest["annotations"] = json!({
        "org.opencontainers.image.ref.name": env!("CARGO_PKG_VERSION"),
        "io.containerd.image.name": format!("localhost/{name}"),
    });
    let index = json!({ "schemaVersion": 2, "manifests": [manifest] });
    fs::write(layout.join("index.json"), index.to_string())?;
    fs::write(layout.join("oci-layout"), json!({ "imageLayoutVersion": "1.0.0" }).to_string())?;
    Ok(layout)
}

/// Packs the layout into one file.
pub(super) fn archive(layout: &Path, archive: &Path) -> Result<(), TaskFailure> {
    pack(archive, layout, &["oci-layout", "index.json", "blobs"])
}

/// The layer of an image whose archive is unpacked at `layout`, and what a container of it runs.
///
/// Every part must be what its name says: the sum of its bytes.
pub(super) fn open(layout: &Path) -> Result<(PathBuf, Value), TaskFailure> {
    let read = |descriptor: &Value| -> Result<PathBuf, TaskFailure> {
        let named = descriptor["digest"].as_str().ok_or("a part without a digest")?;
        let path = layout.join("blobs").join(named.replace(':', "/"));
        let is_as_told =
            digest(&path)? == named && fs::metadata(&path)?.len() == descriptor["size"];
        is_as_told.then_some(path).ok_or_else(|| format!("{named}: other bytes").into())
    };
    let parse = |path: PathBuf| -> Result<Value, TaskFailure> {
        Ok(serde_json::from_slice(&fs::read(path)?)?)
    };
    let index = parse(layout.join("index.json"))?;
    let manifest = parse(read(&index["manifests"][0])?)?;
    let config = parse(read(&manifest["config"])?)?;
    Ok((read(&manifest["layers"][0])?, config["config"].clone()))
}

/// Files below a directory as a tar archive that is the same each time.
fn pack(archive: &Path, directory: &Path, names: &[&str]) -> Result<(), TaskFailure> {
    let mut tar = Command::new("tar");
    tar.args(["--create", "--sort=name", "--format=ustar", "--owner=0", "--group=0"]);
    tar.args(["--numeric-owner", &format!("--mtime=@{}", epoch()?)]);
    succeed(tar.arg("--file").arg(archive).arg("--directory").arg(directory).args(names))
}

/// Adds a part to the image, and returns its descriptor.
fn blob(layout: &Path, media_type: &str, bytes: &[u8]) -> Result<Value, TaskFailure> {
    let new = layout.join("blobs/new");
    fs::write(&new, bytes)?;
    let digest = digest(&new)?;
    fs::rename(&new, layout.join("blobs").join(digest.replace(':', "/")))?;
    Ok(json!({ "mediaType": media_type, "digest": digest, "size": bytes.len() }))
}

fn digest(path: &Path) -> Result<String, TaskFailure> {
    let output = Command::new("sha256sum").arg("--").arg(path).output()?;
    let said = String::from_utf8(output.stdout)?;
    let sum = said.split_whitespace().next();
    let sum = sum.ok_or_else(|| format!("sha256sum says nothing of {}", path.display()))?;
    Ok(format!("sha256:{sum}"))
}
