//! The calls, and the service that answers them, over any transport.

use std::time::Instant;

use binder::binder_impl::{
    Binder, BorrowedParcel, IBinderInternal, Parcel, Remotable, TransactionCode,
};
use binder::{IBinder, Interface, SpIBinder, StatusCode};
use serde::{Deserialize, Serialize};

use crate::actor::ActorLink;
use crate::error::BenchError;

pub(super) const DESCRIPTOR: &str = "anybinder.bench.IRepeat";
pub(super) const REPEAT_BYTES: TransactionCode = 1;
pub(super) const REPEAT_STRING: TransactionCode = 2;
pub(super) const REPEAT_BINDER: TransactionCode = 3;

/// Characters of the text that fills two pages.
const TWO_PAGES: usize = 4096;

/// A kind of call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Op {
    /// Nothing there, nothing back.
    Ping,
    /// Text of two pages, there and back.
    String,
    /// Some bytes, there and back.
    Bytes(u32),
    /// A new object, there and back.
    Binder,
}

/// An order to make calls.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(super) struct CallsOrder {
    pub(super) op: Op,
    pub(super) calls: u32,
}

impl Op {
    pub(super) const ALL: [Self; 13] = [
        Self::Ping,
        Self::String,
        Self::Bytes(64),
        Self::Bytes(1024),
        Self::Bytes(2048),
        Self::Bytes(4096),
        Self::Bytes(8182),
        Self::Bytes(16_364),
        Self::Bytes(32_728),
        Self::Bytes(65_535),
        Self::Bytes(65_536),
        Self::Bytes(65_537),
        Self::Binder,
    ];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Ping => "ping",
            Self::String => "string",
            Self::Bytes(_) => "bytes",
            Self::Binder => "binder",
        }
    }

    /// Returns how many bytes the argument has.
    pub(super) fn bytes(self) -> u32 {
        match self {
            Self::Ping | Self::Binder => 0,
            Self::String => 2 * 4096,
            Self::Bytes(bytes) => bytes,
        }
    }

    /// Returns how many bytes RPC Binder sends for the call, and for its answer.
    pub(super) fn on_the_wire(self) -> (usize, usize) {
        const CALL: usize = 16 + 40;
        // The answer follows the release of the called object.
        const ANSWER: usize = 16 + 16 + 16 + 20;
        const RELEASE: usize = 32;
        let text = |chars: usize| 4 + ((chars + 1) * 2).next_multiple_of(4);
        let token = text(DESCRIPTOR.len());
        match self {
            Self::Ping => (CALL, ANSWER),
            Self::String => (CALL + token + text(TWO_PAGES), ANSWER + 4 + text(TWO_PAGES)),
            Self::Bytes(bytes) => {
                let bytes = 4 + (bytes as usize).next_multiple_of(4);
                (CALL + token + bytes, ANSWER + 4 + bytes)
            }
            // Kind, address, stability and position; the object that went comes home.
            Self::Binder => (CALL + token + 20 + RELEASE, ANSWER + 4 + 20 + RELEASE),
        }
    }
}

/// Gives back what it gets.
#[derive(Debug)]
struct Repeat;

/// Returns a new service.
pub(super) fn new_service() -> SpIBinder {
    Binder::new(Repeat).as_binder()
}

impl Remotable for Repeat {
    fn get_descriptor() -> &'static str {
        DESCRIPTOR
    }

    fn on_transact(
        &self,
        code: TransactionCode,
        data: &BorrowedParcel<'_>,
        reply: &mut BorrowedParcel<'_>,
    ) -> Result<(), StatusCode> {
        // As generated code does: no exception, and the result.
        match code {
            REPEAT_BYTES => {
                let bytes: Vec<u8> = data.read()?;
                reply.write(&0_i32)?;
                reply.write(&bytes)
            }
            REPEAT_STRING => {
                let text: String = data.read()?;
                reply.write(&0_i32)?;
                reply.write(&text)
            }
            REPEAT_BINDER => {
                let binder: SpIBinder = data.read()?;
                reply.write(&0_i32)?;
                reply.write(&binder)
            }
            _ => Err(StatusCode::UNKNOWN_TRANSACTION),
        }
    }
}

/// Plays orders on an object until there are no more.
pub(super) fn play(link: &mut ActorLink, object: &SpIBinder) -> Result<(), BenchError> {
    while let Some(CallsOrder { op, calls }) = link.receive()? {
        let caller = BenchCaller::new(op);
        let call = || caller.call(object);
        let taken: Result<Vec<u64>, _> = time(calls, call, |back| caller.check(back)).collect();
        link.answer(&taken.map_err(|status| failure(op, &status))?)?;
    }
    Ok(())
}

/// Times calls, one by one, and checks what they bring.
pub(super) fn time<T, E>(
    calls: u32,
    mut call: impl FnMut() -> Result<T, E>,
    mut check: impl FnMut(T) -> Result<(), E>,
) -> impl Iterator<Item = Result<u64, E>> {
    (0..calls).map(move |_| {
        let start = Instant::now();
        let back = call()?;
        let taken = start.elapsed();
        check(back)?;
        Ok(u64::try_from(taken.as_nanos()).unwrap_or(u64::MAX))
    })
}

pub(super) fn failure(op: Op, reason: &impl std::fmt::Display) -> BenchError {
    BenchError::Actor { actor: format!("{} client", op.name()), reason: reason.to_string() }
}

/// Makes one kind of call again and again.
pub(super) struct BenchCaller {
    op: Op,
    carried: Carried,
}

/// What calls carry, by whichever library.
pub(super) struct Carried {
    pub(super) bytes: Vec<u8>,
    pub(super) text: String,
}

impl BenchCaller {
    pub(super) fn new(op: Op) -> Self {
        Self { op, carried: Carried::by(op) }
    }

    pub(super) fn call(&self, object: &SpIBinder) -> Result<Back<SpIBinder>, StatusCode> {
        match self.op {
            Op::Ping => object.ping_binder().map(|()| Back::Nothing),
            Op::Bytes(_) => {
                let reply = repeat(object, REPEAT_BYTES, |data| data.write(&*self.carried.bytes))?;
                reply.read().map(Back::Bytes)
            }
            Op::String => {
                let reply = repeat(object, REPEAT_STRING, |data| data.write(&*self.carried.text))?;
                reply.read().map(Back::Text)
            }
            Op::Binder => {
                let sent = new_service();
                let reply = repeat(object, REPEAT_BINDER, |data| data.write(&sent))?;
                Ok(Back::Binders([reply.read()?, sent]))
            }
        }
    }

    pub(super) fn check(&self, back: Back<SpIBinder>) -> Result<(), StatusCode> {
        if self.carried.is_echo(&back) { Ok(()) } else { Err(StatusCode::BAD_VALUE) }
    }
}

impl Carried {
    pub(super) fn by(op: Op) -> Self {
        // No two neighbours are alike, nor are two pages.
        let bytes = (0..op.bytes()).map(|at| (at % 251) as u8).collect();
        Self { bytes, text: "two pages".chars().cycle().take(TWO_PAGES).collect() }
    }

    /// Whether that is what was sent.
    pub(super) fn is_echo<B: PartialEq>(&self, back: &Back<B>) -> bool {
        match back {
            Back::Nothing => true,
            Back::Bytes(bytes) => *bytes == self.bytes,
            Back::Text(text) => *text == self.text,
            Back::Binders([back, sent]) => back == sent,
        }
    }
}

/// What a call brings back.
pub(super) enum Back<B> {
    Nothing,
    Bytes(Vec<u8>),
    Text(String),
    /// What came, and what went.
    Binders([B; 2]),
}

fn repeat(
    object: &SpIBinder,
    code: TransactionCode,
    write: impl FnOnce(&mut Parcel) -> Result<(), StatusCode>,
) -> Result<Parcel, StatusCode> {
    let mut data = object.prepare_transact()?;
    write(&mut data)?;
    let reply = object.submit_transact(code, data, 0)?;
    match reply.read::<i32>()? {
        0 => Ok(reply),
        _ => Err(StatusCode::FAILED_TRANSACTION),
    }
}
