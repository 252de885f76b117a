//! A client of a binder device.

use std::fs::File;
use std::os::fd::AsRawFd;
use std::path::Path;

use binder_uapi::{BINDER_TYPE_FD, BinderFdObject};
use zerocopy::IntoBytes;

use super::caller::{self, Echo};
use crate::actor::Actor;
use crate::affinity;
use crate::error::{BenchError, failed};
use crate::service::{DEFER, ECHO, OpenSession};
use crate::session::DriverSession;

/// How the server hears that its replies were accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Completions {
    /// By a return of their own, as every driver has it: the server needs two ioctls for a call.
    Own,
    /// Together with the next call, as only our driver has it: one ioctl for a call.
    Deferred,
}

/// What goes with a call besides its bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Load {
    Bytes,
    /// A descriptor, of /dev/null.
    File,
}

struct Client {
    session: DriverSession,
    file: Option<File>,
    /// The object of the descriptor and the bytes, and the same as they come back.
    loaded: Vec<u8>,
    /// What the server, which other clients use as well, is told before each round.
    completions: Option<Completions>,
}

/// Starts a client of the server behind handle 0. With `None` the server is asked for nothing, as a
/// kernel's driver requires.
pub(super) fn start(
    device: &Path,
    core: Option<usize>,
    completions: Option<Completions>,
    load: Load,
    open: OpenSession,
) -> Result<Actor, BenchError> {
    Actor::start("binder client", |link| {
        core.map_or(Ok(()), affinity::pin_self)?;
        let file = (load == Load::File).then(|| File::open("/dev/null")).transpose();
        let file = file.map_err(failed("opening /dev/null"))?;
        let session = open(device)?;
        caller::play(link, &mut Client { session, file, loaded: Vec::new(), completions })
    })
}

impl Echo for Client {
    fn prepare(&mut self) -> Result<(), BenchError> {
        let Some(completions) = self.completions else { return Ok(()) };
        let is_wanted = u8::from(completions == Completions::Deferred);
        self.session.call(DEFER, &[is_wanted], &[], &mut Vec::new())
    }

    fn round_trip(&mut self, message: &[u8], reply: &mut Vec<u8>) -> Result<(), BenchError> {
        let Some(file) = &self.file else {
            return self.session.call(ECHO, message, &[], reply);
        };
        let fd = file.as_raw_fd().cast_unsigned();
        let object = BinderFdObject { kind: BINDER_TYPE_FD, fd, ..Default::default() };
        self.loaded.clear();
        self.loaded.extend(object.as_bytes());
        self.loaded.extend(message);
        self.session.call(ECHO, &self.loaded, &[0], reply)?;
        // What comes back of the object is the number that the server has got.
        if reply.len() >= size_of_val(&object) {
            reply.drain(..size_of_val(&object));
        }
        Ok(())
    }
}
