//! Two processes at one futex, with the bytes in shared memory: as little as it can take.

use std::sync::atomic::{AtomicU32, Ordering};

use binder_os::shared_page::SharedPage;
use rustix::io::Errno;
use rustix::thread::futex::{self, Flags};

use super::caller::{self, EchoPeer};
use super::placement::Cores;
use crate::actor::{Actor, ActorLink};
use crate::affinity;
use crate::error::{BenchError, failed};

/// The word while the server has nothing to do; else the message is for it, and the word is one
/// more than its length.
const IDLE: u32 = 0;

struct FutexClient<'page>(&'page SharedPage);

pub(super) fn start(room_bytes: usize, cores: Cores) -> Result<(Actor, Actor), BenchError> {
    let page = SharedPage::new(room_bytes).map_err(failed("sharing memory"))?;
    let mut server = Actor::start("futex server", |link| {
        cores.server.map_or(Ok(()), affinity::pin_self)?;
        serve(link, &page)
    })?;
    server.expect_ready()?;
    let client = Actor::start("futex client", |link| {
        cores.client.map_or(Ok(()), affinity::pin_self)?;
        caller::play(link, &mut FutexClient(&page))
    })?;
    Ok((client, server))
}

impl EchoPeer for FutexClient<'_> {
    fn round_trip(&mut self, message: &[u8], reply: &mut Vec<u8>) -> Result<(), BenchError> {
        self.0.write(message)?;
        let request = u32::try_from(message.len()).expect("lengths are given in 32 bits") + 1;
        set(self.0.word(), request)?;
        while_is(self.0.word(), request)?;
        reply.resize(message.len(), 0);
        self.0.read(reply)?;
        Ok(())
    }
}

fn serve(link: &mut ActorLink, page: &SharedPage) -> Result<(), BenchError> {
    link.answer(&())?;
    let mut message = Vec::new();
    loop {
        let request = while_is(page.word(), IDLE)?;
        message.resize(request as usize - 1, 0);
        page.read(&mut message)?;
        page.write(&message)?;
        set(page.word(), IDLE)?;
    }
}

/// Changes the word and wakes the thread that waits for that.
fn set(word: &AtomicU32, value: u32) -> Result<(), BenchError> {
    word.store(value, Ordering::Release);
    futex::wake(word, Flags::empty(), 1).map_err(failed("waking at a futex"))?;
    Ok(())
}

/// Sleeps until the word is something other than `value`, and returns that.
fn while_is(word: &AtomicU32, value: u32) -> Result<u32, BenchError> {
    loop {
        let current = word.load(Ordering::Acquire);
        if current != value {
            return Ok(current);
        }
        match futex::wait(word, Flags::empty(), value, None) {
            Ok(()) | Err(Errno::AGAIN | Errno::INTR) => {}
            Err(errno) => return Err(failed("waiting at a futex")(errno)),
        }
    }
}
