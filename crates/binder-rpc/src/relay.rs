//! One end of a stream whose other end is in another session: a pipe or a socket whose descriptor cannot travel.
//!
//! Two ends tell each other what was read from the file of each. Neither sends more than the other has room for, and
//! says so again when its file has taken it. An end is over when neither direction has anything to come.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

/// How much may be on its way in one direction, the queue of the end that writes included.
pub const RELAY_WINDOW_BYTES: usize = 256 << 10;
/// The longest piece.
pub const RELAY_PIECE_BYTES: usize = 64 << 10;
/// What a shorter piece counts as while it is on its way, so that few calls are, however little each brings.
const COUNTED_BYTES_MIN: usize = 1 << 10;

/// What a piece takes of the room at the other end, until that has it.
fn counted(bytes: usize) -> usize {
    bytes.max(COUNTED_BYTES_MIN)
}

/// What one end tells the other. What comes is in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RelayMessage {
    /// This was read.
    Data(Vec<u8>),
    /// There is room again for that many bytes.
    Taken(usize),
    /// Nothing more comes.
    End,
    /// Nothing more is taken.
    Broken,
}

/// The other end has sent more than there was room for, taken more than it was sent, or gone on after its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the other end of a relayed stream is out of step")]
pub struct RelayOutOfStep;

/// How the file ends now that nothing more will be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RelayOutput {
    /// More may come.
    Open,
    /// The file's reader is to find its end.
    Finished,
    /// That is done, or the file has no reader.
    Closed,
}

/// One end.
#[derive(Debug)]
pub struct RelayEnd {
    /// Whether its file is read, and how much the other end has room for.
    is_reading: bool,
    room: usize,
    /// The bytes to be written to its file.
    queue: VecDeque<u8>,
    output: RelayOutput,
    /// Whether the other end has said that nothing more comes.
    has_ended: bool,
    /// For how much there is room again that is not told.
    taken: usize,
}

impl RelayEnd {
    /// An end whose file is read, or written to, or both.
    #[must_use]
    pub fn new(is_reading: bool, is_writing: bool) -> Self {
        Self {
            is_reading,
            room: RELAY_WINDOW_BYTES,
            queue: VecDeque::new(),
            output: if is_writing { RelayOutput::Open } else { RelayOutput::Closed },
            has_ended: !is_writing,
            taken: 0,
        }
    }

    /// How many bytes are to be read from the file now, at most; 0 while the other end has no room.
    #[must_use]
    pub fn readable(&self) -> usize {
        let has_room = self.is_reading && self.room >= COUNTED_BYTES_MIN;
        if has_room { self.room.min(RELAY_PIECE_BYTES) } else { 0 }
    }

    /// Whether more may come from the file.
    #[must_use]
    pub fn is_reading(&self) -> bool {
        self.is_reading
    }

    /// Takes what was read, no more than [`readable`](Self::readable); nothing is the end of the file.
    #[must_use]
    pub fn read(&mut self, bytes: &[u8]) -> RelayMessage {
        if bytes.is_empty() {
            self.is_reading = false;
            return RelayMessage::End;
        }
        self.room = self.room.saturating_sub(counted(bytes.len()));
        RelayMessage::Data(bytes.to_vec())
    }

    /// Takes what the other end tells.
    ///
    /// # Errors
    ///
    /// [`RelayOutOfStep`]: the stream is over.
    pub fn receive(&mut self, message: RelayMessage) -> Result<(), RelayOutOfStep> {
        match message {
            RelayMessage::Data(bytes) => {
                let waiting = self.queue.len() + self.taken + counted(bytes.len());
                if self.has_ended || waiting > RELAY_WINDOW_BYTES {
                    return Err(RelayOutOfStep);
                }
                // Bytes for a file without a reader are dropped; the other end is told soon.
                if self.output == RelayOutput::Open {
                    self.taken += counted(bytes.len()) - bytes.len();
                    self.queue.extend(bytes);
                }
            }
            RelayMessage::Taken(bytes) => {
                let room = self.room.checked_add(bytes).ok_or(RelayOutOfStep)?;
                if room > RELAY_WINDOW_BYTES {
                    return Err(RelayOutOfStep);
                }
                self.room = room;
            }
            RelayMessage::End if self.has_ended => return Err(RelayOutOfStep),
            RelayMessage::End => {
                self.has_ended = true;
                self.finish();
            }
            RelayMessage::Broken => self.is_reading = false,
        }
        Ok(())
    }

    /// Takes note that the other end is gone, with what it has not told.
    pub fn lose(&mut self) {
        self.is_reading = false;
        self.has_ended = true;
        self.finish();
    }

    /// The bytes to be written next.
    #[must_use]
    pub fn unwritten(&self) -> &[u8] {
        self.queue.as_slices().0
    }

    /// Takes note of how much of it was.
    pub fn wrote(&mut self, bytes: usize) {
        let written = self.queue.drain(..bytes.min(self.queue.len())).count();
        self.taken += written;
        self.finish();
    }

    /// What the other end is to hear of what was written: not of each piece.
    pub fn take_taken(&mut self) -> Option<RelayMessage> {
        let is_due = self.taken >= RELAY_WINDOW_BYTES / 4;
        is_due.then(|| RelayMessage::Taken(core::mem::take(&mut self.taken)))
    }

    /// Takes note that the file has no reader any more; returns the message for the other end.
    pub fn break_output(&mut self) -> Option<RelayMessage> {
        let was_open = self.output == RelayOutput::Open;
        self.queue.clear();
        self.output = RelayOutput::Closed;
        was_open.then_some(RelayMessage::Broken)
    }

    fn finish(&mut self) {
        if self.has_ended && self.queue.is_empty() && self.output == RelayOutput::Open {
            self.output = RelayOutput::Finished;
        }
    }

    /// How the file ends.
    #[must_use]
    pub fn output(&self) -> RelayOutput {
        self.output
    }

    /// Takes note that the file's reader finds its end.
    pub fn close_output(&mut self) {
        self.output = RelayOutput::Closed;
    }

    /// Whether nothing is to be done any more: the file may be closed.
    #[must_use]
    pub fn is_over(&self) -> bool {
        !self.is_reading && self.output != RelayOutput::Open
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;

    #[test]
    fn an_end_sends_no_more_than_the_other_has_room_for() {
        let (mut from, mut to) = (RelayEnd::new(true, false), RelayEnd::new(false, true));
        let mut sent = 0;
        while from.readable() > 0 {
            let piece = vec![7; from.readable()];
            sent += piece.len();
            to.receive(from.read(&piece)).unwrap();
        }
        assert_eq!(sent, RELAY_WINDOW_BYTES);
        assert_eq!(to.receive(RelayMessage::Data(vec![1])), Err(RelayOutOfStep));
        to.wrote(1);
        assert_eq!(to.take_taken(), None, "not for each byte");
        to.wrote(RELAY_WINDOW_BYTES / 4);
        from.receive(to.take_taken().unwrap()).unwrap();
        assert_eq!(from.readable(), RELAY_PIECE_BYTES);
        assert_eq!(from.receive(RelayMessage::Taken(RELAY_WINDOW_BYTES)), Err(RelayOutOfStep));
        assert_eq!(from.receive(RelayMessage::Taken(usize::MAX)), Err(RelayOutOfStep));
    }

    #[test]
    fn an_end_that_comes_waits_until_all_is_written() {
        let mut to = RelayEnd::new(false, true);
        to.receive(RelayMessage::Data(vec![1, 2])).unwrap();
        to.receive(RelayMessage::End).unwrap();
        assert_eq!((to.output(), to.is_over()), (RelayOutput::Open, false));
        assert_eq!(to.unwritten(), [1, 2]);
        to.wrote(2);
        assert_eq!((to.output(), to.is_over()), (RelayOutput::Finished, true));
        assert_eq!(to.receive(RelayMessage::Data(vec![1])), Err(RelayOutOfStep));
        assert_eq!(to.receive(RelayMessage::End), Err(RelayOutOfStep));
    }

    #[test]
    fn who_does_not_take_is_sent_nothing_more() {
        let (mut from, mut to) = (RelayEnd::new(true, false), RelayEnd::new(false, true));
        to.receive(from.read(&[1])).unwrap();
        let told = to.break_output().unwrap();
        assert_eq!((to.break_output(), to.is_over()), (None, true), "it is told once");
        to.receive(from.read(&[2])).unwrap();
        assert!(to.unwritten().is_empty());
        from.receive(told).unwrap();
        assert_eq!((from.readable(), from.is_over()), (0, true));
    }

    #[test]
    fn few_pieces_are_on_their_way_however_short_they_are() {
        let (mut from, mut to) = (RelayEnd::new(true, false), RelayEnd::new(false, true));
        let mut pieces = 0;
        for _ in 0..3 {
            while from.readable() > 0 {
                to.receive(from.read(&[1])).unwrap();
                pieces += 1;
            }
            assert!(pieces <= RELAY_WINDOW_BYTES / COUNTED_BYTES_MIN, "{pieces}");
            to.wrote(pieces);
            from.receive(to.take_taken().unwrap()).unwrap();
            pieces = 0;
        }
        assert_eq!(from.readable(), RELAY_PIECE_BYTES, "nothing is lost on the way");
    }

    #[test]
    fn what_an_end_that_is_gone_has_sent_is_written() {
        let mut end = RelayEnd::new(true, true);
        end.receive(RelayMessage::Data(vec![1, 2])).unwrap();
        end.lose();
        assert_eq!((end.readable(), end.is_over(), end.unwritten()), (0, false, &[1, 2][..]));
        end.wrote(2);
        assert!(end.is_over());
    }

    #[test]
    fn a_direction_that_is_not_there_takes_nothing() {
        let mut from = RelayEnd::new(true, false);
        assert_eq!(from.receive(RelayMessage::Data(vec![1])), Err(RelayOutOfStep));
        assert_eq!(from.receive(RelayMessage::End), Err(RelayOutOfStep));
    }
}
