//! The client's side of a round, the same for every peer.

use std::time::Instant;

use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};

use crate::actor::ActorLink;
use crate::error::BenchError;

/// A peer that answers a message with the same message.
pub(crate) trait EchoPeer {
    /// Gets ready for a round.
    fn prepare(&mut self, _round: &Round) -> Result<(), BenchError> {
        Ok(())
    }

    /// Sends `message`, with the files of the round, and waits for the answer with as many, which close. Its bytes
    /// replace the contents of `reply`.
    fn round_trip(&mut self, message: &[u8], reply: &mut Vec<u8>) -> Result<(), BenchError>;
}

/// An order to make calls.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) struct Round {
    pub(crate) bytes: u32,
    pub(crate) calls: u32,
    /// Files that each call brings, and its reply brings back.
    pub(crate) files: u32,
}

/// What the calls took.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Timings {
    pub(crate) round_trips_ns: Vec<u64>,
    /// Of the client's own time, for all calls.
    pub(crate) cpu_ns: u64,
}

/// Plays rounds with `echo` until there are no more orders.
pub(crate) fn play(link: &mut ActorLink, echo: &mut impl EchoPeer) -> Result<(), BenchError> {
    while let Some(round) = link.receive()? {
        link.answer(&play_round(round, echo)?)?;
    }
    Ok(())
}

fn play_round(round: Round, echo: &mut impl EchoPeer) -> Result<Timings, BenchError> {
    // No two neighbours are alike, nor are two pages.
    let mut message: Vec<u8> = (0..round.bytes).map(|at| (at % 251) as u8).collect();
    let mut reply = Vec::with_capacity(message.len());
    let mut round_trips_ns = Vec::with_capacity(round.calls as usize);
    echo.prepare(&round)?;
    let cpu_before = cpu_ns();
    for number in 0..round.calls {
        stamp(&mut message, number);
        let start = Instant::now();
        echo.round_trip(&message, &mut reply)?;
        round_trips_ns.push(u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX));
        // All bytes of a long message once a round, the ends of it every time.
        let is_echo = if number + 1 == round.calls {
            reply == message
        } else {
            reply.len() == message.len() && ends(&reply) == ends(&message)
        };
        if !is_echo {
            let (sent_bytes, received_bytes) = (message.len(), reply.len());
            return Err(BenchError::WrongEcho { sent_bytes, received_bytes });
        }
    }
    Ok(Timings { round_trips_ns, cpu_ns: cpu_ns() - cpu_before })
}

/// Numbers a message at both ends, as far as it is long enough.
fn stamp(message: &mut [u8], number: u32) {
    let number = number.to_ne_bytes();
    let len = number.len().min(message.len());
    message[..len].copy_from_slice(&number[..len]);
    let end = message.len() - len;
    message[end..].copy_from_slice(&number[..len]);
}

/// Returns what `stamp` writes.
fn ends(message: &[u8]) -> (&[u8], &[u8]) {
    let len = size_of::<u32>().min(message.len());
    (&message[..len], &message[message.len() - len..])
}

/// Returns the time that this process has run for.
fn cpu_ns() -> u64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    // The clock starts at 0 with the process.
    time.tv_sec.unsigned_abs() * 1_000_000_000 + time.tv_nsec.unsigned_abs()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Echoes, but spoils some byte of one call.
    struct Spoiler {
        call: u32,
        at: Option<usize>,
        calls: u32,
    }

    impl EchoPeer for Spoiler {
        fn round_trip(&mut self, message: &[u8], reply: &mut Vec<u8>) -> Result<(), BenchError> {
            reply.clear();
            reply.extend(message);
            if self.calls == self.call {
                match self.at {
                    Some(at) => reply[at] ^= 1,
                    None => reply.push(0),
                }
            }
            self.calls += 1;
            Ok(())
        }
    }

    fn play_spoiled(bytes: u32, call: u32, at: Option<usize>) -> Result<Timings, BenchError> {
        play_round(Round { bytes, calls: 4, files: 0 }, &mut Spoiler { call, at, calls: 0 })
    }

    #[test]
    fn a_true_echo_is_timed() {
        for bytes in [0, 1, 4, 7, 5000] {
            assert_eq!(play_spoiled(bytes, 9, None).unwrap().round_trips_ns.len(), 4);
        }
    }

    #[test]
    fn a_wrong_echo_is_an_error() {
        let spoiled = [(0, 1, None), (3, 0, Some(2)), (5000, 2, Some(0)), (5000, 2, Some(4999))];
        for (bytes, call, at) in spoiled.into_iter().chain([(5000, 3, Some(2500))]) {
            let outcome = play_spoiled(bytes, call, at);
            assert!(matches!(outcome, Err(BenchError::WrongEcho { .. })), "{bytes} {call} {at:?}");
        }
    }
}
