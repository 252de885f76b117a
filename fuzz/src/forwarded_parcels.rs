//! Bytes as values of an interface that the forwarder does not know, in a parcel that goes from one transport to another.
//!
//! Two bytes say which transports; each value begins with a byte that says what it is. What arrives is read by
//! a receiver that knows the values: the same, or an error, and nothing else.

use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use binder::binder_impl::{BorrowedParcel, Parcel, TransactionCode, TransactionFlags};
use binder::transport::forward::{ParcelStart, rewrite};
use binder::transport::{
    BuilderWord, DeathNotice, Object, ObjectCodec, ProxyFacts, RemoteObject, RpcVersion,
    WireFormat, WireName,
};
use binder::{SpIBinder, StatusCode};

const FORMATS: [WireFormat; 5] = [
    WireFormat::Driver(BuilderWord::System),
    WireFormat::Driver(BuilderWord::Unknown),
    WireFormat::Rpc(RpcVersion::V2),
    WireFormat::Rpc(RpcVersion::V1),
    WireFormat::Rpc(RpcVersion::V0),
];
const DESCRIPTOR: &str = "fuzz.IForwarded";
/// How many objects the sender's transport has.
const OBJECTS: usize = 4;
/// How many parcelables contain each other.
const MAX_DEPTH: u8 = 4;

/// What an interface says.
#[derive(Debug, PartialEq)]
enum Value {
    Word(i32),
    Text(String),
    Binder(Option<usize>),
    Parcelable(Vec<Value>),
    /// With its stability.
    Holder(i32, Vec<Value>),
}

/// Sends what the bytes say from one transport to the other and back, and checks what arrives.
///
/// # Panics
///
/// Panics if the rewriting does, if what arrives is not what was sent, or if a count does not come back.
pub fn check(bytes: &[u8]) {
    let mut bytes = Input(bytes);
    let [near, far] = [(); 2].map(|()| FORMATS[usize::from(bytes.next()) % FORMATS.len()]);
    let (near, far) = (TransportSide::new(near), TransportSide::new(far));
    let proxies: Vec<_> = (0..OBJECTS).map(|number| SideProxy::new(number, &near)).collect();
    let objects: Vec<_> =
        proxies.iter().map(|proxy| SpIBinder::from_remote(proxy.clone())).collect();
    let values = bytes.values(0);
    send(&values, &near, &far, &objects);
    drop(objects);
    assert_eq!([near.named(), far.named()], [0, 0], "names that are not taken back");
    assert!(proxies.iter().all(|proxy| Arc::strong_count(proxy) == 1), "an object is kept");
}

fn send(
    values: &[Value],
    near: &Arc<TransportSide>,
    far: &Arc<TransportSide>,
    objects: &[SpIBinder],
) {
    let mut sent = Parcel::for_codec(near.clone());
    sent.write_interface_token(DESCRIPTOR).expect("a short name");
    write(&mut sent, values, objects).expect("there is room");
    let mut arrived = Parcel::for_codec(far.clone());
    let changes = near.is_rpc() != far.is_rpc();
    match rewrite(sent.borrowed_ref(), arrived.borrowed(), ParcelStart::Token) {
        Ok(()) => {}
        Err(StatusCode::BAD_TYPE) => {
            assert!(changes || !near.lists() || !far.lists(), "{values:?}");
            return;
        }
        Err(status) => panic!("{status}: {values:?}"),
    }
    assert!(near.lists() && far.lists());
    assert!(!changes || !holds_binder_in_length(values, false), "{values:?}");
    assert_eq!(arrived.objects().len(), sent.objects().len());
    arrived.set_data_position(0).expect("the beginning");
    arrived.enforce_interface(DESCRIPTOR).expect("the interface");
    let read = read(arrived.borrowed_ref(), values, objects);
    // No list names a value that is no object; its reader finds that it is not in this transport's form.
    let has_untold_null = changes && near.is_rpc() && has_null(values);
    assert!(read.is_ok() || has_untold_null, "{read:?} {values:?}");

    let mut back = Parcel::for_codec(near.clone());
    match rewrite(arrived.borrowed_ref(), back.borrowed(), ParcelStart::Token) {
        Ok(()) => assert_eq!(back.bytes(), sent.bytes()),
        Err(status) => assert!(changes && status == StatusCode::BAD_TYPE, "{status}"),
    }
}

fn has_null(values: &[Value]) -> bool {
    values.iter().any(|value| match value {
        Value::Binder(binder) => binder.is_none(),
        Value::Parcelable(fields) | Value::Holder(_, fields) => has_null(fields),
        Value::Word(_) | Value::Text(_) => false,
    })
}

fn holds_binder_in_length(values: &[Value], is_within: bool) -> bool {
    values.iter().any(|value| match value {
        Value::Binder(binder) => is_within && binder.is_some(),
        Value::Parcelable(fields) | Value::Holder(_, fields) => {
            holds_binder_in_length(fields, true)
        }
        Value::Word(_) | Value::Text(_) => false,
    })
}

fn write(
    parcel: &mut BorrowedParcel<'_>,
    values: &[Value],
    objects: &[SpIBinder],
) -> Result<(), StatusCode> {
    for value in values {
        match value {
            Value::Word(word) => parcel.write(word)?,
            Value::Text(text) => parcel.write(&**text)?,
            Value::Binder(number) => {
                parcel.write_binder(number.map(|number| &objects[number]))?;
            }
            Value::Parcelable(fields) => {
                parcel.write(&1_i32)?;
                counted(parcel, 0, |parcel| write(parcel, fields, objects))?;
            }
            Value::Holder(stability, fields) => {
                parcel.write(&1_i32)?;
                parcel.write(stability)?;
                counted(parcel, 4, |parcel| write(parcel, fields, objects))?;
            }
        }
    }
    Ok(())
}

/// Writes a part behind its length, which counts that many bytes less than from itself on.
fn counted(
    parcel: &mut BorrowedParcel<'_>,
    less: i32,
    write: impl FnOnce(&mut BorrowedParcel<'_>) -> Result<(), StatusCode>,
) -> Result<(), StatusCode> {
    let start = parcel.get_data_position();
    parcel.write(&0_i32)?;
    write(parcel)?;
    let end = parcel.get_data_position();
    parcel.set_data_position(start)?;
    parcel.write(&(end - start - less))?;
    parcel.set_data_position(end)
}

/// Reads what was sent, and says if it is something else.
fn read(
    parcel: &BorrowedParcel<'_>,
    values: &[Value],
    objects: &[SpIBinder],
) -> Result<(), StatusCode> {
    for value in values {
        match value {
            Value::Word(word) => assert_eq!(parcel.read::<i32>()?, *word),
            Value::Text(text) => assert_eq!(parcel.read::<String>()?, *text),
            Value::Binder(number) => {
                let wanted = number.map(|number| objects[number].clone());
                assert_eq!(parcel.read_binder()?, wanted);
            }
            Value::Parcelable(fields) => {
                assert_eq!(parcel.read::<i32>()?, 1);
                read_counted(parcel, 0, |parcel| read(parcel, fields, objects))?;
            }
            Value::Holder(stability, fields) => {
                assert_eq!((parcel.read::<i32>()?, parcel.read::<i32>()?), (1, *stability));
                read_counted(parcel, 4, |parcel| read(parcel, fields, objects))?;
            }
        }
    }
    Ok(())
}

fn read_counted(
    parcel: &BorrowedParcel<'_>,
    less: i32,
    read: impl FnOnce(&BorrowedParcel<'_>) -> Result<(), StatusCode>,
) -> Result<(), StatusCode> {
    let start = parcel.get_data_position();
    let length = parcel.read::<i32>()?;
    read(parcel)?;
    assert_eq!(parcel.get_data_position() - start - less, length, "a length that counts wrongly");
    Ok(())
}

/// What is left of the bytes; zeros after their end.
struct Input<'a>(&'a [u8]);

impl Input<'_> {
    fn next(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        *first
    }

    fn values(&mut self, depth: u8) -> Vec<Value> {
        let mut values = Vec::new();
        while !self.0.is_empty() {
            let kind = self.next();
            values.push(match kind % 8 {
                0 if depth > 0 => break,
                0 | 1 => Value::Word(i32::from_le_bytes([(); 4].map(|()| self.next()))),
                2 => Value::Word(i32::from(self.next())),
                3 => Value::Text("x".repeat(usize::from(self.next() % 16))),
                4 => Value::Binder(Some(usize::from(self.next()) % OBJECTS)),
                5 => Value::Binder(None),
                6 if depth < MAX_DEPTH => Value::Parcelable(self.values(depth + 1)),
                7 if depth < MAX_DEPTH => {
                    Value::Holder(i32::from(kind >> 7), self.values(depth + 1))
                }
                _ => Value::Word(1),
            });
        }
        values
    }
}

/// One transport, as this process sees it. Of a codec there is nothing but names and their count.
#[derive(Debug)]
struct TransportSide {
    format: WireFormat,
    named: AtomicI64,
}

impl TransportSide {
    fn new(format: WireFormat) -> Arc<Self> {
        Arc::new(Self { format, named: AtomicI64::new(0) })
    }

    fn named(&self) -> i64 {
        self.named.load(Ordering::Relaxed)
    }

    fn is_rpc(&self) -> bool {
        matches!(self.format, WireFormat::Rpc(_))
    }

    fn lists(&self) -> bool {
        !matches!(self.format, WireFormat::Rpc(RpcVersion::V0 | RpcVersion::V1))
    }
}

impl ObjectCodec for TransportSide {
    fn format(&self) -> WireFormat {
        self.format
    }

    fn name_binder(&self, binder: &SpIBinder) -> Result<WireName, StatusCode> {
        let number = match binder.object() {
            Object::Remote(object) => {
                let proxy: Option<&SideProxy> = object.as_any().downcast_ref();
                let ours = proxy.filter(|proxy| std::ptr::eq(&raw const *proxy.side, self));
                ours.ok_or(StatusCode::INVALID_OPERATION)?.number
            }
            Object::Local(_) => 77,
        };
        self.named.fetch_add(1, Ordering::Relaxed);
        Ok(match (self.format, binder.is_remote()) {
            (WireFormat::Rpc(_), _) => WireName::Address(number as u64),
            (WireFormat::Driver(_), true) => {
                WireName::Handle(u32::try_from(number).expect("few objects"))
            }
            (WireFormat::Driver(_), false) => {
                WireName::Binder { binder: number as u64, cookie: 0, flags: 0 }
            }
        })
    }

    fn unname(&self, _: &SpIBinder, _: WireName) {
        self.named.fetch_sub(1, Ordering::Relaxed);
    }

    fn find_binder(&self, _: WireName) -> Result<SpIBinder, StatusCode> {
        // All parcels here were written by this process, and hold their objects.
        Err(StatusCode::BAD_TYPE)
    }
}

/// An object that the sender has a proxy of.
#[derive(Debug)]
struct SideProxy {
    side: Arc<TransportSide>,
    number: usize,
    facts: ProxyFacts,
}

impl SideProxy {
    fn new(number: usize, side: &Arc<TransportSide>) -> Arc<Self> {
        Arc::new(Self { side: side.clone(), number, facts: ProxyFacts::default() })
    }
}

impl RemoteObject for SideProxy {
    fn codec(&self) -> Arc<dyn ObjectCodec> {
        self.side.clone()
    }

    fn facts(&self) -> &ProxyFacts {
        &self.facts
    }

    fn submit_transact(
        &self,
        _: TransactionCode,
        _: Parcel,
        _: TransactionFlags,
    ) -> Result<Parcel, StatusCode> {
        Err(StatusCode::DEAD_OBJECT)
    }

    fn link_to_death(&self, _: &Arc<DeathNotice>) -> Result<(), StatusCode> {
        Err(StatusCode::INVALID_OPERATION)
    }

    fn unlink_to_death(&self, _: &Arc<DeathNotice>) -> Result<(), StatusCode> {
        Err(StatusCode::INVALID_OPERATION)
    }

    fn is_alive(&self) -> bool {
        true
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn number(&self) -> u64 {
        self.number as u64
    }
}
