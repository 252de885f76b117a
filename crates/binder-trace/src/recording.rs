//! A recording: a trace in a file.
//!
//! It begins with [`recording_head`] and goes on in blocks, each a mark, the length and the checksum of its content, and
//! its content: whole records. A program that records appends a block at a time, so that one that is killed leaves all
//! blocks but perhaps the last. A reader passes over what is no block, or is not what its checksum says, to the
//! next mark, and counts what it has passed over.

use alloc::vec::Vec;

use crate::checksum::crc32c;
use crate::record::{RecordStream, TraceRecord};

const MAGIC: [u8; 8] = *b"ABTRACE\n";
/// Changes when a reader of the one before would not understand a block.
const VERSION: u32 = 1;
const HEAD_BYTES: usize = MAGIC.len() + 4;
const MARK: [u8; 4] = *b"\xabTB1";
const BLOCK_HEAD_BYTES: usize = MARK.len() + 8;
/// The longest block that is read.
const BLOCK_MAX_BYTES: usize = 16 << 20;

/// What is no recording.
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

/// What a recording begins with.
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

/// Reads the records of a recording.
#[derive(Debug)]
pub struct RecordingReader<'a> {
    rest: &'a [u8],
    block: RecordStream,
    lost_bytes: u64,
}

impl<'a> RecordingReader<'a> {
    /// Begins to read.
    ///
    /// # Errors
    ///
    /// [`BadRecording`] when it is none that this can read.
    pub fn new(bytes: &'a [u8]) -> Result<Self, BadRecording> {
        let (head, rest) = bytes.split_at_checked(HEAD_BYTES).ok_or(BadRecording::NoRecording)?;
        let (magic, version) = head.split_at(MAGIC.len());
        if magic != MAGIC {
            return Err(BadRecording::NoRecording);
        }
        match word(version) {
            VERSION => Ok(Self { rest, block: RecordStream::default(), lost_bytes: 0 }),
            other => Err(BadRecording::Version(other)),
        }
    }

    /// How many bytes were passed over so far: of damaged blocks, and of one that was not written to its end.
    pub fn lost_bytes(&self) -> u64 {
        self.lost_bytes
    }

    /// Goes to the next whole block. Says whether there is one.
    fn next_block(&mut self) -> bool {
        while !self.rest.is_empty() {
            if let Some((content, rest)) = first_block(self.rest) {
                self.rest = rest;
                self.block = RecordStream::default();
                self.block.push(content);
                return true;
            }
            let found = self.rest[1..].windows(MARK.len()).position(|window| window == MARK);
            let lost = found.map_or(self.rest.len(), |at| at + 1);
            self.lost_bytes += lost as u64;
            self.rest = &self.rest[lost..];
        }
        false
    }
}

impl Iterator for RecordingReader<'_> {
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

/// The content of the block at the beginning of `bytes`, and what is behind it.
fn first_block(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (head, rest) = bytes.split_at_checked(BLOCK_HEAD_BYTES)?;
    let (mark, numbers) = head.split_at(MARK.len());
    let (len, checksum) = numbers.split_at(4);
    let len = usize::try_from(word(len)).ok().filter(|len| *len <= BLOCK_MAX_BYTES)?;
    let (content, rest) = rest.split_at_checked(len).filter(|_| mark == MARK)?;
    (crc32c(content) == word(checksum)).then_some((content, rest))
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

    #[test]
    fn what_was_recorded_is_read() {
        let bytes = recording(&one_each());
        let mut reader = RecordingReader::new(&bytes).unwrap();
        assert_eq!(reader.by_ref().collect::<Vec<_>>(), all_kinds());
        assert_eq!(reader.lost_bytes(), 0);
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
            let mut reader = RecordingReader::new(&bytes[..end]).unwrap();
            assert_eq!(reader.by_ref().collect::<Vec<_>>(), all_kinds()[..whole], "{end}");
            assert_eq!(reader.lost_bytes(), left as u64, "{end}");
        }
    }

    #[test]
    fn a_damaged_block_is_lost_and_no_other() {
        let blocks = one_each();
        for damaged in 0..blocks[5].len() {
            let mut blocks = blocks.clone();
            blocks[5][damaged] ^= 0x10;
            let bytes = recording(&blocks);
            let mut reader = RecordingReader::new(&bytes).unwrap();
            let mut expected = all_kinds();
            expected.remove(5);
            assert_eq!(reader.by_ref().collect::<Vec<_>>(), expected, "{damaged}");
            assert_eq!(reader.lost_bytes(), blocks[5].len() as u64, "{damaged}");
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
