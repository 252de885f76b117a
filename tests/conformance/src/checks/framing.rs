//! The frame of a `BINDER_WRITE_READ`.

use binder_testkit::Return::{
    ClearDeathDone, DeadBinder, FailedReply, Noop, Reply, Transaction, TransactionComplete,
};
use binder_testkit::{
    Entrance, Message, Mode, Party, Progress, Stage, commands, expect, introduce,
};
use binder_uapi::{BC_ACQUIRE, BC_ACQUIRE_RESULT, BC_ATTEMPT_ACQUIRE, BR_NOOP, BinderWriteRead};
use rustix::io::Errno;
use zerocopy::IntoBytes;

use crate::registry::checks;

/// A command word and a transaction.
const SEND_LEN_BYTES: u64 = 4 + 64;

checks! {
    Both c018_two_empty_sizes_change_nothing,
    Both c019_c022_a_first_read_starts_with_a_noop,
    Both c020_a_later_read_appends_without_a_noop,
    Both c021_c022_a_write_starts_where_it_left_off,
    Both c023_c024_an_unknown_command_ends_the_write,
    Both c025_the_unsupported_commands_are_invalid,
    Both c026_a_truncated_payload_is_a_fault,
    Both c027_a_read_ends_with_a_transaction,
    Both c028_a_death_ends_the_read_and_a_clearing_does_not,
    Both c029_an_item_waits_for_76_bytes_of_room,
    Both c030_a_read_buffer_of_three_bytes_is_a_fault,
    Both c031_c032_an_interrupted_read_has_sent_its_commands,
    Both c033_a_nonblocking_read_has_sent_its_commands,
    Both c034_nonblocking_may_be_switched_on_later,
    Both c035_a_failed_send_leaves_the_commands_behind_it,
    Both c036_the_first_read_of_a_thread_may_return_at_once,
    Both c037_a_fault_while_delivering_fails_the_call,
    Both c038_a_fault_while_delivering_loses_no_room,
    Both c038_a_fault_while_delivering_does_not_block_the_node,
}

fn c018_two_empty_sizes_change_nothing(stage: &Stage) {
    let p = stage.party();
    let argument = BinderWriteRead { write_consumed: 7, read_consumed: 9, ..Default::default() };
    let attempt = p.attempt(argument);
    assert_eq!((attempt.result, attempt.argument), (Ok(()), argument));
}

fn c019_c022_a_first_read_starts_with_a_noop(stage: &Stage) {
    let m = stage.manager();
    let p = stage.party();
    let attempt = p.attempt(p.reading(p.writing(&commands().oneway(0, Message::new(1)))));
    expect!(attempt.returns => [Noop, TransactionComplete]);
    assert_eq!(attempt.argument.write_consumed, SEND_LEN_BYTES);
    assert_eq!(attempt.argument.read_consumed, 8);
    let attempt = m.attempt(m.reading(BinderWriteRead::default()));
    expect!(attempt.returns => [Noop, Transaction(_)]);
    assert_eq!(attempt.argument.read_consumed, 4 + SEND_LEN_BYTES);
}

fn c020_a_later_read_appends_without_a_noop(stage: &Stage) {
    let m = stage.manager();
    let p = stage.party();
    p.write(commands().oneway(0, Message::new(1)));
    let before = [BR_NOOP, BR_NOOP];
    let argument = m.reading(BinderWriteRead { read_consumed: 8, ..Default::default() });
    m.poke(argument.read_buffer, before.as_bytes());
    let attempt = m.attempt(argument);
    expect!(attempt.returns => [Noop, Noop, Transaction(_)]);
    assert_eq!(attempt.argument.read_consumed, 8 + SEND_LEN_BYTES);
}

fn c021_c022_a_write_starts_where_it_left_off(stage: &Stage) {
    let m = stage.manager();
    let p = stage.party();
    let write = commands().raw(&[0xff; 8]).oneway(0, Message::new(5));
    let attempt = p.attempt(BinderWriteRead { write_consumed: 8, ..p.writing(&write) });
    assert_eq!((attempt.result, attempt.argument.write_consumed), (Ok(()), 8 + SEND_LEN_BYTES));
    assert_eq!(m.read_call().code, 5);
}

fn c023_c024_an_unknown_command_ends_the_write(stage: &Stage) {
    let m = stage.manager();
    let p = stage.party();
    let write = commands().oneway(0, Message::new(5)).command(0xdead_beef, &[]);
    let argument = BinderWriteRead { read_consumed: 4, ..p.reading(p.writing(&write)) };
    let attempt = p.attempt(argument);
    assert_eq!(attempt.result, Err(Errno::INVAL));
    assert_eq!(attempt.argument.write_consumed, SEND_LEN_BYTES);
    assert_eq!(attempt.argument.read_consumed, 0);
    assert_eq!(m.read_call().code, 5);
}

fn c025_the_unsupported_commands_are_invalid(stage: &Stage) {
    let p = stage.party();
    for (code, payload) in [(BC_ATTEMPT_ACQUIRE, &[0; 8][..]), (BC_ACQUIRE_RESULT, &[0; 4])] {
        assert_eq!(p.try_write(commands().command(code, payload)).result, Err(Errno::INVAL));
    }
}

fn c026_a_truncated_payload_is_a_fault(stage: &Stage) {
    let m = stage.manager();
    let p = stage.party();
    let handle = introduce(&m, &m, (0x10, 0x20), &p);
    let mut bytes = BC_ACQUIRE.to_le_bytes().to_vec();
    bytes.extend_from_slice(&handle.to_le_bytes());
    bytes.extend_from_slice(&BC_ACQUIRE.to_le_bytes());
    bytes.extend_from_slice(&[0; 2]);
    let argument = BinderWriteRead {
        write_buffer: p.place_at_edge(&bytes),
        write_size: 16,
        ..BinderWriteRead::default()
    };
    let attempt = p.attempt(argument);
    assert_eq!(attempt.result, Err(Errno::FAULT));
    assert_eq!(attempt.argument.write_consumed, 8);
    // The first of the two acquisitions took effect.
    p.write(commands().release(handle));
    p.write(commands().call(handle, Message::new(1)));
    m.read_call();
}

fn c027_a_read_ends_with_a_transaction(stage: &Stage) {
    let m = stage.manager();
    let p = stage.party();
    let one = introduce(&m, &m, (0x10, 0), &p);
    let two = introduce(&m, &m, (0x20, 0), &p);
    p.write(commands().oneway(one, Message::new(1)).oneway(two, Message::new(2)));
    // Both wait, each brought by a read of its own.
    assert_eq!(m.read_call().code, 1);
    assert_eq!(m.read_call().code, 2);
}

fn c028_a_death_ends_the_read_and_a_clearing_does_not(stage: &Stage) {
    let m = stage.manager();
    let s = stage.party();
    let p = stage.party();
    let one = introduce(&m, &s, (0x10, 0), &p);
    let two = introduce(&m, &s, (0x20, 0), &p);
    p.park_with(commands().request_death(one, 1).request_death(two, 2));
    s.close();
    expect!(p.woken() => [DeadBinder(first)]);
    expect!(p.read() => [DeadBinder(second)]);
    assert_eq!(first + second, 3);
    let write = commands().dead_binder_done(1).dead_binder_done(2);
    p.write(write.clear_death(one, 1).clear_death(two, 2));
    expect!(p.read() => [ClearDeathDone(1), ClearDeathDone(2)]);
}

fn c029_an_item_waits_for_76_bytes_of_room(stage: &Stage) {
    let p = stage.party();
    let _m = stage.manager();
    p.write(commands().oneway(0, Message::new(1)));
    let narrow = |len| BinderWriteRead { read_size: len, ..p.reading(BinderWriteRead::default()) };
    expect!(p.attempt(narrow(4 + 75)).returns => [Noop]);
    expect!(p.attempt(narrow(4 + 76)).returns => [Noop, TransactionComplete]);
}

fn c030_a_read_buffer_of_three_bytes_is_a_fault(stage: &Stage) {
    let p = stage.party();
    for len in 1..=3 {
        let argument = p.reading(BinderWriteRead::default());
        p.poke(argument.read_buffer, &[0x55; 8]);
        let attempt = p.attempt(BinderWriteRead { read_size: len, ..argument });
        assert_eq!(attempt.result, Err(Errno::FAULT), "{len} bytes");
        let beyond = usize::try_from(len).unwrap();
        assert_eq!(p.peek(argument.read_buffer, 8)[beyond..], [0x55; 8][beyond..]);
    }
}

fn c031_c032_an_interrupted_read_has_sent_its_commands(stage: &Stage) {
    let m = stage.manager();
    let p = stage.party();
    p.park_with(commands().call(0, Message::new(1)));
    let attempt = p.interrupted();
    assert_eq!(attempt.result, Err(Errno::INTR));
    assert_eq!(attempt.argument.write_consumed, SEND_LEN_BYTES);
    assert_eq!(attempt.argument.read_consumed, 0);
    let call = m.read_call();
    assert_eq!(p.start(attempt.argument), Progress::Parked);
    m.answer(&call, Message::new(0));
    expect!(p.woken() => [TransactionComplete, Reply(_)]);
    m.assert_idle();
}

fn assert_would_block(p: &Party<'_>, m: &Party<'_>) {
    let call = commands().call(0, Message::new(1));
    let attempt = p.attempt(p.reading(p.writing(&call)));
    assert_eq!(attempt.result, Err(Errno::AGAIN));
    assert_eq!(attempt.argument.write_consumed, SEND_LEN_BYTES);
    let call = m.read_call();
    m.answer(&call, Message::new(0));
    expect!(p.read() => [TransactionComplete, Reply(_)]);
}

fn c033_a_nonblocking_read_has_sent_its_commands(stage: &Stage) {
    let m = stage.manager();
    let p = stage.enter(Entrance { mode: Mode::Nonblocking, ..Entrance::default() });
    assert_would_block(&p, &m);
}

fn c034_nonblocking_may_be_switched_on_later(stage: &Stage) {
    let m = stage.manager();
    let p = stage.party();
    stage.rig().set_mode(p.caller().process, Mode::Nonblocking);
    assert_would_block(&p, &m);
    stage.rig().set_mode(p.caller().process, Mode::Blocking);
    p.assert_idle();
}

fn c035_a_failed_send_leaves_the_commands_behind_it(stage: &Stage) {
    let m = stage.manager();
    let p = stage.party();
    let sends = commands().call(99, Message::new(1)).oneway(0, Message::new(2));
    let attempt = p.attempt(p.reading(p.writing(&sends)));
    attempt.result.unwrap();
    assert_eq!(attempt.argument.write_consumed, SEND_LEN_BYTES);
    expect!(attempt.returns => [Noop, FailedReply]);
    m.assert_idle();
}

fn c036_the_first_read_of_a_thread_may_return_at_once(stage: &Stage) {
    let p = stage.party();
    let cold = p.cold_thread();
    match cold.start(cold.reading(BinderWriteRead::default())) {
        Progress::Done(result) => assert_eq!(result, Ok(())),
        Progress::Parked => assert_eq!(cold.interrupted().result, Err(Errno::INTR)),
    }
    cold.assert_idle();
}

/// A read of which only the leading `BR_NOOP` finds room in memory.
fn reading_at_the_edge(p: &Party<'_>) -> BinderWriteRead {
    let read_buffer = p.place_at_edge(&[0; 4]);
    BinderWriteRead { read_size: 4096, read_buffer, ..BinderWriteRead::default() }
}

fn c037_a_fault_while_delivering_fails_the_call(stage: &Stage) {
    let m = stage.manager();
    let p = stage.party();
    p.write(commands().call(0, Message::new(1)));
    assert_eq!(m.attempt(reading_at_the_edge(&m)).result, Err(Errno::FAULT));
    expect!(p.read() => [TransactionComplete, FailedReply]);
    m.assert_idle();
}

fn c038_a_fault_while_delivering_loses_no_room(stage: &Stage) {
    const WHOLE: usize = 1 << 16;
    let m = stage.party_with_area(WHOLE);
    stage.appoint(&m);
    let p = stage.party();
    let fill = commands().call(0, Message::new(1).bytes(&[1; WHOLE]));
    p.write(fill.clone());
    assert_eq!(m.attempt(reading_at_the_edge(&m)).result, Err(Errno::FAULT));
    expect!(p.read() => [TransactionComplete, FailedReply]);
    p.write(fill);
    m.read_call();
}

fn c038_a_fault_while_delivering_does_not_block_the_node(stage: &Stage) {
    let m = stage.manager();
    let p = stage.party();
    p.write(commands().oneway(0, Message::new(1)).oneway(0, Message::new(2)));
    assert_eq!(m.attempt(reading_at_the_edge(&m)).result, Err(Errno::FAULT));
    assert_eq!(m.read_call().code, 2);
}
