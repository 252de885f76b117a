//! Text, as UTF-16 and as UTF-8.

use alloc::string::String;
use alloc::vec::Vec;

use crate::{ParcelError, Reader, Writer, padded};

/// The length of null.
const NULL: i32 = -1;

/// How many units are converted at a time, on the stack: the compiler makes vectors of a loop whose length it knows.
const PIECE: usize = 128;

/// How many bytes of what is shorter become units in a few instructions.
const AT_ONCE: usize = 8;

/// Writes ASCII as units, as many.
fn widen(ascii: &[u8], units: &mut [[u8; 2]]) {
    let Some(last) = ascii.last_chunk::<AT_ONCE>() else {
        return widen_each(ascii, units);
    };
    let places = units.as_chunks_mut::<AT_ONCE>().0.iter_mut();
    places.zip(ascii.as_chunks::<AT_ONCE>().0).for_each(|(place, bytes)| widen_each(bytes, place));
    if let Some(place) = units.last_chunk_mut::<AT_ONCE>() {
        // Some of them once more, which takes less than one by one.
        widen_each(last, place);
    }
}

#[inline(always)]
fn widen_each(ascii: &[u8], units: &mut [[u8; 2]]) {
    units.iter_mut().zip(ascii).for_each(|(unit, byte)| *unit = u16::from(*byte).to_le_bytes());
}

/// Appends units that are ASCII to `to`; false, and less, if one is none.
fn narrow(units: &[[u8; 2]], to: &mut Vec<u8>) -> bool {
    let (pieces, rest) = units.as_chunks::<PIECE>();
    for piece in pieces {
        let (mut bytes, mut bits) = ([0; PIECE], 0);
        for (byte, unit) in bytes.iter_mut().zip(piece) {
            let unit = u16::from_le_bytes(*unit);
            // All bits of all units: a loop without a way out in between is several times as fast.
            bits |= unit;
            *byte = unit.to_le_bytes()[0];
        }
        if bits >= 0x80 {
            return false;
        }
        to.extend_from_slice(&bytes);
    }
    let bits = rest.iter().fold(0, |bits, unit| bits | u16::from_le_bytes(*unit));
    to.extend(rest.iter().map(|unit| unit[0]));
    bits < 0x80
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
        let padded_bytes = padded((count + 1) * 2);
        self.reserve(size_of::<i32>() + padded_bytes);
        self.i32(length);
        if !is_ascii {
            let units = self.room(padded_bytes).as_chunks_mut::<2>().0[..count].iter_mut();
            units.zip(text.encode_utf16()).for_each(|(place, unit)| *place = unit.to_le_bytes());
            return Ok(());
        }
        // Most text is.
        let (pieces, rest) = text.as_bytes().as_chunks::<PIECE>();
        for piece in pieces {
            let mut units = [[0; 2]; PIECE];
            widen_each(piece, &mut units);
            self.put(units.as_flattened());
        }
        let place = self.room(padded_bytes - pieces.len() * PIECE * 2);
        widen(rest, &mut place.as_chunks_mut::<2>().0[..rest.len()]);
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
        let mut ascii = Vec::with_capacity(units.len());
        if narrow(units, &mut ascii) {
            return String::from_utf8(ascii).map(Some).map_err(|_| ParcelError::BadText { at });
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
