//! Opening and mapping.

use binder_testkit::Return::{DeadReply, FailedReply, Reply, TransactionComplete};
use binder_testkit::{
    Device, Entrance, Message, Mode, Protection, Stage, commands, expect, introduce,
};
use rustix::io::Errno;

use crate::registry::checks;

const USED_AT_MOST_BYTES: usize = 4 << 20;

checks! {
    Both c009_two_opens_of_one_process_are_two_processes,
    Device c010_a_receive_area_cannot_be_mapped_writable,
    Device c011_a_receive_area_cannot_be_made_writable,
    Device c012_a_file_is_mapped_once,
    Device c013_only_the_opener_maps,
    Both c014_only_the_first_four_mebibytes_are_used,
    Both c015_a_reply_to_a_process_without_a_mapping_is_dead,
    Both c016_a_call_to_a_process_without_a_mapping_is_dead,
    Device c017_a_child_does_not_inherit_the_mapping,
    Device c253_a_device_has_nothing_to_flush,
    Device c256_a_call_to_a_receive_area_that_was_moved_is_dead,
}

fn c009_two_opens_of_one_process_are_two_processes(stage: &Stage) {
    let m = stage.manager();
    let p = stage.party();
    let q = p.second_open();
    let handle = introduce(&m, &m, (0x10, 0x20), &p);
    expect!(q.exchange(commands().call(handle, Message::new(1))) => [FailedReply]);
    // The same pointer names two nodes.
    let first = introduce(&m, &p, (0x30, 1), &m);
    let second = introduce(&m, &q, (0x30, 2), &m);
    assert_ne!(first, second);
    q.park_with(commands().enter_looper());
    m.write(commands().oneway(first, Message::new(1)));
    q.assert_parked();
    assert_eq!(p.read_call().cookie, 1);
}

fn c010_a_receive_area_cannot_be_mapped_writable(stage: &Stage) {
    let rig = stage.rig();
    let file = rig.open(rig.start_host(), Device::First, Mode::Blocking).unwrap();
    assert_eq!(rig.map(file, 1 << 16, Protection::Writable), Err(Errno::PERM));
    assert!(rig.map(file, 1 << 16, Protection::ReadOnly).is_ok());
}

fn c011_a_receive_area_cannot_be_made_writable(stage: &Stage) {
    let p = stage.party();
    let system = stage.rig().system().expect("a check for devices");
    let result = system.make_writable(p.host(), p.area().base, 4096);
    assert_eq!(result, Err(Errno::ACCESS));
}

fn c012_a_file_is_mapped_once(stage: &Stage) {
    let p = stage.party();
    let result = stage.rig().map(p.caller().process, 1 << 16, Protection::ReadOnly);
    assert_eq!(result, Err(Errno::BUSY));
}

fn c013_only_the_opener_maps(stage: &Stage) {
    let p = stage.enter(Entrance { area_len: None, ..Entrance::default() });
    let system = stage.rig().system().expect("a check for devices");
    let other = stage.rig().start_host();
    assert_eq!(system.map_as(other, p.caller().process, 1 << 16), Err(Errno::INVAL));
}

fn c014_only_the_first_four_mebibytes_are_used(stage: &Stage) {
    let m = stage.party_with_area(8 << 20);
    stage.appoint(&m);
    let p = stage.party();
    let payload = stage.rig().allocate(p.host(), USED_AT_MOST_BYTES + 8);
    let sized = |len: usize| Message::new(1).claim_data_size(len as u64).claim_buffer(payload);
    expect!(p.exchange(commands().call(0, sized(USED_AT_MOST_BYTES + 8))) => [FailedReply]);
    p.write(commands().call(0, sized(USED_AT_MOST_BYTES)));
    assert_eq!(m.read_call().buffer, m.area().base);
}

fn c015_a_reply_to_a_process_without_a_mapping_is_dead(stage: &Stage) {
    let m = stage.manager();
    let p = stage.enter(Entrance { area_len: None, ..Entrance::default() });
    p.write(commands().call(0, Message::new(1)));
    let call = m.read_call();
    m.answer(&call, Message::new(0));
    expect!(p.read() => [TransactionComplete, DeadReply]);
}

fn c016_a_call_to_a_process_without_a_mapping_is_dead(stage: &Stage) {
    let m = stage.enter(Entrance { area_len: None, ..Entrance::default() });
    stage.appoint(&m);
    let p = stage.party();
    expect!(p.exchange(commands().call(0, Message::new(1))) => [DeadReply]);
    assert_eq!(p.extended_error().param, -Errno::SRCH.raw_os_error());
}

fn c017_a_child_does_not_inherit_the_mapping(stage: &Stage) {
    let p = stage.party();
    let system = stage.rig().system().expect("a check for devices");
    assert!(!system.is_mapped_in_child(p.host(), p.area().base));
}

fn c253_a_device_has_nothing_to_flush(stage: &Stage) {
    let p = stage.party();
    let system = stage.rig().system().expect("a check for devices");
    assert_eq!(system.sync(p.caller().process), Err(Errno::INVAL));
}

fn c256_a_call_to_a_receive_area_that_was_moved_is_dead(stage: &Stage) {
    let m = stage.manager();
    let p = stage.party();
    let call = || commands().call(0, Message::new(1));
    p.write(call());
    m.answer(&m.read_call(), Message::new(0));
    expect!(p.read() => [TransactionComplete, Reply(_)]);
    let system = stage.rig().system().expect("a check for devices");
    system.move_area(m.caller().process).unwrap();
    // The driver of user space takes the call, and finds out while that waits to be read.
    p.write(call());
    assert!(matches!(p.read()[..], [DeadReply] | [TransactionComplete, DeadReply]));
    expect!(p.exchange(call()) => [DeadReply]);
}
