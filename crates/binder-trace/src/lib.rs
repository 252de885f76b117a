//! Traces of Binder calls.
//!
//! A driver writes [`TraceRecord`]s, one for each event; `record` encodes and decodes them. `calls` puts calls together
//! from records: when each was sent, received and answered, and its objects. `filter` chooses calls, `methods` names
//! them, `arguments` decodes their data; `line`, `json` and `summary` write them, and [`export`] does in formats of other
//! programs. `recording` keeps records in files, and `replay` tells which calls of one can be made once more. Nothing
//! here makes a system call.

#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod arguments;
mod bytes;
mod calls;
mod checksum;
pub mod export;
mod filter;
mod histogram;
mod json;
mod line;
mod methods;
mod record;
mod recording;
mod replay;
mod summary;

pub use arguments::{
    DecodedEnd, DecodedParcel, DecodedReply, DecodedValue, decoded_reply, decoded_request,
};
pub use calls::{CallParty, CallStatus, CallTracker, TraceItem, TracedCall, TracedReply};
pub use filter::{NewProcesses, TraceFilter};
pub use histogram::LatencyHistogram;
pub use json::{note_to_json, to_json};
pub use line::{LineWriter, printable};
pub use methods::{BadCodeMap, MethodNames, Naming};
pub use record::{
    BadRecord, CarriedObject, RecordStream, SendKind, SendStatus, SentRecord, TraceRecord,
};
pub use recording::{BadRecording, RecordingReader, recording_block, recording_head};
pub use replay::{ReplayRefusal, have_same_answer, replayable, with_answer};
pub use summary::{Summary, SummaryRow};
