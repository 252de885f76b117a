//! The buffers in a process's mapping: reserve, commit, abort, free.

mod buffers;

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::ops::Range;

use binder_uapi::BinderTransactionDataSg;

use crate::account::Resource;
use crate::context::Context;
use crate::descriptors::FileInTransit;
use crate::env::{MappingArea, ReceiveBuffers};
use crate::error::{Errno, Refusal};
use crate::handle::ReferenceKey;
use crate::memory_budget::MemoryBudget;
use crate::node::{NodeKey, Strength};
use crate::pages::{PageCounts, Pages};
use crate::process::ProcessKey;
use crate::ranges::Ranges;
use crate::thread::ThreadKey;
use crate::transaction::TransactionKey;
use crate::unfinished::EndingBuffer;
use buffers::Buffers;

/// Only this much of a mapping is ever used.
const MAX_AREA_BYTES: u32 = 4 << 20;

/// The share of the area that is set aside for what comes past the driver, at most: a quarter.
const ASIDE_SHARE: u32 = 4;
/// More than that at a time takes at most half of what is left of it: who makes a few long calls leaves room for others' short ones.
const ASIDE_BYTES: u32 = 16 << 10;

/// One-ways of one sender beyond which they look like a flood, by number.
const SPAM_BUFFERS: u32 = 50;
/// The same as a share of the area: a quarter.
const SPAM_SHARE: u32 = 4;
/// The share of the area that sends may take before they are decided on: a quarter.
const AHEAD_SHARE: u32 = 4;
/// A flood is looked for only while less than a tenth of the area is left for one-ways.
const SPAM_ROOM: u32 = 10;

/// The sizes of one transaction's parts, in bytes, as the sender claims them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Sizes {
    pub(crate) data: u64,
    pub(crate) offsets: u64,
    pub(crate) extra: u64,
}

/// Where the parts of a buffer lie, in bytes from the start of the mapping.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Layout {
    pub(crate) start: u32,
    pub(crate) data_len: u32,
    pub(crate) offsets_start: u32,
    pub(crate) offsets_len: u32,
    pub(crate) extra_start: u32,
    pub(crate) extra_len: u32,
    /// Length of the whole slot.
    pub(crate) slot_len: u32,
}

impl Sizes {
    /// The sizes that a send claims, with a label of that many bytes.
    ///
    /// # Errors
    ///
    /// `EINVAL` when the sum overflows.
    pub(crate) fn of(data: &BinderTransactionDataSg, label_len: u32) -> Result<Self, Errno> {
        let header = &data.transaction_data;
        let extra = data.buffers_size.checked_add(u64::from(label_len)).ok_or(Errno::EINVAL)?;
        Ok(Self { data: header.data_size, offsets: header.offsets_size, extra })
    }

    /// Works out the layout of a buffer at 0.
    ///
    /// Each part is rounded up to 8 bytes, and an empty buffer takes 8, so that every buffer has
    /// an address of its own.
    ///
    /// # Errors
    ///
    /// `EINVAL` when the sum overflows; `ENOSPC` when it exceeds any mapping.
    pub(crate) fn layout(self) -> Result<Layout, Errno> {
        let up8 = |bytes: u64| bytes.checked_next_multiple_of(8).ok_or(Errno::EINVAL);
        let (data, offsets, extra) = (up8(self.data)?, up8(self.offsets)?, up8(self.extra)?);
        let sum = data.checked_add(offsets).and_then(|sum| sum.checked_add(extra));
        let slot_len = sum.ok_or(Errno::EINVAL)?.max(8);
        let narrow = |bytes: u64| u32::try_from(bytes).map_err(|_| Errno::ENOSPC);
        if slot_len > u64::from(MAX_AREA_BYTES) {
            return Err(Errno::ENOSPC);
        }
        Ok(Layout {
            start: 0,
            data_len: narrow(self.data)?,
            offsets_start: narrow(data)?,
            offsets_len: narrow(self.offsets)?,
            extra_start: narrow(data + offsets)?,
            extra_len: narrow(self.extra)?,
            slot_len: narrow(slot_len)?,
        })
    }
}

/// What a buffer keeps alive through the objects in it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum BufferHold {
    /// A node of the buffer's own process.
    Node(NodeKey, Strength),
    /// A reference of the buffer's own process.
    Reference(ReferenceKey, Strength),
}

/// One transaction's data in its receiver's mapping.
#[derive(Debug)]
pub(crate) struct Buffer {
    /// The number of its transaction in logs.
    pub(crate) debug_id: u32,
    pub(crate) layout: Layout,
    /// The node the transaction is addressed to; none for a reply.
    pub(crate) target: Option<NodeKey>,
    /// The transaction, until it has come to its end.
    pub(crate) transaction: Option<TransactionKey>,
    pub(crate) is_oneway: bool,
    /// Zeroed when it is freed.
    pub(crate) clears_on_free: bool,
    /// Where the sender's security label lies, if the node asked for it.
    pub(crate) label_start: Option<u32>,
    /// The receiver has seen it and may free it.
    pub(crate) is_delivered: bool,
    pub(crate) sender_pid: u32,
    pub(crate) held: Vec<BufferHold>,
    /// Files that the receiver is to get with it.
    pub(crate) files: Vec<FileInTransit>,
    /// The receiver's descriptors in arrays: the driver closes them when the buffer is freed.
    pub(crate) array_descriptors: Vec<u32>,
}

/// What a mapping gets back of a buffer that has come to its end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TakenRange {
    pub(crate) start: u32,
    pub(crate) len: u32,
    /// The pid of its sender, if it is a one-way.
    oneway_of: Option<u32>,
}

impl Buffer {
    pub(crate) fn range(&self) -> TakenRange {
        let Layout { start, slot_len: len, .. } = self.layout;
        TakenRange { start, len, oneway_of: self.is_oneway.then_some(self.sender_pid) }
    }
}

/// Room that was found for a transaction and is not a buffer yet.
///
/// Becomes one by [`Mapping::commit`], or goes back by [`Mapping::abort`].
#[derive(Debug)]
#[must_use = "room that is neither committed nor aborted is lost"]
pub(crate) struct BufferReservation {
    pub(crate) layout: Layout,
    is_oneway: bool,
}

/// The receive buffer of one process.
#[derive(Debug)]
pub(crate) struct Mapping {
    base: u64,
    len_bytes: u32,
    ranges: Ranges,
    pub(crate) pages: Pages,
    buffers: Buffers,
    /// What one-ways may still take of the area.
    oneway_room: u32,
    /// Live one-ways by the pid of their sender: how many, and how many bytes they take.
    oneways: BTreeMap<u32, (u32, u32)>,
    /// A flood was reported and the free share of one-ways has not recovered since.
    has_reported_spam: bool,
    /// Bytes reserved for sends that are not decided on.
    ahead_bytes: u32,
    /// What is set aside.
    aside_bytes: u32,
    /// The process has the mapping still, as far as the driver knows.
    pub(crate) is_mapped: bool,
    /// The context has it among those with idle pages.
    pub(crate) is_listed_as_idle: bool,
}

impl Mapping {
    pub(crate) fn new(area: MappingArea, budget: MemoryBudget) -> Self {
        let len_bytes = u32::try_from(area.len_bytes).unwrap_or(u32::MAX).min(MAX_AREA_BYTES);
        Self {
            base: area.base,
            len_bytes,
            ranges: Ranges::new(len_bytes),
            pages: Pages::new(budget),
            buffers: Buffers::default(),
            oneway_room: len_bytes / 2,
            oneways: BTreeMap::new(),
            has_reported_spam: false,
            ahead_bytes: 0,
            aside_bytes: 0,
            is_mapped: true,
            is_listed_as_idle: false,
        }
    }

    /// The address of a byte of the area, as the process sees it.
    pub(crate) fn address_of(&self, offset: u32) -> u64 {
        self.base.wrapping_add(u64::from(offset))
    }

    fn offset_of(&self, address: u64) -> Option<u32> {
        u32::try_from(address.checked_sub(self.base)?).ok()
    }

    /// Reserves a range for a transaction.
    ///
    /// # Errors
    ///
    /// `EINVAL` when the sizes overflow; `ENOSPC` when no free range is long enough, or the share
    /// of one-ways (half of the area) is used up.
    pub(crate) fn reserve(
        &mut self,
        sizes: Sizes,
        is_oneway: bool,
    ) -> Result<BufferReservation, Errno> {
        let mut layout = sizes.layout()?;
        if is_oneway && self.oneway_room < layout.slot_len {
            return Err(Errno::ENOSPC);
        }
        let start = self.ranges.take(layout.slot_len).map_err(|_| Errno::ENOSPC)?;
        layout.start += start;
        layout.offsets_start += start;
        layout.extra_start += start;
        if is_oneway {
            self.oneway_room -= layout.slot_len;
        }
        self.pages.use_range(start, layout.slot_len);
        Ok(BufferReservation { layout, is_oneway })
    }

    /// Sets that many bytes aside, and what is left of their last page: no buffer will ever lie there. Returns the addresses.
    ///
    /// # Errors
    ///
    /// `ENOSPC` when no free range is long enough, or the share of what is set aside is used up, or would be by much at a time.
    pub(crate) fn set_aside(&mut self, wanted_bytes: u32) -> Result<Range<u64>, Errno> {
        let page_bytes = self.pages.page_bytes();
        let bytes = wanted_bytes.checked_next_multiple_of(page_bytes).ok_or(Errno::ENOSPC)?;
        let aside_bytes = self.aside_bytes.checked_add(bytes).ok_or(Errno::ENOSPC)?;
        let share = self.len_bytes / ASIDE_SHARE;
        let is_much =
            wanted_bytes > ASIDE_BYTES && bytes > share.saturating_sub(self.aside_bytes) / 2;
        if bytes == 0 || aside_bytes > share || is_much {
            return Err(Errno::ENOSPC);
        }
        let start = self.ranges.take(bytes + page_bytes).map_err(|_| Errno::ENOSPC)?;
        self.aside_bytes = aside_bytes;
        // The first page stays the mapping's: by it the mapping is found.
        let base = self.address_of(start.max(1).next_multiple_of(page_bytes));
        Ok(base..base + u64::from(bytes))
    }

    /// Whether a transaction that is not decided on may have a reservation: not if too much is
    /// reserved for such.
    pub(crate) fn has_share_ahead(&self, sizes: Sizes) -> bool {
        let share = self.len_bytes / AHEAD_SHARE;
        sizes.layout().is_ok_and(|layout| self.ahead_bytes + layout.slot_len <= share)
    }

    /// Notes that the transaction is not decided on.
    pub(crate) fn begin_ahead(&mut self, reservation: &BufferReservation) {
        self.ahead_bytes += reservation.layout.slot_len;
    }

    /// Notes that the transaction is decided on.
    pub(crate) fn settle_ahead(&mut self, reservation: &BufferReservation) {
        self.ahead_bytes -= reservation.layout.slot_len;
    }

    /// Makes the reservation a buffer.
    #[inline]
    pub(crate) fn commit(&mut self, reservation: BufferReservation, buffer: Buffer) {
        let BufferReservation { layout, .. } = reservation;
        debug_assert_eq!(layout, buffer.layout, "it lies where there is room");
        if buffer.is_oneway {
            let (buffers, bytes) = self.oneways.entry(buffer.sender_pid).or_default();
            *buffers += 1;
            *bytes += buffer.layout.slot_len;
        }
        self.buffers.insert(buffer);
    }

    /// Gives a reserved range back.
    pub(crate) fn abort(&mut self, reservation: BufferReservation) {
        let Layout { start, slot_len, .. } = reservation.layout;
        self.give_back(start, slot_len, reservation.is_oneway);
    }

    /// Gives back the range of a buffer that has come to its end.
    pub(crate) fn retire(&mut self, range: TakenRange) {
        let TakenRange { start, len, oneway_of } = range;
        if let Some(sender_pid) = oneway_of
            && let Some((buffers, bytes)) = self.oneways.get_mut(&sender_pid)
        {
            *buffers -= 1;
            *bytes -= len;
            if *buffers == 0 {
                self.oneways.remove(&sender_pid);
            }
        }
        self.give_back(start, len, oneway_of.is_some());
    }

    fn give_back(&mut self, start: u32, len: u32, is_oneway: bool) {
        if is_oneway {
            self.oneway_room += len;
        }
        self.ranges.give_back(start, len);
        self.pages.leave_range(start, len);
    }

    /// Forgets a buffer of a process that ends. Says whether there was one.
    pub(crate) fn forget_one(&mut self) -> bool {
        self.buffers.forget_one()
    }

    pub(crate) fn get_mut(&mut self, start: u32) -> Option<&mut Buffer> {
        self.buffers.get_mut(start)
    }

    /// The first buffer after that at offset `last`.
    pub(crate) fn after(&self, last: Option<u32>) -> Option<&Buffer> {
        self.buffers.after(last)
    }

    /// What one-ways may still take.
    pub(crate) fn oneway_room(&self) -> u32 {
        self.oneway_room
    }

    pub(crate) fn get(&self, start: u32) -> Option<&Buffer> {
        self.buffers.get(start)
    }

    /// Whether the newest one-way makes a flood of its sender's, told once per dip of the room.
    pub(crate) fn reports_spam(&mut self, sender_pid: u32) -> bool {
        if self.oneway_room >= self.len_bytes / SPAM_ROOM {
            self.has_reported_spam = false;
            return false;
        }
        if self.has_reported_spam {
            return false;
        }
        let (buffers, bytes) = self.oneways.get(&sender_pid).copied().unwrap_or_default();
        self.has_reported_spam = buffers > SPAM_BUFFERS || bytes > self.len_bytes / SPAM_SHARE;
        self.has_reported_spam
    }

    /// Live buffers and the bytes they take.
    pub(crate) fn usage(&self) -> (usize, u64) {
        let bytes = self.buffers.iter().map(|b| u64::from(b.layout.slot_len)).sum();
        (self.buffers.len(), bytes)
    }

    /// Captured files that wait for their delivery.
    pub(crate) fn files(&self) -> usize {
        self.buffers.iter().map(|buffer| buffer.files.len()).sum()
    }

    pub(crate) fn len_bytes(&self) -> u32 {
        self.len_bytes
    }

    pub(crate) fn pages_high_watermark(&self) -> usize {
        self.pages.high_watermark()
    }

    pub(crate) fn page_counts(&self) -> PageCounts {
        self.pages.counts()
    }

    /// What its pages take that have memory, in bytes.
    pub(crate) fn present_bytes(&self) -> usize {
        self.pages.bytes_of(self.pages.present())
    }
}

impl Context {
    /// Reserves a range for a transaction in the receive buffer of a process, whose user pays for
    /// pages that had no memory. If the user may have no more, idle pages of the user go back for
    /// them; if all users together may have no more, idle pages of any user do.
    ///
    /// # Errors
    ///
    /// As [`Mapping::reserve`]; `ENOMEM` when the user, or all, may have no more memory. It is the
    /// receiver's share that is exhausted, but the sender gets the error, as when there is no
    /// handle left.
    pub(crate) fn reserve_paid(
        &mut self,
        receiver: ProcessKey,
        sizes: Sizes,
        is_oneway: bool,
        memory: &mut dyn ReceiveBuffers,
    ) -> Result<BufferReservation, Refusal> {
        let mapping = self.mapping_of(receiver).map_err(Refusal::dead)?;
        let before = mapping.present_bytes();
        let reservation = mapping.reserve(sizes, is_oneway)?;
        let fresh = mapping.present_bytes() - before;
        if fresh == 0 {
            return Ok(reservation);
        }
        self.holdings_of(receiver)[Resource::Bytes] += fresh;
        let Err(holder) = self.keep_within_memory(receiver, memory) else { return Ok(reservation) };
        // The pages that were to be taken are idle then, and no others of this receiver.
        if let Some(mapping) = &mut self.processes[receiver].mapping {
            mapping.abort(reservation);
        }
        self.reclaim_idle_of(receiver, 0, usize::MAX, memory);
        Err(self.exceed_memory(receiver, holder).into())
    }

    /// Handles `BC_FREE_BUFFER`; an address that is not a delivered buffer's is ignored.
    pub(crate) fn free_buffer_at(
        &mut self,
        thread: ThreadKey,
        address: u64,
        memory: &mut dyn ReceiveBuffers,
    ) {
        let process = self.threads[thread].process;
        let Some(mapping) = &mut self.processes[process].mapping else { return };
        let Some(start) = mapping.offset_of(address) else { return };
        let Some(buffer) = mapping.get_mut(start) else { return };
        if !buffer.is_delivered {
            return;
        }
        if let Some(transaction) = buffer.transaction {
            self.transactions[transaction].buffer = None;
        }
        let is_oneway = buffer.is_oneway;
        let descriptors = core::mem::take(&mut buffer.array_descriptors);
        self.close_on_return(thread, descriptors);
        if is_oneway {
            self.end_turn(process, start);
        }
        if let Some(ending) = self.take_buffer(process, start) {
            self.free_slice(thread, ending, memory);
        }
    }

    /// Ends a buffer, and with it the turn of its one-way: the next in line goes out.
    pub(crate) fn free_buffer(
        &mut self,
        process: ProcessKey,
        start: u32,
        memory: &mut dyn ReceiveBuffers,
    ) {
        self.end_turn(process, start);
        self.drop_buffer(process, start, memory);
    }

    /// Ends the turn of the one-way that is in a buffer, if it is one.
    fn end_turn(&mut self, process: ProcessKey, start: u32) {
        let mapping = self.processes[process].mapping.as_ref();
        if let Some(Buffer { is_oneway: true, target: Some(node), .. }) =
            mapping.and_then(|mapping| mapping.get(start))
        {
            self.release_next_oneway(process, *node);
        }
    }

    /// Ends a buffer: all that it holds is let go.
    pub(crate) fn drop_buffer(
        &mut self,
        process: ProcessKey,
        start: u32,
        memory: &mut dyn ReceiveBuffers,
    ) {
        if let Some(ending) = self.take_buffer(process, start) {
            self.end_buffer(ending, memory);
        }
    }

    /// Takes a buffer that has come to its end; what its objects hold is still to be let go of.
    fn take_buffer(&mut self, process: ProcessKey, start: u32) -> Option<EndingBuffer> {
        let mapping = self.processes[process].mapping.as_mut()?;
        let (target, ending) = mapping
            .buffers
            .remove(start, |buffer| (buffer.target, EndingBuffer::new(process, buffer)))?;
        if let Some(node) = target {
            self.unhold_locally(node, Strength::Strong);
        }
        Some(ending)
    }

    /// Takes back what an object in a buffer of `process` counted.
    ///
    /// A reference may be gone by now, and in the course of 2^32 others its key may have come to
    /// name one of another process: that one is left alone.
    pub(crate) fn let_go(&mut self, process: ProcessKey, held: BufferHold) {
        match held {
            BufferHold::Node(node, strength) => {
                if self.nodes.get(node).is_some_and(|node| node.owner == Some(process)) {
                    self.unhold_locally(node, strength);
                    self.look_over(node);
                }
            }
            BufferHold::Reference(reference, strength) => {
                let found = self.references.get(reference);
                if found.is_some_and(|reference| reference.process == process) {
                    self.uncount_on(reference, strength);
                }
            }
        }
    }
}

#[cfg(test)]
mod cases;
