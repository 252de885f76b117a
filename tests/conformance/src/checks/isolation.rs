//! Clients that mean harm: what they forge is refused, and what they flood is theirs to miss.

use binder_testkit::Return::{
    self, DeadReply, FailedReply, OnewaySpamSuspect, Reply, TransactionComplete,
};
use binder_testkit::{
    Attempt, Caller, Driver, Entrance, Message, Mode, Party, Stage, commands, expect, introduce,
};
use binder_uapi::{
    BINDER_GET_NODE_DEBUG_INFO, BINDER_SET_CONTEXT_MGR, BINDER_SET_MAX_THREADS, BINDER_THREAD_EXIT,
    BINDER_TYPE_HANDLE, BINDER_VERSION, BINDER_WRITE_READ, BR_FAILED_REPLY, BinderNodeDebugInfo,
};
use rustix::io::Errno;

use crate::registry::checks;

checks! {
    Both c241_forged_numbers_are_refused_and_reach_nobody,
    Device c241_requests_of_other_sizes_are_refused,
    Device c241_a_descriptor_in_other_hands_is_of_no_use,
    Both c241_a_flood_of_oneways_leaves_others_their_calls,
    Both c241_a_flood_of_objects_leaves_others_their_calls,
    Both c241_a_client_that_is_killed_in_a_long_transaction_leaves_others_their_calls,
    Both c241_a_flood_of_death_links_leaves_others_their_calls,
    Both c241_a_flood_of_threads_leaves_others_their_calls,
}

/// A call of `q` that `m` answers; both do nothing else.
fn assert_served(m: &Party<'_>, q: &Party<'_>) {
    q.park_with(commands().call(0, Message::new(7).bytes(b"ping")));
    let call = m.read_call();
    assert_eq!((call.sender_pid, m.data(&call)), (q.pid(), b"ping".to_vec()));
    m.answer(&call, Message::new(8).bytes(b"pong"));
    expect!(q.woken() => [TransactionComplete, Reply(reply)]);
    assert_eq!(q.data(&reply), b"pong");
    q.write(commands().free(reply.buffer));
}

fn c241_forged_numbers_are_refused_and_reach_nobody(stage: &Stage) {
    let m = stage.manager();
    let (owner, friend, forger) = (stage.party(), stage.party(), stage.party());
    let handle = introduce(&m, &owner, (0x1110, 0x2220), &friend);
    // Each of them has something under way.
    friend.write(commands().request_death(handle, 0x77));
    friend.park_with(commands().call(handle, Message::new(1).bytes(b"for the owner")));
    let call = owner.read_call();

    forger.set_mode(Mode::Nonblocking);
    for number in (1..40).chain([handle, u32::MAX, 1 << 31]) {
        // As a target, as an object, and in every command that takes one.
        expect!(forger.exchange(commands().call(number, Message::new(1))) => [FailedReply]);
        for message in [Message::new(1).handle(number), Message::new(1).weak_handle(number)] {
            expect!(forger.exchange(commands().oneway(0, message)) => [FailedReply]);
        }
        let counts = commands().acquire(number).increfs(number).release(number).decrefs(number);
        forger.write(counts.request_death(number, 0x77).clear_death(number, 0x77));
    }
    // Buffers and objects of others, by their owners' addresses.
    let buffers = [call.buffer, m.area().base, owner.area().base, 0, 8, u64::MAX];
    for buffer in buffers {
        forger.write(commands().free(buffer).free(buffer.wrapping_add(8)));
    }
    forger.write(commands().acquire_done(0x1110, 0x2220).increfs_done(0x1110, 0x2220));
    forger.write(commands().dead_binder_done(0x77));
    for offset in [1, 4, 24, 25, 1 << 20, u64::MAX, u64::MAX - 23] {
        let message = Message::new(1).bytes(&[0; 24]).offset(offset);
        expect!(forger.exchange(commands().oneway(0, message)) => [FailedReply]);
    }
    expect!(forger.exchange(commands().reply(Message::new(1))) => [FailedReply]);
    let mut info = BinderNodeDebugInfo::default();
    forger.ioctl(BINDER_GET_NODE_DEBUG_INFO, &mut info).unwrap();
    assert_eq!(info.ptr, 0, "no object of another is listed");

    // All is as it was.
    assert_eq!(owner.data(&call), b"for the owner");
    owner.answer(&call, Message::new(2));
    expect!(friend.woken() => [TransactionComplete, Reply(reply)]);
    assert_eq!(reply.code, 2);
    forger.set_mode(Mode::Blocking);
    assert_served(&m, &forger);
    owner.kill();
    friend.await_readable();
    expect!(friend.read() => [Return::DeadBinder(0x77)]);
}

fn c241_requests_of_other_sizes_are_refused(stage: &Stage) {
    let (m, p) = (stage.manager(), stage.party());
    let argument = p.place(&[0; 256]);
    for request in [
        BINDER_WRITE_READ,
        BINDER_VERSION,
        BINDER_SET_MAX_THREADS,
        BINDER_SET_CONTEXT_MGR,
        BINDER_THREAD_EXIT,
    ] {
        for size in [0_u32, 1, 3, 5, 47, 49, 200] {
            let forged = request & !(0x3fff << 16) | size << 16;
            if forged != request {
                assert_eq!(p.ioctl_at(forged, argument), Err(Errno::INVAL), "{forged:#x}");
            }
        }
    }
    assert_served(&m, &p);
}

fn c241_a_descriptor_in_other_hands_is_of_no_use(stage: &Stage) {
    if stage.driver() == Driver::Kernel {
        stage.skip("the C driver lets those who got a descriptor act as its process");
    }
    let system = stage.rig().system().unwrap();
    let (m, q, thief) = (stage.manager(), stage.party(), stage.party());
    let stolen = system.share(m.caller().process, thief.host());
    let caller = Caller { process: stolen, ..thief.caller() };
    let argument = thief.place(&[0; 64]);
    for request in [BINDER_WRITE_READ, BINDER_VERSION, BINDER_SET_MAX_THREADS, BINDER_THREAD_EXIT] {
        stage.rig().ioctl(caller, request, argument);
        assert_eq!(stage.rig().finish(caller.thread), Err(Errno::INVAL));
    }
    assert_served(&m, &q);
    // Its end is not the manager's.
    stage.rig().close(stolen);
    assert_served(&m, &q);
}

fn c241_a_flood_of_oneways_leaves_others_their_calls(stage: &Stage) {
    let m = stage.manager();
    let (server, q) = (stage.party(), stage.party());
    let flooder = stage.enter(Entrance { mode: Mode::Nonblocking, ..Entrance::default() });
    let handle = introduce(&m, &server, (0x10, 0x20), &q);
    flooder.set_mode(Mode::Blocking);
    let theirs = introduce(&m, &server, (0x10, 0x20), &flooder);
    let mut sent = 0;
    loop {
        let message = Message::new(1).bytes(&[0x5a; 4000]);
        match flooder.exchange(commands().oneway(theirs, message))[..] {
            [TransactionComplete | OnewaySpamSuspect] => sent += 1,
            [FailedReply] => break,
            ref unexpected => panic!("read {unexpected:#x?}"),
        }
        assert_served(&m, &q);
    }
    let error = flooder.extended_error();
    assert_eq!((error.command, error.param), (BR_FAILED_REPLY, -Errno::NOSPC.raw_os_error()));
    // Half of the area, and no more: calls still find room.
    assert!((100..=131).contains(&sent), "{sent}");
    q.write(commands().call(handle, Message::new(9)));
    loop {
        let received = server.read_call();
        if received.code == 9 {
            server.answer(&received, Message::new(10));
            break;
        }
        server.write(commands().free(received.buffer));
    }
    assert_eq!(q.read_reply().code, 10);
}

/// New objects, a thousand at a time, which their receiver keeps.
fn c241_a_flood_of_objects_leaves_others_their_calls(stage: &Stage) {
    let m = stage.manager();
    let (q, keeper, flooder) = (stage.party(), stage.party(), stage.party());
    let target = introduce(&m, &keeper, (0x10, 0x20), &flooder);
    flooder.set_mode(Mode::Nonblocking);
    for batch in 0..10 {
        let objects = (0..1000).map(|object| 0x1000 + 8 * (1000 * batch + object));
        let message = objects.fold(Message::new(1), |message, it| message.binder(it, 0));
        flooder.write(commands().oneway(target, message));
        let received = keeper.read_call();
        let kept = keeper.objects(&received).into_iter().filter(|it| it.kind == BINDER_TYPE_HANDLE);
        let keep = kept.fold(commands(), |keep, it| keep.acquire(it.handle()));
        keeper.write(keep.free(received.buffer));
        // It does not read what it is told of them.
        assert_served(&m, &q);
    }
    flooder.kill();
    assert_served(&m, &q);
    keeper.kill();
    assert_served(&m, &q);
}

/// Transactions that take the driver long, of clients that do not live to see their end. Each comes whole or
/// not at all.
fn c241_a_client_that_is_killed_in_a_long_transaction_leaves_others_their_calls(stage: &Stage) {
    const OBJECTS: u64 = 5000;
    let m = stage.manager();
    let (q, keeper) = (stage.party(), stage.party());
    for _ in 0..10 {
        let flooder = stage.party();
        let target = introduce(&m, &keeper, (0x10, 0x20), &flooder);
        let objects = (1..=OBJECTS).map(|object| 8 * object);
        let message = objects.fold(Message::new(1), |message, it| message.binder(it, 0));
        flooder.start(flooder.writing(&commands().oneway(target, message)));
        flooder.kill();
        assert_served(&m, &q);
        keeper.set_mode(Mode::Nonblocking);
        while let Attempt { result: Ok(()), returns, .. } = keeper.try_read() {
            for returned in returns {
                if let Return::Transaction(oneway) = returned {
                    assert_eq!(keeper.objects(&oneway).len() as u64, OBJECTS);
                    keeper.write(commands().free(oneway.buffer));
                }
            }
        }
        keeper.set_mode(Mode::Blocking);
    }
    assert_served(&m, &q);
}

/// Links that are made and cleared by a process that does not read the ends.
fn c241_a_flood_of_death_links_leaves_others_their_calls(stage: &Stage) {
    let m = stage.manager();
    let (q, flooder) = (stage.party(), stage.party());
    let handle = introduce(&m, &m, (0x10, 0x20), &flooder);
    for batch in 0..10 {
        let cookies = 1000 * batch..1000 * (batch + 1);
        let links = cookies.fold(commands(), |links, cookie| {
            links.request_death(handle, cookie).clear_death(handle, cookie)
        });
        flooder.write(links);
        assert_served(&m, &q);
    }
    let told = flooder.read();
    assert!(told.len() > 200, "{}", told.len());
    assert!(told.iter().all(|it| matches!(it, Return::ClearDeathDone(_))), "{told:#x?}");
}

fn c241_a_flood_of_threads_leaves_others_their_calls(stage: &Stage) {
    let m = stage.manager();
    let (q, flooder) = (stage.party(), stage.party());
    for _ in 0..50 {
        let thread = flooder.thread();
        thread.park_with(commands().enter_looper());
        assert_served(&m, &q);
    }
    flooder.kill();
    assert_served(&m, &q);
    expect!(q.exchange(commands().call(99, Message::new(1))) => [FailedReply | DeadReply]);
}
