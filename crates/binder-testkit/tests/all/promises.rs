//! What the driver owes beyond the numbered checks: no secret stays behind, no wake-up is lost.

use binder_testkit::Return::{Acquire, DeadReply, Increfs, Transaction, TransactionComplete};
use binder_testkit::{CoreRig, Message, Stage, commands, expect, introduce};
use binder_uapi::{
    ANYBINDER_DEFER_COMPLETIONS, BINDER_ENABLE_ONEWAY_SPAM_DETECTION, BinderWriteRead, TF_CLEAR_BUF,
};

const SECRET: &[u8] = b"a secret";

fn stage() -> Stage {
    Stage::new(Box::new(CoreRig::default()))
}

/// Where woken readers can be held.
fn stage_without_frontend() -> Stage {
    Stage::new(Box::new(CoreRig::default().without_frontend()))
}

#[test]
fn a_signal_to_a_woken_thread_passes_the_work_of_the_process_on() {
    let stage = stage_without_frontend();
    let core = stage.rig().core().unwrap();
    let m = stage.manager();
    let (first, second) = (m.thread(), m.thread());
    let p = stage.party();
    p.write(commands().oneway(0, Message::new(1)).oneway(0, Message::new(2)));
    let in_flight = m.read_call();
    first.park_with(commands().enter_looper());
    second.park_with(commands().enter_looper());
    core.hold();
    m.write(commands().free(in_flight.buffer));
    assert!(second.interrupted().result.is_err());
    core.let_go();
    assert!(!first.is_parked(), "work waits, and the other thread sleeps");
    stage.tear_down();
}

#[test]
fn a_buffer_to_be_cleared_is_cleared_when_its_delivery_fails() {
    let stage = stage();
    let m = stage.manager();
    let p = stage.party();
    p.write(commands().oneway(0, Message::new(1).bytes(SECRET).flags(TF_CLEAR_BUF)));
    let mut argument = m.reading(BinderWriteRead::default());
    // The read begins where memory ends, and the one-way does not fit before that.
    argument.read_buffer = m.place_at_edge(&[0; 4]);
    assert_eq!(m.attempt(argument).result, Err(rustix::io::Errno::FAULT));
    assert_eq!(m.peek(m.area().base, SECRET.len()), [0; SECRET.len()]);
    stage.tear_down();
}

#[test]
fn a_buffer_to_be_cleared_is_cleared_when_its_reader_exits() {
    let stage = stage_without_frontend();
    let core = stage.rig().core().unwrap();
    let m = stage.manager();
    let looper = m.thread();
    let p = stage.party();
    looper.park_with(commands().enter_looper());
    core.hold();
    p.write(commands().call(0, Message::new(1).bytes(SECRET).flags(TF_CLEAR_BUF)));
    assert!(looper.interrupted().result.is_err());
    looper.exit_thread();
    core.let_go();
    assert_eq!(m.peek(m.area().base, SECRET.len()), [0; SECRET.len()]);
    stage.tear_down();
}

#[test]
fn whoever_has_lost_its_mapping_cannot_be_called_and_goes_on_calling() {
    let stage = stage();
    let core = stage.rig().core().unwrap();
    let m = stage.manager();
    let (server, p) = (stage.party(), stage.party());
    let handle = introduce(&m, &server, (0x10, 0x20), &p);
    p.write(commands().oneway(handle, Message::new(1)).oneway(handle, Message::new(2)));
    expect!(p.read() => [TransactionComplete, TransactionComplete]);
    p.write(commands().call(handle, Message::new(3)));
    core.lose_mapping(server.caller().process);
    expect!(p.read() => [TransactionComplete, DeadReply]);
    p.write(commands().call(handle, Message::new(4)));
    expect!(p.read() => [DeadReply]);
    server.write(commands().oneway(0, Message::new(5)));
    assert_eq!(m.read_call().code, 5);
    stage.tear_down();
}

#[test]
fn a_sender_with_a_quarter_of_the_area_is_no_flood() {
    let stage = stage();
    let m = stage.manager();
    let (large, small) = (stage.party(), stage.party());
    for sender in [&large, &small] {
        sender.ioctl(BINDER_ENABLE_ONEWAY_SPAM_DETECTION, &mut 1_u32).unwrap();
    }
    let quarter = m.area().len / 4;
    small.write(commands().oneway(0, Message::new(1).bytes(&vec![0; quarter * 2 / 3])));
    expect!(small.read() => [TransactionComplete]);
    large.write(commands().oneway(0, Message::new(1).bytes(&vec![0; quarter - 8])));
    expect!(large.read() => [TransactionComplete]);
    stage.tear_down();
}

#[test]
fn a_deferred_completion_arrives_with_the_next_call() {
    let stage = stage();
    let m = stage.manager();
    let server = m.thread();
    let p = stage.party();
    server.ioctl(ANYBINDER_DEFER_COMPLETIONS, &mut 1_u32).unwrap();
    server.park_with(commands().enter_looper());
    p.write(commands().call(0, Message::new(1)));
    let call = server.woken_by_call();
    server.park_with(commands().free(call.buffer).reply(Message::new(0)));
    assert!(server.is_parked(), "the completion alone does not end the read");
    let q = stage.party();
    q.write(commands().call(0, Message::new(2)));
    expect!(server.woken() => [TransactionComplete, Transaction(_)]);
    stage.tear_down();
}

#[test]
fn a_reply_with_an_object_completes_at_once() {
    let stage = stage();
    let m = stage.manager();
    let server = m.thread();
    let p = stage.party();
    server.ioctl(ANYBINDER_DEFER_COMPLETIONS, &mut 1_u32).unwrap();
    server.park_with(commands().enter_looper());
    p.write(commands().call(0, Message::new(1)));
    let call = server.woken_by_call();
    let reply = Message::new(0).binder(0x10, 0x20);
    let returns = server.exchange(commands().free(call.buffer).reply(reply));
    expect!(returns => [Increfs(0x10, 0x20), Acquire(0x10, 0x20), TransactionComplete]);
    stage.tear_down();
}

#[test]
fn a_thread_that_no_longer_defers_hears_of_what_it_deferred() {
    let stage = stage();
    let m = stage.manager();
    let server = m.thread();
    let p = stage.party();
    server.ioctl(ANYBINDER_DEFER_COMPLETIONS, &mut 1_u32).unwrap();
    p.write(commands().call(0, Message::new(1)));
    let call = server.read_call();
    server.write(commands().free(call.buffer).reply(Message::new(0)));
    server.ioctl(ANYBINDER_DEFER_COMPLETIONS, &mut 0_u32).unwrap();
    expect!(server.read() => [TransactionComplete]);
    stage.tear_down();
}
