//! A client of a binder device.

use std::path::Path;

use super::caller::{self, Echo};
use crate::actor::Actor;
use crate::affinity;
use crate::error::BenchError;
use crate::service::{DEFER, ECHO};
use crate::session::Session;

/// How the server hears that its replies were accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Completions {
    /// By a return of their own, as every driver has it: the server needs two ioctls for a call.
    Own,
    /// Together with the next call, as only our driver has it: one ioctl for a call.
    Deferred,
}

struct Client {
    session: Session,
    /// What the server, which other clients use as well, is told before each round.
    completions: Option<Completions>,
}

/// Starts a client of the server behind handle 0. With `None` the server is asked for nothing, as a
/// kernel's driver requires.
pub(super) fn start(
    device: &Path,
    core: Option<usize>,
    completions: Option<Completions>,
) -> Result<Actor, BenchError> {
    Actor::start("binder client", |link| {
        core.map_or(Ok(()), affinity::pin_self)?;
        caller::play(link, &mut Client { session: Session::open(device)?, completions })
    })
}

impl Echo for Client {
    fn prepare(&mut self) -> Result<(), BenchError> {
        let Some(completions) = self.completions else { return Ok(()) };
        let is_wanted = u8::from(completions == Completions::Deferred);
        self.session.call(DEFER, &[is_wanted], &[], &mut Vec::new())
    }

    fn round_trip(&mut self, message: &[u8], reply: &mut Vec<u8>) -> Result<(), BenchError> {
        self.session.call(ECHO, message, &[], reply)
    }
}
