//! CRC-32C, the checksum of blocks of a recording: polynomial 0x1edc6f41, reflected, as in iSCSI (RFC 3720, 12.1).

const POLYNOMIAL: u32 = 0x82f6_3b78;

const TABLE: [u32; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut rest = byte;
        let mut bit = 0;
        while bit < 8 {
            rest = if rest & 1 == 1 { rest >> 1 ^ POLYNOMIAL } else { rest >> 1 };
            bit += 1;
        }
        let at = byte as usize;
        table[at] = rest;
        byte += 1;
    }
    table
};

/// The checksum of `bytes`.
pub(crate) fn crc32c(bytes: &[u8]) -> u32 {
    let mut rest = u32::MAX;
    for byte in bytes {
        let [low, ..] = rest.to_le_bytes();
        rest = rest >> 8 ^ TABLE[usize::from(low ^ byte)];
    }
    !rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_the_checksum_of_the_standard() {
        assert_eq!(crc32c(b"123456789"), 0xe306_9283);
        // RFC 3720, B.4: 32 bytes of zeros.
        assert_eq!(crc32c(&[0; 32]), 0x8a91_36aa);
    }
}
