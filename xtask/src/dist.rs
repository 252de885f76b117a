//! `cargo xtask dist`: makes the release artefacts, and starts them.
//!
//! For each processor a static program, a Debian package and an OCI image; all of it is in `target/artefacts`. An
//! artefact of this machine's processor is started as its users start it; another's program by qemu.

mod architecture;
mod deb;
mod image;
mod notices;
mod program;
mod tree;
mod trial;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::TaskFailure;
use crate::workspace::{root, succeed, target_dir};
pub(crate) use architecture::Architecture;
use program::CLUSTER_PROGRAM;
pub(crate) use program::{PROGRAM, build as build_program};

/// How artefacts are made.
#[derive(clap::Args)]
pub(crate) struct DistOptions {
    /// Make those of these processors only
    #[arg(
        long = "architecture",
        value_delimiter = ',',
        value_enum,
        default_value = "x86-64,aarch64"
    )]
    architectures: Vec<Architecture>,

    /// Pack this program instead of new ones, whatever its size: to try the rest. It must run without libraries
    #[arg(long, value_name = "FILE")]
    program: Option<PathBuf>,

    /// Install the package into the Debian in this directory (as `debootstrap` makes it), which stays as it is,
    /// instead of this machine's own
    #[arg(long, value_name = "DIR", default_value = "/")]
    debian: PathBuf,
}

/// Makes all artefacts, and starts each.
pub(crate) fn run(options: &DistOptions) -> Result<(), TaskFailure> {
    let place = target_dir().join("artefacts");
    if place.exists() {
        fs::remove_dir_all(&place)?;
    }
    fs::create_dir_all(&place)?;
    for &architecture in &options.architectures {
        let (program, cluster) = match &options.program {
            Some(program) => (program::strip(program, &place.join("program"))?, None),
            None => (
                program::build(PROGRAM, architecture)?,
                Some(program::build(CLUSTER_PROGRAM, architecture)?),
            ),
        };
        make(architecture, (&program, cluster.as_deref()), &place, &options.debian)?;
    }
    fs::remove_file(place.join("program")).or_else(|error| match &options.program {
        Some(_) => Err(error),
        None => Ok(()),
    })?;
    print_sums(&place)
}

/// Makes the artefacts of one processor, and starts them.
fn make(
    architecture: Architecture,
    (program, cluster): (&Path, Option<&Path>),
    place: &Path,
    debian: &Path,
) -> Result<(), TaskFailure> {
    let work = place.join("work");
    let (installed, image) = (work.join("installed"), work.join("image"));
    let version = env!("CARGO_PKG_VERSION");
    let bare = place.join(format!("anybinder-{version}-{}-linux", architecture.name()));
    fs::create_dir_all(&work)?;
    fs::copy(program, &bare)?;
    let starter = architecture.starter()?;
    trial::start_alone(&bare, &starter)?;
    tree::lay_out(&bare, &starter, architecture, &installed)?;
    if let Some(cluster) = cluster {
        let bare = format!("{CLUSTER_PROGRAM}-{version}-{}-linux", architecture.name());
        fs::copy(cluster, place.join(bare))?;
        tree::add_program(cluster, CLUSTER_PROGRAM, &installed)?;
    }
    let package = place.join(format!("anybinder_{version}_{}.deb", architecture.debian()));
    deb::pack(&installed, architecture, &package)?;
    let archive = place.join(format!("anybinder-{version}-{}.oci.tar", architecture.debian()));
    let layout = image::make(&installed, architecture, &image)?;
    image::archive(&layout, &archive)?;
    if architecture.is_own() {
        trial::install(&package, debian, &work.join("debian"))?;
        trial::start_image(&archive, &work.join("container"))?;
    }
    fs::remove_dir_all(&work)?;
    Ok(())
}

/// Writes SHA256SUMS and prints what there is.
fn print_sums(place: &Path) -> Result<(), TaskFailure> {
    let script = "sha256sum -- anybinder* > SHA256SUMS; ls -l; cat SHA256SUMS";
    succeed(Command::new("sh").args(["-ec", script]).current_dir(place))
}

/// The moment that all files of artefacts are from: the commit's, so that the same sources are the same bytes.
fn epoch() -> Result<String, TaskFailure> {
    let mut git = Command::new("git");
    let output = git.args(["log", "-1", "--format=%ct"]).current_dir(root()).output()?;
    let seconds = String::from_utf8(output.stdout)?.trim().to_owned();
    // Without git, as in an archive of the sources, the beginning of time will do.
    Ok(if seconds.is_empty() { "0".to_owned() } else { seconds })
}
