//! Binders and files in parcels.

use std::any::Any;
use std::mem;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

use ::parcel::Reader;
use ::parcel::driver::FlatObject;
use ::parcel::rpc::RpcObject;

use super::BorrowedParcel;
use crate::transport::{RpcVersion, WireFormat, WireName, forward};
use crate::{SpIBinder, Stability, StatusCode};

/// An object in a parcel.
#[derive(Debug)]
pub struct ParcelObject {
    /// Where it stands among the bytes.
    pub offset: usize,
    /// What the parcel holds for it.
    pub held: HeldObject,
}

/// What a parcel holds for an object in it.
#[derive(Debug)]
pub enum HeldObject {
    /// A binder, and the name that its transport gave it, if it was written into this parcel.
    Binder {
        /// The binder.
        binder: SpIBinder,
        /// The name to take back if the parcel is not sent.
        name: Option<WireName>,
    },
    /// A file, until the parcel is dropped; reading copies the descriptor.
    File(OwnedFd),
    /// What stands for a file that is relayed, until it is read for the first time.
    StandIn(StandIn),
    /// A received binder that has not been read yet.
    Unread,
}

/// An object in the place of a file.
#[derive(Debug)]
pub struct StandIn {
    /// The object.
    pub object: SpIBinder,
    /// The name to take back if the parcel is not sent; `None` of one that came.
    pub name: Option<WireName>,
    /// What its transport keeps of it.
    pub facts: Option<Arc<dyn Any + Send + Sync>>,
}

impl HeldObject {
    /// Whether a file is to be read here.
    pub(crate) fn is_file(&self) -> bool {
        matches!(self, Self::File(_) | Self::StandIn(_))
    }
}

impl BorrowedParcel<'_> {
    /// Writes a binder or null, and its stability.
    ///
    /// # Errors
    ///
    /// [`StatusCode::INVALID_OPERATION`] for an object of another transport, if parcels of either do not say where their
    /// objects are; of others a [forwarding](forward) object is written.
    pub fn write_binder(&mut self, binder: Option<&SpIBinder>) -> Result<(), StatusCode> {
        self.write_bare_binder(binder)?;
        let level = binder.map_or(Stability::NULL_LEVEL, |binder| binder.stability().level());
        self.write_with(|writer| writer.i32(level));
        Ok(())
    }

    /// Writes a binder or null, without the stability that stands beside it since Android 11.
    ///
    /// # Errors
    ///
    /// As [`write_binder`](Self::write_binder).
    pub fn write_bare_binder(&mut self, binder: Option<&SpIBinder>) -> Result<(), StatusCode> {
        let format = self.format();
        let Some(binder) = binder else {
            self.write_with(|writer| match format {
                WireFormat::Driver(_) => FlatObject::Null.write(writer),
                WireFormat::Rpc(_) => RpcObject::Null.write(writer),
            });
            return Ok(());
        };
        let instead = binder.as_remote().and_then(|object| object.stands_for());
        let instead = instead.map(SpIBinder::from_remote);
        let exported;
        let mut binder = instead.as_ref().unwrap_or(binder);
        let (name, shown) = match &self.codec {
            Some(codec) => {
                let name = match (codec.name_binder(binder), binder.as_remote()) {
                    (Err(StatusCode::INVALID_OPERATION), Some(target)) => {
                        let object = forward::export(target, format)?;
                        exported = SpIBinder::as_it_is(object);
                        binder = &exported;
                        codec.name_binder(binder)
                    }
                    (named, _) => named,
                }?;
                (Some(name), name)
            }
            None => (None, WireName::Binder { binder: 1, cookie: 0, flags: 0 }),
        };
        let offset = self.position.get();
        self.hold(ParcelObject {
            offset,
            held: HeldObject::Binder { binder: binder.clone(), name },
        });
        self.write_with(|writer| match shown {
            WireName::Binder { binder, cookie, flags } => {
                FlatObject::Binder { binder, cookie, flags }.write(writer);
            }
            WireName::Handle(handle) => FlatObject::Handle { handle, flags: 0 }.write(writer),
            WireName::Address(address) => RpcObject::Binder { address }.write(writer),
        });
        Ok(())
    }

    /// Reads a binder or null, and its stability.
    ///
    /// # Errors
    ///
    /// [`StatusCode::BAD_TYPE`] if none stands here; the transport's, if it has no such object.
    pub fn read_binder(&self) -> Result<Option<SpIBinder>, StatusCode> {
        let binder = self.read_bare_binder()?;
        let level = self.read_with(Reader::i32)?;
        if let Some(object) = binder.as_ref().and_then(SpIBinder::as_remote) {
            object.facts().learn_stability(Stability::from_level(level));
        }
        Ok(binder)
    }

    /// Reads a binder or null, without the stability that stands beside it since Android 11.
    ///
    /// # Errors
    ///
    /// As [`read_binder`](Self::read_binder).
    pub fn read_bare_binder(&self) -> Result<Option<SpIBinder>, StatusCode> {
        let offset = self.position.get();
        let format = self.format();
        let name = self.read_with(|reader| read_name(reader, format))?;
        name.map(|name| self.find_binder(offset, name)).transpose()
    }

    /// The binder that the parcel holds for the object at `offset`, looked up the first time.
    fn find_binder(&self, offset: usize, name: WireName) -> Result<SpIBinder, StatusCode> {
        let place = self.place_of(offset);
        if let Ok(place) = place {
            match &self.objects.borrow()[place].held {
                HeldObject::Binder { binder, .. } => return Ok(binder.clone().at_home()),
                HeldObject::File(_) | HeldObject::StandIn(_) => return Err(StatusCode::BAD_TYPE),
                HeldObject::Unread => {}
            }
        }
        // Without a word from the transport that an object stands here, it is just bytes; old
        // versions of RPC do not say.
        let is_told = place.is_ok() || self.has_unlisted_binders();
        let codec = self.codec.as_ref().filter(|_| is_told).ok_or(StatusCode::BAD_TYPE)?;
        let binder = codec.find_binder(name)?.at_home();
        let held = HeldObject::Binder { binder: binder.clone(), name: None };
        self.objects_mut(|objects| match place {
            Ok(place) => objects[place].held = held,
            Err(place) => objects.insert(place, ParcelObject { offset, held }),
        });
        Ok(binder)
    }

    /// Whether the transport does not say where binders stand.
    pub(super) fn has_unlisted_binders(&self) -> bool {
        matches!(self.format(), WireFormat::Rpc(RpcVersion::V0 | RpcVersion::V1))
    }

    /// Writes a file, which the parcel keeps.
    ///
    /// # Errors
    ///
    /// [`StatusCode::FDS_NOT_ALLOWED`] if the transport takes none, [`StatusCode::NO_MEMORY`] if this
    /// process has no room for a copy of the descriptor.
    pub fn write_file(&mut self, file: BorrowedFd<'_>) -> Result<(), StatusCode> {
        if let Some(codec) = &self.codec
            && let Some(object) = codec.stand_in_for(file)?
        {
            return self.write_stand_in(object);
        }
        let file = file.try_clone_to_owned().map_err(|_| StatusCode::NO_MEMORY)?;
        let fd = file.as_raw_fd();
        let offset = self.position.get();
        let files = self.objects.get_mut().iter();
        let index = files.filter(|object| matches!(object.held, HeldObject::File(_))).count();
        let index = i32::try_from(index).map_err(|_| StatusCode::BAD_VALUE)?;
        self.hold(ParcelObject { offset, held: HeldObject::File(file) });
        let format = self.format();
        self.write_with(|writer| match format {
            WireFormat::Driver(_) => FlatObject::File { fd }.write(writer),
            WireFormat::Rpc(_) => RpcObject::File { index }.write(writer),
        });
        Ok(())
    }

    pub(crate) fn write_stand_in(&mut self, object: SpIBinder) -> Result<(), StatusCode> {
        let codec = self.codec.as_ref().ok_or(StatusCode::INVALID_OPERATION)?;
        let name = codec.name_binder(&object)?;
        let offset = self.position.get();
        self.hold(ParcelObject {
            offset,
            held: HeldObject::StandIn(StandIn { object, name: Some(name), facts: None }),
        });
        let WireName::Address(word) = name else { return Err(StatusCode::BAD_TYPE) };
        // The other half says whose it is: the sender's.
        let number = u32::try_from(word >> 32).unwrap_or(0);
        self.write_with(|writer| RpcObject::StandIn { number }.write(writer));
        Ok(())
    }

    /// Reads a file: a descriptor of the reader's own.
    ///
    /// # Errors
    ///
    /// [`StatusCode::BAD_TYPE`] if none stands here.
    pub fn read_file(&self) -> Result<OwnedFd, StatusCode> {
        let offset = self.position.get();
        let format = self.format();
        self.read_with(|reader| match format {
            WireFormat::Driver(_) => FlatObject::read(reader).map(drop),
            WireFormat::Rpc(_) => RpcObject::read(reader).map(drop),
        })?;
        let place = self.place_of(offset).map_err(|_| StatusCode::BAD_TYPE)?;
        let opened = match &self.objects.borrow()[place].held {
            HeldObject::File(file) => {
                return file.try_clone().map_err(|_| StatusCode::NO_MEMORY);
            }
            HeldObject::StandIn(stand_in) => {
                let codec = self.codec.as_ref().ok_or(StatusCode::BAD_TYPE)?;
                let opened = codec.open_stand_in(stand_in)?;
                if stand_in.name.is_some() {
                    return Ok(opened);
                }
                opened
            }
            HeldObject::Binder { .. } | HeldObject::Unread => return Err(StatusCode::BAD_TYPE),
        };
        let copy = opened.try_clone().map_err(|_| StatusCode::NO_MEMORY)?;
        self.objects_mut(|objects| objects[place].held = HeldObject::File(opened));
        Ok(copy)
    }

    /// Takes an object into the table, instead of one that stood there before.
    fn hold(&mut self, object: ParcelObject) {
        let place = self.place_of(object.offset);
        let objects = self.objects.get_mut();
        match place {
            Ok(place) => {
                let before = mem::replace(&mut objects[place], object);
                self.unname(&before);
            }
            Err(place) => objects.insert(place, object),
        }
    }

    /// Takes back the names of all objects: the parcel is not sent.
    pub(super) fn unname_all(&mut self) {
        mem::take(self.objects.get_mut()).iter().for_each(|object| self.unname(object));
    }

    /// Takes back the name of an object that is not sent.
    pub(super) fn unname(&self, object: &ParcelObject) {
        if let (
            Some(codec),
            HeldObject::Binder { binder, name: Some(name) }
            | HeldObject::StandIn(StandIn { object: binder, name: Some(name), .. }),
        ) = (&self.codec, &object.held)
        {
            codec.unname(binder, *name);
        }
    }

    pub(super) fn place_of(&self, offset: usize) -> Result<usize, usize> {
        self.objects.borrow().binary_search_by_key(&offset, |object| object.offset)
    }

    fn objects_mut(&self, change: impl FnOnce(&mut Vec<ParcelObject>)) {
        change(&mut self.objects.borrow_mut());
    }
}

/// Reads the name of a binder; `None` for null.
fn read_name(
    reader: &mut Reader<'_>,
    format: WireFormat,
) -> Result<Option<WireName>, ::parcel::ParcelError> {
    let at = reader.position();
    match format {
        WireFormat::Driver(_) => match FlatObject::read(reader)? {
            FlatObject::Null => Ok(None),
            FlatObject::Binder { binder, cookie, flags } => {
                Ok(Some(WireName::Binder { binder, cookie, flags }))
            }
            FlatObject::Handle { handle, .. } => Ok(Some(WireName::Handle(handle))),
            FlatObject::File { .. } => Err(::parcel::ParcelError::BadObject { at }),
        },
        WireFormat::Rpc(_) => match RpcObject::read(reader)? {
            RpcObject::Null => Ok(None),
            RpcObject::Binder { address } => Ok(Some(WireName::Address(address))),
            RpcObject::File { .. } | RpcObject::StandIn { .. } => {
                Err(::parcel::ParcelError::BadObject { at })
            }
        },
    }
}
