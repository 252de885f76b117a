//! Calls against a driver that plays from a script.

use core::mem::MaybeUninit;
use core::sync::atomic::AtomicU32;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::vec;
use std::vec::Vec;

use binder_ring::{BellState, SLEEPS, Segment};
use binder_uapi::{BC_ENTER_LOOPER, BC_TRANSACTION, BinderTransactionData};
use rustix::fd::{AsFd, BorrowedFd, FromRawFd, OwnedFd};
use rustix::fs::{MemfdFlags, fstat, memfd_create};
use rustix::io::IoSlice;
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
use zerocopy::IntoBytes;

use super::*;

/// A system call that is expected.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Asked {
    Wake,
    Sleep,
    Wait(u32),
}

/// What the driver does meanwhile.
type Deed = fn(&Driver<'_>);

/// The end of a system call: of a sleep, or of the ioctl.
#[derive(Clone, Copy)]
enum End {
    Slept(SleepEnd),
    Answered(Result<(), Errno>),
}

use End::{Answered, Slept};

/// The driver, and the script by which it plays.
struct Driver<'a> {
    ring: &'a ClientRing,
    slot: SlotIndex,
    script: RefCell<VecDeque<(Asked, Deed, End)>>,
    /// How often in a row it has slept.
    sleeps: Cell<u32>,
}

/// Memory of the caller of which no byte can be reached but those of `lent`.
struct PartialMemory<'a> {
    lent: &'a [&'a [u8]],
    /// Where returns go.
    returns: RefCell<Vec<u8>>,
}

const RETURNS: &[u8] = b"returns!";
const READ_BUFFER: u64 = 0x5000;
const READ_SIZE: u64 = 256;

impl Driver<'_> {
    fn new(ring: &ClientRing, slot: SlotIndex, script: VecDeque<(Asked, Deed, End)>) -> Driver<'_> {
        Driver { ring, slot, script: RefCell::new(script), sleeps: Cell::new(0) }
    }

    fn next(&self, asked: Asked) -> End {
        let (expected, deed, end) = self.script.borrow_mut().pop_front().expect("it is not over");
        assert_eq!(asked, expected);
        deed(self);
        end
    }

    /// Answers without a word.
    fn answer_nothing(&self, result: i32) {
        let segment = &self.ring.segment;
        let call = segment.read_request(self.slot).call;
        segment.write_answer(self.slot, &RingAnswer { result, call, returns_len: 0 });
        let _ = segment.slot(self.slot).word.answer();
    }

    /// Answers with eight returns.
    fn answer(&self, result: i32) {
        let segment = &self.ring.segment;
        let mut call = segment.read_request(self.slot).call;
        call.write_consumed = call.write_size;
        call.read_consumed += RETURNS.len() as u64;
        // Of this the client is to believe nothing.
        (call.read_buffer, call.write_buffer) = (1, 2);
        assert!(segment.write_returns(self.slot, 0, RETURNS));
        segment.write_answer(self.slot, &RingAnswer { result, call, returns_len: RETURNS.len() });
        let _ = segment.slot(self.slot).word.answer();
    }
}

impl RingSystem for Driver<'_> {
    fn cpu(&self) -> u32 {
        self.ring.segment.header().driver_cpu.load(Ordering::Relaxed)
    }

    fn wake(&self, word: &AtomicU32) {
        assert!(core::ptr::eq(word, self.ring.segment.header().bell.word()));
        self.next(Asked::Wake);
    }

    fn sleep(&self, word: &AtomicU32, value: u32) -> SleepEnd {
        assert_eq!(word.load(Ordering::Relaxed), value);
        // What the script calls a sleep is a long one.
        let is_late =
            matches!(self.script.borrow().front(), Some((_, _, Slept(SleepEnd::TimedOut))));
        if is_late && self.sleeps.replace(self.sleeps.get() + 1) < SLEEPS - 1 {
            return SleepEnd::TimedOut;
        }
        self.sleeps.set(0);
        let Slept(end) = self.next(Asked::Sleep) else { panic!("a sleep ends otherwise") };
        end
    }

    fn ring_wait(&self, slot: SlotIndex, flags: u32) -> Result<(), Errno> {
        assert_eq!(slot, self.slot);
        let Answered(answer) = self.next(Asked::Wait(flags)) else { panic!("an ioctl answers") };
        answer
    }
}

impl CallMemory for PartialMemory<'_> {
    fn copy_in(&self, segment: &Segment, slot: SlotIndex, at: usize, window: MemoryWindow) -> bool {
        let is_it =
            |it: &&&[u8]| (it.as_ptr() as u64, it.len() as u64) == (window.address, window.len);
        let Some(lent) = self.lent.iter().find(is_it) else { return false };
        #[expect(unsafe_code, reason = "the segment is filled through pointers")]
        // SAFETY: a slice can be read.
        unsafe {
            segment.copy_in(slot, at, lent.as_ptr(), lent.len());
        }
        true
    }

    fn copy_returns(
        &self,
        segment: &Segment,
        slot: SlotIndex,
        address: u64,
        len: usize,
    ) -> Result<(), Errno> {
        let mut returns = vec![0; len];
        #[expect(unsafe_code, reason = "the segment is copied through pointers")]
        // SAFETY: a vector of that length can be written.
        unsafe {
            segment.copy_returns(slot, returns.as_mut_ptr(), len);
        }
        self.returns.borrow_mut().extend(returns);
        let is_there = (READ_BUFFER..READ_BUFFER + READ_SIZE).contains(&address);
        if is_there { Ok(()) } else { Err(Errno::EFAULT) }
    }
}

fn ring() -> (ClientRing, OwnedFd) {
    ClientRing::create().expect("a segment")
}

/// Nothing happens.
fn idle(_: &Driver<'_>) {}

fn answer(driver: &Driver<'_>) {
    driver.answer(0);
}

/// A call that reads, with its outcome.
fn read(ring: &ClientRing, script: &[(Asked, Deed, End)]) -> (RingOutcome, u64, Vec<u8>) {
    let slot = SlotIndex::new(5).expect("it exists");
    let driver = Driver::new(ring, slot, script.iter().copied().collect());
    let memory = PartialMemory { lent: &[], returns: RefCell::default() };
    let mut call =
        BinderWriteRead { read_size: READ_SIZE, read_buffer: READ_BUFFER, ..Default::default() };
    let outcome = ring.exchange(slot, &mut call, &driver, &memory);
    assert!(driver.script.take().is_empty(), "it goes on");
    assert_eq!((call.read_size, call.read_buffer), (READ_SIZE, READ_BUFFER));
    (outcome, call.read_consumed, memory.returns.take())
}

/// A ring whose slot 5 is known to the driver, which is awake.
fn used_ring() -> (ClientRing, OwnedFd) {
    let (ring, file) = ring();
    assert_eq!(ring.claim(5, 5).map(SlotIndex::number), Some(5));
    let first = [(Asked::Wait(0), answer as Deed, Answered(Ok(())))];
    assert_eq!(read(&ring, &first), done());
    ring.segment.header().bell.set_awake();
    (ring, file)
}

/// The outcome of a call that was answered.
fn done() -> (RingOutcome, u64, Vec<u8>) {
    (RingOutcome::Done(Ok(())), 8, RETURNS.into())
}

/// The same of one that brought nothing.
fn nothing(outcome: RingOutcome) -> (RingOutcome, u64, Vec<u8>) {
    (outcome, 0, vec![])
}

#[test]
fn a_thread_says_once_whose_its_slot_is() {
    let (ring, _file) = used_ring();
    let then = [(Asked::Sleep, answer as Deed, Slept(SleepEnd::Woken))];
    assert_eq!(read(&ring, &then), done());
    assert_eq!(ring.segment.header().bell.take_posted(), 1 << 5);
}

#[test]
fn a_driver_is_woken_or_told_as_it_waits() {
    let (ring, _file) = used_ring();
    let bell = &ring.segment.header().bell;
    bell.set(BellState::Asleep);
    assert_eq!(read(&ring, &[(Asked::Wake, answer, Slept(SleepEnd::Woken))]), done());
    bell.set(BellState::Unwatched);
    // The driver says nothing: the thread goes on waiting.
    let script = [
        (Asked::Wait(0), idle as Deed, Answered(Ok(()))),
        (Asked::Sleep, idle, Slept(SleepEnd::Woken)),
        (Asked::Sleep, answer, Slept(SleepEnd::Woken)),
    ];
    assert_eq!(read(&ring, &script), done());
}

#[test]
fn a_long_wait_is_the_drivers_and_a_signal_ends_it() {
    let (ring, _file) = used_ring();
    let late = [
        (Asked::Sleep, idle as Deed, Slept(SleepEnd::TimedOut)),
        (Asked::Wait(0), answer, Answered(Ok(()))),
    ];
    assert_eq!(read(&ring, &late), done());
    let interrupt: Deed = |driver| driver.answer(-4);
    let interrupted = [
        (Asked::Sleep, idle as Deed, Slept(SleepEnd::Interrupted)),
        (Asked::Wait(RING_INTERRUPT), interrupt, Answered(Ok(()))),
    ];
    let end = (RingOutcome::Done(Err(Errno::EINTR)), 8, RETURNS.into());
    assert_eq!(read(&ring, &interrupted), end);
    // In the ioctl itself.
    let twice = [
        (Asked::Sleep, idle as Deed, Slept(SleepEnd::TimedOut)),
        (Asked::Wait(0), idle, Answered(Err(Errno::EINTR))),
        (Asked::Wait(RING_INTERRUPT), interrupt, Answered(Ok(()))),
    ];
    assert_eq!(read(&ring, &twice), end);
    // The answer was there already.
    let crossed = [(Asked::Sleep, answer as Deed, Slept(SleepEnd::Interrupted))];
    assert_eq!(read(&ring, &crossed), done());
}

#[test]
fn what_the_driver_declines_is_an_ioctl_that_goes_on_from_there() {
    let (ring, _file) = used_ring();
    let decline: Deed = |driver| driver.answer(RingAnswer::DECLINED);
    let declined = [(Asked::Sleep, decline, Slept(SleepEnd::Woken))];
    assert_eq!(read(&ring, &declined), (RingOutcome::Ioctl, 8, RETURNS.into()));
    assert_eq!(read(&ring, &[(Asked::Sleep, answer, Slept(SleepEnd::Woken))]), done());
}

/// A file of this length.
fn file_of(len: u64) -> OwnedFd {
    let file = memfd_create(c"sent", MemfdFlags::CLOEXEC).expect("a file");
    rustix::fs::ftruncate(&file, len).expect("it grows");
    file
}

#[expect(unsafe_code, reason = "numbers that come by the ring are looked at")]
fn descriptor(number: u32) -> BorrowedFd<'static> {
    // SAFETY: nothing is closed through this, and whether it is open is what is asked.
    unsafe { BorrowedFd::borrow_raw(number.cast_signed()) }
}

/// Sends files of 1, 2 and 3 bytes to the socket that was posted, the first one last.
fn send_files(driver: &Driver<'_>) {
    let RequestKind::Socket(number) = driver.ring.segment.read_request(driver.slot).kind else {
        panic!("no socket is posted")
    };
    let files = [2, 3, 1].map(file_of);
    let files = files.each_ref().map(AsFd::as_fd);
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(3))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    assert!(ancillary.push(SendAncillaryMessage::ScmRights(&files)));
    let bytes = [IoSlice::new(b"!")];
    let sent = sendmsg(descriptor(number), &bytes, &mut ancillary, SendFlags::empty());
    assert_eq!(sent, Ok(1));
    driver.answer_nothing(0);
}

/// The numbers that were posted, and the lengths of their files.
fn posted_files(driver: &Driver<'_>) -> [(u32, Option<i64>); 3] {
    let segment = &driver.ring.segment;
    assert_eq!(segment.read_request(driver.slot).kind, RequestKind::Numbers(3));
    let mut bytes = [0; 12];
    segment.read_data(driver.slot, 0, &mut bytes);
    let len = |number| fstat(descriptor(number)).ok().map(|stat| stat.st_size);
    core::array::from_fn(|at| {
        let number = u32::from_ne_bytes(bytes.as_chunks().0[at]);
        (number, len(number))
    })
}

#[test]
fn files_are_taken_from_a_socket_and_told_by_their_numbers() {
    let (ring, _file) = used_ring();
    let bring: Deed = |driver| driver.answer(RingAnswer::FILES);
    let go_on: Deed = |driver| {
        let files = posted_files(driver);
        assert_eq!(files.map(|(_, len)| len), [Some(1), Some(2), Some(3)]);
        driver.answer(0);
        // They are the program's from here on.
        for (number, _) in files {
            #[expect(unsafe_code, reason = "the program closes what it was given")]
            // SAFETY: no other value owns it.
            drop(unsafe { OwnedFd::from_raw_fd(number.cast_signed()) });
        }
    };
    let woken = Slept(SleepEnd::Woken);
    let script = [(Asked::Sleep, bring, woken), (Asked::Sleep, send_files, woken)];
    // Returns come with the first answer, and with the last.
    let (outcome, consumed, returns) =
        read(&ring, &[&script[..], &[(Asked::Sleep, go_on, woken)]].concat());
    assert_eq!((outcome, consumed), (RingOutcome::Done(Ok(())), 16));
    assert_eq!(returns, [RETURNS, RETURNS].concat());

    // A driver that knows nothing of them by then.
    let forget: Deed = |driver| {
        posted_files(driver);
        driver.answer_nothing(RingAnswer::UNKNOWN_FILES);
    };
    let interrupted = (RingOutcome::Done(Err(Errno::EINTR)), 8, RETURNS.into());
    assert_eq!(read(&ring, &[&script[..], &[(Asked::Sleep, forget, woken)]].concat()), interrupted);
}

#[test]
fn files_that_do_not_come_are_for_the_ioctl() {
    let (ring, _file) = used_ring();
    let bring: Deed = |driver| driver.answer(RingAnswer::FILES);
    let decline: Deed = |driver| driver.answer_nothing(RingAnswer::DECLINED);
    let send_none: Deed = |driver| driver.answer_nothing(0);
    for deed in [decline, send_none] {
        let script = [bring, deed].map(|deed| (Asked::Sleep, deed, Slept(SleepEnd::Woken)));
        assert_eq!(read(&ring, &script), (RingOutcome::Ioctl, 8, RETURNS.into()));
    }
}

#[test]
fn the_end_of_the_driver_ends_the_call_and_the_ring() {
    for error in [Errno::ECONNABORTED, Errno::ENOTCONN] {
        let (ring, _file) = used_ring();
        let gone = [
            (Asked::Sleep, idle as Deed, Slept(SleepEnd::TimedOut)),
            (Asked::Wait(0), idle, Answered(Err(error))),
        ];
        let aborted = RingOutcome::Done(Err(Errno::ECONNABORTED));
        assert_eq!(read(&ring, &gone), nothing(aborted));
        assert!(ring.is_lost());
        assert_eq!(read(&ring, &[]), nothing(RingOutcome::Ioctl));
    }
}

#[test]
fn a_thread_that_gets_no_slot_makes_the_ioctl() {
    let (ring, _file) = ring();
    assert!(ring.claim(5, 5).is_some());
    let refused = [(Asked::Wait(0), idle as Deed, Answered(Err(Errno::EPERM)))];
    assert_eq!(read(&ring, &refused), nothing(RingOutcome::Refused));
    assert!(!ring.is_lost(), "others may have better luck");
    assert!(ring.segment.slot(SlotIndex::new(5).expect("it exists")).word.take());
}

#[test]
fn a_call_that_may_have_been_taken_is_not_made_again() {
    // Its first wait was interrupted.
    let (fresh, _file) = ring();
    assert!(fresh.claim(5, 5).is_some());
    let first = [
        (Asked::Wait(0), idle as Deed, Answered(Err(Errno::EINTR))),
        (Asked::Wait(RING_INTERRUPT), idle, Answered(Err(Errno::EPERM))),
    ];
    assert_eq!(read(&fresh, &first), nothing(RingOutcome::Done(Err(Errno::EPERM))));
    let (ring, _file) = used_ring();
    let refused = [
        (Asked::Sleep, idle as Deed, Slept(SleepEnd::TimedOut)),
        (Asked::Wait(0), idle, Answered(Err(Errno::EPERM))),
    ];
    assert_eq!(read(&ring, &refused), nothing(RingOutcome::Done(Err(Errno::EPERM))));
    assert_eq!(read(&ring, &[]), nothing(RingOutcome::Ioctl));
}

#[test]
fn a_call_whose_device_is_closed_ends_as_the_driver_says() {
    let (ring, _file) = used_ring();
    let closed = (Asked::Wait(0), idle as Deed, Answered(Err(Errno::EBADF)));
    let late = (Asked::Sleep, idle as Deed, Slept(SleepEnd::TimedOut));
    let told = (Asked::Sleep, answer as Deed, Slept(SleepEnd::Woken));
    assert_eq!(read(&ring, &[late, closed, told]), done());
    // A signal does not make it end before the driver is done with it.
    let signal = (Asked::Sleep, idle as Deed, Slept(SleepEnd::Interrupted));
    let interrupted = (Asked::Wait(RING_INTERRUPT), idle as Deed, Answered(Err(Errno::EBADF)));
    assert_eq!(read(&ring, &[signal, interrupted, signal, interrupted, told]), done());
    // But for ever it does not wait.
    let mut script = vec![late];
    script.extend([closed, late].repeat(MAX_WITHOUT_FILE as usize));
    script.push(closed);
    let end = nothing(RingOutcome::Done(Err(Errno::EBADF)));
    assert_eq!(read(&ring, &script), end);
    // One of which the driver has not heard it never will.
    let (ring, _file) = used_ring();
    ring.segment.header().bell.set(BellState::Unwatched);
    assert_eq!(read(&ring, &[closed]), end);
}

#[test]
fn a_call_within_a_call_ends_that_and_leaves_its_answer() {
    let (ring, _file) = used_ring();
    let within: Deed = |driver| {
        let interrupt: Deed = |driver| driver.answer(-4);
        let script = [
            (Asked::Wait(RING_INTERRUPT), idle as Deed, Answered(Ok(()))),
            (Asked::Wait(RING_INTERRUPT), interrupt, Answered(Ok(()))),
        ];
        assert_eq!(read(driver.ring, &script), nothing(RingOutcome::Ioctl));
    };
    let interrupted = [(Asked::Sleep, within, Slept(SleepEnd::Interrupted))];
    let end = (RingOutcome::Done(Err(Errno::EINTR)), 8, RETURNS.into());
    assert_eq!(read(&ring, &interrupted), end);
}

#[test]
fn commands_and_what_they_point_to_are_copied_as_far_as_they_can_be() {
    let (ring, _file) = used_ring();
    let slot = SlotIndex::new(5).expect("it exists");
    let (data, offsets) = ([7; 20], [8_u64]);
    let transaction = BinderTransactionData {
        buffer: data.as_ptr() as u64,
        data_size: 20,
        offsets: offsets.as_ptr() as u64,
        offsets_size: 8,
        ..Default::default()
    };
    // The first command was consumed already.
    let commands: Vec<u8> =
        [&BC_ENTER_LOOPER.to_ne_bytes(), &BC_TRANSACTION.to_ne_bytes(), transaction.as_bytes()]
            .concat();
    let lent: [&[u8]; 3] = [&commands[4..], offsets.as_bytes(), &data];
    for count in 0..=lent.len() {
        let memory = PartialMemory { lent: &lent[..count], returns: RefCell::default() };
        let check = [(Asked::Sleep, answer as Deed, Slept(SleepEnd::Woken))];
        let driver = Driver::new(&ring, slot, check.into());
        let mut call = BinderWriteRead {
            write_size: commands.len() as u64,
            write_consumed: 4,
            write_buffer: commands.as_ptr() as u64,
            ..Default::default()
        };
        let outcome = ring.exchange(slot, &mut call, &driver, &memory);
        assert_eq!((outcome, call.write_consumed), (RingOutcome::Done(Ok(())), call.write_size));
        let windows = ring.segment.read_request(slot).windows;
        assert_eq!(windows.iter().count(), count);
        for (lent, (window, at)) in lent.iter().zip(windows.iter()) {
            let mut found = vec![0; lent.len()];
            ring.segment.read_data(slot, at, &mut found);
            assert_eq!((window.address, &found[..]), (lent.as_ptr() as u64, *lent));
        }
    }
    // Many commands are copied, and not looked at.
    let many = commands[4..].repeat(9);
    let lent = [many.as_slice()];
    let memory = PartialMemory { lent: &lent, returns: RefCell::default() };
    let call = BinderWriteRead {
        write_size: many.len() as u64,
        write_buffer: many.as_ptr() as u64,
        ..Default::default()
    };
    assert_eq!(ring.copy_commands(slot, &call, &memory).iter().count(), 1);
}

#[test]
fn returns_that_cannot_be_written_are_a_fault() {
    let (ring, _file) = used_ring();
    let slot = SlotIndex::new(5).expect("it exists");
    let script = [(Asked::Sleep, answer as Deed, Slept(SleepEnd::Woken))];
    let driver = Driver::new(&ring, slot, script.into());
    let memory = PartialMemory { lent: &[], returns: RefCell::default() };
    let mut call = BinderWriteRead { read_size: 5, read_buffer: 8, ..Default::default() };
    let outcome = ring.exchange(slot, &mut call, &driver, &memory);
    assert_eq!(outcome, RingOutcome::Done(Err(Errno::EFAULT)));
    assert_eq!(memory.returns.take(), RETURNS[..5], "no more than there is room for");
    assert_eq!(call.read_consumed, 0);
}
