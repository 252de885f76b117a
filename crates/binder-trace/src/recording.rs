//! A recording: a trace in a file.
//!
//! It begins with [`recording_head`], which blocks follow. A block is a mark, the length and the checksum of its content,
//! and the content: whole records. A recorder appends a block at a time, so that all blocks but perhaps the last are
//! there after it was killed. A reader skips bytes that are no block, and blocks whose checksum is wrong, up to the
//! next mark, and counts the bytes that it has skipped.

use alloc::vec::Vec;

use crate::checksum::crc32c;
use crate::record::{RecordStream, TraceRecord};

const MAGIC: [u8; 8] = *b"ABTRACE\n";
/// Changes when readers of the version before would not understand a block.
const VERSION: u32 = 1;
const HEAD_BYTES: usize = MAGIC.len() + 4;
const MARK: [u8; 4] = *b"\xabTB1";
const BLOCK_HEAD_BYTES: usize = MARK.len() + 8;
/// The longest block that is read.
const BLOCK_MAX_BYTES: usize = 16 << 20;

/// A file that is no recording, or one that this version cannot read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BadRecording {
    /// It does not begin as one.
    NoRecording,
    /// It is of a version that came later.
    Version(u32),
}

impl core::fmt::Display for BadRecording {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::NoRecording => f.write_str("it is no recording of a trace"),
            Self::Version(version) => {
                write!(f, "it is a recording of version {version}, and this reads {VERSION}")
            }
        }
    }
}

impl core::error::Error for BadRecording {}

/// The first bytes of a recording.
pub fn recording_head() -> [u8; 12] {
    let mut head = [0; HEAD_BYTES];
    head[..MAGIC.len()].copy_from_slice(&MAGIC);
    head[MAGIC.len()..].copy_from_slice(&VERSION.to_le_bytes());
    head
}

/// A block of `content`: whole records, 16 MiB at most.
pub fn recording_block(content: &[u8]) -> Vec<u8> {
    debug_assert!(content.len() <= BLOCK_MAX_BYTES, "no reader takes {} bytes", content.len());
    let len = u32::try_from(content.len()).unwrap_or(u32::MAX);
    let mut block = Vec::with_capacity(BLOCK_HEAD_BYTES + content.len());
    block.extend_from_slice(&MARK);
    block.extend_from_slice(&len.to_le_bytes());
    block.extend_from_slice(&crc32c(content).to_le_bytes());
    block.extend_from_slice(content);
    block
}

/// Reads the records of a recording, which comes in pieces of any size.
///
/// There are none for now when it ends as an iterator: the next may come with the next piece. It keeps no more than a
/// block and a piece.
#[derive(Debug)]
pub struct RecordingReader {
    bytes: Vec<u8>,
    /// How many of them have been read.
    taken: usize,
    /// No piece comes any more.
    is_all: bool,
    block: RecordStream,
    lost_bytes: u64,
}

impl RecordingReader {
    /// Begins to read with the first piece: 12 bytes at least, if there are as many.
    ///
    /// # Errors
    ///
    /// [`BadRecording`] when it is of none that this can read.
    pub fn new(piece: &[u8]) -> Result<Self, BadRecording> {
        let (head, rest) = piece.split_at_checked(HEAD_BYTES).ok_or(BadRecording::NoRecording)?;
        let (magic, version) = head.split_at(MAGIC.len());
        if magic != MAGIC {
            return Err(BadRecording::NoRecording);
        }
        match word(version) {
            VERSION => Ok(Self {
                bytes: rest.to_vec(),
                taken: 0,
                is_all: false,
                block: RecordStream::default(),
                lost_bytes: 0,
            }),
            other => Err(BadRecording::Version(other)),
        }
    }

    /// Adds a piece.
    pub fn push(&mut self, piece: &[u8]) {
        self.bytes.drain(..self.taken);
        self.taken = 0;
        self.bytes.extend_from_slice(piece);
    }

    /// No piece comes any more: a block that is not whole now was not written to its end.
    pub fn finish(&mut self) {
        self.is_all = true;
    }

    /// How many bytes were passed over so far: of damaged blocks, and of one that was not written to its end.
    pub fn lost_bytes(&self) -> u64 {
        self.lost_bytes
    }

    /// Goes to the next whole block. Says whether there is one.
    fn next_block(&mut self) -> bool {
        loop {
            let rest = &self.bytes[self.taken..];
            match first_block(rest) {
                Ok((content, len)) => {
                    self.block = RecordStream::default();
                    self.block.push(content);
                    self.taken += len;
                    return true;
                }
                Err(NoBlock::Cut) if !self.is_all || rest.is_empty() => return false,
                Err(NoBlock::Cut | NoBlock::Damaged) => {
                    let found = rest[1..].windows(MARK.len()).position(|window| window == MARK);
                    // The last bytes may be the first of a mark.
                    let kept = if self.is_all { 0 } else { MARK.len() - 1 };
                    let lost = found.map_or(rest.len() - kept, |at| at + 1);
                    self.lost_bytes += lost as u64;
                    self.taken += lost;
                }
            }
        }
    }
}

impl Iterator for RecordingReader {
    type Item = TraceRecord;

    fn next(&mut self) -> Option<TraceRecord> {
        loop {
            match self.block.next_record() {
                Ok(Some(record)) => return Some(record),
                // It was written so: the checksum is right.
                Err(_) => {}
                Ok(None) => {
                    if !self.next_block() {
                        return None;
                    }
                }
            }
        }
    }
}

/// Why there is no block at the beginning of bytes.
enum NoBlock {
    /// It may be one, of which they are a part.
    Cut,
    Damaged,
}

/// The content of the block at the beginning of `bytes`, and the length of the whole of it.
fn first_block(bytes: &[u8]) -> Result<(&[u8], usize), NoBlock> {
    let (head, rest) = bytes.split_at_checked(BLOCK_HEAD_BYTES).ok_or(NoBlock::Cut)?;
    let (mark, numbers) = head.split_at(MARK.len());
    let (len, checksum) = numbers.split_at(4);
    let len = usize::try_from(word(len)).unwrap_or(usize::MAX);
    if mark != MARK || len > BLOCK_MAX_BYTES {
        return Err(NoBlock::Damaged);
    }
    let content = rest.get(..len).ok_or(NoBlock::Cut)?;
    if crc32c(content) == word(checksum) {
        Ok((content, BLOCK_HEAD_BYTES + len))
    } else {
        Err(NoBlock::Damaged)
    }
}

fn word(bytes: &[u8]) -> u32 {
    bytes.iter().rev().fold(0, |word, byte| word << 8 | u32::from(*byte))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::tests::all_kinds;

    fn recording(blocks: &[Vec<u8>]) -> Vec<u8> {
        let mut bytes = recording_head().to_vec();
        blocks.iter().for_each(|block| bytes.extend(block));
        bytes
    }

    fn one_each() -> Vec<Vec<u8>> {
        let block = |record: &TraceRecord| {
            let mut content = Vec::new();
            record.encode(&mut content);
            recording_block(&content)
        };
        all_kinds().iter().map(block).collect()
    }

    /// The records of a recording that comes in pieces of `size` bytes behind its head, and the bytes that are lost.
    fn read(bytes: &[u8], size: usize) -> (Vec<TraceRecord>, u64) {
        let (head, rest) = bytes.split_at(HEAD_BYTES);
        let mut reader = RecordingReader::new(head).unwrap();
        let mut records = Vec::new();
        for piece in rest.chunks(size) {
            reader.push(piece);
            records.extend(reader.by_ref());
        }
        reader.finish();
        records.extend(reader.by_ref());
        (records, reader.lost_bytes())
    }

    #[test]
    fn what_was_recorded_is_read_from_pieces_of_any_size() {
        let bytes = recording(&one_each());
        for size in [1, 2, 7, 100, bytes.len()] {
            assert_eq!(read(&bytes, size), (all_kinds(), 0), "{size}");
        }
    }

    #[test]
    fn a_reader_keeps_a_block_and_a_piece() {
        let blocks = one_each();
        let longest = blocks.iter().map(Vec::len).max().unwrap();
        let mut reader = RecordingReader::new(&recording_head()).unwrap();
        for piece in blocks.concat().repeat(100).chunks(64) {
            reader.push(piece);
            assert!(reader.bytes.len() <= longest + piece.len(), "{}", reader.bytes.len());
            reader.by_ref().for_each(drop);
        }
    }

    #[test]
    fn wherever_the_writer_is_killed_all_whole_blocks_are_read() {
        let blocks = one_each();
        let bytes = recording(&blocks);
        for end in HEAD_BYTES..bytes.len() {
            let mut left = end - HEAD_BYTES;
            let whole = blocks.iter().take_while(|block| {
                let fits = block.len() <= left;
                left -= if fits { block.len() } else { 0 };
                fits
            });
            let whole = whole.count();
            let expected = (all_kinds()[..whole].to_vec(), left as u64);
            assert_eq!(read(&bytes[..end], 7), expected, "{end}");
        }
    }

    #[test]
    fn a_damaged_block_is_lost_and_no_other() {
        let blocks = one_each();
        for damaged in 0..blocks[5].len() {
            let mut blocks = blocks.clone();
            blocks[5][damaged] ^= 0x10;
            let bytes = recording(&blocks);
            let mut expected = all_kinds();
            expected.remove(5);
            for size in [1, 50, bytes.len()] {
                let expected = (expected.clone(), blocks[5].len() as u64);
                assert_eq!(read(&bytes, size), expected, "{damaged} in pieces of {size}");
            }
        }
    }

    #[test]
    fn other_files_are_refused() {
        let mut later = recording(&[]);
        later[MAGIC.len()] = 9;
        assert_eq!(RecordingReader::new(&later).unwrap_err(), BadRecording::Version(9));
        assert_eq!(RecordingReader::new(b"ELF").unwrap_err(), BadRecording::NoRecording);
        assert_eq!(RecordingReader::new(&[0; 99]).unwrap_err(), BadRecording::NoRecording);
    }
}
