//! Scatter-gather: pieces that travel beside the data, and the addresses by which they are found.
//!
//! A piece may be the child of an earlier one, in which its address is then written. Such fix-ups
//! (and those of descriptor arrays) go into the piece used last or one of its ancestors, at rising
//! offsets; going up to an ancestor closes its descendants. So no fix-up overwrites another.

use alloc::vec::Vec;

use binder_uapi::{BINDER_BUFFER_FLAG_HAS_PARENT, BinderBufferObject};

use crate::error::Errno;
use crate::image::Image;

/// Bytes of an address.
const ADDRESS_BYTES: u64 = size_of::<u64>() as u64;

/// The pieces of one transaction: where the next goes, and which take fix-ups.
#[derive(Debug)]
pub(crate) struct Pieces {
    next: usize,
    limit: usize,
    /// The piece used last, behind its ancestors.
    open: Vec<Piece>,
}

/// A piece in the image.
#[derive(Debug)]
pub(crate) struct Piece {
    /// The index of its object among the offsets.
    object: u64,
    start: usize,
    len: u64,
    /// Where the sender has it.
    pub(crate) source: u64,
    /// The first byte that a fix-up may still change.
    next_fixup: u64,
}

impl Pieces {
    pub(crate) fn new(start: usize, len: usize) -> Self {
        Self { next: start, limit: start + len, open: Vec::new() }
    }

    /// Where the last one ends, rounded up to 8 bytes.
    pub(crate) fn end(&self) -> usize {
        self.next
    }

    /// Takes room for a piece of `len` bytes, and returns its position and length.
    ///
    /// # Errors
    ///
    /// `EINVAL` when there is not as much.
    pub(crate) fn take_room(&mut self, len: u64) -> Result<(usize, usize), Errno> {
        let left = self.limit - self.next;
        let len = usize::try_from(len).ok().filter(|len| *len <= left).ok_or(Errno::EINVAL)?;
        let start = self.next;
        // All the room is a multiple of 8, and so is what was taken.
        self.next += len.next_multiple_of(8);
        Ok((start, len))
    }

    /// Goes up to the piece of an earlier object, whose descendants are closed from here on.
    ///
    /// # Errors
    ///
    /// `EINVAL` when `object` is no piece, or one that was closed.
    pub(crate) fn go_up_to(&mut self, object: u64) -> Result<&mut Piece, Errno> {
        let depth = self.open.iter().rposition(|piece| piece.object == object);
        let depth = depth.ok_or(Errno::EINVAL)?;
        self.open.truncate(depth + 1);
        Ok(&mut self.open[depth])
    }

    /// Adds a piece below the one that was gone up to, or as the head of a new family.
    fn open(&mut self, piece: Piece, is_child: bool) {
        if !is_child {
            self.open.clear();
        }
        self.open.push(piece);
    }
}

impl Piece {
    /// Lets `len` bytes at `offset` be changed, and returns their position in the image.
    ///
    /// # Errors
    ///
    /// `EINVAL` when they do not lie within the piece, aligned to 4 bytes, and behind all that was
    /// changed before.
    pub(crate) fn fix_up(&mut self, offset: u64, len: u64) -> Result<usize, Errno> {
        let end = offset.checked_add(len).filter(|end| *end <= self.len).ok_or(Errno::EINVAL)?;
        if !offset.is_multiple_of(4) {
            return Err(Errno::EINVAL);
        }
        self.pass(offset)?;
        self.next_fixup = end;
        Ok(self.start + usize::try_from(offset).map_err(|_| Errno::EINVAL)?)
    }

    /// Lets nothing before `offset` be changed from here on. That may lie behind the piece.
    ///
    /// # Errors
    ///
    /// `EINVAL` when something behind it was changed before.
    pub(crate) fn pass(&mut self, offset: u64) -> Result<(), Errno> {
        if offset < self.next_fixup {
            return Err(Errno::EINVAL);
        }
        self.next_fixup = offset;
        Ok(())
    }
}

/// Gives the object at `start` the receiver's address of the piece that it stands for, and returns where
/// the object ends.
pub(crate) fn translate_piece(image: &mut Image, index: u64, start: usize) -> Result<usize, Errno> {
    let mut object: BinderBufferObject = image.object(start)?;
    let source = object.buffer;
    let (at, _) = image.pieces.take_room(object.length)?;
    object.buffer = image.address_of(at);
    let is_child = object.flags & BINDER_BUFFER_FLAG_HAS_PARENT != 0;
    if is_child {
        let parent = image.pieces.go_up_to(object.parent)?;
        let place = parent.fix_up(object.parent_offset, ADDRESS_BYTES)?;
        image.put(place, &object.buffer);
    }
    let piece = Piece { object: index, start: at, len: object.length, source, next_fixup: 0 };
    image.pieces.open(piece, is_child);
    Ok(image.put(start, &object))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn add(pieces: &mut Pieces, object: u64, parent: Option<(u64, u64)>) -> Result<(), Errno> {
        let (start, _) = pieces.take_room(32)?;
        if let Some((parent, offset)) = parent {
            pieces.go_up_to(parent)?.fix_up(offset, ADDRESS_BYTES)?;
        }
        let piece = Piece { object, start, len: 32, source: 0, next_fixup: 0 };
        pieces.open(piece, parent.is_some());
        Ok(())
    }

    #[test]
    fn pieces_take_multiples_of_eight_until_the_room_is_used_up() {
        let mut pieces = Pieces::new(16, 24);
        assert_eq!(pieces.take_room(9), Ok((16, 9)));
        assert_eq!(pieces.take_room(9), Err(Errno::EINVAL));
        assert_eq!(pieces.take_room(u64::MAX), Err(Errno::EINVAL));
        assert_eq!(pieces.take_room(8), Ok((32, 8)));
        assert_eq!(pieces.take_room(0), Ok((40, 0)));
        assert_eq!(pieces.end(), 40);
    }

    #[test]
    fn a_fix_up_into_an_ancestor_closes_the_descendants() {
        let mut pieces = Pieces::new(0, 1024);
        add(&mut pieces, 0, None).unwrap();
        add(&mut pieces, 1, Some((0, 0))).unwrap();
        add(&mut pieces, 2, Some((1, 0))).unwrap();
        add(&mut pieces, 3, Some((0, 8))).unwrap();
        assert_eq!(add(&mut pieces, 4, Some((1, 8))), Err(Errno::EINVAL));
        add(&mut pieces, 4, Some((3, 0))).unwrap();
        add(&mut pieces, 5, None).unwrap();
        assert_eq!(add(&mut pieces, 6, Some((0, 16))), Err(Errno::EINVAL), "another family");
    }

    #[test]
    fn fix_ups_rise_within_their_piece() {
        let mut piece = Piece { object: 0, start: 64, len: 24, source: 0, next_fixup: 0 };
        assert_eq!(piece.fix_up(4, 8), Ok(68));
        for (offset, len) in [(8, 4), (14, 4), (20, 8), (u64::MAX - 3, 8), (24, 1)] {
            assert_eq!(piece.fix_up(offset, len), Err(Errno::EINVAL), "{len} at {offset}");
        }
        assert_eq!(piece.fix_up(12, 12), Ok(76));
        assert_eq!(piece.fix_up(24, 0), Ok(88));
    }
}
