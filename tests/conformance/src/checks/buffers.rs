//! The buffers of a receive area.

use binder_testkit::Return::{FailedReply, Transaction};
use binder_testkit::{Message, Party, Stage, commands, expect};
use binder_uapi::{BinderTransactionData, TF_CLEAR_BUF};
use rustix::io::Errno;

use crate::registry::checks;

const WHOLE: usize = 1 << 16;

checks! {
    Both c170_c244_a_wrong_address_is_not_freed,
    Both c170_a_buffer_is_not_freed_before_it_is_delivered,
    Both c171_the_address_of_another_process_is_not_freed,
    Both c173_the_smallest_range_that_fits_is_taken,
    Both c174_the_whole_area_can_be_used,
    Both c175_a_huge_size_is_refused,
    Both c178_a_buffer_is_cleared_if_asked,
}

/// A call of `len` bytes to the manager, between fresh threads, each waiting for the other.
fn received<'s>(m: &Party<'s>, p: &Party<'s>, len: usize) -> (Party<'s>, BinderTransactionData) {
    p.thread().write(commands().call(0, Message::new(1).bytes(&vec![1; len])));
    let thread = m.thread();
    let call = thread.read_call();
    (thread, call)
}

fn manager_with(stage: &Stage, len: usize) -> Party<'_> {
    let m = stage.party_with_area(len);
    stage.appoint(&m);
    m
}

/// Whether a call of `len` bytes finds room in the manager's area.
fn fits(m: &Party<'_>, p: &Party<'_>, len: usize) -> bool {
    let sender = p.thread();
    let call = commands().call(0, Message::new(1).bytes(&vec![1; len]));
    match sender.try_write(call).argument {
        _ if sender.extended_error().param == -Errno::NOSPC.raw_os_error() => {
            expect!(sender.read() => [FailedReply]);
            false
        }
        _ => {
            let server = m.thread();
            let call = server.read_call();
            server.answer(&call, Message::new(0));
            true
        }
    }
}

fn c170_c244_a_wrong_address_is_not_freed(stage: &Stage) {
    let m = manager_with(stage, WHOLE);
    let p = stage.party();
    let (_, call) = received(&m, &p, 64);
    let wrong = [0, 8, call.buffer + 8, call.buffer + 64, m.area().base - 8, u64::MAX];
    for address in wrong {
        m.write(commands().free(address));
        assert!(!fits(&m, &p, WHOLE), "{address:#x}");
    }
    m.write(commands().free(call.buffer));
    assert!(fits(&m, &p, WHOLE));
    // Freed twice, by two threads: the second frees no other buffer.
    let (_, again) = received(&m, &p, 64);
    assert_eq!(again.buffer, call.buffer);
    m.write(commands().free(again.buffer));
    m.thread().write(commands().free(again.buffer));
    assert!(fits(&m, &p, WHOLE));
    assert!(!fits(&m, &p, WHOLE + 8));
}

fn c170_a_buffer_is_not_freed_before_it_is_delivered(stage: &Stage) {
    let m = stage.manager();
    let p = stage.party();
    p.write(commands().call(0, Message::new(1).bytes(b"first")));
    // A receiver can guess where its buffers are.
    m.write(commands().free(m.area().base));
    p.thread().write(commands().call(0, Message::new(2).bytes(b"other")));
    let call = m.read_call();
    assert_eq!((call.buffer, m.data(&call)), (m.area().base, b"first".to_vec()));
}

fn c171_the_address_of_another_process_is_not_freed(stage: &Stage) {
    let m = manager_with(stage, WHOLE);
    let p = stage.party();
    let (_, call) = received(&m, &p, 64);
    p.write(commands().free(call.buffer));
    m.second_open().write(commands().free(call.buffer));
    assert!(!fits(&m, &p, WHOLE));
}

fn c173_the_smallest_range_that_fits_is_taken(stage: &Stage) {
    let m = manager_with(stage, WHOLE);
    let p = stage.party();
    let (_, large) = received(&m, &p, 128);
    received(&m, &p, 8);
    let (_, small) = received(&m, &p, 64);
    received(&m, &p, 8);
    m.write(commands().free(large.buffer).free(small.buffer));
    let (_, fitting) = received(&m, &p, 64);
    assert_eq!(fitting.buffer, small.buffer);
    let (_, next) = received(&m, &p, 64);
    assert_eq!(next.buffer, large.buffer);
}

fn c174_the_whole_area_can_be_used(stage: &Stage) {
    let m = manager_with(stage, WHOLE);
    let p = stage.party();
    assert!(!fits(&m, &p, WHOLE + 1));
    assert!(fits(&m, &p, WHOLE));
}

fn c175_a_huge_size_is_refused(stage: &Stage) {
    let _m = stage.manager();
    let p = stage.party();
    let largest = u64::MAX - 7;
    let claims = [
        (Message::new(1).claim_data_size(largest), Errno::NOSPC),
        (Message::new(1).claim_offsets_size(largest), Errno::NOSPC),
        (Message::new(1).claim_data_size(largest).claim_offsets_size(8), Errno::INVAL),
        (Message::new(1).bytes(b"data").buffers_size(largest), Errno::INVAL),
    ];
    for (claim, errno) in claims {
        let described = format!("{claim:?}");
        expect!(p.exchange(commands().call(0, claim)) => [FailedReply]);
        assert_eq!(p.extended_error().param, -errno.raw_os_error(), "{described}");
    }
    // Rounded up it is nothing at all.
    expect!(p.exchange(commands().call(0, Message::new(1).claim_data_size(u64::MAX))) => [
        FailedReply
    ]);
}

fn c178_a_buffer_is_cleared_if_asked(stage: &Stage) {
    let m = stage.manager();
    let p = stage.party();
    p.write(commands().oneway(0, Message::new(1).flags(TF_CLEAR_BUF).bytes(&[0x55; 60])));
    expect!(m.read() => [Transaction(call)]);
    assert_eq!(m.data(&call), [0x55; 60]);
    m.write(commands().free(call.buffer));
    assert_eq!(m.data(&call), [0; 60]);
}
