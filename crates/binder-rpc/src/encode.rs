//! The bytes before and after a parcel that is sent.

use alloc::vec::Vec;
use core::ops::Deref;

use zerocopy::IntoBytes;

use crate::wire::{
    COMMAND_DEC_STRONG, COMMAND_REPLY, COMMAND_TRANSACT, DecStrong, REPLY_HEADER_V0_BYTES,
    ReplyHeader, TransactionHeader, WireAddress, WireHeader,
};
use crate::{Address, PendingRelease, ProtocolVersion, SendRefusal, SessionLimits};

const MAX_BYTES: usize = size_of::<WireHeader>() + size_of::<TransactionHeader>();

/// What goes before a parcel.
#[derive(Clone, Copy, Debug)]
pub struct ParcelHead {
    bytes: [u8; MAX_BYTES],
    len: usize,
}

impl Deref for ParcelHead {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

impl ParcelHead {
    fn new(header: &[u8], rest: &[u8]) -> Self {
        let mut bytes = [0; MAX_BYTES];
        let len = header.len() + rest.len();
        bytes[..header.len()].copy_from_slice(header);
        bytes[header.len()..len].copy_from_slice(rest);
        Self { bytes, len }
    }
}

/// How long a parcel and its list of positions are.
#[derive(Clone, Copy, Debug, Default)]
pub struct Extent {
    /// The bytes of the parcel.
    pub parcel_bytes: usize,
    /// The objects that are listed after it.
    pub positions: usize,
}

impl Extent {
    /// Returns the two as words: the length of the parcel, and of the body whose own header takes
    /// `head_bytes`.
    fn words(self, head_bytes: usize, limits: &SessionLimits) -> Result<(u32, u32), SendRefusal> {
        let bytes = self
            .positions
            .saturating_mul(size_of::<u32>())
            .saturating_add(self.parcel_bytes)
            .saturating_add(head_bytes);
        let too_large = SendRefusal::TooLarge { bytes, limit: limits.max_sent_bytes };
        if bytes > limits.max_sent_bytes {
            return Err(too_large);
        }
        match (u32::try_from(self.parcel_bytes), u32::try_from(bytes)) {
            (Ok(parcel), Ok(body)) => Ok((parcel, body)),
            _ => Err(too_large),
        }
    }
}

/// What a call says before its parcel.
#[derive(Clone, Copy, Debug)]
pub struct OutgoingCall {
    /// The object; `None` is the special target.
    pub address: Option<Address>,
    /// The method.
    pub code: u32,
    /// The flags of the call.
    pub flags: u32,
    /// Its place among the one-way calls to the object.
    pub async_number: u64,
    /// How many microseconds the caller will wait; 0 to a peer that does not know what this means.
    pub timeout_us: u32,
    /// By what people find the request in logs; 0 if there is none, or to a peer that does not know what this means.
    pub trace_id: u32,
    /// For which user of its machine the sender makes the call; `None` if it does not say, or to a peer that does not
    /// know what this means.
    pub caller_uid: Option<u32>,
}

/// Checks that a call may be sent, before anything is counted for it.
///
/// # Errors
///
/// As [`transact`].
pub fn check_transact(extent: Extent, limits: &SessionLimits) -> Result<(), SendRefusal> {
    extent.words(size_of::<TransactionHeader>(), limits).map(drop)
}

/// Returns the head of a call.
///
/// # Errors
///
/// [`SendRefusal::TooLarge`] beyond the limit; nothing has been sent then.
pub fn transact(
    call: &OutgoingCall,
    extent: Extent,
    limits: &SessionLimits,
) -> Result<ParcelHead, SendRefusal> {
    let (parcel_bytes, body_bytes) = extent.words(size_of::<TransactionHeader>(), limits)?;
    let header = TransactionHeader {
        address: call.address.map_or_else(Address::special, Address::words),
        code: call.code.into(),
        flags: call.flags.into(),
        async_number: call.async_number.into(),
        parcel_bytes: parcel_bytes.into(),
        timeout_us: call.timeout_us.into(),
        trace_id: call.trace_id.into(),
        // The last number is no user's.
        caller: call.caller_uid.map_or(0, |uid| uid.wrapping_add(1)).into(),
    };
    Ok(ParcelHead::new(wire_header(COMMAND_TRANSACT, body_bytes).as_bytes(), header.as_bytes()))
}

/// Returns the head of an answer.
///
/// # Errors
///
/// [`SendRefusal::TooLarge`] beyond the limit; an answer without a parcel is never.
pub fn reply(
    version: ProtocolVersion,
    status: i32,
    extent: Extent,
    limits: &SessionLimits,
) -> Result<ParcelHead, SendRefusal> {
    if !version.has_positions() {
        let (_, body_bytes) = extent.words(REPLY_HEADER_V0_BYTES, limits)?;
        let header = wire_header(COMMAND_REPLY, body_bytes);
        return Ok(ParcelHead::new(header.as_bytes(), &status.to_le_bytes()));
    }
    let (parcel_bytes, body_bytes) = extent.words(size_of::<ReplyHeader>(), limits)?;
    let header =
        ReplyHeader { status: status.into(), parcel_bytes: parcel_bytes.into(), reserved: [0; 12] };
    Ok(ParcelHead::new(wire_header(COMMAND_REPLY, body_bytes).as_bytes(), header.as_bytes()))
}

/// Appends a message that gives references back.
pub fn dec_strong(release: &PendingRelease, to: &mut Vec<u8>) {
    const BODY_BYTES: u32 = 16;
    let mut left = release.amount;
    while left > 0 {
        let amount = u32::try_from(left).unwrap_or(u32::MAX);
        let address: WireAddress = release.address.words();
        let body = DecStrong { address, amount: amount.into(), reserved: [0; 4] };
        to.extend_from_slice(wire_header(COMMAND_DEC_STRONG, BODY_BYTES).as_bytes());
        to.extend_from_slice(body.as_bytes());
        left -= u64::from(amount);
    }
}

fn wire_header(command: u32, body_bytes: u32) -> WireHeader {
    WireHeader { command: command.into(), body_bytes: body_bytes.into(), reserved: [0; 8] }
}
