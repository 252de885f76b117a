//! A segment in the memory of this process.

#![expect(
    unsafe_code,
    reason = "memory that another process changes is copied through raw pointers"
)]

use core::ptr::{self, NonNull};
use core::sync::atomic::{AtomicU64, Ordering};
use core::{array, iter};

use binder_uapi::BinderWriteRead;

use crate::layout::{
    CALL_WORDS, DATA_BYTES, DATA_START, RETURNS_BYTES, RETURNS_START, SLOT_BYTES, SLOTS,
    SLOTS_START, SegmentHeader, SlotHead,
};
use crate::windows::{MemoryWindow, MemoryWindows};

/// A mapped segment. Its memory may change at any moment, so bytes are copied out of it and numbers are atomic.
///
/// It is as good as a pointer: the caller of [`new`](Self::new) keeps the mapping alive.
#[derive(Clone, Copy, Debug)]
pub struct Segment {
    start: NonNull<u8>,
}

// SAFETY: the mapping belongs to the process, not to a thread, as the caller of `new` says.
unsafe impl Send for Segment {}

// SAFETY: numbers in it are atomic, and bytes are copied through raw pointers, never lent: what races in them are bytes
// that either side takes for claims of the other's.
unsafe impl Sync for Segment {}

/// One of the slots that there are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SlotIndex(u32);

impl SlotIndex {
    /// Slot `number`, if there is such a one.
    pub const fn new(number: u32) -> Option<Self> {
        if number < SLOTS { Some(Self(number)) } else { None }
    }

    /// Its number.
    pub fn number(self) -> u32 {
        self.0
    }

    /// Its bit among those that are posted.
    pub fn bit(self) -> u32 {
        1 << self.0
    }

    /// All slots of these bits.
    pub fn of_bits(bits: u32) -> impl Iterator<Item = Self> {
        let mut left = bits & ((1 << SLOTS) - 1);
        iter::from_fn(move || {
            let slot = (left != 0).then_some(Self(left.trailing_zeros()))?;
            left &= !slot.bit();
            Some(slot)
        })
    }

    /// All slots.
    pub fn all() -> impl Iterator<Item = Self> {
        (0..SLOTS).map(Self)
    }

    /// All slots, in the order in which a thread looks at them. Where it begins is its own, by any number of it, so that most threads
    /// find theirs at once, on a page of its own.
    #[inline]
    pub fn all_near(near: u32) -> impl Iterator<Item = Self> {
        let first = near % SLOTS;
        (first..first + SLOTS).map(|slot| Self(if slot < SLOTS { slot } else { slot - SLOTS }))
    }
}

/// A request, as a thread posts it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RingRequest {
    /// The kind of request.
    pub kind: RequestKind,
    /// Its struct.
    pub call: BinderWriteRead,
    /// The parts of the client's memory that lie in the slot's data.
    pub windows: MemoryWindows,
}

/// The kinds of requests.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum RequestKind {
    /// Run the commands of the struct, and fill its read buffer.
    #[default]
    Call,
    /// The same, but a read for which there is nothing ends with `EAGAIN`.
    CallAtOnce,
    /// Send the [files](RingAnswer::FILES) that the call brings to the socket with this descriptor number.
    Socket(u32),
    /// Go on with the call. Its files, this many, have the descriptor numbers that lie in the slot's data.
    Numbers(u32),
}

impl RequestKind {
    fn of_claims([kind, number]: [u32; 2]) -> Self {
        match kind {
            1 => Self::Socket(number),
            2 => Self::Numbers(number),
            3 => Self::CallAtOnce,
            _ => Self::Call,
        }
    }

    fn claims(self) -> [u32; 2] {
        match self {
            Self::Call => [0, 0],
            Self::Socket(number) => [1, number],
            Self::Numbers(count) => [2, count],
            Self::CallAtOnce => [3, 0],
        }
    }
}

/// An answer of the driver.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RingAnswer {
    /// The result of the ioctl: 0, a negative error number, or one of those below.
    pub result: i32,
    /// The struct as it goes back to the caller.
    pub call: BinderWriteRead,
    /// How many bytes of returns are to be copied to the beginning of the read buffer.
    pub returns_len: usize,
}

impl RingAnswer {
    /// The thread is to make an ioctl, with the struct that comes back.
    pub const DECLINED: i32 = 1;
    /// The same, but that the call brings files that it can have sent to a [socket](RequestKind::Socket) instead.
    pub const FILES: i32 = 2;
    /// The call brings no such files as those whose [numbers](RequestKind::Numbers) were told.
    pub const UNKNOWN_FILES: i32 = 3;
    /// As [`DECLINED`](Self::DECLINED), and the driver has to hear from the thread itself who it is: its next request is one
    /// that the ioctl tells of, as its first one was.
    pub const UNKNOWN_CALLER: i32 = 4;
}

impl Segment {
    /// The segment at `start`.
    ///
    /// # Safety
    ///
    /// At `start` [`SEGMENT_BYTES`](crate::layout::SEGMENT_BYTES) are mapped to be read and written, from the
    /// beginning of a page on, for as long as this value or a copy of it is used; and no reference to any of that memory
    /// exists but through this type.
    pub const unsafe fn new(start: NonNull<u8>) -> Self {
        Self { start }
    }

    /// Its beginning.
    pub fn header(&self) -> &SegmentHeader {
        // SAFETY: a header lies there, aligned since the segment is; it is of atomics alone, for which any bytes do.
        unsafe { self.start.cast().as_ref() }
    }

    /// The beginning of a slot.
    pub fn slot(&self, slot: SlotIndex) -> &SlotHead {
        let head = self.place(slot, 0).cast();
        // SAFETY: as for `header`; slots start at multiples of 64 bytes within the segment.
        unsafe { head.as_ref() }
    }

    /// `at` is an offset within a slot.
    fn place(&self, slot: SlotIndex, at: usize) -> NonNull<u8> {
        debug_assert!(at <= SLOT_BYTES);
        let offset = SLOTS_START + slot.0 as usize * SLOT_BYTES + at;
        // SAFETY: a slot lies within the segment, and `at` within the slot or at its end.
        unsafe { self.start.add(offset) }
    }

    /// Writes a request to a slot; [`copy_in`](Self::copy_in) fills its windows. For the client.
    pub fn write_request(&self, slot: SlotIndex, request: &RingRequest) {
        let head = self.slot(slot);
        for (word, claim) in head.kind.iter().zip(request.kind.claims()) {
            word.store(claim, Ordering::Relaxed);
        }
        write_call(&head.request, &request.call);
        for ([address, len], window) in head.windows.iter().zip(request.windows.claims()) {
            address.store(window.address, Ordering::Relaxed);
            len.store(window.len, Ordering::Relaxed);
        }
    }

    /// Reads the request in a slot, once. For the driver.
    pub fn read_request(&self, slot: SlotIndex) -> RingRequest {
        let head = self.slot(slot);
        let window = |[address, len]: &[AtomicU64; 2]| MemoryWindow {
            address: address.load(Ordering::Relaxed),
            len: len.load(Ordering::Relaxed),
        };
        let windows = MemoryWindows::of_claims(head.windows.each_ref().map(window));
        let kind = head.kind.each_ref().map(|word| word.load(Ordering::Relaxed));
        RingRequest { kind: RequestKind::of_claims(kind), call: read_call(&head.request), windows }
    }

    /// Writes an answer to a slot. For the driver.
    pub fn write_answer(&self, slot: SlotIndex, answer: &RingAnswer) {
        let head = self.slot(slot);
        head.result.store(i64::from(answer.result).cast_unsigned(), Ordering::Relaxed);
        head.returns_len.store(answer.returns_len as u64, Ordering::Relaxed);
        write_call(&head.reply, &answer.call);
    }

    /// Reads the answer in a slot. For the client.
    pub fn read_answer(&self, slot: SlotIndex) -> RingAnswer {
        let head = self.slot(slot);
        let result = head.result.load(Ordering::Relaxed).cast_signed();
        let returns_len = head.returns_len.load(Ordering::Relaxed);
        RingAnswer {
            result: i32::try_from(result).unwrap_or(RingAnswer::DECLINED),
            call: read_call(&head.reply),
            returns_len: usize::try_from(returns_len).unwrap_or(usize::MAX).min(RETURNS_BYTES),
        }
    }

    /// Copies `len` bytes from `from` to offset `at` of a slot's data.
    ///
    /// # Safety
    ///
    /// At `from` that many bytes can be read, and they are not of a segment.
    ///
    /// # Panics
    ///
    /// If they do not lie within the data.
    pub unsafe fn copy_in(&self, slot: SlotIndex, at: usize, from: *const u8, len: usize) {
        assert!(at <= DATA_BYTES && len <= DATA_BYTES - at, "{len} bytes at {at} exceed a slot");
        // SAFETY: the range lies within the slot, as was checked; the other is the caller's promise.
        unsafe { ptr::copy_nonoverlapping(from, self.place(slot, DATA_START + at).as_ptr(), len) }
    }

    /// Copies `len` bytes from offset `at` of a slot's data to `to`.
    ///
    /// # Safety
    ///
    /// At `to` that many bytes can be written, and they are not of a segment.
    ///
    /// # Panics
    ///
    /// If they do not lie within the data.
    pub unsafe fn copy_out(&self, slot: SlotIndex, at: usize, to: *mut u8, len: usize) {
        assert!(at <= DATA_BYTES && len <= DATA_BYTES - at, "{len} bytes at {at} exceed a slot");
        // SAFETY: the range lies within the slot, as was checked; the other is the caller's promise.
        unsafe { ptr::copy_nonoverlapping(self.place(slot, DATA_START + at).as_ptr(), to, len) }
    }

    /// Fills `into` from offset `at` of a slot's data.
    ///
    /// # Panics
    ///
    /// If it does not lie within the data.
    pub fn read_data(&self, slot: SlotIndex, at: usize, into: &mut [u8]) {
        // SAFETY: `into` can be written, and lies in no segment: those are never lent.
        unsafe { self.copy_out(slot, at, into.as_mut_ptr(), into.len()) }
    }

    /// Writes returns to offset `at` of those of a slot. Says whether they have room. For the driver.
    pub fn write_returns(&self, slot: SlotIndex, at: usize, bytes: &[u8]) -> bool {
        let has_room = at <= RETURNS_BYTES && bytes.len() <= RETURNS_BYTES - at;
        if has_room {
            let to = self.place(slot, RETURNS_START + at).as_ptr();
            // SAFETY: the range lies within the slot, as was checked, and `bytes` in no segment.
            unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), to, bytes.len()) }
        }
        has_room
    }

    /// Copies the first `len` bytes of a slot's returns to `to`. For the client.
    ///
    /// # Safety
    ///
    /// At `to` that many bytes can be written, and they are not of a segment.
    ///
    /// # Panics
    ///
    /// If there are not so many.
    pub unsafe fn copy_returns(&self, slot: SlotIndex, to: *mut u8, len: usize) {
        assert!(len <= RETURNS_BYTES, "{len} bytes exceed the returns of a slot");
        // SAFETY: the range lies within the slot, as was checked; the other is the caller's promise.
        unsafe { ptr::copy_nonoverlapping(self.place(slot, RETURNS_START).as_ptr(), to, len) }
    }
}

fn write_call(words: &[AtomicU64; CALL_WORDS], call: &BinderWriteRead) {
    let BinderWriteRead {
        write_size,
        write_consumed,
        write_buffer,
        read_size,
        read_consumed,
        read_buffer,
    } = *call;
    let values = [write_size, write_consumed, write_buffer, read_size, read_consumed, read_buffer];
    for (word, value) in words.iter().zip(values) {
        word.store(value, Ordering::Relaxed);
    }
}

fn read_call(words: &[AtomicU64; CALL_WORDS]) -> BinderWriteRead {
    let [write_size, write_consumed, write_buffer, read_size, read_consumed, read_buffer] =
        array::from_fn(|at| words[at].load(Ordering::Relaxed));
    BinderWriteRead {
        write_size,
        write_consumed,
        write_buffer,
        read_size,
        read_consumed,
        read_buffer,
    }
}

#[cfg(test)]
mod tests {
    extern crate std;

    use std::boxed::Box;
    use std::vec::Vec;

    use super::*;
    use crate::layout::SEGMENT_BYTES;

    #[repr(C, align(4096))]
    struct Memory([u8; SEGMENT_BYTES]);

    fn segment() -> Segment {
        // SAFETY: zeros are what such an array may be of.
        let memory: Box<Memory> = unsafe { Box::new_zeroed().assume_init() };
        let start = NonNull::from(Box::leak(memory)).cast();
        // SAFETY: it is as long, page-aligned, and leaked.
        unsafe { Segment::new(start) }
    }

    #[test]
    fn slots_are_found_by_their_bits_and_there_are_no_others() {
        let slots: Vec<u32> = SlotIndex::of_bits(u32::MAX).map(SlotIndex::number).collect();
        assert!(slots.iter().copied().eq(0..SLOTS));
        let some: Vec<_> = SlotIndex::of_bits(1 << 31 | 1 << 30 | 0b1010).collect();
        assert_eq!(some.iter().map(|slot| slot.number()).collect::<Vec<_>>(), [1, 3, 30]);
        assert_eq!(some.iter().fold(0, |bits, slot| bits | slot.bit()), 1 << 30 | 0b1010);
        assert_eq!(SlotIndex::of_bits(0).count(), 0);
        assert_eq!((SlotIndex::new(SLOTS), SlotIndex::all().count()), (None, SLOTS as usize));
    }

    #[test]
    fn a_kind_of_request_is_what_its_client_has_claimed() {
        for kind in [
            RequestKind::Call,
            RequestKind::CallAtOnce,
            RequestKind::Socket(7),
            RequestKind::Numbers(3),
        ] {
            assert_eq!(RequestKind::of_claims(kind.claims()), kind);
        }
        assert_eq!(RequestKind::of_claims([4, 9]), RequestKind::Call, "there is no such kind");
    }

    #[test]
    fn a_request_and_its_answer_go_through_the_last_slot() {
        let segment = segment();
        let slot = SlotIndex::new(SLOTS - 1).expect("the last");
        assert_eq!(SlotIndex::new(SLOTS), None);
        let call = BinderWriteRead { write_size: 3, read_buffer: 7, ..Default::default() };
        let windows = MemoryWindows::of_commands(100, &[1, 2, 3], DATA_BYTES);
        let request = RingRequest { kind: RequestKind::Numbers(7), call, windows };
        segment.write_request(slot, &request);
        // SAFETY: a slice can be read.
        unsafe { segment.copy_in(slot, 0, [1, 2, 3].as_ptr(), 3) };
        assert_eq!(segment.read_request(slot), request);
        let mut read = [0; 3];
        segment.read_data(slot, 0, &mut read);
        assert_eq!(read, [1, 2, 3]);
        segment.write_request(slot, &RingRequest::default());
        assert_eq!(segment.read_request(slot), RingRequest::default());
        let answer = RingAnswer { result: -4, call, returns_len: 2 };
        assert!(segment.write_returns(slot, 0, &[8, 9]));
        segment.write_answer(slot, &answer);
        assert_eq!(segment.read_answer(slot), answer);
        // SAFETY: a slice can be written.
        unsafe { segment.copy_returns(slot, read.as_mut_ptr(), 2) };
        assert_eq!(read, [8, 9, 3]);
    }

    #[test]
    fn what_exceeds_a_slot_is_refused() {
        let segment = segment();
        let slot = SlotIndex::new(0).expect("the first");
        assert!(!segment.write_returns(slot, RETURNS_BYTES, &[1]));
        assert!(!segment.write_returns(slot, usize::MAX, &[1]));
        assert!(segment.write_returns(slot, RETURNS_BYTES, &[]));
        for (at, len) in [(DATA_BYTES, 1), (DATA_BYTES - 1, 2), (usize::MAX, 1)] {
            let read = std::panic::catch_unwind(|| segment.read_data(slot, at, &mut [0; 2][..len]));
            assert!(read.is_err(), "{at} {len}");
        }
        segment.slot(slot).returns_len.store(u64::MAX, Ordering::Relaxed);
        segment.slot(slot).result.store(u64::MAX >> 1, Ordering::Relaxed);
        let answer = segment.read_answer(slot);
        assert_eq!((answer.result, answer.returns_len), (RingAnswer::DECLINED, RETURNS_BYTES));
    }
}
