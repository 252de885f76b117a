//! Messages survive however the stream is cut.

use binder_rpc::{
    Address, Inbox, PendingRelease, ProtocolVersion, RpcMessage, SessionLimits, SessionSide, encode,
};
use proptest::prelude::*;

#[derive(Clone, Debug)]
enum Sent {
    Call { number: u32, code: u32, flags: u32, order: u64, parcel: Vec<u8> },
    Reply { status: i32, parcel: Vec<u8> },
    DecStrong { number: u32, amount: u32 },
}

fn parcels() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        proptest::collection::vec(any::<u8>(), 0..64),
        (4_000_usize..70_000).prop_map(|bytes| (0..bytes).map(|n| n.to_le_bytes()[0]).collect()),
    ]
}

fn sent() -> impl Strategy<Value = Sent> {
    prop_oneof![
        (any::<u32>(), any::<u32>(), any::<u32>(), any::<u64>(), parcels()).prop_map(
            |(number, code, flags, order, parcel)| Sent::Call {
                number,
                code,
                flags,
                order,
                parcel
            }
        ),
        (prop_oneof![Just(0), any::<i32>()], parcels())
            .prop_map(|(status, parcel)| Sent::Reply { status, parcel }),
        (any::<u32>(), 1..u32::MAX).prop_map(|(number, amount)| Sent::DecStrong { number, amount }),
    ]
}

fn object(number: u32) -> Address {
    Address { owner: SessionSide::Server, number }
}

fn encode(sent: &Sent, version: ProtocolVersion, limits: &SessionLimits) -> Vec<u8> {
    let extent = |parcel: &Vec<u8>| encode::Extent { parcel_bytes: parcel.len(), positions: 0 };
    match sent {
        Sent::Call { number, code, flags, order, parcel } => {
            let call = encode::OutgoingCall {
                address: Some(object(*number)),
                code: *code,
                flags: *flags,
                async_number: *order,
                timeout_us: *code,
                trace_id: *code,
                // The last number is no user's, and is not told.
                caller_uid: Some(*code).filter(|&uid| uid != u32::MAX),
            };
            let head = encode::transact(&call, extent(parcel), limits).expect("within limits");
            [&head, &parcel[..]].concat()
        }
        Sent::Reply { status, parcel } => {
            let head = encode::reply(version, *status, extent(parcel), limits).expect("fits");
            [&head, &parcel[..]].concat()
        }
        Sent::DecStrong { number, amount } => {
            let mut bytes = Vec::new();
            let release = PendingRelease { address: object(*number), amount: u64::from(*amount) };
            encode::dec_strong(&release, &mut bytes);
            bytes
        }
    }
}

fn check(sent: &Sent, got: &RpcMessage<u32>) {
    match (sent, got) {
        (Sent::Call { number, code, flags, order, parcel }, RpcMessage::Transact(got)) => {
            assert_eq!(got.address, Some(object(*number)));
            assert_eq!((got.code, got.flags, got.async_number), (*code, *flags, *order));
            assert_eq!((got.timeout_us, got.trace_id), (*code, *code));
            assert_eq!(got.caller_uid, Some(*code).filter(|&uid| uid != u32::MAX));
            assert_eq!(got.body.data(), parcel);
        }
        (Sent::Reply { status, parcel }, RpcMessage::Reply(got)) => {
            assert_eq!(got.status, *status);
            assert_eq!(got.body.data(), if *status == 0 { &parcel[..] } else { &[] });
        }
        (Sent::DecStrong { number, amount }, RpcMessage::DecStrong { address, amount: got }) => {
            assert_eq!((*address, *got), (Some(object(*number)), *amount));
        }
        (sent, got) => panic!("sent {sent:?}, got {got:?}"),
    }
}

/// Reads at most `most` bytes, as far as there is room.
fn read_once(inbox: &mut Inbox<u32>, left: &mut &[u8], most: usize) {
    let room = inbox.room();
    let (read, rest) = left.split_at((room.capacity() - room.len()).min(left.len()).min(most));
    assert!(!read.is_empty());
    room.extend_from_slice(read);
    *left = rest;
}

/// Reads a stream in pieces of the given lengths, again and again.
fn read(
    stream: &[u8],
    cuts: &[usize],
    version: ProtocolVersion,
    limits: &SessionLimits,
) -> Vec<RpcMessage<u32>> {
    let mut inbox = Inbox::default();
    let mut messages = Vec::new();
    let mut left = stream;
    for cut in cuts.iter().cycle() {
        if left.is_empty() {
            break;
        }
        read_once(&mut inbox, &mut left, *cut);
        while let Some(message) = inbox.next(version, limits).expect("nothing is wrong") {
            messages.push(message);
        }
    }
    assert!(inbox.bytes().is_empty());
    messages
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_stream_means_the_same_however_it_is_cut(
        sent in proptest::collection::vec(sent(), 1..6),
        cuts in proptest::collection::vec(prop_oneof![1_usize..40, 1_000_usize..200_000], 1..5),
        version in prop_oneof![Just(ProtocolVersion::V0), Just(ProtocolVersion::V1), Just(ProtocolVersion::V2)],
    ) {
        let limits = SessionLimits::default();
        let stream: Vec<u8> =
            sent.iter().flat_map(|sent| encode(sent, version, &limits)).collect();
        let got = read(&stream, &cuts, version, &limits);
        prop_assert_eq!(got.len(), sent.len());
        for (sent, got) in sent.iter().zip(&got) {
            check(sent, got);
        }
    }
}

#[test]
fn memory_is_set_aside_for_what_has_come_not_for_what_is_announced() {
    let limits = SessionLimits::default();
    let mut inbox: Inbox<u32> = Inbox::default();
    let stream =
        encode(&Sent::Reply { status: 0, parcel: vec![7; 500_000] }, ProtocolVersion::V1, &limits);
    let mut left = &stream[..];
    while inbox.next(ProtocolVersion::V1, &limits).expect("nothing is wrong").is_none() {
        let arrived = inbox.bytes().len();
        assert!(inbox.room().capacity() <= (2 * arrived).max(16 << 10));
        read_once(&mut inbox, &mut left, usize::MAX);
    }
}

#[test]
fn a_large_message_takes_one_read_once_its_size_is_known() {
    let limits = SessionLimits::default();
    let mut inbox: Inbox<u32> = Inbox::default();
    let parcel = vec![7; 65_537];
    let stream =
        encode(&Sent::Reply { status: 0, parcel: parcel.clone() }, ProtocolVersion::V1, &limits);
    let mut reads = Vec::new();
    for _ in 0..3 {
        let mut left = &stream[..];
        reads.push(0);
        while !left.is_empty() {
            let most = inbox.usual_bytes().max(inbox.bytes().len());
            read_once(&mut inbox, &mut left, most);
            *reads.last_mut().expect("pushed above") += 1;
        }
        match inbox.next(ProtocolVersion::V1, &limits) {
            Ok(Some(RpcMessage::Reply(reply))) => assert_eq!(reply.body.data(), parcel),
            other => panic!("got {other:?}"),
        }
    }
    assert_eq!(reads[1..], [1, 1]);
}

#[test]
fn a_message_with_nothing_behind_it_is_not_moved() {
    let limits = SessionLimits::default();
    let mut inbox: Inbox<u32> = Inbox::default();
    let message = |parcel| encode(&Sent::Reply { status: 0, parcel }, ProtocolVersion::V1, &limits);
    let stream = [message(vec![1; 5]), message(vec![2; 70])].concat();
    inbox.room().extend_from_slice(&stream);
    let arrived = inbox.bytes().as_ptr_range();
    for (byte, count, is_moved) in [(1, 5, true), (2, 70, false)] {
        match inbox.next(ProtocolVersion::V1, &limits) {
            Ok(Some(RpcMessage::Reply(reply))) => {
                assert_eq!(reply.body.data(), vec![byte; count]);
                let data = reply.body.data().as_ptr_range();
                assert_eq!(arrived.contains(&data.start), !is_moved);
            }
            other => panic!("got {other:?}"),
        }
    }
    assert!(inbox.next(ProtocolVersion::V1, &limits).expect("nothing is wrong").is_none());
}
