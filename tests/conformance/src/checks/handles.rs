//! How a process's handles are numbered.

use binder_testkit::Return::{Decrefs, Release, TransactionComplete};
use binder_testkit::{Message, Stage, commands, expect, introduce};

use crate::registry::checks;

checks! {
    Both c051_c059_the_first_handles_are_one_and_two,
    Both c052_the_lowest_free_handle_is_the_next,
    Both c053_a_node_keeps_its_handle,
    Both c054_a_node_has_a_handle_in_each_process,
    Both c055_a_thousand_objects_get_a_thousand_handles,
}

fn c051_c059_the_first_handles_are_one_and_two(stage: &Stage) {
    let m = stage.manager();
    let p = stage.party();
    assert_eq!(introduce(&m, &m, (0x10, 0), &p), 1);
    assert_eq!(introduce(&m, &m, (0x20, 0), &p), 2);
    // Zero is left to the manager.
    p.write(commands().acquire(0).call(0, Message::new(1).handle(0)));
    m.read_call();
}

fn c052_the_lowest_free_handle_is_the_next(stage: &Stage) {
    let m = stage.manager();
    let p = stage.party();
    for ptr in 1..=3 {
        introduce(&m, &m, (ptr, 0), &p);
    }
    p.write(commands().release(2).release(1));
    expect!(m.read() => [Release(2, 0), Decrefs(2, 0), Release(1, 0), Decrefs(1, 0)]);
    assert_eq!(introduce(&m, &m, (0x40, 0), &p), 1);
    assert_eq!(introduce(&m, &m, (0x50, 0), &p), 2);
    assert_eq!(introduce(&m, &m, (0x60, 0), &p), 4);
}

fn c053_a_node_keeps_its_handle(stage: &Stage) {
    let m = stage.manager();
    let p = stage.party();
    let first = introduce(&m, &m, (0x10, 0), &p);
    introduce(&m, &m, (0x20, 0), &p);
    assert_eq!(introduce(&m, &m, (0x10, 0), &p), first);
}

fn c054_a_node_has_a_handle_in_each_process(stage: &Stage) {
    let m = stage.manager();
    let p = stage.party();
    let q = stage.party();
    introduce(&m, &m, (0x10, 0), &p);
    assert_eq!(introduce(&m, &m, (0x20, 0), &p), 2);
    assert_eq!(introduce(&m, &m, (0x20, 0), &q), 1);
}

fn c055_a_thousand_objects_get_a_thousand_handles(stage: &Stage) {
    let m = stage.manager();
    let p = stage.party();
    let mut message = Message::new(1);
    for ptr in 1..=1000 {
        message = message.binder(ptr, 0);
    }
    p.write(commands().call(0, message));
    let call = m.read_call();
    let handles: Vec<u32> = m.objects(&call).iter().map(|object| object.handle()).collect();
    assert!(handles.iter().copied().eq(1..=1000), "{handles:?}");
    m.write(commands().reply(Message::new(0)));
    expect!(m.read() => [TransactionComplete]);
}
