//! Arguments and results of calls, decoded from their data by the types of their methods.
//!
//! [`walk`] goes through the bytes, which any client may have written, and makes [`value`]s of them. It stops where the
//! bytes end or do not fit the types, and says which. Without types, [`guess`] makes values that the bytes look like.

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

/// The answer of a service.
#[derive(Clone, PartialEq, Debug)]
pub enum DecodedReply {
    /// The value that the method returns, and its `out` parameters.
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
    /// The status of a transaction that failed at the receiver.
    Status(StatusCode),
}

/// Decodes the first `max_bytes` bytes of a request, if its types are known.
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

/// Decodes the first `max_bytes` bytes of a reply, if its types are known.
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

/// Guesses values of the first `max_bytes` bytes of a send, behind the name of the interface.
pub(crate) fn guessed(sent: &SentRecord, max_bytes: usize) -> Vec<DecodedValue> {
    let data = &sent.data[..sent.data.len().min(max_bytes)];
    let mut reader = Reader::new(data);
    if let Some(interface) = sent.interface.as_deref()
        && token::form_of(&mut reader, interface).is_none()
    {
        // The data is cut off within the name.
        return Vec::new();
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
    /// The results, if it is no failure.
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
