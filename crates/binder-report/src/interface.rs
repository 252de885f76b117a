//! The interface that a call speaks, where its parcel shows one.
//!
//! A parcel of Android's libbinder begins with an interface token: the caller's strict mode policy,
//! the work source, four letters for the partition it comes from, and the interface's name in
//! UTF-16, each of 32 bits but the name, which begins with its length.

use alloc::string::String;

/// As much of a parcel as is needed: the longest name that is shown, and what precedes it.
pub const DESCRIPTOR_ROOM_BYTES: usize = NAME_START + 2 * MAX_NAME_CHARS;

const PARTITION_START: usize = 8;
const NAME_START: usize = 16;
const MAX_NAME_CHARS: usize = 120;

/// Partitions: a system, a vendor's, a recovery image, a host.
const PARTITIONS: [u32; 4] = [
    u32::from_be_bytes(*b"SYST"),
    u32::from_be_bytes(*b"VNDR"),
    u32::from_be_bytes(*b"RECO"),
    u32::from_be_bytes(*b"UNKN"),
];

/// Reads the interface token at the start of a parcel.
///
/// Only a name is returned that could be one: bytes of another kind of payload are not shown.
pub fn descriptor_of(parcel: &[u8]) -> Option<String> {
    let word = |at: usize| {
        let bytes = parcel.get(at..)?.first_chunk::<4>()?;
        Some(u32::from_le_bytes(*bytes))
    };
    if !PARTITIONS.contains(&word(PARTITION_START)?) {
        return None;
    }
    let len_chars = usize::try_from(word(NAME_START - 4)?).ok()?;
    if !(1..=MAX_NAME_CHARS).contains(&len_chars) {
        return None;
    }
    let name = parcel.get(NAME_START..NAME_START + 2 * len_chars)?;
    name.chunks_exact(2).map(|unit| name_char(u16::from_le_bytes([unit[0], unit[1]]))).collect()
}

fn name_char(unit: u16) -> Option<char> {
    let is_of_names = |char: &char| char.is_ascii_alphanumeric() || "._$@:/-".contains(*char);
    char::from_u32(u32::from(unit)).filter(is_of_names)
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;

    fn parcel(partition: &[u8; 4], name: &str) -> Vec<u8> {
        let mut bytes = [0x4200_0004_u32.to_le_bytes(), u32::MAX.to_le_bytes()].concat();
        bytes.extend(u32::from_be_bytes(*partition).to_le_bytes());
        bytes.extend(u32::try_from(name.len()).unwrap().to_le_bytes());
        bytes.extend(name.encode_utf16().flat_map(u16::to_le_bytes));
        bytes.extend([0; 4]);
        bytes
    }

    #[test]
    fn an_interface_token_shows_its_name() {
        let name = "android.os.IServiceManager";
        for partition in [b"SYST", b"UNKN"] {
            assert_eq!(descriptor_of(&parcel(partition, name)).as_deref(), Some(name));
        }
    }

    #[test]
    fn other_payloads_show_nothing() {
        let good = parcel(b"SYST", "a.b.IC");
        for len in 0..good.len() - 4 {
            assert_eq!(descriptor_of(&good[..len]), None, "{len} bytes");
        }
        for bytes in [parcel(b"SECR", "a.b.IC"), parcel(b"SYST", ""), parcel(b"SYST", "two words")]
        {
            assert_eq!(descriptor_of(&bytes), None);
        }
        assert_eq!(descriptor_of(&parcel(b"SYST", &"x".repeat(MAX_NAME_CHARS + 1))), None);
    }
}
