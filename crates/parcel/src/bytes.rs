//! Bytes from one place to another.

use alloc::vec::Vec;

/// How much is copied at a time.
///
/// C libraries leave longer copies to the processor (`rep movsb`). AMD's Zen does them a byte at a time,
/// which takes fifteen times as long, if the target lies a few bytes behind the source, modulo a page,
/// and takes half as long again if it lies up to two cache lines behind. Parcels come by such places: a
/// receive buffer begins with a page, large vectors sixteen bytes behind that, and an array as many
/// behind its call's head. Pieces are as fast from any place to any other.
const PIECE_BYTES: usize = 2048;

/// Appends bytes.
#[inline]
pub fn append(to: &mut Vec<u8>, bytes: &[u8]) {
    if bytes.len() <= PIECE_BYTES {
        return to.extend_from_slice(bytes);
    }
    to.reserve(bytes.len());
    bytes.chunks(PIECE_BYTES).for_each(|piece| to.extend_from_slice(piece));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_come_to_any_place_as_they_are() {
        let all: Vec<u8> = (0..=250).cycle().take(5 * PIECE_BYTES).collect();
        for len in [0, 1, PIECE_BYTES, PIECE_BYTES + 1, 3 * PIECE_BYTES] {
            let mut to = Vec::new();
            for skipped in 0..PIECE_BYTES {
                to.clear();
                to.push(7);
                append(&mut to, &all[skipped..][..len]);
                assert_eq!(to[0], 7);
                assert_eq!(to[1..], all[skipped..][..len], "{len} {skipped}");
            }
        }
    }
}
