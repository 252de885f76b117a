//! The doors by which calls come: one after the other, so that each check knocks at all of them.

use binder_frontend::{Call, FreeLists, RequestContext};
use binder_uapi::BinderWriteRead;
use zerocopy::{FromBytes, IntoBytes};

use super::World;
use super::steps::Trouble;
use crate::Host;

/// How many bytes of returns go back with an answer.
const CARRIED_BYTES: u64 = 768;

/// How a call comes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Door {
    /// The front end asks for its commands.
    Asking,
    /// It brings its first commands.
    Fetching,
    /// It takes its returns along, too.
    Carrying,
}

impl Door {
    fn of(unique: u64) -> Self {
        [Self::Asking, Self::Fetching, Self::Carrying][(unique / 2 % 3) as usize]
    }
}

impl World {
    /// Does what the executor does for a call before the front end knows of it.
    pub(super) fn come_by_door(
        &mut self,
        device: usize,
        file: usize,
        call: &mut Call,
        request: &RequestContext,
        data: &[u8],
    ) {
        let door = Door::of(request.unique);
        let Ok(wanted) = BinderWriteRead::read_from_bytes(data) else { return };
        if door == Door::Asking || self.holds_windows || self.holds_fetched {
            return;
        }
        let host = self.files[file].host;
        let (start, room) = (
            wanted.read_buffer.wrapping_add(wanted.read_consumed),
            wanted.read_size.saturating_sub(wanted.read_consumed).min(CARRIED_BYTES),
        );
        let mut there = vec![0; usize::try_from(room).unwrap_or(0)];
        let can_be_carried = self.memory.peek(host, start, &mut there).is_ok()
            && self.memory.poke(host, start, &there).is_ok();
        if door == Door::Carrying && can_be_carried {
            call.carry_returns(start, there.len());
        }
        let Some(mut fetch) = FreeLists::default().fetch(*request, &wanted) else { return };
        let trouble = self.executor.trouble_now();
        if trouble == Some(Trouble::Stall) {
            // It comes at a step that ends with the client.
            return self.executor.set_trouble(Some((0, Trouble::Stall)));
        }
        fetch.end = self.perform(device, file, &mut fetch, trouble);
        call.set_fetched(fetch);
        match trouble {
            Some(Trouble::Signal | Trouble::Cut | Trouble::CutLate) => call.note_interruption(),
            Some(Trouble::Kill) => self.kill(host),
            Some(Trouble::Fault | Trouble::Bug | Trouble::Stall) | None => {}
        }
    }

    /// Copies the returns that go back with an answer to where their caller wants them, as its struct says still.
    pub(super) fn carry_returns_home(&mut self, host: Host, argument: u64, returns: &[u8]) {
        if returns.is_empty() {
            return;
        }
        let mut call = BinderWriteRead::default();
        if self.memory.peek(host, argument, call.as_mut_bytes()).is_ok() {
            let start = call.read_buffer.wrapping_add(call.read_consumed);
            // A range that is gone was unmapped by the client itself.
            let _ = self.memory.poke(host, start, returns);
        }
    }
}
