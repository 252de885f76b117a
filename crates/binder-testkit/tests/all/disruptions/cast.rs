//! Parties that play a scenario, come what may, and remember what they are owed.

use binder_testkit::{
    Attempt, Caller, Commands, CoreRig, Message, Mode, Party, Return, Stage, commands, introduce,
};
use binder_uapi::{
    BINDER_FREEZE, BR_OK, BinderFreezeInfo, FLAT_BINDER_FLAG_ACCEPTS_FDS, FlatBinderObject,
    TF_ACCEPT_FDS, TF_CLEAR_BUF, TF_ONE_WAY,
};
use rustix::io::Errno;

use super::scenario::{Act, Load, Who};

/// How often all are let to read, answer and free, before they must be done.
const ROUNDS: usize = 20;

pub(crate) struct Cast<'s> {
    stage: &'s Stage,
    players: [Player<'s>; 4],
}

struct Player<'s> {
    party: Party<'s>,
    /// By party: the handle of that one's object.
    handles: [Option<u32>; 4],
    is_gone: bool,
    /// Calls that it read and has not answered.
    served: usize,
    buffers: Vec<u64>,
    /// Whether all that it was to hear has reached it: its memory has not faulted.
    hears_all: bool,
    /// Calls, and whatever else it has sent that was refused.
    calls: usize,
    /// How often it has read of an end of such.
    ends: usize,
    /// How many of these were `BR_FAILED_REPLY`.
    failures: usize,
    /// By party: whether it watches, did before the present step, how often it is to hear of that one's death, and has.
    watches: [bool; 4],
    watched: [bool; 4],
    deaths_owed: [usize; 4],
    deaths: [usize; 4],
}

fn message(load: Load, handles: &[Option<u32>; 4]) -> Message {
    match load {
        Load::Nothing => Message::new(1),
        Load::Objects => {
            let own = Message::new(1).bytes(b"some bytes").binder(0x1000, 1).weak_binder(0x2000, 2);
            let known = handles.iter().flatten().filter(|handle| **handle != 0);
            let all = known.fold(own, |message, it| message.handle(*it));
            all.flags(TF_CLEAR_BUF)
        }
        Load::Files => Message::new(1).flags(TF_ACCEPT_FDS).descriptor(0, 1).descriptor(0, 2),
        Load::Pieces => Message::new(1)
            .flags(TF_ACCEPT_FDS)
            .buffer(&[0; 16])
            // Two numbers of descriptors, both 0, and a pointer behind them.
            .descriptors(2, 0, 0)
            .child(b"eight or so", 0, 8),
    }
}

impl Cast<'_> {
    /// Plays on a rig, and sees to it that nothing is left afterwards.
    pub(crate) fn assembled_on(rig: CoreRig, play: impl FnOnce(&mut Cast<'_>)) {
        let stage = Stage::new(Box::new(rig));
        let flags = FLAT_BINDER_FLAG_ACCEPTS_FDS;
        let manager =
            stage.manager_named(FlatBinderObject { flags, ..FlatBinderObject::default() });
        let parties = [manager, stage.party(), stage.party(), stage.party()];
        let mut handles = [[None; 4]; 4];
        for (owner, ptr) in [(0, 0x10), (1, 0x20), (2, 0x30)] {
            for to in (0..3).filter(|to| *to != owner) {
                let object = (ptr, ptr + 1);
                handles[to][owner] =
                    Some(introduce(&manager, &parties[owner], object, &parties[to]));
            }
        }
        handles[3][0] = Some(0);
        parties.iter().for_each(|party| party.set_mode(Mode::Nonblocking));
        let player = |at: usize| Player {
            party: parties[at],
            handles: handles[at],
            is_gone: false,
            served: 0,
            buffers: Vec::new(),
            hears_all: true,
            calls: 0,
            ends: 0,
            failures: 0,
            watches: [false; 4],
            watched: [false; 4],
            deaths_owed: [0; 4],
            deaths: [0; 4],
        };
        play(&mut Cast { stage: &stage, players: [0, 1, 2, 3].map(player) });
        stage.tear_down();
    }

    pub(crate) fn core(&self) -> &CoreRig {
        self.stage.rig().core().expect("a rig on the core")
    }

    pub(crate) fn play(&mut self, act: &Act) {
        self.players.iter_mut().for_each(|player| player.watched = player.watches);
        match *act {
            Act::Call(from, to, load) => self.send(from, to, load, false),
            Act::Adopt(from, to) => self.adopt(from, to),
            Act::Oneway(from, to, load) => self.send(from, to, load, true),
            Act::Read(who) => {
                self.players[who as usize].read();
            }
            Act::Reply(who, load) => self.players[who as usize].reply(load),
            Act::Free(who) => self.players[who as usize].free(),
            Act::Watch(who, of) => self.watch(who, of),
            Act::Unwatch(who, of) => self.about(who, of, |handle, cookie, player| {
                player.watches[of as usize] &=
                    !player.write(commands().clear_death(handle, cookie));
            }),
            Act::Freeze(who, of) => self.set_frozen(who, of, true),
            Act::Thaw(who, of) => self.set_frozen(who, of, false),
            Act::WatchFreeze(who, of) => self.about(who, of, |handle, cookie, player| {
                player.write(commands().request_freeze(handle, cookie));
            }),
            Act::Acquire(who, of) => self.about(who, of, |handle, _, player| {
                player.write(commands().acquire(handle));
            }),
            Act::Release(who, of) => self.about(who, of, |handle, _, player| {
                player.write(commands().release(handle));
            }),
        }
    }

    fn send(&mut self, from: Who, to: Who, load: Load, is_oneway: bool) {
        self.about(from, to, |handle, _, player| {
            let message = message(load, &player.handles);
            if is_oneway {
                if player.write(commands().oneway(handle, message)) {
                    // Only a refusal is an end that it reads of.
                    let refused = player.party.extended_error().command != BR_OK;
                    player.calls += usize::from(refused);
                }
            } else if player.write(commands().call(handle, message)) {
                player.calls += 1;
            }
        });
    }

    fn adopt(&mut self, from: Who, to: Who) {
        let [caller, server] = [from, to].map(|who| self.caller(who));
        let is_gone = [from, to].map(|who| self.players[who as usize].is_gone).contains(&true);
        let mut is_adopted = false;
        let stage = self.stage;
        self.about(from, to, |handle, _, player| {
            let core = stage.rig().core().expect("a rig on the core");
            let adopted = core.adopt_call(caller, handle, (1, TF_ACCEPT_FDS), server);
            assert!(!is_gone || adopted.is_err(), "by or for one that is gone");
            is_adopted = adopted.is_ok();
            player.calls += usize::from(is_adopted);
        });
        self.players[to as usize].served += usize::from(is_adopted);
    }

    fn watch(&mut self, who: Who, of: Who) {
        let is_gone = self.players[of as usize].is_gone;
        self.about(who, of, |handle, cookie, player| {
            let watches = &mut player.watches[of as usize];
            let is_first = !std::mem::replace(watches, true);
            if !player.write(commands().request_death(handle, cookie)) {
                player.watches[of as usize] = !is_first;
            } else if is_first && is_gone {
                player.deaths_owed[of as usize] += 1;
            }
        });
    }

    fn set_frozen(&self, by: Who, of: Who, is_wanted: bool) {
        let [by, of] = [by, of].map(|who| &self.players[who as usize]);
        if !by.is_gone {
            let pid = of.party.pid().unsigned_abs();
            let mut request = BinderFreezeInfo { pid, enable: is_wanted.into(), timeout_ms: 0 };
            // It may be gone, or have something to finish first.
            let _ = by.party.ioctl(BINDER_FREEZE, &mut request);
        }
    }

    fn about(&mut self, who: Who, of: Who, act: impl FnOnce(u32, u64, &mut Player<'_>)) {
        let player = &mut self.players[who as usize];
        if !player.is_gone
            && let Some(handle) = player.handles[of as usize]
        {
            act(handle, of as u64, player);
        }
    }

    /// What faulted may have been a return, which is lost then.
    pub(crate) fn forgive_faults(&mut self) {
        for player in &mut self.players {
            player.hears_all = false;
        }
    }

    pub(crate) fn exit_thread(&mut self, who: Who) {
        self.players[who as usize].party.exit_thread();
        self.note_exited(who);
    }

    pub(crate) fn close(&mut self, who: Who) {
        self.players[who as usize].party.close();
        self.players.iter_mut().for_each(|player| player.watched = player.watches);
        self.note_closed(who);
    }

    pub(crate) fn caller(&self, who: Who) -> Caller {
        self.players[who as usize].party.caller()
    }

    pub(crate) fn note_exited(&mut self, who: Who) {
        let player = &mut self.players[who as usize];
        (player.served, player.calls, player.ends) = (0, 0, 0);
        // A death, or its end, that was to be told to this very thread.
        player.hears_all = false;
    }

    pub(crate) fn note_closed(&mut self, who: Who) {
        self.players[who as usize].is_gone = true;
        for player in &mut self.players {
            let watches = player.watches[who as usize] || player.watched[who as usize];
            player.deaths_owed[who as usize] += usize::from(watches);
        }
    }

    /// Lets each client finish what there is, and checks that each got what it is owed and is fit for
    /// another call.
    pub(crate) fn end(&mut self) {
        for by in Who::ALL {
            Who::ALL.iter().for_each(|of| self.set_frozen(by, *of, false));
        }
        // Where two wait for each other, only another thread can help.
        let helpers = self.players.each_ref().map(|it| (!it.is_gone).then(|| it.party.thread()));
        for _ in 0..ROUNDS {
            for (player, helper) in self.players.iter_mut().zip(&helpers) {
                let Some(helper) = helper else { continue };
                let mut reads = 0;
                while player.read() || player.read_by(helper) {
                    reads += 1;
                    assert!(
                        reads < 100,
                        "{:#x?} {:#x?}",
                        player.party.try_read(),
                        helper.try_read()
                    );
                }
                if player.served > 0 {
                    player.reply(Load::Nothing);
                }
                for _ in 0..player.buffers.len() {
                    player.free();
                }
            }
        }
        let gone = self.players.each_ref().map(|player| player.is_gone);
        for (at, player) in self.players.iter().enumerate().filter(|(at, _)| !gone[*at]) {
            assert_eq!(player.served, 0, "{at} cannot answer");
            assert!(player.buffers.is_empty(), "{at} cannot free");
            if !player.hears_all {
                continue;
            }
            assert_eq!(player.ends, player.calls, "{at} hears of each call once");
            assert_eq!(player.deaths, player.deaths_owed, "{at} hears of each death once");
        }
        for (from, _) in gone.iter().enumerate().filter(|(_, is_gone)| !**is_gone) {
            for to in (0..3).filter(|to| *to != from) {
                self.call_again(from, to);
            }
        }
    }

    /// Nothing of what was played was refused as wrong.
    pub(crate) fn assert_no_failure(&self) {
        for (at, player) in self.players.iter().enumerate() {
            assert_eq!(player.failures, 0, "{at} is refused something");
        }
    }

    fn call_again(&self, from: usize, to: usize) {
        let (caller, server) = (&self.players[from], &self.players[to]);
        let Some(handle) = caller.handles[to] else { return };
        caller.party.write(commands().call(handle, Message::new(7)));
        if server.is_gone {
            let attempt = caller.party.try_read();
            assert_eq!(attempt.returns, [Return::Noop, Return::DeadReply]);
            return;
        }
        let attempt = server.party.try_read();
        let [Return::Noop, Return::Transaction(call)] = attempt.returns[..] else {
            panic!("{to} reads {attempt:#x?} for a call of {from}");
        };
        server.party.write(commands().free(call.buffer).reply(Message::new(8)));
        assert_eq!(server.party.try_read().returns, [Return::Noop, Return::TransactionComplete]);
        let attempt = caller.party.try_read();
        let [Return::Noop, Return::TransactionComplete, Return::Reply(reply)] = attempt.returns[..]
        else {
            panic!("{from} reads {attempt:#x?} for a reply of {to}");
        };
        assert_eq!(reply.code, 8);
        caller.party.write(commands().free(reply.buffer));
    }
}

impl Player<'_> {
    /// Writes one command. Says whether it was taken.
    fn write(&mut self, command: Commands) -> bool {
        let argument = self.party.try_write(command).argument;
        argument.write_consumed == argument.write_size
    }

    /// Reads once. Says whether there was anything.
    fn read(&mut self) -> bool {
        if self.is_gone {
            return false;
        }
        let Attempt { result, returns, .. } = self.party.try_read();
        for returned in returns {
            self.take(returned);
        }
        result != Err(Errno::AGAIN)
    }

    /// Has another thread read, and do as it is asked.
    fn read_by(&mut self, helper: &Party<'_>) -> bool {
        let Attempt { result, returns, .. } = helper.try_read();
        for returned in returns {
            match returned {
                Return::Transaction(it) if it.flags & TF_ONE_WAY == 0 => {
                    helper.write(commands().free(it.buffer).reply(Message::new(0)));
                }
                other => self.take(other),
            }
        }
        result != Err(Errno::AGAIN)
    }

    fn take(&mut self, returned: Return) {
        match returned {
            Return::Increfs(ptr, cookie) => {
                self.write(commands().increfs_done(ptr, cookie));
            }
            Return::Acquire(ptr, cookie) => {
                self.write(commands().acquire_done(ptr, cookie));
            }
            Return::Transaction(it) => {
                self.buffers.push(it.buffer);
                self.served += usize::from(it.flags & TF_ONE_WAY == 0);
            }
            Return::Reply(reply) => {
                self.buffers.push(reply.buffer);
                self.ends += 1;
            }
            Return::FailedReply | Return::DeadReply | Return::FrozenReply => {
                self.ends += 1;
                self.failures += usize::from(returned == Return::FailedReply);
            }
            Return::FrozenBinder { cookie, .. } => {
                self.write(commands().freeze_done(cookie));
            }
            Return::DeadBinder(of) => {
                self.deaths[usize::try_from(of).expect("a party")] += 1;
                self.write(commands().dead_binder_done(of));
            }
            Return::Noop
            | Return::SpawnLooper
            | Return::TransactionComplete
            | Return::TransactionPendingFrozen
            | Return::Release(..)
            | Return::Decrefs(..)
            | Return::ClearDeathDone(_) => {}
            unexpected => panic!("read {unexpected:#x?}"),
        }
    }

    /// Answers the call that it read last, unless it waits for a reply of its own.
    fn reply(&mut self, load: Load) {
        if self.is_gone || self.served == 0 {
            return;
        }
        let is_taken = self.write(commands().reply(message(load, &self.handles)));
        let error = self.party.extended_error();
        if !is_taken {
            return;
        }
        if error.param == -Errno::PROTO.raw_os_error() {
            // It reads of that, and it was not a call.
            self.calls += 1;
        } else {
            self.served -= 1;
        }
    }

    fn free(&mut self) {
        if !self.is_gone
            && let Some(buffer) = self.buffers.pop()
            && !self.write(commands().free(buffer))
        {
            self.buffers.push(buffer);
        }
    }
}
