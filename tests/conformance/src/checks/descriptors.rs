//! File descriptors in transactions.

use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use binder_testkit::Return::{FailedReply, Reply, Transaction, TransactionComplete};
use binder_testkit::{HANG_TIMEOUT, Message, Party, Stage, commands, expect};
use binder_uapi::{
    BINDER_TYPE_BINDER, BINDER_TYPE_FD, BinderBufferObject, BinderTransactionData,
    FLAT_BINDER_FLAG_ACCEPTS_FDS, FlatBinderObject, TF_ACCEPT_FDS,
};
use rustix::io::Errno;

use crate::registry::checks;

/// The descriptor that every host has, of a file of which no other has one.
const SOCKET: u64 = 0;

checks! {
    Both c126_a_node_must_accept_descriptors,
    Both c127_a_caller_must_accept_descriptors,
    Both c128_a_descriptor_must_exist,
    Both c129_a_descriptor_arrives_as_the_lowest_free,
    Both c130_the_sender_may_close_its_own_at_once,
    Both c129_the_rest_of_an_object_is_passed_through,
    Both c131_descriptors_are_numbered_in_their_order,
    Both c129_c131_a_thread_that_has_received_some_receives_more,
    Device c129_a_signal_amid_delivery_takes_nothing_away,
    Both c132_a_receiver_without_room_fails_the_call,
    Both c132_room_for_one_of_two_is_room_for_none,
    Both c133_a_receiver_without_room_misses_a_oneway,
    Both c134_a_caller_without_room_misses_the_reply,
    Both c135_freeing_closes_no_descriptor,
    Both c136_c137_an_array_arrives_in_its_parent_until_freed,
    Both c136_an_array_that_is_freed_while_reading_is_closed,
    Both c136_what_a_call_brings_takes_the_numbers_of_an_array_that_it_frees,
    Both c251_an_empty_array_may_be_anywhere,
    Both c251_an_empty_array_keeps_the_order_in_its_parent,
    Both c138_an_array_and_addresses_share_a_parent,
    Both c138_an_array_lies_aligned_within_its_parent,
    Both c139_an_empty_array_is_accepted,
    Device c126_c243_a_receiver_killed_amid_delivery_leaves_no_file_behind,
}

/// A manager that accepts descriptors.
fn accepting(stage: &Stage) -> Party<'_> {
    let flags = FLAT_BINDER_FLAG_ACCEPTS_FDS;
    stage.manager_named(FlatBinderObject { kind: BINDER_TYPE_BINDER, flags, binder: 1, cookie: 0 })
}

/// What a descriptor of the party's host refers to.
fn file(stage: &Stage, party: &Party<'_>, fd: u64) -> Option<String> {
    stage.rig().descriptors().file(party.host(), fd)
}

fn lowest_free(stage: &Stage, party: &Party<'_>) -> u64 {
    (0..).find(|fd| file(stage, party, *fd).is_none()).expect("there are not so many")
}

/// Lets the party's host have no descriptor more than it has.
fn fill_up(stage: &Stage, party: &Party<'_>) {
    let lowest = lowest_free(stage, party);
    stage.rig().descriptors().limit_descriptors(party.host(), lowest);
}

fn fds(party: &Party<'_>, received: &BinderTransactionData) -> Vec<u64> {
    party.objects(received).iter().map(|object| object.handle().into()).collect()
}

fn c126_a_node_must_accept_descriptors(stage: &Stage) {
    let _m = stage.manager();
    let p = stage.party();
    let message = Message::new(1).descriptor(SOCKET, 0);
    expect!(p.exchange(commands().oneway(0, message)) => [FailedReply]);
    assert_eq!(p.extended_error().param, -Errno::PERM.raw_os_error());
}

fn c127_a_caller_must_accept_descriptors(stage: &Stage) {
    let m = stage.manager();
    let p = stage.party();
    p.write(commands().call(0, Message::new(1)));
    let call = m.read_call();
    m.answer(&call, Message::new(0).descriptor(SOCKET, 0));
    expect!(p.read() => [TransactionComplete, FailedReply]);
    p.write(commands().call(0, Message::new(1).flags(TF_ACCEPT_FDS)));
    let call = m.read_call();
    m.answer(&call, Message::new(0).descriptor(SOCKET, 0));
    let reply = p.read_reply();
    assert_eq!(file(stage, &p, fds(&p, &reply)[0]), file(stage, &m, SOCKET));
}

fn c128_a_descriptor_must_exist(stage: &Stage) {
    let _m = accepting(stage);
    let p = stage.party();
    let message = Message::new(1).descriptor(999, 0);
    expect!(p.exchange(commands().oneway(0, message)) => [FailedReply]);
    assert_eq!(p.extended_error().param, -Errno::BADF.raw_os_error());
}

fn c129_a_descriptor_arrives_as_the_lowest_free(stage: &Stage) {
    let m = accepting(stage);
    let p = stage.party();
    let lowest = lowest_free(stage, &m);
    p.write(commands().oneway(0, Message::new(1).descriptor(SOCKET, 77)));
    assert_eq!(file(stage, &m, lowest), None, "it is installed at delivery");
    let oneway = m.read_call();
    let object = m.objects(&oneway)[0];
    assert_eq!((object.binder, object.cookie), (lowest, 77));
    assert_eq!(file(stage, &m, lowest), file(stage, &p, SOCKET));
    assert!(stage.rig().descriptors().closes_on_exec(m.host(), lowest));
}

fn c129_the_rest_of_an_object_is_passed_through(stage: &Stage) {
    let m = accepting(stage);
    let p = stage.party();
    let lowest = lowest_free(stage, &m);
    let (kind, flags, cookie) = (BINDER_TYPE_FD, 0x1234_5678, u64::MAX);
    let object = FlatBinderObject { kind, flags, binder: u64::MAX << 32, cookie };
    p.write(commands().oneway(0, Message::new(1).object(object)));
    let received = m.objects(&m.read_call())[0];
    assert_eq!(received, FlatBinderObject { kind, flags, binder: lowest, cookie });
}

fn c130_the_sender_may_close_its_own_at_once(stage: &Stage) {
    let m = accepting(stage);
    let p = stage.party();
    let fd = stage.rig().descriptors().duplicate(p.host(), SOCKET);
    p.write(commands().oneway(0, Message::new(1).descriptor(fd, 0)));
    stage.rig().descriptors().close_descriptor(p.host(), fd);
    let oneway = m.read_call();
    assert_eq!(file(stage, &m, fds(&m, &oneway)[0]), file(stage, &p, SOCKET));
}

fn c131_descriptors_are_numbered_in_their_order(stage: &Stage) {
    let m = accepting(stage);
    let p = stage.party();
    let message = (0..3).fold(Message::new(1), |message, _| message.descriptor(SOCKET, 0));
    p.write(commands().oneway(0, message));
    let fds = fds(&m, &m.read_call());
    assert!(fds.is_sorted_by(|one, two| one < two), "{fds:?}");
}

fn pair(code: u32) -> Message {
    Message::new(code).descriptor(SOCKET, 0).descriptor(SOCKET, 0)
}

/// Has a party receive a file: what comes next may come another way.
fn receive_one(m: &Party<'_>, p: &Party<'_>) {
    expect!(p.exchange(commands().oneway(0, Message::new(1).descriptor(SOCKET, 0))) => [TransactionComplete]);
    let oneway = m.read_call();
    assert_eq!(oneway.code, 1);
    m.write(commands().free(oneway.buffer));
}

fn c129_c131_a_thread_that_has_received_some_receives_more(stage: &Stage) {
    let m = accepting(stage);
    let p = stage.party();
    let descriptors = stage.rig().descriptors();
    for round in 0..20 {
        let lowest = lowest_free(stage, &m);
        let is_parked = round % 2 == 1;
        if is_parked {
            m.park();
        }
        expect!(p.exchange(commands().oneway(0, pair(round))) => [TransactionComplete]);
        let oneway = if is_parked { m.woken_by_call() } else { m.read_call() };
        let fds = fds(&m, &oneway);
        assert_eq!((oneway.code, fds[0]), (round, lowest));
        assert!(fds[1] > lowest && (lowest..fds[1]).all(|fd| file(stage, &m, fd).is_some()));
        for fd in fds {
            assert_eq!(file(stage, &m, fd), file(stage, &p, SOCKET));
            assert!(descriptors.closes_on_exec(m.host(), fd));
        }
        m.write(commands().free(oneway.buffer));
        // The lower one is free again, below others.
        descriptors.close_descriptor(m.host(), lowest);
    }
}

fn c129_a_signal_amid_delivery_takes_nothing_away(stage: &Stage) {
    let m = accepting(stage);
    let p = stage.party();
    receive_one(&m, &p);
    for round in 0..200 {
        let before = stage.rig().descriptors().open_descriptors(m.host());
        m.park();
        p.write(commands().oneway(0, pair(round)));
        // Anywhere between its taking and the end of the ioctl.
        let attempt = m.interrupted();
        let oneway = match attempt.result {
            Ok(()) => {
                let transaction = attempt.returns.iter().find_map(|told| match told {
                    Transaction(transaction) => Some(*transaction),
                    _ => None,
                });
                transaction.unwrap_or_else(|| panic!("{attempt:?}"))
            }
            Err(error) => {
                assert_eq!(error, Errno::INTR);
                m.read_call()
            }
        };
        assert_eq!(oneway.code, round);
        assert_eq!(stage.rig().descriptors().open_descriptors(m.host()), before + 2);
        m.write(commands().free(oneway.buffer));
        expect!(p.read() => [TransactionComplete]);
    }
}

fn c132_room_for_one_of_two_is_room_for_none(stage: &Stage) {
    let m = accepting(stage);
    let p = stage.party();
    let descriptors = stage.rig().descriptors();
    for round in 0..3 {
        receive_one(&m, &p);
        let before = descriptors.open_descriptors(m.host());
        descriptors.limit_descriptors(m.host(), lowest_free(stage, &m) + 1);
        m.park();
        p.write(commands().call(0, pair(2)));
        expect!(p.read() => [TransactionComplete, FailedReply]);
        m.assert_parked();
        assert_eq!(descriptors.open_descriptors(m.host()), before, "round {round}");
        expect!(p.exchange(commands().oneway(0, Message::new(7))) => [TransactionComplete]);
        let oneway = m.woken_by_call();
        assert_eq!(oneway.code, 7);
        m.write(commands().free(oneway.buffer));
        descriptors.limit_descriptors(m.host(), 1024);
    }
}

fn c132_a_receiver_without_room_fails_the_call(stage: &Stage) {
    let m = accepting(stage);
    let p = stage.party();
    fill_up(stage, &m);
    let before = stage.rig().descriptors().open_descriptors(m.host());
    let message = Message::new(1).descriptor(SOCKET, 0).descriptor(SOCKET, 0);
    p.write(commands().call(0, message));
    m.assert_idle();
    expect!(p.read() => [TransactionComplete, FailedReply]);
    assert_eq!(stage.rig().descriptors().open_descriptors(m.host()), before);
}

fn c133_a_receiver_without_room_misses_a_oneway(stage: &Stage) {
    let m = accepting(stage);
    let p = stage.party();
    fill_up(stage, &m);
    p.write(commands().oneway(0, Message::new(1).descriptor(SOCKET, 0)));
    p.write(commands().oneway(0, Message::new(2)));
    assert_eq!(m.read_call().code, 2);
}

fn c134_a_caller_without_room_misses_the_reply(stage: &Stage) {
    let m = stage.manager();
    let p = stage.party();
    p.write(commands().call(0, Message::new(1).flags(TF_ACCEPT_FDS)));
    let call = m.read_call();
    fill_up(stage, &p);
    m.answer(&call, Message::new(0).descriptor(SOCKET, 0));
    expect!(p.read() => [TransactionComplete, FailedReply]);
}

fn c135_freeing_closes_no_descriptor(stage: &Stage) {
    let m = accepting(stage);
    let p = stage.party();
    p.write(commands().oneway(0, Message::new(1).descriptor(SOCKET, 0)));
    let oneway = m.read_call();
    let fd = fds(&m, &oneway)[0];
    m.write(commands().free(oneway.buffer));
    m.write(commands());
    assert_eq!(file(stage, &m, fd), file(stage, &p, SOCKET));
}

/// An array of two descriptors behind eight bytes of their parent.
fn array(at: u64) -> Message {
    let mut parent = [0xff; 16];
    parent[8..].fill(0); // Two times the socket.
    Message::new(1).bytes(&[0; 8]).buffer(&parent).descriptors(2, 0, at)
}

fn c136_c137_an_array_arrives_in_its_parent_until_freed(stage: &Stage) {
    let m = accepting(stage);
    let p = stage.party();
    p.write(commands().oneway(0, array(8)));
    let oneway = m.read_call();
    let parent: BinderBufferObject = m.peek_value(oneway.buffer + m.offsets(&oneway)[0]);
    let fds: [u32; 2] = m.peek_value(parent.buffer + 8);
    for fd in fds {
        assert_eq!(file(stage, &m, fd.into()), file(stage, &p, SOCKET));
    }
    m.write(commands().free(oneway.buffer));
    m.write(commands());
    for fd in fds {
        assert_eq!(file(stage, &m, fd.into()), None);
    }
}

fn c136_an_array_that_is_freed_while_reading_is_closed(stage: &Stage) {
    let m = accepting(stage);
    let p = stage.party();
    let lowest = lowest_free(stage, &m);
    p.write(commands().oneway(0, array(8)));
    let oneway = m.read_call();
    // A read that would wait returns, since there is something to close.
    expect!(m.exchange(commands().free(oneway.buffer)) => []);
    assert_eq!(lowest_free(stage, &m), lowest);
}

fn c136_what_a_call_brings_takes_the_numbers_of_an_array_that_it_frees(stage: &Stage) {
    let m = accepting(stage);
    let p = stage.party();
    let lowest = lowest_free(stage, &m);
    p.write(commands().oneway(0, array(8)));
    p.write(commands().oneway(0, Message::new(1).descriptor(SOCKET, 0)));
    let with_array = m.read_call();
    // There is no room but that of the array.
    fill_up(stage, &m);
    expect!(m.exchange(commands().free(with_array.buffer)) => [Transaction(next)]);
    assert_eq!(fds(&m, &next), [lowest]);
}

fn c138_an_array_and_addresses_share_a_parent(stage: &Stage) {
    let m = accepting(stage);
    let p = stage.party();
    let parent = || Message::new(1).bytes(&[0; 8]).buffer(&[0; 32]);
    let refused = [
        parent().child(&[0; 8], 0, 8).descriptors(1, 0, 12),
        parent().descriptors(2, 0, 8).child(&[0; 8], 0, 12),
        parent().descriptors(2, 0, 8).descriptors(1, 0, 12),
        parent()
            .child(&[0; 8], 0, 0)
            .descriptors(1, 1, 0)
            .descriptors(1, 0, 8)
            .descriptors(1, 1, 4),
        parent().descriptors(1, 1, 0),
        parent().descriptors(u64::MAX / 4 + 2, 0, 0),
    ];
    for message in refused {
        let shown = format!("{message:?}");
        assert_eq!(p.exchange(commands().oneway(0, message)), [FailedReply], "{shown}");
        assert_eq!(p.extended_error().param, -Errno::INVAL.raw_os_error(), "{shown}");
    }
    let accepted = parent().child(&[0; 8], 0, 0).descriptors(1, 1, 0).descriptors(2, 0, 8);
    p.write(commands().oneway(0, accepted.child(&[0; 8], 0, 16)));
    assert_eq!(m.offsets(&m.read_call()).len(), 5);
}

fn c138_an_array_lies_aligned_within_its_parent(stage: &Stage) {
    let m = accepting(stage);
    let p = stage.party();
    for at in [6, 12, 16, u64::MAX - 7] {
        let read = p.exchange(commands().oneway(0, array(at)));
        assert_eq!(read, [FailedReply], "{at}");
    }
    m.assert_idle();
}

fn c139_an_empty_array_is_accepted(stage: &Stage) {
    let m = accepting(stage);
    let p = stage.party();
    let message = Message::new(1).bytes(&[0; 8]).buffer(&[0; 8]).descriptors(0, 0, 0);
    p.write(commands().call(0, message));
    let call = m.read_call();
    m.answer(&call, Message::new(0));
    expect!(p.read() => [TransactionComplete, Reply(_)]);
}

/// The processes that have a file open under any number, as far as we may look.
fn holders(file: &str) -> Vec<u32> {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let pids = processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let holds = |pid: &u32| {
        let links = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
        links
            .filter_map(|link| fs::read_link(link.path()).ok())
            .any(|link| link.as_os_str() == file)
    };
    pids.filter(holds).collect()
}

fn c126_c243_a_receiver_killed_amid_delivery_leaves_no_file_behind(stage: &Stage) {
    let p = stage.party();
    let file = file(stage, &p, SOCKET).unwrap();
    for round in 0..40 {
        let m = accepting(stage);
        if round % 2 == 1 {
            receive_one(&m, &p);
        }
        m.park();
        let message = (0..3).fold(Message::new(1), |message, _| message.descriptor(SOCKET, 0));
        p.write(commands().oneway(0, message));
        // Some steps of the delivery later, another number of them in every round.
        thread::sleep(Duration::from_micros(20 * round));
        m.kill();
        let _ = p.read();
    }
    let own = p.pid().unsigned_abs();
    let deadline = Instant::now() + HANG_TIMEOUT;
    while holders(&file) != [own] {
        assert!(Instant::now() < deadline, "{file} of {own} is held by {:?}", holders(&file));
        thread::sleep(Duration::from_millis(10));
    }
}

fn c251_an_empty_array_may_be_anywhere(stage: &Stage) {
    let m = accepting(stage);
    let p = stage.party();
    let parent = || Message::new(1).bytes(&[0; 8]).buffer(&[0; 32]);
    for at in [0, 8, 32, 40, 1 << 20, u64::MAX - 3] {
        let read = p.exchange(commands().oneway(0, parent().descriptors(0, 0, at)));
        assert_eq!(read, [TransactionComplete], "at {at}");
        let oneway = m.read_call();
        m.write(commands().free(oneway.buffer));
    }
}

fn c251_an_empty_array_keeps_the_order_in_its_parent(stage: &Stage) {
    let _m = accepting(stage);
    let p = stage.party();
    let parent = || Message::new(1).bytes(&[0; 8]).buffer(&[0; 32]);
    let refused = [
        parent().descriptors(0, 0, 1 << 20).child(&[0; 8], 0, 8),
        parent().descriptors(0, 0, 12).child(&[0; 8], 0, 8),
        parent().child(&[0; 8], 0, 8).descriptors(0, 0, 8),
        parent().descriptors(0, 1, 0),
    ];
    for message in refused {
        let shown = format!("{message:?}");
        assert_eq!(p.exchange(commands().oneway(0, message)), [FailedReply], "{shown}");
    }
    let accepted = parent().descriptors(0, 0, 8).child(&[0; 8], 0, 8).descriptors(0, 0, 16);
    expect!(p.exchange(commands().oneway(0, accepted)) => [TransactionComplete]);
}
