//! A cursor over what follows the header of a request.

use zerocopy::{FromBytes, Immutable, KnownLayout};

/// An error in the body of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BodyFault {
    /// The header declares another length than arrived.
    #[error("{declared} bytes are declared, but {got} arrived")]
    Length {
        /// Bytes of the whole request, as declared.
        declared: u32,
        /// Bytes that arrived.
        got: usize,
    },
    /// The body ends before its fields do.
    #[error("{need} bytes are needed where {got} are left")]
    Short {
        /// Bytes of the field that does not fit.
        need: usize,
        /// Bytes left for it.
        got: usize,
    },
    /// The body goes on after its fields.
    #[error("{0} bytes are left over")]
    Trailing(usize),
    /// A name is empty or does not end with a NUL.
    #[error("a name is empty or without an end")]
    Name,
}

/// The part of a body that has not been read.
pub(crate) struct Body<'a>(&'a [u8]);

impl<'a> Body<'a> {
    pub(crate) const fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// Takes a structure of fixed size.
    pub(crate) fn take<T: FromBytes>(&mut self) -> Result<T, BodyFault> {
        let short = BodyFault::Short { need: size_of::<T>(), got: self.0.len() };
        let (value, rest) = T::read_from_prefix(self.0).map_err(|_| short)?;
        self.0 = rest;
        Ok(value)
    }

    /// Takes `count` records that need no alignment.
    pub(crate) fn records<T>(&mut self, count: u32) -> Result<&'a [T], BodyFault>
    where
        T: FromBytes + Immutable + KnownLayout + zerocopy::Unaligned,
    {
        let count = count as usize;
        let need = count.saturating_mul(size_of::<T>());
        let short = BodyFault::Short { need, got: self.0.len() };
        let (records, rest) =
            <[T]>::ref_from_prefix_with_elems(self.0, count).map_err(|_| short)?;
        self.0 = rest;
        Ok(records)
    }

    /// Takes `len` bytes.
    pub(crate) fn bytes(&mut self, len: u32) -> Result<&'a [u8], BodyFault> {
        self.records(len)
    }

    /// Takes a name and its NUL.
    pub(crate) fn name(&mut self) -> Result<&'a [u8], BodyFault> {
        let end = self.0.iter().position(|byte| *byte == 0).ok_or(BodyFault::Name)?;
        let (name, rest) = self.0.split_at(end);
        if name.is_empty() {
            return Err(BodyFault::Name);
        }
        self.0 = &rest[1..];
        Ok(name)
    }

    /// Takes a structure that is present only in newer versions.
    pub(crate) fn take_if_present<T: FromBytes>(&mut self) -> Option<T> {
        self.take().ok()
    }

    /// Leaves what remains unread.
    pub(crate) fn ignore_rest(&mut self) {
        self.0 = &[];
    }

    /// Ends the reading.
    pub(crate) const fn end(&self) -> Result<(), BodyFault> {
        match self.0.len() {
            0 => Ok(()),
            left => Err(BodyFault::Trailing(left)),
        }
    }
}
