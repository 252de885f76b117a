//! Turns queued work into the returns (`BR_*`) of a read buffer.

use alloc::vec::Vec;

use binder_uapi::{
    BR_CLEAR_DEATH_NOTIFICATION_DONE, BR_CLEAR_FREEZE_NOTIFICATION_DONE, BR_DEAD_BINDER,
    BR_FROZEN_BINDER, BR_NOOP, BR_ONEWAY_SPAM_SUSPECT, BR_REPLY, BR_SPAWN_LOOPER, BR_TRANSACTION,
    BR_TRANSACTION_COMPLETE, BR_TRANSACTION_PENDING_FROZEN, BR_TRANSACTION_SEC_CTX,
    BinderFrozenStateInfo, BinderPtrCookie, BinderTransactionData, BinderTransactionDataSecctx,
    BinderWriteRead,
};
use zerocopy::{Immutable, IntoBytes};

use crate::context::{Context, Waits};
use crate::death::DeathNews;
use crate::error::Errno;
use crate::freeze_links::FreezeNews;
use crate::node::NodeKey;
use crate::thread::ThreadKey;
use crate::transaction::{TransactionKey, TransactionKind};
use crate::work::Work;
use crate::write_read::Outcome;

/// Room that must be left before an item is taken: a code and the largest payload.
const MAX_RETURN_BYTES: usize = 4 + size_of::<BinderTransactionDataSecctx>();
const CODE_BYTES: usize = 4;
/// The longest that one read writes. The rest waits for the next read; other calls go in between.
const MAX_READ_BYTES: usize = 64 << 10;

/// The returns that are to be written to the caller's read buffer.
#[derive(Debug)]
pub(crate) struct Returns {
    pub(crate) bytes: Vec<u8>,
    room: usize,
    /// How many bytes were in the read buffer before.
    consumed: u64,
    pub(crate) begins_with_noop: bool,
    /// Whether it takes items of the process: found out before the first.
    takes_process_work: bool,
    /// How many bytes can be written, as far as is known.
    proven_len: usize,
}

/// Why the queues are left alone for now.
pub(crate) enum Stop {
    /// They are empty.
    Dry,
    /// The next item might not fit.
    Full,
    /// The last item ends the read; a transaction is final only once the client has it.
    AfterLast(Option<TransactionKey>),
    /// The returns so far must be written before the next item is taken.
    Unproven,
    /// The next item is a transaction whose files must be installed first.
    Files(TransactionKey),
}

impl Returns {
    /// The beginning of what goes into the rest of a read buffer, of `room` bytes.
    fn new(bytes: Vec<u8>, room: usize, consumed: u64) -> Self {
        let begins_with_noop = consumed == 0;
        let takes_process_work = false;
        let mut returns =
            Self { bytes, room, consumed, begins_with_noop, takes_process_work, proven_len: 0 };
        if begins_with_noop {
            returns.put(BR_NOOP);
        }
        returns
    }

    fn has_room(&self) -> bool {
        self.room.saturating_sub(self.bytes.len()) >= MAX_RETURN_BYTES
    }

    pub(crate) fn is_proven(&self) -> bool {
        self.bytes.len() <= self.proven_len
    }

    /// Whether there is no more in the read buffer than a `BR_NOOP` takes, whenever that was written
    /// (Linux `drivers/android/binder.c`, `binder_thread_read`).
    fn is_only_noop(&self) -> bool {
        self.consumed.saturating_add(self.bytes.len() as u64) == CODE_BYTES as u64
    }

    /// Whether there is something to tell.
    fn has_items(&self) -> bool {
        self.bytes.len() > usize::from(self.begins_with_noop) * CODE_BYTES
    }

    pub(crate) fn put(&mut self, code: u32) {
        self.bytes.extend_from_slice(code.as_bytes());
    }

    fn put_with(&mut self, code: u32, payload: &(impl IntoBytes + Immutable + ?Sized)) {
        self.put(code);
        self.bytes.extend_from_slice(payload.as_bytes());
    }

    /// Goes on as another read, `fresh`, if that has the room.
    pub(crate) fn move_to(&mut self, mut fresh: Self) -> bool {
        let items = &self.bytes[usize::from(self.begins_with_noop) * CODE_BYTES..];
        fresh.bytes.extend_from_slice(items);
        fresh.takes_process_work = self.takes_process_work;
        let has_room = fresh.has_room();
        if has_room {
            *self = fresh;
        }
        has_room
    }

    pub(crate) fn ask_for_thread(&mut self) {
        self.bytes[..CODE_BYTES].copy_from_slice(BR_SPAWN_LOOPER.as_bytes());
    }
}

impl Context {
    /// Fills the caller's read buffer with what it is owed, or parks it.
    pub(crate) fn read_returns(
        &mut self,
        thread: ThreadKey,
        waits: Waits,
        request: &BinderWriteRead,
    ) -> Result<Outcome, Errno> {
        let is_fresh = request.read_consumed == 0;
        let room = request.read_size.saturating_sub(request.read_consumed);
        let room = usize::try_from(room).unwrap_or(usize::MAX).min(MAX_READ_BYTES);
        if is_fresh && room < CODE_BYTES {
            return Err(Errno::EFAULT);
        }
        if self.has_retracted_fd_work(thread) {
            let fresh = Returns::new(Vec::new(), room, request.read_consumed);
            if let Some(outcome) = self.take_up_fd_work(thread, waits, fresh) {
                return Ok(outcome);
            }
        }
        let is_proven = !is_fresh || self.proven_len(thread, request) >= CODE_BYTES;
        if is_proven && waits == Waits::UntilReady && !self.is_ready(thread) {
            return Ok(self.sleep(thread));
        }
        let memory = self.spare_returns.pop().unwrap_or_default();
        let returns = Returns::new(memory, room, request.read_consumed);
        if !is_proven {
            return Ok(self.copy_out_beginning(thread, waits, request, returns));
        }
        self.go_on_reading(thread, waits, request, returns)
    }

    /// Parks a read that has nothing to tell.
    fn sleep(&mut self, thread: ThreadKey) -> Outcome {
        if self.threads[thread].may_take_process_work() {
            self.reset_priority(thread);
        }
        self.park(thread);
        Outcome::Park(thread)
    }

    /// Takes what follows `returns`, the beginning of the caller's read.
    pub(crate) fn go_on_reading(
        &mut self,
        thread: ThreadKey,
        waits: Waits,
        request: &BinderWriteRead,
        mut returns: Returns,
    ) -> Result<Outcome, Errno> {
        if self.threads[thread].may_take_process_work() {
            self.reset_priority(thread);
        }
        returns.proven_len = self.proven_len(thread, request);
        match (self.gather(thread, &mut returns), waits) {
            (Some(Stop::Dry | Stop::Full), _) => {
                Ok(self.copy_out(thread, request, returns, None, Vec::new()))
            }
            (Some(Stop::AfterLast(last)), _) => {
                Ok(self.copy_out(thread, request, returns, last, Vec::new()))
            }
            (Some(Stop::Unproven), _) => {
                Ok(self.copy_out_beginning(thread, waits, request, returns))
            }
            (Some(Stop::Files(transaction)), _) => {
                Ok(self.await_installation(thread, waits, transaction, returns))
            }
            (None, Waits::Never) => {
                self.keep_memory(returns.bytes);
                Err(Errno::EAGAIN)
            }
            (None, Waits::UntilReady) => {
                self.keep_memory(returns.bytes);
                Ok(self.sleep(thread))
            }
        }
    }

    /// Takes items until something stops it; `None` if there is nothing to tell.
    fn gather(&mut self, thread: ThreadKey, returns: &mut Returns) -> Option<Stop> {
        loop {
            if !self.is_ready(thread) {
                // What precedes a transaction that could not be delivered is told.
                return returns.has_items().then_some(Stop::Dry);
            }
            if !returns.has_items() {
                returns.takes_process_work = self.threads[thread].may_take_process_work();
            }
            match self.take_work(thread, returns) {
                Stop::Dry if returns.is_only_noop() && !self.threads[thread].need_return => {}
                stop => return Some(stop),
            }
        }
    }

    /// Takes items from the thread's queue, then from its process's if the thread is free.
    fn take_work(&mut self, thread: ThreadKey, returns: &mut Returns) -> Stop {
        let is_free = returns.takes_process_work;
        loop {
            if !returns.has_room() {
                let process = self.threads[thread].process;
                let has_more = !self.threads[thread].todo.is_empty()
                    || (is_free && !self.processes[process].todo.is_empty());
                return if has_more { Stop::Full } else { Stop::Dry };
            }
            if returns.has_items() && !returns.is_proven() {
                return Stop::Unproven;
            }
            let Some(work) = self.next_work(thread, is_free) else { return Stop::Dry };
            match work {
                Work::Transaction(transaction) => {
                    return self.put_transaction(thread, transaction, returns);
                }
                Work::TransactionComplete => returns.put(BR_TRANSACTION_COMPLETE),
                Work::TransactionPendingFrozen => returns.put(BR_TRANSACTION_PENDING_FROZEN),
                Work::OnewaySpamSuspect => returns.put(self.spam_code(thread)),
                Work::ReturnError => {
                    if let Some(code) = self.threads[thread].return_error.take() {
                        returns.put(code);
                    }
                }
                Work::ReplyError => {
                    if let Some(code) = self.threads[thread].reply_error.take() {
                        returns.put(code);
                    }
                }
                Work::Node(node) => self.put_notices(node, returns),
                Work::Death(death) => match self.take_death_news(death) {
                    DeathNews::Died { cookie } => {
                        returns.put_with(BR_DEAD_BINDER, &cookie);
                        return Stop::AfterLast(None);
                    }
                    DeathNews::Cleared { cookie } => {
                        returns.put_with(BR_CLEAR_DEATH_NOTIFICATION_DONE, &cookie);
                    }
                },
                Work::Freeze(link) => match self.take_freeze_news(link) {
                    FreezeNews::Changed { cookie, is_frozen } => {
                        let is_frozen = u32::from(is_frozen);
                        let info = BinderFrozenStateInfo { cookie, is_frozen, reserved: 0 };
                        returns.put_with(BR_FROZEN_BINDER, &info);
                        return Stop::AfterLast(None);
                    }
                    FreezeNews::Cleared { cookie } => {
                        returns.put_with(BR_CLEAR_FREEZE_NOTIFICATION_DONE, &cookie);
                    }
                },
            }
        }
    }

    fn next_work(&mut self, thread: ThreadKey, is_free: bool) -> Option<Work> {
        let own = self.take_own_work(thread);
        if own.is_none() && is_free {
            return self.processes[self.threads[thread].process].todo.pop_front();
        }
        own
    }

    fn spam_code(&self, thread: ThreadKey) -> u32 {
        if self.processes[self.threads[thread].process].detects_oneway_spam {
            BR_ONEWAY_SPAM_SUSPECT
        } else {
            BR_TRANSACTION_COMPLETE
        }
    }

    fn put_notices(&mut self, node: NodeKey, returns: &mut Returns) {
        let who = BinderPtrCookie { ptr: self.nodes[node].ptr, cookie: self.nodes[node].cookie };
        for code in self.take_notices(node).into_iter().flatten() {
            returns.put_with(code, &who);
        }
    }

    /// Writes a call, one-way or reply as its receiver sees it, unless its files come first.
    pub(crate) fn put_transaction(
        &self,
        reader: ThreadKey,
        transaction: TransactionKey,
        returns: &mut Returns,
    ) -> Stop {
        let state = &self.transactions[transaction];
        let process = &self.processes[self.threads[reader].process];
        let found = process
            .mapping
            .as_ref()
            .and_then(|mapping| Some((mapping, mapping.get(state.buffer?)?)));
        let Some((mapping, buffer)) = found else {
            debug_assert!(false, "a transaction that waits has its buffer");
            return Stop::AfterLast(Some(transaction));
        };
        if !buffer.files.is_empty() {
            return Stop::Files(transaction);
        }
        let layout = buffer.layout;
        let sender = state.from.map(|thread| &self.processes[self.threads[thread].process]);
        let reader_pid = &process.opener.pid;
        let sender_pid = sender.map_or(0, |sender| sender.opener.pid.seen_by(reader_pid));
        let node = buffer.target.map(|node| &self.nodes[node]);
        let transaction_data = BinderTransactionData {
            target: node.map_or(0, |node| node.ptr),
            cookie: node.map_or(0, |node| node.cookie),
            code: state.code,
            flags: state.flags,
            sender_pid: i32::try_from(sender_pid).unwrap_or(0),
            sender_euid: process.opener.uids.to_inside(state.sender_euid),
            data_size: u64::from(layout.data_len),
            offsets_size: u64::from(layout.offsets_len),
            buffer: mapping.address_of(layout.start),
            offsets: mapping.address_of(layout.offsets_start),
        };
        match (state.kind, buffer.label_start) {
            (TransactionKind::Reply, _) => returns.put_with(BR_REPLY, &transaction_data),
            (TransactionKind::Call | TransactionKind::Oneway, None) => {
                returns.put_with(BR_TRANSACTION, &transaction_data)
            }
            (TransactionKind::Call | TransactionKind::Oneway, Some(label_start)) => {
                let secctx = mapping.address_of(label_start);
                let labelled = BinderTransactionDataSecctx { transaction_data, secctx };
                returns.put_with(BR_TRANSACTION_SEC_CTX, &labelled);
            }
        }
        Stop::AfterLast(Some(transaction))
    }
}
