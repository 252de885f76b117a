//! Text, as UTF-16 and as UTF-8.

use alloc::string::String;
use alloc::vec::Vec;

use crate::{ParcelError, Reader, Writer, padded};

/// The length of null.
const NULL: i32 = -1;

/// Returns units as text if they are ASCII.
fn narrow(units: &[[u8; 2]]) -> Option<String> {
    let mut bits = 0;
    let each = units.iter().map(|unit| {
        let unit = u16::from_le_bytes(*unit);
        // All bits of all units: a loop without a way out in between is several times as fast.
        bits |= unit;
        unit.to_le_bytes()[0]
    });
    let ascii: Vec<u8> = each.collect();
    if bits < 0x80 { String::from_utf8(ascii).ok() } else { None }
}

impl Writer<'_> {
    /// Writes text as UTF-16: its length in units, the units, a zero.
    ///
    /// # Errors
    ///
    /// [`ParcelError::TooLong`]; nothing is written then.
    pub fn string16(&mut self, text: &str) -> Result<(), ParcelError> {
        let is_ascii = text.is_ascii();
        let count = if is_ascii { text.len() } else { text.encode_utf16().count() };
        let length = i32::try_from(count).map_err(|_| ParcelError::TooLong { count })?;
        let bytes = padded((count + 1) * 2);
        self.reserve(size_of::<i32>() + bytes);
        self.i32(length);
        let places = self.room(bytes).as_chunks_mut::<2>().0[..count].iter_mut();
        if is_ascii {
            // Most text is, and the compiler makes vectors of this.
            let units = text.bytes().map(|byte| u16::from(byte).to_le_bytes());
            places.zip(units).for_each(|(place, unit)| *place = unit);
        } else {
            let units = text.encode_utf16().map(u16::to_le_bytes);
            places.zip(units).for_each(|(place, unit)| *place = unit);
        }
        Ok(())
    }

    /// Writes null in the place of text.
    pub fn null_string16(&mut self) {
        self.i32(NULL);
    }
}

impl<'a> Reader<'a> {
    /// Reads UTF-16 text; `None` for null.
    ///
    /// # Errors
    ///
    /// [`ParcelError::NotEnoughData`], [`ParcelError::BadLength`], or [`ParcelError::BadText`] if it is no UTF-16 or
    /// does not end with a zero.
    pub fn string16(&mut self) -> Result<Option<String>, ParcelError> {
        let at = self.position();
        let Some(units) = self.units()? else { return Ok(None) };
        if let Some(ascii) = narrow(units) {
            return Ok(Some(ascii));
        }
        let units = units.iter().map(|unit| u16::from_le_bytes(*unit));
        let text: Result<String, _> = char::decode_utf16(units).collect();
        text.map(Some).map_err(|_| ParcelError::BadText { at })
    }

    /// Reads UTF-16 text, and says whether it is `expected`.
    ///
    /// # Errors
    ///
    /// As [`Self::string16`], but for text that is none: that is not `expected`.
    pub fn string16_is(&mut self, expected: &str) -> Result<bool, ParcelError> {
        let Some(units) = self.units()? else { return Ok(false) };
        if expected.is_ascii() {
            let bytes = expected.as_bytes();
            // All bits that differ: a loop without a way out in between is twice as fast.
            let differing = units.iter().zip(bytes).fold(0, |bits, (unit, byte)| {
                bits | (u16::from_le_bytes(*unit) ^ u16::from(*byte))
            });
            return Ok(units.len() == bytes.len() && differing == 0);
        }
        Ok(units.iter().map(|unit| u16::from_le_bytes(*unit)).eq(expected.encode_utf16()))
    }

    /// Reads the units of text, without the zero at their end.
    fn units(&mut self) -> Result<Option<&'a [[u8; 2]]>, ParcelError> {
        let at = self.position();
        let length = self.i32()?;
        if length == NULL {
            return Ok(None);
        }
        let units = usize::try_from(length)
            .map_err(|_| ParcelError::BadLength { at, length: length.into() })?;
        // A length that overflows is longer than what is left in any case.
        let bytes = self.raw(units.saturating_add(1).saturating_mul(2))?;
        match bytes.as_chunks::<2>().0.split_last() {
            Some(([0, 0], units)) => Ok(Some(units)),
            Some(_) | None => Err(ParcelError::BadText { at }),
        }
    }
}
