//! What a thread is expected to point to, read together with what points there.
//!
//! A client writes its commands where it wrote those before, and mostly they point to where those pointed:
//! an allocator gives the memory of one message to the next of its size. Two places that are read at once
//! take three quarters of the time of two that are read one after the other.
//!
//! `Differs from Linux:` data is as it was when its commands were read; see `docs/decisions`, 20.

use binder_os::{ClientMemory, Fault};

/// How much is read ahead.
const ROOM_BYTES: usize = 512;
/// How many threads of a process may call by turns.
const SLOTS: usize = 1 << SLOT_BITS;
const SLOT_BITS: u32 = 3;
/// After this many times in a row the same is expected: to read in vain costs as much as two times gain.
const SURE: u8 = 2;

/// Where the commands of a process's threads last pointed, and room for what is read there.
#[derive(Debug)]
pub(crate) struct ReadAheadCache {
    entries: [ReadAheadEntry; SLOTS],
    bytes: [u8; ROOM_BYTES],
}

#[derive(Debug, Default, Clone, Copy)]
struct ReadAheadEntry {
    commands: u64,
    places: SendRanges,
    times: u8,
}

/// The offsets that a send has, if any, and its data.
type SendRanges = [MemoryRange; 2];

#[derive(Debug, Default, Clone, Copy)]
struct MemoryRange {
    address: u64,
    len: usize,
}

/// How the first commands of a call are read, and what the first send among them carries.
pub(crate) struct ReadAhead<'a> {
    /// `None` if nothing is to be read ahead.
    cache: Option<&'a mut ReadAheadCache>,
    stage: ReadAheadStage,
}

enum ReadAheadStage {
    Fresh,
    /// The commands were read, and with them the bytes in these places, if they have a length.
    Commands(u64, SendRanges),
    Over,
}

impl Default for ReadAheadCache {
    fn default() -> Self {
        Self { entries: Default::default(), bytes: [0; ROOM_BYTES] }
    }
}

impl ReadAheadCache {
    fn entry(&mut self, commands: u64) -> &mut ReadAheadEntry {
        // Stacks and heaps of threads lie at even distances: all bits count, in those at the top.
        let mixed = commands.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        &mut self.entries[(mixed >> (u64::BITS - SLOT_BITS)) as usize]
    }

    /// What commands at this address are expected to point to.
    fn expected(&mut self, commands: u64) -> Option<SendRanges> {
        let entry = self.entry(commands);
        (entry.commands == commands && entry.times >= SURE).then_some(entry.places)
    }

    /// Notes what they did point to.
    fn note(&mut self, commands: u64, places: SendRanges) {
        let entry = self.entry(commands);
        let (mut longest, mut is_same) = (places, entry.commands == commands);
        for (place, before) in longest.iter_mut().zip(entry.places) {
            is_same &= place.address == before.address;
            place.len = place.len.max(before.len);
        }
        *entry = if is_same && has_room(longest) {
            ReadAheadEntry { commands, places: longest, times: entry.times.saturating_add(1) }
        } else if has_room(places) {
            ReadAheadEntry { commands, places, times: 1 }
        } else {
            ReadAheadEntry::default()
        };
    }

    fn forget(&mut self, commands: u64) {
        *self.entry(commands) = ReadAheadEntry::default();
    }
}

impl<'a> ReadAhead<'a> {
    /// By what its process has pointed to; without that, nothing is read ahead.
    pub(crate) fn new(cache: Option<&'a mut ReadAheadCache>) -> Self {
        Self { cache, stage: ReadAheadStage::Fresh }
    }

    /// Fills `into` from `address`. The first that is read are commands.
    ///
    /// # Errors
    ///
    /// As [`ClientMemory::read`].
    pub(crate) fn read(
        &mut self,
        memory: &mut ClientMemory,
        address: u64,
        into: &mut [u8],
    ) -> Result<(), Fault> {
        let (ReadAheadStage::Fresh, Some(cache)) = (&self.stage, &mut self.cache) else {
            return memory.read(address, into);
        };
        self.stage = ReadAheadStage::Commands(address, SendRanges::default());
        let Some(places) = cache.expected(address) else {
            return memory.read(address, into);
        };
        let len_bytes = into.len();
        let (offsets, data) = cache.bytes.split_at_mut(places[0].len);
        let offsets = (places[0].address, offsets);
        let data = (places[1].address, &mut data[..places[1].len]);
        let read = if offsets.1.is_empty() {
            memory.read_all([(address, into), data])
        } else {
            memory.read_all([(address, into), offsets, data])
        };
        match read {
            Ok(()) => self.stage = ReadAheadStage::Commands(address, places),
            Err(0) => return Err(Fault { address, len_bytes }),
            Err(_) => cache.forget(address),
        }
        Ok(())
    }

    /// Makes `bytes` the `len` bytes of data at `address`, as they were when the commands were read or are
    /// now.
    ///
    /// # Errors
    ///
    /// As [`ClientMemory::read_whole`].
    pub(crate) fn read_whole(
        &mut self,
        memory: &mut ClientMemory,
        address: u64,
        len: usize,
        bytes: &mut Vec<u8>,
    ) -> Result<(), Fault> {
        match self.take([MemoryRange::default(), MemoryRange { address, len }]) {
            Some([_, data]) => {
                bytes.clear();
                bytes.extend_from_slice(data);
                Ok(())
            }
            None => memory.read_whole(address, len, bytes),
        }
    }

    /// Fills two places, of offsets and of data, alike.
    ///
    /// # Errors
    ///
    /// As [`ClientMemory::read_all`].
    pub(crate) fn read_two(
        &mut self,
        memory: &mut ClientMemory,
        places: [(u64, &mut [u8]); 2],
    ) -> Result<(), usize> {
        let asked = places.each_ref().map(|(address, into)| (*address, into.len()));
        match self.take(asked.map(|(address, len)| MemoryRange { address, len })) {
            Some(ahead) => {
                for ((_, into), bytes) in places.into_iter().zip(ahead) {
                    into.copy_from_slice(bytes);
                }
                Ok(())
            }
            None => memory.read_all(places),
        }
    }

    /// The bytes in these places, if they are the first that the commands point to and were read with them.
    fn take(&mut self, asked: SendRanges) -> Option<[&[u8]; 2]> {
        let ReadAheadStage::Commands(commands, ahead) =
            std::mem::replace(&mut self.stage, ReadAheadStage::Over)
        else {
            return None;
        };
        let cache = self.cache.as_mut()?;
        cache.note(commands, asked);
        let is_there = |(asked, ahead): (&MemoryRange, &MemoryRange)| {
            asked.address == ahead.address && asked.len <= ahead.len
        };
        if ahead[1].len == 0 || !asked.iter().zip(&ahead).all(is_there) {
            return None;
        }
        let (first, second) = cache.bytes.split_at(ahead[0].len);
        Some([&first[..asked[0].len], &second[..asked[1].len]])
    }
}

/// Whether both can be read ahead.
fn has_room(places: SendRanges) -> bool {
    places[0].len.saturating_add(places[1].len) <= ROOM_BYTES
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Commands of this process that point to some data of it, as often as it says so.
    struct Client {
        memory: ClientMemory,
        cache: ReadAheadCache,
        commands: [u8; 16],
    }

    impl Client {
        fn new() -> Self {
            let memory = ClientMemory::open(std::process::id()).unwrap();
            Self { memory, cache: ReadAheadCache::default(), commands: [7; 16] }
        }

        /// Reads the commands, has something happen, and reads what they point to.
        fn send(&mut self, data: &[u8], between: impl FnOnce()) -> Vec<u8> {
            let address = data.as_ptr().expose_provenance() as u64;
            self.send_from(address, data.len(), between).unwrap()
        }

        fn send_from(
            &mut self,
            data: u64,
            len: usize,
            between: impl FnOnce(),
        ) -> Result<Vec<u8>, Fault> {
            let commands = self.commands.as_ptr().expose_provenance() as u64;
            let mut ahead = ReadAhead::new(Some(&mut self.cache));
            let mut read = [0; 16];
            ahead.read(&mut self.memory, commands, &mut read)?;
            assert_eq!(read, [7; 16]);
            between();
            let mut bytes = Vec::new();
            ahead.read_whole(&mut self.memory, data, len, &mut bytes)?;
            Ok(bytes)
        }
    }

    /// Bytes that change between two reads.
    fn cells(byte: u8) -> Vec<std::sync::atomic::AtomicU8> {
        (0..64).map(|_| byte.into()).collect()
    }

    fn address(cells: &[std::sync::atomic::AtomicU8]) -> u64 {
        cells.as_ptr().expose_provenance() as u64
    }

    fn fill(cells: &[std::sync::atomic::AtomicU8], byte: u8) {
        cells.iter().for_each(|cell| cell.store(byte, std::sync::atomic::Ordering::Relaxed));
    }

    #[test]
    fn what_was_pointed_to_twice_is_read_with_the_commands() {
        let mut client = Client::new();
        let data = cells(1);
        let at = address(&data);
        for _ in 0..2 {
            fill(&data, 1);
            assert_eq!(client.send_from(at, 64, || fill(&data, 2)), Ok(vec![2; 64]));
        }
        fill(&data, 1);
        assert_eq!(client.send_from(at, 64, || fill(&data, 2)), Ok(vec![1; 64]), "as it was");
        fill(&data, 1);
        assert_eq!(client.send_from(at, 10, || fill(&data, 2)), Ok(vec![1; 10]), "less of it");
    }

    #[test]
    fn what_is_not_as_expected_is_read_when_it_is_asked_for() {
        let mut client = Client::new();
        let (usual, other) = (vec![1; 64], vec![2; 64]);
        for _ in 0..3 {
            assert_eq!(client.send(&usual, || {}), usual);
        }
        assert_eq!(client.send(&other, || {}), other);
        let longer = vec![3; 2 * ROOM_BYTES];
        for _ in 0..4 {
            assert_eq!(client.send(&longer, || {}), longer);
        }
        assert_eq!(client.send(&usual, || {}), usual);
    }

    #[test]
    fn more_than_before_is_read_whole() {
        let mut client = Client::new();
        let data: Vec<u8> = (0..100).collect();
        for len in [20, 20, 20, 100, 30, 100] {
            assert_eq!(client.send(&data[..len], || {}), data[..len]);
        }
    }

    #[test]
    fn what_is_expected_and_gone_harms_nobody() {
        let mut client = Client::new();
        let commands = client.commands.as_ptr().expose_provenance() as u64;
        // Where nothing is ever mapped.
        let nowhere = [MemoryRange::default(), MemoryRange { address: 8, len: 64 }];
        (0..3).for_each(|_| client.cache.note(commands, nowhere));
        let data = vec![5; 64];
        for _ in 0..3 {
            assert_eq!(client.send(&data, || {}), data);
        }
        (0..3).for_each(|_| client.cache.note(commands, nowhere));
        assert!(client.send_from(8, 64, || {}).is_err());
    }

    #[test]
    fn offsets_and_data_are_read_ahead_together() {
        let mut client = Client::new();
        let (offsets, data) = (cells(1), cells(2));
        let commands = client.commands.as_ptr().expose_provenance() as u64;
        for time in 0..6 {
            fill(&offsets, 1);
            fill(&data, 2);
            let mut ahead = ReadAhead::new(Some(&mut client.cache));
            ahead.read(&mut client.memory, commands, &mut [0; 16]).unwrap();
            fill(&offsets, 3);
            fill(&data, 4);
            let (mut first, mut second) = ([0; 16], [0; 60]);
            let places = [(address(&offsets), &mut first[..]), (address(&data), &mut second[..])];
            ahead.read_two(&mut client.memory, places).unwrap();
            let as_it_was = if time < 2 { (3, 4) } else { (1, 2) };
            assert_eq!((first, second), ([as_it_was.0; 16], [as_it_was.1; 60]), "{time}");
            // What follows is read when it is asked for.
            ahead.read(&mut client.memory, address(&data), &mut second).unwrap();
            assert_eq!(second, [4; 60]);
        }
    }

    #[test]
    fn without_habits_nothing_is_read_ahead() {
        let mut memory = ClientMemory::open(std::process::id()).unwrap();
        let data = cells(1);
        let mut bytes = Vec::new();
        for _ in 0..4 {
            fill(&data, 1);
            let mut ahead = ReadAhead::new(None);
            ahead.read(&mut memory, address(&data), &mut [0; 8]).unwrap();
            fill(&data, 2);
            ahead.read_whole(&mut memory, address(&data), 64, &mut bytes).unwrap();
            assert_eq!(bytes, [2; 64]);
        }
    }
}
