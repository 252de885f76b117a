//! What a thread writes, as far as lanes are concerned.

use binder_uapi::{
    BC_FREE_BUFFER, BC_REPLY, BC_TRANSACTION, BR_NOOP, BinderTransactionData,
    BinderTransactionDataSecctx, BinderWriteRead, LANE_FLAGS, payload_len,
};
use zerocopy::{FromBytes, IntoBytes};

/// The buffers in which a device's clients find what came by lanes.
pub trait ReceivedBuffers {
    /// Whether one of them starts at this address.
    fn has_buffer_at(&self, address: u64) -> bool;

    /// Takes the one at this address back: its receiver has freed it.
    fn free(&self, address: u64);
}

/// The commands of a `BINDER_WRITE_READ`.
#[derive(Debug, Default)]
pub struct LaneCommands {
    /// The one thing that is sent, if there is one.
    pub send: Option<PlainSend>,
    /// Where it stands, and whether all that only the driver can do comes before.
    send_at: usize,
    is_send_last: bool,
    /// Whether there is anything that only the driver can do.
    pub has_others: bool,
    /// Whether one of the commands is a reply.
    pub has_reply: bool,
    /// Addresses of buffers of lanes that are freed; those behind are the driver's to tell.
    freed: [u64; MAX_FREED],
    freed_count: usize,
    /// How many of them come before what is sent.
    freed_before: usize,
}

/// How many buffers of lanes a thread that uses lanes may free at once.
const MAX_FREED: usize = 8;

/// A call or a reply without objects.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PlainSend {
    /// Whether it is a reply.
    pub is_reply: bool,
    /// What is sent.
    pub head: BinderTransactionData,
}

impl LaneCommands {
    /// Reads commands.
    #[inline(always)]
    pub fn parse(commands: &[u8], buffers: &impl ReceivedBuffers) -> Self {
        let mut parsed = Self::default();
        let mut rest = commands;
        while let Some((code, payload)) = rest.split_first_chunk() {
            let code = u32::from_ne_bytes(*code);
            let at = commands.len() - rest.len();
            let Some((payload, behind)) = payload.split_at_checked(payload_len(code)) else {
                parsed.note_other();
                return parsed;
            };
            rest = behind;
            match code {
                BC_FREE_BUFFER => {
                    let address = u64::read_from_bytes(payload).unwrap_or(0);
                    parsed.note_freed(address, buffers);
                }
                BC_TRANSACTION | BC_REPLY => parsed.note_send(at, code == BC_REPLY, payload),
                _ => parsed.note_other(),
            }
        }
        if !rest.is_empty() {
            parsed.note_other();
        }
        parsed
    }

    /// Commands that were not read: they are the driver's.
    pub fn unread() -> Self {
        Self { has_others: true, ..Self::default() }
    }

    fn note_other(&mut self) {
        self.has_others = true;
        self.is_send_last = false;
    }

    fn note_freed(&mut self, address: u64, buffers: &impl ReceivedBuffers) {
        if !buffers.has_buffer_at(address) {
            self.note_other();
        } else if let Some(place) = self.freed.get_mut(self.freed_count) {
            *place = address;
            self.freed_count += 1;
        } else {
            // It stays in use, and its lane is not used again.
            self.note_other();
        }
    }

    fn note_send(&mut self, at: usize, is_reply: bool, payload: &[u8]) {
        self.has_reply |= is_reply;
        let head = BinderTransactionData::read_from_bytes(payload).unwrap_or_default();
        let is_plain = head.offsets_size == 0 && head.flags & !LANE_FLAGS == 0;
        if is_plain && self.send.is_none() {
            self.send = Some(PlainSend { is_reply, head });
            (self.send_at, self.is_send_last) = (at, true);
            self.freed_before = self.freed_count;
        } else {
            self.note_other();
        }
    }

    /// Whether nothing is sent, and nothing is for the driver.
    pub fn is_idle(&self) -> bool {
        self.send.is_none() && !self.has_others
    }

    /// The call or reply that can take a lane.
    pub fn plain_send(&self, is_reply: bool) -> Option<&BinderTransactionData> {
        let send = self.send.as_ref().filter(|send| !self.has_others && send.is_reply == is_reply);
        send.map(|send| &send.head)
    }

    /// A call that can take a lane once the driver has run what comes before, of that many bytes.
    pub fn last_call(&self) -> Option<(usize, &BinderTransactionData)> {
        let send = self.send.as_ref().filter(|send| self.is_send_last && !send.is_reply)?;
        Some((if self.has_others { self.send_at } else { 0 }, &send.head))
    }

    /// The last call, and what comes behind it: the driver has run what comes before.
    #[must_use]
    pub(super) fn without_first(&self) -> Self {
        let mut left = Self { send: self.send, is_send_last: true, ..Self::default() };
        let behind = &self.freed[self.freed_before..self.freed_count];
        left.freed[..behind.len()].copy_from_slice(behind);
        left.freed_count = behind.len();
        left
    }

    /// Whether buffers of lanes are freed, and nothing else is done.
    pub(super) fn only_frees(&self) -> bool {
        self.is_idle() && self.freed_count > 0
    }

    /// Whether the buffer of this address is among those that are freed.
    pub fn frees(&self, address: u64) -> bool {
        self.freed[..self.freed_count].contains(&address)
    }

    /// Frees the buffers of lanes.
    pub fn free(&self, buffers: &impl ReceivedBuffers) {
        for address in &self.freed[..self.freed_count] {
            buffers.free(*address);
        }
    }
}

/// Returns as a read brings them.
pub struct LaneReturns {
    bytes: [u8; LaneReturns::MAX_BYTES],
    len: usize,
}

impl LaneReturns {
    /// All that a read of a lane brings: two codes, and one with a transaction.
    const MAX_BYTES: usize = 3 * size_of::<u32>() + size_of::<BinderTransactionData>();
    /// The longest that a driver may have to tell, with its code. It tells nothing more where there is less room left, however short
    /// that is.
    const LONGEST: usize = size_of::<u32>() + size_of::<BinderTransactionDataSecctx>();
    /// A read with less room takes no lane.
    pub const MIN_ROOM: usize = 2 * size_of::<u32>() + Self::LONGEST;

    /// The beginning of what the read of a call brings, if that has brought nothing before.
    pub fn of(call: &BinderWriteRead) -> Self {
        let mut returns = Self { bytes: [0; Self::MAX_BYTES], len: 0 };
        if call.read_consumed == 0 {
            returns.push(BR_NOOP);
        }
        returns
    }

    /// Whether a driver tells more behind these, where a read has that much room for all.
    pub fn leave_room(&self, room: u64) -> bool {
        room >= (self.len + Self::LONGEST) as u64
    }

    /// Appends one without a payload.
    pub fn push(&mut self, code: u32) {
        self.append(&code.to_ne_bytes());
    }

    /// Appends a call or a reply.
    pub fn push_transaction(&mut self, code: u32, head: &BinderTransactionData) {
        self.push(code);
        self.append(head.as_bytes());
    }

    fn append(&mut self, bytes: &[u8]) {
        self.bytes[self.len..][..bytes.len()].copy_from_slice(bytes);
        self.len += bytes.len();
    }

    /// All of them.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

#[cfg(test)]
mod tests {
    use std::vec;
    use std::vec::Vec;

    use binder_uapi::{BC_ACQUIRE, TF_ACCEPT_FDS, TF_ONE_WAY};

    use super::*;

    /// A device with one buffer.
    struct Own;

    impl ReceivedBuffers for Own {
        fn has_buffer_at(&self, address: u64) -> bool {
            address == OWN
        }

        fn free(&self, _: u64) {}
    }

    const OWN: u64 = 1 << 20;

    fn send(code: u32, head: &BinderTransactionData) -> Vec<u8> {
        [&code.to_ne_bytes(), head.as_bytes()].concat()
    }

    fn free(address: u64) -> Vec<u8> {
        [&BC_FREE_BUFFER.to_ne_bytes()[..], &address.to_ne_bytes()].concat()
    }

    #[test]
    fn one_plain_call_or_reply_takes_a_lane() {
        let (buffers, own) = (Own, OWN);
        let plain = BinderTransactionData { code: 3, flags: TF_ACCEPT_FDS, ..Default::default() };
        let commands = [free(own), send(BC_TRANSACTION, &plain)].concat();
        let parsed = LaneCommands::parse(&commands, &buffers);
        assert_eq!((parsed.plain_send(false), parsed.plain_send(true)), (Some(&plain), None));
        assert_eq!(parsed.last_call(), Some((0, &plain)));
        assert!(parsed.frees(own) && !parsed.frees(own + 8) && !parsed.is_idle());
        let commands = [free(own), free(4096), send(BC_TRANSACTION, &plain), free(own)].concat();
        let parsed = LaneCommands::parse(&commands, &buffers);
        assert_eq!((parsed.last_call(), parsed.plain_send(false)), (Some((24, &plain)), None));
        let left = parsed.without_first();
        assert_eq!((left.last_call(), left.freed_count), (Some((0, &plain)), 1), "what is behind");
        assert!(LaneCommands::parse(&free(own), &buffers).only_frees());
        assert!(!LaneCommands::parse(&[], &buffers).only_frees());
        let parsed = LaneCommands::parse(&send(BC_REPLY, &plain), &buffers);
        assert_eq!(parsed.plain_send(true), Some(&plain));
    }

    #[test]
    fn all_else_is_the_drivers() {
        let buffers = Own;
        let plain = BinderTransactionData::default();
        let oneway = BinderTransactionData { flags: TF_ONE_WAY, ..plain };
        let objects = BinderTransactionData { offsets_size: 8, ..plain };
        let cleared = BinderTransactionData { flags: 0x20, ..plain };
        let others = [
            send(BC_TRANSACTION, &oneway),
            send(BC_TRANSACTION, &objects),
            send(BC_TRANSACTION, &cleared),
            send(BC_TRANSACTION, &plain).repeat(2),
            [free(4096), send(BC_TRANSACTION, &plain)].concat(),
            [send(BC_TRANSACTION, &plain), vec![1]].concat(),
            [&BC_ACQUIRE.to_ne_bytes()[..], &[1, 0, 0, 0]].concat(),
            send(BC_REPLY, &objects),
        ];
        for commands in others {
            let parsed = LaneCommands::parse(&commands, &buffers);
            assert!(parsed.has_others && !parsed.is_idle(), "{commands:?}");
            assert_eq!((parsed.plain_send(false), parsed.plain_send(true)), (None, None));
        }
        let behind = [send(BC_TRANSACTION, &plain), free(4096)].concat();
        assert_eq!(LaneCommands::parse(&behind, &buffers).last_call(), None);
    }
}
