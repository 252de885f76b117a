//! Text, as UTF-16 and as UTF-8.

use alloc::string::String;
use alloc::vec::Vec;

use crate::{ParcelError, Reader, Writer, padded};

/// The length of null.
const NULL: i32 = -1;

/// How many bytes become units in a few instructions.
const AT_ONCE: usize = 8;

/// Writes ASCII as units, as many.
fn widen(ascii: &[u8], units: &mut [[u8; 2]]) {
    fn one_by_one(ascii: &[u8], units: &mut [[u8; 2]]) {
        units.iter_mut().zip(ascii).for_each(|(unit, byte)| *unit = u16::from(*byte).to_le_bytes());
    }
    let Some(last) = ascii.last_chunk::<AT_ONCE>() else {
        return one_by_one(ascii, units);
    };
    let places = units.as_chunks_mut::<AT_ONCE>().0.iter_mut();
    places.zip(ascii.as_chunks::<AT_ONCE>().0).for_each(|(place, bytes)| one_by_one(bytes, place));
    if let Some(place) = units.last_chunk_mut::<AT_ONCE>() {
        // Some of them once more, which takes less than one by one.
        one_by_one(last, place);
    }
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
        self.i32(length);
        let place = self.room(padded((count + 1) * 2));
        let units = &mut place.as_chunks_mut::<2>().0[..count];
        if is_ascii {
            // Most text is.
            widen(text.as_bytes(), units);
        } else {
            let units = units.iter_mut().zip(text.encode_utf16());
            units.for_each(|(place, unit)| *place = unit.to_le_bytes());
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
        // All bits of all units: a loop without a way out in between is several times as fast.
        let bits = units.iter().fold(0, |bits, unit| bits | u16::from_le_bytes(*unit));
        if bits < 0x80 {
            let bytes: Vec<u8> = units.iter().map(|unit| unit[0]).collect();
            return String::from_utf8(bytes).map(Some).map_err(|_| ParcelError::BadText { at });
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
