//! Text, as UTF-16 and as UTF-8.

use alloc::string::String;

use crate::{Error, Reader, Writer};

/// The length of null.
const NULL: i32 = -1;

impl Writer<'_> {
    /// Writes text as UTF-16: its length in units, the units, a zero.
    ///
    /// # Errors
    ///
    /// [`Error::TooLong`]; nothing is written then.
    pub fn string16(&mut self, text: &str) -> Result<(), Error> {
        let count = text.encode_utf16().count();
        let length = i32::try_from(count).map_err(|_| Error::TooLong { count })?;
        self.i32(length);
        self.padded(text.encode_utf16().chain([0]).flat_map(u16::to_le_bytes));
        Ok(())
    }

    /// Writes null in the place of text.
    pub fn null_string16(&mut self) {
        self.i32(NULL);
    }
}

impl Reader<'_> {
    /// Reads UTF-16 text; `None` for null.
    ///
    /// # Errors
    ///
    /// [`Error::NotEnoughData`], [`Error::BadLength`], or [`Error::BadText`] if it is no UTF-16 or
    /// does not end with a zero.
    pub fn string16(&mut self) -> Result<Option<String>, Error> {
        let at = self.position();
        let length = self.i32()?;
        if length == NULL {
            return Ok(None);
        }
        let units = usize::try_from(length)
            .map_err(|_| Error::BadLength { at, length: i64::from(length) })?;
        // A length that overflows is longer than what is left in any case.
        let bytes = self.raw(units.saturating_add(1).saturating_mul(2))?;
        let (text, end) = bytes.split_at(bytes.len() - 2);
        if end != [0, 0] {
            return Err(Error::BadText { at });
        }
        let units = text.chunks_exact(2).map(|unit| u16::from_le_bytes([unit[0], unit[1]]));
        let text: Result<String, _> = char::decode_utf16(units).collect();
        text.map(Some).map_err(|_| Error::BadText { at })
    }
}
