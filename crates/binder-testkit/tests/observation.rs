//! What the driver tells of itself agrees with what it does.

use binder_core::{SendEnd, StackSide, TransactionKind, WorkView};
use binder_testkit::{CoreRig, Message, Stage, commands};
use binder_uapi::{BR_DEAD_REPLY, BR_FAILED_REPLY, BR_ONEWAY_SPAM_SUSPECT};

fn stage() -> Stage {
    Stage::new(Box::new(CoreRig::default()))
}

#[test]
fn both_sides_of_a_call_show_it_under_one_number_and_with_its_age() {
    let stage = stage();
    let core = stage.rig().core().unwrap();
    let (m, p) = (stage.manager(), stage.party());
    core.set_now(5_000_000);
    p.write(commands().call(0, Message::new(7).bytes(b"question")));
    let queued = core.snapshot();
    let [WorkView::Transaction(waiting)] = queued.processes[0].todo[..] else {
        panic!("the call waits for any thread: {queued:?}");
    };
    core.set_now(9_000_000);
    let call = m.read_call();
    let served = core.snapshot();
    let tops = [0, 1].map(|process| served.processes[process].threads[0].stack[0]);
    assert_eq!(tops.map(|top| top.direction), [StackSide::Incoming, StackSide::Outgoing]);
    for top in tops.map(|top| top.transaction) {
        assert_eq!((top.id, top.code, top.elapsed_ns), (waiting.id, 7, 4_000_000));
        assert_eq!(i32::try_from(top.from_pid), Ok(stage.rig().pid(p.host())));
        assert_eq!(i32::try_from(top.to_pid), Ok(stage.rig().pid(m.host())));
        assert_eq!(top.buffer.map(|buffer| (buffer.data_len, buffer.is_active)), Some((8, true)));
    }
    m.answer(&call, Message::new(0));
    p.read_reply();
    assert!(core.snapshot().processes.iter().all(|it| it.threads[0].stack.is_empty()));
    stage.tear_down();
}

#[test]
fn a_failed_call_is_in_both_logs_and_reported() {
    let stage = stage();
    let core = stage.rig().core().unwrap();
    let p = stage.party();
    p.write(commands().call(0, Message::new(1)));
    let m = stage.manager();
    p.read();
    p.write(commands().call(99, Message::new(2).bytes(&[0; 16])));
    p.read();
    p.write(commands().oneway(0, Message::new(3)));
    let [recent, failed] = core.transaction_logs();
    assert_eq!(recent.iter().map(|entry| entry.code).collect::<Vec<_>>(), [1, 2, 3]);
    assert_eq!(recent[2].end, SendEnd::Accepted);
    assert_eq!(recent[2].kind, TransactionKind::Oneway);
    assert_eq!(i32::try_from(recent[2].to_pid), Ok(stage.rig().pid(m.host())));
    assert_eq!(failed, recent[..2]);
    let ends = failed.iter().map(|entry| entry.end).collect::<Vec<_>>();
    let refused = |code, errno| SendEnd::Refused { code, errno, excess: None };
    assert_eq!(ends, [refused(BR_DEAD_REPLY, 22), refused(BR_FAILED_REPLY, 22)]);
    assert_eq!((failed[1].handle, failed[1].data_size), (99, 16));
    for (error, send) in [(BR_DEAD_REPLY, failed[0]), (BR_FAILED_REPLY, failed[1])] {
        let report = core.poll_report().unwrap();
        assert_eq!((report.error, report.send), (error, send));
    }
    assert_eq!(core.poll_report(), None);
    stage.tear_down();
}

#[test]
fn a_flood_of_oneways_is_reported_once_and_the_logs_keep_32() {
    let stage = stage();
    let core = stage.rig().core().unwrap();
    let m = stage.manager();
    let p = stage.party();
    let count = m.area().len / 2 / 4096;
    for _ in 0..count {
        p.write(commands().oneway(0, Message::new(1).bytes(&[0; 4096])));
    }
    let reports = std::iter::from_fn(|| core.poll_report()).collect::<Vec<_>>();
    assert_eq!(reports.len(), 1, "{reports:?}");
    assert_eq!(reports[0].error, BR_ONEWAY_SPAM_SUSPECT);
    let [recent, failed] = core.transaction_logs();
    assert_eq!((recent.len(), failed.len()), (32, 0));
    let snapshot = core.snapshot();
    assert_eq!(snapshot.counters.commands()[0] as usize, count);
    let process = &snapshot.processes[0];
    assert_eq!(process.nodes[0].waiting_oneways.len(), count - 1);
    assert_eq!((process.buffers.len(), process.oneway_room), (count, 0));
    stage.tear_down();
}
