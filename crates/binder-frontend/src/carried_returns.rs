//! Returns that go back with the answer to a call instead of being written to its client's memory.

use alloc::vec::Vec;

/// No client has memory behind this, and what cannot be written there must not seem to be.
const ADDRESSES_END: u64 = 1 << 63;

/// What goes back with an answer, and what it may be.
#[derive(Debug, Default)]
pub(crate) struct CarriedReturns {
    /// Where the client wants them.
    start: u64,
    /// How many bytes of them have room.
    room_bytes: usize,
    bytes: Vec<u8>,
}

impl CarriedReturns {
    /// Forgets all but the memory, and carries nothing.
    pub(crate) fn clear(&mut self) {
        self.room_bytes = 0;
        self.bytes.clear();
    }

    /// From now on carries what is for `start`, as far as it fits into that many bytes.
    pub(crate) fn begin(&mut self, start: u64, room_bytes: usize) {
        let there = usize::try_from(ADDRESSES_END.saturating_sub(start)).unwrap_or(usize::MAX);
        (self.start, self.room_bytes) = (start, room_bytes.min(there));
    }

    /// Takes returns that are for `address`, in the place of any that were. Says whether they have room; if not, they are to
    /// be written, and what was taken for there is taken no more.
    pub(crate) fn take(&mut self, address: u64, returns: &[u8]) -> bool {
        let at = address.checked_sub(self.start).and_then(|at| usize::try_from(at).ok());
        let Some(at) = at.filter(|at| *at <= self.bytes.len()) else { return false };
        self.bytes.truncate(at);
        let has_room = returns.len() <= self.room_bytes.saturating_sub(at);
        if has_room {
            self.bytes.extend_from_slice(returns);
        }
        has_room
    }

    /// Whether a client wants some.
    pub(crate) fn are_wanted(&self) -> bool {
        self.room_bytes > 0
    }

    /// Keeps the memory of returns that went another way, if none are carried.
    pub(crate) fn keep_memory(&mut self, bytes: Vec<u8>) {
        if !self.are_wanted() {
            self.bytes = bytes;
            self.bytes.clear();
        }
    }

    /// Takes the memory, if none are carried.
    pub(crate) fn take_memory(&mut self) -> Option<Vec<u8>> {
        (!self.are_wanted() && self.bytes.capacity() > 0).then(|| core::mem::take(&mut self.bytes))
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn returns_take_the_place_of_those_for_the_same_address() {
        let mut returns = CarriedReturns::default();
        returns.begin(0x1000, 8);
        assert!(returns.take(0x1000, &[1, 2]));
        assert!(returns.take(0x1000, &[3, 4, 5]));
        assert!(returns.take(0x1003, &[6]));
        assert_eq!(returns.bytes(), [3, 4, 5, 6]);
    }

    #[test]
    fn what_has_no_room_is_not_taken_nor_what_was_for_the_same_address() {
        let mut returns = CarriedReturns::default();
        assert!(!returns.take(0, &[1]), "nothing is carried");
        returns.begin(0x1000, 4);
        assert!(!returns.take(0xfff, &[1]) && !returns.take(0x1001, &[1]), "not from the start");
        assert!(returns.take(0x1000, &[1, 2]) && !returns.take(0x1001, &[3, 4, 5, 6]));
        assert_eq!(returns.bytes(), [1]);
        returns.clear();
        assert!(!returns.take(0x1000, &[1]));
        returns.begin(u64::MAX - 8, 4);
        assert!(!returns.take(u64::MAX - 8, &[1]), "nobody has memory there");
    }
}
