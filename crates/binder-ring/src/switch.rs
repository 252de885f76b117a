//! The switch by which the driver makes a program use ioctls.
//!
//! A program may confine its system calls to fewer than a ring needs, which would end it. Where the kernel asks the driver
//! before a program does so, the driver turns the switch first.

use core::hint;
use core::sync::atomic::{AtomicU64, Ordering};

/// The switch. The library by which a program uses rings has one.
#[derive(Debug)]
#[repr(C)]
pub struct RingSwitch {
    /// Marks the switch in the library's memory.
    mark: [u64; 2],
    /// 0 as long as the program may use rings.
    is_off: AtomicU64,
}

/// Any numbers that are nothing else.
const MARK: [u64; 2] = [0x8e5d_10c6_f2b9_4a37, 0x3bd7_95e1_640c_a8f2];

impl RingSwitch {
    /// The bytes that turn it off, at the place that [`find`](Self::find) returns.
    pub const OFF: [u8; 8] = 1_u64.to_ne_bytes();

    /// One that is on.
    #[expect(clippy::new_without_default, reason = "there is one, which is static")]
    pub const fn new() -> Self {
        Self { mark: MARK, is_off: AtomicU64::new(0) }
    }

    /// Whether the program is to make ioctls.
    #[inline(always)]
    pub fn is_off(&self) -> bool {
        // The compiler sees no write to it: the driver writes to it from outside.
        hint::black_box(&self.is_off).load(Ordering::Relaxed) != 0
    }

    /// Finds the switch in the memory of a library. Returns the offset at which [`OFF`](Self::OFF) is to be written.
    ///
    /// It is the last: where the library's variables share a page of its file with what is constant once it is loaded, that page
    /// is mapped twice, and the program's own comes behind.
    pub fn find(memory: &[u8]) -> Option<usize> {
        let (words, _) = memory.as_chunks::<8>();
        let mark = MARK.map(u64::to_ne_bytes);
        let found = words.windows(MARK.len() + 1).rposition(|words| words.starts_with(&mark))?;
        Some((found + MARK.len()) * size_of::<u64>())
    }
}

#[cfg(test)]
mod tests {
    extern crate std;

    use super::*;

    #[test]
    fn a_switch_is_found_by_its_mark() {
        let mut memory = [0; 64];
        for (place, word) in [(3, MARK[0]), (4, MARK[1])] {
            memory[place * 8..][..8].copy_from_slice(&word.to_ne_bytes());
        }
        assert_eq!(RingSwitch::find(&memory), Some(40));
        assert_eq!(RingSwitch::find(&memory[..40]), None, "it is not there as a whole");
        let page_twice = [memory, memory].concat();
        assert_eq!(RingSwitch::find(&page_twice), Some(104), "only the second can be written");
        assert_eq!(RingSwitch::find(&[0; 64]), None);
        assert!(!RingSwitch::new().is_off());
    }
}
