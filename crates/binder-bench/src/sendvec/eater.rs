//! A process that eats memory.

use std::io;
use std::ops::Range;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use binder_os::MappedMemory;

use crate::actor::{Actor, ActorLink};
use crate::error::{BenchError, failed};
use crate::sendvec::cage::Cage;

/// Who eats.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum EaterKind {
    /// A process of the bench: holds the memory, and has the system find some more again and again
    Builtin,
    /// The program of that name, which copies it to and fro
    Stressapptest,
}

/// The program, and how it is asked for its version.
const STRESSAPPTEST: &str = "stressapptest";

const MIB: u64 = 1 << 20;
/// The rest of the cgroup's memory, for all others.
const SPARE_BYTES: u64 = 32 * MIB;
/// What the builtin one asks for and offers again, more than there is,
const CHURN_BYTES: usize = 40 << 20;
/// a piece at a time, so that there always is something to take,
const PIECE_BYTES: usize = 1 << 20;
/// and this often: the search for pages is wanted, not the time that it takes.
const CHURN_EVERY: Duration = Duration::from_millis(500);
/// A page at a time is touched.
const PAGE_BYTES: usize = 4096;
/// How long the program is given to have its memory, which it does not tell.
const FILLS_IN: Duration = Duration::from_millis(500);

/// A process that eats memory when told to.
pub(super) struct Eater {
    bytes: u64,
    builtin: Actor,
    kind: EaterKind,
    program: Option<Child>,
}

impl Eater {
    /// Starts one that has not eaten anything.
    pub(super) fn new(kind: Option<EaterKind>, mib: u32) -> Result<Self, BenchError> {
        let is_installed = || {
            let mut probe = Command::new(STRESSAPPTEST);
            probe.arg("--help").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
            probe.status().is_ok()
        };
        let kind = kind.unwrap_or_else(|| match is_installed() {
            true => EaterKind::Stressapptest,
            false => EaterKind::Builtin,
        });
        let bytes = u64::from(mib) * MIB;
        let builtin = Actor::start("eater of memory", move |link| eat_as_ordered(link, bytes))?;
        Ok(Self { bytes, builtin, kind, program: None })
    }

    /// What a cgroup should be limited to, so that this one holds nearly all of it.
    pub(super) fn limit_bytes(&self) -> u64 {
        self.bytes + SPARE_BYTES
    }

    /// The process of the builtin one.
    pub(super) fn pid(&self) -> u32 {
        self.builtin.pid()
    }

    /// Has memory eaten, and returns when it is.
    pub(super) fn eat(&mut self, cage: Option<&Cage>) -> Result<(), BenchError> {
        match self.kind {
            EaterKind::Builtin => self.builtin.ask(&true),
            EaterKind::Stressapptest => {
                // It is in its place before it asks for any memory.
                let script = format!(
                    "read go && exec {STRESSAPPTEST} -s 100000 -m 1 -M {}",
                    self.bytes / MIB
                );
                let mut command = Command::new("nice");
                command.args(["-n", "19", "sh", "-c", &script]);
                command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
                let mut program = command.spawn().map_err(failed("starting stressapptest"))?;
                let placed = cage.map_or(Ok(()), |cage| cage.swallow(program.id()));
                let told = placed.and_then(|()| {
                    let stdin = program.stdin.take().ok_or(io::ErrorKind::BrokenPipe)?;
                    io::Write::write_all(&mut &stdin, b"go\n")
                });
                self.program = Some(program);
                told.map_err(failed("sending stressapptest off"))?;
                thread::sleep(FILLS_IN);
                Ok(())
            }
        }
    }

    /// Has all of it given back.
    pub(super) fn let_go(&mut self) -> Result<(), BenchError> {
        if let Some(mut program) = self.program.take() {
            program.kill().and_then(|()| program.wait()).map_err(failed("ending stressapptest"))?;
        }
        self.builtin.ask(&false)
    }
}

impl Drop for Eater {
    fn drop(&mut self) {
        if let Some(program) = &mut self.program {
            // Neither can fail: it is our child and was not waited for.
            let _ = program.kill();
            let _ = program.wait();
        }
    }
}

/// In the builtin one: has memory while it is told to, and has the system look for more.
fn eat_as_ordered(link: &mut ActorLink, bytes: u64) -> Result<(), BenchError> {
    let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
    while let Some(is_wanted) = link.receive::<bool>()? {
        if !is_wanted {
            link.answer(&())?;
            continue;
        }
        let held = MappedMemory::private(bytes).map_err(failed("eating memory"))?;
        touch(&held, 0..bytes);
        let more = MappedMemory::private(CHURN_BYTES).map_err(failed("eating memory"))?;
        link.answer(&())?;
        while !link.has_more(CHURN_EVERY)? {
            for piece in (0..CHURN_BYTES).step_by(PIECE_BYTES) {
                touch(&more, piece..piece + PIECE_BYTES);
                more.offer_pages(piece, PIECE_BYTES).map_err(failed("offering memory"))?;
            }
        }
    }
    Ok(())
}

/// Writes to every page.
fn touch(memory: &MappedMemory, place: Range<usize>) {
    for at in place.step_by(PAGE_BYTES) {
        // Within bounds.
        let _ = memory.write(at, &[1]);
    }
}
