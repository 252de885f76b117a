//! Numbers, alone and in arrays.

use alloc::vec::Vec;

use crate::{ParcelError, Reader, Writer, bytes, padded};

/// The length of an array that is null.
const NULL: i32 = -1;

/// A number that parcels hold.
///
/// Alone each takes at least four bytes. In arrays only bytes are packed: booleans and UTF-16 units
/// take four bytes each there too.
pub trait Element: Sized + Copy {
    /// How many bytes one takes in an array.
    const BYTES_IN_ARRAY: usize;

    /// Writes one.
    fn write(self, writer: &mut Writer<'_>);

    /// Reads one.
    ///
    /// # Errors
    ///
    /// [`ParcelError::NotEnoughData`].
    fn read(reader: &mut Reader<'_>) -> Result<Self, ParcelError>;

    /// Writes all of them, without their number.
    fn write_all(values: &[Self], writer: &mut Writer<'_>);

    /// Reads `count` of them; the caller has seen that they fit into what is left.
    ///
    /// # Errors
    ///
    /// [`ParcelError::NotEnoughData`].
    fn read_all(count: usize, reader: &mut Reader<'_>) -> Result<Vec<Self>, ParcelError>;
}

/// An element that is a word, or two, in both places.
macro_rules! word {
    ($($type:ty: $word:ident, $to:expr, $from:expr;)*) => {$(
        impl Element for $type {
            const BYTES_IN_ARRAY: usize = size_of::<$word>();

            fn write(self, writer: &mut Writer<'_>) {
                writer.$word($to(self));
            }

            fn read(reader: &mut Reader<'_>) -> Result<Self, ParcelError> {
                reader.$word().map($from)
            }

            // Whole arrays at once are as fast as copies.

            fn write_all(values: &[Self], writer: &mut Writer<'_>) {
                let room = writer.room(values.len() * size_of::<$word>());
                let places = room.as_chunks_mut::<{ size_of::<$word>() }>().0;
                for (place, value) in places.iter_mut().zip(values) {
                    *place = $to(*value).to_le_bytes();
                }
            }

            fn read_all(count: usize, reader: &mut Reader<'_>) -> Result<Vec<Self>, ParcelError> {
                let bytes = reader.raw(count.saturating_mul(size_of::<$word>()))?;
                let places = bytes.as_chunks::<{ size_of::<$word>() }>().0;
                Ok(places.iter().map(|place| $from($word::from_le_bytes(*place))).collect())
            }
        }
    )*};
}

word! {
    bool: u32, u32::from, |word| word != 0;
    u16: u32, u32::from, low;
    i32: i32, core::convert::identity::<i32>, core::convert::identity;
    u32: u32, core::convert::identity::<u32>, core::convert::identity;
    i64: i64, core::convert::identity::<i64>, core::convert::identity;
    u64: u64, core::convert::identity::<u64>, core::convert::identity;
    f32: u32, f32::to_bits, f32::from_bits;
    f64: u64, f64::to_bits, f64::from_bits;
}

/// The low half of a word: what is above it is not looked at.
const fn low(word: u32) -> u16 {
    let [a, b, ..] = word.to_le_bytes();
    u16::from_le_bytes([a, b])
}

impl Element for i8 {
    const BYTES_IN_ARRAY: usize = 1;

    fn write(self, writer: &mut Writer<'_>) {
        writer.i32(self.into());
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self, ParcelError> {
        reader.i32().map(|word| Self::from_le_bytes([word.to_le_bytes()[0]]))
    }

    fn write_all(values: &[Self], writer: &mut Writer<'_>) {
        let room = writer.room(padded(values.len()));
        room.iter_mut().zip(values).for_each(|(place, value)| *place = value.cast_unsigned());
    }

    fn read_all(count: usize, reader: &mut Reader<'_>) -> Result<Vec<Self>, ParcelError> {
        Ok(reader.raw(count)?.iter().map(|byte| byte.cast_signed()).collect())
    }
}

impl Element for u8 {
    const BYTES_IN_ARRAY: usize = 1;

    fn write(self, writer: &mut Writer<'_>) {
        self.cast_signed().write(writer);
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self, ParcelError> {
        i8::read(reader).map(i8::cast_unsigned)
    }

    fn write_all(values: &[Self], writer: &mut Writer<'_>) {
        writer.raw(values);
    }

    fn read_all(count: usize, reader: &mut Reader<'_>) -> Result<Vec<Self>, ParcelError> {
        let bytes = reader.raw(count)?;
        let mut values = Vec::with_capacity(count);
        bytes::append(&mut values, bytes);
        Ok(values)
    }
}

impl Writer<'_> {
    /// Writes the length of an array, or that it is null.
    ///
    /// # Errors
    ///
    /// [`ParcelError::TooLong`].
    pub fn length(&mut self, length: Option<usize>) -> Result<(), ParcelError> {
        let length = match length {
            Some(count) => i32::try_from(count).map_err(|_| ParcelError::TooLong { count })?,
            None => NULL,
        };
        self.i32(length);
        Ok(())
    }

    /// Writes an array of numbers.
    ///
    /// # Errors
    ///
    /// [`ParcelError::TooLong`]; nothing is written then.
    pub fn array<T: Element>(&mut self, values: &[T]) -> Result<(), ParcelError> {
        self.length(Some(values.len()))?;
        T::write_all(values, self);
        Ok(())
    }
}

impl Reader<'_> {
    /// Reads the length of an array; `None` if it is null.
    ///
    /// It is a claim: see [`Self::length_of`].
    ///
    /// # Errors
    ///
    /// [`ParcelError::NotEnoughData`], [`ParcelError::BadLength`] for negative ones but that of null.
    pub fn length(&mut self) -> Result<Option<usize>, ParcelError> {
        let at = self.position();
        match self.i32()? {
            NULL => Ok(None),
            length => usize::try_from(length)
                .map(Some)
                .map_err(|_| ParcelError::BadLength { at, length: length.into() }),
        }
    }

    /// Reads the length of an array of elements that take at least `bytes_each`, all of which must
    /// fit into what is left.
    ///
    /// # Errors
    ///
    /// As [`Self::length`], and [`ParcelError::NotEnoughData`] if they do not fit.
    pub fn length_of(&mut self, bytes_each: usize) -> Result<Option<usize>, ParcelError> {
        let Some(length) = self.length()? else { return Ok(None) };
        let wanted = length.saturating_mul(bytes_each);
        if wanted > self.left() {
            return Err(ParcelError::NotEnoughData {
                at: self.position(),
                wanted,
                left: self.left(),
            });
        }
        Ok(Some(length))
    }

    /// Reads an array of numbers; `None` if it is null.
    ///
    /// # Errors
    ///
    /// As [`Self::length_of`].
    pub fn array<T: Element>(&mut self) -> Result<Option<Vec<T>>, ParcelError> {
        match self.length_of(T::BYTES_IN_ARRAY)? {
            None => Ok(None),
            Some(count) => T::read_all(count, self).map(Some),
        }
    }
}
