//! Bytes from one place to another.

use alloc::vec::Vec;

/// How much is copied at a time where the processor must not do more.
///
/// C libraries leave longer copies to the processor (`rep movsb`), which is the fastest where the bytes
/// are not in the nearest cache. But AMD's Zen does it a byte at a time, which takes fifteen times as
/// long, if the target lies less than half a cache line behind the source, modulo a page. Parcels come
/// by such places: a receive buffer begins with a page, large vectors sixteen bytes behind that, and an
/// array as many behind its call's head.
const PIECE_BYTES: usize = 2048;

const PAGE_BYTES: usize = 4096;
const CACHE_LINE_BYTES: usize = 64;

/// Appends bytes, as fast from any place to any other.
pub fn append(to: &mut Vec<u8>, bytes: &[u8]) {
    to.reserve(bytes.len());
    let target = to.as_ptr().addr() + to.len();
    let behind = target.wrapping_sub(bytes.as_ptr().addr()) % PAGE_BYTES;
    if bytes.len() > PIECE_BYTES && behind < CACHE_LINE_BYTES && behind != 0 {
        bytes.chunks(PIECE_BYTES).for_each(|piece| to.extend_from_slice(piece));
    } else {
        to.extend_from_slice(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_come_to_any_place_as_they_are() {
        let all: Vec<u8> = (0..=250).cycle().take(5 * PIECE_BYTES).collect();
        for len in [0, 1, PIECE_BYTES, PIECE_BYTES + 1, 3 * PIECE_BYTES] {
            let mut to = Vec::with_capacity(2 * PAGE_BYTES + len);
            // All distances there are.
            for skipped in 0..PAGE_BYTES {
                to.clear();
                to.push(7);
                append(&mut to, &all[skipped..][..len]);
                assert_eq!(to[0], 7);
                assert_eq!(to[1..], all[skipped..][..len], "{len} {skipped}");
            }
        }
    }
}
