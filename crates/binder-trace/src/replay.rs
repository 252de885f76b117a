//! Calls that can be made once more, and how their replies are compared.

use alloc::vec::Vec;

use binder_uapi::TF_STATUS_CODE;
use parcel::{Reader, StatusCode, token};

use crate::calls::{CallStatus, TracedCall, TracedReply};
use crate::record::{CarriedObject, SendKind, SentRecord};

/// Why a call is not made once more.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum ReplayRefusal {
    /// It has objects, which are of processes that may be gone.
    Objects,
    /// It has file descriptors.
    Descriptors,
    /// Its data was recorded in part, or not at all.
    RequestCut,
    /// Its data does not begin with the name of its interface, or does not end with a word.
    RequestUnusual,
    /// It had no reply to compare with.
    WithoutReply,
    /// Its reply was recorded in part, or not at all.
    ReplyCut,
    /// Its reply has objects or descriptors, whose numbers differ each time.
    ReplyObjects,
}

impl ReplayRefusal {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::Objects,
        Self::Descriptors,
        Self::RequestCut,
        Self::RequestUnusual,
        Self::WithoutReply,
        Self::ReplyCut,
        Self::ReplyObjects,
    ];

    /// The reason in words.
    pub fn words(self) -> &'static str {
        match self {
            Self::Objects => "with objects",
            Self::Descriptors => "with descriptors",
            Self::RequestCut => "recorded in part",
            Self::RequestUnusual => "of unusual data",
            Self::WithoutReply => "without a reply",
            Self::ReplyCut => "with a reply that was recorded in part",
            Self::ReplyObjects => "with objects in the reply",
        }
    }
}

/// The bytes to send for a call once more, behind the name of the interface.
///
/// # Errors
///
/// [`ReplayRefusal`] for a call that cannot be made or compared once more.
pub fn replayable(call: &TracedCall) -> Result<&[u8], ReplayRefusal> {
    let sent = &call.sent;
    if call.objects.iter().any(|object| matches!(object, CarriedObject::File { .. })) {
        return Err(ReplayRefusal::Descriptors);
    }
    if !call.objects.is_empty() || sent.offsets_bytes > 0 {
        return Err(ReplayRefusal::Objects);
    }
    if (sent.data.len() as u64) < sent.data_bytes {
        return Err(ReplayRefusal::RequestCut);
    }
    if sent.kind != SendKind::Oneway {
        check_reply(call)?;
    }
    let mut reader = Reader::new(&sent.data);
    let interface = sent.interface.as_deref().unwrap_or_default();
    token::form_of(&mut reader, interface).ok_or(ReplayRefusal::RequestUnusual)?;
    let arguments = &sent.data[reader.position()..];
    if arguments.len().is_multiple_of(4) {
        Ok(arguments)
    } else {
        Err(ReplayRefusal::RequestUnusual)
    }
}

/// Whether the reply is one to compare with.
fn check_reply(call: &TracedCall) -> Result<(), ReplayRefusal> {
    let (CallStatus::Done, Some(TracedReply { sent, objects })) = (call.status, &call.reply) else {
        return Err(ReplayRefusal::WithoutReply);
    };
    if !objects.is_empty() || sent.offsets_bytes > 0 {
        return Err(ReplayRefusal::ReplyObjects);
    }
    if (sent.data.len() as u64) < sent.data_bytes {
        return Err(ReplayRefusal::ReplyCut);
    }
    Ok(())
}

/// The call as it would have been recorded with another answer: data, or a status instead.
pub fn with_answer(call: &TracedCall, answer: Result<Vec<u8>, StatusCode>) -> TracedCall {
    let (data, flags) = match answer {
        Ok(data) => (data, 0),
        Err(status) => (status.code().to_le_bytes().to_vec(), TF_STATUS_CODE),
    };
    let before = call.reply.as_ref().map_or(&call.sent, |reply| &reply.sent);
    let data_bytes = data.len() as u64;
    let sent = SentRecord { kind: SendKind::Reply, data, data_bytes, flags, ..before.clone() };
    TracedCall { reply: Some(TracedReply { sent, objects: Vec::new() }), ..call.clone() }
}

/// Whether two calls have the same answer, data or status.
pub fn have_same_answer(one: &TracedCall, other: &TracedCall) -> bool {
    let answer = |call: &TracedCall| {
        let sent = &call.reply.as_ref()?.sent;
        Some((sent.flags & TF_STATUS_CODE, sent.data.clone()))
    };
    answer(one) == answer(other)
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use parcel::Writer;
    use parcel::token::{BuilderWord, write_driver};

    use super::*;
    use crate::calls::CallParty;
    use crate::record::tests::call;

    fn whole() -> TracedCall {
        let mut data = Vec::new();
        let mut writer = Writer::new(&mut data);
        write_driver(&mut writer, BuilderWord::Vendor, "demo.IGreeter").unwrap();
        writer.i32(7);
        let data_bytes = data.len() as u64;
        let reply = SentRecord { data: vec![0; 8], data_bytes: 8, ..call(2, 2) };
        TracedCall {
            sent: SentRecord { data, data_bytes, ..call(1, 1) },
            objects: Vec::new(),
            depth: 0,
            receiver: CallParty::default(),
            received_ns: None,
            reply: Some(TracedReply { sent: reply, objects: Vec::new() }),
            ended_ns: Some(3),
            status: CallStatus::Done,
        }
    }

    #[test]
    fn what_is_whole_is_sent_behind_its_token() {
        assert_eq!(replayable(&whole()), Ok(&[7, 0, 0, 0][..]));
        let mut oneway = TracedCall { reply: None, ..whole() };
        oneway.sent.kind = SendKind::Oneway;
        assert_eq!(replayable(&oneway), Ok(&[7, 0, 0, 0][..]));
    }

    #[test]
    fn answers_are_compared_by_data_and_status() {
        let recorded = whole();
        let same = |answer| have_same_answer(&recorded, &with_answer(&recorded, answer));
        assert!(same(Ok(vec![0; 8])));
        assert!(!same(Ok(vec![0; 4])) && !same(Ok(vec![1; 8])) && !same(Err(StatusCode::OK)));
        let failed = with_answer(&recorded, Err(StatusCode::BAD_VALUE));
        let same = |answer| have_same_answer(&failed, &with_answer(&recorded, answer));
        assert!(same(Err(StatusCode::BAD_VALUE)) && !same(Err(StatusCode::BAD_TYPE)));
        assert!(!same(Ok(StatusCode::BAD_VALUE.code().to_le_bytes().to_vec())));
    }

    #[test]
    fn what_cannot_be_made_or_compared_again_is_refused() {
        let changed = |change: fn(&mut TracedCall)| {
            let mut call = whole();
            change(&mut call);
            replayable(&call).unwrap_err()
        };
        let node = |call: &mut TracedCall| {
            call.objects = vec![CarriedObject::Node { node: 1, handle: None }]
        };
        assert_eq!(changed(node), ReplayRefusal::Objects);
        assert_eq!(changed(|call| call.sent.offsets_bytes = 8), ReplayRefusal::Objects);
        let file = |call: &mut TracedCall| call.objects = vec![CarriedObject::File { fd: 1 }];
        assert_eq!(changed(file), ReplayRefusal::Descriptors);
        assert_eq!(changed(|call| call.sent.data_bytes += 1), ReplayRefusal::RequestCut);
        assert_eq!(changed(|call| call.sent.interface = None), ReplayRefusal::RequestUnusual);
        assert_eq!(changed(|call| call.sent.data.push(0)), ReplayRefusal::RequestUnusual);
        assert_eq!(changed(|call| call.reply = None), ReplayRefusal::WithoutReply);
        let failed = |call: &mut TracedCall| call.status = CallStatus::Failed { code: 1 };
        assert_eq!(changed(failed), ReplayRefusal::WithoutReply);
        let cut = |call: &mut TracedCall| call.reply.as_mut().unwrap().sent.data_bytes += 1;
        assert_eq!(changed(cut), ReplayRefusal::ReplyCut);
        let objects = |call: &mut TracedCall| call.reply.as_mut().unwrap().sent.offsets_bytes = 8;
        assert_eq!(changed(objects), ReplayRefusal::ReplyObjects);
    }
}
