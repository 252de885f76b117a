//! `cargo xtask package`: the crates that are meant for others, as cargo packs them.

use crate::TaskFailure;
use crate::workspace::{cargo, root, succeed, text};

/// Crates that are of use by themselves.
const FOR_OTHERS: [&str; 9] = [
    "binder-aidl",
    "binder-build",
    "binder-rpc",
    "bitsearch",
    "fuse-wire",
    "idr",
    "libbinder",
    "parcel",
    "pidns",
];

/// Crates that those are built of.
const BELOW: [&str; 5] =
    ["binder-lane", "binder-os", "binder-ring", "binder-ring-client", "binder-uapi"];

/// How packages are tried.
#[derive(clap::Args)]
pub(crate) struct PackageOptions {
    /// Pack them only; else each is also built from its package, with nothing but what has been packed
    #[arg(long)]
    no_verify: bool,

    /// Pack uncommitted changes, too
    #[arg(long)]
    allow_dirty: bool,
}

/// Packs all of them, into `target/package`.
pub(crate) fn run(options: &PackageOptions) -> Result<(), TaskFailure> {
    let mut command = cargo(&["package", "--locked", "--quiet"]);
    command.args(names().flat_map(|name| ["--package", name]));
    if options.no_verify {
        command.args(["--no-verify", "--offline"]);
    }
    if options.allow_dirty {
        command.arg("--allow-dirty");
    }
    succeed(&mut command)
}

/// All of them, by name.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    FOR_OTHERS.into_iter().chain(BELOW)
}

/// Fields that users would miss in the manifests of the crates that are meant for them.
pub(crate) fn complaints() -> Result<Vec<String>, TaskFailure> {
    let mut complaints = Vec::new();
    for name in FOR_OTHERS {
        let directory = format!("crates/{name}");
        let manifest = text(format!("{directory}/Cargo.toml").as_ref())?;
        for field in ["description", "keywords", "categories", "readme", "license", "rust-version"]
        {
            if !manifest.lines().any(|line| line.starts_with(field)) {
                complaints.push(format!("{directory}/Cargo.toml: for others, and has no {field}"));
            }
        }
        if !root().join(&directory).join("README.md").exists() {
            complaints.push(format!("{directory}: for others, and has no README.md"));
        }
    }
    Ok(complaints)
}
