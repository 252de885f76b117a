//! The options of `anybinder aidl`.

use std::path::PathBuf;

use clap::{Args, ValueEnum, ValueHint};

/// Compile AIDL to Rust, find mistakes in it, or list its methods with their codes.
///
/// The Rust is that of Android's own compiler, for the crate `binder` (here: the package `libbinder`), with a mod.rs
/// around it, by which a crate's root takes it in: `#[path = "../out/mod.rs"] pub mod aidl; pub use aidl::mangled;`.
/// Imports are found where the packages of the files start, and below --include. Mistakes are shown with their
/// sources, all at once, and then nothing is written.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  anybinder aidl -o src/generated aidl/
  anybinder aidl --check -I ../common/aidl aidl/com/example/IHello.aidl
  anybinder aidl --list aidl/ > codes && anybinder trace --codes codes
  anybinder aidl --list --json aidl/ | jq 'select(.oneway) | .method'

Exit status: 0 done, 1 mistakes, or a file that cannot be read or written, 2 wrong usage.")]
pub(crate) struct AidlArguments {
    #[command(flatten)]
    pub(crate) action: AidlAction,

    /// With --list: print one JSON object per line
    #[arg(long, conflicts_with_all = ["output", "check"])]
    pub(crate) json: bool,

    /// Look for imports below this directory, too; may be repeated
    #[arg(short = 'I', long = "include", value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) includes: Vec<PathBuf>,

    /// Have the interfaces tell this version, by getInterfaceVersion
    #[arg(long, value_name = "N", conflicts_with = "list",
          value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) interface_version: Option<u32>,

    /// Have them tell this hash, by getInterfaceHash
    #[arg(
        long,
        value_name = "TEXT",
        requires = "interface_version",
        default_value = "notfrozen",
        hide_short_help = true
    )]
    pub(crate) interface_hash: String,

    /// Declare the types stable across system and vendor images; then they may be @VintfStability
    #[arg(long, value_enum, conflicts_with = "list")]
    pub(crate) stability: Option<StabilityChoice>,

    /// AIDL files, and directories with such files in them
    #[arg(required = true, value_name = "PATH", value_hint = ValueHint::AnyPath)]
    pub(crate) paths: Vec<PathBuf>,
}

/// What to do with the files.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub(crate) struct AidlAction {
    /// Write the Rust files by their packages below this directory, with a mod.rs. What else is there stays
    #[arg(short, long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) output: Option<PathBuf>,

    /// Look for mistakes, and write nothing
    #[arg(long)]
    pub(crate) check: bool,

    /// List the methods of the interfaces with the codes of their transactions, without looking at imports. `anybinder
    /// trace --codes` reads that
    #[arg(long)]
    pub(crate) list: bool,
}

/// How far types are stable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum StabilityChoice {
    /// Across system and vendor images
    Vintf,
}
