//! Calls that wait for memory of their client, and signals that come meanwhile.

use std::sync::Arc;

use binder_core::{Caller, Commands, Errno, Outcome, Room, TransactionKind, Waits};
use binder_os::{Leash, injection};
use binder_uapi::{BinderTransactionDataSg, BinderWriteRead};
use fuse_wire::reply;

use super::{Asker, Device, DeviceId, Driver, EIO};
use crate::client::Lent;
use crate::ioctl::Answer;
use crate::reach::{Berth, End, Left, Reach, Want, Way};
use crate::supply::Payer;
use crate::wire::send;

/// As many pieces of one write buffer are fetched before others go first: some ten sends.
const PIECES_IN_A_ROW: u32 = 4;

/// A call whose client's memory is being accessed, or is about to be.
pub(super) struct UnderWay {
    asker: Asker,
    request: BinderWriteRead,
    leash: Arc<Leash>,
    stage: Stage,
    past: Past,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Stage {
    Fetch,
    HandOver,
}

/// What has become of a call so far.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Past {
    /// A signal wants to end it.
    was_interrupted: bool,
    /// Pieces of its write buffer that have been run.
    pieces: u32,
}

impl Driver {
    /// Has a call wait for memory of its client.
    pub(super) fn reach(
        &mut self,
        asker: &Asker,
        request: BinderWriteRead,
        want: Want,
        past: Past,
    ) {
        let Asker { unique, uid, .. } = *asker;
        let Some(client) = self.devices[asker.device].clients.get_mut(asker.process) else {
            return self.end_call(asker, request, Err(Errno::EINVAL));
        };
        let payer = Payer { pid: client.pid, uid };
        let Lent { mut way, leash } = client.lend_memory(asker.tid);
        let stage = match want {
            Want::Commands(..) => Stage::Fetch,
            Want::HandOver(_) => Stage::HandOver,
        };
        let ticket = self.under_way.insert(UnderWay { asker: *asker, request, leash, stage, past });
        let can_wait = past.pieces >= PIECES_IN_A_ROW;
        let device = asker.device;
        let end = End::NotYet;
        way.reach = Some(Reach { ticket, unique, device, client: payer, want, can_wait, end });
        self.left.push(Left::Reach(way));
    }

    /// Fetches the next commands of a call, if there are any, and runs them.
    pub(super) fn fetch(&mut self, asker: &Asker, request: BinderWriteRead) {
        if request.write_consumed < request.write_size {
            self.reach_for_commands(asker, request, Past::default());
        } else {
            let mut commands = self.spare_commands(&request);
            commands.clear(&request);
            self.run_commands(asker, request, &mut commands, Past::default());
            self.used_commands = Some(commands);
        }
    }

    /// Commands that nobody needs, to be replaced.
    fn spare_commands(&mut self, request: &BinderWriteRead) -> Box<Commands> {
        self.used_commands.take().unwrap_or_else(|| Commands::none(request).into())
    }

    /// Has a call wait for its next commands.
    pub(super) fn reach_for_commands(
        &mut self,
        asker: &Asker,
        request: BinderWriteRead,
        past: Past,
    ) {
        let commands = self.spare_commands(&request);
        self.reach(asker, request, Want::Commands(request, commands), past);
    }

    /// Reserves room for what the call behind `ticket` sends.
    pub(crate) fn reserve_room(
        &mut self,
        ticket: usize,
        unique: u64,
        kind: TransactionKind,
        data: &BinderTransactionDataSg,
    ) -> Option<Berth> {
        let under_way = self.under_way.get(ticket).filter(|it| it.asker.unique == unique)?;
        let Asker { device, process, tid, .. } = under_way.asker;
        let Device { context, clients, .. } = &mut self.devices[device];
        let Room { key: room, receiver, offset } =
            context.reserve_room(process, tid, kind, data, clients)?;
        let Some(client) = clients.get(receiver) else {
            context.give_up_room(room, clients);
            return None;
        };
        Some(Berth { room, buffer: client.buffer.memory().clone(), offset: offset as usize })
    }

    /// Goes on with a call, unless it was answered meanwhile.
    pub(super) fn go_on(&mut self, mut way: Box<Way>) {
        let Some(Reach { ticket, unique, device, want, end, .. }) = way.reach.take() else {
            return;
        };
        if self.under_way.get(ticket).is_none_or(|it| it.asker.unique != unique) {
            return self.give_up_rooms(device, want);
        }
        let UnderWay { asker, mut request, leash, past, .. } = self.under_way.remove(ticket);
        let state = &mut self.devices[asker.device];
        let Some(client) = state.clients.get_mut(asker.process) else {
            self.give_up_rooms(device, want);
            return self.end_call(&asker, request, Err(Errno::EINVAL));
        };
        client.resume_call(asker.tid);
        let is_cut = leash.is_cut();
        if !is_cut {
            client.take_back_memory(Lent { way, leash });
        }
        match (want, end) {
            (want, End::NotYet | End::Bug) => {
                self.give_up_rooms(device, want);
                send(&self.fuse, &reply::error(asker.unique, EIO));
            }
            // What was fetched may lack what was cut off.
            (want @ Want::Commands(..), _) if is_cut => {
                self.give_up_rooms(device, want);
                self.repeat(&asker, &request);
            }
            (Want::Commands(_, mut commands), _) => {
                self.note_time(asker.device);
                self.run_commands(&asker, request, &mut commands, past);
                commands.trim();
                self.used_commands = Some(commands);
            }
            (Want::HandOver(hand_over), end) => {
                let written = if let End::Fault(fault) = end { Err(fault) } else { Ok(()) };
                let Device { context, clients, .. } = state;
                let outcome = context.finish_hand_over(hand_over, written, &mut request, clients);
                self.go_on_with(&asker, request, outcome, past);
            }
        }
        self.carry_out_effects(asker.device);
        self.note_reports(asker.device);
    }

    /// Gives up what was reserved for commands that nobody will run.
    fn give_up_rooms(&mut self, device: DeviceId, want: Want) {
        if let Want::Commands(_, mut commands) = want {
            let Device { context, clients, .. } = &mut self.devices[device];
            context.give_up_rooms(&mut commands, clients);
        }
    }

    fn run_commands(
        &mut self,
        asker: &Asker,
        mut request: BinderWriteRead,
        commands: &mut Commands,
        past: Past,
    ) {
        let state = &mut self.devices[asker.device];
        let is_nonblocking =
            state.clients.get(asker.process).is_some_and(|client| client.is_nonblocking);
        let waits = if is_nonblocking { Waits::Never } else { Waits::UntilReady };
        let caller = Caller { process: asker.process, tid: asker.tid, euid: asker.uid, waits };
        let outcome = state.context.write_read(&caller, &mut request, commands, &mut state.clients);
        self.go_on_with(asker, request, outcome, past);
    }

    /// Goes on with a call that has been run so far.
    fn go_on_with(
        &mut self,
        asker: &Asker,
        mut request: BinderWriteRead,
        mut outcome: Result<Outcome, Errno>,
        past: Past,
    ) {
        let state = &mut self.devices[asker.device];
        if matches!(outcome, Err(Errno::EAGAIN)) && state.has_become_blocking(asker.process) {
            // The request shows what was done: the repetition only reads.
            let waits = Waits::UntilReady;
            let caller = Caller { process: asker.process, tid: asker.tid, euid: asker.uid, waits };
            let mut none = Commands::none(&request);
            outcome =
                state.context.write_read(&caller, &mut request, &mut none, &mut state.clients);
        }
        match outcome {
            Ok(Outcome::Fetch) if past.was_interrupted => self.repeat(asker, &request),
            Ok(Outcome::Fetch) => {
                let past = Past { pieces: past.pieces + 1, ..past };
                self.reach_for_commands(asker, request, past);
            }
            Ok(Outcome::HandOver(hand_over)) => {
                self.reach(asker, request, Want::HandOver(hand_over), past);
            }
            Ok(Outcome::Park(thread)) if past.was_interrupted => {
                self.devices[asker.device].context.interrupt(thread);
                self.end_call(asker, request, Err(Errno::EINTR));
            }
            outcome => self.end_or_park(asker, request, outcome),
        }
    }

    /// Ends a call because of a signal, with its commands run in part or not at all: it is repeated, or
    /// fails with `EINTR`, as the signal's handler was set up.
    ///
    /// `Differs from Linux:` there no signal but one that kills ends an access to memory.
    fn repeat(&self, asker: &Asker, request: &BinderWriteRead) {
        let bytes = Answer::of(request);
        send(&self.fuse, &reply::ioctl(asker.unique, injection::REPEAT, bytes.bytes()));
    }

    /// Notes a signal for the call behind request `target`. Says whether there is one here.
    pub(super) fn interrupt_under_way(&mut self, target: u64) -> bool {
        let found = self.under_way.iter_mut().find(|(_, it)| it.asker.unique == target);
        let Some((ticket, found)) = found else { return false };
        found.past.was_interrupted = true;
        self.end_if_possible(ticket);
        true
    }

    /// Ends the calls that a signal wants to end, as far as they can be now.
    pub(super) fn end_interrupted(&mut self) {
        let interrupted = self.under_way.iter().filter(|(_, it)| it.past.was_interrupted);
        let tickets: Vec<usize> = interrupted.map(|(ticket, _)| ticket).collect();
        for ticket in tickets {
            self.end_if_possible(ticket);
        }
        let on_errands = self.on_errands.iter().filter(|(_, was_interrupted)| **was_interrupted);
        let targets: Vec<u64> = on_errands.map(|(target, _)| *target).collect();
        for target in targets {
            self.end_errand_of_killed(target);
        }
    }

    /// Whether there are calls that a signal wants to end.
    pub(super) fn has_interrupted(&self) -> bool {
        self.under_way.iter().any(|(_, it)| it.past.was_interrupted)
            || self.on_errands.values().any(|was_interrupted| *was_interrupted)
    }

    /// Ends an interrupted call while its client's memory is still out of reach. Returns that are on their
    /// way cannot be taken back, so that such a call ends only if its thread does.
    fn end_if_possible(&mut self, ticket: usize) {
        let UnderWay { asker, stage, leash, .. } = &self.under_way[ticket];
        let may_end = match stage {
            // One that is in line keeps its place there: a client that is interrupted again and again
            // would else take more and more.
            Stage::Fetch => leash.is_in_use() || asker.is_killed(),
            Stage::HandOver => asker.is_killed(),
        };
        if may_end && leash.cut() {
            let UnderWay { asker, request, stage, .. } = self.under_way.remove(ticket);
            match stage {
                Stage::Fetch => self.repeat(&asker, &request),
                Stage::HandOver => self.end_call(&asker, request, Err(Errno::EINTR)),
            }
        }
    }
}
