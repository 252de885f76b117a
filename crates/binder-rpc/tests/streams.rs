//! Messages survive however the stream is cut.

use binder_rpc::{Address, Inbox, Limits, Message, Release, Role, Version, encode};
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
    Address { owner: Role::Server, number }
}

fn encode(sent: &Sent, version: Version, limits: &Limits) -> Vec<u8> {
    let extent = |parcel: &Vec<u8>| encode::Extent { parcel_bytes: parcel.len(), positions: 0 };
    match sent {
        Sent::Call { number, code, flags, order, parcel } => {
            let call = encode::Call {
                address: Some(object(*number)),
                code: *code,
                flags: *flags,
                async_number: *order,
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
            let release = Release { address: object(*number), amount: u64::from(*amount) };
            encode::dec_strong(&release, &mut bytes);
            bytes
        }
    }
}

fn check(sent: &Sent, got: &Message<u32>) {
    match (sent, got) {
        (Sent::Call { number, code, flags, order, parcel }, Message::Transact(got)) => {
            assert_eq!(got.address, Some(object(*number)));
            assert_eq!((got.code, got.flags, got.async_number), (*code, *flags, *order));
            assert_eq!(got.body.data(), parcel);
        }
        (Sent::Reply { status, parcel }, Message::Reply(got)) => {
            assert_eq!(got.status, *status);
            assert_eq!(got.body.data(), if *status == 0 { &parcel[..] } else { &[] });
        }
        (Sent::DecStrong { number, amount }, Message::DecStrong { address, amount: got }) => {
            assert_eq!((*address, *got), (Some(object(*number)), *amount));
        }
        (sent, got) => panic!("sent {sent:?}, got {got:?}"),
    }
}

/// Reads a stream in pieces of the given lengths, again and again.
fn read(stream: &[u8], cuts: &[usize], version: Version, limits: &Limits) -> Vec<Message<u32>> {
    let mut inbox = Inbox::default();
    let mut messages = Vec::new();
    let mut left = stream;
    for cut in cuts.iter().cycle() {
        if left.is_empty() {
            break;
        }
        let room = inbox.room();
        let bytes = room.len().min(left.len()).min(*cut);
        room[..bytes].copy_from_slice(&left[..bytes]);
        left = &left[bytes..];
        inbox.filled(bytes, []);
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
        version in prop_oneof![Just(Version::V0), Just(Version::V1), Just(Version::V2)],
    ) {
        let limits = Limits::default();
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
fn memory_that_comes_back_does_not_change_what_is_read() {
    let limits = Limits::default();
    let mut inbox: Inbox<u32> = Inbox::default();
    for bytes in [10, 70_000, 5, 5_000, 70_000, 0, 3] {
        let parcel = vec![7; bytes];
        let stream = encode(&Sent::Reply { status: 0, parcel }, Version::V1, &limits);
        let mut left = &stream[..];
        let body = loop {
            let room = inbox.room();
            let stored = room.len().min(left.len());
            room[..stored].copy_from_slice(&left[..stored]);
            left = &left[stored..];
            inbox.filled(stored, []);
            match inbox.next(Version::V1, &limits).expect("nothing is wrong") {
                Some(Message::Reply(reply)) => break reply.body,
                Some(other) => panic!("got {other:?}"),
                None => {}
            }
        };
        assert_eq!(body.data(), vec![7; bytes]);
        inbox.recycle(body.buffer);
    }
}

#[test]
fn a_large_message_takes_one_read_once_its_size_is_known() {
    let limits = Limits::default();
    let mut inbox: Inbox<u32> = Inbox::default();
    let parcel = vec![7; 65_537];
    let stream = encode(&Sent::Reply { status: 0, parcel }, Version::V1, &limits);
    let mut reads = Vec::new();
    for _ in 0..3 {
        let mut left = &stream[..];
        reads.push(0);
        while !left.is_empty() {
            let room = inbox.room();
            let stored = room.len().min(left.len());
            room[..stored].copy_from_slice(&left[..stored]);
            left = &left[stored..];
            inbox.filled(stored, []);
            *reads.last_mut().expect("pushed above") += 1;
        }
        match inbox.next(Version::V1, &limits) {
            Ok(Some(Message::Reply(reply))) => inbox.recycle(reply.body.buffer),
            other => panic!("got {other:?}"),
        }
    }
    assert_eq!(reads[1..], [1, 1]);
}
