//! Calls that the driver adopts from a server that serves them already.

use binder_testkit::Return::{
    DeadReply, Decrefs, FailedReply, Release, Reply, Transaction, TransactionComplete,
};
use binder_testkit::{
    CoreRig, Message, Mode, Party, Stage, commands, expect, introduce, settle_down,
};
use binder_uapi::{FLAT_BINDER_FLAG_ACCEPTS_FDS, FlatBinderObject};
use rustix::io::Errno;

const CODE: u32 = 7;

struct Scene<'s> {
    stage: &'s Stage,
    manager: Party<'s>,
    server: Party<'s>,
    client: Party<'s>,
    /// The client's handle to an object of the server's.
    handle: u32,
}

fn with_scene(act: impl Fn(&Scene<'_>)) {
    for rig in CoreRig::BOTH {
        let stage = Stage::new(Box::new(rig()));
        let manager = stage.manager();
        let (server, client) = (stage.party(), stage.party());
        let handle = introduce(&manager, &server, (0x1000, 0x2000), &client);
        settle_down(&[manager, server, client]);
        for party in [server, client] {
            party.set_mode(Mode::Blocking);
        }
        act(&Scene { stage: &stage, manager, server, client, handle });
        stage.tear_down();
    }
}

impl Scene<'_> {
    fn core(&self) -> &CoreRig {
        self.stage.rig().core().expect("a rig on the core")
    }

    fn adopt(&self, from: &Party<'_>, server: &Party<'_>) -> Result<(), Errno> {
        self.core().adopt_call(from.caller(), self.handle, (CODE, 0), server.caller())
    }
}

#[test]
fn the_reply_goes_to_the_caller() {
    with_scene(|scene| {
        let Scene { server, client, .. } = scene;
        assert_eq!(scene.adopt(client, server), Ok(()));
        client.park();
        server.write(commands().reply(Message::new(0).bytes(b"reply").binder(0x3000, 1)));
        expect!(client.woken() => [TransactionComplete, Reply(reply)]);
        assert_eq!(client.data(&reply)[..5], *b"reply");
    });
}

#[test]
fn a_call_of_its_server_back_is_served_by_the_thread_that_waits() {
    with_scene(|scene| {
        let Scene { manager, server, client, .. } = scene;
        let back = introduce(manager, client, (0x5000, 0x6000), server);
        settle_down(&[*server, *client]);
        let idle = client.thread();
        idle.park();
        assert_eq!(scene.adopt(client, server), Ok(()));
        client.park();
        server.write(commands().call(back, Message::new(9)));
        expect!(client.woken() => [TransactionComplete, Transaction(nested)]);
        assert_eq!(nested.code, 9);
        idle.assert_parked();
    });
}

#[test]
fn a_server_that_sleeps_in_a_read_is_given_no_work_there() {
    let stage = Stage::new(Box::new(CoreRig::default().without_frontend()));
    let m = stage.manager();
    let (server, client, other) = (stage.party(), stage.party(), stage.party());
    let handle = introduce(&m, &server, (0x1000, 0x2000), &client);
    let of_other = introduce(&m, &server, (0x1000, 0x2000), &other);
    settle_down(&[m, server, client, other]);
    for party in [server, client] {
        party.set_mode(Mode::Blocking);
    }
    let (busy, idle) = (server.thread(), server.thread());
    idle.park();
    busy.park();
    let core = stage.rig().core().expect("a rig on the core");
    assert_eq!(core.adopt_call(client.caller(), handle, (CODE, 0), busy.caller()), Ok(()));
    other.write(commands().oneway(of_other, Message::new(11)));
    assert_eq!(idle.woken_by_call().code, 11);
    stage.tear_down();
}

#[test]
fn the_end_of_either_is_the_other_s() {
    with_scene(|scene| {
        let Scene { server, client, .. } = scene;
        assert_eq!(scene.adopt(client, server), Ok(()));
        client.park();
        server.exit_thread();
        expect!(client.woken() => [TransactionComplete, DeadReply]);

        server.write(commands());
        assert_eq!(scene.adopt(client, server), Ok(()));
        client.exit_thread();
        expect!(server.exchange(commands().reply(Message::new(0))) => [TransactionComplete]);
    });
}

#[test]
fn a_call_without_a_caller_is_served_to_its_end() {
    with_scene(|scene| {
        let Scene { manager, server, client, handle, .. } = scene;
        let target = scene.core().direct_target(client.caller(), *handle).expect("a plain object");
        let adopt =
            || scene.core().adopt_call_to(None, (target, *handle), (CODE, 0), server.caller());
        assert_eq!(adopt(), Ok(()));
        assert_eq!(adopt(), Err(Errno::PROTO), "the thread serves one already");
        // It may call others first.
        server.write(commands().call(0, Message::new(9)));
        expect!(manager.read() => [Transaction(nested)]);
        manager.write(commands().free(nested.buffer).reply(Message::new(0)));
        expect!(server.read() => [TransactionComplete, Reply(reply)]);
        server.write(commands().free(reply.buffer));
        // What the reply holds goes nowhere.
        let reply = commands().reply(Message::new(0).bytes(b"for no one").binder(0x3000, 1));
        expect!(server.exchange(reply) => [TransactionComplete]);
        expect!(server.exchange(commands().reply(Message::new(0))) => [FailedReply]);
        assert_eq!(adopt(), Ok(()), "it is free again");
        server.exit_thread();
    });
}

#[test]
fn a_call_is_adopted_though_its_handle_is_given_back() {
    with_scene(|scene| {
        let Scene { server, client, handle, .. } = scene;
        let target = scene.core().direct_target(client.caller(), *handle).expect("a plain object");
        client.write(commands().release(*handle));
        assert_eq!(scene.adopt(client, server), Err(Errno::INVAL), "a new call needs it");
        let call = (CODE, 0);
        let adopted = scene.core().adopt_call_to(
            Some(client.caller()),
            (target, *handle),
            call,
            server.caller(),
        );
        assert_eq!(adopted, Ok(()));
        client.park();
        server.write(commands().reply(Message::new(0).bytes(b"reply")));
        expect!(client.woken() => [TransactionComplete, Reply(reply)]);
        assert_eq!(client.data(&reply), *b"reply");
    });
}

#[test]
fn the_object_is_held_until_its_call_is_over() {
    with_scene(|scene| {
        let Scene { server, client, handle, .. } = scene;
        let idle = server.thread();
        idle.park();
        assert_eq!(scene.adopt(client, server), Ok(()));
        client.thread().write(commands().release(*handle));
        idle.assert_parked();
        client.park();
        server.write(commands().reply(Message::new(0)));
        expect!(client.woken() => [TransactionComplete, Reply(_reply)]);
        expect!(idle.woken() => [Release(_, _), Decrefs(_, _)]);
    });
}

#[test]
fn what_was_adopted_is_counted() {
    with_scene(|scene| {
        let Scene { server, client, .. } = scene;
        let counted = || {
            let counters = scene.core().snapshot().counters;
            (counters.commands()[0], counters.returns()[2])
        };
        let (calls, receipts) = counted();
        assert_eq!(scene.adopt(client, server), Ok(()));
        assert_eq!(counted(), (calls + 1, receipts + 1));
        client.exit_thread();
    });
}

#[test]
fn who_claims_a_call_that_cannot_be_changes_nothing() {
    with_scene(|scene| {
        let Scene { stage, server, client, handle, .. } = scene;
        let stranger = stage.party();
        let before = scene.core().live_objects();
        let refused = |from: &Party<'_>, handle, server: &Party<'_>| {
            scene.core().adopt_call(from.caller(), handle, (CODE, 0), server.caller()).unwrap_err()
        };
        assert_eq!(refused(client, handle + 1, server), Errno::INVAL, "no handle of its own");
        assert_eq!(refused(client, *handle, &stranger), Errno::PROTO, "a thread of another");
        assert_eq!(refused(client, *handle, client), Errno::PROTO, "its own");
        assert_eq!(refused(client, *handle, &server.cold_thread()), Errno::PROTO, "never seen");
        assert_eq!(refused(&client.cold_thread(), *handle, server), Errno::PROTO, "never seen");
        assert_eq!(scene.core().live_objects(), before);

        assert_eq!(scene.adopt(client, server), Ok(()));
        let under_way = scene.core().live_objects();
        assert_eq!(refused(client, *handle, &server.thread()), Errno::PROTO, "it waits");
        assert_eq!(refused(&client.thread(), *handle, server), Errno::PROTO, "it serves");
        assert_eq!(scene.core().live_objects().transactions, under_way.transactions);
    });
}

/// A manager that takes files, a client that knows it, and one that has made no call.
fn with_three(rig: CoreRig, act: impl Fn(&CoreRig, [Party<'_>; 3])) {
    let stage = Stage::new(Box::new(rig));
    let flags = FLAT_BINDER_FLAG_ACCEPTS_FDS;
    let m = stage.manager_named(FlatBinderObject { flags, ..FlatBinderObject::default() });
    let parties = [m, stage.party(), stage.party()];
    parties.iter().for_each(|party| party.set_mode(Mode::Blocking));
    settle_down(&parties);
    act(stage.rig().core().expect("a rig on the core"), parties);
    stage.tear_down();
}

#[test]
fn a_thread_that_is_about_to_get_a_call_serves_no_other() {
    with_three(CoreRig::default().without_frontend(), |core, [m, client, other]| {
        m.park();
        core.hold();
        client.write(commands().call(0, Message::new(1)));
        let claim = || core.adopt_call(other.caller(), 0, (CODE, 0), m.caller());
        assert_eq!(claim(), Err(Errno::PROTO));
        core.let_go();
        assert_eq!(m.woken_by_call().code, 1);
    });
}

#[test]
fn a_thread_that_is_about_to_get_files_serves_no_other() {
    with_three(CoreRig::default().without_frontend(), |core, [m, client, other]| {
        core.hold_fd_work();
        client.write(commands().oneway(0, Message::new(1).descriptor(0, 1)));
        m.park();
        let claim = || core.adopt_call(other.caller(), 0, (CODE, 0), m.caller());
        assert_eq!(claim(), Err(Errno::PROTO));
        core.let_fd_work_go();
        assert_eq!(m.woken_by_call().code, 1);
        assert_eq!(claim(), Ok(()));
    });
}

#[test]
fn a_thread_that_has_not_sent_all_of_a_call_makes_no_other() {
    with_three(CoreRig::default().in_slices_of(2), |core, [m, client, _]| {
        core.hold_windows();
        let objects = (1..10).fold(Message::new(1), |message, at| message.binder(16 * at, at));
        client.start(client.writing(&commands().call(0, objects)));
        let mut slices = 0;
        while core.pass_window() {
            if core.live_objects().unfinished > 0 {
                slices += 1;
                let claim = core.adopt_call(client.caller(), 0, (CODE, 0), m.caller());
                assert_eq!(claim, Err(Errno::PROTO));
            }
        }
        assert!(slices > 2, "{slices}");
        core.let_windows_pass();
    });
}
