//! What many checks begin with: objects that are known elsewhere.

use binder_uapi::TF_ONE_WAY;

use crate::{Attempt, Message, Mode, Party, Return, commands, expect};

/// Makes the owner's object (`ptr`, `cookie`) known to `to`, which holds one strong count, and
/// returns `to`'s handle. The manager passes it on; the owner has been told and has acknowledged.
pub fn introduce(
    manager: &Party<'_>,
    owner: &Party<'_>,
    (ptr, cookie): (u64, u64),
    to: &Party<'_>,
) -> u32 {
    let object = Message::new(1).binder(ptr, cookie);
    if owner.caller().process == manager.caller().process {
        return fetch(owner, to, object);
    }
    let handle = copy_out(owner, manager, object);
    if to.caller().process == manager.caller().process {
        return handle;
    }
    let theirs = fetch(manager, to, Message::new(1).handle(handle));
    manager.write(commands().release(handle));
    theirs
}

/// The sender calls the manager with one object, which the manager keeps.
fn copy_out(sender: &Party<'_>, manager: &Party<'_>, message: Message) -> u32 {
    sender.write(commands().call(0, message));
    let call = manager.read_call();
    let handle = manager.objects(&call)[0].handle();
    manager.write(commands().acquire(handle));
    manager.answer(&call, Message::new(0));
    let returns = sender.read();
    finish_send(sender, &returns);
    handle
}

/// The receiver calls the manager, which replies with one object.
fn fetch(manager: &Party<'_>, receiver: &Party<'_>, message: Message) -> u32 {
    receiver.write(commands().call(0, Message::new(0)));
    let call = manager.read_call();
    let returns = manager.exchange(commands().free(call.buffer).reply(message));
    finish_send(manager, &returns);
    let reply = receiver.read_reply();
    let handle = receiver.objects(&reply)[0].handle();
    receiver.write(commands().acquire(handle).free(reply.buffer));
    handle
}

/// Acknowledges the notices among `returns`, frees a reply among them.
fn finish_send(party: &Party<'_>, returns: &[Return]) {
    for returned in returns {
        match *returned {
            Return::Increfs(ptr, cookie) => party.write(commands().increfs_done(ptr, cookie)),
            Return::Acquire(ptr, cookie) => party.write(commands().acquire_done(ptr, cookie)),
            Return::Reply(reply) => party.write(commands().free(reply.buffer)),
            Return::TransactionComplete => {}
            unexpected => panic!("a send brought {unexpected:#x?}"),
        }
    }
}

/// Closes `leaving`'s file and waits until `witness`, which must hold `handle` to an object of it,
/// is told.
pub fn close_before(leaving: &Party<'_>, witness: &Party<'_>, handle: u32) {
    watch(witness, handle, || leaving.close());
}

/// Kills `leaving`'s host and waits until `witness`, which must hold `handle` to an object of it,
/// is told.
pub fn kill_before(leaving: &Party<'_>, witness: &Party<'_>, handle: u32) {
    watch(witness, handle, || leaving.kill());
}

fn watch(witness: &Party<'_>, handle: u32, leave: impl FnOnce()) {
    const COOKIE: u64 = 0x7769_746e;
    witness.park_with(commands().request_death(handle, COOKIE));
    leave();
    expect!(witness.woken() => [Return::DeadBinder(COOKIE)]);
    expect!(witness.exchange(commands().dead_binder_done(COOKIE).clear_death(handle, COOKIE)) => [
        Return::ClearDeathDone(COOKIE)
    ]);
}

/// Lets all parties read until nothing comes any more: they acknowledge what they are told, answer
/// what they are asked and free what they get.
pub fn settle_down(parties: &[Party<'_>]) {
    set_modes(parties, Mode::Nonblocking);
    let mut is_quiet = false;
    while !is_quiet {
        is_quiet = true;
        for party in parties {
            while let Attempt { result: Ok(()), returns, .. } = party.try_read() {
                is_quiet = false;
                returns.into_iter().for_each(|returned| be_done_with(party, returned));
            }
        }
    }
    set_modes(parties, Mode::Blocking);
}

fn set_modes(parties: &[Party<'_>], mode: Mode) {
    for party in parties {
        party.set_mode(mode);
    }
}

fn be_done_with(party: &Party<'_>, returned: Return) {
    match returned {
        Return::Increfs(ptr, cookie) => party.write(commands().increfs_done(ptr, cookie)),
        Return::Acquire(ptr, cookie) => party.write(commands().acquire_done(ptr, cookie)),
        Return::Reply(reply) => party.write(commands().free(reply.buffer)),
        Return::Transaction(oneway) if oneway.flags & TF_ONE_WAY != 0 => {
            party.write(commands().free(oneway.buffer));
        }
        Return::Transaction(call) => {
            party.write(commands().free(call.buffer).reply(Message::new(0)));
        }
        Return::DeadBinder(cookie) => party.write(commands().dead_binder_done(cookie)),
        _ => {}
    }
}
