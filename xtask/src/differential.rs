//! `cargo xtask differential`: random command streams, on our driver and on a real kernel's.
//!
//! What the kernel's driver made of a seed is kept as a hash, so that no guest is needed to find out
//! whether ours does the same; the guest tells what the difference is.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Failure;
use crate::oracle::build_for_guest;
use crate::workspace::{cargo, root, succeed, text};

/// What the kernel's driver makes of the first seeds.
const RECORD: &str = "tests/differential/kernel-traces.txt";

/// Seeds of which our driver makes something else, and why it may.
const ACCEPTED: &[(u64, &str)] = &[];

/// How many lines before a difference are shown.
const CONTEXT: usize = 12;

/// What is to be done.
#[derive(clap::Args)]
pub(crate) struct Plays {
    /// Plays so many seeds
    #[arg(long, default_value_t = 50)]
    seeds: u64,
    /// Begins with this seed
    #[arg(long, default_value_t = 0)]
    first: u64,
    /// Plays them in the guest, too, where otherwise the recorded hashes are what is compared with
    #[arg(long)]
    guest: bool,
    /// Records what the guest makes of them
    #[arg(long, conflicts_with_all = ["guest", "show"])]
    record: bool,
    /// Prints both traces of one seed, and where they part
    #[arg(long, value_name = "SEED")]
    show: Option<u64>,
}

impl Default for Plays {
    fn default() -> Self {
        Self { seeds: 50, first: 0, guest: false, record: false, show: None }
    }
}

/// Plays and compares.
pub(crate) fn run(options: &Plays) -> Result<(), Failure> {
    if let Some(seed) = options.show {
        return show(seed);
    }
    let seeds = format!("{}..{}", options.first, options.first + options.seeds);
    if options.record {
        let hashes = play_in_guest(&seeds, true)?;
        fs::write(root().join(RECORD), &hashes)?;
        println!("{} seeds recorded in {RECORD}", parse(&hashes).len());
        return Ok(());
    }
    let theirs =
        if options.guest { play_in_guest(&seeds, true)? } else { text(Path::new(RECORD))? };
    let (theirs, ours) = (parse(&theirs), parse(&play_here(&seeds, true)?));
    let (mut equal, mut accepted, mut different) = (0, 0, Vec::new());
    for (seed, hash) in &ours {
        match theirs.get(seed) {
            None => return Err(format!("seed {seed} is not recorded: use --guest").into()),
            Some(kernels) if kernels == hash => equal += 1,
            Some(_) if ACCEPTED.iter().any(|(accepted, _)| accepted == seed) => accepted += 1,
            // On a busy machine a file may have come later than a sleeper was looked at.
            Some(kernels) if replay(*seed)?.as_ref() == Some(kernels) => {
                println!("seed {seed} agrees when it is played alone");
                equal += 1;
            }
            Some(_) => different.push(*seed),
        }
    }
    println!("{equal} of {} seeds agree, {accepted} differ as they may", ours.len());
    if different.is_empty() && !ours.is_empty() {
        return Ok(());
    }
    Err(format!("seeds {different:?} differ; cargo xtask differential --show SEED says how").into())
}

/// Plays one seed once more, alone, and returns its hash.
fn replay(seed: u64) -> Result<Option<String>, Failure> {
    let hashes = play_here(&format!("{seed}..{}", seed + 1), true)?;
    Ok(parse(&hashes).remove(&seed))
}

/// Seeds and hashes.
fn parse(hashes: &str) -> BTreeMap<u64, String> {
    let pairs = hashes.lines().filter_map(|line| line.strip_prefix("seed ")?.split_once(' '));
    pairs.filter_map(|(seed, hash)| Some((seed.parse().ok()?, hash.to_owned()))).collect()
}

/// Plays on our driver, in a world of its own.
fn play_here(seeds: &str, prints_hashes: bool) -> Result<String, Failure> {
    succeed(&mut cargo(&["build", "--package", "anybinder", "--package", "differential"]))?;
    let target = std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into());
    let programs = root().join(target).join("debug");
    let mut command = Command::new(programs.join("anybinder"));
    command.args(["run", "--"]).arg(programs.join("player")).args(["--seeds", seeds]);
    if prints_hashes {
        command.arg("--hashes");
    }
    println!("+ {command:?}");
    let output = command.stderr(std::process::Stdio::inherit()).output()?;
    if !output.status.success() {
        return Err(format!("{command:?}: {}", output.status).into());
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Plays on the kernel's driver. With one processor there, who is woken runs after who wakes.
fn play_in_guest(seeds: &str, prints_hashes: bool) -> Result<String, Failure> {
    let share: PathBuf = build_for_guest("differential", "player")?;
    let flag = if prints_hashes { "--hashes" } else { "" };
    let script = format!(
        "cp player /tmp; cd /tmp; ./player --seeds {seeds} {flag} >/host/trace 2>/host/errors"
    );
    let mut command = Command::new(root().join("tools/kernel-vm/kernel-vm.sh"));
    command.args(["run", "-s", "1", "-t", "36000", "-S"]).arg(&share).arg(script);
    println!("+ {command:?}");
    if !command.status()?.success() {
        let errors = fs::read_to_string(share.join("errors")).unwrap_or_default();
        return Err(format!("the player failed in the guest: {errors}").into());
    }
    Ok(fs::read_to_string(share.join("trace"))?)
}

/// Prints both traces of a seed, and where they part.
fn show(seed: u64) -> Result<(), Failure> {
    let seeds = format!("{seed}..{}", seed + 1);
    let (theirs, ours) = (play_in_guest(&seeds, false)?, play_here(&seeds, false)?);
    let (theirs, ours): (Vec<_>, Vec<_>) = (theirs.lines().collect(), ours.lines().collect());
    let parting = theirs.iter().zip(&ours).position(|(kernels, own)| kernels != own);
    let parting = parting.unwrap_or(theirs.len().min(ours.len()));
    for line in &theirs[parting.saturating_sub(CONTEXT)..parting] {
        println!("  {line}");
    }
    for (driver, trace) in [("kernel", &theirs), ("ours", &ours)] {
        println!("--- {driver}, from there");
        trace[parting..].iter().for_each(|line| println!("  {line}"));
    }
    if parting == theirs.len() && parting == ours.len() {
        println!("both are the same");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_found_by_their_seeds() {
        let hashes = parse("seed 3 00ff\nseed 4 0100\nnoise\n");
        assert_eq!(hashes.get(&3).map(String::as_str), Some("00ff"));
        assert_eq!(hashes.len(), 2);
    }
}
