//! A thread's conversation with a device: what it is to write, what it has read.
//!
//! Commands wait here until the thread speaks to the driver anyway, so that a call costs one ioctl.
//! A thread that may not speak to it again for long writes at once what other processes wait for.

use std::cell::RefCell;
use std::io;
use std::mem;
use std::sync::Arc;

use binder_os::binder_returns::Return;
use binder_os::{Conversation, IncomingTransaction};
use binder_uapi::BinderTransactionData;
use zerocopy::{Immutable, IntoBytes};

use super::device::DeviceShared;
use super::proxy::HandleProxy;
use crate::transport::{LocalObject, Parcel};

/// The commands that one thread has for one device, and the returns that it has read.
pub(super) struct ThreadLink {
    conversation: Conversation,
    /// The offsets of the transaction that is written next.
    offsets: Vec<u64>,
    /// The status that is written next, as a reply.
    status: i32,
    /// Replies whose completion was not read yet. What they name must live until then.
    replies: Vec<Parcel>,
    /// Proxies whose references the driver does not know of yet.
    pins: Vec<Arc<HandleProxy>>,
    /// The same, known by now: to be dropped when nothing is locked.
    unpinned: Vec<Arc<HandleProxy>>,
    /// To be dropped when no code of others is under way on this thread.
    retired: Retired,
    /// Whether the thread will speak to the driver without being asked to.
    is_looper: bool,
    /// How many calls the thread is serving.
    serving: u32,
    /// How many bytes of the receive buffer wait to be freed with the next exchange.
    unfreed_bytes: usize,
    /// How many of these the device was told of.
    held_back_bytes: usize,
    /// Whether others wait for something that is to be written.
    is_urgent: bool,
}

/// What a thread no longer needs. To drop it may run any code.
#[derive(Default)]
pub(super) struct Retired {
    objects: Vec<Arc<dyn LocalObject>>,
    parcels: Vec<Parcel>,
}

/// What a transaction is made of.
pub(super) enum OutgoingPayload<'a> {
    Parcel(&'a Parcel),
    Status(i32),
}

impl ThreadLink {
    fn new(device: &DeviceShared) -> Self {
        Self {
            conversation: Conversation::new(Arc::clone(&device.os)),
            offsets: Vec::new(),
            status: 0,
            replies: Vec::new(),
            pins: Vec::new(),
            unpinned: Vec::new(),
            retired: Retired::default(),
            is_looper: false,
            serving: 0,
            unfreed_bytes: 0,
            held_back_bytes: 0,
            is_urgent: false,
        }
    }

    /// Adds a command, to be written with the next exchange.
    pub(super) fn push(&mut self, command: u32, payload: &(impl IntoBytes + Immutable)) {
        self.conversation.push(command, payload);
    }

    /// Adds a command that others wait for.
    pub(super) fn push_urgent(&mut self, command: u32, payload: &(impl IntoBytes + Immutable)) {
        self.push(command, payload);
        self.is_urgent = true;
    }

    /// Adds a command that frees the buffer of a received transaction.
    pub(super) fn push_free(&mut self, delivery: IncomingTransaction) {
        self.unfreed_bytes = self.unfreed_bytes.saturating_add(delivery.buffer_bytes());
        self.conversation.push_free(delivery);
    }

    /// Keeps a proxy until the commands so far are written.
    pub(super) fn pin(&mut self, proxy: Arc<HandleProxy>) {
        self.pins.push(proxy);
    }

    /// Adds a transaction or a reply. It must be written while its parcel lives and before another
    /// is added.
    pub(super) fn push_transaction(
        &mut self,
        command: u32,
        head: BinderTransactionData,
        payload: &OutgoingPayload<'_>,
    ) {
        self.offsets.clear();
        let bytes = match payload {
            OutgoingPayload::Parcel(parcel) => {
                self.offsets.extend(parcel.objects().iter().map(|object| object.offset as u64));
                parcel.bytes()
            }
            OutgoingPayload::Status(status) => {
                self.status = *status;
                self.status.as_bytes()
            }
        };
        let transaction = BinderTransactionData {
            data_size: bytes.len() as u64,
            buffer: bytes.as_ptr() as u64,
            offsets_size: size_of_val(&self.offsets[..]) as u64,
            offsets: self.offsets.as_ptr() as u64,
            ..head
        };
        self.push(command, &transaction);
    }

    /// Keeps a reply that was added until the driver has taken it.
    pub(super) fn keep_reply(&mut self, reply: Parcel) {
        self.replies.push(reply);
    }

    /// Takes the completion of a reply, if one is due; if not, the completion is a call's.
    pub(super) fn complete_reply(&mut self) -> bool {
        if self.replies.is_empty() {
            return false;
        }
        let reply = self.replies.remove(0);
        if !reply.objects().is_empty() {
            self.retired.parcels.push(reply);
        }
        true
    }

    /// Keeps the last reference to an object until it may be dropped.
    pub(super) fn retire(&mut self, object: Arc<dyn LocalObject>) {
        self.retired.objects.push(object);
    }

    /// Notes that the thread speaks to the driver in a loop, or no longer.
    pub(super) fn set_looper(&mut self, is_looper: bool) {
        self.is_looper = is_looper;
    }

    /// Notes the begin of a call that the thread serves.
    pub(super) fn begin_serving(&mut self) {
        self.serving += 1;
    }

    /// Notes its end.
    pub(super) fn end_serving(&mut self) {
        self.serving -= 1;
    }

    /// Whether the thread returns to the program, and may not speak to the driver for a long time.
    pub(super) fn is_leaving(&self) -> bool {
        !self.is_looper && self.serving == 0
    }

    /// Takes what may be dropped, if there is anything and no returns are left to look at.
    pub(super) fn take_retired(&mut self) -> Option<Retired> {
        let has_any = !self.retired.objects.is_empty() || !self.retired.parcels.is_empty();
        (has_any && !self.conversation.has_returns()).then(|| mem::take(&mut self.retired))
    }

    /// Takes the next return, and waits for it if need be. All commands are written before; those of a call point to
    /// what it sends.
    ///
    /// May be [`Return::Nothing`]: proxies are not kept for as long as a wait takes.
    pub(super) fn next_return(
        &mut self,
        device: &DeviceShared,
        sent: Option<&Parcel>,
    ) -> io::Result<Return> {
        loop {
            match self.conversation.take_next() {
                Some(Return::Nothing) => {}
                Some(next) => return Ok(next),
                None if self.pins.is_empty() => self.exchange(device, true, sent)?,
                None => {
                    if self.conversation.has_commands() {
                        self.exchange(device, false, sent)?;
                    }
                    if self.pins.is_empty() {
                        return Ok(Return::Nothing);
                    }
                    // The driver takes nothing before it has told of an error.
                    self.exchange(device, true, sent)?;
                }
            }
        }
    }

    /// Takes the next return of those that were read.
    pub(super) fn take_next(&mut self) -> Option<Return> {
        self.conversation.take_next()
    }

    /// Writes all commands and reads returns, and waits for them if need be; unless some that were
    /// read are left.
    pub(super) fn read(&mut self, device: &DeviceShared) -> io::Result<()> {
        if self.conversation.has_returns() { Ok(()) } else { self.exchange(device, true, None) }
    }

    /// Whether there are commands that are not written yet.
    pub(super) fn has_commands(&self) -> bool {
        self.conversation.has_commands()
    }

    /// Writes all commands, as far as the driver takes them.
    pub(super) fn flush(&mut self, device: &DeviceShared) -> io::Result<()> {
        if self.conversation.has_commands() { self.exchange(device, false, None) } else { Ok(()) }
    }

    /// Writes commands that other processes wait for, and those that hold too much of the receive
    /// buffer, before the thread returns to the program.
    pub(super) fn settle(&mut self, device: &DeviceShared) -> io::Result<()> {
        if !self.is_leaving() {
            return Ok(());
        }
        let more_bytes = self.unfreed_bytes - self.held_back_bytes;
        self.held_back_bytes = self.unfreed_bytes;
        let may_hold_back = more_bytes == 0 || device.hold_back(more_bytes);
        if self.is_urgent || !may_hold_back { self.flush(device) } else { Ok(()) }
    }

    /// Writes all commands of a thread that is ending. A write makes the thread known to the
    /// driver, if it is not yet, and only the thread itself may be able to say that it has ended.
    fn end(&mut self, device: &DeviceShared) {
        // If the device does not answer any more, there is no caller left to report it to.
        let _ = self.flush(device);
        let _ = device.os.exit_thread();
    }

    /// Writes all commands, of which a call's point to `sent`, and waits for returns if asked to.
    fn exchange(
        &mut self,
        device: &DeviceShared,
        is_waiting: bool,
        sent: Option<&Parcel>,
    ) -> io::Result<()> {
        let sent = sent.map_or(&[][..], |call| call.bytes());
        let reply = self.replies.last().map_or(&[][..], |reply| reply.bytes());
        let payloads = [sent, reply, self.offsets.as_bytes(), self.status.as_bytes()];
        let conversation = &mut self.conversation;
        let outcome = if is_waiting {
            conversation.write_read(&payloads)
        } else {
            conversation.write(&payloads)
        };
        if !self.conversation.has_commands() {
            self.is_urgent = false;
            self.unfreed_bytes = 0;
            device.release_held_back(mem::take(&mut self.held_back_bytes));
            self.unpinned.append(&mut self.pins);
        }
        outcome
    }
}

/// The links of a thread, one for each device that it has spoken to.
#[derive(Default)]
struct ThreadLinks(Vec<(Arc<DeviceShared>, ThreadLink)>);

thread_local! {
    static LINKS: RefCell<ThreadLinks> = RefCell::default();
}

/// Whether this thread can have links still: one that is ending cannot wait for returns.
pub(super) fn is_there() -> bool {
    LINKS.try_with(|_| ()).is_ok()
}

impl Drop for ThreadLinks {
    fn drop(&mut self) {
        for (device, mut link) in self.0.drain(..) {
            if device.check_process().is_err() {
                continue;
            }
            link.end(&device);
        }
    }
}

impl DeviceShared {
    /// Runs `act` with this thread's link to the device. Nothing may be locked.
    pub(super) fn with_link<R>(self: &Arc<Self>, act: impl FnOnce(&mut ThreadLink) -> R) -> R {
        let (result, unpinned) = self.with_link_locked(|link| {
            let result = act(link);
            let unpinned = &mut link.unpinned;
            (result, (!unpinned.is_empty()).then(|| mem::take(unpinned)))
        });
        drop(unpinned);
        result
    }

    /// The same, if something is locked: no proxy is dropped.
    pub(super) fn with_link_locked<R>(
        self: &Arc<Self>,
        act: impl FnOnce(&mut ThreadLink) -> R,
    ) -> R {
        let mut act = Some(act);
        let done = LINKS.try_with(|links| {
            let links = &mut links.try_borrow_mut().ok()?.0;
            let is_ours = |(device, _): &(Arc<Self>, ThreadLink)| Arc::ptr_eq(device, self);
            let place = links.iter().position(is_ours).unwrap_or_else(|| {
                links.push((Arc::clone(self), ThreadLink::new(self)));
                links.len() - 1
            });
            let act = act.take()?;
            Some(act(&mut links[place].1))
        });
        match (done, act) {
            (Ok(Some(result)), _) => result,
            // The thread is ending and its link has gone already: its commands are written at once.
            (_, Some(act)) => {
                let mut link = ThreadLink::new(self);
                let result = act(&mut link);
                // One in use goes on.
                if is_there() {
                    let _ = link.flush(self);
                } else {
                    link.end(self);
                }
                result
            }
            (Ok(None) | Err(_), None) => unreachable!("what was run has a result"),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use binder_uapi::BC_REPLY;

    use super::super::device::refusing_device;
    use super::*;
    use crate::test_object;

    /// Has the device keep the last reference to an object.
    fn retire(device: &Arc<DeviceShared>, last: impl Fn() + Send + Sync + 'static) {
        let object = test_object::new(last);
        device.with_link(|link| link.retire(object.as_local().expect("it is ours").clone()));
    }

    /// Dropped objects may call, and the offsets of the call take the place of the reply's.
    #[test]
    fn a_reply_is_written_before_code_of_others_runs() {
        let device = refusing_device();
        let is_anything_unwritten = Arc::new(AtomicBool::new(true));
        let (looked_at, seen) = (device.clone(), is_anything_unwritten.clone());
        retire(&device, move || {
            let is_any = looked_at.with_link(|link| link.conversation.has_commands());
            seen.store(is_any, Ordering::Relaxed);
        });
        device.with_link(|link| {
            let reply = Parcel::new();
            link.push_transaction(BC_REPLY, Default::default(), &OutgoingPayload::Parcel(&reply));
            link.keep_reply(reply);
        });
        device.drop_retired();
        assert!(!is_anything_unwritten.load(Ordering::Relaxed));
    }

    #[test]
    fn a_thread_that_takes_calls_survives_an_object_that_panics_when_it_is_dropped() {
        let device = refusing_device();
        retire(&device, || panic!("as it was asked to"));
        device.drop_retired();
        assert!(device.with_link(ThreadLink::take_retired).is_none());
    }
}
