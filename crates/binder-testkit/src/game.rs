//! A game of random commands that a driver and the naive model play side by side.

use std::collections::BTreeMap;

use binder_uapi::{
    BINDER_FREEZE, BINDER_GET_FROZEN_INFO, BINDER_TYPE_BINDER, BINDER_TYPE_FD, BINDER_TYPE_HANDLE,
    BINDER_TYPE_WEAK_BINDER, BinderFreezeInfo, BinderFrozenStatusInfo, BinderTransactionData,
    FLAT_BINDER_FLAG_ACCEPTS_FDS, FlatBinderObject, TF_ACCEPT_FDS, TF_UPDATE_TXN,
};
use rustix::io::Errno;

use crate::model::{
    Code, Model, ModelReturn, Object, Pid, Taken, takes_descriptors, takes_them_in_reply,
};
use crate::{Commands, Entrance, Message, Mode, Party, Return, Stage, commands};

/// How many processes there are at a time.
pub const SLOTS: usize = 4;

/// The code of all updates.
const UPDATE: Code = Code::MAX;

/// What happens next; numbers choose from what there is.
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "the commands of binder.h; numbers choose from what there is")]
pub enum Step {
    Send { slot: usize, handle: usize, is_oneway: bool, objects: Vec<(u8, usize)> },
    Adopt { slot: usize, handle: usize },
    Reply { slot: usize, objects: Vec<(u8, usize)> },
    Free { slot: usize, which: usize },
    Add { slot: usize, handle: usize, is_strong: bool },
    Remove { slot: usize, which: usize },
    Acknowledge { slot: usize, which: usize },
    RequestDeath { slot: usize, handle: usize },
    ClearDeath { slot: usize, handle: usize },
    DeathDone { slot: usize, handle: usize },
    Update { slot: usize, handle: usize, objects: Vec<(u8, usize)> },
    Freeze { slot: usize, whom: usize },
    Thaw { slot: usize, whom: usize },
    AskForFrozen { slot: usize, whom: usize },
    RequestFreeze { slot: usize, handle: usize },
    ClearFreeze { slot: usize, handle: usize },
    FreezeDone { slot: usize, handle: usize },
    Read { slot: usize },
    ExitThread { slot: usize },
    Replace { slot: usize },
    Fill { slot: usize, is_full: bool },
}

/// A process, on both sides.
struct Player<'s> {
    party: Party<'s>,
    pid: Pid,
    /// Buffers it has, by the number of their transactions.
    buffers: BTreeMap<Code, u64>,
    /// Counts it took itself, by handle.
    counts: Vec<(u32, bool)>,
    /// What it was told of own objects and did not acknowledge: pointer, and whether strong.
    notices: Vec<(u64, bool)>,
}

/// The game: four processes on a stage, and what the model makes of them.
pub struct Game<'s> {
    stage: &'s Stage,
    model: Model,
    players: Vec<Player<'s>>,
    /// The system's number of every process there was.
    numbers: Vec<i32>,
    next_code: Code,
}

impl<'s> Game<'s> {
    /// A game of processes that do not know each other.
    #[must_use]
    pub fn new(stage: &'s Stage) -> Self {
        let (model, players) = (Model::new(), Vec::new());
        let mut game = Self { stage, model, players, numbers: Vec::new(), next_code: 0 };
        for _ in 0..SLOTS {
            let player = game.enter();
            game.players.push(player);
        }
        game
    }

    fn enter(&mut self) -> Player<'s> {
        let mode = Mode::Nonblocking;
        let party = self.stage.enter(Entrance { mode, ..Entrance::default() });
        let pid = self.model.open();
        self.numbers.push(party.pid());
        if self.model.appoint(pid) {
            let object = FlatBinderObject { cookie: 0, ..own(BINDER_TYPE_BINDER, 0) };
            self.stage.appoint_named(&party, object);
        }
        let (counts, notices) = (Vec::new(), Vec::new());
        Player { party, pid, buffers: BTreeMap::new(), counts, notices }
    }

    /// What the model makes of it.
    #[must_use]
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// The model's number of the process in `slot`.
    #[must_use]
    pub fn pid(&self, slot: usize) -> Pid {
        self.players[slot].pid
    }

    /// Lets all threads read the returns that are left, and compares them.
    pub fn read_the_rest(&mut self) {
        for slot in (0..SLOTS).cycle().take(3 * SLOTS) {
            self.read(slot);
        }
    }

    fn code(&mut self) -> Code {
        self.next_code += 1;
        self.next_code
    }

    /// One of the process's handles, handle 0, or one that it does not have.
    fn handle(&self, slot: usize, which: usize) -> u32 {
        let mut handles = self.model.handles(self.players[slot].pid);
        handles.extend([0, 0, 99]);
        handles[which % handles.len()]
    }

    fn objects(&self, slot: usize, choices: &[(u8, usize)]) -> Vec<Object> {
        let object = |&(kind, which): &(u8, usize)| match kind {
            0 => Object::Binder(ptr(which)),
            1 => Object::WeakBinder(ptr(which)),
            2 => Object::Handle(self.handle(slot, which)),
            4 => Object::Descriptor,
            _ => Object::WeakHandle(self.handle(slot, which)),
        };
        choices.iter().map(object).collect()
    }

    fn write(&self, slot: usize, write: Commands, expected: Taken) {
        let attempt = self.players[slot].party.try_write(write);
        let argument = attempt.argument;
        let taken = match attempt.result {
            Ok(()) if argument.write_consumed == argument.write_size => Taken::Yes,
            Ok(()) => Taken::NotYet,
            Err(errno) => {
                assert_eq!(errno, Errno::INVAL);
                Taken::Invalid
            }
        };
        assert_eq!(taken, expected);
    }

    /// Plays a step on both sides.
    ///
    /// # Panics
    ///
    /// When the sides differ.
    pub fn play(&mut self, step: &Step) {
        match *step {
            Step::Send { slot, handle, is_oneway, ref objects } => {
                let (code, handle) = (self.code(), self.handle(slot, handle));
                let objects = self.objects(slot, objects);
                let message = message(code, &objects);
                let write = match is_oneway {
                    true => commands().oneway(handle, message),
                    false => commands().call(handle, message),
                };
                let pid = self.players[slot].pid;
                let taken = self.model.send(pid, handle, is_oneway, code, &objects);
                self.write(slot, write, taken);
            }
            Step::Adopt { slot, handle } => self.adopt(slot, handle),
            Step::Reply { slot, ref objects } => {
                let code = self.code();
                let objects = self.objects(slot, objects);
                let taken = self.model.reply(self.players[slot].pid, code, &objects);
                self.write(slot, commands().reply(message(code, &objects)), taken);
            }
            Step::Free { slot, which } => self.free(slot, which),
            Step::Add { slot, handle, is_strong } => self.add(slot, handle, is_strong),
            Step::Remove { slot, which } => self.remove(slot, which),
            Step::Acknowledge { slot, which } => self.acknowledge(slot, which),
            Step::RequestDeath { slot, handle } => {
                let handle = self.handle(slot, handle);
                let pid = self.players[slot].pid;
                let taken = self.model.request_death(pid, handle, handle.into());
                self.write(slot, commands().request_death(handle, handle.into()), taken);
            }
            Step::ClearDeath { slot, handle } => {
                let handle = self.handle(slot, handle);
                let pid = self.players[slot].pid;
                let taken = self.model.clear_death(pid, handle, handle.into());
                self.write(slot, commands().clear_death(handle, handle.into()), taken);
            }
            Step::DeathDone { slot, handle } => {
                let cookie = self.handle(slot, handle).into();
                let taken = self.model.dead_binder_done(self.players[slot].pid, cookie);
                self.write(slot, commands().dead_binder_done(cookie), taken);
            }
            Step::Update { slot, handle, ref objects } => {
                let (code, handle) = (self.code(), self.handle(slot, handle));
                let objects = self.objects(slot, objects);
                let taken = self.model.update(self.players[slot].pid, handle, code, &objects);
                // All updates have one code; their own numbers lie in the data.
                let update = Message::new(UPDATE).flags(TF_UPDATE_TXN).bytes(&code.to_le_bytes());
                self.write(slot, commands().oneway(handle, with_objects(update, &objects)), taken);
            }
            Step::Freeze { slot, whom } => self.freeze(slot, whom),
            Step::Thaw { slot, whom } => {
                self.model.thaw(self.players[whom].pid);
                let mut thaw = self.freeze_info(whom, 0);
                let result = self.players[slot].party.ioctl(BINDER_FREEZE, &mut thaw);
                assert_eq!(result, Ok(()));
            }
            Step::AskForFrozen { slot, whom } => {
                let pid = self.players[whom].party.pid().unsigned_abs();
                let mut info = BinderFrozenStatusInfo { pid, ..Default::default() };
                let result = self.players[slot].party.ioctl(BINDER_GET_FROZEN_INFO, &mut info);
                assert_eq!(result, Ok(()));
                let expected = self.model.frozen_info(self.players[whom].pid);
                assert_eq!((info.sync_recv, info.async_recv), expected);
            }
            Step::RequestFreeze { slot, handle } => {
                let handle = self.handle(slot, handle);
                let taken =
                    self.model.request_freeze(self.players[slot].pid, handle, handle.into());
                self.write(slot, commands().request_freeze(handle, handle.into()), taken);
            }
            Step::ClearFreeze { slot, handle } => {
                let handle = self.handle(slot, handle);
                let taken = self.model.clear_freeze(self.players[slot].pid, handle, handle.into());
                self.write(slot, commands().clear_freeze(handle, handle.into()), taken);
            }
            Step::FreezeDone { slot, handle } => {
                let cookie = self.handle(slot, handle).into();
                let taken = self.model.freeze_done(self.players[slot].pid, cookie);
                self.write(slot, commands().freeze_done(cookie), taken);
            }
            Step::Read { slot } => self.read(slot),
            Step::ExitThread { slot } => {
                self.model.exit_thread(self.players[slot].pid);
                self.players[slot].party.exit_thread();
                // The fresh thread has not been seen before: its first read would return at once.
                self.players[slot].party.write(commands());
            }
            Step::Fill { slot, is_full } => {
                let Player { pid, party, .. } = &self.players[slot];
                self.model.set_full(*pid, is_full);
                let descriptors = self.stage.rig().descriptors();
                let is_free = |fd: &u64| descriptors.file(party.host(), *fd).is_none();
                let lowest = (0..).find(is_free).expect("there are not so many");
                let limit = if is_full { lowest } else { lowest + 64 };
                descriptors.limit_descriptors(party.host(), limit);
            }
            Step::Replace { slot } => {
                self.model.close(self.players[slot].pid);
                self.players[slot].party.close();
                self.players[slot] = self.enter();
            }
        }
    }

    /// Has the driver adopt a call, where there may be one that it does not know of.
    fn adopt(&mut self, slot: usize, handle: usize) {
        let handle = self.handle(slot, handle);
        let Some(core) = self.stage.rig().core() else { return };
        let Some(server) = self.model.adopt(self.players[slot].pid, handle, self.next_code + 1)
        else {
            return;
        };
        let code = self.code();
        let server = self.players.iter().find(|player| player.pid == server).expect("it plays");
        let (from, server) = (self.players[slot].party.caller(), server.party.caller());
        assert_eq!(core.adopt_call(from, handle, (code, flags_of(code)), server), Ok(()));
    }

    fn freeze_info(&self, whom: usize, enable: u32) -> BinderFreezeInfo {
        let pid = self.players[whom].party.pid().unsigned_abs();
        BinderFreezeInfo { pid, enable, timeout_ms: 0 }
    }

    fn freeze(&mut self, slot: usize, whom: usize) {
        let mut info = self.freeze_info(whom, 1);
        let result = self.players[slot].party.ioctl(BINDER_FREEZE, &mut info);
        let is_frozen = self.model.freeze(self.players[whom].pid);
        assert_eq!(result, if is_frozen { Ok(()) } else { Err(Errno::AGAIN) });
    }

    fn free(&mut self, slot: usize, which: usize) {
        let player = &self.players[slot];
        let Some((&code, &address)) = player.buffers.iter().nth(which) else { return };
        let taken = self.model.free(player.pid, code);
        self.write(slot, commands().free(address), taken);
        if taken == Taken::Yes {
            self.players[slot].buffers.remove(&code);
        }
    }

    fn add(&mut self, slot: usize, which: usize, is_strong: bool) {
        let handle = self.handle(slot, which);
        let pid = self.players[slot].pid;
        let before = self.model.counts(pid, handle);
        let taken = self.model.add(pid, handle, is_strong);
        let write = commands();
        let write = if is_strong { write.acquire(handle) } else { write.increfs(handle) };
        self.write(slot, write, taken);
        if self.model.counts(pid, handle) != before {
            self.players[slot].counts.push((handle, is_strong));
        }
    }

    /// A process gives back what it took: what it holds through buffers is not its to give.
    fn remove(&mut self, slot: usize, which: usize) {
        let player = &self.players[slot];
        let (handle, is_strong) = player.counts.get(which).copied().unwrap_or((99, true));
        let taken = self.model.remove(player.pid, handle, is_strong);
        let write = commands();
        let write = if is_strong { write.release(handle) } else { write.decrefs(handle) };
        self.write(slot, write, taken);
        if taken == Taken::Yes && handle != 99 {
            self.players[slot].counts.remove(which);
        }
    }

    fn acknowledge(&mut self, slot: usize, which: usize) {
        let player = &self.players[slot];
        let Some(&(ptr, is_strong)) = player.notices.get(which) else { return };
        let (taken, write) = if is_strong {
            (self.model.acquire_done(player.pid, ptr), commands().acquire_done(ptr, ptr + 1))
        } else {
            (self.model.increfs_done(player.pid, ptr), commands().increfs_done(ptr, ptr + 1))
        };
        self.write(slot, write, taken);
        if taken == Taken::Yes {
            self.players[slot].notices.remove(which);
        }
    }

    fn read(&mut self, slot: usize) {
        let player = &mut self.players[slot];
        let expected = self.model.read(player.pid);
        let attempt = player.party.try_read();
        let actual = match attempt.result {
            Err(errno) => {
                assert_eq!(errno, Errno::AGAIN);
                None
            }
            Ok(()) => {
                let returns = attempt.returns.iter().skip(1);
                Some(returns.map(|it| player.see(*it, &self.numbers)).collect())
            }
        };
        assert_eq!(actual, expected, "process {} reads", player.pid);
    }
}

impl Player<'_> {
    /// Names what was read, and remembers what must be done for it.
    fn see(&mut self, returned: Return, numbers: &[i32]) -> ModelReturn {
        match returned {
            Return::Transaction(call) => {
                let code = self.code_of(&call);
                self.buffers.insert(code, call.buffer);
                let sender = numbers.iter().position(|number| *number == call.sender_pid);
                let target = call.target;
                ModelReturn::Call { code, target, sender, objects: self.objects(&call) }
            }
            Return::Reply(reply) => {
                self.buffers.insert(reply.code, reply.buffer);
                ModelReturn::Reply { code: reply.code, objects: self.objects(&reply) }
            }
            Return::TransactionComplete => ModelReturn::Complete,
            Return::FailedReply => ModelReturn::Failed,
            Return::DeadReply => ModelReturn::Dead,
            Return::Increfs(ptr, _) => {
                self.notices.push((ptr, false));
                ModelReturn::Increfs(ptr)
            }
            Return::Acquire(ptr, _) => {
                self.notices.push((ptr, true));
                ModelReturn::Acquire(ptr)
            }
            Return::Release(ptr, _) => ModelReturn::Release(ptr),
            Return::Decrefs(ptr, _) => ModelReturn::Decrefs(ptr),
            Return::DeadBinder(cookie) => ModelReturn::DeadBinder(cookie),
            Return::ClearDeathDone(cookie) => ModelReturn::ClearDone(cookie),
            Return::FrozenReply => ModelReturn::FrozenReply,
            Return::TransactionPendingFrozen => ModelReturn::PendingFrozen,
            Return::FrozenBinder { cookie, is_frozen } => ModelReturn::Frozen(cookie, is_frozen),
            Return::ClearFreezeDone(cookie) => ModelReturn::FreezeClearDone(cookie),
            other => panic!("read {other:#x?}"),
        }
    }

    /// The number that the game gave to a transaction.
    fn code_of(&self, received: &BinderTransactionData) -> Code {
        if received.code != UPDATE {
            return received.code;
        }
        let data = self.party.data(received);
        Code::from_le_bytes(data[..size_of::<Code>()].try_into().expect("as many bytes"))
    }

    fn objects(&self, received: &BinderTransactionData) -> Vec<Object> {
        let named = |object: &FlatBinderObject| match object.kind {
            BINDER_TYPE_BINDER => Object::Binder(object.binder),
            BINDER_TYPE_WEAK_BINDER => Object::WeakBinder(object.binder),
            BINDER_TYPE_FD => {
                self.party.close_descriptor(object.binder);
                Object::Descriptor
            }
            BINDER_TYPE_HANDLE => Object::Handle(object.handle()),
            _ => Object::WeakHandle(object.handle()),
        };
        self.party.objects(received).iter().map(named).collect()
    }
}

fn ptr(which: usize) -> u64 {
    0x10 * (1 + which as u64 % 3)
}

fn message(code: Code, objects: &[Object]) -> Message {
    with_objects(Message::new(code).flags(flags_of(code)), objects)
}

fn flags_of(code: Code) -> u32 {
    if takes_them_in_reply(code) { TF_ACCEPT_FDS } else { 0 }
}

fn with_objects(message: Message, objects: &[Object]) -> Message {
    objects.iter().fold(message, |message, object| match *object {
        Object::Binder(ptr) => message.object(own(BINDER_TYPE_BINDER, ptr)),
        Object::WeakBinder(ptr) => message.object(own(BINDER_TYPE_WEAK_BINDER, ptr)),
        Object::Descriptor => message.descriptor(0, 0),
        Object::Handle(handle) => message.handle(handle),
        Object::WeakHandle(handle) => message.weak_handle(handle),
    })
}

fn own(kind: u32, ptr: u64) -> FlatBinderObject {
    let flags = if takes_descriptors(ptr) { FLAT_BINDER_FLAG_ACCEPTS_FDS } else { 0 };
    FlatBinderObject { kind, flags, binder: ptr, cookie: ptr + 1 }
}

/// Steps after which every process knows an object of every other.
#[must_use]
pub fn acquaintance() -> Vec<Step> {
    let mut steps = Vec::new();
    for slot in 1..SLOTS {
        steps.extend([
            Step::Send { slot, handle: 0, is_oneway: true, objects: vec![(0, 0)] },
            Step::Read { slot: 0 },
            Step::Add { slot: 0, handle: slot - 1, is_strong: true },
            Step::Free { slot: 0, which: 0 },
            Step::Read { slot },
            Step::Acknowledge { slot, which: 0 },
            Step::Acknowledge { slot, which: 0 },
        ]);
    }
    let everybody = (1..SLOTS).map(|slot| (2, slot - 1)).collect::<Vec<_>>();
    for slot in 1..SLOTS {
        steps.extend([
            Step::Send { slot, handle: 0, is_oneway: false, objects: vec![] },
            Step::Read { slot: 0 },
            Step::Reply { slot: 0, objects: everybody.clone() },
            Step::Read { slot: 0 },
            Step::Free { slot: 0, which: 0 },
            Step::Read { slot },
            Step::Add { slot, handle: 0, is_strong: true },
            Step::Add { slot, handle: 1, is_strong: true },
            Step::Free { slot, which: 0 },
        ]);
    }
    steps
}
