//! `cargo xtask kernel-bench`: what a call takes by each way, beside a kernel's own driver in the same boot.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use crate::TaskFailure;
use crate::dist::{self, Architecture};
use crate::guests;
use crate::workspace::{output_of_guest, regenerate, root, succeed, target_dir};

const PAGE: &str = "docs/benchmarks.md";
const BEGIN: &str = "<!-- begin: cargo xtask kernel-bench -->\n";
const END: &str = "<!-- end: cargo xtask kernel-bench -->\n";

/// The baseline, by its name in the guest's script.
const FUTEX: &str = "futex";

/// The ways of a call, in the order of the table, by their names in the guest's script.
const WAYS: [(&str, &str); 4] = [
    ("lane", "past the driver"),
    ("ring", "by the ring"),
    ("fuse", "by FUSE"),
    ("kernel", "kernel's driver"),
];

/// Which guests are asked.
#[derive(clap::Args)]
pub(crate) struct KernelBenchOptions {
    /// Debian's suites, whose kernels are compared with: the page has these alone of the processor then
    #[arg(
        long = "suites",
        value_delimiter = ',',
        value_name = "SUITES",
        default_value = "bookworm,trixie,trixie-backports"
    )]
    suites: Vec<String>,

    /// Of which processor the guests are; the page keeps what it has of the other
    #[arg(long, value_enum, default_value = "x86-64")]
    architecture: Architecture,

    /// Of how many calls the mean is taken
    #[arg(long, default_value_t = 6000)]
    calls: u32,
}

/// Counts in all of them, and rewrites the page's table.
pub(crate) fn run(options: &KernelBenchOptions) -> Result<(), TaskFailure> {
    let architecture = options.architecture;
    let share = share(architecture)?;
    let mut counted = String::new();
    for suite in &options.suites {
        let mut command = guests::machine(suite, architecture)?;
        command.args(["run", "-i", "-t", "600", "-S"]).arg(&share);
        command.arg(format!("sh /host/bench.sh {}", options.calls));
        let output = output_of_guest(&mut command)?;
        let rows = rows(&output).ok_or_else(|| format!("the guest of {suite} said:\n{output}"))?;
        print!("{rows}");
        counted.push_str(&rows);
    }
    regenerate(PAGE, (BEGIN, END), |old| table(old, architecture, &counted))
}

/// The table with new rows of a processor; those of the other stay.
fn table(old: &str, architecture: Architecture, counted: &str) -> String {
    let rows_of = |processor: Architecture| {
        if processor == architecture {
            return counted.to_owned();
        }
        // So Debian's kernels are named.
        let suffix = format!("-{} ", processor.debian());
        let kernel = |row: &&str| row.split('|').nth(1).is_some_and(|it| it.ends_with(&suffix));
        old.lines().filter(kernel).map(|row| format!("{row}\n")).collect()
    };
    [head(), rows_of(Architecture::X86_64), rows_of(Architecture::Aarch64)].concat()
}

/// Puts together what the guests run; they see it as /host.
fn share(architecture: Architecture) -> Result<PathBuf, TaskFailure> {
    let directory = target_dir().join("kernel-bench").join(architecture.name());
    let (programs, libraries) = (directory.join("bin"), directory.join("libraries"));
    fs::create_dir_all(&programs)?;
    let program = dist::build_program(dist::PROGRAM, architecture)?;
    fs::copy(program, programs.join("anybinder"))?;
    for name in ["ipcbase", "rawbinder"] {
        let built = directory.join(name);
        let mut compiler = Command::new(architecture.tool("gcc"));
        compiler.args(["-O2", "-pthread", "-o"]).arg(&built);
        succeed(compiler.arg(root().join("tests/raw").join(name).with_extension("c")))?;
        guests::copy_with_libraries(architecture, &built, name, &libraries)?;
    }
    fs::copy(root().join("tools/kernel-vm/bench.sh"), directory.join("bench.sh"))?;
    Ok(directory)
}

/// What a guest has counted.
struct CountedCall<'o> {
    way: &'o str,
    bytes: &'o str,
    instructions: f64,
}

impl<'o> CountedCall<'o> {
    /// Of a line of the guest's script, which has a line of a bench behind the way's name.
    fn parse(line: &'o str) -> Option<Self> {
        const BYTES: usize = 2;
        const MEAN: usize = 8;
        let (way, columns) = line.strip_prefix("bench ")?.split_once(' ')?;
        let columns: Vec<_> = columns.split_ascii_whitespace().collect();
        let instructions = columns.get(MEAN)?.parse().ok()?;
        Some(Self { way, bytes: columns[BYTES], instructions })
    }
}

fn head() -> String {
    let ways = WAYS.map(|(_, title)| title).join(" | ");
    let columns = 3 + WAYS.len();
    format!("| kernel | bytes | futex ping-pong | {ways} |\n|{}\n", "---|".repeat(columns))
}

/// The rows of a guest; none if something was not counted.
fn rows(output: &str) -> Option<String> {
    let kernel = output.lines().find_map(|line| line.strip_prefix("kernel: "))?;
    let counts: Vec<_> = output.lines().filter_map(CountedCall::parse).collect();
    let futex = counts.iter().find(|count| count.way == FUTEX)?.instructions;
    let row = |bytes: &str| {
        let of = |(way, _): (&str, &str)| {
            let count = counts.iter().find(|count| count.way == way && count.bytes == bytes)?;
            Some(format!("{:.2} x", count.instructions / futex))
        };
        let cells: Option<Vec<_>> = WAYS.into_iter().map(of).collect();
        Some(format!("| {kernel} | {bytes} | {futex:.0} | {} |\n", cells?.join(" | ")))
    };
    ["64", "4096"].into_iter().map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_has_each_way_beside_the_futex() {
        let line = |way, bytes, mean| {
            format!(
                "bench {way} -\tping\t{bytes}\tsame\t1\t1\t0\t6000\t{mean}\t7\t8\t9\t10\t11\t1\n"
            )
        };
        let mut output = format!("kernel: 6.1\n{}", line("futex", 64, 1000));
        for (bytes, factor) in [(64, 1), (4096, 2)] {
            for (way, mean) in [("kernel", 1810), ("lane", 1470), ("ring", 5920), ("fuse", 7750)] {
                output += &line(way, bytes, mean * factor);
            }
        }
        assert_eq!(
            rows(&output).as_deref(),
            Some(
                "| 6.1 | 64 | 1000 | 1.47 x | 5.92 x | 7.75 x | 1.81 x |\n\
                 | 6.1 | 4096 | 1000 | 2.94 x | 11.84 x | 15.50 x | 3.62 x |\n"
            )
        );
        assert_eq!(rows(&output.replace("bench ring", "nothing")), None);
        assert_eq!(head().lines().map(|line| line.matches('|').count()).max(), Some(8));
    }

    #[test]
    fn rows_of_the_other_processor_stay() {
        let old = format!("{}| 6.1-amd64 | 1 |\n| 6.1-arm64 | 2 |\n", head());
        let new = table(&old, Architecture::X86_64, "| 6.2-amd64 | 3 |\n");
        assert_eq!(new, format!("{}| 6.2-amd64 | 3 |\n| 6.1-arm64 | 2 |\n", head()));
    }
}
