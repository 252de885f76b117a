//! Objects in the data of transactions.

use binder_testkit::Return::{Acquire, FailedReply, Increfs, TransactionComplete};
use binder_testkit::{Message, Party, Stage, commands, expect, introduce};
use binder_uapi::{
    BINDER_TYPE_BINDER, BINDER_TYPE_FD, BINDER_TYPE_HANDLE, BINDER_TYPE_WEAK_BINDER,
    FLAT_BINDER_FLAG_ACCEPTS_FDS, FlatBinderObject,
};
use rustix::io::Errno;
use zerocopy::IntoBytes;

use crate::registry::checks;

const PTR: u64 = 0x1000;
const COOKIE: u64 = 0x2000;
const OBJECT: (u64, u64) = (PTR, COOKIE);

checks! {
    Both c111_a_handle_of_the_receivers_object_arrives_as_the_object,
    Both c112_a_handle_is_renumbered_for_a_third_process,
    Both c113_a_weak_reference_cannot_be_sent_strongly,
    Both c114_a_weak_handle_of_the_receivers_object_arrives_as_the_object,
    Both c115_a_delivered_handle_has_the_senders_flags_and_no_cookie,
    Both c116_the_first_flags_of_an_object_stay,
    Both c117_an_offset_is_a_multiple_of_four,
    Both c118_objects_do_not_overlap,
    Both c119_an_object_lies_within_the_data,
    Both c120_an_unknown_type_fails,
    Both c121_offsets_come_in_eights,
    Both c122_buffers_come_in_eights,
    Both c123_a_failed_send_takes_everything_back,
    Both c125_c179_a_fresh_page_shows_zeroes,
}

fn assert_fails(p: &Party<'_>, message: Message) {
    expect!(p.exchange(commands().oneway(0, message)) => [FailedReply]);
}

fn assert_refused(p: &Party<'_>, message: Message) {
    assert_fails(p, message);
    assert_eq!(p.extended_error().param, -Errno::INVAL.raw_os_error());
}

fn c111_a_handle_of_the_receivers_object_arrives_as_the_object(stage: &Stage) {
    let m = stage.manager();
    let p = stage.party();
    let handle = introduce(&m, &m, OBJECT, &p);
    p.write(commands().oneway(0, Message::new(1).handle(handle)));
    let object = m.objects(&m.read_call())[0];
    assert_eq!((object.kind, object.binder, object.cookie), (BINDER_TYPE_BINDER, PTR, COOKIE));
}

fn c112_a_handle_is_renumbered_for_a_third_process(stage: &Stage) {
    let m = stage.manager();
    let s = stage.party();
    let p = stage.party();
    introduce(&m, &s, (0x10, 0), &p);
    let at_p = introduce(&m, &s, OBJECT, &p);
    p.write(commands().oneway(0, Message::new(1).handle(at_p)));
    let object = m.objects(&m.read_call())[0];
    assert_eq!((at_p, object.kind, object.handle()), (2, BINDER_TYPE_HANDLE, 1));
}

fn c113_a_weak_reference_cannot_be_sent_strongly(stage: &Stage) {
    let m = stage.manager();
    let p = stage.party();
    let handle = introduce(&m, &m, OBJECT, &p);
    p.write(commands().increfs(handle).release(handle));
    assert_refused(&p, Message::new(1).handle(handle));
}

fn c114_a_weak_handle_of_the_receivers_object_arrives_as_the_object(stage: &Stage) {
    let m = stage.manager();
    let p = stage.party();
    let handle = introduce(&m, &m, OBJECT, &p);
    p.write(commands().oneway(0, Message::new(1).weak_handle(handle)));
    let object = m.objects(&m.read_call())[0];
    assert_eq!((object.kind, object.binder), (BINDER_TYPE_WEAK_BINDER, PTR));
}

fn c115_a_delivered_handle_has_the_senders_flags_and_no_cookie(stage: &Stage) {
    let m = stage.manager();
    let p = stage.party();
    let flags = FLAT_BINDER_FLAG_ACCEPTS_FDS | 0x7f;
    let object = FlatBinderObject { kind: BINDER_TYPE_BINDER, flags, binder: PTR, cookie: COOKIE };
    p.write(commands().oneway(0, Message::new(1).object(object)));
    let delivered = m.objects(&m.read_call())[0];
    assert_eq!(delivered, FlatBinderObject::from_handle(BINDER_TYPE_HANDLE, flags, 1));
}

fn c116_the_first_flags_of_an_object_stay(stage: &Stage) {
    let m = stage.manager();
    let p = stage.party();
    let handle = introduce(&m, &p, OBJECT, &m);
    let object = FlatBinderObject {
        kind: BINDER_TYPE_BINDER,
        flags: FLAT_BINDER_FLAG_ACCEPTS_FDS,
        binder: PTR,
        cookie: COOKIE,
    };
    p.write(commands().oneway(0, Message::new(1).object(object)));
    m.read_call();
    let fd = FlatBinderObject { kind: BINDER_TYPE_FD, flags: 0, binder: 0, cookie: 0 };
    expect!(m.exchange(commands().oneway(handle, Message::new(1).object(fd))) => [FailedReply]);
    assert_eq!(m.extended_error().param, -Errno::PERM.raw_os_error());
}

/// An object at `at`, announced at `offset`.
fn object_at(at: usize, offset: u64) -> Message {
    let object =
        FlatBinderObject { kind: BINDER_TYPE_BINDER, flags: 0, binder: PTR, cookie: COOKIE };
    Message::new(1).bytes(&vec![0; at]).bytes(object.as_bytes()).bytes(&[0; 8]).offset(offset)
}

fn c117_an_offset_is_a_multiple_of_four(stage: &Stage) {
    let m = stage.manager();
    let p = stage.party();
    assert_refused(&p, object_at(2, 2));
    p.write(commands().oneway(0, object_at(4, 4)));
    m.read_call();
}

fn c118_objects_do_not_overlap(stage: &Stage) {
    let _m = stage.manager();
    let p = stage.party();
    assert_fails(&p, object_at(0, 0).offset(0));
    assert_fails(&p, object_at(0, 0).offset(8));
    assert_fails(&p, Message::new(1).bytes(&[0; 24]).binder(PTR, COOKIE).offset(0));
}

fn c119_an_object_lies_within_the_data(stage: &Stage) {
    let _m = stage.manager();
    let p = stage.party();
    assert_fails(&p, object_at(0, 0).claim_data_size(20));
    assert_fails(&p, object_at(0, 0x1000));
    assert_fails(&p, object_at(0, u64::MAX - 3));
}

fn c120_an_unknown_type_fails(stage: &Stage) {
    let _m = stage.manager();
    let p = stage.party();
    let object = FlatBinderObject { kind: 0x7878_7885, ..FlatBinderObject::default() };
    assert_refused(&p, Message::new(1).object(object));
}

fn c121_offsets_come_in_eights(stage: &Stage) {
    let _m = stage.manager();
    let p = stage.party();
    assert_refused(&p, Message::new(1).binder(PTR, COOKIE).offset(0).claim_offsets_size(12));
}

fn c122_buffers_come_in_eights(stage: &Stage) {
    let m = stage.manager();
    let p = stage.party();
    assert_refused(&p, Message::new(1).bytes(b"data").buffers_size(4));
    p.write(commands().oneway(0, Message::new(1).bytes(b"data").buffers_size(8)));
    assert_eq!(m.data(&m.read_call()), b"data");
}

fn c123_a_failed_send_takes_everything_back(stage: &Stage) {
    let m = stage.manager();
    let p = stage.party();
    let handle = introduce(&m, &m, (0x30, 0), &p);
    let message = Message::new(1).binder(0x10, 0).weak_binder(0x20, 0).handle(handle).handle(99);
    assert_refused(&p, message);
    p.assert_idle();
    m.assert_idle();
    // The receiver's handles are as they were, and so is the sender's object.
    expect!(p.exchange(commands().oneway(0, Message::new(1).binder(PTR, COOKIE))) => [
        Increfs(PTR, COOKIE),
        Acquire(PTR, COOKIE),
        TransactionComplete
    ]);
    assert_eq!(m.objects(&m.read_call())[0].handle(), 1);
    p.write(commands().release(handle));
    assert_eq!(m.read().len(), 2, "released and forgotten");
}

fn c125_c179_a_fresh_page_shows_zeroes(stage: &Stage) {
    let m = stage.manager();
    let p = stage.party();
    p.write(commands().oneway(0, Message::new(1).bytes(b"secret of one receiver")));
    expect!(p.read() => [TransactionComplete]);
    assert_eq!(m.data(&m.read_call()).len(), 22);
    let q = stage.party();
    let handle = introduce(&m, &q, OBJECT, &p);
    p.write(commands().oneway(handle, Message::new(1).bytes(&[0xaa; 3])));
    let received = q.read_call();
    // What follows the data in its page was never written by a client.
    let in_page = received.buffer % 4096;
    let rest = usize::try_from(4096 - in_page).unwrap();
    let page = q.peek(received.buffer, rest);
    assert_eq!(page[..3], [0xaa; 3]);
    assert!(page[3..].iter().all(|&byte| byte == 0), "{page:x?}");
}
