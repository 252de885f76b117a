//! `cargo xtask matrix`: the static program on the kernels that distributions have, each in a guest.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::TaskFailure;
use crate::dist;
use crate::dist::Architecture;
use crate::guests;
use crate::oracle;
use crate::workspace::{output_of_guest, regenerate, root, succeed, target_dir};

const PAGE: &str = "docs/requirements.md";
const BEGIN: &str = "<!-- begin: cargo xtask matrix -->\n";
const END: &str = "<!-- end: cargo xtask matrix -->\n";

/// Of the programs in C that know nothing of us, those that the guests run.
const CLIENTS: [&str; 4] = ["hello_binder", "send_files", "null_argument", "rawbinder"];

/// A client of 32 bits, with files in its calls.
const CLIENT_32: &str = "send_files_32";

/// Columns: a head, and the steps of the guest's script that it tells of.
const COLUMNS: [(&str, &[&str]); 6] = [
    ("`demo`", &["demo-root", "demo-user"]),
    ("C clients", &["clients-root", "clients-user"]),
    ("files in calls", &["files-root", "files-user"]),
    ("`mount`", &["mount-root"]),
    ("checks", &[CHECKS]),
    ("by shared memory", &["checks-memory"]),
];

/// The step of which it is told how many have passed.
const CHECKS: &str = "checks-root";

/// The last step that no option leaves out.
const LAST: &str = "mount-root";

/// Which guests are tried.
#[derive(clap::Args)]
pub(crate) struct MatrixOptions {
    /// Debian's suites, whose kernels are tried; `trixie:16k` is that of a flavour, here with pages of 16 KiB, and `trixie:rt` of another
    #[arg(
        long = "suites",
        value_delimiter = ',',
        value_name = "SUITES",
        default_value = "bullseye,bookworm,trixie,trixie-backports"
    )]
    suites: Vec<String>,

    /// Of which processor the guests are
    #[arg(long, value_enum, default_value = "x86-64")]
    architecture: Architecture,

    /// Leave out the conformance checks, which take most of the time
    #[arg(long)]
    no_checks: bool,

    /// Try this program, which needs no library, instead of building the one that is given to others
    #[arg(long, value_name = "FILE")]
    program: Option<PathBuf>,
}

/// Tries all of them, and rewrites the page's row of each.
pub(crate) fn run(options: &MatrixOptions) -> Result<(), TaskFailure> {
    let share = share(options)?;
    let mut rows = Vec::new();
    for suite in &options.suites {
        let output = run_in_guest(suite, options, &share)?;
        let guest = Guest::parse(suite, &output);
        if !guest.steps.contains_key(LAST) {
            return Err(format!("the guest of {suite} came to no end:\n{output}").into());
        }
        for line in output.lines().filter(|line| !line.starts_with("doctor: ")) {
            println!("{suite}: {line}");
        }
        refresh(&guest, options.architecture)?;
        rows.push(guest);
    }
    let is_bad = |guest: &&Guest| guest.steps.values().any(|step| step != "yes");
    match rows.iter().filter(is_bad).count() {
        0 => Ok(()),
        bad => Err(format!("{bad} kernels do not run all of it").into()),
    }
}

/// Puts together what the guests run; they see it as /host.
fn share(options: &MatrixOptions) -> Result<PathBuf, TaskFailure> {
    let architecture = options.architecture;
    let directory = target_dir().join("matrix").join(architecture.name());
    let programs = directory.join("bin");
    fs::create_dir_all(&programs)?;
    let program = match &options.program {
        Some(program) => program.clone(),
        None => dist::build_program(dist::PROGRAM, architecture)?,
    };
    fs::copy(program, programs.join("anybinder"))?;
    if !options.no_checks {
        let checks =
            |target: String| oracle::build_for(architecture, &target, "conformance", "conformance");
        fs::copy(checks(architecture.target())?, programs.join("conformance"))?;
        // As those clients are that call by shared memory.
        let dynamic = checks(architecture.dynamic_target())?;
        let libraries = directory.join("libraries");
        guests::copy_with_libraries(architecture, &dynamic, "conformance_dynamic", &libraries)?;
    }
    for client in CLIENTS {
        let mut compiler = Command::new(architecture.tool("gcc"));
        compiler.args(["-O2", "-static", "-pthread", "-o"]).arg(programs.join(client));
        succeed(compiler.arg(root().join("tests/raw").join(client).with_extension("c")))?;
    }
    compile_for_32_bits(architecture, &programs.join(CLIENT_32))?;
    fs::copy(root().join("tools/kernel-vm/matrix.sh"), directory.join("matrix.sh"))?;
    Ok(directory)
}

/// Compiles the 32-bit client, where there is a compiler for it: it needs no library.
fn compile_for_32_bits(architecture: Architecture, program: &Path) -> Result<(), TaskFailure> {
    let (name, width, headers) = match architecture {
        Architecture::X86_64 => ("gcc", Some("-m32"), "/usr/include/x86_64-linux-gnu"),
        Architecture::Aarch64 => {
            ("arm-linux-gnueabihf-gcc", None, "/usr/arm-linux-gnueabihf/include")
        }
    };
    let mut compiler = Command::new(name);
    if compiler.arg("--version").output().is_err() {
        println!("32-bit programs are left out: {name} is not installed");
        return Ok(());
    }
    let mut compiler = Command::new(name);
    compiler.args(width).args(["-O2", "-ffreestanding", "-fno-stack-protector", "-fno-pie"]);
    compiler.args(["-no-pie", "-nostdlib", "-static", "-idirafter", headers, "-o"]).arg(program);
    succeed(compiler.arg(root().join("tests/raw").join(CLIENT_32).with_extension("c")))
}

fn run_in_guest(suite: &str, options: &MatrixOptions, share: &Path) -> Result<String, TaskFailure> {
    let mut command = guests::machine(suite, options.architecture)?;
    command.args(["run", "-t", "3600", "-x", "binder=no", "-S"]).arg(share);
    command.arg(if options.no_checks {
        "NO_CHECKS=yes sh /host/matrix.sh"
    } else {
        "sh /host/matrix.sh"
    });
    output_of_guest(&mut command)
}

/// The results of a guest.
struct Guest {
    suite: String,
    kernel: String,
    /// By name: `yes`, or how it failed.
    steps: BTreeMap<String, String>,
    /// The findings of `doctor`, by name.
    found: BTreeMap<String, bool>,
    /// How many checks there were.
    checks: String,
}

impl Guest {
    fn parse(suite: &str, output: &str) -> Self {
        let rest = |head: &'static str| output.lines().filter_map(move |it| it.strip_prefix(head));
        let steps = rest("step ").filter_map(|step| {
            let (name, outcome) = step.split_once(' ')?;
            let outcome = if outcome == "ok" { "yes" } else { outcome };
            Some((name.to_owned(), outcome.to_owned()))
        });
        let found = rest("doctor: ").filter_map(|line| {
            let finding: Value = serde_json::from_str(line).ok()?;
            Some((finding["check"].as_str()?.to_owned(), finding["found"].as_bool()?))
        });
        let checks = rest("test result: ").next().and_then(|result| {
            Some(format!("{} pass", result.split(". ").nth(1)?.split(' ').next()?))
        });
        Self {
            suite: suite.to_owned(),
            kernel: rest("kernel: ").next().unwrap_or("unknown").to_owned(),
            steps: steps.collect(),
            found: found.collect(),
            checks: checks.unwrap_or_default(),
        }
    }

    /// Its line of the table of a processor.
    fn row(&self, architecture: Architecture) -> String {
        let mut cells = vec![self.kernel.clone(), self.suite.clone(), architecture.name().into()];
        cells.extend(COLUMNS.map(|(_, steps)| self.cell(steps)));
        let lacking = self.found.iter().filter(|(name, is_found)| {
            // That a guest has no driver of its kernel's is why it is there.
            !**is_found && *name != "kernel_binder"
        });
        let lacking: Vec<_> = lacking.map(|(name, _)| format!("`{name}`")).collect();
        cells.push(if lacking.is_empty() { "nothing".into() } else { lacking.join(", ") });
        format!("| {} |\n", cells.join(" | "))
    }
}

impl Guest {
    /// The outcome of some steps, in one word if all went well.
    fn cell(&self, steps: &[&str]) -> String {
        let outcome = |step: &str| self.steps.get(step).map_or("not tried", String::as_str);
        let bad = steps.iter().filter(|step| outcome(step) != "yes");
        let bad: Vec<_> = bad.map(|step| format!("{step} {}", outcome(step))).collect();
        match (bad.is_empty(), steps.contains(&CHECKS)) {
            (true, false) => "yes".into(),
            (true, true) => self.checks.clone(),
            (false, false) => bad.join(", "),
            (false, true) if self.checks.is_empty() => outcome(CHECKS).to_owned(),
            (false, true) => format!("{}, others fail", self.checks),
        }
    }
}

/// Puts a guest's row into the page, in the place of an earlier one's.
fn refresh(guest: &Guest, architecture: Architecture) -> Result<(), TaskFailure> {
    regenerate(PAGE, (BEGIN, END), |old| with_row(old, guest, architecture))
}

/// The table with the guest's row.
fn with_row(old: &str, guest: &Guest, architecture: Architecture) -> String {
    let place = |row: &str| row.split('|').skip(2).take(2).map(str::to_owned).collect::<Vec<_>>();
    let mut new = guest.row(architecture);
    let earlier =
        old.lines().find(|row| place(row) == place(&new) && cell(row, KERNEL) == guest.kernel);
    if let Some(earlier) = earlier.filter(|_| !guest.steps.contains_key(CHECKS)) {
        // Of the same kernel, of which they were not asked again.
        new = with_cell(&new, CHECKS_CELL, cell(earlier, CHECKS_CELL));
    }
    // Behind the head, and the line below it.
    let others = old.lines().skip(2).filter(|row| place(row) != place(&new));
    let mut rows: Vec<_> = others.map(|row| format!("{row}\n")).chain([new.clone()]).collect();
    rows.sort_by_key(|row| order(row));
    let mut titles = vec!["kernel", "of Debian's", "processor"];
    titles.extend(COLUMNS.map(|(title, _)| title));
    titles.push("`doctor` misses");
    let head = format!("| {} |\n|{}\n", titles.join(" | "), "---|".repeat(titles.len()));
    head + &rows.concat()
}

/// Where a row tells of the kernel, the processor and the checks.
const KERNEL: usize = 1;
const PROCESSOR: usize = 3;
const CHECKS_CELL: usize = 8;

fn cell(row: &str, at: usize) -> &str {
    row.split('|').nth(at).unwrap_or_default().trim()
}

fn with_cell(row: &str, at: usize, content: &str) -> String {
    let mut cells: Vec<_> = row.split('|').map(str::to_owned).collect();
    cells[at] = format!(" {content} ");
    cells.join("|")
}

/// Sorts rows: PCs' first, then older kernels first.
fn order(row: &str) -> (Reverse<String>, Vec<u32>) {
    let words = cell(row, KERNEL).split(|it: char| !it.is_ascii_digit());
    let numbers = words.map_while(|it| it.parse().ok());
    (Reverse(cell(row, PROCESSOR).to_owned()), numbers.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_in_the_order_of_their_kernels() {
        let mut rows =
            ["| 6.12.1 | a | x86_64 |", "| 6.1.0-5 | b | aarch64 |", "| 6.1.0 | c | x86_64 |"];
        rows.sort_by_key(|row| order(row));
        assert!(rows[0].starts_with("| 6.1.0 |") && rows[2].contains("aarch64"), "{rows:?}");
    }

    #[test]
    fn a_row_says_what_worked_and_what_is_missing() {
        let output = "kernel: 5.10\n\
                      doctor: {\"check\":\"ring\",\"found\":false,\"detail\":\"\"}\n\
                      doctor: {\"check\":\"run\",\"found\":true,\"detail\":\"\"}\n\
                      doctor: {\"check\":\"kernel_binder\",\"found\":false,\"detail\":\"\"}\n\
                      step demo-root ok\nanybinder: no\nstep demo-user failed 1\n\
                      step clients-root ok\nstep clients-user ok\nstep mount-root ok\n\
                      step files-root ok\nstep files-user failed 7\n\
                      step checks-root ok\ntest result: ok. 261 passed; 0 failed\n\
                      step checks-memory ok\n";
        let guest = Guest::parse("bullseye", output);
        assert_eq!(
            guest.row(Architecture::X86_64),
            "| 5.10 | bullseye | x86_64 | demo-user failed 1 | yes | files-user failed 7 | yes | 261 pass \
             | yes | `ring` |\n"
        );
    }
}
