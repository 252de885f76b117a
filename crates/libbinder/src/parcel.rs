//! Parcels: bytes, a place in them, and the objects that they name.

mod append;
mod buffers;
mod objects;
mod sized;

use std::cell::{Cell, Ref, RefCell};
use std::fmt;
use std::iter;
use std::marker::PhantomData;
use std::mem;
use std::ops::{Deref, DerefMut};
use std::ptr;
use std::sync::Arc;
use std::time::Instant;

use ::parcel::token::TokenForm;
use ::parcel::{Reader, Writer, token};

pub use buffers::take as take_buffer;
pub use objects::{HeldObject, ParcelObject, StandIn};
pub use sized::{ReadableSubParcel, WritableSubParcel};

use crate::StatusCode;
use crate::transport::{BuilderWord, ObjectCodec, WireFormat};

/// How many bytes before a parcel are left free for what a transport puts there, so that a message lies
/// in one piece and is sent as such. An RPC call has 56 before it, an answer 36, and each object that goes
/// back with them 32.
const HEADROOM: usize = 128;

/// What calls and replies carry.
pub struct Parcel(BorrowedParcel<'static>);

/// A parcel lent to a service or to a parcelable.
///
/// Reading needs only `&self`, and moves on by what was read.
pub struct BorrowedParcel<'a> {
    /// The transport that it is for; none for calls within the process.
    codec: Option<Arc<dyn ObjectCodec>>,
    bytes: Bytes,
    /// Where the next value is read or written.
    position: Cell<usize>,
    /// In the order of their offsets.
    objects: RefCell<Vec<ParcelObject>>,
    /// How many parcelables contain the value that is being read.
    depth: Cell<u16>,
    is_sensitive: bool,
    /// Whether the names in it are the receiver's by now.
    is_sent: bool,
    /// The object for whose call it was prepared, by its place in memory; of others, none.
    prepared_for: Option<ObjectPlace>,
    /// What is said of the call that it is sent with; nearly always nothing.
    call: Option<Box<CallTerms>>,
    lent: PhantomData<&'a mut ()>,
}

// It is moved several times in each call, by instructions in line if it is no larger.
const _: () = assert!(size_of::<Parcel>() <= 128);

/// How a call is to be made.
#[derive(Default)]
struct CallTerms {
    /// When it ends.
    deadline: Option<Instant>,
    /// As which user, over a device.
    user: Option<u32>,
}

/// Where an object is: whether elsewhere, and the address of it or of its proxy.
pub(crate) type ObjectPlace = (bool, usize);

/// Bytes that a transport received, where they lie; dropping them frees the place.
pub trait ReceivedBytes: Send {
    /// The bytes, the same each time.
    fn bytes(&self) -> &[u8];
}

impl ReceivedBytes for Vec<u8> {
    fn bytes(&self) -> &[u8] {
        self
    }
}

enum Bytes {
    /// Those of `buffer` from `start` on; before them is room for the head of a message.
    Own {
        buffer: Vec<u8>,
        start: usize,
    },
    Received(Box<dyn ReceivedBytes>),
}

impl Bytes {
    /// None yet.
    fn none() -> Self {
        let mut buffer = buffers::take();
        buffer.extend_from_slice(&[0; HEADROOM]);
        Self::Own { buffer, start: HEADROOM }
    }

    fn as_slice(&self) -> &[u8] {
        match self {
            Self::Own { buffer, start } => &buffer[*start..],
            Self::Received(bytes) => bytes.bytes(),
        }
    }

    /// The bytes to change, and where they start: a copy, if they lie in a receive buffer.
    fn own(&mut self) -> (&mut Vec<u8>, &mut usize) {
        if let Self::Received(bytes) = self {
            *self = Self::Own { buffer: bytes.bytes().to_vec(), start: 0 };
        }
        match self {
            Self::Own { buffer, start } => (buffer, start),
            Self::Received(_) => unreachable!("made our own above"),
        }
    }
}

impl Parcel {
    /// An empty parcel for calls within the process.
    #[must_use]
    pub fn new() -> Self {
        Self(BorrowedParcel::with(None, Bytes::none(), Vec::new()))
    }

    /// An empty parcel for a transport.
    pub fn for_codec(codec: Arc<dyn ObjectCodec>) -> Self {
        Self(BorrowedParcel::with(Some(codec), Bytes::none(), Vec::new()))
    }

    /// As [`Self::received`], of bytes in memory of our own, those of `buffer` from `start` on. A buffer
    /// of [`take_buffer`] is best, since parcels give theirs back there.
    #[inline(always)]
    pub fn received_into(
        codec: Arc<dyn ObjectCodec>,
        buffer: Vec<u8>,
        start: usize,
        mut objects: Vec<ParcelObject>,
    ) -> Self {
        objects.sort_by_key(|object| object.offset);
        Self(BorrowedParcel::with(Some(codec), Bytes::Own { buffer, start }, objects))
    }

    /// A parcel that a transport received, with the objects that it was told of: files, and binders
    /// yet to be looked up ([`HeldObject::Unread`]).
    pub fn received(
        codec: Arc<dyn ObjectCodec>,
        bytes: Box<dyn ReceivedBytes>,
        mut objects: Vec<ParcelObject>,
    ) -> Self {
        objects.sort_by_key(|object| object.offset);
        Self(BorrowedParcel::with(Some(codec), Bytes::Received(bytes), objects))
    }

    /// The parcel as services and parcelables take it.
    pub fn borrowed(&mut self) -> &mut BorrowedParcel<'static> {
        &mut self.0
    }

    /// The parcel as services and parcelables read it.
    #[must_use]
    pub fn borrowed_ref(&self) -> &BorrowedParcel<'_> {
        &self.0
    }

    /// Makes a message of the parcel: puts the parts of a head before its bytes, and a tail behind them.
    /// What it holds stays, but lies elsewhere, so it is only to be sent.
    pub fn enclose(&mut self, head: [&[u8]; 2], tail: &[u8]) {
        let (buffer, start) = self.0.bytes.own();
        let head_bytes: usize = head.iter().map(|part| part.len()).sum();
        if head_bytes > *start {
            make_headroom(buffer, head_bytes - *start);
            *start = head_bytes;
        }
        for part in head.iter().rev() {
            let end = *start;
            *start -= part.len();
            buffer[*start..end].copy_from_slice(part);
        }
        buffer.extend_from_slice(tail);
    }

    /// Notes that the receiver has the names in this parcel: they are not to be taken back.
    pub fn mark_sent(&mut self) {
        self.0.is_sent = true;
    }

    /// Notes that the parcel is to be overwritten with zeros when it is dropped.
    pub fn mark_sensitive(&mut self) {
        self.0.is_sensitive = true;
    }
}

/// Moves the contents of a buffer.
#[cold]
fn make_headroom(buffer: &mut Vec<u8>, bytes: usize) {
    buffer.splice(..0, iter::repeat_n(0, bytes));
}

impl Default for Parcel {
    fn default() -> Self {
        Self::new()
    }
}

impl Deref for Parcel {
    type Target = BorrowedParcel<'static>;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl DerefMut for Parcel {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.0
    }
}

impl fmt::Debug for Parcel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl BorrowedParcel<'_> {
    #[inline(always)]
    fn with(codec: Option<Arc<dyn ObjectCodec>>, bytes: Bytes, objects: Vec<ParcelObject>) -> Self {
        Self {
            codec,
            bytes,
            position: Cell::new(0),
            objects: RefCell::new(objects),
            depth: Cell::new(0),
            is_sensitive: false,
            is_sent: false,
            prepared_for: None,
            call: None,
            lent: PhantomData,
        }
    }

    /// Notes for whose call it is.
    pub(crate) fn prepare_for(&mut self, object: ObjectPlace) {
        self.prepared_for = Some(object);
    }

    /// Whether it was prepared for a call of another object.
    pub(crate) fn is_for_another(&self, object: ObjectPlace) -> bool {
        self.prepared_for.is_some_and(|prepared_for| prepared_for != object)
    }

    /// When the call that it is sent with ends, answered or not.
    #[must_use]
    pub fn deadline(&self) -> Option<Instant> {
        self.call.as_ref()?.deadline
    }

    /// Has the call that it is sent with end by then; earlier, if that was said before.
    pub fn set_deadline(&mut self, deadline: Option<Instant>) {
        if deadline.is_some() {
            let call = self.call.get_or_insert_default();
            call.deadline = crate::deadline::earliest(call.deadline, deadline);
        }
    }

    /// As which user the call is made that it is sent with, over a device; `None` is that of this process.
    pub(crate) fn user(&self) -> Option<u32> {
        self.call.as_ref()?.user
    }

    /// Has the call be made as that user.
    pub(crate) fn set_user(&mut self, user: Option<u32>) {
        if user.is_some() || self.call.is_some() {
            self.call.get_or_insert_default().user = user;
        }
    }

    /// The same parcel, lent on for a shorter time.
    pub fn reborrow(&mut self) -> &mut Self {
        self
    }

    /// How binders, files and tokens look in it.
    #[must_use]
    pub fn format(&self) -> WireFormat {
        // Within the process the names are the table's, in the driver's form.
        self.codec.as_ref().map_or(WireFormat::Driver(BuilderWord::System), |codec| codec.format())
    }

    /// The transport that it is for.
    pub fn codec(&self) -> Option<&Arc<dyn ObjectCodec>> {
        self.codec.as_ref()
    }

    /// Whether the names in it are this codec's. Those of another, or of a parcel for calls within the
    /// process, are other objects there.
    pub(crate) fn is_named_by<C: ?Sized>(&self, codec: &C) -> bool {
        let is_it = |ours: &Arc<dyn ObjectCodec>| ptr::addr_eq(Arc::as_ptr(ours), codec);
        self.objects.borrow().is_empty() || self.codec.as_ref().is_some_and(is_it)
    }

    /// All its bytes.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        self.bytes.as_slice()
    }

    /// The objects in it, in the order of their offsets. Do not read from the parcel meanwhile.
    pub fn objects(&self) -> Ref<'_, [ParcelObject]> {
        Ref::map(self.objects.borrow(), Vec::as_slice)
    }

    /// Whether its bytes are to be overwritten after use.
    #[must_use]
    pub fn is_sensitive(&self) -> bool {
        self.is_sensitive
    }

    /// How many bytes there are.
    #[must_use]
    pub fn get_data_size(&self) -> i32 {
        i32::try_from(self.bytes().len()).unwrap_or(i32::MAX)
    }

    /// Where the next value is read or written.
    #[must_use]
    pub fn get_data_position(&self) -> i32 {
        i32::try_from(self.position.get()).unwrap_or(i32::MAX)
    }

    /// Goes to a place.
    ///
    /// # Errors
    ///
    /// [`StatusCode::BAD_VALUE`] if it is not in the parcel.
    pub fn set_data_position(&self, position: i32) -> Result<(), StatusCode> {
        let wanted = usize::try_from(position).map_err(|_| StatusCode::BAD_VALUE)?;
        if wanted > self.bytes().len() {
            return Err(StatusCode::BAD_VALUE);
        }
        self.position.set(wanted);
        Ok(())
    }

    /// Forgets what was written, for something else to be written in its place.
    #[doc(hidden)]
    pub fn restart(&mut self) {
        self.unname_all();
        let is_sensitive = self.is_sensitive;
        let (buffer, &mut start) = self.bytes.own();
        if is_sensitive {
            wipe(&mut buffer[start..]);
        }
        buffer.truncate(start);
        self.position.set(0);
    }

    /// Runs `read` where the parcel stands, and moves on by what it read.
    pub(crate) fn read_with<'b, T>(
        &'b self,
        read: impl FnOnce(&mut Reader<'b>) -> Result<T, ::parcel::ParcelError>,
    ) -> Result<T, StatusCode> {
        let mut reader = Reader::at(self.bytes(), self.position.get());
        let value = read(&mut reader)?;
        self.position.set(reader.position());
        Ok(value)
    }

    /// Runs `write` where the parcel stands, and moves on by what it wrote.
    pub(crate) fn write_with<T>(&mut self, write: impl FnOnce(&mut Writer<'_>) -> T) -> T {
        let (buffer, &mut start) = self.bytes.own();
        let mut writer = Writer::at(buffer, start + self.position.get());
        let result = write(&mut writer);
        self.position.set(writer.position() - start);
        result
    }

    /// Reads UTF-16 text.
    pub(crate) fn read_string16(&self) -> Result<Option<String>, StatusCode> {
        self.read_with(Reader::string16)
    }

    /// Writes what stands before a call's arguments.
    ///
    /// # Errors
    ///
    /// [`StatusCode::BAD_VALUE`] for a name that is too long.
    pub fn write_interface_token(&mut self, descriptor: &str) -> Result<(), StatusCode> {
        let format = self.format();
        let written = self.write_with(|writer| match format {
            WireFormat::Driver(header) => token::write_driver(writer, header, descriptor),
            WireFormat::Rpc(_) => token::write_rpc(writer, descriptor),
        });
        Ok(written?)
    }

    /// Reads what stands before a call's arguments over the driver, in the form of any release of Android.
    ///
    /// # Errors
    ///
    /// [`StatusCode::BAD_TYPE`] if it is not this interface that is meant.
    pub fn read_token_form(&self, descriptor: &str) -> Result<TokenForm, StatusCode> {
        self.read_with(|reader| Ok(token::form_of(reader, descriptor)))?.ok_or(StatusCode::BAD_TYPE)
    }

    /// Reads what stands before a call's arguments.
    ///
    /// # Errors
    ///
    /// [`StatusCode::BAD_TYPE`] if it is not this interface that is meant.
    pub fn enforce_interface(&self, descriptor: &str) -> Result<(), StatusCode> {
        let format = self.format();
        let is_meant = self.read_with(|reader| match format {
            WireFormat::Driver(_) => token::is_driver(reader, descriptor),
            WireFormat::Rpc(_) => token::is_rpc(reader, descriptor),
        });
        if is_meant == Ok(true) { Ok(()) } else { Err(StatusCode::BAD_TYPE) }
    }
}

/// Overwrites the contents of a buffer.
#[cold]
fn wipe(buffer: &mut [u8]) {
    buffer.fill(0);
    // The compiler must take the bytes for used, or it would leave out the writes.
    std::hint::black_box(&*buffer);
}

impl Drop for BorrowedParcel<'_> {
    fn drop(&mut self) {
        if !self.is_sent && !self.objects.get_mut().is_empty() {
            self.unname_all();
        }
        if let Bytes::Own { buffer, .. } = &mut self.bytes {
            if self.is_sensitive {
                wipe(buffer);
            }
            buffers::give(mem::take(buffer));
        }
    }
}

impl fmt::Debug for BorrowedParcel<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Parcel")
            .field("format", &self.format())
            .field("bytes", &self.bytes().len())
            .field("position", &self.position.get())
            .field("objects", &self.objects.borrow().len())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transport::WireName;

    /// Names nothing.
    #[derive(Debug)]
    struct NoObjects;

    impl ObjectCodec for NoObjects {
        fn format(&self) -> WireFormat {
            WireFormat::Rpc(::parcel::rpc::Version::V2)
        }

        fn name_binder(&self, _: &crate::SpIBinder) -> Result<WireName, StatusCode> {
            Err(StatusCode::INVALID_OPERATION)
        }

        fn find_binder(&self, _: WireName) -> Result<crate::SpIBinder, StatusCode> {
            Err(StatusCode::BAD_VALUE)
        }
    }

    #[test]
    fn a_message_is_its_head_its_parcel_and_its_tail() {
        for head_bytes in [0, 3, 127, 128, 129, 255] {
            let head: Vec<u8> = (0..head_bytes).collect();
            let (front, back) = head.split_at(head.len() / 3);
            let mut written = Parcel::for_codec(Arc::new(NoObjects));
            written.write(&7_i32).unwrap();
            written.write(&8_i32).unwrap();
            let parcel = [7, 0, 0, 0, 8, 0, 0, 0];
            assert_eq!(written.bytes(), parcel);
            assert_eq!((written.get_data_size(), written.get_data_position()), (8, 8));
            let received =
                Parcel::received(Arc::new(NoObjects), Box::new(parcel.to_vec()), Vec::new());
            for mut parcel_of_either in [written, received] {
                parcel_of_either.enclose([front, back], &[1, 2, 3]);
                let message = [&head[..], &parcel, &[1, 2, 3]].concat();
                assert_eq!(parcel_of_either.bytes(), message);
            }
        }
    }

    #[test]
    fn the_room_for_a_head_is_no_part_of_a_parcel() {
        let mut parcel = Parcel::for_codec(Arc::new(NoObjects));
        parcel.write(&1_i32).unwrap();
        parcel.set_data_position(0).unwrap();
        parcel.write(&2_i64).unwrap();
        assert_eq!(parcel.get_data_position(), 8);
        parcel.set_data_position(0).unwrap();
        assert_eq!(parcel.read::<i64>(), Ok(2));
        assert_eq!(parcel.set_data_position(9), Err(StatusCode::BAD_VALUE));
    }
}
