//! Returns that cannot be written to a read buffer which has taken returns before: the driver has delivered them already,
//! and takes the delivery back.

use binder_core::Traced;
use binder_testkit::Return::{FailedReply, Reply, TransactionComplete};
use binder_testkit::{CoreRig, Message, Party, Progress, Stage, Trouble, commands, expect};
use rustix::io::Errno;

fn stage() -> Stage {
    Stage::new(Box::new(CoreRig::default()))
}

fn core(stage: &Stage) -> &CoreRig {
    stage.rig().core().expect("a rig on the core")
}

/// Both have read before.
fn have_read(parties: &[&Party<'_>]) {
    parties.iter().for_each(|party| party.assert_idle());
}

/// Has the next access of a client fail, and lets all others happen.
fn lose_returns(stage: &Stage) {
    assert!(core(stage).pass_step(0, Some(Trouble::Fault)));
    core(stage).let_windows_pass();
}

fn assert_faulted(stage: &Stage, party: &Party<'_>) {
    let end = stage.rig().settle(party.caller().thread);
    assert_eq!(end, Progress::Done(Err(Errno::FAULT)));
}

#[test]
fn a_call_that_does_not_reach_its_receiver_fails() {
    let stage = stage();
    let (m, p) = (stage.manager(), stage.party());
    have_read(&[&m, &p]);
    m.park();
    core(&stage).hold_windows();
    p.start(p.reading(p.writing(&commands().call(0, Message::new(1).bytes(b"lost")))));
    assert!(core(&stage).pass_window(), "the call is sent");
    lose_returns(&stage);
    assert_faulted(&stage, &m);
    expect!(p.woken() => [TransactionComplete, FailedReply]);
    let live_objects = core(&stage).live_objects();
    assert_eq!((live_objects.transactions, live_objects.buffers), (0, 0));
    let [_, failed] = core(&stage).transaction_logs();
    assert_eq!(failed.len(), 1, "{failed:?}");
    // The receiver serves nothing: it gets the next call as it would have got the first.
    p.park_with(commands().call(0, Message::new(2)));
    let call = m.read_call();
    assert_eq!(call.code, 2);
    m.write(commands().free(call.buffer).reply(Message::new(3)));
    assert!(matches!(p.woken()[..], [TransactionComplete, Reply(_)]));
    stage.tear_down();
}

#[test]
fn a_oneway_that_does_not_reach_its_receiver_lets_the_next_go() {
    let stage = stage();
    let (m, p) = (stage.manager(), stage.party());
    have_read(&[&m, &p]);
    m.park();
    core(&stage).hold_windows();
    p.start(p.writing(&commands().oneway(0, Message::new(1)).oneway(0, Message::new(2))));
    assert!(core(&stage).pass_window(), "both are sent");
    lose_returns(&stage);
    assert_faulted(&stage, &m);
    let next = m.read_call();
    assert_eq!(next.code, 2);
    m.write(commands().free(next.buffer));
    let live_objects = core(&stage).live_objects();
    assert_eq!((live_objects.transactions, live_objects.buffers), (0, 0));
    stage.tear_down();
}

#[test]
fn a_reply_that_does_not_reach_its_caller_leaves_no_buffer() {
    let stage = stage();
    let (m, p) = (stage.manager(), stage.party());
    have_read(&[&m, &p]);
    p.park_with(commands().call(0, Message::new(1)));
    let call = m.read_call();
    core(&stage).hold_windows();
    m.start(m.writing(&commands().free(call.buffer).reply(Message::new(2).bytes(b"lost"))));
    assert!(core(&stage).pass_window(), "the reply is sent");
    lose_returns(&stage);
    assert_faulted(&stage, &p);
    expect!(m.read() => [TransactionComplete]);
    let live_objects = core(&stage).live_objects();
    assert_eq!((live_objects.transactions, live_objects.buffers), (0, 0));
    p.assert_idle();
    stage.tear_down();
}

#[test]
fn a_trace_takes_back_that_a_reply_was_received() {
    let stage = stage();
    let (m, p) = (stage.manager(), stage.party());
    have_read(&[&m, &p]);
    core(&stage).begin_trace();
    p.park_with(commands().call(0, Message::new(1)));
    let call = m.read_call();
    core(&stage).take_trace();
    core(&stage).hold_windows();
    m.start(m.writing(&commands().free(call.buffer).reply(Message::new(2))));
    assert!(core(&stage).pass_window(), "the reply is sent");
    lose_returns(&stage);
    assert_faulted(&stage, &p);
    let told = core(&stage).take_trace();
    let [Traced::Sent { entry, .. }, received, undelivered] = told[..] else { panic!("{told:?}") };
    let errno = Errno::FAULT.raw_os_error();
    assert!(matches!(received, Traced::Received { id, .. } if id == entry.id), "{told:?}");
    assert_eq!(undelivered, Traced::Undelivered { id: entry.id, errno });
    expect!(m.read() => [TransactionComplete]);
    stage.tear_down();
}

#[test]
fn lost_returns_are_not_counted() {
    let stage = stage();
    let (m, p) = (stage.manager(), stage.party());
    have_read(&[&m, &p]);
    let returns = || {
        let views = core(&stage).snapshot().processes;
        views.iter().map(|view| view.counters.returns().iter().sum::<u32>()).sum::<u32>()
    };
    let before = returns();
    m.park();
    core(&stage).hold_windows();
    p.start(p.writing(&commands().oneway(0, Message::new(1))));
    assert!(core(&stage).pass_window(), "it is sent");
    lose_returns(&stage);
    assert_faulted(&stage, &m);
    assert_eq!(returns(), before);
    stage.tear_down();
}
