//! Parcels that become parts of others.

use super::{BorrowedParcel, Parcel};
use crate::StatusCode;
use crate::transport::WireFormat;

impl BorrowedParcel<'_> {
    /// Writes a part and, before it, its length, without that word itself.
    pub(crate) fn write_length_before(
        &mut self,
        write: impl FnOnce(&mut Self) -> Result<(), StatusCode>,
    ) -> Result<(), StatusCode> {
        let start = self.position.get();
        self.write(&0_i32)?;
        let part = self.position.get();
        write(self)?;
        let end = self.position.get();
        let length = i32::try_from(end - part).map_err(|_| StatusCode::BAD_VALUE)?;
        self.position.set(start);
        self.write(&length)?;
        self.position.set(end);
        Ok(())
    }

    /// Writes all of another parcel, with its objects.
    ///
    /// # Errors
    ///
    /// [`StatusCode::BAD_TYPE`] if it has objects and the other's are named in another way, or what
    /// keeps its objects from being written.
    pub fn append_all_from(&mut self, other: &BorrowedParcel<'_>) -> Result<(), StatusCode> {
        self.append(other, 0, other.bytes().len())
    }

    /// Writes `size` bytes of another parcel from `start` on, with the objects in them.
    ///
    /// # Errors
    ///
    /// As [`Self::append_all_from`], and [`StatusCode::BAD_VALUE`] if the other is shorter.
    pub fn append_from(
        &mut self,
        other: &BorrowedParcel<'_>,
        start: i32,
        size: i32,
    ) -> Result<(), StatusCode> {
        let start = usize::try_from(start).map_err(|_| StatusCode::BAD_VALUE)?;
        let size = usize::try_from(size).map_err(|_| StatusCode::BAD_VALUE)?;
        self.append(other, start, size)
    }

    fn append(
        &mut self,
        other: &BorrowedParcel<'_>,
        start: usize,
        length: usize,
    ) -> Result<(), StatusCode> {
        let end = start.checked_add(length).ok_or(StatusCode::BAD_VALUE)?;
        let bytes = other.bytes().get(start..end).ok_or(StatusCode::BAD_VALUE)?;
        let base = self.position.get();
        let objects: Vec<usize> = other
            .objects()
            .iter()
            .map(|object| object.offset)
            .filter(|offset| (start..end).contains(offset))
            .collect();
        let may_have_objects = !objects.is_empty() || other.has_unlisted_binders();
        if may_have_objects && !self.names_as(other) {
            return Err(StatusCode::BAD_TYPE);
        }
        self.write_with(|writer| writer.raw(bytes));
        let after = self.position.get();
        for offset in objects {
            self.append_object(other, offset, base + (offset - start))?;
            if self.position.get() > after {
                // The part ends within it.
                return Err(StatusCode::BAD_VALUE);
            }
        }
        self.position.set(after);
        Ok(())
    }

    /// Whether objects look the same in both.
    fn names_as(&self, other: &BorrowedParcel<'_>) -> bool {
        matches!(
            (self.format(), other.format()),
            (WireFormat::Driver(_), WireFormat::Driver(_))
                | (WireFormat::Rpc(_), WireFormat::Rpc(_))
        )
    }

    /// Writes the object at `from` of another parcel to `to` again, over its bytes.
    fn append_object(
        &mut self,
        other: &BorrowedParcel<'_>,
        from: usize,
        to: usize,
    ) -> Result<(), StatusCode> {
        let position = other.position.replace(from);
        let is_file = other.place_of(from).is_ok_and(|place| other.objects()[place].held.is_file());
        self.position.set(to);
        let written = if is_file {
            other.read_file().and_then(|file| self.write_file(std::os::fd::AsFd::as_fd(&file)))
        } else {
            other.read_binder().and_then(|binder| self.write_binder(binder.as_ref()))
        };
        other.position.set(position);
        written
    }

    /// A copy of the next `length` bytes with the objects in them, and steps over them.
    pub(crate) fn split_off(&self, length: usize) -> Result<Parcel, StatusCode> {
        let start = self.position.get();
        let end = start.checked_add(length).ok_or(StatusCode::BAD_VALUE)?;
        if end > self.bytes().len() {
            return Err(StatusCode::NOT_ENOUGH_DATA);
        }
        let mut part = match &self.codec {
            Some(codec) => Parcel::for_codec(codec.clone()),
            None => Parcel::new(),
        };
        part.append(self, start, length)?;
        part.set_data_position(0)?;
        self.position.set(end);
        Ok(part)
    }
}
