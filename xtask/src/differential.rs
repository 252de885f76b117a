//! `cargo xtask differential`: random command streams, on our driver and on a real kernel's.
//!
//! The kernel's results for a seed are kept as a hash, so that no guest is needed to find out
//! whether ours does the same; the guest tells what the difference is.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use clap::ValueEnum;

use crate::TaskFailure;
use crate::oracle::build_for_guest;
use crate::workspace::{PROGRAMS_VARIABLE, cargo, is_root, root, succeed, target_dir, text};

/// Bind-mounts a node inside a world, and plays there.
const PLAY_BIND_MOUNTED: &str = r#"
mount -t tmpfs tmpfs /mnt || exit 1
for name in binder hwbinder; do
    touch /mnt/$name && mount --bind /dev/binderfs/$name /mnt/$name || exit 1
done
exec "$@" --device /mnt/binder
"#;

/// How many seeds are recorded.
const RECORDED: u64 = 100;

/// Seeds of which our driver makes something else, what it makes of them, and why it may.
const ACCEPTED: &[(u64, &str, &str)] = &[(
    1952,
    "125d0ac731bee950",
    "a buffer lets go of the reference that it brought, not of what has got its handle since",
)];

/// What is played.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Plot {
    /// Whatever a client may do
    Streams,
    /// Mostly plain calls and replies of threads that block
    Conversations,
    /// The same, where threads poll before they read
    Polls,
    /// Messages that fill receive areas
    Floods,
    /// Streams or conversations, by turns, of processes that are killed
    Deaths,
}

impl Plot {
    /// What the player calls it, and our option.
    fn name(self) -> String {
        self.to_possible_value().expect("no plot is hidden").get_name().to_owned()
    }

    /// The hashes of the kernel's results for the first seeds.
    fn record(self) -> String {
        format!("tests/differential/kernel-{}.txt", self.name())
    }

    /// Events that must occur in the seeds of the record, or they compare too little.
    fn must_occur(self) -> &'static [&'static str] {
        match self {
            Self::Streams => IN_STREAMS,
            Self::Conversations => IN_CONVERSATIONS,
            Self::Polls => IN_POLLS,
            Self::Floods => IN_FLOODS,
            Self::Deaths => IN_DEATHS,
        }
    }

    /// Whether calls take lanes where a host has any.
    fn has_lanes(self) -> bool {
        matches!(self, Self::Conversations | Self::Polls | Self::Deaths)
    }
}

const IN_STREAMS: &[&str] = &[
    // Commands.
    "BC_ACQUIRE",
    "BC_ACQUIRE_DONE",
    "BC_CLEAR_DEATH_NOTIFICATION",
    "BC_CLEAR_FREEZE_NOTIFICATION",
    "BC_DEAD_BINDER_DONE",
    "BC_DECREFS",
    "BC_ENTER_LOOPER",
    "BC_EXIT_LOOPER",
    "BC_FREEZE_NOTIFICATION_DONE",
    "BC_FREE_BUFFER",
    "BC_INCREFS",
    "BC_INCREFS_DONE",
    "BC_REGISTER_LOOPER",
    "BC_RELEASE",
    "BC_REPLY",
    "BC_REPLY_SG",
    "BC_REQUEST_DEATH_NOTIFICATION",
    "BC_REQUEST_FREEZE_NOTIFICATION",
    "BC_TRANSACTION",
    "BC_TRANSACTION_SG",
    // Returns.
    "Acquire",
    "ClearDeathDone",
    "ClearFreezeDone",
    "DeadBinder",
    "DeadReply",
    "Decrefs",
    "FailedReply",
    "FrozenBinder",
    "FrozenReply",
    "Increfs",
    "Noop",
    "Release",
    "Reply",
    "SpawnLooper",
    "Transaction",
    "TransactionComplete",
    "TransactionPendingFrozen",
    // Ends of calls.
    "EAGAIN",
    "EFAULT",
    "EINTR",
    "EINVAL",
    // Everything else that a client may do to a driver.
    "a bad buffer of a transaction",
    "a bad read buffer",
    "a bad write buffer",
    "a call to a thread that waits for a reply",
    "a command that is cut off",
    "a file that arrives",
    "a freeze",
    "a piece with a parent",
    "a process that leaves",
    "a read that sleeps",
    "a sleeper that is interrupted",
    "a sleeper that is woken",
    "a thaw",
    "a thread that exits",
    "a write buffer that ends too early",
    "an array of files",
];

const IN_CONVERSATIONS: &[&str] = &[
    "BC_FREE_BUFFER",
    "BC_REPLY",
    "BC_TRANSACTION",
    "DeadReply",
    "EINTR",
    "FailedReply",
    "FrozenReply",
    "Reply",
    "Transaction",
    "TransactionComplete",
    "a call for another user",
    "a call to a thread that waits for a reply",
    "a freeze",
    "a process that leaves",
    "a read that sleeps",
    "a sleeper that is interrupted",
    "a sleeper that is woken",
    "a thread that exits",
];

const IN_POLLS: &[&str] = &[
    "BC_FREE_BUFFER",
    "BC_REPLY",
    "BC_TRANSACTION",
    "FrozenReply",
    "Reply",
    "Transaction",
    "TransactionComplete",
    "a call for another user",
    "a freeze",
    "a poll that finds nothing",
    "a poll that finds something",
    "a poll that sleeps",
    "a process that leaves",
    "a read that sleeps",
    "a sleeper that is interrupted",
    "a sleeper that is woken",
    "a thread that exits",
];

const IN_FLOODS: &[&str] = &[
    "BC_FREE_BUFFER",
    "BC_REPLY",
    "BC_TRANSACTION",
    "FailedReply",
    "FrozenReply",
    "Reply",
    "Transaction",
    "TransactionComplete",
    "TransactionPendingFrozen",
    "a freeze",
    "a process that leaves",
    "a sleeper that is woken",
    "an area without room",
];

const IN_DEATHS: &[&str] = &[
    "BC_DEAD_BINDER_DONE",
    "BC_FREE_BUFFER",
    "BC_REPLY",
    "BC_TRANSACTION",
    "DeadBinder",
    "DeadReply",
    "Reply",
    "Transaction",
    "TransactionComplete",
    "a call to a thread that waits for a reply",
    "a file that arrives",
    "a process that is killed",
    "a server that is killed",
    "a sleeper that is killed",
    "a sleeper that is woken",
];

/// On a busy machine a thread may be taken for asleep whose answer is on its way. So many seeds may differ by that, if they
/// do not in this many more plays.
const MAX_LATE: usize = 2;
const MORE_PLAYS: usize = 5;

/// How many lines before a difference are shown.
const CONTEXT: usize = 12;

/// The subcommand.
#[derive(clap::Args)]
pub(crate) struct Plays {
    /// Plays that many seeds
    #[arg(long, default_value_t = RECORDED)]
    seeds: u64,
    /// Begins with this seed
    #[arg(long, default_value_t = 0)]
    first: u64,
    /// Plays them in the guest, too, where otherwise results are compared with the recorded hashes
    #[arg(long)]
    guest: bool,
    /// Records what the guest makes of them
    #[arg(long, conflicts_with_all = ["guest", "show"])]
    record: bool,
    /// What is played
    #[arg(long, default_value = "streams")]
    plot: Plot,
    /// By which doors the players' calls come to our driver, in turn: fuse, ring, lane, mixed (lanes, but that every third ioctl
    /// passes the library by)
    #[arg(long, default_value = "fuse")]
    doors: String,
    /// Has the players open nodes of our driver that are bind-mounted. One process opens one of them once, so no calls that
    /// take lanes are played there
    #[arg(long)]
    bind_mounted: bool,
    /// Prints how often each command, return, errno and mishap occurred
    #[arg(long, conflicts_with_all = ["record", "show"])]
    counts: bool,
    /// Prints both traces of one seed, and where they part
    #[arg(long, value_name = "SEED")]
    show: Option<u64>,
}

/// Plays and compares.
pub(crate) fn run(options: &Plays) -> Result<(), TaskFailure> {
    if !options.record && !is_root()? {
        let plot = options.plot.name();
        println!(
            "SKIPPED: {plot}: only root can watch the driver's threads, and act for other users"
        );
        return Ok(());
    }
    if let Some(seed) = options.show {
        return show(seed, options);
    }
    let record = options.plot.record();
    let seeds = format!("{}..{}", options.first, options.first + options.seeds);
    if options.record {
        let hashes = play_in_guest(&seeds, options, true)?;
        fs::write(root().join(&record), &hashes)?;
        println!("{} seeds recorded in {record}", parse(&hashes).len());
        return Ok(());
    }
    let theirs = if options.guest {
        play_in_guest(&seeds, options, true)?
    } else {
        text(Path::new(&record))?
    };
    let played = play_here(&seeds, options)?;
    let counts = parse_counts(&played);
    if options.counts {
        counts.iter().for_each(|(what, count)| println!("{count:8} {what}"));
    }
    let (theirs, ours) = (parse(&theirs), parse(&played));
    let (mut accepted, mut different) = (0, Vec::new());
    for (seed, hash) in &ours {
        match theirs.get(seed) {
            None => return Err(format!("seed {seed} is not recorded: use --guest").into()),
            Some(kernels) if kernels == hash => {}
            Some(_) if ACCEPTED.iter().any(|(at, ours, _)| (at, *ours) == (seed, hash)) => {
                accepted += 1;
            }
            Some(_) => different.push(*seed),
        }
    }
    // Where no host makes its calls by lanes there is none.
    let has_lanes =
        options.plot.has_lanes() && ["lane", "mixed"].iter().any(|it| options.doors.contains(it));
    let mut late = 0;
    if different.len() <= MAX_LATE {
        let seeds = std::mem::take(&mut different);
        for seed in seeds {
            if agrees_from_now_on(seed, options, &theirs[&seed], &played)? {
                println!("seed {seed} agrees when it is played again");
                late += 1;
            } else {
                different.push(seed);
            }
        }
    }
    let equal = ours.len() - accepted - late - different.len();
    println!("{equal} of {} seeds agree, {accepted} differ as they may", ours.len());
    let is_missing = |what: &&&str| !counts.contains_key(**what);
    let must_occur = options.plot.must_occur().iter().chain(has_lanes.then_some(&"a lane"));
    let missing: Vec<_> = must_occur.filter(is_missing).collect();
    if options.seeds >= RECORDED && !missing.is_empty() {
        return Err(format!("the plays lack {missing:?}").into());
    }
    if different.is_empty() && !ours.is_empty() {
        return Ok(());
    }
    Err(format!("seeds {different:?} differ; cargo xtask differential --show SEED says how").into())
}

/// Plays a seed some more times, each after the one before it, and says whether it agrees with the kernel's in all of
/// them. Prints where the first play, which did not, parts from one that does.
fn agrees_from_now_on(
    seed: u64,
    options: &Plays,
    kernels: &str,
    first: &str,
) -> Result<bool, TaskFailure> {
    let seeds = format!("{}..{}", seed.saturating_sub(1), seed + 1);
    for play in 0..MORE_PLAYS {
        let ours = play_here(&seeds, options)?;
        if parse(&ours).get(&seed).map(String::as_str) != Some(kernels) {
            return Ok(false);
        }
        if play == 0 {
            print_parting(
                ("played again", trace_of(seed, &ours)),
                ("the first time", trace_of(seed, first)),
            );
        }
    }
    Ok(true)
}

/// What a player has printed of a seed.
fn trace_of(seed: u64, played: &str) -> Vec<&str> {
    let header = format!("seed {seed} ");
    let lines = played.lines().skip_while(|line| !line.starts_with(&header)).skip(1);
    lines.take_while(|line| !line.starts_with("seed ") && !line.starts_with("count ")).collect()
}

/// Seeds and hashes.
fn parse(hashes: &str) -> BTreeMap<u64, String> {
    let pairs = hashes.lines().filter_map(|line| line.strip_prefix("seed ")?.split_once(' '));
    pairs.filter_map(|(seed, hash)| Some((seed.parse().ok()?, hash.to_owned()))).collect()
}

/// How often what occurred.
fn parse_counts(output: &str) -> BTreeMap<&str, u64> {
    let counts = output.lines().filter_map(|line| line.strip_prefix("count ")?.split_once(' '));
    counts.filter_map(|(count, what)| Some((what, count.parse().ok()?))).collect()
}

/// Plays on our driver, in a world of its own.
fn play_here(seeds: &str, options: &Plays) -> Result<String, TaskFailure> {
    let programs = match std::env::var_os(PROGRAMS_VARIABLE) {
        Some(programs) => PathBuf::from(programs),
        None => build_programs()?,
    };
    let mut command = Command::new(programs.join("anybinder"));
    command.args(["run", "--no-manager", "--"]);
    if options.bind_mounted {
        command.args(["sh", "-c", PLAY_BIND_MOUNTED, "sh"]);
    }
    command.arg(programs.join("player"));
    let plot = options.plot.name();
    command.args(["--seeds", seeds, "--plot", &plot, "--doors", &options.doors, "--counts"]);
    println!("+ {command:?}");
    let output = command.stderr(std::process::Stdio::inherit()).output()?;
    if !output.status.success() {
        return Err(format!("{command:?}: {}", output.status).into());
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Builds our driver and the player, and returns the directory of both.
fn build_programs() -> Result<PathBuf, TaskFailure> {
    succeed(&mut cargo(&["build", "--package", "anybinder", "--package", "differential"]))?;
    Ok(target_dir().join("debug"))
}

/// Plays on the kernel's driver. With one processor there, a woken thread runs after the one that wakes it.
fn play_in_guest(seeds: &str, options: &Plays, prints_hashes: bool) -> Result<String, TaskFailure> {
    let share: PathBuf = build_for_guest("differential", "player")?;
    let flag = if prints_hashes { "--hashes" } else { "" };
    let plot = options.plot.name();
    let script = format!(
        "cp player /tmp; cd /tmp; ./player --seeds {seeds} --plot {plot} {flag} >/host/trace 2>/host/errors"
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
fn show(seed: u64, options: &Plays) -> Result<(), TaskFailure> {
    let seeds = format!("{seed}..{}", seed + 1);
    let theirs = play_in_guest(&seeds, options, false)?;
    let ours = play_here(&seeds, options)?;
    print_parting(("kernel", trace_of(seed, &theirs)), ("ours", trace_of(seed, &ours)));
    Ok(())
}

/// Prints where two traces part, each under its name, from there on.
fn print_parting((a_name, a): (&str, Vec<&str>), (b_name, b): (&str, Vec<&str>)) {
    let parting = a.iter().zip(&b).position(|(line, other)| line != other);
    let parting = parting.unwrap_or(a.len().min(b.len()));
    for line in &a[parting.saturating_sub(CONTEXT)..parting] {
        println!("  {line}");
    }
    for (name, trace) in [(a_name, &a), (b_name, &b)] {
        println!("--- {name}, from there");
        trace[parting..].iter().for_each(|line| println!("  {line}"));
    }
    if parting == a.len() && parting == b.len() {
        println!("both are the same");
    }
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

    #[test]
    fn a_trace_is_found_by_its_seed() {
        let played = "seed 3 00ff\na\nb\nseed 30 0100\nc\ncount 1 d\n";
        assert_eq!(trace_of(3, played), ["a", "b"]);
        assert_eq!(trace_of(30, played), ["c"]);
        assert!(trace_of(4, played).is_empty());
    }

    #[test]
    fn counts_are_found_by_what_they_count() {
        let counts = parse_counts("seed 3 00ff\ncount 12 a sleeper that is woken\n");
        assert_eq!(counts.get("a sleeper that is woken"), Some(&12));
        assert_eq!(counts.len(), 1);
    }
}
