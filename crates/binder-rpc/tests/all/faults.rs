//! What a peer may not send.

use binder_rpc::handshake::{self, HandshakeError};
use binder_rpc::{
    Address, BadAddress, BadParcel, CallDirection, CallStack, Ending, Entered, Inbox, Oneway,
    ParcelLists, PendingRelease, ProtocolVersion, ReceivedParcel, Reply, RpcMessage,
    RpcTransaction, SendRefusal, SessionLimits, SessionObjects, SessionSide, encode, special,
};

type Side = SessionObjects<&'static str, u32, u32>;

/// The bytes of a header and a body.
fn message(command: u32, body: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::from(command.to_le_bytes());
    bytes.extend_from_slice(&u32::try_from(body.len()).expect("short").to_le_bytes());
    bytes.extend_from_slice(&[0; 8]);
    bytes.extend_from_slice(body);
    bytes
}

/// The body of a reply in version 1 and later, with what its header says of the parcel.
fn reply(parcel_bytes: u32, rest: &[u8]) -> Vec<u8> {
    let mut body = vec![0; 4];
    body.extend_from_slice(&parcel_bytes.to_le_bytes());
    body.extend_from_slice(&[0; 12]);
    body.extend_from_slice(rest);
    message(1, &body)
}

fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

fn read_with(
    bytes: &[u8],
    files: u32,
    version: ProtocolVersion,
) -> Result<Option<RpcMessage<u32>>, Ending> {
    let mut inbox = Inbox::default();
    inbox.room().extend_from_slice(bytes);
    inbox.add_files(0..files);
    inbox.next(version, &SessionLimits::default())
}

fn fault(bytes: &[u8], files: u32, version: ProtocolVersion) -> Ending {
    match read_with(bytes, files, version) {
        Err(ending) => {
            assert!(ending.is_fault(), "{ending}");
            ending
        }
        Ok(message) => panic!("read {message:?}"),
    }
}

/// Reads a message whose parcel is bad; the stream is in step after it.
fn bad_parcel(bytes: &[u8], files: u32, version: ProtocolVersion) -> BadParcel {
    let mut inbox = Inbox::default();
    inbox.room().extend_from_slice(bytes);
    inbox.room().extend_from_slice(&message(2, &[0; 16]));
    inbox.add_files(0..files);
    let read = inbox.next(version, &SessionLimits::default());
    let Ok(Some(RpcMessage::Reply(Reply { status: 0, body }))) = read else {
        panic!("read {read:?}");
    };
    let next: Result<Option<RpcMessage<u32>>, _> = inbox.next(version, &SessionLimits::default());
    assert!(matches!(next, Ok(Some(RpcMessage::DecStrong { .. }))), "{next:?}");
    *body.bad().expect("a bad parcel")
}

#[test]
fn a_message_of_no_known_form_ends_the_session() {
    let v1 = ProtocolVersion::V1;
    assert_eq!(fault(&message(3, &[]), 0, v1), Ending::UnknownCommand { command: 3 });
    assert_eq!(
        fault(&message(0, &[0; 39]), 0, v1),
        Ending::WrongSize { command: 0, bytes: 39, needed: 40 }
    );
    assert_eq!(
        fault(&message(1, &[0; 19]), 0, v1),
        Ending::WrongSize { command: 1, bytes: 19, needed: 20 }
    );
    assert_eq!(
        fault(&message(1, &[0; 3]), 0, ProtocolVersion::V0),
        Ending::WrongSize { command: 1, bytes: 3, needed: 4 }
    );
    for bytes in [15, 17] {
        assert_eq!(
            fault(&message(2, &vec![0; bytes]), 0, v1),
            Ending::WrongSize { command: 2, bytes, needed: 16 }
        );
    }
    let mut huge = message(1, &[]);
    huge[4..8].copy_from_slice(&u32::MAX.to_le_bytes());
    let limit = SessionLimits::default().max_received_bytes;
    assert_eq!(fault(&huge, 0, v1), Ending::Oversized { bytes: u32::MAX as usize, limit });
    assert_eq!(fault(&reply(9, &[0; 8]), 0, v1), Ending::ParcelBeyondBody { parcel: 9, left: 8 });
    assert_eq!(fault(&reply(4, &[0; 7]), 0, v1), Ending::BadPositions { bytes: 3, parcel: 4 });
}

#[test]
fn a_listed_object_is_where_the_list_says() {
    let with = |parcel: &[u32], positions: &[u32]| {
        let bytes = u32::try_from(parcel.len() * 4).expect("short");
        reply(bytes, &[words(parcel), words(positions)].concat())
    };
    let bad = |position| BadParcel::Position { position, parcel: 8 };
    assert_eq!(bad_parcel(&with(&[2, 0], &[8]), 1, ProtocolVersion::V1), bad(8));
    assert_eq!(bad_parcel(&with(&[2, 0], &[4]), 1, ProtocolVersion::V1), bad(4));
    assert_eq!(bad_parcel(&with(&[2, 0], &[u32::MAX]), 1, ProtocolVersion::V1), bad(u32::MAX));
    assert_eq!(
        bad_parcel(&with(&[1, 3, 0], &[0]), 0, ProtocolVersion::V1),
        BadParcel::Object { position: 0, kind: 1 }
    );
    // A binder needs room for its address.
    assert_eq!(bad_parcel(&with(&[1, 3], &[0]), 0, ProtocolVersion::V2), bad(0));
    let two = with(&[2, 0, 0, 2, 1, 0], &[12, 0]);
    assert_eq!(
        bad_parcel(&two, 2, ProtocolVersion::V2),
        BadParcel::Position { position: 0, parcel: 24 }
    );
    assert_eq!(
        bad_parcel(&with(&[2, 0, 0, 2, 1, 0], &[0, 12]), 1, ProtocolVersion::V1),
        BadParcel::MissingDescriptors { listed: 2, received: 1 }
    );
}

#[test]
fn descriptors_that_nobody_announced_end_the_session() {
    let mut inbox: Inbox<u32> = Inbox::default();
    let bytes = reply(0, &[]);
    inbox.room().extend_from_slice(&bytes);
    inbox.add_files([5]);
    assert!(inbox.next(ProtocolVersion::V1, &SessionLimits::default()).expect("a reply").is_some());
    let ending = inbox.next(ProtocolVersion::V1, &SessionLimits::default()).expect_err("a stray");
    assert_eq!(ending, Ending::StrayDescriptors { count: 1 });
}

#[test]
fn descriptors_that_come_with_every_byte_end_the_session() {
    let mut inbox: Inbox<u32> = Inbox::default();
    let message = reply(0, &[0; 64]);
    let next = |inbox: &mut Inbox<u32>, at: usize| {
        inbox.room().push(message[at]);
        inbox.add_files(0..100);
        inbox.next(ProtocolVersion::V1, &SessionLimits::default()).map(drop)
    };
    assert_eq!(next(&mut inbox, 0), Ok(()));
    assert_eq!(next(&mut inbox, 1), Ok(()));
    assert_eq!(next(&mut inbox, 2), Err(Ending::StrayDescriptors { count: 300 }));
}

#[test]
fn the_end_of_the_stream_within_a_message_is_no_ordinary_end() {
    let mut inbox: Inbox<u32> = Inbox::default();
    assert_eq!(inbox.closed(), Ending::Closed);
    inbox.room().extend_from_slice(&[0; 5]);
    assert_eq!(inbox.closed(), Ending::Truncated { bytes: 5 });
}

#[test]
fn an_address_is_one_of_either_side() {
    let mut call = [0; 40];
    call[0] = 4;
    call[4] = 9;
    let bad = BadAddress { options: 4, number: 9 };
    let read = read_with(&message(0, &call), 0, ProtocolVersion::V1);
    let Ok(Some(RpcMessage::Transact(RpcTransaction { address: None, body, .. }))) = read else {
        panic!("read {read:?}");
    };
    assert_eq!(body.bad(), Some(&BadParcel::Address(bad)));
    assert_eq!(fault(&message(2, &call[..16]), 0, ProtocolVersion::V1), Ending::BadAddress(bad));
    for owner in [SessionSide::Client, SessionSide::Server] {
        let address = Address { owner, number: 7 };
        assert_eq!(Address::from_word(address.word()), Ok(address));
    }
    assert!(Address::from_word(0).is_err());
}

fn call(session: &mut Side, address: Address, order: Option<u64>) -> Result<(), Ending> {
    let limits = *session.limits();
    let call = encode::OutgoingCall {
        address: Some(address),
        code: 1,
        flags: u32::from(order.is_some()),
        async_number: order.unwrap_or(0),
        timeout_us: 0,
        trace_id: 0,
        caller_uid: None,
    };
    let head = encode::transact(&call, encode::Extent::default(), &limits).expect("short");
    match read_with(&head, 0, session.version())? {
        Some(RpcMessage::Transact(transaction)) => match transaction.is_oneway() {
            true => session.accept_oneway(address, transaction).map(drop),
            false => session.accept(address).map(drop),
        },
        other => panic!("read {other:?}"),
    }
}

#[test]
fn a_call_of_an_unknown_object_ends_the_session() {
    let mut session = Side::new(SessionSide::Server, ProtocolVersion::V1, SessionLimits::default());
    for owner in [SessionSide::Server, SessionSide::Client] {
        let address = Address { owner, number: 0 };
        assert_eq!(call(&mut session, address, None), Err(Ending::UnknownAddress(address)));
        assert_eq!(call(&mut session, address, Some(0)), Err(Ending::UnknownAddress(address)));
    }
    let own = Address { owner: SessionSide::Server, number: 3 };
    assert_eq!(session.enter(own), Err(Ending::UnknownAddress(own)));
}

#[test]
fn a_flood_of_oneways_ends_the_session() {
    let limits = SessionLimits { max_queued_oneways: 3, ..SessionLimits::default() };
    let mut session = Side::new(SessionSide::Server, ProtocolVersion::V1, limits);
    let address = session.send_own(1, || "object").expect("room");
    for order in 0..4 {
        assert_eq!(call(&mut session, address, Some(order)), Ok(()));
    }
    let flood = Ending::OnewayFlood { address, queued: 4 };
    assert_eq!(call(&mut session, address, Some(4)), Err(flood));

    let limits = SessionLimits { max_queued_bytes: 300, ..SessionLimits::default() };
    let mut session = Side::new(SessionSide::Server, ProtocolVersion::V1, limits);
    let address = session.send_own(1, || "object").expect("room");
    for order in 0..3 {
        assert_eq!(call(&mut session, address, Some(order)), Ok(()));
    }
    let bytes = Ending::OnewayBytes { bytes: 384, limit: 300 };
    assert_eq!(call(&mut session, address, Some(3)), Err(bytes));
}

#[test]
fn one_ways_that_wait_hold_few_descriptors() {
    let limits = SessionLimits { max_queued_files: 3, ..SessionLimits::default() };
    let mut session = Side::new(SessionSide::Server, ProtocolVersion::V1, limits);
    let address = session.send_own(1, || "object").expect("room");
    let mut bring = |order, files: u32| {
        let lists = ParcelLists { files: (0..files).collect(), ..ParcelLists::default() };
        let body = ReceivedParcel { lists: Some(Box::new(lists)), ..ReceivedParcel::default() };
        let (code, flags, callee) = (1, 1, Some(address));
        let oneway = RpcTransaction {
            address: callee,
            code,
            flags,
            async_number: order,
            timeout_us: 0,
            trace_id: 0,
            caller_uid: None,
            body,
        };
        session.accept_oneway(address, oneway).map(|accepted| match accepted {
            Oneway::Run(..) => while session.oneway_ran(address).is_ok() {},
            Oneway::Wait(_) => {}
        })
    };
    // What runs at once is not counted, and what has waited no more.
    assert_eq!(bring(1, 3), Ok(()));
    assert_eq!(bring(0, 9), Ok(()));
    assert_eq!(bring(3, 2), Ok(()));
    assert_eq!(bring(4, 2), Err(Ending::OnewayFiles { files: 4, limit: 3 }));
}

#[test]
fn a_oneway_comes_once() {
    let mut session = Side::new(SessionSide::Server, ProtocolVersion::V1, SessionLimits::default());
    let address = session.send_own(1, || "object").expect("room");
    assert_eq!(call(&mut session, address, Some(2)), Ok(()));
    let again = Ending::RepeatedOneway { address, number: 2, expected: 0 };
    assert_eq!(call(&mut session, address, Some(2)), Err(again));
    assert_eq!(call(&mut session, address, Some(0)), Ok(()));
    let again = Ending::RepeatedOneway { address, number: 0, expected: 0 };
    assert_eq!(call(&mut session, address, Some(0)), Err(again));
}

#[test]
fn a_count_of_oneways_goes_on_after_the_object_was_given_back() {
    let mut session = Side::new(SessionSide::Client, ProtocolVersion::V1, SessionLimits::default());
    let address = Address { owner: SessionSide::Server, number: 0 };
    for expected in 0..3 {
        assert_eq!(session.enter(address), Ok(Entered::Foreign(address)));
        session.hold(address, 0);
        let start = session.start(address, true).expect("held");
        assert_eq!(start.async_number, expected);
        assert!(session.let_go(address).release.is_none(), "the call is on its way");
        let released = session.returned(Some(address), 1).expect("an object");
        assert_eq!(released.release, Some(PendingRelease { address, amount: 1 }));
    }
}

#[test]
fn a_peer_may_begin_to_count_its_oneways_anew() {
    let mut session = Side::new(SessionSide::Server, ProtocolVersion::V1, SessionLimits::default());
    let address = session.send_own(1, || "object").expect("room");
    for order in 0..2 {
        assert_eq!(call(&mut session, address, Some(order)), Ok(()));
        assert!(session.oneway_ran(address).is_err(), "nothing waits");
    }
    // The second of the new count overtakes the first.
    assert_eq!(call(&mut session, address, Some(1)), Ok(()));
    assert_eq!(call(&mut session, address, Some(0)), Ok(()));
    let (_, next) = session.oneway_ran(address).expect("it waits");
    assert_eq!(next.async_number, 1);
    assert!(session.oneway_ran(address).is_err(), "nothing waits");
}

#[test]
fn turns_alternate_on_a_connection() {
    let limits = SessionLimits { max_depth: 3, ..SessionLimits::default() };
    let mut outgoing = CallStack::new(CallDirection::Outgoing);
    assert_eq!(outgoing.replied(), Err(Ending::UnexpectedReply));
    assert_eq!(outgoing.called(&limits), Err(Ending::UnexpectedCall));
    assert!(outgoing.may_call(&limits));
    outgoing.call();
    assert!(!outgoing.may_call(&limits));
    assert_eq!(outgoing.called(&limits), Ok(()));
    assert_eq!(outgoing.called(&limits), Err(Ending::UnexpectedCall));
    assert_eq!(outgoing.replied(), Err(Ending::UnexpectedReply));
    assert!(outgoing.may_call(&limits));
    outgoing.call();
    assert_eq!(outgoing.called(&limits), Err(Ending::TooDeep { depth: 4 }));
    assert_eq!(outgoing.replied(), Ok(()));
    outgoing.answered();
    assert_eq!(outgoing.replied(), Ok(()));
    assert_eq!(outgoing.depth(), 0);

    let mut incoming = CallStack::new(CallDirection::Incoming);
    assert!(!incoming.may_call(&limits));
    assert_eq!(incoming.called(&limits), Ok(()));
    assert!(incoming.may_call(&limits));
}

#[test]
fn what_is_too_large_is_not_sent() {
    let limits = SessionLimits { max_sent_bytes: 100, ..SessionLimits::default() };
    let extent = encode::Extent { parcel_bytes: 77, positions: 1 };
    let refusal = encode::reply(ProtocolVersion::V1, 0, extent, &limits).expect_err("too large");
    assert_eq!(refusal, SendRefusal::TooLarge { bytes: 101, limit: 100 });
}

#[test]
fn a_full_session_takes_no_object_more() {
    let limits = SessionLimits { max_objects: 2, ..SessionLimits::default() };
    let mut session = Side::new(SessionSide::Server, ProtocolVersion::V1, limits);
    assert!(session.send_own(1, || "one").is_ok());
    assert!(session.send_own(2, || "two").is_ok());
    assert!(session.send_own(2, || "two").is_ok(), "it is there already");
    let full = SendRefusal::TooManyObjects { count: 3 };
    assert_eq!(session.send_own(3, || "three"), Err(full));
    let foreign = Address { owner: SessionSide::Client, number: 0 };
    assert_eq!(session.enter(foreign), Err(Ending::TooManyObjects { count: 3 }));
}

#[test]
fn a_wrong_opening_is_refused() {
    let good = handshake::open(
        ProtocolVersion::V1,
        CallDirection::Outgoing,
        handshake::FdMode::None,
        None,
    );
    let refused = |at: usize, byte: u8| {
        let mut bytes = good.clone();
        bytes[at] = byte;
        handshake::read_header(&bytes).expect_err("a wrong header")
    };
    assert_eq!(refused(3, 0xff), HandshakeError::WrongVersion(0xff00_0001));
    assert_eq!(refused(4, 1), HandshakeError::NewIncoming);
    assert_eq!(refused(5, 3), HandshakeError::UnknownFdMode(3));
    assert_eq!(refused(14, 31), HandshakeError::BadIdLength(31));
    for hello in [&[22, 3, 1, 2][..], &[21, 3, 3, 0, 2, 2, 10]] {
        assert_eq!(handshake::read_header(hello), Err(HandshakeError::Tls));
        assert_eq!(handshake::read_response(hello, ProtocolVersion::V2), Err(HandshakeError::Tls));
    }
    // Android 12 begins with the session -1, and sends no more before it is answered.
    let error = handshake::read_header(&[0xff; 4]).expect_err("no version");
    assert_eq!(error, HandshakeError::BeforeVersions);
    assert_eq!(handshake::read_init(&[0; 8]), Err(HandshakeError::BeforeVersions));
    assert!(matches!(handshake::read_init(b"oops0000"), Err(HandshakeError::BadInit(_))));
    let too_new =
        handshake::read_response(&handshake::response(ProtocolVersion::V2), ProtocolVersion::V1);
    assert_eq!(too_new, Err(HandshakeError::AnswerTooNew { answered: 2, offered: 1 }));
}

#[test]
fn the_lower_of_two_versions_is_spoken() {
    for own in [ProtocolVersion::V0, ProtocolVersion::V1, ProtocolVersion::V2] {
        for offered in [ProtocolVersion::V0, ProtocolVersion::V1, ProtocolVersion::V2] {
            assert_eq!(own.answer(offered.word()), own.min(offered));
        }
        assert_eq!(own.answer(0xf000_0000), own);
        assert_eq!(own.answer(9), own);
    }
}

#[test]
fn answers_to_special_calls_are_checked() {
    assert_eq!(special::read_max_threads(&special::max_threads(7)), Ok(7));
    for parcel in [&[0; 4][..], &[0xff; 4], &[1, 0, 0]] {
        assert_eq!(special::read_max_threads(parcel), Err(Ending::BadAnswer));
    }
    let parcel = special::session_id(&[9; 32]);
    assert_eq!(special::read_session_id(&parcel), Ok([9; 32]));
    assert_eq!(special::read_session_id(&parcel[..35]), Err(Ending::BadAnswer));
    let mut long = parcel;
    long[0] = 33;
    assert_eq!(special::read_session_id(&long), Err(Ending::BadAnswer));
}

#[test]
fn a_part_of_a_message_is_known_for_what_it_is() {
    let partial = |bytes: &[u8]| {
        let mut inbox: Inbox<u32> = Inbox::default();
        inbox.room().extend_from_slice(bytes);
        inbox.partial().map(|it| (it.received, it.expected, it.may_be_release))
    };
    let call = message(0, &[0; 40]);
    let release = message(2, &[0; 16]);
    assert_eq!(partial(&[]), None);
    assert_eq!(partial(&call[..3]), Some((3, 16, true)));
    assert_eq!(partial(&call[..15]), Some((15, 16, false)));
    assert_eq!(partial(&call[..16]), Some((16, 56, false)));
    assert_eq!(partial(&call[..55]), Some((55, 56, false)));
    assert_eq!(partial(&release[..4]), Some((4, 16, true)));
    assert_eq!(partial(&release[..31]), Some((31, 32, true)));
}
