//! The options of the runtime of containers.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, ValueHint};

use super::{ClientOptions, DeviceArguments};

/// Make containers that have a binder, in the place of their runtime.
///
/// It is called as runc is, and becomes it. Each new container has a driver of its own, with devices at /dev/binder and its
/// like, and a supervisor, by which its processes may mount binderfs themselves. Both end with the container's last process.
/// Commands that are executed in it later have the devices, and no supervisor.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  sudo anybinder oci run --bundle DIR NAME
  sudo anybinder oci --runtime crun create --bundle DIR NAME

For Docker, in /etc/docker/daemon.json, and then `docker run --runtime anybinder ...`:
  { \"runtimes\": { \"anybinder\": { \"path\": \"/usr/local/bin/anybinder\", \"runtimeArgs\": [\"oci\"] } } }
For podman, by a link to this program that is called anybinder-oci:
  podman --runtime /usr/local/bin/anybinder-oci run ...")]
pub(crate) struct OciOptions {
    /// The runtime to become
    #[arg(long, value_name = "PROGRAM", default_value = "runc", value_hint = ValueHint::CommandName)]
    pub(crate) runtime: OsString,

    #[command(flatten)]
    pub(crate) devices: DeviceArguments,

    /// Have all calls go through the kernel's FUSE, none by shared memory: the container's programs preload no library for that
    #[arg(long)]
    pub(crate) no_ring: bool,

    #[command(flatten)]
    pub(crate) clients: ClientOptions,

    /// The runtime's own options, subcommand and arguments
    #[arg(
        required = true,
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "ARGUMENTS"
    )]
    pub(crate) arguments: Vec<OsString>,
}

#[derive(Debug, Args)]
pub(crate) struct ListHookOptions {
    /// The list
    pub(crate) list: PathBuf,
}
