//! What a thread or a process leaves that ends, and what many are told: a slice at a time, and no other thread
//! waits for more.

use binder_testkit::{CoreRig, Message, Party, Return, Stage, commands, introduce};
use binder_uapi::{BINDER_FREEZE, BinderFreezeInfo};

/// Far more than a slice deals with.
const MANY: usize = 50;
const SLICE: usize = 8;

fn stage() -> Stage {
    Stage::new(Box::new(CoreRig::default().in_slices_of(SLICE)))
}

fn core(stage: &Stage) -> &CoreRig {
    stage.rig().core().expect("a rig on the core")
}

/// Has a thread of `party` owed a notice for each of many new objects.
fn leave_notices(party: &Party<'_>) {
    let objects = (1..=MANY as u64)
        .fold(Message::new(1), |message, number| message.binder(8 * number, number));
    party.write(commands().oneway(0, objects));
}

/// How many deaths a party reads of.
fn deaths_read(party: &Party<'_>) -> usize {
    party.read().iter().filter(|it| matches!(it, Return::DeadBinder(_))).count()
}

#[test]
fn a_thread_that_leaves_many_notices_is_gone_at_once_and_they_go_slice_by_slice() {
    let stage = stage();
    let (m, p) = (stage.manager(), stage.party());
    let other = p.thread();
    leave_notices(&p);
    let call = m.read_call();
    core(&stage).end_slowly();
    // The thread's completion is dropped; each of its notices is for any thread of its process.
    let of_process = || {
        let processes = core(&stage).snapshot().processes;
        let process = processes.into_iter().find(|it| i32::try_from(it.pid) == Ok(p.pid()));
        let process = process.expect("it has the device open");
        (process.threads.len(), process.todo.len())
    };
    p.exit_thread();
    let (threads, mut passed_on) = of_process();
    assert_eq!(threads, 1, "the other is there still");
    assert!(passed_on <= SLICE, "{passed_on}");
    let mut slices = 1;
    while core(&stage).end_some() {
        let (_, more) = of_process();
        assert!(more - passed_on <= SLICE, "{passed_on}, {more}");
        passed_on = more;
        slices += 1;
    }
    assert_eq!(of_process(), (1, MANY));
    assert!(slices >= MANY / SLICE, "{slices} slices");
    let notices = other.read();
    assert!(notices.len() >= MANY, "{notices:?}");
    m.write(commands().free(call.buffer));
    stage.tear_down();
}

#[test]
fn a_process_that_ends_takes_the_queues_of_its_threads_along_that_have_ended() {
    for slices in 0..MANY / SLICE {
        let stage = stage();
        let (_m, p) = (stage.manager(), stage.party());
        leave_notices(&p);
        core(&stage).end_slowly();
        p.exit_thread();
        for _ in 0..slices {
            assert!(core(&stage).end_some(), "{slices}");
        }
        p.kill();
        stage.tear_down();
    }
}

/// A stage where many watch an object, whose owner comes first.
fn watched(stage: &Stage) -> (Party<'_>, Vec<Party<'_>>) {
    let (m, owner) = (stage.manager(), stage.party());
    let watchers = (0..MANY).map(|_| {
        let watcher = stage.party();
        let handle = introduce(&m, &owner, (8, 9), &watcher);
        assert_eq!(handle, 1);
        watcher.write(commands().request_death(handle, 77));
        watcher
    });
    let watchers = watchers.collect();
    core(stage).end_slowly();
    (owner, watchers)
}

/// How many have been told, or are to read it.
fn told(stage: &Stage) -> usize {
    let processes = core(stage).snapshot().processes;
    processes.iter().filter(|it| !it.todo.is_empty()).count()
}

#[test]
fn a_death_is_told_to_many_slice_by_slice() {
    let stage = stage();
    let (owner, watchers) = watched(&stage);
    owner.kill();
    let (mut before, mut slices) = (told(&stage), 1);
    assert!(before <= SLICE, "{before}");
    while core(&stage).end_some() {
        let now = told(&stage);
        assert!(now - before <= SLICE, "{before}, {now}");
        before = now;
        slices += 1;
    }
    assert!(slices > MANY / SLICE, "{slices} slices");
    for watcher in &watchers {
        assert_eq!(deaths_read(watcher), 1);
        watcher.write(commands().dead_binder_done(77));
        watcher.assert_idle();
    }
    stage.tear_down();
}

#[test]
fn who_comes_or_goes_while_a_death_is_told_hears_of_it_once_or_not() {
    let stage = stage();
    let (owner, watchers) = watched(&stage);
    owner.kill();
    let is_untold = |party: &&Party<'_>| {
        let processes = core(&stage).snapshot().processes;
        let process = processes.into_iter().find(|it| i32::try_from(it.pid) == Ok(party.pid()));
        process.is_some_and(|it| it.todo.is_empty())
    };
    let untold: Vec<_> = watchers.iter().filter(is_untold).collect();
    let [leaving, returning, ..] = untold[..] else { panic!("all are told") };
    leaving.write(commands().clear_death(1, 77));
    returning.write(commands().clear_death(1, 77));
    returning.read();
    returning.write(commands().request_death(1, 78));
    while core(&stage).end_some() {}
    assert_eq!(deaths_read(leaving), 0);
    leaving.assert_idle();
    assert_eq!(deaths_read(returning), 1, "at once, and once");
    returning.write(commands().dead_binder_done(78));
    returning.assert_idle();
    for watcher in
        watchers.iter().filter(|it| it.pid() != leaving.pid() && it.pid() != returning.pid())
    {
        assert_eq!(deaths_read(watcher), 1);
    }
    stage.tear_down();
}

fn set_frozen(by: &Party<'_>, who: &Party<'_>, is_wanted: bool) {
    let pid = who.pid().unsigned_abs();
    let mut request = BinderFreezeInfo { pid, enable: is_wanted.into(), timeout_ms: 0 };
    assert_eq!(by.ioctl(BINDER_FREEZE, &mut request), Ok(()));
}

/// What a party reads of its freeze link, acknowledging each, until there is nothing more.
fn freezes_read(party: &Party<'_>) -> Vec<bool> {
    let mut told = Vec::new();
    while party.is_readable() {
        for returned in party.read() {
            if let Return::FrozenBinder { is_frozen, cookie } = returned {
                told.push(is_frozen);
                party.write(commands().freeze_done(cookie));
            }
        }
    }
    told
}

#[test]
fn a_freeze_is_told_to_many_slice_by_slice_and_each_hears_of_it_once() {
    for changes in 1..=3 {
        let stage = stage();
        let (m, owner) = (stage.manager(), stage.party());
        let handle_of = |party: &Party<'_>| introduce(&m, &owner, (8, 9), party);
        let watchers: Vec<_> = (0..MANY).map(|_| stage.party()).collect();
        for watcher in &watchers {
            let handle = handle_of(watcher);
            watcher.write(commands().request_freeze(handle, 77));
            watcher.await_readable();
            assert_eq!(freezes_read(watcher), [false]);
        }
        let late = stage.party();
        let handle = handle_of(&late);
        core(&stage).end_slowly();
        for change in 0..changes {
            let (before, is_frozen) = (told(&stage), change % 2 == 0);
            set_frozen(&m, &owner, is_frozen);
            assert!(told(&stage) - before <= SLICE, "{before}");
            if change == 0 {
                late.write(commands().request_freeze(handle, 77));
            }
        }
        let mut before = told(&stage);
        while core(&stage).end_some() {
            let now = told(&stage);
            assert!(now - before <= SLICE, "{before}, {now}");
            before = now;
        }
        let is_frozen = changes % 2 == 1;
        for watcher in watchers.iter().chain([&late]) {
            assert_eq!(freezes_read(watcher), [is_frozen], "{changes} changes");
        }
        set_frozen(&m, &owner, false);
        while core(&stage).end_some() {}
        stage.tear_down();
    }
}
