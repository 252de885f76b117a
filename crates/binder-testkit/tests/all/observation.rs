//! What the driver tells of itself agrees with what it does.

use std::mem;

use binder_core::{
    SendEnd, SnapshotBuilder, SnapshotCursor, SnapshotItem, StackSide, TransactionKind, WorkView,
};
use binder_testkit::{CoreRig, Message, Party, Stage, commands};
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

/// A stage whose driver does that many objects at a time.
fn stage_in_slices_of(objects: usize) -> Stage {
    Stage::new(Box::new(CoreRig::default().in_slices_of(objects)))
}

/// Has the manager know that many objects of a party, and be sent as many one-ways that wait.
fn offer(party: &Party<'_>, objects: u64) {
    let message =
        (1..=objects).fold(Message::new(1), |message, number| message.binder(8 * number, number));
    party.write(commands().oneway(0, message));
    for _ in 1..objects {
        party.write(commands().oneway(0, Message::new(2)));
    }
}

#[test]
fn a_snapshot_of_many_objects_takes_many_slices_and_tells_the_same() {
    const OBJECTS: u64 = 100;
    let stages = [1, 2, 7, 1000].map(|objects| (objects, stage_in_slices_of(objects)));
    let mut all = stages.iter().map(|(objects, stage)| {
        let core = stage.rig().core().unwrap();
        let (_m, p) = (stage.manager(), stage.party());
        offer(&p, OBJECTS);
        let slices = core.snapshot_slices();
        assert!(slices.iter().all(|slice| slice.len() <= 2 * *objects));
        let mut builder = SnapshotBuilder::default();
        slices.into_iter().for_each(|slice| builder.add(slice));
        let snapshot = builder.finish();
        stage.tear_down();
        snapshot
    });
    let first = all.next().unwrap();
    let [manager, offering] = &first.processes[..] else { panic!("{first:?}") };
    assert_eq!((manager.references.len() as u64, manager.buffers.len() as u64), (OBJECTS, OBJECTS));
    assert_eq!(manager.nodes[0].waiting_oneways.len() as u64, OBJECTS - 1);
    assert_eq!(offering.nodes.len() as u64, OBJECTS);
    assert!(offering.nodes.iter().all(|node| node.holders == [manager.pid]));
    for other in all {
        // Pids differ from stage to stage.
        let told = |snapshot: &binder_core::Snapshot| {
            let of_process = |it: &binder_core::ProcessView| {
                (it.nodes.len(), it.references.clone(), it.buffers.clone(), it.threads.len())
            };
            snapshot.processes.iter().map(of_process).collect::<Vec<_>>()
        };
        assert_eq!(told(&first), told(&other));
        assert_eq!((&first.counters, &first.objects), (&other.counters, &other.objects));
    }
}

#[test]
fn a_process_that_fits_into_a_slice_is_shown_as_of_one_moment() {
    const SLICE: usize = 20;
    let stage = stage_in_slices_of(SLICE);
    let core = stage.rig().core().unwrap();
    let m = stage.manager();
    let manager = u32::try_from(m.pid()).unwrap();
    let parties: Vec<_> = (0..10).map(|_| stage.party()).collect();
    for party in &parties {
        offer(party, 4);
    }
    let slices = core.snapshot_slices();
    assert!(slices.len() > parties.len() / 2);
    // The manager has more than a slice takes; every other process is in the slice that it begins in.
    let of_others = slices.iter().skip_while(|slice| {
        !slice
            .iter()
            .any(|item| matches!(item, SnapshotItem::Process(process) if process.pid != manager))
    });
    let mut others = 0;
    for (at, slice) in of_others.enumerate() {
        let begins_with = slice.first().map(mem::discriminant);
        let process = SnapshotItem::Process(Box::new(core.snapshot().processes.remove(0)));
        assert!(at == 0 || begins_with.is_none_or(|it| it == mem::discriminant(&process)));
        others += slice.iter().filter(|it| matches!(it, SnapshotItem::Process(_))).count();
    }
    assert!(others >= parties.len());
    stage.tear_down();
}

#[test]
fn what_stays_is_told_once_whoever_comes_and_goes_between_two_slices() {
    const OBJECTS: u64 = 20;
    for objects in [1, 2, 5, 16] {
        let stage = stage_in_slices_of(objects);
        let core = stage.rig().core().unwrap();
        let _m = stage.manager();
        let mut passing: Vec<_> = (0..3).map(|_| stage.party()).collect();
        let stays = stage.party();
        for party in passing.iter().chain([&stays]) {
            offer(party, OBJECTS);
        }
        let pid = u32::try_from(stays.pid()).unwrap();
        let (mut cursor, mut builder) = (SnapshotCursor::default(), SnapshotBuilder::default());
        let mut slices = 0;
        while !cursor.is_at_end() {
            builder.add(core.snapshot_slice(&mut cursor));
            slices += 1;
            if slices % 2 == 1 {
                passing.pop().inspect(Party::kill);
            } else {
                let fresh = stage.party();
                offer(&fresh, 1);
                passing.insert(0, fresh);
            }
        }
        let snapshot = builder.finish();
        let process = snapshot.processes.iter().find(|process| process.pid == pid).unwrap();
        let names: Vec<u64> = process.nodes.iter().map(|node| node.ptr).collect();
        assert_eq!(names, (1..=OBJECTS).map(|number| 8 * number).collect::<Vec<_>>());
        stage.tear_down();
    }
}
