//! Memory that is not there: what a call with a bad buffer changes, and what it leaves as it was.

use binder_testkit::Return::{
    DeadBinder, DeadReply, FailedReply, Noop, Reply, Transaction, TransactionComplete,
};
use binder_testkit::{
    Entrance, Message, Mode, Party, Progress, Stage, commands, expect, introduce,
};
use binder_uapi::{BC_ACQUIRE, BinderWriteRead};
use rustix::io::Errno;

use crate::registry::checks;

checks! {
    Both c246_a_read_buffer_that_is_not_there_loses_no_reply,
    Both c246_a_read_buffer_that_is_not_there_loses_no_call,
    Both c246_a_read_buffer_that_is_not_there_loses_no_refusal,
    Both c246_a_read_buffer_that_is_not_there_loses_no_death,
    Both c247_a_reply_behind_a_faulting_return_comes_with_the_next_read,
    Both c247_a_refusal_behind_a_faulting_return_comes_with_the_next_read,
    Both c247_a_dead_reply_behind_a_faulting_return_comes_with_the_next_read,
    Both c247_only_the_return_that_faults_is_lost,
    Both c248_a_bad_read_buffer_is_a_fault_though_there_is_nothing_to_read,
    Both c249_the_last_command_is_read_to_its_end,
    Both c249_the_last_code_is_read_to_its_end,
    Both c250_a_write_behind_an_unread_error_is_not_looked_at,
}

/// A read into memory that is not mapped.
fn reading_nowhere(stage: &Stage, p: &Party<'_>) -> BinderWriteRead {
    let read_buffer = stage.rig().guard(p.host());
    BinderWriteRead { read_size: 4096, read_buffer, ..BinderWriteRead::default() }
}

/// A read whose buffer is mapped for `len` bytes only.
fn reading_up_to(p: &Party<'_>, len: usize) -> BinderWriteRead {
    let read_buffer = p.place_at_edge(&vec![0; len]);
    BinderWriteRead { read_size: 4096, read_buffer, ..BinderWriteRead::default() }
}

fn assert_faults(p: &Party<'_>, argument: BinderWriteRead) {
    let attempt = p.attempt(argument);
    assert_eq!(attempt.result, Err(Errno::FAULT));
    assert_eq!(attempt.argument.read_consumed, 0);
}

fn c246_a_read_buffer_that_is_not_there_loses_no_reply(stage: &Stage) {
    let m = stage.manager();
    let p = stage.party();
    p.write(commands().call(0, Message::new(1)));
    let call = m.read_call();
    m.answer(&call, Message::new(0).bytes(b"here"));
    assert_faults(&p, reading_nowhere(stage, &p));
    assert_eq!(p.data(&p.read_reply()), b"here");
}

fn c246_a_read_buffer_that_is_not_there_loses_no_call(stage: &Stage) {
    let m = stage.manager();
    let p = stage.party();
    p.write(commands().call(0, Message::new(1)).oneway(0, Message::new(2)));
    assert_faults(&m, reading_nowhere(stage, &m));
    let call = m.read_call();
    assert_faults(&m, reading_nowhere(stage, &m));
    m.answer(&call, Message::new(0));
    assert_faults(&p, reading_nowhere(stage, &p));
    assert_eq!(m.read_call().code, 2);
    expect!(p.read() => [TransactionComplete, TransactionComplete, Reply(_)]);
}

fn c246_a_read_buffer_that_is_not_there_loses_no_refusal(stage: &Stage) {
    let _m = stage.manager();
    let p = stage.party();
    p.write(commands().call(99, Message::new(1)));
    assert_faults(&p, reading_nowhere(stage, &p));
    expect!(p.read() => [FailedReply]);
    p.assert_idle();
}

fn c246_a_read_buffer_that_is_not_there_loses_no_death(stage: &Stage) {
    let m = stage.manager();
    let s = stage.party();
    let p = stage.party();
    let handle = introduce(&m, &s, (0x10, 0), &p);
    p.write(commands().request_death(handle, 7).call(handle, Message::new(1)));
    s.read_call();
    s.close();
    p.await_readable();
    assert_faults(&p, reading_nowhere(stage, &p));
    expect!(p.read() => [TransactionComplete, DeadReply]);
    expect!(p.read() => [DeadBinder(7)]);
}

fn c247_a_reply_behind_a_faulting_return_comes_with_the_next_read(stage: &Stage) {
    let m = stage.manager();
    let p = stage.party();
    p.write(commands().call(0, Message::new(1)));
    let call = m.read_call();
    m.answer(&call, Message::new(0).bytes(b"here"));
    // The completion is lost.
    assert_faults(&p, reading_up_to(&p, 4));
    expect!(p.read() => [Reply(reply)]);
    assert_eq!(p.data(&reply), b"here");
}

fn c247_a_refusal_behind_a_faulting_return_comes_with_the_next_read(stage: &Stage) {
    let m = stage.manager();
    let p = stage.party();
    p.write(commands().oneway(0, Message::new(1)).call(99, Message::new(2)));
    m.read_call();
    assert_faults(&p, reading_up_to(&p, 4));
    expect!(p.read() => [FailedReply]);
    p.assert_idle();
}

fn c247_a_dead_reply_behind_a_faulting_return_comes_with_the_next_read(stage: &Stage) {
    let m = stage.manager();
    let s = stage.party();
    let p = stage.party();
    let handle = introduce(&m, &s, (0x10, 0), &p);
    p.write(commands().call(handle, Message::new(1)));
    s.read_call();
    s.close();
    p.await_readable();
    assert_faults(&p, reading_up_to(&p, 4));
    expect!(p.read() => [DeadReply]);
    p.assert_idle();
}

fn c247_only_the_return_that_faults_is_lost(stage: &Stage) {
    let m = stage.manager();
    let p = stage.party();
    for code in 1..=4 {
        p.write(commands().oneway(0, Message::new(code)));
    }
    // There is room for the noop and the first completion; the second goes beyond.
    assert_faults(&p, reading_up_to(&p, 8));
    expect!(p.read() => [TransactionComplete, TransactionComplete]);
    for code in 1..=4 {
        let oneway = m.read_call();
        assert_eq!(oneway.code, code);
        m.write(commands().free(oneway.buffer));
    }
    // A call that faults is lost, and the one-way behind it is not.
    p.write(commands().call(0, Message::new(5)).oneway(0, Message::new(6)));
    assert_faults(&m, reading_up_to(&m, 4));
    assert_eq!(m.read_call().code, 6);
}

fn c248_a_bad_read_buffer_is_a_fault_though_there_is_nothing_to_read(stage: &Stage) {
    let m = stage.manager();
    let p = stage.enter(Entrance { mode: Mode::Nonblocking, ..Entrance::default() });
    assert_faults(&p, reading_nowhere(stage, &p));
    p.set_mode(Mode::Blocking);
    assert_eq!(p.start(reading_nowhere(stage, &p)), Progress::Done(Err(Errno::FAULT)));
    // The commands before it are done.
    let oneway = p.writing(&commands().oneway(0, Message::new(1)));
    let BinderWriteRead { read_size, read_buffer, .. } = reading_nowhere(stage, &p);
    let attempt = p.attempt(BinderWriteRead { read_size, read_buffer, ..oneway });
    assert_eq!(attempt.result, Err(Errno::FAULT));
    assert_eq!(attempt.argument.write_consumed, oneway.write_size);
    m.read_call();
    expect!(p.read() => [TransactionComplete]);
}

fn c249_the_last_command_is_read_to_its_end(stage: &Stage) {
    let m = stage.manager();
    let p = stage.party();
    let send = p.writing(&commands().oneway(0, Message::new(5)));
    for cut in [1, 4, 40, 63] {
        let attempt = p.attempt(BinderWriteRead { write_size: send.write_size - cut, ..send });
        assert_eq!((attempt.result, attempt.argument.write_consumed), (Ok(()), send.write_size));
        let oneway = m.read_call();
        assert_eq!(oneway.code, 5);
        m.write(commands().free(oneway.buffer));
    }
    // The last of many, too.
    let mut many = commands();
    for _ in 0..200 {
        many = many.acquire(0);
    }
    let many = p.writing(&many.release(0));
    let attempt = p.attempt(BinderWriteRead { write_size: many.write_size - 2, ..many });
    assert_eq!((attempt.result, attempt.argument.write_consumed), (Ok(()), many.write_size));
}

fn c249_the_last_code_is_read_to_its_end(stage: &Stage) {
    let m = stage.manager();
    let p = stage.party();
    let handle = introduce(&m, &m, (0x10, 0), &p);
    let mut bytes = BC_ACQUIRE.to_le_bytes().to_vec();
    bytes.extend_from_slice(&handle.to_le_bytes());
    let write_buffer = p.place(&bytes);
    for write_size in 1..8 {
        let attempt =
            p.attempt(BinderWriteRead { write_buffer, write_size, ..BinderWriteRead::default() });
        assert_eq!((attempt.result, attempt.argument.write_consumed), (Ok(()), 8));
    }
    let mut releases = commands();
    for _ in 1..8 {
        releases = releases.release(handle);
    }
    p.write(releases);
    expect!(p.exchange(commands().oneway(handle, Message::new(1))) => [TransactionComplete]);
    m.read_call();
}

fn c250_a_write_behind_an_unread_error_is_not_looked_at(stage: &Stage) {
    let m = stage.manager();
    let p = stage.party();
    let failing = p.writing(&commands().call(99, Message::new(1)));
    assert_eq!(p.attempt(failing).result, Ok(()));
    let nowhere = stage.rig().guard(p.host());
    for write_buffer in [nowhere, u64::MAX - 4, 0] {
        let write = BinderWriteRead { write_size: 68, write_buffer, ..BinderWriteRead::default() };
        let attempt = p.attempt(write);
        assert_eq!((attempt.result, attempt.argument.write_consumed), (Ok(()), 0));
    }
    // Nor is it by the read that brings the error.
    let write = BinderWriteRead { write_size: 68, write_buffer: nowhere, ..Default::default() };
    let attempt = p.attempt(p.reading(write));
    expect!(attempt.returns => [Noop, FailedReply]);
    assert_eq!(attempt.argument.write_consumed, 0);
    p.write(commands().oneway(0, Message::new(2)));
    expect!(m.read() => [Transaction(oneway)]);
    assert_eq!(oneway.code, 2);
}
