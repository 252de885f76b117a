//! Facts about a parcel's bytes that do not need its interface: whether its objects may be made longer or
//! shorter.
//!
//! An object takes 24 bytes in a parcel for the driver, and 12 or 8 in one for RPC. A parcel that is rewritten from one
//! to the other is right only if no length in it counts an object's bytes, and if all objects are known. AIDL writes a
//! parcelable as the word 1 and then its fields, of which the first word is their length; a `ParcelableHolder`
//! as 1, its stability, and the length of what it holds. What may be such a length is taken for one.

use crate::driver::{OBJECT_BYTES, TYPE_BINDER};

/// Returns where a word stands that may be a length which counts the bytes of an object. `objects` is where these
/// stand, in order; the words before `start` are known to be none.
#[must_use]
pub fn length_around(bytes: &[u8], start: usize, objects: &[usize]) -> Option<usize> {
    let mut objects = objects.iter().copied().peekable();
    let mut before = [None, None];
    for (at, word) in words(bytes, start) {
        while objects.next_if(|&object| object < at).is_some() {}
        let Some(&object) = objects.peek() else { break };
        let is_announced = match before {
            [_, Some(1)] | [Some(1), Some(0)] => true,
            [_, _] => false,
        };
        before = [before[1], Some(word)];
        if !is_announced || word % 4 != 0 {
            continue;
        }
        let Ok(length) = usize::try_from(word) else { continue };
        // A parcelable's counts itself, a holder's does not.
        let is_within = length <= bytes.len() - at;
        if is_within && at.saturating_add(length).saturating_add(4) > object {
            return Some(at);
        }
    }
    None
}

/// Returns where no object stands in a parcel for the driver, as it seems: no list tells of those. `objects` is where
/// objects stand, in order.
#[must_use]
pub fn unlisted_null(bytes: &[u8], objects: &[usize]) -> Option<usize> {
    let mut objects = objects.iter().copied().peekable();
    words(bytes, 0).find_map(|(at, word)| {
        while objects.next_if(|&object| object < at).is_some() {}
        let is_listed = objects.peek() == Some(&at);
        let rest = bytes.get(at..at + OBJECT_BYTES)?.get(8..)?;
        let is_null = word == TYPE_BINDER && !is_listed && rest.iter().all(|&byte| byte == 0);
        is_null.then_some(at)
    })
}

/// Returns the aligned words from `start` on, and where they stand.
fn words(bytes: &[u8], start: usize) -> impl Iterator<Item = (usize, u32)> {
    let start = start.next_multiple_of(4).min(bytes.len());
    let (words, _) = bytes[start..].as_chunks::<4>();
    words
        .iter()
        .enumerate()
        .map(move |(place, word)| (start + 4 * place, u32::from_le_bytes(*word)))
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;

    fn parcel(words: &[u32]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    #[test]
    fn a_length_that_counts_an_object_is_found() {
        // A parcelable of 20 bytes: its length, an object, another word.
        let nested = parcel(&[7, 1, 20, 1, 3, 0, 9, 5]);
        assert_eq!(length_around(&nested, 0, &[12]), Some(8));
        // A holder, which says how stable it is.
        let held = parcel(&[1, 0, 16, 1, 3, 0, 9]);
        assert_eq!(length_around(&held, 0, &[12]), Some(8));
        // After the object, beyond the parcel, too short, not announced, no words.
        let object = [1, 3, 0];
        let with = |before: &[u32], after: &[u32]| parcel(&[before, &object, after].concat());
        assert_eq!(length_around(&with(&[], &[1, 8, 5]), 0, &[0]), None);
        assert_eq!(length_around(&with(&[1, 40], &[]), 0, &[8]), None);
        assert_eq!(length_around(&with(&[1, 8, 7, 7], &[]), 0, &[16]), None);
        assert_eq!(length_around(&with(&[2, 12], &[]), 0, &[8]), None);
        assert_eq!(length_around(&with(&[1, 9], &[]), 0, &[8]), None);
        assert_eq!(length_around(&with(&[1, 12], &[]), 8, &[8]), None);
    }

    #[test]
    fn an_object_that_is_none_is_found() {
        let null = [TYPE_BINDER, 0, 0, 0, 0, 0];
        assert_eq!(unlisted_null(&parcel(&[&[5], &null[..]].concat()), &[]), Some(4));
        let mut some = null;
        some[2] = 1;
        assert_eq!(unlisted_null(&parcel(&some), &[0]), None);
        assert_eq!(unlisted_null(&parcel(&null[..5]), &[]), None);
    }
}
