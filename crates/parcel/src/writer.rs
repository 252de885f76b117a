//! Values into bytes.

use alloc::vec::Vec;

use crate::{bytes, padded};

/// Writes values at a place of a buffer: at its end, or over what is there.
///
/// Every value is padded with zeros to four bytes.
#[derive(Debug)]
pub struct Writer<'a> {
    bytes: &'a mut Vec<u8>,
    at: usize,
}

impl<'a> Writer<'a> {
    /// Writes at the end of `bytes`.
    #[must_use]
    pub fn new(bytes: &'a mut Vec<u8>) -> Self {
        let at = bytes.len();
        Self { bytes, at }
    }

    /// Writes at `at`, or at the end of `bytes` if that comes first.
    #[must_use]
    pub fn at(bytes: &'a mut Vec<u8>, at: usize) -> Self {
        let at = at.min(bytes.len());
        Self { bytes, at }
    }

    /// Where the next value goes.
    #[must_use]
    pub const fn position(&self) -> usize {
        self.at
    }

    /// Makes room for `bytes` more, so that they are not copied on the way.
    pub fn reserve(&mut self, bytes: usize) {
        self.bytes.reserve((self.at + bytes).saturating_sub(self.bytes.len()));
    }

    /// Writes `bytes` as they are, padded.
    pub fn raw(&mut self, bytes: &[u8]) {
        const ZEROS: [u8; 3] = [0; 3];
        self.put(bytes);
        let padding = padded(bytes.len()) - bytes.len();
        if padding > 0 {
            self.put(&ZEROS[..padding]);
        }
    }

    /// Writes that many zeros, and lends them to be written over.
    pub(crate) fn room(&mut self, bytes: usize) -> &mut [u8] {
        let start = self.at;
        self.at += bytes;
        if start < self.bytes.len() {
            let over = self.bytes.len().min(self.at);
            self.bytes[start..over].fill(0);
        }
        if self.at > self.bytes.len() {
            self.bytes.resize(self.at, 0);
        }
        &mut self.bytes[start..self.at]
    }

    /// Writes `bytes` as they are.
    #[inline]
    pub(crate) fn put(&mut self, bytes: &[u8]) {
        if self.at < self.bytes.len() {
            return self.put_over(bytes);
        }
        bytes::append(self.bytes, bytes);
        self.at = self.bytes.len();
    }

    /// Writes over what is there, and on behind it.
    #[cold]
    fn put_over(&mut self, bytes: &[u8]) {
        let over = bytes.len().min(self.bytes.len() - self.at);
        let (replacing, appended) = bytes.split_at(over);
        self.bytes[self.at..self.at + over].copy_from_slice(replacing);
        bytes::append(self.bytes, appended);
        self.at += bytes.len();
    }

    /// Writes a 32-bit number.
    pub fn i32(&mut self, value: i32) {
        self.put(&value.to_le_bytes());
    }

    /// Writes an unsigned 32-bit number.
    pub fn u32(&mut self, value: u32) {
        self.put(&value.to_le_bytes());
    }

    /// Writes a 64-bit number.
    pub fn i64(&mut self, value: i64) {
        self.put(&value.to_le_bytes());
    }

    /// Writes an unsigned 64-bit number.
    pub fn u64(&mut self, value: u64) {
        self.put(&value.to_le_bytes());
    }
}
