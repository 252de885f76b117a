//! Plays random command streams on a device, one for each seed, and prints what came of each.
//!
//! ```text
//! player --device /dev/binder --seeds 0..50 [--plot floods] [--doors lane,ring,fuse] [--hashes] [--counts]
//! ```
//!
//! The same seed asks every driver the same, as long as they answer the same. A hash says whether two drivers did; with
//! `--hashes` nothing else is printed of a seed. `--counts` adds how often what occurred. `--doors` says how the players'
//! calls come to the driver; they take turns. A plot is what is played: `streams` of whatever a client may do,
//! `conversations`, mostly of plain calls and replies, `polls`, where threads poll before they read, `floods`, which fill
//! receive areas, or `deaths`, in which processes are killed.

mod command;
mod conversation;
mod flood;
mod introduction;
mod message;
mod play;
mod returns;
mod troupe;

use std::fs::Permissions;
use std::ops::Range;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::ExitCode;

use binder_testkit::{DeviceRig, Doors, Rig, act_if_asked};
use troupe::Plot;

struct Arguments {
    device: PathBuf,
    seeds: Range<u64>,
    doors: Doors,
    plot: Plot,
    prints_hashes: bool,
    prints_counts: bool,
}

impl Arguments {
    fn parse(mut words: impl Iterator<Item = String>) -> Option<Self> {
        let mut arguments = Self {
            device: "/dev/binder".into(),
            seeds: 0..1,
            doors: Doors::of_environment(),
            plot: Plot::Streams,
            prints_hashes: false,
            prints_counts: false,
        };
        while let Some(word) = words.next() {
            match word.as_str() {
                "--device" => arguments.device = words.next()?.into(),
                "--seeds" => {
                    let seeds = words.next()?;
                    let (first, end) = seeds.split_once("..")?;
                    arguments.seeds = first.parse().ok()?..end.parse().ok()?;
                }
                "--doors" => arguments.doors = words.next()?.parse().ok()?,
                "--plot" => arguments.plot = Plot::of_name(&words.next()?)?,
                "--hashes" => arguments.prints_hashes = true,
                "--counts" => arguments.prints_counts = true,
                _ => return None,
            }
        }
        Some(arguments)
    }
}

fn main() -> ExitCode {
    act_if_asked();
    let Some(arguments) = Arguments::parse(std::env::args().skip(1)) else {
        eprintln!(
            "usage: player [--device PATH] [--seeds FIRST..END] [--plot PLOT] [--doors DOORS] [--hashes] [--counts]"
        );
        return ExitCode::from(2);
    };
    let second = arguments.device.with_file_name("hwbinder");
    // Players act for various users.
    for device in [&arguments.device, &second] {
        if let Err(error) = std::fs::set_permissions(device, Permissions::from_mode(0o666)) {
            eprintln!("player: {}: {error}", device.display());
            return ExitCode::FAILURE;
        }
    }
    let rig = match DeviceRig::new(&arguments.device, &second) {
        Ok(rig) => rig.with_doors(arguments.doors),
        Err(error) => {
            eprintln!("player: {}: {error}", arguments.device.display());
            return ExitCode::FAILURE;
        }
    };
    rig.prove_doors();
    let mut troupe = troupe::Troupe::new(&rig, arguments.plot);
    for seed in arguments.seeds {
        let trace = play::play(&mut troupe, seed);
        println!("seed {seed} {:016x}", hash(&trace));
        if !arguments.prints_hashes {
            print!("{trace}");
        }
    }
    if arguments.prints_counts {
        for (what, count) in &troupe.counts {
            println!("count {count} {what}");
        }
    }
    rig.tear_down();
    ExitCode::SUCCESS
}

/// FNV-1a.
fn hash(text: &str) -> u64 {
    let mix = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    text.bytes().fold(0xcbf2_9ce4_8422_2325, mix)
}
