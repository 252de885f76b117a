//! Numbers and strings as records hold them: numbers in as few bytes as they need, strings behind their lengths.

use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec::Vec;

/// The longest number takes this many bytes: seven bits each.
const NUMBER_MAX_BYTES: usize = 10;

/// Appends a number, seven bits a byte, the lowest first; a byte with its highest bit set is not the last.
pub(crate) fn put_number(bytes: &mut Vec<u8>, mut number: u64) {
    // Most take one byte or two, and to copy so few costs more than to write them.
    while number >= 0x80 {
        bytes.push(low_bits(number) | 0x80);
        number >>= 7;
    }
    bytes.push(low_bits(number));
}

/// Appends several numbers, with room made for all of them at once.
pub(crate) fn put_numbers(bytes: &mut Vec<u8>, numbers: &[u64]) {
    let mut at = bytes.len();
    bytes.resize(at + numbers.len() * NUMBER_MAX_BYTES, 0);
    for mut number in numbers.iter().copied() {
        while number >= 0x80 {
            bytes[at] = low_bits(number) | 0x80;
            at += 1;
            number >>= 7;
        }
        bytes[at] = low_bits(number);
        at += 1;
    }
    bytes.truncate(at);
}

fn low_bits(number: u64) -> u8 {
    number.to_le_bytes()[0] & 0x7f
}

/// Appends bytes behind their length.
pub(crate) fn put_bytes(bytes: &mut Vec<u8>, content: &[u8]) {
    put_number(bytes, content.len() as u64);
    bytes.extend_from_slice(content);
}

/// The bytes of a record that are not read yet.
#[derive(Clone, Copy)]
pub(crate) struct ByteReader<'a>(pub(crate) &'a [u8]);

impl<'a> ByteReader<'a> {
    pub(crate) fn number(&mut self) -> Option<u64> {
        let mut number = 0_u64;
        for at in 0..NUMBER_MAX_BYTES {
            let (byte, rest) = self.0.split_first()?;
            self.0 = rest;
            let bits = u64::from(byte & 0x7f);
            let shifted = bits << (7 * at);
            if shifted >> (7 * at) != bits {
                return None;
            }
            number |= shifted;
            if byte & 0x80 == 0 {
                return Some(number);
            }
        }
        None
    }

    pub(crate) fn small(&mut self) -> Option<u32> {
        self.number().and_then(|number| u32::try_from(number).ok())
    }

    pub(crate) fn bytes(&mut self) -> Option<&'a [u8]> {
        let len = usize::try_from(self.number()?).ok()?;
        let (bytes, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(bytes)
    }

    pub(crate) fn text(&mut self) -> Option<Cow<'a, str>> {
        self.bytes().map(String::from_utf8_lossy)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_all_sizes_come_back() {
        for number in (0..64).flat_map(|bit| [(1_u64 << bit) - 1, 1 << bit]).chain([u64::MAX]) {
            let mut bytes = Vec::new();
            put_number(&mut bytes, number);
            assert_eq!(ByteReader(&bytes).number(), Some(number));
            for short in 0..bytes.len() {
                assert_eq!(ByteReader(&bytes[..short]).number(), None);
            }
        }
    }

    #[test]
    fn a_number_of_more_than_64_bits_is_none() {
        assert_eq!(ByteReader(&[0xff; 20]).number(), None);
        let mut bytes = [0xff; 10];
        bytes[9] = 2;
        assert_eq!(ByteReader(&bytes).number(), None);
    }
}
