//! Clients that misbehave, at length.

use std::thread;
use std::time::{Duration, Instant};

use binder_testkit::Return::{
    Acquire, DeadReply, Increfs, Reply, Transaction, TransactionComplete,
};
use binder_testkit::game::{Game, SLOTS, Step, acquaintance};
use binder_testkit::{
    Commands, DeviceRig, Driver, Entrance, HANG_TIMEOUT, Ledger, Message, Mode, Party, Return,
    STATUS, Stage, commands,
};
use binder_uapi::{
    BC_ACQUIRE, BC_ACQUIRE_DONE, BC_CLEAR_DEATH_NOTIFICATION, BC_CLEAR_FREEZE_NOTIFICATION,
    BC_DEAD_BINDER_DONE, BC_DECREFS, BC_ENTER_LOOPER, BC_EXIT_LOOPER, BC_FREE_BUFFER,
    BC_FREEZE_NOTIFICATION_DONE, BC_INCREFS, BC_INCREFS_DONE, BC_REGISTER_LOOPER, BC_RELEASE,
    BC_REPLY, BC_REPLY_SG, BC_REQUEST_DEATH_NOTIFICATION, BC_REQUEST_FREEZE_NOTIFICATION,
    BC_TRANSACTION, BC_TRANSACTION_SG, BINDER_TYPE_BINDER, BINDER_TYPE_HANDLE,
    BinderTransactionData, payload_len,
};

use zerocopy::FromBytes;

use crate::registry::checks;

checks! {
    Both c241_random_bytes_do_no_harm,
    Both c242_random_mixes_of_references_come_to_nothing,
    Both c242_random_commands_are_answered_as_the_model_says,
    Both c243_a_killed_participant_leaves_nobody_waiting,
    Device c243_clients_killed_at_random_leave_nothing_behind,
}

/// Numbers that look random and are the same every time.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (self.0 >> 33) % sides
    }

    fn roll_index(&mut self, sides: usize) -> usize {
        usize::try_from(self.roll(sides as u64)).expect("below a usize")
    }
}

/// How often: often where it is cheap.
fn rounds(stage: &Stage, on_the_core: usize) -> usize {
    match stage.driver() {
        Driver::Core => on_the_core,
        Driver::UserSpace | Driver::Kernel => on_the_core / 50,
    }
}

fn c241_random_bytes_do_no_harm(stage: &Stage) {
    const CODES: &[u32] = &[
        BC_TRANSACTION,
        BC_REPLY,
        BC_FREE_BUFFER,
        BC_INCREFS,
        BC_ACQUIRE,
        BC_RELEASE,
        BC_DECREFS,
        BC_INCREFS_DONE,
        BC_ACQUIRE_DONE,
        BC_REGISTER_LOOPER,
        BC_ENTER_LOOPER,
        BC_EXIT_LOOPER,
        BC_REQUEST_DEATH_NOTIFICATION,
        BC_CLEAR_DEATH_NOTIFICATION,
        BC_DEAD_BINDER_DONE,
        BC_TRANSACTION_SG,
        BC_REPLY_SG,
        BC_REQUEST_FREEZE_NOTIFICATION,
        BC_CLEAR_FREEZE_NOTIFICATION,
        BC_FREEZE_NOTIFICATION_DONE,
    ];
    let m = stage.manager();
    let p = stage.enter(Entrance { mode: Mode::Nonblocking, ..Entrance::default() });
    p.write(commands().acquire(0));
    let mut dice = Dice(241);
    for _ in 0..rounds(stage, 10_000) {
        let mut write = commands();
        for _ in 0..=dice.roll(4) {
            let code = CODES[dice.roll_index(CODES.len())];
            let mut payload = vec![0_u8; payload_len(code)];
            for byte in &mut payload {
                // Mostly small numbers: they are the ones that mean something.
                *byte = u8::try_from(dice.roll(256)).expect("a byte");
                if dice.roll(8) != 0 {
                    *byte &= 1;
                }
            }
            write = write.command(code, &payload);
        }
        let _ = p.try_write(write);
        let _ = p.attempt(p.reading(Default::default()));
    }
    // Whatever it sent, the manager still serves others.
    let q = stage.party();
    q.write(commands().acquire(0).call(0, Message::new(7)));
    for _ in 0..100_000 {
        match m.read()[..] {
            [.., Transaction(call)] if call.sender_pid == q.pid() => return,
            [.., Transaction(oneway)] => m.write(commands().free(oneway.buffer)),
            _ => {}
        }
    }
    panic!("the call does not arrive");
}

/// A process that keeps what it receives for a while.
struct Keeper<'s> {
    party: Party<'s>,
    buffers: Vec<u64>,
    handles: Vec<u32>,
}

impl Keeper<'_> {
    /// Reads what there is, and acknowledges what must be. Whether there was anything.
    fn read_all(&mut self, dice: &mut Dice) -> bool {
        let mut has_read = false;
        loop {
            let attempt = self.party.attempt(self.party.reading(Default::default()));
            if attempt.result.is_err() {
                return has_read;
            }
            has_read = true;
            for returned in attempt.returns {
                self.take(returned, dice);
            }
        }
    }

    fn take(&mut self, returned: Return, dice: &mut Dice) {
        let done: Commands = match returned {
            Increfs(ptr, cookie) => commands().increfs_done(ptr, cookie),
            Acquire(ptr, cookie) => commands().acquire_done(ptr, cookie),
            Transaction(oneway) => return self.keep(&oneway, dice),
            _ => return,
        };
        self.party.write(done);
    }

    fn keep(&mut self, oneway: &BinderTransactionData, dice: &mut Dice) {
        self.buffers.push(oneway.buffer);
        for object in self.party.objects(oneway) {
            if object.kind == BINDER_TYPE_HANDLE && dice.roll(2) == 0 {
                self.party.write(commands().acquire(object.handle()));
                self.handles.push(object.handle());
            } else {
                assert!([BINDER_TYPE_HANDLE, BINDER_TYPE_BINDER].contains(&object.kind));
            }
        }
    }

    fn act(&mut self, dice: &mut Dice) {
        let write = match dice.roll(4) {
            0 if !self.buffers.is_empty() => {
                let kept = dice.roll_index(self.buffers.len());
                commands().free(self.buffers.swap_remove(kept))
            }
            1 if !self.handles.is_empty() => {
                let held = dice.roll_index(self.handles.len());
                commands().release(self.handles.swap_remove(held))
            }
            2 if !self.handles.is_empty() => {
                let held = self.handles[dice.roll_index(self.handles.len())];
                self.handles.push(held);
                commands().acquire(held)
            }
            _ => {
                let target = self.some_handle(dice).unwrap_or(0);
                let message = Message::new(1).binder(0x10 * (1 + dice.roll(5)), 0);
                let message = match self.some_handle(dice) {
                    Some(handle) => message.handle(handle),
                    None => message,
                };
                commands().oneway(target, message)
            }
        };
        // A send may fail, but nothing that failed before stands in its way.
        self.party.write(write);
    }

    fn some_handle(&self, dice: &mut Dice) -> Option<u32> {
        let held = dice.roll_index(self.handles.len() + 1);
        self.handles.get(held).copied()
    }
}

fn c242_random_mixes_of_references_come_to_nothing(stage: &Stage) {
    let entrance = Entrance { mode: Mode::Nonblocking, ..Entrance::default() };
    let mut keepers: Vec<Keeper<'_>> = (0..4)
        .map(|_| Keeper { party: stage.enter(entrance), buffers: vec![], handles: vec![] })
        .collect();
    stage.appoint(&keepers[0].party);
    let mut dice = Dice(242);
    for _ in 0..rounds(stage, 10_000) {
        let keeper = &mut keepers[dice.roll_index(4)];
        keeper.read_all(&mut dice);
        keeper.act(&mut dice);
    }
    // All let go of everything, and read until nothing comes any more.
    let mut is_quiet = false;
    while !is_quiet {
        is_quiet = true;
        for keeper in &mut keepers {
            is_quiet &= !keeper.read_all(&mut dice);
            for handle in keeper.handles.drain(..) {
                keeper.party.write(commands().release(handle));
            }
            for buffer in keeper.buffers.drain(..) {
                keeper.party.write(commands().free(buffer));
            }
        }
    }
    // No process holds another's object any more: each is new again.
    for keeper in &keepers[1..] {
        let read = keeper.party.exchange(commands().oneway(0, Message::new(1).binder(0x10, 9)));
        assert_eq!(read, [Increfs(0x10, 9), Acquire(0x10, 9), TransactionComplete]);
    }
}

fn random_step(dice: &mut Dice) -> Step {
    let slot = dice.roll_index(SLOTS);
    let which = dice.roll_index(8);
    let objects = |dice: &mut Dice| {
        let kind = |dice: &mut Dice| u8::try_from(dice.roll(5)).expect("below five");
        (0..dice.roll(3)).map(|_| (kind(dice), dice.roll_index(8))).collect()
    };
    match dice.roll(40) {
        0..6 => {
            let is_oneway = dice.roll(3) == 0;
            Step::Send { slot, handle: which, is_oneway, objects: objects(dice) }
        }
        6..9 => Step::Reply { slot, objects: objects(dice) },
        9..13 => Step::Free { slot, which },
        13..15 => Step::Add { slot, handle: which, is_strong: dice.roll(2) == 0 },
        15..17 => Step::Remove { slot, which },
        17..20 => Step::Acknowledge { slot, which },
        20 => Step::RequestDeath { slot, handle: which },
        21 => Step::ClearDeath { slot, handle: which },
        22 => Step::DeathDone { slot, handle: which },
        23 => Step::Freeze { slot, whom: which % SLOTS },
        24 => Step::Thaw { slot, whom: which % SLOTS },
        25 => Step::AskForFrozen { slot, whom: which % SLOTS },
        26 => Step::Update { slot, handle: which, objects: objects(dice) },
        27 => Step::Fill { slot, is_full: which == 0 },
        _ => Step::Read { slot },
    }
}

/// The model itself is checked here: a device of the kernel must agree with it.
///
/// No process ends: on a device that takes a time that the model does not know.
fn c242_random_commands_are_answered_as_the_model_says(stage: &Stage) {
    let mut dice = Dice(2420);
    let mut game = Game::new(stage);
    for step in acquaintance() {
        game.play(&step);
    }
    for _ in 0..rounds(stage, 100_000) {
        game.play(&random_step(&mut dice));
    }
    game.read_the_rest();
}

fn c243_a_killed_participant_leaves_nobody_waiting(stage: &Stage) {
    let mut dice = Dice(243);
    for _ in 0..5 {
        let m = stage.manager();
        let servers = [m, m.thread()];
        let clients = [stage.party(), stage.party(), stage.party(), stage.party()];
        for client in &clients {
            client.park_with(commands().call(0, Message::new(1)));
        }
        let calls = servers.map(|server| (server, server.read_call()));
        let victim = dice.roll_index(clients.len());
        clients[victim].kill();
        for (server, call) in calls.iter().take(dice.roll_index(3)) {
            server.answer(call, Message::new(0));
        }
        m.kill();
        for (index, client) in clients.iter().enumerate() {
            if index != victim {
                let read = client.woken();
                let [TransactionComplete, Reply(_) | DeadReply] = read[..] else {
                    panic!("read {read:#x?}");
                };
                client.write(commands());
            }
        }
    }
}

/// Clients that are killed at a random moment: each is in the midst of calls in both directions, of
/// one-ways, or of registrations.
fn c243_clients_killed_at_random_leave_nothing_behind(stage: &Stage) {
    const BATCH: usize = 50;
    const AT_A_TIME: usize = 4;
    let number = |name| std::env::var(name).ok().and_then(|text| text.parse().ok());
    // The kernel's driver runs under emulation.
    let usual = if stage.driver() == Driver::Kernel { BATCH as u64 } else { 200 };
    let runs = number("ANYBINDER_TEST_KILLS").unwrap_or(usual);
    let now = std::time::UNIX_EPOCH.elapsed().map_or(243, |now| u64::from(now.subsec_nanos()));
    let seed = number("ANYBINDER_TEST_SEED").unwrap_or(now);
    println!("ANYBINDER_TEST_SEED={seed}");
    let mut dice = Dice(seed);
    // The last of an earlier check may still be on its way out.
    let empty = residue_at_rest(stage, &[], Duration::from_secs(1));
    let hall = another_stage(stage);
    let m = hall.manager();
    hall.rig().system().unwrap().serve(m.caller());
    let witness = hall.party();

    for _ in 0..runs / BATCH as u64 {
        let scene = another_stage(stage);
        let mut victims = Vec::new();
        for started in 0..BATCH + AT_A_TIME {
            if started < BATCH {
                let victim = scene.party();
                scene.rig().system().unwrap().churn(victim.caller(), dice.roll(1 << 31));
                victims.push(victim);
            }
            if started >= AT_A_TIME {
                // At a random place of what it does.
                thread::sleep(Duration::from_micros(dice.roll(4000)));
                victims.swap_remove(dice.roll_index(victims.len())).kill();
            }
        }
        ledger(&witness);
    }
    // Each death is told once.
    let mut last = ledger(&witness);
    let deadline = Instant::now() + HANG_TIMEOUT;
    while last.watched != last.deaths && Instant::now() < deadline {
        thread::sleep(Duration::from_millis(1));
        last = ledger(&witness);
    }
    println!("{last:?}");
    assert_eq!(last.watched, last.deaths, "{last:?}");
    assert!(last.answered > 0 && last.dead > 0, "nobody was killed in a call: {last:?}");
    hall.tear_down();
    assert_eq!(residue_at_rest(stage, &empty, HANG_TIMEOUT), empty);
}

/// What the driver holds, once that is as `expected`, or when it is not after that long.
fn residue_at_rest(stage: &Stage, expected: &[String], at_most: Duration) -> Vec<String> {
    let deadline = Instant::now() + at_most;
    loop {
        let found = residue(stage);
        if found == expected || Instant::now() > deadline {
            return found;
        }
        thread::sleep(Duration::from_millis(1));
    }
}

/// Another stage on the same device.
fn another_stage(stage: &Stage) -> Stage {
    let device = stage.rig().system().unwrap().device_path();
    Stage::new(Box::new(DeviceRig::new(device, &device.with_file_name("hwbinder")).unwrap()))
}

/// What the server has seen. Its answer is awaited, but not for ever.
fn ledger(witness: &Party<'_>) -> Ledger {
    witness.write(commands().call(0, Message::new(STATUS)));
    loop {
        for returned in witness.read() {
            match returned {
                TransactionComplete => {}
                Reply(reply) => {
                    let ledger = Ledger::read_from_bytes(&witness.data(&reply)).unwrap();
                    witness.write(commands().free(reply.buffer));
                    return ledger;
                }
                unexpected => panic!("read {unexpected:#x?}"),
            }
        }
    }
}

/// What the driver holds, as far as it can be seen from outside.
fn residue(stage: &Stage) -> Vec<String> {
    let system = stage.rig().system().unwrap();
    let stats = system.device_path().with_file_name("binder_logs").join("stats");
    if let Ok(stats) = std::fs::read_to_string(stats) {
        // "node: active 0 total 12"; what was counted since the start does not come down.
        let active = stats.lines().filter_map(|line| line.split_once(" total "));
        let active = active.filter(|(active, _)| !active.ends_with(" active 0"));
        return active.map(|(active, _)| active.to_owned()).collect();
    }
    let daemon = std::env::var("ANYBINDER_DAEMON_PID").unwrap_or_default();
    let files = std::fs::read_dir(format!("/proc/{daemon}/fd"));
    files.map(|files| vec![files.count().to_string()]).unwrap_or_default()
}
