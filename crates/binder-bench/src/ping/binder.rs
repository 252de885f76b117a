//! A client of a binder device.

use std::path::Path;

use super::caller::{self, EchoPeer, Round};
use super::files::{self, SentFile};
use crate::actor::Actor;
use crate::affinity;
use crate::error::BenchError;
use crate::service::{DEFER, ECHO, OpenSession};
use crate::session::DriverSession;

/// How the server hears that its replies were accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Completions {
    /// By a return of their own, as every driver has it: the server needs two ioctls for a call.
    Own,
    /// Together with the next call, as only our driver has it: one ioctl for a call.
    Deferred,
}

struct DriverClient {
    session: DriverSession,
    file: SentFile,
    /// How many files each call of the round brings.
    files: u32,
    /// The objects of the files and the bytes, and the same as they come back.
    loaded: Vec<u8>,
    /// What the server, which other clients use as well, is told before each round.
    completions: Option<Completions>,
}

/// Starts a client of the server behind handle 0. With `None` the server is asked for nothing, as a
/// kernel's driver requires.
pub(crate) fn start(
    device: &Path,
    core: Option<usize>,
    completions: Option<Completions>,
    open: OpenSession,
) -> Result<Actor, BenchError> {
    Actor::start("binder client", |link| {
        core.map_or(Ok(()), affinity::pin_self)?;
        let (session, file) = (open(device)?, SentFile::open()?);
        let client = DriverClient { session, file, files: 0, loaded: Vec::new(), completions };
        caller::play(link, &mut { client })
    })
}

impl EchoPeer for DriverClient {
    fn prepare(&mut self, round: &Round) -> Result<(), BenchError> {
        self.files = round.files;
        let Some(completions) = self.completions else { return Ok(()) };
        let is_wanted = u8::from(completions == Completions::Deferred);
        self.session.call(DEFER, &[is_wanted], &[], &mut Vec::new())
    }

    fn round_trip(&mut self, message: &[u8], reply: &mut Vec<u8>) -> Result<(), BenchError> {
        if self.files == 0 {
            return self.session.call(ECHO, message, &[], reply);
        }
        let offsets = self.file.put(self.files, message, &mut self.loaded);
        self.session.call(ECHO, &self.loaded, &offsets, reply)?;
        files::remove_objects(self.files, reply);
        Ok(())
    }
}
