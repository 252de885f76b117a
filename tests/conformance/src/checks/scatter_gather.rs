//! Buffers that travel beside the data.

use binder_testkit::Return::{FailedReply, TransactionComplete};
use binder_testkit::{Message, Party, Stage, commands, expect};
use binder_uapi::{
    BINDER_TYPE_FDA, BINDER_TYPE_HANDLE, BINDER_TYPE_PTR, BINDER_TYPE_WEAK_HANDLE,
    BinderBufferObject, BinderFdArrayObject, BinderTransactionData,
};
use rustix::io::Errno;
use zerocopy::IntoBytes;

use crate::registry::checks;

checks! {
    Both c140_c141_buffers_follow_the_offsets,
    Both c140_an_empty_buffer_has_a_place,
    Both c140_c143_a_reply_brings_buffers_too,
    Both c140_objects_lie_beside_buffers,
    Both c140_a_buffer_that_cannot_be_read_fails_the_call,
    Both c140_all_objects_are_looked_at_before_a_buffer_is_read,
    Both c142_a_buffer_needs_room,
    Both c143_c149_a_child_is_found_through_its_parent,
    Both c144_a_parent_is_an_earlier_buffer,
    Both c145_an_address_lies_within_the_parent,
    Both c145_an_address_is_aligned_to_four_bytes,
    Both c146_addresses_in_a_parent_go_up,
    Both c147_a_descendant_is_closed_once_left,
    Both c148_a_buffer_at_offset_zero_may_be_a_parent,
}

/// What a sender's pointers look like.
const SECRET: [u8; 32] = [0x5e; 32];

/// A message with eight bytes of data, so that no object is at offset 0.
fn message() -> Message {
    Message::new(1).bytes(&[0; 8])
}

fn received(m: &Party<'_>, oneway: &BinderTransactionData) -> Vec<BinderBufferObject> {
    let offsets = m.offsets(oneway);
    offsets.iter().map(|offset| m.peek_value(oneway.buffer + offset)).collect()
}

fn accepted(stage: &Stage, message: Message) -> (Party<'_>, BinderTransactionData) {
    let m = stage.manager();
    let p = stage.party();
    expect!(p.exchange(commands().oneway(0, message)) => [TransactionComplete]);
    let oneway = m.read_call();
    (m, oneway)
}

fn assert_refused(stage: &Stage, messages: impl IntoIterator<Item = Message>) {
    let _m = stage.manager();
    let p = stage.party();
    for message in messages {
        let shown = format!("{message:?}");
        let read = p.exchange(commands().oneway(0, message));
        assert_eq!(read, [FailedReply], "{shown}");
    }
}

fn c140_c141_buffers_follow_the_offsets(stage: &Stage) {
    let (m, oneway) = accepted(stage, message().buffer(b"first").buffer(b"the second"));
    let buffers = received(&m, &oneway);
    assert_eq!(buffers[0].buffer, oneway.offsets + 16);
    assert_eq!(buffers[1].buffer, buffers[0].buffer + 8);
    assert_eq!(m.peek(buffers[0].buffer, 5), b"first");
    assert_eq!(m.peek(buffers[1].buffer, 10), b"the second");
}

fn c140_an_empty_buffer_has_a_place(stage: &Stage) {
    let (m, oneway) = accepted(stage, message().buffer(&[]).buffer(b"next"));
    let buffers = received(&m, &oneway);
    assert_eq!(buffers[0].buffer, oneway.offsets + 16);
    assert_eq!((buffers[0].length, buffers[1].buffer), (0, buffers[0].buffer));
    assert_eq!(m.peek(buffers[1].buffer, 4), b"next");
}

fn c140_c143_a_reply_brings_buffers_too(stage: &Stage) {
    let m = stage.manager();
    let p = stage.party();
    p.write(commands().call(0, Message::new(1)));
    let call = m.read_call();
    m.answer(&call, message().buffer(&SECRET).child(b"child", 0, 8));
    let reply = p.read_reply();
    let buffers = received(&p, &reply);
    assert_eq!(p.peek_value::<u64>(buffers[0].buffer + 8), buffers[1].buffer);
    assert_eq!(p.peek(buffers[1].buffer, 5), b"child");
}

fn c140_objects_lie_beside_buffers(stage: &Stage) {
    let message = Message::new(1).binder(0x10, 0x20).buffer(b"a piece.").weak_binder(0x30, 0);
    let m = stage.manager();
    let p = stage.party();
    p.write(commands().oneway(0, message.child(b"of the piece", 1, 0)));
    let oneway = m.read_call();
    let kinds = m.objects(&oneway).iter().map(|object| object.kind).collect::<Vec<_>>();
    let ptr = BINDER_TYPE_PTR;
    assert_eq!(kinds, [BINDER_TYPE_HANDLE, ptr, BINDER_TYPE_WEAK_HANDLE, ptr]);
}

fn c140_a_buffer_that_cannot_be_read_fails_the_call(stage: &Stage) {
    let _m = stage.manager();
    let p = stage.party();
    let kind = BINDER_TYPE_PTR;
    let guard = stage.rig().guard(p.host());
    for (address, length) in [(guard, 8), (guard - 8, 16), (guard, 17)] {
        let object = BinderBufferObject { kind, buffer: address, length, ..Default::default() };
        let message = Message::new(1).bytes(object.as_bytes()).offset(0).buffers_size(16);
        expect!(p.exchange(commands().oneway(0, message)) => [FailedReply]);
        assert_eq!(p.extended_error().param, -Errno::INVAL.raw_os_error());
    }
}

fn c140_all_objects_are_looked_at_before_a_buffer_is_read(stage: &Stage) {
    let _m = stage.manager();
    let p = stage.party();
    let buffer = stage.rig().guard(p.host());
    let missing =
        BinderBufferObject { kind: BINDER_TYPE_PTR, buffer, length: 8, ..Default::default() };
    let array = BinderFdArrayObject { kind: BINDER_TYPE_FDA, num_fds: 1, ..Default::default() };
    let with_missing = || message().bytes(missing.as_bytes()).offset(8).buffers_size(8);
    let cases = [
        (with_missing(), Errno::INVAL),
        // The second begins before the first ends.
        (with_missing().offset(4), Errno::FAULT),
        // The numbers of an array are read at once.
        (with_missing().bytes(array.as_bytes()).offset(48).offset(4), Errno::INVAL),
    ];
    for (message, errno) in cases {
        let shown = format!("{message:?}");
        expect!(p.exchange(commands().oneway(0, message)) => [FailedReply]);
        assert_eq!(p.extended_error().param, -errno.raw_os_error(), "{shown}");
    }
}

fn c142_a_buffer_needs_room(stage: &Stage) {
    assert_refused(
        stage,
        [
            message().buffer(&[0; 9]).buffers_size(8),
            message().buffer(&[0; 8]).buffer(&[0; 1]).buffers_size(8),
            message().buffer(&[0; 8]).buffers_size(0),
        ],
    );
}

fn c143_c149_a_child_is_found_through_its_parent(stage: &Stage) {
    let (m, oneway) = accepted(stage, message().buffer(&SECRET).child(b"child", 0, 16));
    let buffers = received(&m, &oneway);
    assert_eq!(m.peek(buffers[1].buffer, 5), b"child");
    assert_eq!(m.peek_value::<u64>(buffers[0].buffer + 16), buffers[1].buffer);
    assert_eq!(m.peek(buffers[0].buffer, 16), SECRET[..16]);
    assert_eq!(m.peek(buffers[0].buffer + 24, 8), SECRET[..8]);
}

fn c144_a_parent_is_an_earlier_buffer(stage: &Stage) {
    assert_refused(
        stage,
        [
            message().child(&[0; 8], 0, 0),
            message().buffer(&[0; 8]).child(&[0; 8], 1, 0),
            message().buffer(&[0; 8]).child(&[0; 8], 7, 0),
            message().binder(0x10, 0).child(&[0; 8], 0, 0),
        ],
    );
}

fn c145_an_address_lies_within_the_parent(stage: &Stage) {
    assert_refused(
        stage,
        [
            message().buffer(&[0; 16]).child(&[0; 8], 0, 9),
            message().buffer(&[0; 7]).child(&[0; 8], 0, 0),
            message().buffer(&[0; 16]).child(&[0; 8], 0, u64::MAX - 7),
        ],
    );
}

fn c145_an_address_is_aligned_to_four_bytes(stage: &Stage) {
    let at = |offset| message().buffer(&[0; 16]).child(&[0; 8], 0, offset);
    assert_refused(stage, [at(1), at(2), at(6)]);
    let (m, oneway) = accepted(stage_again(stage), at(4));
    let buffers = received(&m, &oneway);
    assert_eq!(m.peek_value::<u64>(buffers[0].buffer + 4), buffers[1].buffer);
}

fn c146_addresses_in_a_parent_go_up(stage: &Stage) {
    let twice = |first, second| {
        let parent = message().buffer(&[0; 32]);
        parent.child(&[0; 8], 0, first).child(&[0; 8], 0, second)
    };
    assert_refused(stage, [twice(8, 0), twice(8, 8), twice(8, 12)]);
    let (m, oneway) = accepted(stage_again(stage), twice(8, 16));
    assert_eq!(received(&m, &oneway).len(), 3);
}

/// The managers of before leave with their hosts.
fn stage_again(stage: &Stage) -> &Stage {
    stage.tear_down();
    stage
}

fn c147_a_descendant_is_closed_once_left(stage: &Stage) {
    // 0 holds 1, which holds 2; then 3 goes into 0 again.
    let family = || {
        let root = message().buffer(&[0; 32]);
        root.child(&[0; 32], 0, 0).child(&[0; 8], 1, 0).child(&[0; 8], 0, 8)
    };
    assert_refused(stage, [family().child(&[0; 8], 1, 8)]);
    let (m, oneway) = accepted(stage_again(stage), family());
    let buffers = received(&m, &oneway);
    assert_eq!(m.peek_value::<u64>(buffers[0].buffer + 8), buffers[3].buffer);
}

fn c148_a_buffer_at_offset_zero_may_be_a_parent(stage: &Stage) {
    let family = Message::new(1).buffer(&[0; 16]).child(&[0; 8], 0, 0);
    let (m, oneway) = accepted(stage, family);
    let buffers = received(&m, &oneway);
    assert_eq!(m.peek_value::<u64>(buffers[0].buffer), buffers[1].buffer);
}
