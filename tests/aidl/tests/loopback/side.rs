//! One side of the loop.

use std::any::Any;
use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, OnceLock, Weak};

use binder::transport::{
    CallerIdentity, DeathLinks, DeathNotice, HeldObject, LocalObject, Object, ObjectCodec, Parcel,
    ParcelObject, ProxyFacts, ReceivedBytes, RemoteObject, TransactionCode, TransactionFlags,
    WireFormat, WireName, serve,
};
use binder::{SpIBinder, StatusCode};

/// Two sides that talk to each other.
pub(crate) fn pair(format: WireFormat) -> (Arc<Side>, Arc<Side>) {
    let [one, other] = [0, 1].map(|number| Arc::new(Side::new(number, format)));
    one.peer.set(Arc::downgrade(&other)).unwrap();
    other.peer.set(Arc::downgrade(&one)).unwrap();
    (one, other)
}

/// A process, as it were.
pub(crate) struct Side {
    number: u64,
    format: WireFormat,
    peer: OnceLock<Weak<Side>>,
    this: Mutex<Weak<Side>>,
    tables: Mutex<Tables>,
}

#[derive(Default)]
struct Tables {
    last_id: u64,
    /// Objects of this side that the other knows, and how often they were given to it.
    given: HashMap<u64, (SpIBinder, u64)>,
    proxies: HashMap<u64, Weak<Proxy>>,
}

impl Side {
    fn new(number: u64, format: WireFormat) -> Self {
        Self {
            number,
            format,
            peer: OnceLock::new(),
            this: Mutex::default(),
            tables: Mutex::default(),
        }
    }

    /// How many objects the other side holds of this one.
    pub(crate) fn given(&self) -> usize {
        self.tables.lock().unwrap().given.len()
    }

    /// Lets this side know an object of the other.
    pub(crate) fn import_root(self: &Arc<Self>, other: &Arc<Self>, root: &SpIBinder) -> SpIBinder {
        for side in [self, other] {
            *side.this.lock().unwrap() = Arc::downgrade(side);
        }
        let id = other.give(root);
        self.proxy(id)
    }

    /// Sends an object to the other side, whosever it is.
    pub(crate) fn send(
        self: &Arc<Self>,
        to: &Arc<Self>,
        object: &SpIBinder,
    ) -> Result<SpIBinder, StatusCode> {
        for side in [self, to] {
            *side.this.lock().unwrap() = Arc::downgrade(side);
        }
        let mut parcel = Parcel::for_codec(self.clone());
        parcel.write_binder(Some(object))?;
        let received = to.receive(parcel);
        Ok(received.read_binder()?.expect("not null"))
    }

    fn this(&self) -> Arc<Self> {
        self.this.lock().unwrap().upgrade().unwrap()
    }

    fn give(&self, binder: &SpIBinder) -> u64 {
        let mut tables = self.tables.lock().unwrap();
        if let Some((id, given)) = tables.given.iter_mut().find(|(_, given)| given.0 == *binder) {
            given.1 += 1;
            return *id;
        }
        tables.last_id += 1;
        let id = tables.last_id;
        tables.given.insert(id, (binder.clone(), 1));
        id
    }

    fn take_back(&self, id: u64, count: u64) {
        let mut tables = self.tables.lock().unwrap();
        let given = tables.given.get_mut(&id).expect("given before");
        given.1 = given.1.checked_sub(count).expect("not more than was given");
        if given.1 == 0 {
            let gone = tables.given.remove(&id);
            drop(tables);
            drop(gone);
        }
    }

    /// The proxy of the other side's object, which was given once more.
    fn proxy(&self, id: u64) -> SpIBinder {
        let mut tables = self.tables.lock().unwrap();
        let known = tables.proxies.get(&id).and_then(Weak::upgrade);
        let proxy = known.unwrap_or_else(|| {
            let proxy = Arc::new(Proxy {
                side: self.this(),
                id,
                count: Mutex::new(0),
                facts: ProxyFacts::default(),
                links: DeathLinks::default(),
            });
            tables.proxies.insert(id, Arc::downgrade(&proxy));
            proxy
        });
        *proxy.count.lock().unwrap() += 1;
        drop(tables);
        SpIBinder::from_remote(proxy)
    }

    fn address(&self, side: u64, id: u64) -> WireName {
        match self.format {
            WireFormat::Rpc(_) => WireName::Address(side << 32 | id),
            WireFormat::Driver(_) if side == self.number => {
                WireName::Binder { binder: id, cookie: 0, flags: 0 }
            }
            WireFormat::Driver(_) => WireName::Handle(u32::try_from(id).unwrap()),
        }
    }

    /// The parcel as it arrives at this side.
    fn receive(&self, mut sent: Parcel) -> Parcel {
        let mut bytes = sent.bytes().to_vec();
        let mut objects = Vec::new();
        let format = self.format;
        for object in sent.objects().iter() {
            let held = match &object.held {
                HeldObject::File(file) => HeldObject::File(file.try_clone().unwrap()),
                HeldObject::Binder { .. } | HeldObject::StandIn(_) | HeldObject::Unread => {
                    HeldObject::Unread
                }
            };
            let is_file = matches!(held, HeldObject::File(_));
            match format {
                WireFormat::Driver(_) => translate(&mut bytes[object.offset..]),
                // Old versions do not tell where binders are.
                WireFormat::Rpc(version) => {
                    if !is_file && version < binder::transport::RpcVersion::V2 {
                        continue;
                    }
                }
            }
            objects.push(ParcelObject { offset: object.offset, held });
        }
        sent.mark_sent();
        Parcel::received(self.this(), Box::new(Buffer { bytes, _sent: sent }), objects)
    }
}

/// A receive buffer: it holds what its sender held, until it is freed.
struct Buffer {
    bytes: Vec<u8>,
    _sent: Parcel,
}

impl ReceivedBytes for Buffer {
    fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

/// What the driver does to an object on its way: one's own become handles, and back.
fn translate(object: &mut [u8]) {
    const BINDER: [u8; 4] = *b"\x85*bs";
    const HANDLE: [u8; 4] = *b"\x85*hs";
    match object.first_chunk_mut::<4>().unwrap() {
        kind if *kind == BINDER => *kind = HANDLE,
        kind if *kind == HANDLE => *kind = BINDER,
        _ => {}
    }
}

impl fmt::Debug for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Side({})", self.number)
    }
}

impl ObjectCodec for Side {
    fn format(&self) -> WireFormat {
        self.format
    }

    fn name_binder(&self, binder: &SpIBinder) -> Result<WireName, StatusCode> {
        match binder.object() {
            Object::Local(_) => Ok(self.address(self.number, self.give(binder))),
            Object::Remote(proxy) => {
                let proxy: &Proxy =
                    proxy.as_any().downcast_ref().ok_or(StatusCode::INVALID_OPERATION)?;
                if !std::ptr::eq(&raw const *proxy.side, self) {
                    return Err(StatusCode::INVALID_OPERATION);
                }
                Ok(self.address(1 - self.number, proxy.id))
            }
        }
    }

    fn unname(&self, binder: &SpIBinder, name: WireName) {
        let id = match name {
            WireName::Binder { binder, .. } => binder,
            WireName::Address(address) => address & 0xffff_ffff,
            WireName::Handle(_) => return,
        };
        if !binder.is_remote() {
            self.take_back(id, 1);
        }
    }

    fn find_binder(&self, name: WireName) -> Result<SpIBinder, StatusCode> {
        let (is_own, id) = match name {
            WireName::Binder { binder, .. } => (true, binder),
            WireName::Handle(handle) => (false, handle.into()),
            WireName::Address(address) => (address >> 32 == self.number, address & 0xffff_ffff),
        };
        if !is_own {
            return Ok(self.proxy(id));
        }
        let tables = self.tables.lock().unwrap();
        Ok(tables.given.get(&id).ok_or(StatusCode::BAD_VALUE)?.0.clone())
    }
}

#[derive(Debug)]
struct Proxy {
    side: Arc<Side>,
    id: u64,
    count: Mutex<u64>,
    facts: ProxyFacts,
    links: DeathLinks,
}

impl Drop for Proxy {
    fn drop(&mut self) {
        let peer = self.side.peer.get().and_then(Weak::upgrade);
        if let Some(peer) = peer {
            peer.take_back(self.id, *self.count.get_mut().unwrap());
        }
    }
}

impl RemoteObject for Proxy {
    fn codec(&self) -> Arc<dyn ObjectCodec> {
        self.side.clone()
    }

    fn facts(&self) -> &ProxyFacts {
        &self.facts
    }

    fn submit_transact(
        &self,
        code: TransactionCode,
        data: Parcel,
        flags: TransactionFlags,
    ) -> Result<Parcel, StatusCode> {
        let peer = self.side.peer.get().and_then(Weak::upgrade).ok_or(StatusCode::DEAD_OBJECT)?;
        let target = peer.tables.lock().unwrap().given.get(&self.id).map(|given| given.0.clone());
        let target = target.ok_or(StatusCode::DEAD_OBJECT)?;
        let target: &Arc<dyn LocalObject> = target.as_local().ok_or(StatusCode::BAD_TYPE)?;
        let data = peer.receive(data);
        let caller = CallerIdentity { pid: 1, uid: 2, ..CallerIdentity::default() };
        let reply = serve(target, caller, code, data, flags)?;
        Ok(self.side.receive(reply))
    }

    fn link_to_death(&self, recipient: &Arc<DeathNotice>) -> Result<(), StatusCode> {
        self.links.link(recipient).map(drop)
    }

    fn unlink_to_death(&self, recipient: &Arc<DeathNotice>) -> Result<(), StatusCode> {
        self.links.unlink(recipient).map(drop)
    }

    fn is_alive(&self) -> bool {
        !self.links.is_dead()
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn number(&self) -> u64 {
        self.id
    }
}
