//! How a session names objects in its parcels.

use std::fmt;
use std::mem;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

use binder_rpc::handshake::FdMode;
use binder_rpc::{Address, Ending, Listed, ProtocolVersion, ReceivedParcel};

use super::error::status_of;
use super::proxy::RpcProxy;
use super::relayed::{self, RelayBudget};
use super::shared::{SharedSession, Tell};
use crate::transport::{
    HeldObject, Object, ObjectCodec, Parcel, ParcelObject, RpcVersion, StandIn, WireFormat,
    WireName,
};
use crate::{SpIBinder, StatusCode};

impl ObjectCodec for SharedSession {
    fn format(&self) -> WireFormat {
        WireFormat::Rpc(match self.terms.version {
            ProtocolVersion::V0 => RpcVersion::V0,
            ProtocolVersion::V1 => RpcVersion::V1,
            ProtocolVersion::V2 => RpcVersion::V2,
        })
    }

    fn name_binder(&self, binder: &SpIBinder) -> Result<WireName, StatusCode> {
        let address = match binder.object() {
            Object::Local(object) => {
                // The table holds the object, so nothing else will have its place.
                let id = Arc::as_ptr(object).cast::<()>().addr() as u64;
                let mut table = self.table();
                let sent = table.session.send_own(id, || Arc::clone(object));
                let address = sent.map_err(|refusal| status_of(&refusal))?;
                if let Err(reason) = table.charge_objects() {
                    // The parcel's caller holds the object, so this is never the last that does.
                    drop(table.session.unsend(address));
                    drop(table);
                    tracing::warn!(%reason, "an object was not sent");
                    return Err(StatusCode::NO_MEMORY);
                }
                address
            }
            Object::Remote(object) => {
                let proxy = object.as_any().downcast_ref::<RpcProxy>();
                let ours = proxy.filter(|proxy| std::ptr::eq(&raw const **proxy.session(), self));
                let address = ours.ok_or(StatusCode::INVALID_OPERATION)?.address();
                let sent = self.table().session.send_back(address);
                sent.map_err(|refusal| status_of(&refusal))?;
                address
            }
        };
        Ok(WireName::Address(address.word()))
    }

    fn unname(&self, _: &SpIBinder, name: WireName) {
        if let WireName::Address(word) = name
            && let Ok(address) = Address::from_word(word)
        {
            let mut released = self.table().session.unsend(address);
            // The parcel holds it, so this is never the last that does.
            drop(released.object.take());
            self.settle(released);
        }
    }

    fn find_binder(&self, name: WireName) -> Result<SpIBinder, StatusCode> {
        let WireName::Address(word) = name else {
            return Err(StatusCode::BAD_TYPE);
        };
        let address = Address::from_word(word).map_err(Ending::from);
        let entered = address.and_then(|address| self.enter(address, Tell::Soon));
        self.fail(self.named(entered)).unwrap_or(Err(StatusCode::BAD_VALUE))
    }

    fn allow_files(&self) -> Result<(), StatusCode> {
        match self.terms.fd_mode {
            FdMode::Unix if self.terms.passes_files => Ok(()),
            FdMode::Unix => Err(StatusCode::BAD_VALUE),
            FdMode::Relayed => Err(StatusCode::BAD_VALUE),
            FdMode::None | FdMode::Trusty => Err(StatusCode::FDS_NOT_ALLOWED),
        }
    }

    fn stand_in_for(&self, file: BorrowedFd<'_>) -> Result<Option<SpIBinder>, StatusCode> {
        if !self.terms.relays_files() {
            return self.allow_files().map(|()| None);
        }
        relayed::stand_in(file, &self.streams).map(Some)
    }

    fn open_stand_in(&self, stand_in: &StandIn) -> Result<OwnedFd, StatusCode> {
        if let Some(own) = relayed::own_file(&stand_in.object) {
            return own;
        }
        let budget = stand_in.facts.as_ref().and_then(|facts| facts.downcast_ref());
        relayed::open(&stand_in.object, budget.ok_or(StatusCode::BAD_TYPE)?)
    }
}

impl SharedSession {
    /// Makes a parcel of what came, with the objects that were listed; or says with what a call fails
    /// that brought a bad one.
    #[inline(always)]
    pub(super) fn received(
        self: &Arc<Self>,
        mut body: ReceivedParcel<OwnedFd>,
        tell: Tell,
    ) -> Result<Result<Parcel, StatusCode>, Ending> {
        let listed = body.lists.is_some().then(|| self.listed(&mut body, tell)).transpose()?;
        let (objects, refused) = listed.unwrap_or_default();
        let codec = Arc::<Self>::clone(self);
        let parcel = Parcel::received_into(codec, body.buffer, body.start, objects);
        // A bad one that is dropped gives back what it names.
        Ok(refused.map_or(Ok(parcel), Err))
    }

    /// Takes in the objects that came with a parcel, and says why that is refused, if it is.
    fn listed(
        &self,
        body: &mut ReceivedParcel<OwnedFd>,
        tell: Tell,
    ) -> Result<(Vec<ParcelObject>, Option<StatusCode>), Ending> {
        let (mut objects, mut refused) = (Vec::new(), None);
        let files = body.lists.as_mut().map(|lists| mem::take(&mut lists.files));
        let mut files: Vec<_> = files.into_iter().flatten().map(Some).collect();
        let mut budget: Option<Arc<RelayBudget>> = None;
        for (position, listed) in body.objects() {
            let listed = self.named(listed.map_err(Ending::from))?;
            let held = match listed {
                Ok(Listed::Binder(address)) => match self.named(self.enter(address, tell))? {
                    Ok(binder) => HeldObject::Binder { binder, name: None },
                    Err(status) => {
                        refused = Some(status);
                        continue;
                    }
                },
                Err(status) => {
                    refused = Some(status);
                    continue;
                }
                Ok(Listed::StandIn(number)) => {
                    let address = Address { owner: self.terms.role.other(), number };
                    let entered = match self.terms.relays_files() {
                        true => self.named(self.enter(address, tell))?,
                        false => Err(self.refuse(&"a file is relayed, which was not agreed on")),
                    };
                    match entered {
                        Ok(object) => {
                            let new = || Arc::new(RelayBudget::new(&self.streams));
                            let facts = Arc::clone(budget.get_or_insert_with(new));
                            let (name, facts) = (None, Some(facts as _));
                            HeldObject::StandIn(StandIn { object, name, facts })
                        }
                        Err(status) => {
                            refused = Some(status);
                            continue;
                        }
                    }
                }
                Ok(Listed::File(index)) => {
                    let place = usize::try_from(index).ok();
                    match place.and_then(|index| files.get_mut(index)).and_then(Option::take) {
                        Some(file) => HeldObject::File(file),
                        // The parcel's reader will find nothing there.
                        None => continue,
                    }
                }
            };
            let offset = usize::try_from(position).unwrap_or(usize::MAX);
            objects.push(ParcelObject { offset, held });
        }
        let refused = refused.or_else(|| body.bad().map(|bad| self.refuse(bad)));
        Ok((objects, refused))
    }

    /// Takes a name that means nothing here for an error of its call alone. Names that the peer gives its
    /// own objects are its own.
    pub(super) fn named<T>(
        &self,
        found: Result<T, Ending>,
    ) -> Result<Result<T, StatusCode>, Ending> {
        match found {
            Ok(found) => Ok(Ok(found)),
            Err(wrong @ Ending::BadAddress(_)) => Ok(Err(self.refuse(&wrong))),
            Err(Ending::UnknownAddress(address)) if address.owner == self.terms.role => {
                Ok(Err(self.refuse(&Ending::UnknownAddress(address))))
            }
            Err(ending) => Err(ending),
        }
    }

    /// Refuses a call that names objects wrongly.
    pub(super) fn refuse(&self, reason: &dyn fmt::Display) -> StatusCode {
        let caller = self.peer.caller();
        tracing::warn!(%reason, pid = caller.pid, uid = caller.uid, "a parcel was refused");
        StatusCode::BAD_VALUE
    }

    /// Writes the positions that the version lists into `to`, and returns how many there are.
    pub(super) fn list_positions(&self, objects: &[ParcelObject], to: &mut Vec<u8>) -> usize {
        let version = self.terms.version;
        let mut count = 0;
        for object in objects {
            let is_listed = match object.held {
                HeldObject::File(_) => version.has_positions(),
                HeldObject::Binder { .. } | HeldObject::StandIn(_) => version.lists_binders(),
                HeldObject::Unread => false,
            };
            if is_listed {
                // Longer parcels are not sent.
                let offset = u32::try_from(object.offset).unwrap_or(u32::MAX);
                to.extend_from_slice(&offset.to_le_bytes());
                count += 1;
            }
        }
        count
    }
}

/// Returns how many files a parcel has.
pub(super) fn count_files(objects: &[ParcelObject]) -> usize {
    objects.iter().filter(|object| matches!(object.held, HeldObject::File(_))).count()
}

/// Returns the files of a parcel, in the order of their places in it.
pub(super) fn files(objects: &[ParcelObject]) -> Vec<BorrowedFd<'_>> {
    let file = |object| match object {
        &ParcelObject { held: HeldObject::File(ref file), .. } => Some(file.as_fd()),
        _ => None,
    };
    objects.iter().filter_map(file).collect()
}
