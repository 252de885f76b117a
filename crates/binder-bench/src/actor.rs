//! The processes of a bench, forked from it, and what is said between them.
//!
//! Orders and answers are lines of JSON over a socket; nothing is said while a clock runs.

use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::panic::{self, AssertUnwindSafe};
use std::process::exit;
use std::time::Duration;

use binder_os::processes::{self, Child, Fork};
use binder_os::signals::Signal;
use rustix::event::{PollFd, PollFlags, Timespec};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::{BenchError, failed};

/// A process of the bench. It ends when this value does.
#[derive(Debug)]
pub(crate) struct Actor {
    name: String,
    child: Child,
    link: ActorLink,
    ending: Ending,
}

/// How an actor is ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ending {
    /// By a signal, also when the bench itself is killed.
    Killed,
    /// By hearing that there are no more orders, whatever ended the bench.
    Told,
}

/// One end of what connects an actor with the bench.
#[derive(Debug)]
pub(crate) struct ActorLink(BufReader<UnixStream>);

/// How long an actor may take to get ready, in seconds.
const READY_WITHIN_S: i64 = 10;

impl Actor {
    /// Forks a process that plays `role` and then ends.
    ///
    /// # Errors
    ///
    /// As fork(2), or because this process has more than one thread.
    pub(crate) fn start(
        name: &str,
        role: impl FnOnce(&mut ActorLink) -> Result<(), BenchError>,
    ) -> Result<Self, BenchError> {
        Self::fork(name, Ending::Killed, role)
    }

    /// Forks a process that outlives a killed bench, to put right what the bench changed.
    ///
    /// # Errors
    ///
    /// As [`Self::start`].
    pub(crate) fn start_caretaker(
        name: &str,
        role: impl FnOnce(&mut ActorLink) -> Result<(), BenchError>,
    ) -> Result<Self, BenchError> {
        Self::fork(name, Ending::Told, role)
    }

    fn fork(
        name: &str,
        ending: Ending,
        role: impl FnOnce(&mut ActorLink) -> Result<(), BenchError>,
    ) -> Result<Self, BenchError> {
        let tried = || format!("starting the {name}");
        let (ours, theirs) = UnixStream::pair().map_err(failed(tried()))?;
        let bench = std::process::id();
        match processes::fork().map_err(failed(tried()))? {
            Fork::Child => {
                drop(ours);
                play(ActorLink(BufReader::new(theirs)), ending, bench, role)
            }
            Fork::Parent(child) => {
                let link = ActorLink(BufReader::new(ours));
                Ok(Self { name: name.into(), child, link, ending })
            }
        }
    }

    /// Waits until it says that it is ready.
    ///
    /// # Errors
    ///
    /// [`BenchError`] if it fails, ends, or says nothing for too long.
    pub(crate) fn expect_ready(&mut self) -> Result<(), BenchError> {
        let mut watched = [PollFd::new(self.link.0.get_ref(), PollFlags::IN)];
        let timeout = Timespec { tv_sec: READY_WITHIN_S, tv_nsec: 0 };
        let ready = rustix::io::retry_on_intr(|| rustix::event::poll(&mut watched, Some(&timeout)));
        if ready.map_err(failed("waiting for a process"))? == 0 {
            return Err(self.failure(format!("not ready after {READY_WITHIN_S} seconds")));
        }
        self.hear()
    }

    /// Gives an order and returns the answer, unless `other`, on whom it depends, fails meanwhile.
    ///
    /// # Errors
    ///
    /// [`BenchError`] of whichever of the two failed.
    pub(crate) fn ask_beside<T: DeserializeOwned>(
        &mut self,
        other: &mut Self,
        order: &impl Serialize,
    ) -> Result<T, BenchError> {
        self.link.send(order)?;
        let links = [&self.link, &other.link];
        let mut watched = links.map(|link| PollFd::new(link.0.get_ref(), PollFlags::IN));
        rustix::io::retry_on_intr(|| rustix::event::poll(&mut watched, None))
            .map_err(failed("waiting for a process"))?;
        if watched[1].revents().is_empty() {
            return self.hear();
        }
        other.hear::<()>()?;
        Err(other.failure("it spoke out of turn"))
    }

    /// Gives an order, to be answered when [`Self::hear`] is called.
    ///
    /// # Errors
    ///
    /// [`BenchError`] if it has ended.
    pub(crate) fn tell(&mut self, order: &impl Serialize) -> Result<(), BenchError> {
        self.link.send(order)
    }

    /// Gives an order and returns the answer.
    ///
    /// # Errors
    ///
    /// [`BenchError`] if it fails or ends.
    pub(crate) fn ask<T: DeserializeOwned>(
        &mut self,
        order: &impl Serialize,
    ) -> Result<T, BenchError> {
        self.link.send(order)?;
        self.hear()
    }

    /// Returns its process number.
    pub(crate) fn pid(&self) -> u32 {
        self.child.pid()
    }

    /// Waits for an answer, which may be that it failed.
    ///
    /// # Errors
    ///
    /// [`BenchError`] if it fails or ends.
    pub(crate) fn hear<T: DeserializeOwned>(&mut self) -> Result<T, BenchError> {
        match self.link.receive::<Result<T, String>>()? {
            Some(answer) => answer.map_err(|reason| self.failure(reason)),
            None => Err(self.failure("it ended unexpectedly")),
        }
    }

    fn socket(&self) -> &UnixStream {
        self.link.0.get_ref()
    }

    fn failure(&self, reason: impl Into<String>) -> BenchError {
        BenchError::Actor { actor: self.name.clone(), reason: reason.into() }
    }
}

/// Waits until some of the actors have something to say, or have ended, and returns their places,
/// the last first; none if the time is over.
///
/// # Errors
///
/// As poll(2).
pub(crate) fn wait_for_any(actors: &[Actor], timeout: Duration) -> Result<Vec<usize>, BenchError> {
    let watch = |actor| PollFd::new(Actor::socket(actor), PollFlags::IN);
    let mut watched: Vec<_> = actors.iter().map(watch).collect();
    let timeout = Timespec::try_from(timeout).map_err(io::Error::other);
    let timeout = timeout.map_err(failed("waiting for processes"))?;
    rustix::io::retry_on_intr(|| rustix::event::poll(&mut watched, Some(&timeout)))
        .map_err(failed("waiting for processes"))?;
    let spoke = watched.iter().enumerate().filter(|(_, watched)| !watched.revents().is_empty());
    Ok(spoke.map(|(place, _)| place).rev().collect())
}

impl Drop for Actor {
    fn drop(&mut self) {
        // Neither can fail: the child is ours and was not waited for.
        let _ = match self.ending {
            Ending::Killed => self.child.signal(Signal::KILL),
            Ending::Told => self.link.0.get_ref().shutdown(std::net::Shutdown::Write),
        };
        let _ = self.child.wait();
    }
}

impl ActorLink {
    /// Sends a line.
    fn send(&mut self, message: &impl Serialize) -> Result<(), BenchError> {
        let mut line = serde_json::to_vec(message).map_err(failed("writing a message"))?;
        line.push(b'\n');
        self.0.get_mut().write_all(&line).map_err(failed("speaking to a process of the bench"))
    }

    /// Receives a line; `None` if the other side is gone.
    pub(crate) fn receive<T: DeserializeOwned>(&mut self) -> Result<Option<T>, BenchError> {
        let mut line = String::new();
        let tried = "hearing a process of the bench";
        if self.0.read_line(&mut line).map_err(failed(tried))? == 0 {
            return Ok(None);
        }
        serde_json::from_str(&line).map(Some).map_err(failed(tried))
    }

    /// Waits until there is something to receive, or the end, for some time at most.
    pub(crate) fn has_more(&self, timeout: Duration) -> Result<bool, BenchError> {
        let tried = "hearing a process of the bench";
        if !self.0.buffer().is_empty() {
            return Ok(true);
        }
        let timeout = Timespec::try_from(timeout).map_err(io::Error::other);
        let timeout = timeout.map_err(failed(tried))?;
        let mut watched = [PollFd::new(self.0.get_ref(), PollFlags::IN)];
        let ready = rustix::io::retry_on_intr(|| rustix::event::poll(&mut watched, Some(&timeout)));
        Ok(ready.map_err(failed(tried))? > 0)
    }

    /// Answers the bench.
    pub(crate) fn answer(&mut self, answer: &impl Serialize) -> Result<(), BenchError> {
        self.send(&Ok::<_, ()>(answer))
    }
}

/// In the child: plays the role and ends, without touching what the stack of the bench holds.
fn play(
    mut link: ActorLink,
    ending: Ending,
    bench: u32,
    role: impl FnOnce(&mut ActorLink) -> Result<(), BenchError>,
) -> ! {
    let prepared = match ending {
        Ending::Killed => processes::die_with_parent(Signal::KILL),
        // The interrupt key of a terminal is not meant for it.
        Ending::Told => processes::leave_session(),
    };
    if prepared.is_err() || processes::parent() != Some(bench) {
        exit(1);
    }
    // Unwinding further would drop the actors that the parent has started, and end them.
    let played = panic::catch_unwind(AssertUnwindSafe(|| role(&mut link)));
    let reason = match played {
        Ok(Ok(())) => exit(0),
        Ok(Err(error)) => error.to_string(),
        Err(_) => "it panicked".to_owned(),
    };
    // If the bench does not listen any more, it does not miss the reason.
    let _ = link.send(&Err::<(), _>(reason));
    exit(1)
}
