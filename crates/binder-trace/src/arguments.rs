//! Arguments and results of calls, decoded from their data by the types of their methods.
//!
//! [`walk`] goes through the bytes, which anybody may have made, and gives [`value`]s; it stops where the bytes end or are
//! not of the types, and says which. Where there are no types, [`guess`] tells what the bytes look like.

mod guess;
mod value;
mod walk;

use alloc::string::{String, ToString};
use alloc::vec::Vec;

use binder_uapi::TF_STATUS_CODE;
use parcel::{ExceptionCode, Reader, ReplyOutcomeHeader, StatusCode, token};

pub use value::{DecodedEnd, DecodedParcel, DecodedValue};

use crate::arguments::walk::Walk;
use crate::calls::TracedCall;
use crate::methods::MethodNames;
use crate::record::SentRecord;

/// What a service has answered.
#[derive(Clone, PartialEq, Debug)]
pub enum DecodedReply {
    /// What it returns, and what it has filled.
    Results(DecodedParcel),
    /// An exception instead.
    Exception {
        /// Which.
        code: ExceptionCode,
        /// Its words.
        message: Option<String>,
        /// Its own code, if that is the exception; else 0.
        service_specific: i32,
    },
    /// The status of a transaction that came to nothing.
    Status(StatusCode),
}

/// Decodes the first `max_bytes` bytes of what was sent with a call, if the types are known.
pub fn decoded_request(
    call: &TracedCall,
    methods: &MethodNames,
    max_bytes: usize,
) -> Option<DecodedParcel> {
    let sent = &call.sent;
    let method = methods.types(sent)?;
    let data = &sent.data[..sent.data.len().min(max_bytes)];
    let mut walk = Walk::new(methods.catalog(), data, sent.data_bytes, &call.objects);
    let interface = sent.interface.as_deref()?;
    if data.is_empty() || token::form_of(&mut walk.reader, interface).is_none() {
        return None;
    }
    Some(walk.fields(&method.request))
}

/// Decodes the first `max_bytes` bytes of what came back, if the types are known.
pub fn decoded_reply(
    call: &TracedCall,
    methods: &MethodNames,
    max_bytes: usize,
) -> Option<DecodedReply> {
    let reply = call.reply.as_ref()?;
    let (sent, objects) = (&reply.sent, &reply.objects);
    let data = &sent.data[..sent.data.len().min(max_bytes)];
    if sent.flags & TF_STATUS_CODE != 0 {
        let status = Reader::new(data).i32().ok()?;
        return Some(DecodedReply::Status(StatusCode::from_code(status)));
    }
    let results = methods.types(&call.sent)?.reply.as_ref()?;
    let mut walk = Walk::new(methods.catalog(), data, sent.data_bytes, objects);
    if data.is_empty() {
        return None;
    }
    Some(match ReplyOutcomeHeader::read(&mut walk.reader) {
        Ok(ReplyOutcomeHeader::Done) => DecodedReply::Results(walk.fields(results)),
        Ok(ReplyOutcomeHeader::Exception { code, message, service_specific }) => {
            DecodedReply::Exception { code, message, service_specific }
        }
        Err(error) => DecodedReply::Results(walk.nothing(error)),
    })
}

/// What the first `max_bytes` bytes of what was sent look like behind the name of the interface, whatever they are.
pub(crate) fn guessed(sent: &SentRecord, max_bytes: usize) -> Vec<DecodedValue> {
    let data = &sent.data[..sent.data.len().min(max_bytes)];
    let mut reader = Reader::new(data);
    if let Some(interface) = sent.interface.as_deref() {
        let _form = token::form_of(&mut reader, interface);
    }
    guess::guessed(data, reader.position())
}

impl core::fmt::Display for DecodedReply {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Results(results) => results.fmt(f),
            Self::Exception { code, message, service_specific } => {
                write!(f, "exception {code:?}")?;
                if *code == ExceptionCode::SERVICE_SPECIFIC {
                    write!(f, " {service_specific}")?;
                }
                let words = message.iter().filter(|message| !message.is_empty());
                words.into_iter().try_for_each(|message| write!(f, " {message:?}"))
            }
            Self::Status(status) => write!(f, "status {status}"),
        }
    }
}

impl DecodedReply {
    /// What it returns and has filled, if it is no failure.
    pub fn results(&self) -> Option<&DecodedParcel> {
        match self {
            Self::Results(results) => Some(results),
            Self::Exception { .. } | Self::Status(_) => None,
        }
    }

    /// The failure in words, if it is one.
    pub fn failure(&self) -> Option<String> {
        match self {
            Self::Results(_) => None,
            Self::Exception { .. } | Self::Status(_) => Some(self.to_string()),
        }
    }
}

#[cfg(test)]
mod tests;
