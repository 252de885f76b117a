//! The word of server and driver: what has become of a call.

use binder_ring::SlotIndex;
use binder_ring::layout::SLOTS;

use crate::atomic::{AtomicU32, Ordering};
use crate::posted::CallNumber;

/// Written by a server's threads and by the driver, each of which changes it only from what it has seen; the caller reads
/// it, and sleeps on it.
#[derive(Debug, Default)]
#[repr(transparent)]
pub struct ServedWord(AtomicU32);

/// What has become of the call whose number stands beside it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
enum State {
    /// A server's thread has replied. So it is in the beginning, of a call that was never made.
    Replied = 0,
    /// A thread serves it.
    Claimed = 1,
    /// The driver has it.
    Adopted = 2,
    /// Its server is gone.
    Dead = 3,
}

impl State {
    const BITS: u32 = 2;

    fn of_bits(bits: u32) -> Self {
        match bits & ((1 << Self::BITS) - 1) {
            1 => Self::Claimed,
            2 => Self::Adopted,
            3 => Self::Dead,
            _ => Self::Replied,
        }
    }
}

const SLOT_BITS: u32 = 5;
const SLOT_SHIFT: u32 = State::BITS;
const NUMBER_SHIFT: u32 = SLOT_SHIFT + SLOT_BITS;

const _: () = assert!(NUMBER_SHIFT + CallNumber::BITS < u32::BITS && SLOTS < 1 << SLOT_BITS);

/// In the place of a slot that there is not.
const FIRST: SlotIndex = match SlotIndex::new(0) {
    Some(slot) => slot,
    None => unreachable!(),
};

/// So often the driver looks at a word that changes under its hands.
const MOST_ATTEMPTS: u32 = 8;

/// A value of the word.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Value {
    number: CallNumber,
    slot: SlotIndex,
    state: State,
}

impl Value {
    fn of_bits(bits: u32) -> Self {
        Self {
            number: CallNumber::of_bits(bits >> NUMBER_SHIFT),
            // A number that no slot has is a lie, of which the server has its own call spoilt.
            slot: SlotIndex::new(bits >> SLOT_SHIFT & ((1 << SLOT_BITS) - 1)).unwrap_or(FIRST),
            state: State::of_bits(bits),
        }
    }

    fn bits(self) -> u32 {
        self.number.bits() << NUMBER_SHIFT | self.slot.number() << SLOT_SHIFT | self.state as u32
    }

    /// Whether call `number` is the next: the one before is over, or was the driver's.
    fn precedes(self, number: CallNumber) -> bool {
        self.number.next() == number && self.state != State::Claimed
    }
}

/// What a caller finds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CallProgress {
    /// Nobody has come to the call yet, or a thread serves it.
    Pending,
    /// There is a reply, with all that was written for it.
    Replied,
    /// The call is the driver's: so is its reply.
    Adopted,
    /// There will be no reply: the server is gone.
    Dead,
}

/// What the driver has adopted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Adoption {
    /// A call to which no thread has come.
    Unserved,
    /// A call that the thread of this slot serves, as the server says.
    Served(SlotIndex),
    /// Nothing: the call is over, or was adopted before.
    Over,
}

/// The call of a thread that replies is the driver's: so is the reply.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AlreadyAdopted;

impl ServedWord {
    /// The word that the caller sleeps on.
    pub fn word(&self) -> &AtomicU32 {
        &self.0
    }

    fn load(&self) -> Value {
        Value::of_bits(self.0.load(Ordering::Acquire))
    }

    fn change(&self, from: Value, to: Value) -> bool {
        let (from, to) = (from.bits(), to.bits());
        self.0.compare_exchange(from, to, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    }

    /// Has the thread of `slot` serve call `number`. Says whether it does: another thread may have come first, or the
    /// driver. For the server.
    #[must_use = "the call may be another's"]
    pub fn claim(&self, number: CallNumber, slot: SlotIndex) -> bool {
        let now = self.load();
        now.precedes(number) && self.change(now, Value { number, slot, state: State::Claimed })
    }

    /// Gives a claimed call back that may not be served: the lane was [revoked](crate::GrantWord::revoke), and the driver sees
    /// to it. For the server.
    ///
    /// # Errors
    ///
    /// If the driver has seen to it already, and takes the thread for the one that serves it.
    pub fn give_back(&self, number: CallNumber, slot: SlotIndex) -> Result<(), AlreadyAdopted> {
        let before = Value { number: number.before(), slot, state: State::Replied };
        let is_back = self.change(Value { number, slot, state: State::Claimed }, before);
        is_back.then_some(()).ok_or(AlreadyAdopted)
    }

    /// Replies to a claimed call, with all that was written for it. For the server.
    ///
    /// # Errors
    ///
    /// If the driver has adopted it.
    pub fn reply(&self, number: CallNumber, slot: SlotIndex) -> Result<(), AlreadyAdopted> {
        let claimed = Value { number, slot, state: State::Claimed };
        let has_replied = self.change(claimed, Value { state: State::Replied, ..claimed });
        has_replied.then_some(()).ok_or(AlreadyAdopted)
    }

    /// Takes call `number` over. For the driver.
    pub fn adopt(&self, number: CallNumber) -> Adoption {
        self.end_as(number, State::Adopted)
    }

    /// Ends call `number`, whose server is gone, unless that has replied. For the driver.
    pub fn end(&self, number: CallNumber) -> Adoption {
        self.end_as(number, State::Dead)
    }

    fn end_as(&self, number: CallNumber, state: State) -> Adoption {
        // A server changes the word twice for a call at most. One that changes it for ever loses its claim.
        for _ in 0..MOST_ATTEMPTS {
            let now = self.load();
            let is_claimed = now.number == number && now.state == State::Claimed;
            if !is_claimed && !now.precedes(number) {
                return Adoption::Over;
            }
            if self.change(now, Value { number, slot: now.slot, state }) {
                return if is_claimed { Adoption::Served(now.slot) } else { Adoption::Unserved };
            }
        }
        self.0.store(Value { number, slot: FIRST, state }.bits(), Ordering::Release);
        Adoption::Unserved
    }

    /// What has become of call `number`, with all that was written for that. For the caller.
    pub fn progress(&self, number: CallNumber) -> CallProgress {
        self.seen_by_caller(number).1
    }

    /// The value of the word, and what it says of call `number`.
    pub(crate) fn seen_by_caller(&self, number: CallNumber) -> (u32, CallProgress) {
        let bits = self.0.load(Ordering::Acquire);
        let now = Value::of_bits(bits);
        let progress = match now.state {
            State::Replied if now.number == number => CallProgress::Replied,
            State::Adopted if now.number == number => CallProgress::Adopted,
            State::Dead if now.number == number => CallProgress::Dead,
            _ => CallProgress::Pending,
        };
        (bits, progress)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::PostedWord;

    fn slot(number: u32) -> SlotIndex {
        SlotIndex::new(number).expect("a slot")
    }

    fn served(bits: u32) -> ServedWord {
        ServedWord(AtomicU32::new(bits))
    }

    #[test]
    fn calls_follow_each_other_also_where_numbers_begin_anew() {
        let last = CallNumber::default().before();
        assert_eq!(
            (last.next(), last.bits()),
            (CallNumber::default(), (1 << CallNumber::BITS) - 1)
        );
        let (posted, word) = (PostedWord::default(), ServedWord::default());
        let mut number = CallNumber::default().next();
        for _ in 0..3 {
            posted.post(number);
            assert_eq!((posted.number(), word.progress(number)), (number, CallProgress::Pending));
            assert!(word.claim(number, slot(30)));
            assert_eq!(word.reply(number, slot(30)), Ok(()));
            assert_eq!(word.progress(number), CallProgress::Replied);
            number = number.next();
        }
        let before_last = Value { number: last.before(), slot: slot(0), state: State::Adopted };
        let word = served(before_last.bits());
        assert!(!word.claim(last.next(), slot(1)), "it is not the next");
        assert!(word.claim(last, slot(1)));
        assert_eq!(word.reply(last, slot(1)), Ok(()));
        assert!(word.claim(last.next(), slot(1)));
    }

    #[test]
    fn only_who_serves_a_call_replies_or_gives_it_back() {
        let word = ServedWord::default();
        let number = CallNumber::default().next();
        assert_eq!(word.reply(number, slot(1)), Err(AlreadyAdopted));
        assert!(word.claim(number, slot(1)));
        assert!(!word.claim(number, slot(2)));
        assert_eq!(word.reply(number, slot(2)), Err(AlreadyAdopted));
        assert_eq!(word.give_back(number, slot(2)), Err(AlreadyAdopted));
        assert_eq!(word.give_back(number, slot(1)), Ok(()));
        assert_eq!(word.progress(number), CallProgress::Pending);
        assert!(word.claim(number, slot(2)), "another may have it now");
        assert_eq!(word.adopt(number), Adoption::Served(slot(2)));
        assert_eq!(word.adopt(number), Adoption::Over);
        assert_eq!(word.end(number), Adoption::Over);
    }

    #[test]
    fn a_caller_believes_no_value_but_of_its_own_call() {
        let number = CallNumber::default().next();
        for bits in (0..1 << 12).chain([u32::MAX, u32::MAX >> 1]) {
            let of_call = Value::of_bits(bits).number == number;
            let progress = served(bits).progress(number);
            assert!(of_call || progress == CallProgress::Pending, "{bits:#x}");
            // The driver is done with any value.
            let adopted = served(bits).adopt(number);
            assert!(
                of_call
                    || Value::of_bits(bits).number.next() == number
                    || adopted == Adoption::Over
            );
        }
    }
}
