//! Threads that are known again without a system call.
//!
//! The C library has a record of each thread, to which the thread pointer leads, and in it the thread's number, which the kernel
//! writes when the thread begins and clears when it ends. Where that is, a thread can ask the kernel (`PR_GET_TID_ADDRESS`). So a
//! thread that has the pointer and, there, the number that it had when it asked for its number is the same.
//!
//! A process that shares the memory, but has no record of its own, has its parent's: a child of vfork(2) until it executes a
//! program, while which no thread is known here, and one that clone(2) makes, whose stack is elsewhere.
//! With a C library that does without such a word, and on other machines, threads ask at each call.

#![expect(unsafe_code, reason = "a word of the C library is read")]

use core::sync::atomic::{AtomicIsize, AtomicUsize, Ordering};

use crate::program_memory::{stack_pointer, thread_pointer};
use crate::{syscall, vfork};

/// A thread that has asked for its number.
#[derive(Debug)]
pub(crate) struct KnownThread {
    /// Its thread pointer, or 0.
    pointer: AtomicUsize,
    /// Its stack pointer then.
    stack: AtomicUsize,
}

/// So far from where it asked a thread is known on its stack.
const STACK_BYTES: usize = 16 << 10;
/// So far from the thread pointer the number may be.
const RECORD_BYTES: usize = 4 << 10;

/// From a thread pointer to the word with the number. 0 where there is none: that is the pointer itself.
static TO_NUMBER: AtomicIsize = AtomicIsize::new(0);

impl KnownThread {
    /// None is known.
    pub(crate) const fn new() -> Self {
        Self { pointer: AtomicUsize::new(0), stack: AtomicUsize::new(0) }
    }

    pub(crate) fn forget(&self) {
        self.pointer.store(0, Ordering::Relaxed);
    }

    /// Knows this thread, of which the kernel has told the number, if the C library has that, too.
    #[cold]
    pub(crate) fn learn(&self, tid: u32) {
        let pointer = thread_pointer();
        let to_number = TO_NUMBER.load(Ordering::Relaxed);
        let word = pointer.wrapping_add_signed(to_number);
        let is_there = to_number != 0 && syscall::can_read_word(word & !7);
        // SAFETY: it can be read.
        if is_there && unsafe { number_at(word) } == tid {
            self.stack.store(stack_pointer(), Ordering::Relaxed);
            self.pointer.store(pointer, Ordering::Relaxed);
        }
    }

    /// Whether it is this thread, and that has the number `tid` still. That is asked for where the rest is right.
    #[inline(always)]
    pub(crate) fn is_own(&self, tid: impl FnOnce() -> u32) -> bool {
        let pointer = thread_pointer();
        if self.pointer.load(Ordering::Relaxed) != pointer {
            return false;
        }
        let word = pointer.wrapping_add_signed(TO_NUMBER.load(Ordering::Relaxed));
        stack_pointer().abs_diff(self.stack.load(Ordering::Relaxed)) < STACK_BYTES
            && !vfork::is_any_child()
            // SAFETY: it was there for a thread with this pointer, and is as long as the thread: the C library needs it.
            && unsafe { number_at(word) } == tid()
    }
}

/// Finds out where the numbers of threads are, once for the process. Where children of vfork(2) are not counted, no thread is to
/// be known.
pub(crate) fn prepare() {
    if !vfork::COUNTS_CHILDREN {
        return;
    }
    let pointer = thread_pointer();
    let word = syscall::tid_address().unwrap_or(0);
    let is_in_record =
        word.abs_diff(pointer) < RECORD_BYTES && word.is_multiple_of(align_of::<u32>());
    if is_in_record && syscall::can_read_word(word & !7) {
        // SAFETY: it can be read.
        let number = unsafe { number_at(word) };
        if number == own_number() {
            let to_number = word.wrapping_sub(pointer).cast_signed();
            TO_NUMBER.store(to_number, Ordering::Relaxed);
        }
    }
}

/// Whether threads are known at all.
#[inline(always)]
pub(crate) fn are_any() -> bool {
    TO_NUMBER.load(Ordering::Relaxed) != 0
}

/// The number of this thread, by the kernel.
pub(crate) fn own_number() -> u32 {
    rustix::thread::gettid().as_raw_nonzero().get().cast_unsigned()
}

/// # Safety
///
/// The word can be read.
#[inline(always)]
unsafe fn number_at(word: usize) -> u32 {
    // SAFETY: the caller's promise. The kernel alone may write there.
    unsafe { (word as *const u32).read_volatile() }
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;

    #[test]
    fn a_thread_is_known_until_it_is_another_or_elsewhere() {
        prepare();
        let known = KnownThread::new();
        let own = own_number();
        assert!(!known.is_own(|| own), "nothing is known at first");
        known.learn(own + 1);
        assert!(!known.is_own(|| own + 1), "the C library says otherwise");
        known.learn(own);
        assert!(known.is_own(|| own) && !known.is_own(|| own + 1));
        let is_other = std::thread::scope(|scope| {
            scope.spawn(|| !known.is_own(|| own) && !known.is_own(own_number)).join().unwrap()
        });
        assert!(is_other);
        known.stack.fetch_sub(STACK_BYTES, Ordering::Relaxed);
        assert!(!known.is_own(|| own), "it may be the stack of a child");
        known.learn(own);
        known.forget();
        assert!(!known.is_own(|| own));
    }

    #[test]
    fn a_thread_with_the_record_of_one_that_has_ended_is_another() {
        prepare();
        let known = KnownThread::new();
        let run = |expected: Option<u32>| {
            std::thread::scope(|scope| {
                let thread = scope.spawn(|| {
                    let is_own = expected.is_some_and(|before| known.is_own(|| before));
                    assert!(!is_own, "the number is another one");
                    known.learn(own_number());
                    assert!(known.is_own(own_number));
                    own_number()
                });
                thread.join().unwrap()
            })
        };
        let first = run(None);
        // The C library gives stacks to new threads.
        (0..8).fold(first, |before, _| run(Some(before)));
    }
}
