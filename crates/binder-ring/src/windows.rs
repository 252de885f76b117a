//! The ranges of a client's memory that lie in a slot as copies, for the driver to read there.

use binder_uapi::{
    BC_REPLY, BC_REPLY_SG, BC_TRANSACTION, BC_TRANSACTION_SG, BinderTransactionData, payload_len,
};
use zerocopy::FromBytes;

/// A range of a client's memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct MemoryWindow {
    /// Where it starts, in the client.
    pub address: u64,
    /// How many bytes it has.
    pub len: u64,
}

/// The ranges of a client's memory whose bytes lie in a slot, one behind the other, each at a multiple of 8: the
/// commands, and the data and offsets of the first sends among them. The driver reads all other memory from the client itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct MemoryWindows([MemoryWindow; MemoryWindows::COUNT]);

impl MemoryWindows {
    /// The most windows of a request.
    pub const COUNT: usize = 4;

    /// Windows as a client claims them.
    pub fn of_claims(claims: [MemoryWindow; Self::COUNT]) -> Self {
        Self(claims)
    }

    /// Windows for the commands at `address`, and for the data and offsets of their sends; as many as fit into `room` bytes.
    pub fn of_commands(address: u64, commands: &[u8], room: usize) -> Self {
        let mut windows = Self::default();
        let mut used = 0;
        if !windows.add(MemoryWindow { address, len: commands.len() as u64 }, room, &mut used) {
            return windows;
        }
        let mut rest = commands;
        while let Some((code, payload)) = rest.split_first_chunk() {
            let code = u32::from_ne_bytes(*code);
            let Some((payload, behind)) = payload.split_at_checked(payload_len(code)) else {
                break;
            };
            rest = behind;
            let is_send =
                [BC_TRANSACTION, BC_REPLY, BC_TRANSACTION_SG, BC_REPLY_SG].contains(&code);
            let Ok((send, _)) = BinderTransactionData::read_from_prefix(payload) else { continue };
            if !is_send {
                continue;
            }
            let parts = [(send.offsets, send.offsets_size), (send.buffer, send.data_size)];
            for (address, len) in parts {
                if len > 0 && !windows.add(MemoryWindow { address, len }, room, &mut used) {
                    return windows;
                }
            }
        }
        windows
    }

    fn add(&mut self, window: MemoryWindow, room: usize, used: &mut usize) -> bool {
        let Ok(len) = usize::try_from(window.len) else { return false };
        let Some(free) = self.0.iter_mut().find(|it| it.len == 0) else { return false };
        if len > room - *used {
            return false;
        }
        *free = window;
        *used = (*used + len).next_multiple_of(8).min(room);
        true
    }

    /// Each window, with where its bytes start in the slot's data.
    pub fn iter(&self) -> impl Iterator<Item = (MemoryWindow, usize)> {
        let mut start = 0_usize;
        self.0.into_iter().take_while(|window| window.len > 0).map(move |window| {
            let at = start;
            let len = usize::try_from(window.len).unwrap_or(usize::MAX);
            start = start.saturating_add(len).checked_next_multiple_of(8).unwrap_or(usize::MAX);
            (window, at)
        })
    }

    /// Where in the slot's data, of `room` bytes, the `len` bytes at `address` lie. None if no window has all of
    /// them. For the driver: the windows may be anything.
    pub fn find(&self, address: u64, len: usize, room: usize) -> Option<usize> {
        self.iter().find_map(|(window, start)| {
            let within = usize::try_from(address.checked_sub(window.address)?).ok()?;
            let end = within.checked_add(len)?;
            let at = start.checked_add(within)?;
            let is_whole = end as u64 <= window.len && at.checked_add(len)? <= room;
            is_whole.then_some(at)
        })
    }

    /// The ranges, for the slot.
    pub fn claims(&self) -> [MemoryWindow; Self::COUNT] {
        self.0
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use binder_uapi::BC_ENTER_LOOPER;
    use zerocopy::{FromZeros, IntoBytes};

    use super::*;

    const ROOM: usize = 4096;

    /// Writes commands: one without a payload, and sends of these offsets and data.
    fn commands(sends: &[(MemoryWindow, MemoryWindow)], into: &mut [u8]) -> usize {
        into[..4].copy_from_slice(&BC_ENTER_LOOPER.to_ne_bytes());
        let mut end = 4;
        for (offsets, data) in sends {
            into[end..end + 4].copy_from_slice(&BC_TRANSACTION.to_ne_bytes());
            let mut send = BinderTransactionData::new_zeroed();
            (send.offsets, send.offsets_size) = (offsets.address, offsets.len);
            (send.buffer, send.data_size) = (data.address, data.len);
            into[end + 4..end + 68].copy_from_slice(send.as_bytes());
            end += 68;
        }
        end
    }

    fn window(address: u64, len: u64) -> MemoryWindow {
        MemoryWindow { address, len }
    }

    #[test]
    fn commands_and_what_they_point_to_are_found_where_they_lie() {
        let mut bytes = [0; 256];
        let end = commands(
            &[(window(0, 0), window(9000, 5)), (window(500, 8), window(20, 9))],
            &mut bytes,
        );
        let windows = MemoryWindows::of_commands(100, &bytes[..end], ROOM);
        let places: [Option<usize>; 5] = [(100, end), (104, 8), (9001, 4), (500, 8), (20, 9)]
            .map(|(address, len)| windows.find(address, len, ROOM));
        assert_eq!(places, [Some(0), Some(4), Some(145), Some(152), Some(160)]);
        assert_eq!(windows.find(9001, 5, ROOM), None, "beyond the end");
        assert_eq!(windows.find(99, 2, ROOM), None, "before the start");
    }

    #[test]
    fn what_has_no_room_has_no_window() {
        let mut bytes = [0; 256];
        let end = commands(&[(window(0, 0), window(9000, ROOM as u64))], &mut bytes);
        let windows = MemoryWindows::of_commands(100, &bytes[..end], ROOM);
        assert_eq!(windows.iter().count(), 1);
        assert_eq!(MemoryWindows::of_commands(100, &bytes[..end], 8).iter().count(), 0);
        // Any number of sends.
        let send = (window(8, 8), window(16, 16));
        let mut many = [0; 4 + 9 * 68];
        let end = commands(&[send; 9], &mut many);
        assert_eq!(
            MemoryWindows::of_commands(0, &many[..end], ROOM).iter().count(),
            MemoryWindows::COUNT
        );
    }

    #[test]
    fn claims_may_be_anything() {
        let wild =
            [window(0, u64::MAX), window(u64::MAX, 1), window(5, u64::MAX - 3), window(1, 1)];
        let windows = MemoryWindows::of_claims(wild);
        for address in [0, 1, 5, 4096, u64::MAX] {
            for len in [0, 1, ROOM, usize::MAX] {
                let found = windows.find(address, len, ROOM);
                assert!(found.is_none_or(|at| at + len <= ROOM), "{address} {len}: {found:?}");
            }
        }
    }
}
