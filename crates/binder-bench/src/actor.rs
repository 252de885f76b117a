//! The processes of a bench, forked from it, and the messages between them.
//!
//! Orders and answers are lines of JSON over a socket; nothing is said while a clock runs.

use std::fs;
use std::io::{self, BufRead, BufReader, Write};
use std::iter;
use std::os::unix::net::UnixStream;
use std::panic::{self, AssertUnwindSafe};
use std::process::exit;
use std::slice;
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
    ending: ActorEnding,
}

/// How an actor is ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ActorEnding {
    /// By a signal, also when the bench itself is killed.
    Killed,
    /// By hearing that there are no more orders, whatever ended the bench.
    Told,
}

/// One end of what connects an actor with the bench.
#[derive(Debug)]
pub(crate) struct ActorLink(BufReader<UnixStream>);

/// How long a bench waits for what must come, however slow the machine: an actor that takes long to get ready tells of
/// each part. What takes longer hangs.
pub(crate) const HANG_TIMEOUT: Duration = Duration::from_secs(120);

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
        Self::fork(name, ActorEnding::Killed, role)
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
        Self::fork(name, ActorEnding::Told, role)
    }

    fn fork(
        name: &str,
        ending: ActorEnding,
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

    /// Waits until it says that it is ready, or that a part of getting ready is done.
    ///
    /// # Errors
    ///
    /// [`BenchError`] if it fails, ends, or says nothing for too long.
    pub(crate) fn expect_ready(&mut self) -> Result<(), BenchError> {
        self.expect_ready_beside(&mut [])
    }

    /// The same, unless one of `others`, on whom it depends, fails meanwhile.
    ///
    /// # Errors
    ///
    /// [`BenchError`] of whichever of them failed.
    pub(crate) fn expect_ready_beside(&mut self, others: &mut [Self]) -> Result<(), BenchError> {
        if !self.wait_beside(others, Some(HANG_TIMEOUT))? {
            let (seconds, place) = (HANG_TIMEOUT.as_secs(), self.place());
            return Err(
                self.failure(format!("not ready, and silent for {seconds} seconds: {place}"))
            );
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
        self.wait_beside(slice::from_mut(other), None)?;
        self.hear()
    }

    /// Waits until it has something to say, or has ended, and none of the others, who have nothing to say before it
    /// has, failed. Says whether that was before the time was over.
    fn wait_beside(
        &self,
        others: &mut [Self],
        timeout: Option<Duration>,
    ) -> Result<bool, BenchError> {
        let links = iter::once(&self.link).chain(others.iter().map(|other| &other.link));
        let ready = wait_for_links(&links.collect::<Vec<_>>(), timeout)?;
        match ready.last().map(|place| place.checked_sub(1)) {
            None => Ok(false),
            Some(None) => Ok(true),
            Some(Some(place)) => {
                others[place].hear::<()>()?;
                Err(others[place].failure("it spoke out of turn"))
            }
        }
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

    /// Where it is, as the kernel tells.
    fn place(&self) -> String {
        let pid = self.pid();
        match fs::read_to_string(format!("/proc/{pid}/wchan")).as_deref() {
            Ok("0") => format!("process {pid} runs"),
            Ok(function) => format!("process {pid} waits in {function}"),
            Err(_) => format!("process {pid} cannot be looked at"),
        }
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
    let links: Vec<_> = actors.iter().map(|actor| &actor.link).collect();
    let mut ready = wait_for_links(&links, Some(timeout))?;
    ready.reverse();
    Ok(ready)
}

/// Waits until some of the links have something to receive, or the end, and returns their places; none if
/// the time is over.
fn wait_for_links(
    links: &[&ActorLink],
    timeout: Option<Duration>,
) -> Result<Vec<usize>, BenchError> {
    let places = |is_ready: Vec<bool>| {
        is_ready.iter().enumerate().filter(|(_, ready)| **ready).map(|(place, _)| place).collect()
    };
    // A line may have come along with the one before it: the socket has nothing of it any more.
    let has_line: Vec<_> = links.iter().map(|link| !link.0.buffer().is_empty()).collect();
    if has_line.contains(&true) {
        return Ok(places(has_line));
    }
    let tried = "waiting for processes of the bench";
    let sockets = links.iter().map(|link| link.0.get_ref());
    let mut watched: Vec<_> = sockets.map(|socket| PollFd::new(socket, PollFlags::IN)).collect();
    let timeout = timeout.map(Timespec::try_from).transpose().map_err(io::Error::other);
    let timeout = timeout.map_err(failed(tried))?;
    rustix::io::retry_on_intr(|| rustix::event::poll(&mut watched, timeout.as_ref()))
        .map_err(failed(tried))?;
    Ok(places(watched.iter().map(|watched| !watched.revents().is_empty()).collect()))
}

impl Drop for Actor {
    fn drop(&mut self) {
        // Neither can fail: the child is ours and was not waited for.
        let _ = match self.ending {
            ActorEnding::Killed => self.child.signal(Signal::KILL),
            ActorEnding::Told => self.link.0.get_ref().shutdown(std::net::Shutdown::Write),
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
        Ok(!wait_for_links(&[self], Some(timeout))?.is_empty())
    }

    /// Answers the bench.
    pub(crate) fn answer(&mut self, answer: &impl Serialize) -> Result<(), BenchError> {
        self.send(&Ok::<_, ()>(answer))
    }
}

/// In the child: plays the role and ends, without touching what the stack of the bench holds.
fn play(
    mut link: ActorLink,
    ending: ActorEnding,
    bench: u32,
    role: impl FnOnce(&mut ActorLink) -> Result<(), BenchError>,
) -> ! {
    let prepared = match ending {
        ActorEnding::Killed => processes::die_with_parent(Signal::KILL),
        // The interrupt key of a terminal is not meant for it.
        ActorEnding::Told => processes::leave_session(),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_came_together_are_there_one_by_one() {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let [mut link, mut other] = [ours, theirs].map(|end| ActorLink(BufReader::new(end)));
        let has_more = |link: &ActorLink| link.has_more(Duration::ZERO).unwrap();
        for line in 1..=2_u32 {
            other.send(&line).unwrap();
        }
        for line in 1..=2_u32 {
            assert!(has_more(&link), "line {line}");
            assert_eq!(link.receive().unwrap(), Some(line));
        }
        assert!(!has_more(&link));
        drop(other);
        assert!(has_more(&link), "the end");
        assert_eq!(link.receive::<u32>().unwrap(), None);
    }

    #[test]
    fn the_links_that_are_ready_are_named() {
        let pairs = [(); 3].map(|()| UnixStream::pair().unwrap());
        let links = pairs.map(|(ours, theirs)| (ActorLink(BufReader::new(ours)), theirs));
        let ready = |timeout| {
            let watched: Vec<_> = links.iter().map(|(link, _)| link).collect();
            wait_for_links(&watched, timeout).unwrap()
        };
        assert_eq!(ready(Some(Duration::ZERO)), [] as [usize; 0]);
        for place in [2, 1] {
            (&links[place].1).write_all(b"1\n").unwrap();
        }
        assert_eq!(ready(None), [1, 2]);
    }
}
