//! The context manager.

use binder_testkit::Return::{DeadReply, FailedReply, TransactionComplete, TransactionSecCtx};
use binder_testkit::{Device, Entrance, Message, Party, Stage, close_before, commands, expect};
use binder_uapi::{
    BINDER_SET_CONTEXT_MGR, BINDER_TYPE_BINDER, BINDER_TYPE_WEAK_BINDER,
    FLAT_BINDER_FLAG_TXN_SECURITY_CTX, FlatBinderObject,
};
use rustix::io::Errno;

use crate::registry::checks;

const ANOTHER_USER: u32 = 64_999;

checks! {
    Both c039_there_is_one_manager,
    Both c040_another_process_of_the_user_may_follow,
    Both c041_another_user_may_not_follow,
    Both c042_every_device_has_its_own_manager,
    Both c043_without_a_manager_handle_zero_is_dead,
    Both c044_the_manager_cannot_call_itself,
    Both c045_the_manager_hears_nothing_of_references_to_itself,
    Both c046_a_manager_may_ask_for_security_contexts,
    Both c047_a_call_names_the_managers_node,
    Both c048_handle_zero_can_be_counted,
    Both c049_the_manager_cannot_count_itself,
    Both c050_handle_zero_is_the_manager_of_now,
}

fn try_appoint(p: &Party<'_>) -> Result<(), Errno> {
    p.ioctl(BINDER_SET_CONTEXT_MGR, &mut 0_u32)
}

/// Lets `m` leave, while a client that knows it looks on.
fn dismiss(stage: &Stage, m: &Party<'_>) {
    let witness = stage.party();
    witness.write(commands().acquire(0));
    close_before(m, &witness, 0);
}

fn c039_there_is_one_manager(stage: &Stage) {
    let m = stage.manager();
    let p = stage.party();
    assert_eq!(try_appoint(&m), Err(Errno::BUSY));
    assert_eq!(try_appoint(&p), Err(Errno::BUSY));
}

fn c040_another_process_of_the_user_may_follow(stage: &Stage) {
    let m = stage.manager();
    dismiss(stage, &m);
    let p = stage.party();
    assert_eq!(try_appoint(&p), Ok(()));
}

fn c041_another_user_may_not_follow(stage: &Stage) {
    let m = stage.manager();
    dismiss(stage, &m);
    let p = stage.party();
    if stage.rig().set_user(p.host(), ANOTHER_USER).is_err() {
        stage.skip("only root can become another user");
    }
    assert_eq!(try_appoint(&p), Err(Errno::PERM));
}

fn c042_every_device_has_its_own_manager(stage: &Stage) {
    let m = stage.manager();
    let elsewhere = Entrance { device: Device::Second, ..Entrance::default() };
    let n = stage.enter(elsewhere);
    stage.appoint(&n);
    let p = stage.enter(elsewhere);
    p.write(commands().oneway(0, Message::new(1)));
    assert_eq!(n.read_call().code, 1);
    m.assert_idle();
}

fn c043_without_a_manager_handle_zero_is_dead(stage: &Stage) {
    let m = stage.manager();
    dismiss(stage, &m);
    let p = stage.party();
    expect!(p.exchange(commands().call(0, Message::new(1))) => [DeadReply]);
}

fn c044_the_manager_cannot_call_itself(stage: &Stage) {
    let m = stage.manager();
    expect!(m.exchange(commands().call(0, Message::new(1))) => [FailedReply]);
    let sibling = m.second_open();
    expect!(sibling.exchange(commands().call(0, Message::new(1))) => [FailedReply]);
}

fn c045_the_manager_hears_nothing_of_references_to_itself(stage: &Stage) {
    let m = stage.manager();
    let p = stage.party();
    p.write(commands().increfs(0).acquire(0));
    m.assert_idle();
    p.write(commands().release(0).decrefs(0));
    m.assert_idle();
}

fn c046_a_manager_may_ask_for_security_contexts(stage: &Stage) {
    let m = stage.manager_named(FlatBinderObject {
        kind: BINDER_TYPE_BINDER,
        flags: FLAT_BINDER_FLAG_TXN_SECURITY_CTX,
        binder: 0x10,
        cookie: 0x20,
    });
    let p = stage.party();
    p.write(commands().call(0, Message::new(1).bytes(b"question")));
    expect!(m.read() => [TransactionSecCtx(call)]);
    assert_eq!(m.data(&call.transaction_data), b"question");
    let offset = call.secctx - call.transaction_data.buffer;
    assert!(offset >= 8, "the label follows the data");
    let label = m.peek(call.secctx, 2);
    assert_ne!(label[0], 0, "the label is not empty");
}

fn c047_a_call_names_the_managers_node(stage: &Stage) {
    let m = stage.manager();
    let p = stage.party();
    p.write(commands().call(0, Message::new(1)));
    let call = m.read_call();
    assert_eq!((call.target, call.cookie), (0, 0));
    dismiss(stage, &m);

    let object =
        FlatBinderObject { kind: BINDER_TYPE_BINDER, flags: 0, binder: 0x10, cookie: 0x20 };
    let m = stage.manager_named(object);
    let p = stage.party();
    p.write(commands().call(0, Message::new(1)));
    let call = m.read_call();
    assert_eq!((call.target, call.cookie), (0x10, 0x20));
}

fn c048_handle_zero_can_be_counted(stage: &Stage) {
    let m = stage.manager();
    let p = stage.party();
    let send = |message: Message| commands().oneway(0, message);
    expect!(p.exchange(send(Message::new(1).handle(0))) => [FailedReply]);
    p.write(commands().acquire(0));
    expect!(p.exchange(send(Message::new(1).handle(0))) => [TransactionComplete]);
    let call = m.read_call();
    assert_eq!(m.objects(&call)[0].kind, BINDER_TYPE_BINDER);
    m.write(commands().free(call.buffer));
    p.write(commands().increfs(0).release(0));
    expect!(p.exchange(send(Message::new(1).handle(0))) => [FailedReply]);
    expect!(p.exchange(send(Message::new(1).weak_handle(0))) => [TransactionComplete]);
    assert_eq!(m.objects(&m.read_call())[0].kind, BINDER_TYPE_WEAK_BINDER);
}

fn c049_the_manager_cannot_count_itself(stage: &Stage) {
    let m = stage.manager();
    assert_eq!(m.try_write(commands().acquire(0)).result, Err(Errno::INVAL));
    assert_eq!(m.try_write(commands().increfs(0)).result, Err(Errno::INVAL));
}

fn c050_handle_zero_is_the_manager_of_now(stage: &Stage) {
    let m = stage.manager();
    let p = stage.party();
    p.write(commands().acquire(0));
    close_before(&m, &p, 0);
    let q = stage.manager();
    p.write(commands().call(0, Message::new(1)));
    q.read_call();
}
