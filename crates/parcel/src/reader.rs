//! Bytes into values.

use crate::{ParcelError, padded};

/// Reads values from a place of a buffer on.
#[derive(Debug, Clone)]
pub struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    /// Reads from the start of `bytes`.
    #[must_use]
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// Reads from `at` on; past the end there is nothing to read.
    #[must_use]
    pub fn at(bytes: &'a [u8], at: usize) -> Self {
        Self { bytes, at: at.min(bytes.len()) }
    }

    /// Where the next value starts.
    #[must_use]
    pub const fn position(&self) -> usize {
        self.at
    }

    /// Goes to `at`, or to the end if that comes first.
    pub fn set_position(&mut self, at: usize) {
        self.at = at.min(self.bytes.len());
    }

    /// How many bytes are left.
    #[must_use]
    pub const fn left(&self) -> usize {
        self.bytes.len() - self.at
    }

    /// Reads `len` bytes as they are and steps over their padding.
    ///
    /// # Errors
    ///
    /// [`ParcelError::NotEnoughData`]; nothing is read then.
    pub fn raw(&mut self, len: usize) -> Result<&'a [u8], ParcelError> {
        if padded(len) > self.left() {
            return Err(ParcelError::NotEnoughData { at: self.at, wanted: len, left: self.left() });
        }
        let value = &self.bytes[self.at..self.at + len];
        self.at += padded(len);
        Ok(value)
    }

    fn word<const N: usize>(&mut self) -> Result<[u8; N], ParcelError> {
        let error = ParcelError::NotEnoughData { at: self.at, wanted: N, left: self.left() };
        let word = self.bytes[self.at..].first_chunk::<N>().ok_or(error)?;
        self.at += N;
        Ok(*word)
    }

    /// Reads a 32-bit number.
    ///
    /// # Errors
    ///
    /// [`ParcelError::NotEnoughData`].
    pub fn i32(&mut self) -> Result<i32, ParcelError> {
        self.word().map(i32::from_le_bytes)
    }

    /// Reads an unsigned 32-bit number.
    ///
    /// # Errors
    ///
    /// [`ParcelError::NotEnoughData`].
    pub fn u32(&mut self) -> Result<u32, ParcelError> {
        self.word().map(u32::from_le_bytes)
    }

    /// Reads a 64-bit number.
    ///
    /// # Errors
    ///
    /// [`ParcelError::NotEnoughData`].
    pub fn i64(&mut self) -> Result<i64, ParcelError> {
        self.word().map(i64::from_le_bytes)
    }

    /// Reads an unsigned 64-bit number.
    ///
    /// # Errors
    ///
    /// [`ParcelError::NotEnoughData`].
    pub fn u64(&mut self) -> Result<u64, ParcelError> {
        self.word().map(u64::from_le_bytes)
    }
}
