//! Bytes as what clients send to a service manager, and as their deaths.
//!
//! Each step begins with a byte that says what it is. A transaction goes on with its caller, its code, the form of its
//! token and what its arguments are; objects are proxies that answer nothing.

use std::any::Any;
use std::sync::{Arc, Mutex, PoisonError};

use binder::binder_impl::{Parcel, TransactionCode, TransactionFlags};
use binder::transport::{
    BuilderWord, DeathLinks, DeathNotice, ObjectCodec, ProxyFacts, RemoteObject, WireFormat,
    WireName,
};
use binder::{SpIBinder, StatusCode};
use service_manager::{
    AccessPolicy, CallingContext, ClientCounter, Declarations, DialectChoice, Elsewhere, Manager,
    ObjectId,
};

const DESCRIPTOR: &str = "android.os.IServiceManager";
/// How many objects clients have.
const OBJECTS: usize = 8;
const NAMES: [&str; 8] =
    ["a", "b.IFoo/default", "", "no name", "declared.IFoo/x", "door", "\u{e9}", "c"];
const DECLARED: &str = "declared.IFoo/x accessor=door apex=d address=1.2.3.4:5\nb.IFoo/default\n";

/// Lets a manager serve the bytes, and checks what holds whatever they are.
///
/// # Panics
///
/// Panics if the manager does, calls anybody but one-way, or keeps an object that is not registered.
pub fn check(bytes: &[u8]) {
    let mut bytes = Bytes(bytes);
    let deaths = Arc::new(Mutex::new(Vec::new()));
    let noted = Arc::clone(&deaths);
    let note = Arc::new(move |object| {
        noted.lock().unwrap_or_else(PoisonError::into_inner).push(object);
    });
    let declared = Declarations::parse(DECLARED).expect("it declares services");
    let choice = match bytes.next() % 7 {
        0 => DialectChoice::Auto,
        release => format!("{}", 10 + release).parse().expect("it is a release"),
    };
    let counter = Box::new(Counter(bytes.next()));
    let mut manager = Manager::new(AccessPolicy::AllowAll, declared, choice, counter, note);
    let codec = Arc::new(Codec);
    let objects: Vec<_> = (0..OBJECTS).map(|number| FakeObject::new(number, &codec)).collect();
    while !bytes.0.is_empty() {
        match bytes.next() % 16 {
            0 => objects[usize::from(bytes.next()) % OBJECTS].deaths.die(),
            1 => drop(manager.count_clients(None)),
            2 => drop(manager.describe(&CallingContext::default())),
            _ => transact(&mut manager, &mut bytes, &codec, &objects),
        }
        bury(&mut manager, &deaths);
        assert!(manager.remote_count() <= OBJECTS);
    }
    objects.iter().for_each(|object| object.deaths.die());
    bury(&mut manager, &deaths);
    assert_eq!(manager.remote_count(), 0, "what is dead is kept");
    assert!(!manager.has_client_listeners());
}

fn bury(manager: &mut Manager, deaths: &Mutex<Vec<ObjectId>>) {
    let dead = std::mem::take(&mut *deaths.lock().unwrap_or_else(PoisonError::into_inner));
    dead.into_iter().for_each(|object| manager.object_died(object));
}

fn transact(
    manager: &mut Manager,
    bytes: &mut Bytes<'_>,
    codec: &Arc<Codec>,
    objects: &[Arc<FakeObject>],
) {
    let caller = CallingContext {
        pid: i32::from(bytes.next() % 4),
        uid: u32::from(bytes.next() % 2),
        label: None,
    };
    let code: TransactionCode = u32::from(bytes.next() % 20);
    let data = request(bytes, codec, objects);
    // Read from its start, as what was received.
    let _ = data.set_data_position(0);
    let mut reply = Parcel::for_codec(Arc::clone(codec) as Arc<dyn ObjectCodec>);
    let served = manager.transact(&caller, code, &data, &mut reply, Elsewhere::Nowhere);
    if served.is_ok() {
        assert!(!reply.bytes().is_empty(), "an answer says at least that all is well");
    }
}

/// A token, and arguments.
fn request(bytes: &mut Bytes<'_>, codec: &Arc<Codec>, objects: &[Arc<FakeObject>]) -> Parcel {
    let dynamic = Arc::clone(codec) as Arc<dyn ObjectCodec>;
    let form = bytes.next() % 8;
    if form == 7 {
        let len = usize::from(bytes.next());
        let raw: Vec<u8> = (0..len).map(|_| bytes.next()).collect();
        return Parcel::received_into(dynamic, raw, 0, Vec::new());
    }
    let mut data = Parcel::for_codec(dynamic);
    let token = match form {
        0 => data.write(&0_i32).and_then(|()| data.write(DESCRIPTOR)),
        1 => data.write(&0_i64).and_then(|()| data.write(DESCRIPTOR)),
        _ => data.write_interface_token(DESCRIPTOR),
    };
    token.expect("a token can be written");
    for _ in 0..bytes.next() % 6 {
        let kind = bytes.next();
        let value = bytes.next();
        let object = SpIBinder::from_remote(objects[usize::from(value) % OBJECTS].clone());
        let written = match kind % 6 {
            0 => data.write(NAMES[usize::from(value) % NAMES.len()]),
            1 => data.write(&object),
            2 => data.write(&i32::from(value)),
            3 => data.write_bare_binder(Some(&object)),
            4 => data.write(&None::<SpIBinder>),
            _ => data.write(&i32::from(value).wrapping_mul(0x0101_0101)),
        };
        written.expect("an argument can be written");
    }
    data
}

/// What is left of the input; zeros at its end.
struct Bytes<'a>(&'a [u8]);

impl Bytes<'_> {
    fn next(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        *first
    }
}

struct Counter(u8);

impl ClientCounter for Counter {
    fn strong_count(&self, object: &SpIBinder) -> Option<u32> {
        let number = object.as_remote()?.number();
        // A driver that cannot tell, or a different count for each.
        (self.0 != 0).then(|| u32::from(self.0 >> (number % 7)) % 4)
    }
}

/// Handles, as a device has.
#[derive(Debug)]
struct Codec;

impl ObjectCodec for Codec {
    fn format(&self) -> WireFormat {
        WireFormat::Driver(BuilderWord::System)
    }

    fn name_binder(&self, binder: &SpIBinder) -> Result<WireName, StatusCode> {
        let object = binder.as_remote().ok_or(StatusCode::INVALID_OPERATION)?;
        u32::try_from(object.number()).map(WireName::Handle).map_err(|_| StatusCode::BAD_VALUE)
    }

    fn find_binder(&self, _name: WireName) -> Result<SpIBinder, StatusCode> {
        Err(StatusCode::BAD_TYPE)
    }
}

#[derive(Debug)]
struct FakeObject {
    number: usize,
    codec: Arc<Codec>,
    facts: ProxyFacts,
    deaths: DeathLinks,
}

impl FakeObject {
    fn new(number: usize, codec: &Arc<Codec>) -> Arc<Self> {
        let (facts, deaths) = (ProxyFacts::default(), DeathLinks::default());
        Arc::new(Self { number: number + 1, codec: Arc::clone(codec), facts, deaths })
    }
}

impl RemoteObject for FakeObject {
    fn codec(&self) -> Arc<dyn ObjectCodec> {
        Arc::clone(&self.codec) as Arc<dyn ObjectCodec>
    }

    fn facts(&self) -> &ProxyFacts {
        &self.facts
    }

    fn submit_transact(
        &self,
        code: TransactionCode,
        _data: Parcel,
        flags: TransactionFlags,
    ) -> Result<Parcel, StatusCode> {
        assert_eq!((code, flags & 1), (1, 1), "a manager waits for nobody");
        if self.deaths.is_dead() { Err(StatusCode::DEAD_OBJECT) } else { Ok(Parcel::new()) }
    }

    fn link_to_death(&self, recipient: &Arc<DeathNotice>) -> Result<(), StatusCode> {
        self.deaths.link(recipient).map(drop)
    }

    fn unlink_to_death(&self, recipient: &Arc<DeathNotice>) -> Result<(), StatusCode> {
        self.deaths.unlink(recipient).map(drop)
    }

    fn is_alive(&self) -> bool {
        !self.deaths.is_dead()
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn number(&self) -> u64 {
        self.number as u64
    }
}
