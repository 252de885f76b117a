//! The frame of a `BINDER_WRITE_READ`.

use binder_testkit::Return::{Noop, Transaction, TransactionComplete};
use binder_testkit::{Message, Stage, commands, expect};
use binder_uapi::BinderWriteRead;
use rustix::io::Errno;

use crate::registry::checks;

checks! {
    Both c018_two_empty_sizes_change_nothing,
    Both c019_a_first_read_starts_with_a_noop,
    Both c031_c032_an_interrupted_read_has_sent_its_commands,
}

fn c018_two_empty_sizes_change_nothing(stage: &Stage) {
    let p = stage.party();
    let argument = BinderWriteRead { write_consumed: 7, read_consumed: 9, ..Default::default() };
    let attempt = p.attempt(argument);
    assert_eq!((attempt.result, attempt.argument), (Ok(()), argument));
}

fn c019_a_first_read_starts_with_a_noop(stage: &Stage) {
    let m = stage.manager();
    let p = stage.party();
    p.write(commands().oneway(0, Message::new(1)));
    let attempt = m.attempt(m.reading(BinderWriteRead::default()));
    expect!(attempt.returns => [Noop, Transaction(_)]);
    assert_eq!(attempt.argument.read_consumed, 4 + 4 + 64);
    expect!(p.read() => [TransactionComplete]);
}

fn c031_c032_an_interrupted_read_has_sent_its_commands(stage: &Stage) {
    let m = stage.manager();
    let p = stage.party();
    p.park_with(commands().call(0, Message::new(1)));
    let attempt = p.interrupted();
    assert_eq!(attempt.result, Err(Errno::INTR));
    assert_eq!(attempt.argument.write_consumed, 68);
    assert_eq!(attempt.argument.read_consumed, 0);
    let call = m.read_call();
    assert_eq!(p.start(attempt.argument), binder_testkit::Progress::Parked);
    m.answer(&call, Message::new(0));
    expect!(p.woken() => [TransactionComplete, binder_testkit::Return::Reply(_)]);
    m.assert_idle();
}
