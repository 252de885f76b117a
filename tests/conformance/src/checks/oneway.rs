//! Oneways: order, budget, suspicion.

use binder_testkit::Return::{
    DeadReply, FailedReply, OnewaySpamSuspect, Transaction, TransactionComplete,
    TransactionPendingFrozen,
};
use binder_testkit::{
    AREA_LEN_BYTES, Message, Party, Return, Stage, close_before, commands, expect, introduce,
};
use binder_uapi::{BINDER_ENABLE_ONEWAY_SPAM_DETECTION, BINDER_FREEZE, BinderFreezeInfo};
use rustix::io::Errno;

use crate::registry::checks;

checks! {
    Both c150_a_oneway_is_complete_at_once,
    Both c151_a_oneway_cannot_be_answered,
    Both c152_oneways_to_a_node_come_one_by_one,
    Both c153_oneways_to_two_nodes_come_together,
    Both c154_a_thousand_oneways_arrive_in_order,
    Both c155_a_call_overtakes_waiting_oneways,
    Both c156_c157_oneways_fill_half_the_area,
    Both c158_a_oneway_to_the_dead_is_dead,
    Both c159_a_oneway_outlives_its_sender,
    Both c160_c162_a_flood_is_suspect_once_for_each_dip,
    Both c160_c198_a_suspect_oneway_to_a_frozen_process_is_pending,
    Both c252_the_second_large_oneway_is_suspect,
    Both c161_an_undetected_flood_is_complete,
}

fn c150_a_oneway_is_complete_at_once(stage: &Stage) {
    let m = stage.manager();
    let p = stage.party();
    expect!(p.exchange(commands().oneway(0, Message::new(1))) => [TransactionComplete]);
    let oneway = m.read_call();
    m.write(commands().free(oneway.buffer));
    p.assert_idle();
}

fn c151_a_oneway_cannot_be_answered(stage: &Stage) {
    let m = stage.manager();
    let p = stage.party();
    p.write(commands().oneway(0, Message::new(1)));
    m.read_call();
    expect!(m.exchange(commands().reply(Message::new(0))) => [FailedReply]);
}

fn c152_oneways_to_a_node_come_one_by_one(stage: &Stage) {
    let m = stage.manager();
    let idle = m.thread();
    let p = stage.party();
    p.write(commands().oneway(0, Message::new(1)).oneway(0, Message::new(2)));
    let first = m.read_call();
    idle.park_with(commands().enter_looper());
    assert_eq!(first.code, 1);
    m.write(commands().free(first.buffer));
    assert_eq!(idle.woken_by_call().code, 2);
}

fn c153_oneways_to_two_nodes_come_together(stage: &Stage) {
    let m = stage.manager();
    let p = stage.party();
    let one = introduce(&m, &m, (0x10, 0), &p);
    let two = introduce(&m, &m, (0x20, 0), &p);
    p.write(commands().oneway(one, Message::new(1)).oneway(two, Message::new(2)));
    assert_eq!(m.read_call().code, 1);
    assert_eq!(m.thread().read_call().code, 2);
}

fn c154_a_thousand_oneways_arrive_in_order(stage: &Stage) {
    const COUNT: u32 = 1000;
    let m = stage.manager();
    let p = stage.party();
    for hundred in 0..COUNT / 100 {
        let codes = hundred * 100..(hundred + 1) * 100;
        p.write(codes.fold(commands(), |write, code| write.oneway(0, Message::new(code))));
        assert_eq!(p.read(), [TransactionComplete; 100]);
    }
    let mut write = commands();
    for code in 0..COUNT {
        expect!(m.exchange(write) => [Transaction(oneway)]);
        assert_eq!(oneway.code, code);
        write = commands().free(oneway.buffer);
    }
    m.write(write);
    m.assert_idle();
}

fn c155_a_call_overtakes_waiting_oneways(stage: &Stage) {
    let m = stage.manager();
    let p = stage.party();
    let write = commands().oneway(0, Message::new(1)).oneway(0, Message::new(2));
    p.write(write.call(0, Message::new(3)));
    let first = m.read_call();
    let call = m.read_call();
    assert_eq!((first.code, call.code), (1, 3));
    m.answer(&call, Message::new(0));
}

fn c156_c157_oneways_fill_half_the_area(stage: &Stage) {
    let m = stage.manager();
    let p = stage.party();
    let eighth = || Message::new(1).bytes(&[7; AREA_LEN_BYTES / 8]);
    for _ in 0..4 {
        expect!(p.exchange(commands().oneway(0, eighth())) => [TransactionComplete]);
    }
    let empty = || commands().oneway(0, Message::new(1));
    expect!(p.exchange(empty()) => [FailedReply]);
    assert_eq!(p.extended_error().param, -Errno::NOSPC.raw_os_error());
    p.write(commands().call(0, eighth()));
    let oneway = m.read_call();
    expect!(p.thread().exchange(empty()) => [FailedReply]);
    m.write(commands().free(oneway.buffer));
    expect!(p.thread().exchange(commands().oneway(0, eighth())) => [TransactionComplete]);
}

fn c158_a_oneway_to_the_dead_is_dead(stage: &Stage) {
    let m = stage.manager();
    let s = stage.party();
    let p = stage.party();
    let handle = introduce(&m, &s, (0x10, 0), &p);
    close_before(&s, &p, handle);
    expect!(p.exchange(commands().oneway(handle, Message::new(1))) => [DeadReply]);
}

fn c159_a_oneway_outlives_its_sender(stage: &Stage) {
    let m = stage.manager();
    let p = stage.party();
    let witness = stage.party();
    let handle = introduce(&m, &p, (0x10, 0), &witness);
    p.write(commands().oneway(0, Message::new(1).bytes(b"will")));
    close_before(&p, &witness, handle);
    assert_eq!(m.data(&m.read_call()), b"will");
}

/// Sends oneways of 8 KiB until the sender has been told of `count`, and returns what it read.
fn flood(p: &Party<'_>, count: usize) -> Vec<Return> {
    let mut read = Vec::new();
    for _ in 0..count {
        read.extend(p.exchange(commands().oneway(0, Message::new(1).bytes(&[7; 8 << 10]))));
    }
    read
}

/// With half a mebibyte for oneways, 53 of 8 KiB leave less than a tenth of the area.
const DIP: usize = 53;

fn c160_c162_a_flood_is_suspect_once_for_each_dip(stage: &Stage) {
    let m = stage.manager();
    let p = stage.party();
    p.ioctl(BINDER_ENABLE_ONEWAY_SPAM_DETECTION, &mut 1_u32).unwrap();
    assert_eq!(flood(&p, DIP - 2), [TransactionComplete; DIP - 2]);
    let dip = flood(&p, 4);
    assert_eq!(dip.len(), 4, "one return for each");
    let suspects = dip.iter().filter(|&&returned| returned == OnewaySpamSuspect).count();
    assert_eq!(suspects, 1);
    // The budget recovers, and is used up again.
    for _ in 0..DIP {
        let oneway = m.read_call();
        m.write(commands().free(oneway.buffer));
    }
    let again = flood(&p, DIP);
    let suspects = again.iter().filter(|&&returned| returned == OnewaySpamSuspect).count();
    assert_eq!((again.len(), suspects), (DIP, 1));
}

fn c160_c198_a_suspect_oneway_to_a_frozen_process_is_pending(stage: &Stage) {
    let m = stage.manager();
    let p = stage.party();
    p.ioctl(BINDER_ENABLE_ONEWAY_SPAM_DETECTION, &mut 1_u32).unwrap();
    let mut freeze = BinderFreezeInfo { pid: m.pid().unsigned_abs(), enable: 1, timeout_ms: 0 };
    p.ioctl(BINDER_FREEZE, &mut freeze).unwrap();
    // The dip was reported, in a way: nothing more is said of it.
    assert_eq!(flood(&p, DIP), [TransactionPendingFrozen; DIP]);
    freeze.enable = 0;
    p.ioctl(BINDER_FREEZE, &mut freeze).unwrap();
    assert_eq!(flood(&p, 1), [TransactionComplete]);
}

fn c161_an_undetected_flood_is_complete(stage: &Stage) {
    let _m = stage.manager();
    let p = stage.party();
    assert_eq!(flood(&p, DIP + 3), [TransactionComplete; DIP + 3]);
}

/// More than a quarter of the area: what one sender may have in it without being suspect.
const LARGE: usize = AREA_LEN_BYTES / 4 + (64 << 10);

fn c252_the_second_large_oneway_is_suspect(stage: &Stage) {
    let _m = stage.manager();
    let p = stage.party();
    p.ioctl(BINDER_ENABLE_ONEWAY_SPAM_DETECTION, &mut 1_u32).unwrap();
    let send = |len| p.exchange(commands().oneway(0, Message::new(1).bytes(&vec![7; len])));
    assert_eq!(send(LARGE), [TransactionComplete]);
    assert_eq!(send(AREA_LEN_BYTES / 2 - LARGE - 4096), [OnewaySpamSuspect]);
    assert_eq!(send(8), [TransactionComplete]);
}
