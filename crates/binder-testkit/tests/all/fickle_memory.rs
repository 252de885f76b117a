//! Clients that change their memory while the driver reads it.
//!
//! The driver must act on one reading of every object and command: what it checked is what it
//! uses. (C124, C149 and C245 of the specification.)

use binder_testkit::Return::{FailedReply, TransactionComplete};
use binder_testkit::{CoreRig, Message, Party, Stage, commands, expect, introduce};
use binder_uapi::{BINDER_TYPE_BINDER, BINDER_TYPE_HANDLE, FlatBinderObject};
use zerocopy::{FromBytes, IntoBytes};

fn stage() -> Stage {
    Stage::new(Box::new(CoreRig::default()))
}

fn core(stage: &Stage) -> &CoreRig {
    stage.rig().core().expect("a rig on the core")
}

/// Sends one object to the manager that turns into another once it has been read.
fn send_changing(stage: &Stage, p: &Party<'_>, from: FlatBinderObject, to: FlatBinderObject) {
    let address = p.place(from.as_bytes());
    core(stage).change_once_read(p.host(), address, to.as_bytes());
    let message = Message::new(1).bytes(&[0; 24]).offset(0).claim_buffer(address);
    p.write(commands().oneway(0, message));
}

#[test]
fn an_object_that_changes_is_translated_as_it_was_first_read() {
    let stage = stage();
    let m = stage.manager();
    let p = stage.party();
    let handle = introduce(&m, &m, (0x10, 0x20), &p);
    let own = FlatBinderObject { kind: BINDER_TYPE_BINDER, flags: 0, binder: 0x77, cookie: 0 };
    let known = FlatBinderObject::from_handle(BINDER_TYPE_HANDLE, 0, handle);

    send_changing(&stage, &p, known, own);
    let received = m.objects(&m.read_call())[0];
    assert_eq!((received.kind, received.binder), (BINDER_TYPE_BINDER, 0x10));
    expect!(p.read() => [TransactionComplete]);

    let bad = FlatBinderObject::from_handle(BINDER_TYPE_HANDLE, 0, 99);
    send_changing(&stage, &p, bad, known);
    expect!(p.read() => [FailedReply]);
    stage.tear_down();
}

#[test]
fn an_untranslated_object_is_never_visible() {
    let stage = stage();
    let m = stage.manager();
    let p = stage.party();
    let secret = FlatBinderObject {
        kind: BINDER_TYPE_BINDER,
        flags: 0,
        binder: 0x5ec2_e700_5ec2_e700,
        cookie: 0x5ec2_e700_5ec2_e700,
    };
    // The second of the two objects is refused, when the first has been put into the buffer.
    let message = Message::new(1).object(secret).handle(99);
    expect!(p.exchange(commands().oneway(0, message)) => [FailedReply]);
    let area = m.peek(m.area().base, 4096);
    let words = area.chunks(8).map(|chunk| u64::read_from_bytes(chunk).unwrap());
    assert!(words.into_iter().all(|word| word != secret.binder));
    stage.tear_down();
}

#[test]
fn a_command_that_changes_is_obeyed_as_it_was_first_read() {
    let stage = stage();
    let m = stage.manager();
    let p = stage.party();
    let handle = introduce(&m, &m, (0x10, 0x20), &p);
    p.write(commands().acquire(handle));
    // What changes is the payload, once it has been read.
    let argument = p.writing(&commands().acquire(99));
    core(&stage).change_once_read(p.host(), argument.write_buffer + 4, &handle.to_le_bytes());
    p.attempt(argument).result.unwrap();
    // One of the two acquisitions counted: releasing the introduction's count and that one ends
    // the reference.
    p.write(commands().release(handle).release(handle));
    expect!(p.exchange(commands().call(handle, Message::new(1))) => [FailedReply]);
    stage.tear_down();
}
