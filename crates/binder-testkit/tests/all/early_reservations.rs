//! Large data that goes straight to its receiver, and what becomes of its room when the send is decided on.

use binder_core::{Limits, ProcessView, Resource};
use binder_testkit::Return::{
    DeadReply, Decrefs, FailedReply, Release, Reply, TransactionComplete,
};
use binder_testkit::{Commands, CoreRig, Message, Party, Stage, commands, expect, introduce};
use binder_uapi::TF_CLEAR_BUF;

const LARGE: usize = 20_000;
const AREA: usize = 1 << 17;

fn stage() -> Stage {
    Stage::new(Box::new(CoreRig::default()))
}

fn core(stage: &Stage) -> &CoreRig {
    stage.rig().core().expect("a rig on the core")
}

/// A manager with a small area.
fn manager(stage: &Stage) -> Party<'_> {
    let m = stage.party_with_area(AREA);
    stage.appoint(&m);
    m
}

fn large(code: u32, byte: u8) -> Message {
    Message::new(code).bytes(&[byte; LARGE])
}

/// Starts a write whose data is in its room, and is not decided on.
fn start(stage: &Stage, party: &Party<'_>, commands: &Commands) {
    core(stage).hold_fetched();
    party.start(party.reading(party.writing(commands)));
    assert!(core(stage).pass_window(), "it is fetched");
}

fn reserved(stage: &Stage) -> usize {
    core(stage).live_objects().early_reservations
}

fn view(stage: &Stage, of: &Party<'_>) -> ProcessView {
    let pid = u32::try_from(of.pid()).expect("a number");
    let processes = core(stage).snapshot().processes;
    processes.into_iter().find(|process| process.pid == pid).expect("it is there")
}

/// Nothing is reserved, and the area takes as much as it ever could.
fn assert_all_is_free(stage: &Stage, m: &Party<'_>, p: &Party<'_>) {
    core(stage).let_windows_pass();
    assert_eq!((reserved(stage), view(stage, m).buffers.len()), (0, 0));
    assert_eq!(view(stage, m).oneway_room as usize, AREA / 2);
    p.write(commands().oneway(0, Message::new(8).bytes(&[8; AREA / 2])));
    let half = m.read_call();
    m.write(commands().free(half.buffer));
    let sender = p.thread();
    sender.write(commands().call(0, Message::new(9).bytes(&[9; AREA])));
    let whole = m.read_call();
    assert_eq!(whole.code, 9);
    m.answer(&whole, Message::new(0));
}

/// Makes the manager's area known, as its first one-way does.
fn meet(m: &Party<'_>, p: &Party<'_>) {
    expect!(p.exchange(commands().oneway(0, Message::new(0))) => [TransactionComplete]);
    let first = m.read_call();
    m.write(commands().free(first.buffer));
}

#[test]
fn a_call_and_its_reply_take_up_their_rooms() {
    let stage = stage();
    let m = manager(&stage);
    let p = stage.party();
    meet(&m, &p);
    start(&stage, &p, &commands().call(0, large(1, 1)));
    assert_eq!(reserved(&stage), 1);
    assert_eq!(m.peek(m.area().base, LARGE), [1; LARGE], "it is there already");
    core(&stage).let_windows_pass();
    let call = m.read_call();
    assert_eq!((reserved(&stage), m.data(&call)), (0, vec![1; LARGE]));
    assert_eq!(call.buffer, m.area().base);
    let reply = commands().free(call.buffer).reply(Message::new(0));
    expect!(m.exchange(reply) => [TransactionComplete]);
    expect!(p.woken() => [TransactionComplete, Reply(_)]);
    p.park_with(commands().call(0, large(2, 2)));
    let call = m.read_call();
    start(&stage, &m, &commands().free(call.buffer).reply(large(3, 3)));
    assert_eq!(reserved(&stage), 1, "the caller has had a reply before");
    core(&stage).let_windows_pass();
    expect!(p.woken() => [TransactionComplete, Reply(reply)]);
    assert_eq!((reply.code, p.data(&reply)), (3, vec![3; LARGE]));
    assert_eq!(reserved(&stage), 0);
    stage.tear_down();
}

#[test]
fn oneways_in_rooms_are_counted_as_others_are() {
    let stage = stage();
    let m = manager(&stage);
    let p = stage.party();
    meet(&m, &p);
    start(&stage, &p, &commands().oneway(0, large(1, 1)));
    assert_eq!(view(&stage, &m).oneway_room as usize, AREA / 2 - LARGE);
    core(&stage).let_windows_pass();
    assert_eq!(view(&stage, &m).oneway_room as usize, AREA / 2 - LARGE, "not twice");
    let oneway = m.read_call();
    m.write(commands().free(oneway.buffer));
    assert_all_is_free(&stage, &m, &p.thread());
    stage.tear_down();
}

#[test]
fn a_receiver_that_dies_takes_the_room_along() {
    let stage = stage();
    let m = manager(&stage);
    let p = stage.party();
    meet(&m, &p);
    start(&stage, &p, &commands().call(0, large(1, 1).flags(TF_CLEAR_BUF)));
    m.kill();
    assert_eq!(reserved(&stage), 1, "somebody may be writing there");
    core(&stage).let_windows_pass();
    expect!(p.woken() => [DeadReply]);
    assert_eq!(reserved(&stage), 0);
    stage.tear_down();
}

#[test]
fn a_sender_that_dies_leaves_no_room_behind() {
    let stage = stage();
    let m = manager(&stage);
    let (p, q) = (stage.party(), stage.party());
    meet(&m, &p);
    start(&stage, &p, &commands().oneway(0, large(1, 1).flags(TF_CLEAR_BUF)));
    p.kill();
    assert_eq!(reserved(&stage), 1, "somebody may be writing there");
    assert_eq!(m.peek(m.area().base, LARGE), [1; LARGE]);
    assert!(core(&stage).pass_window());
    assert_eq!(m.peek(m.area().base, LARGE), [0; LARGE], "as it wished");
    assert_all_is_free(&stage, &m, &q);
    stage.tear_down();
}

#[test]
fn a_send_to_another_manager_than_before_is_fetched_again() {
    let stage = stage();
    let m = manager(&stage);
    let (p, next) = (stage.party(), stage.party());
    meet(&m, &p);
    start(&stage, &p, &commands().call(0, large(1, 1)));
    m.close();
    stage.appoint(&next);
    core(&stage).let_windows_pass();
    assert_eq!(reserved(&stage), 0);
    let call = next.read_call();
    assert_eq!(next.data(&call), [1; LARGE]);
    next.write(commands().free(call.buffer).reply(Message::new(0)));
    expect!(p.woken() => [TransactionComplete, Reply(_)]);
    stage.tear_down();
}

#[test]
fn a_send_that_does_not_go_there_any_more_gives_its_room_back() {
    let stage = stage();
    let m = manager(&stage);
    let p = stage.party();
    meet(&m, &p);
    let handle = introduce(&m, &m, (9, 90), &p);
    let lost = large(1, 1).flags(TF_CLEAR_BUF);
    start(&stage, &p, &commands().release(handle).oneway(handle, lost));
    assert_eq!(reserved(&stage), 1);
    let area = || m.peek(m.area().base, LARGE);
    assert_eq!(area(), [1; LARGE]);
    assert!(core(&stage).pass_window(), "the handle is gone");
    assert_eq!((reserved(&stage), area()), (0, vec![0; LARGE]));
    core(&stage).let_windows_pass();
    expect!(p.woken() => [FailedReply]);
    expect!(m.read() => [Release(9, 90), Decrefs(9, 90)]);
    assert_all_is_free(&stage, &m, &p);
    stage.tear_down();
}

#[test]
fn a_send_that_is_refused_gives_its_room_back() {
    let stage = stage();
    let m = manager(&stage);
    let p = stage.party();
    meet(&m, &p);
    p.write(commands().call(0, Message::new(1)));
    start(&stage, &p, &commands().call(0, large(2, 2).flags(TF_CLEAR_BUF)));
    assert_eq!(reserved(&stage), 1);
    core(&stage).let_windows_pass();
    // It waits for an answer already.
    expect!(p.woken() => [TransactionComplete, FailedReply]);
    assert_eq!(reserved(&stage), 0);
    let call = m.read_call();
    assert_eq!(call.code, 1);
    m.answer(&call, Message::new(0));
    assert_all_is_free(&stage, &m, &stage.party());
    stage.tear_down();
}

#[test]
fn data_that_cannot_be_read_as_a_whole_fails_and_is_wiped() {
    let stage = stage();
    let m = manager(&stage);
    let p = stage.party();
    meet(&m, &p);
    let lost = Message::new(1).claim_buffer(8).claim_data_size(LARGE as u64).flags(TF_CLEAR_BUF);
    start(&stage, &p, &commands().call(0, lost));
    assert_eq!(reserved(&stage), 1);
    assert_ne!(m.peek(m.area().base, LARGE), [0; LARGE], "a part of it is there");
    core(&stage).let_windows_pass();
    expect!(p.woken() => [FailedReply]);
    assert_eq!(m.peek(m.area().base, LARGE), [0; LARGE]);
    assert_all_is_free(&stage, &m, &stage.party());
    stage.tear_down();
}

#[test]
fn rooms_have_a_share_of_an_area() {
    let stage = stage();
    let m = manager(&stage);
    let senders = [stage.party(), stage.party(), stage.party()];
    meet(&m, &senders[0]);
    core(&stage).hold_fetched();
    for sender in &senders {
        sender.start(sender.writing(&commands().oneway(0, large(1, 1))));
    }
    for _ in &senders {
        assert!(core(&stage).pass_window(), "it is fetched");
        assert_eq!(reserved(&stage), 1, "two would be more than a quarter");
    }
    core(&stage).let_windows_pass();
    for _ in &senders {
        let oneway = m.read_call();
        assert_eq!(m.data(&oneway), [1; LARGE]);
        m.write(commands().free(oneway.buffer));
    }
    assert_all_is_free(&stage, &m, &stage.party());
    stage.tear_down();
}

#[test]
fn where_there_is_no_room_the_send_says_so() {
    let stage = stage();
    let m = manager(&stage);
    let (p, q) = (stage.party(), stage.party());
    meet(&m, &p);
    q.write(commands().call(0, Message::new(1).bytes(&[1; AREA - 64])));
    start(&stage, &p, &commands().call(0, large(2, 2)));
    assert_eq!(reserved(&stage), 0);
    core(&stage).let_windows_pass();
    expect!(p.woken() => [FailedReply]);
    let call = m.read_call();
    m.answer(&call, Message::new(0));
    assert_all_is_free(&stage, &m, &p);
    stage.tear_down();
}

#[test]
fn a_room_is_paid_for_as_other_memory_is() {
    let Limits { per_user, .. } = Limits::default();
    let limits = Limits { per_user: per_user.with(Resource::Bytes, 16 << 10), ..Limits::default() };
    let stage = Stage::new(Box::new(CoreRig::with_limits(limits)));
    let m = manager(&stage);
    let p = stage.party();
    meet(&m, &p);
    start(&stage, &p, &commands().call(0, large(1, 1)));
    assert_eq!(reserved(&stage), 0);
    core(&stage).let_windows_pass();
    expect!(p.woken() => [FailedReply]);
    stage.tear_down();
}

#[test]
fn data_with_objects_is_not_shown_before_they_are_translated() {
    let stage = stage();
    let m = manager(&stage);
    let p = stage.party();
    meet(&m, &p);
    start(&stage, &p, &commands().oneway(0, large(1, 1).binder(8, 80)));
    assert_eq!(reserved(&stage), 0);
    assert_eq!(m.peek(m.area().base, LARGE), [0; LARGE]);
    core(&stage).let_windows_pass();
    let oneway = m.read_call();
    assert_eq!(m.objects(&oneway).len(), 1);
    m.write(commands().free(oneway.buffer));
    stage.tear_down();
}
