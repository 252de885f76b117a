//! The calls of a device that have begun and are not answered yet.
//!
//! A call that cannot go on at once - its client's memory is being read or written, its read sleeps, its
//! files are being installed, its freeze waits - is one value in one table, with one state. Its request's
//! number finds it, for the thread that did the I/O, for a signal, and for a wake-up of the sleeping
//! thread. It is taken out of the table while the driver goes on with it.

use alloc::boxed::Box;
use alloc::vec::Vec;

use binder_core::{Context, ProcessKey, Standing, ThreadKey};
use binder_uapi::BinderWriteRead;
use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use crate::access::AccessRequest;
use crate::carried_returns::CarriedReturns;
use crate::ioctl::IoctlData;
use crate::request::RequestContext;

/// A table of this many calls keeps its capacity.
const KEPT_CALLS: usize = 64;

/// An ioctl, from its request to its answer.
#[derive(Debug)]
pub struct Call {
    /// The request to answer, and whose it is.
    pub(crate) context: RequestContext,
    /// The bytes of the caller's struct: as they came, and in the end as they go back.
    pub(crate) data: IoctlData,
    /// That struct, with the progress so far, if this is a `BINDER_WRITE_READ`.
    pub(crate) request: BinderWriteRead,
    pub(crate) state: CallState,
    /// A signal wants to end it, and could not yet.
    pub(crate) was_interrupted: bool,
    /// Pieces of its write buffer that have been run.
    pub(crate) pieces: u32,
    /// The access by which its first commands were fetched, if that was before it came.
    pub(crate) fetched: Option<Box<AccessRequest>>,
    pub(crate) returns: CarriedReturns,
    /// Whether it ends where it finds nothing to read, whatever the mode of its file.
    pub(crate) reads_at_once: bool,
    /// Whether its answer tells where its thread stands then.
    tells_standing: bool,
    pub(crate) standing: Standing,
}

/// What a call waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum CallState {
    /// The front end runs it: it is in no table.
    Running,
    /// Its next commands are being read from its client's memory.
    Fetching,
    /// Its returns are being written to its client's memory.
    CopyingOut,
    /// It lets others go first, and goes on in another slice.
    Yielding,
    /// It is being looked where the receiver of its next command has its receive buffer mapped.
    Locating,
    /// Its read sleeps, until there is work for its thread.
    Asleep(ThreadKey, Check),
    /// Its file was non-blocking when that was last seen, and there is nothing to read.
    LookingAtMode,
    /// Files are being installed in its client, or closed there. Its request may be answered by then, and
    /// its thread be stopped on its way out of the ioctl.
    ChangingFiles,
    /// It concerns a program on all devices, and waits for the executor, which has access to all of them.
    Freezing,
}

/// Whether the file of a sleeping read has been looked at for a change to `O_NONBLOCK`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Check {
    /// It fell asleep since the last round: perhaps for a moment only.
    Fresh,
    /// It slept through a round, and is looked at after the next, once and for all.
    Due,
}

impl Call {
    /// A call that begins.
    pub fn new(context: RequestContext, data: IoctlData) -> Self {
        Self {
            context,
            data,
            request: BinderWriteRead::default(),
            state: CallState::Running,
            was_interrupted: false,
            pieces: 0,
            fetched: None,
            returns: CarriedReturns::default(),
            reads_at_once: false,
            tells_standing: false,
            standing: Standing::default(),
        }
    }

    /// The open file that it is made by.
    #[must_use]
    pub fn process(&self) -> ProcessKey {
        self.context.process
    }

    /// Makes it another, which begins.
    pub(crate) fn renew(&mut self, context: RequestContext, data: IoctlData) {
        let mut returns = core::mem::take(&mut self.returns);
        returns.clear();
        *self = Self { returns, ..Self::new(context, data) };
    }

    /// Adds the access by which its first commands were fetched: the front end need not ask for that.
    pub fn set_fetched(&mut self, access: Box<AccessRequest>) {
        self.fetched = Some(access);
    }

    /// Has as many bytes of the returns that are for address `start` [go back](Self::returns) with the answer. They must
    /// reach the client then.
    pub fn carry_returns(&mut self, start: u64, room_bytes: usize) {
        self.returns.begin(start, room_bytes);
    }

    /// Has it end with `EAGAIN` where it finds nothing to read, as if its file were non-blocking.
    pub fn read_at_once(&mut self) {
        self.reads_at_once = true;
    }

    /// Has its answer tell [where its thread stands](Self::standing) then.
    pub fn tell_standing(&mut self) {
        self.tells_standing = true;
    }

    /// Notes where its thread stands, if its answer tells.
    pub(crate) fn note_standing(&mut self, context: &Context) {
        if self.tells_standing {
            self.standing = context.standing(self.context.process, self.context.tid);
        }
    }

    /// Where its thread stands after it, if it was to tell.
    pub fn standing(&self) -> Standing {
        self.standing
    }

    /// Notes that a signal wants to end it, before it comes.
    pub fn note_interruption(&mut self) {
        self.was_interrupted = true;
    }

    /// The number of its request.
    pub fn unique(&self) -> u64 {
        self.context.unique
    }

    /// The bytes of the caller's struct.
    pub fn data(&self) -> &[u8] {
        self.data.bytes()
    }

    /// The same, by value.
    pub fn ioctl_data(&self) -> IoctlData {
        self.data
    }

    /// The returns that go back with the answer.
    pub fn returns(&self) -> &[u8] {
        self.returns.bytes()
    }
}

/// The sleeper in the place of a thread.
#[derive(Clone, Copy, Debug, Default)]
struct SleeperSlot {
    /// The number of its request; none if the thread does not sleep.
    unique: Option<u64>,
    /// Its place is listed as one to look at.
    is_unchecked: bool,
}

/// All calls of one device that wait for something.
#[derive(Debug, Default)]
pub(crate) struct Calls {
    /// By the numbers of their requests.
    by_request: HashMap<u64, Box<Call>, FxBuildHasher>,
    /// The sleeping ones, by the slot of their thread.
    asleep: Vec<SleeperSlot>,
    /// Slots with reads that have not been looked at, or had, once each.
    unchecked: Vec<usize>,
    /// The requests of calls that a signal wants to end and could not: some may be over.
    interrupted: Vec<u64>,
}

impl Calls {
    /// Has a call wait, in the state that it has.
    pub(crate) fn insert(&mut self, call: Box<Call>) {
        debug_assert!(call.state != CallState::Running, "it would wait for nothing");
        let unique = call.context.unique;
        if let CallState::Asleep(thread, _) = call.state {
            let slot = thread.slot();
            if slot >= self.asleep.len() {
                self.asleep.resize(slot + 1, SleeperSlot::default());
            }
            let place = &mut self.asleep[slot];
            place.unique = Some(unique);
            if !core::mem::replace(&mut place.is_unchecked, true) {
                self.unchecked.push(slot);
            }
        }
        self.by_request.insert(unique, call);
    }

    pub(crate) fn get(&self, unique: u64) -> Option<&Call> {
        self.by_request.get(&unique).map(|call| &**call)
    }

    /// Takes out the call behind a request, to go on with it.
    pub(crate) fn take(&mut self, unique: u64) -> Option<Box<Call>> {
        let call = self.by_request.remove(&unique)?;
        if let CallState::Asleep(thread, _) = call.state
            && let Some(place) = self.asleep.get_mut(thread.slot())
        {
            place.unique.take_if(|its| *its == unique);
        }
        Some(call)
    }

    /// Takes out the call in whose read a thread sleeps.
    pub(crate) fn take_asleep(&mut self, thread: ThreadKey) -> Option<Box<Call>> {
        let unique = self.asleep.get(thread.slot())?.unique?;
        match self.by_request.get(&unique)?.state {
            CallState::Asleep(sleeper, _) if sleeper == thread => self.take(unique),
            _ => None,
        }
    }

    /// Takes out all calls in whose reads threads of a process sleep.
    #[expect(clippy::vec_box, reason = "each is answered in its box")]
    pub(crate) fn take_asleep_of(&mut self, process: ProcessKey) -> Vec<Box<Call>> {
        let sleepers = self.asleep.iter().filter_map(|place| place.unique);
        let is_its = |unique: &u64| {
            self.by_request.get(unique).is_some_and(|call| call.context.process == process)
        };
        let its: Vec<u64> = sleepers.filter(is_its).collect();
        its.into_iter().filter_map(|unique| self.take(unique)).collect()
    }

    /// Notes that a signal wants to end a call that cannot end now.
    pub(crate) fn note_interruption(&mut self, unique: u64) {
        let Some(call) = self.by_request.get_mut(&unique) else { return };
        if !core::mem::replace(&mut call.was_interrupted, true) {
            self.interrupted.push(unique);
        }
    }

    /// Lists the calls that a signal wants to end.
    pub(crate) fn interrupted(&mut self) -> Vec<u64> {
        let Self { by_request, interrupted, .. } = self;
        interrupted.retain(|unique| by_request.get(unique).is_some_and(|it| it.was_interrupted));
        interrupted.clone()
    }

    /// Ends a round: lists the processes whose reads have slept through it and were not looked at.
    pub(crate) fn end_round(&mut self) -> Vec<ProcessKey> {
        let mut due = Vec::new();
        let Self { by_request, asleep, unchecked, .. } = self;
        unchecked.retain(|slot| {
            let place = &mut asleep[*slot];
            let call = place.unique.and_then(|unique| by_request.get_mut(&unique));
            let is_fresh = call.is_some_and(|call| {
                if let CallState::Asleep(_, check @ Check::Fresh) = &mut call.state {
                    *check = Check::Due;
                    true
                } else {
                    due.push(call.context.process);
                    false
                }
            });
            place.is_unchecked = is_fresh;
            is_fresh
        });
        due
    }

    /// Shrinks the table after it has held many calls.
    pub(crate) fn shrink(&mut self) {
        let used = self.asleep.iter().rposition(|it| it.unique.is_some()).map_or(0, |at| at + 1);
        self.asleep.truncate(used);
        self.asleep.shrink_to(2 * used);
        self.unchecked.retain(|slot| *slot < used);
        self.unchecked.shrink_to(2 * self.unchecked.len());
        self.interrupted.shrink_to_fit();
        let calls = self.by_request.len();
        if self.by_request.capacity() > KEPT_CALLS && calls < self.by_request.capacity() / 4 {
            self.by_request.shrink_to(2 * calls);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::ops::Range;

    use binder_core::{Caller, Commands, Context, Outcome, Waits};

    use crate::test_frontend::{NoMemory, opener};

    /// Sleeping threads of one process.
    fn sleepers(tids: Range<u32>) -> (ProcessKey, Vec<ThreadKey>) {
        let mut context = Context::new();
        let process = context.open(opener()).expect("the first");
        let sleep = |tid| {
            let caller = Caller { process, tid, euid: 0, waits: Waits::UntilReady };
            // A thread returns from its first call at once.
            context.note_call(&caller);
            let mut request = BinderWriteRead { read_size: 256, ..BinderWriteRead::default() };
            let mut none = Commands::none(&request);
            let mut run = context.write_read(&caller, &mut request, &mut none, &mut NoMemory);
            // The beginning of what it reads into.
            if let Ok(Outcome::CopyOut(beginning)) = run {
                run = context.finish_copy_out(beginning, Ok(()), &mut request, &mut NoMemory);
            }
            match run {
                Ok(Outcome::Park(thread)) => thread,
                other => panic!("thread {tid} does not sleep: {other:?}"),
            }
        };
        (process, tids.map(sleep).collect())
    }

    fn call(unique: u64, process: ProcessKey, state: CallState) -> Box<Call> {
        let context =
            RequestContext { unique, process, tid: 7, uid: 0, argument: 0, is_compat: false };
        Call { state, ..Call::new(context, IoctlData::NOTHING) }.into()
    }

    fn asleep(unique: u64, process: ProcessKey, thread: ThreadKey) -> Box<Call> {
        call(unique, process, CallState::Asleep(thread, Check::Fresh))
    }

    #[test]
    fn a_sleeping_call_is_found_by_its_request_and_by_its_thread_and_is_there_once() {
        let (process, threads) = sleepers(7..9);
        let mut calls = Calls::default();
        calls.insert(asleep(2, process, threads[0]));
        calls.insert(asleep(4, process, threads[1]));
        assert!(calls.get(2).is_some() && calls.get(3).is_none());
        assert_eq!(calls.take_asleep(threads[0]).map(|it| it.context.unique), Some(2));
        assert!(calls.take_asleep(threads[0]).is_none() && calls.take(2).is_none());
        calls.insert(asleep(6, process, threads[0]));
        let uniques: Vec<_> =
            calls.take_asleep_of(process).iter().map(|it| it.context.unique).collect();
        assert_eq!(uniques, [6, 4]);
        assert!(calls.by_request.is_empty());
    }

    #[test]
    fn a_call_that_copies_is_no_sleeper_though_its_thread_slept_before() {
        let (process, threads) = sleepers(7..8);
        let mut calls = Calls::default();
        calls.insert(asleep(2, process, threads[0]));
        let mut call = calls.take(2).expect("it sleeps");
        call.state = CallState::ChangingFiles;
        calls.insert(call);
        assert!(calls.take_asleep(threads[0]).is_none());
        assert!(calls.take_asleep_of(process).is_empty() && calls.get(2).is_some());
    }

    #[test]
    fn an_interruption_is_remembered_until_its_call_is_over() {
        let (process, _) = sleepers(7..8);
        let mut calls = Calls::default();
        calls.insert(call(2, process, CallState::ChangingFiles));
        calls.insert(call(4, process, CallState::ChangingFiles));
        calls.note_interruption(4);
        calls.note_interruption(4);
        assert_eq!(calls.interrupted(), [4]);
        let interrupted = calls.take(4).expect("it is not over");
        assert!(interrupted.was_interrupted);
        calls.insert(interrupted);
        assert_eq!(calls.interrupted(), [4]);
        calls.take(4);
        assert!(calls.interrupted().is_empty());
    }

    #[test]
    fn a_read_that_slept_through_a_round_is_looked_at_once() {
        let (process, threads) = sleepers(7..9);
        let mut calls = Calls::default();
        calls.insert(asleep(2, process, threads[0]));
        assert!(calls.end_round().is_empty(), "it fell asleep just now");
        calls.insert(asleep(4, process, threads[1]));
        assert_eq!(calls.end_round(), [process]);
        calls.take(4);
        assert!(calls.end_round().is_empty());
        calls.insert(asleep(6, process, threads[1]));
        assert!(calls.end_round().is_empty(), "another sleep");
        assert_eq!(calls.end_round(), [process]);
        assert!(calls.end_round().is_empty());
    }

    #[test]
    fn many_calls_leave_no_room_behind() {
        let (process, threads) = sleepers(7..107);
        let mut calls = Calls::default();
        for (at, thread) in threads.iter().enumerate() {
            calls.insert(asleep(at as u64, process, *thread));
        }
        assert_eq!(calls.take_asleep_of(process).len(), threads.len());
        calls.shrink();
        assert!(calls.by_request.capacity() <= KEPT_CALLS);
        assert_eq!((calls.asleep.len(), calls.unchecked.len()), (0, 0));
    }
}
