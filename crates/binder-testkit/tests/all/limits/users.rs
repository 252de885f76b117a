//! What all files of a user have counts together, and no more is left of him than other users keep.

use super::*;

/// A stage on which all files together may have little of something; they are all of one user.
fn stage_of_one_user(resource: Resource, limit: usize) -> Stage {
    let per_user = FEW.per_user.with(resource, limit);
    let limits = Limits { per_user, ..Limits::default() };
    Stage::new(Box::new(CoreRig::with_limits(limits)))
}

#[test]
fn what_a_user_offers_through_several_files_counts_together() {
    // One of them is the manager's.
    let stage = stage_of_one_user(Resource::Nodes, 4);
    let m = stage.manager();
    let (p, q) = (stage.party(), stage.party());
    let offer = |party: &Party<'_>, object| outcome(party, Message::new(1).binder(object, 0));
    for (party, object) in [(&p, 8), (&p, 16), (&q, 8)] {
        expect!(offer(party, object) => [TransactionComplete]);
        let received = m.read_call();
        m.write(commands().acquire(m.objects(&received)[0].handle()).free(received.buffer));
    }
    let before = live_objects(&stage);
    expect!(offer(&q, 16) => [FailedReply]);
    assert_no_memory(&q);
    assert_eq!(live_objects(&stage), before);
    assert_served(&m, &q);
    p.close();
    expect!(offer(&q, 16) => [TransactionComplete]);
    stage.tear_down();
}

#[test]
fn a_user_may_have_so_many_handles_in_all_files() {
    let stage = stage_of_one_user(Resource::Handles, 2);
    let m = stage.manager();
    let p = stage.party();
    let offer = |object| outcome(&p, Message::new(1).binder(object, 0));
    for object in [8, 16] {
        expect!(offer(object) => [TransactionComplete]);
    }
    expect!(offer(24) => [FailedReply]);
    assert_no_memory(&p);
    // With the buffers go the handles that their receiver has not acquired.
    for _ in 0..2 {
        let received = m.read_call();
        m.write(commands().free(received.buffer));
    }
    expect!(offer(24) => [TransactionComplete]);
    stage.tear_down();
}

#[test]
fn a_user_may_have_so_many_oneways_under_way() {
    let stage = stage_of_one_user(Resource::Oneways, 3);
    let m = stage.manager();
    let (p, q) = (stage.party(), stage.party());
    for party in [&p, &q, &p] {
        expect!(outcome(party, Message::new(1)) => [TransactionComplete]);
    }
    expect!(outcome(&q, Message::new(1)) => [FailedReply]);
    assert_no_memory(&q);
    // A process that ends is charged for nothing any more, though its work is still to be read.
    p.close();
    expect!(outcome(&q, Message::new(1)) => [TransactionComplete]);
    expect!(outcome(&q, Message::new(1)) => [TransactionComplete]);
    expect!(outcome(&q, Message::new(1)) => [FailedReply]);
    // The first is of who is gone, the second one's own.
    for _ in 0..2 {
        let oneway = m.read_call();
        m.write(commands().free(oneway.buffer));
    }
    expect!(outcome(&q, Message::new(1)) => [TransactionComplete]);
    stage.tear_down();
}

/// What user 0 has of something.
fn held(stage: &Stage, resource: Resource) -> usize {
    let snapshot = stage.rig().core().expect("a rig on the core").snapshot();
    snapshot.users().find(|user| user.uid == 0).map_or(0, |user| user.held[resource])
}

#[test]
fn a_user_may_open_a_device_so_often() {
    let stage = stage_of_one_user(Resource::Opens, 3);
    let host = stage.rig().start_host();
    let open = || stage.rig().open(host, Device::First, Mode::Blocking);
    let files = [open(), open(), open()].map(Result::unwrap);
    assert_eq!(open(), Err(Errno::MFILE));
    assert_eq!(stage.rig().open(stage.rig().start_host(), Device::First, Mode::Blocking), open());
    // Each device counts for itself, and so does each user.
    assert!(stage.rig().open(host, Device::Second, Mode::Blocking).is_ok());
    let other = stage.rig().start_host();
    stage.rig().set_user(other, 7).unwrap();
    assert!(stage.rig().open(other, Device::First, Mode::Blocking).is_ok());
    stage.rig().close(files[0]);
    assert!(open().is_ok());
    stage.tear_down();
}

#[test]
fn a_user_may_have_so_many_processes_however_often_each_opens() {
    let stage = stage_of_one_user(Resource::Processes, 2);
    let hosts = [(); 3].map(|()| stage.rig().start_host());
    let open = |host| stage.rig().open(host, Device::First, Mode::Blocking);
    let files = [hosts[0], hosts[0], hosts[1]].map(|host| open(host).unwrap());
    assert_eq!(open(hosts[2]), Err(Errno::MFILE));
    assert!(open(hosts[1]).is_ok());
    stage.rig().close(files[0]);
    assert_eq!(open(hosts[2]), Err(Errno::MFILE));
    stage.rig().close(files[1]);
    assert!(open(hosts[2]).is_ok());
    assert_eq!((held(&stage, Resource::Processes), held(&stage, Resource::Opens)), (2, 3));
    stage.tear_down();
}

#[test]
fn files_of_a_user_count_until_they_are_received_also_when_their_sender_is_gone() {
    let stage = stage_of_one_user(Resource::Descriptors, 3);
    let m = manager_of_files(&stage);
    let (p, q) = (stage.party(), stage.party());
    let file = || Message::new(1).descriptor(0, 0);
    expect!(outcome(&p, file().descriptor(0, 0)) => [TransactionComplete]);
    p.close();
    expect!(outcome(&q, file().descriptor(0, 0)) => [FailedReply]);
    assert_no_memory(&q);
    expect!(outcome(&q, file()) => [TransactionComplete]);
    expect!(outcome(&q, file()) => [FailedReply]);
    assert_eq!(held(&stage, Resource::Descriptors), 3);
    let [_, failed] = stage.rig().core().expect("a rig on the core").transaction_logs();
    let Some(SendEnd::Refused { excess: Some(excess), .. }) = failed.last().map(|entry| entry.end)
    else {
        panic!("the log does not tell why")
    };
    assert_eq!(excess.to_string(), "user 0 is at the limit user-descriptors=3");
    // Received or not, a file is given up with its buffer.
    let received = m.read_call();
    m.write(commands().free(received.buffer));
    assert_eq!(held(&stage, Resource::Descriptors), 1);
    expect!(outcome(&q, file()) => [TransactionComplete]);
    m.close();
    assert_eq!(held(&stage, Resource::Descriptors), 0);
    stage.tear_down();
}

#[test]
fn a_file_in_a_reply_is_paid_for_by_who_waits_for_it() {
    let stage = stage();
    let m = stage.manager();
    let (p, q) = (stage.party(), stage.party());
    let call = || commands().call(0, Message::new(1).flags(TF_ACCEPT_FDS));
    let reply = || commands().reply(Message::new(2).descriptor(0, 0));
    // Threads that call and never read.
    let idle = [p.thread(), p.thread(), p.thread()];
    for caller in idle.iter().chain([&p]) {
        caller.write(call());
        let received = m.read_call();
        m.write(reply().free(received.buffer));
        expect!(m.read() => [TransactionComplete]);
    }
    idle[0].write(commands());
    let last = q.thread();
    for caller in [&q, &last] {
        caller.write(call());
        let received = m.read_call();
        m.write(reply().free(received.buffer));
        expect!(m.read() => [TransactionComplete]);
        expect!(caller.read() => [TransactionComplete, Reply(_)]);
    }
    assert_eq!(held(&stage, Resource::Descriptors), 4);
    expect!(p.read() => [TransactionComplete, Reply(_)]);
    p.write(call());
    let received = m.read_call();
    m.write(reply().free(received.buffer));
    assert_eq!(held(&stage, Resource::Descriptors), 4);
    p.kill();
    assert_eq!(held(&stage, Resource::Descriptors), 0);
    stage.tear_down();
}

#[test]
fn a_user_who_receives_nothing_has_a_quarter_of_what_another_may_send() {
    let per_file = Limits::default().per_file.with(Resource::Descriptors, 8);
    let limits = Limits { per_file, ..FEW };
    let stage = Stage::new(Box::new(CoreRig::with_limits(limits)));
    let m = stage.manager();
    let as_user = |uid| {
        let host = stage.rig().start_host();
        stage.rig().set_user(host, uid).unwrap();
        stage.enter(Entrance { host: Some(host), ..Entrance::default() })
    };
    let (slow, other, own) = (as_user(7), as_user(8), stage.party());
    let service = stage.party();
    let mut object = 0;
    let mut introduce_to_service = |receiver: &Party<'_>| {
        object += 8;
        let (kind, flags) = (BINDER_TYPE_BINDER, FLAT_BINDER_FLAG_ACCEPTS_FDS);
        let offered = FlatBinderObject { kind, flags, binder: object, cookie: 0 };
        receiver.write(commands().call(0, Message::new(1).object(offered)));
        let call = m.read_call();
        let handle = m.objects(&call)[0].handle();
        m.write(commands().acquire(handle));
        m.answer(&call, Message::new(0));
        settle_down(&[*receiver]);
        service.write(commands().call(0, Message::new(1)));
        let call = m.read_call();
        m.answer(&call, Message::new(0).handle(handle));
        let reply = service.read_reply();
        let handle = service.objects(&reply)[0].handle();
        service.write(commands().acquire(handle).free(reply.buffer));
        handle
    };
    let handles = [&slow, &other, &own].map(&mut introduce_to_service);
    let send = |handle| {
        let file = Message::new(1).descriptor(0, 0);
        service.exchange(commands().oneway(handle, file))
    };
    for _ in 0..2 {
        expect!(send(handles[0]) => [TransactionComplete]);
    }
    expect!(send(handles[0]) => [FailedReply]);
    assert_no_memory(&service);
    expect!(send(handles[1]) => [TransactionComplete]);
    // Among its own it may use up the rest.
    for _ in 0..5 {
        expect!(send(handles[2]) => [TransactionComplete]);
    }
    expect!(send(handles[2]) => [FailedReply]);
    slow.kill();
    expect!(send(handles[2]) => [TransactionComplete]);
    stage.tear_down();
}

#[test]
fn links_of_a_user_count_together_until_their_end_is_read() {
    let limits = FEW.per_user.with(Resource::Deaths, 3).with(Resource::Freezes, 2);
    let limits = Limits { per_user: limits, ..Limits::default() };
    let stage = Stage::new(Box::new(CoreRig::with_limits(limits)));
    let m = stage.manager();
    let (p, q) = (stage.party(), stage.party());
    let [mine, theirs] = [&p, &q].map(|party| introduce(&m, &m, (0x10, 0x20), party));
    let other = introduce(&m, &m, (0x30, 0x40), &p);
    p.write(commands().request_death(mine, 1).request_death(other, 2).clear_death(mine, 1));
    q.write(commands().request_death(theirs, 3));
    expect!(p.exchange(commands().request_death(mine, 4)) => [Error]);
    expect!(p.read() => [ClearDeathDone(1)]);
    p.write(commands().request_death(mine, 4));
    expect!(p.exchange(commands().request_freeze(mine, 5)) => [FrozenBinder { .. }]);
    expect!(q.exchange(commands().request_freeze(theirs, 6)) => [FrozenBinder { .. }]);
    assert_eq!(p.try_write(commands().request_freeze(other, 7)).result, Err(Errno::NOMEM));
    p.write(commands().freeze_done(5).clear_freeze(mine, 5));
    assert_eq!(q.try_write(commands().request_freeze(theirs, 8)).result, Err(Errno::INVAL));
    assert_eq!(p.try_write(commands().request_freeze(other, 7)).result, Err(Errno::NOMEM));
    let _ = p.read();
    expect!(p.exchange(commands().request_freeze(other, 7)) => [FrozenBinder { .. }]);
    q.kill();
    assert_eq!((held(&stage, Resource::Deaths), held(&stage, Resource::Freezes)), (2, 1));
    p.kill();
    assert_eq!((held(&stage, Resource::Deaths), held(&stage, Resource::Freezes)), (0, 0));
    stage.tear_down();
}

#[test]
fn a_user_may_wait_for_so_many_calls() {
    let stage = stage_of_one_user(Resource::Calls, 2);
    let m = stage.manager();
    let (p, q) = (stage.party(), stage.party());
    let other = p.thread();
    p.write(commands().call(0, Message::new(1)));
    other.write(commands().call(0, Message::new(1)));
    expect!(q.exchange(commands().call(0, Message::new(1))) => [FailedReply]);
    assert_no_memory(&q);
    p.kill();
    assert_eq!(held(&stage, Resource::Calls), 0);
    settle_down(&[m]);
    assert_served(&m, &q);
    stage.tear_down();
}

#[test]
fn completions_that_threads_of_a_user_leave_unread_count_together() {
    let stage = stage_of_one_user(Resource::Unread, 4);
    let m = stage.manager();
    let (p, q) = (stage.party(), stage.party());
    let other = p.thread();
    for sender in [&p, &p, &other, &other] {
        sender.write(commands().oneway(0, Message::new(1)));
        m.write(commands().free(m.read_call().buffer));
    }
    assert_eq!(held(&stage, Resource::Unread), 4);
    expect!(q.exchange(commands().oneway(0, Message::new(1))) => [FailedReply]);
    assert_no_memory(&q);
    other.exit_thread();
    assert_eq!(held(&stage, Resource::Unread), 2);
    expect!(p.read() => [TransactionComplete, TransactionComplete]);
    assert_eq!(held(&stage, Resource::Unread), 0);
    assert_served(&m, &q);
    stage.tear_down();
}

#[test]
fn a_user_may_have_so_many_threads() {
    let stage = stage_of_one_user(Resource::Threads, 4);
    let m = stage.manager();
    let (p, q) = (stage.party(), stage.party());
    let other = p.thread();
    let late = q.cold_thread();
    assert_eq!(late.try_write(commands()).result, Err(Errno::NOMEM));
    assert_served(&m, &q);
    other.exit_thread();
    late.write(commands());
    stage.tear_down();
}

#[test]
fn the_receive_buffers_of_a_user_may_have_so_much_memory() {
    const PAGE: usize = 4096;
    let stage = stage_of_one_user(Resource::Bytes, 4 * PAGE);
    let m = stage.manager();
    let (p, q) = (stage.party(), stage.party());
    let handle = introduce(&m, &p, (0x10, 0x20), &q);
    settle_down(&[m, p, q]);
    stage.rig().core().expect("a rig on the core").reclaim_idle_pages();
    let send_to = |handle, bytes: usize| {
        q.exchange(commands().oneway(handle, Message::new(1).bytes(&vec![7; bytes])))
    };
    // Two pages of the manager's, and one of another process.
    for (handle, bytes) in [(0, PAGE), (0, PAGE), (handle, 8)] {
        expect!(send_to(handle, bytes) => [TransactionComplete]);
    }
    let before = live_objects(&stage);
    expect!(send_to(handle, 2 * PAGE) => [FailedReply]);
    assert_no_memory(&q);
    assert_eq!(live_objects(&stage), before);
    // In a page that is there, bytes cost nothing.
    expect!(send_to(handle, 8) => [TransactionComplete]);
    // One that is idle goes back for others of the same buffer.
    let first = m.read_call();
    m.write(commands().free(first.buffer));
    expect!(send_to(0, 2 * PAGE) => [TransactionComplete]);
    expect!(send_to(0, 8) => [FailedReply]);
    assert_no_memory(&q);
    // A process that ends gives back all that it was charged for.
    p.close();
    expect!(send_to(0, 8) => [TransactionComplete]);
    stage.tear_down();
}

#[test]
fn idle_pages_of_anyone_go_back_before_memory_is_refused() {
    const PAGE: usize = 4096;
    let stage_with = |user_pages: usize, all_pages: usize| {
        let per_user = FEW.per_user.with(Resource::Bytes, user_pages * PAGE);
        let limits = Limits { per_user, all_bytes: all_pages * PAGE, ..Limits::default() };
        Stage::new(Box::new(CoreRig::with_limits(limits)))
    };
    // The limit of a user, for files of his; that of all, for files of several users.
    for (stage, uids) in [(stage_with(8, 100), [0, 0, 0]), (stage_with(100, 8), [7, 8, 9])] {
        let m = stage.manager();
        let clients = uids.map(|uid| {
            let host = stage.rig().start_host();
            stage.rig().set_user(host, uid).unwrap();
            stage.enter(Entrance { host: Some(host), ..Entrance::default() })
        });
        let ask = |client: &Party<'_>, pages: usize| {
            client.write(commands().call(0, Message::new(1)));
            m.answer(&m.read_call(), Message::new(2).bytes(&vec![7; pages * PAGE]));
            client.read()
        };
        let mut kept = Vec::new();
        for client in &clients {
            // Each alone fits; what the others have left behind does not.
            let [TransactionComplete, Reply(reply)] = ask(client, 6)[..] else {
                panic!("the first does not leave room for {uids:?}");
            };
            assert_eq!(client.data(&reply), [7; 6 * PAGE]);
            client.write(commands().free(reply.buffer));
        }
        for client in &clients {
            // A third does not fit beside two that are kept, and costs those nothing.
            match ask(client, 3)[..] {
                [TransactionComplete, Reply(reply)] => kept.push((client, reply)),
                [TransactionComplete, FailedReply] => {}
                ref other => panic!("{other:?}"),
            }
        }
        assert_eq!(kept.len(), 2, "{uids:?}");
        for (client, reply) in kept {
            assert_eq!(client.data(&reply), [7; 3 * PAGE]);
            client.write(commands().free(reply.buffer));
        }
        let [TransactionComplete, Reply(_)] = ask(&clients[2], 3)[..] else {
            panic!("what was freed is refused to {uids:?}");
        };
        stage.tear_down();
    }
}
