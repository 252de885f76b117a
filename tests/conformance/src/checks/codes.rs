//! Codes and layouts, as far as a driver shows them; the rest is tested where they are declared.

use binder_testkit::Return::{FailedReply, TransactionComplete};
use binder_testkit::{Message, Stage, commands, expect, introduce};
use binder_uapi::{
    BINDER_SET_IDLE_PRIORITY, BINDER_SET_IDLE_TIMEOUT, BINDER_VERSION, BinderVersion,
};
use rustix::io::Errno;

use crate::registry::checks;

checks! {
    Device c004_the_version_is_eight,
    Device c005_unknown_requests_are_invalid,
    Both c007_a_command_follows_a_packed_payload_at_once,
}

fn c004_the_version_is_eight(stage: &Stage) {
    let p = stage.party();
    let mut version = BinderVersion::default();
    p.ioctl(BINDER_VERSION, &mut version).unwrap();
    assert_eq!(version.protocol_version, 8);
}

fn c005_unknown_requests_are_invalid(stage: &Stage) {
    let p = stage.party();
    let unknown = 0xc004_6200 | 99;
    for request in [BINDER_SET_IDLE_TIMEOUT, BINDER_SET_IDLE_PRIORITY, unknown] {
        assert_eq!(p.ioctl(request, &mut 0_u64), Err(Errno::INVAL), "{request:#x}");
    }
}

fn c007_a_command_follows_a_packed_payload_at_once(stage: &Stage) {
    let m = stage.manager();
    let p = stage.party();
    let handle = introduce(&m, &m, (0x10, 0x20), &p);
    let write = commands().request_death(handle, 7).clear_death(handle, 7).release(handle);
    let attempt = p.try_write(write);
    assert_eq!((attempt.result, attempt.argument.write_consumed), (Ok(()), 16 + 16 + 8));
    // The release took effect, so all three were read where they are.
    let exchange = p.exchange(commands().call(handle, Message::new(1)));
    assert!(exchange.contains(&FailedReply) && !exchange.contains(&TransactionComplete));
    expect!(exchange => [FailedReply]);
}
