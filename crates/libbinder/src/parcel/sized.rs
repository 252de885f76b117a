//! Reading and writing of values, and the parts of a parcel that say how long they are.

use super::{BorrowedParcel, Parcel};
use crate::StatusCode;
use crate::serialize::{Deserialize, Serialize};

/// How much memory the vectors may take that a caller wants filled: more than any reply can bring.
const MAX_OUT_BYTES: usize = 4 << 20;

/// How deep parcelables may contain each other, lest bytes exhaust a thread's stack.
const MAX_DEPTH: u16 = 256;

impl BorrowedParcel<'_> {
    /// Writes a value.
    ///
    /// # Errors
    ///
    /// Whatever keeps it from being written.
    pub fn write<S: Serialize + ?Sized>(&mut self, value: &S) -> Result<(), StatusCode> {
        value.serialize(self)
    }

    /// Reads a value.
    ///
    /// # Errors
    ///
    /// The error in the bytes.
    pub fn read<D: Deserialize>(&self) -> Result<D, StatusCode> {
        D::deserialize(self)
    }

    /// Reads a value in the place of `value`.
    ///
    /// # Errors
    ///
    /// The error in the bytes.
    pub fn read_onto<D: Deserialize>(&self, value: &mut D) -> Result<(), StatusCode> {
        value.deserialize_from(self)
    }

    /// Writes the length of a vector that the receiver is to fill.
    ///
    /// # Errors
    ///
    /// [`StatusCode::BAD_VALUE`] if it is too long.
    pub fn write_slice_size<T>(&mut self, slice: Option<&[T]>) -> Result<(), StatusCode> {
        Ok(self.write_with(|writer| writer.length(slice.map(<[T]>::len)))?)
    }

    /// Makes `out` as long as the caller's vector, to be filled.
    ///
    /// # Errors
    ///
    /// [`StatusCode::UNEXPECTED_NULL`] if the caller has none, [`StatusCode::NO_MEMORY`] if its vector
    /// is longer than a reply can be.
    pub fn resize_out_vec<D: Default + Deserialize>(
        &self,
        out: &mut Vec<D>,
    ) -> Result<(), StatusCode> {
        let mut sized = None;
        self.resize_nullable_out_vec(&mut sized)?;
        *out = sized.ok_or(StatusCode::UNEXPECTED_NULL)?;
        Ok(())
    }

    /// Makes `out` as long as the caller's vector, to be filled, or `None`.
    ///
    /// # Errors
    ///
    /// [`StatusCode::NO_MEMORY`] if the caller's vector is longer than a reply can be.
    pub fn resize_nullable_out_vec<D: Default + Deserialize>(
        &self,
        out: &mut Option<Vec<D>>,
    ) -> Result<(), StatusCode> {
        let length = self.read_with(|reader| reader.length())?;
        // The only length without bytes behind it.
        if length.unwrap_or(0).saturating_mul(size_of::<D>().max(1)) > MAX_OUT_BYTES {
            return Err(StatusCode::NO_MEMORY);
        }
        *out = length.map(|length| {
            let mut sized = Vec::new();
            sized.resize_with(length, D::default);
            sized
        });
        Ok(())
    }

    /// Writes a part and, before it, how long it is; readers of an older version skip what they do
    /// not know.
    ///
    /// # Errors
    ///
    /// Those of `write`.
    pub fn sized_write<F>(&mut self, write: F) -> Result<(), StatusCode>
    where
        for<'b> F: FnOnce(&mut WritableSubParcel<'_, 'b>) -> Result<(), StatusCode>,
    {
        let start = self.position.get();
        self.write_with(|writer| writer.i32(0));
        write(&mut WritableSubParcel { parcel: self })?;
        let end = self.position.get();
        let length = i32::try_from(end - start).map_err(|_| StatusCode::BAD_VALUE)?;
        self.position.set(start);
        self.write_with(|writer| writer.i32(length));
        self.position.set(end);
        Ok(())
    }

    /// Reads a part that says how long it is, and steps behind it.
    ///
    /// # Errors
    ///
    /// Those of `read`; [`StatusCode::BAD_VALUE`] for a length that cannot be or that is read past,
    /// [`StatusCode::NOT_ENOUGH_DATA`] for one that is longer than the parcel.
    pub fn sized_read<F>(&self, read: F) -> Result<(), StatusCode>
    where
        for<'b> F: FnOnce(ReadableSubParcel<'_, 'b>) -> Result<(), StatusCode>,
    {
        let start = self.position.get();
        let length = self.read_with(|reader| reader.i32())?;
        let length = usize::try_from(length).map_err(|_| StatusCode::BAD_VALUE)?;
        if length < size_of::<i32>() {
            return Err(StatusCode::BAD_VALUE);
        }
        let end = start.checked_add(length).ok_or(StatusCode::BAD_VALUE)?;
        if end > self.bytes().len() {
            return Err(StatusCode::NOT_ENOUGH_DATA);
        }
        read(ReadableSubParcel { parcel: self, end })?;
        if self.position.get() > end {
            return Err(StatusCode::BAD_VALUE);
        }
        self.position.set(end);
        Ok(())
    }

    /// Reads a parcelable, unless too many contain it.
    #[doc(hidden)]
    pub fn read_nested<T>(
        &self,
        read: impl FnOnce(&Self) -> Result<T, StatusCode>,
    ) -> Result<T, StatusCode> {
        let depth = self.depth.get();
        if depth == MAX_DEPTH {
            return Err(StatusCode::BAD_VALUE);
        }
        self.depth.set(depth + 1);
        let value = read(self);
        self.depth.set(depth);
        value
    }
}

impl Parcel {
    /// Writes a value.
    ///
    /// # Errors
    ///
    /// Whatever keeps it from being written.
    pub fn write<S: Serialize + ?Sized>(&mut self, value: &S) -> Result<(), StatusCode> {
        self.borrowed().write(value)
    }
}

/// A part of a parcel, while it is written.
#[derive(Debug)]
pub struct WritableSubParcel<'p, 'b> {
    parcel: &'p mut BorrowedParcel<'b>,
}

impl WritableSubParcel<'_, '_> {
    /// Writes a value.
    ///
    /// # Errors
    ///
    /// Whatever keeps it from being written.
    pub fn write<S: Serialize + ?Sized>(&mut self, value: &S) -> Result<(), StatusCode> {
        self.parcel.write(value)
    }
}

/// A part of a parcel, while it is read.
#[derive(Debug)]
pub struct ReadableSubParcel<'p, 'b> {
    parcel: &'p BorrowedParcel<'b>,
    end: usize,
}

impl ReadableSubParcel<'_, '_> {
    /// Reads a value.
    ///
    /// # Errors
    ///
    /// The error in the bytes; [`StatusCode::NOT_ENOUGH_DATA`] at the part's end.
    pub fn read<D: Deserialize>(&self) -> Result<D, StatusCode> {
        if !self.has_more_data() {
            return Err(StatusCode::NOT_ENOUGH_DATA);
        }
        self.parcel.read()
    }

    /// Whether the part goes on.
    #[must_use]
    pub fn has_more_data(&self) -> bool {
        self.parcel.position.get() < self.end
    }
}
