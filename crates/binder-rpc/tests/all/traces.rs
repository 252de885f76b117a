//! Bytes that went between two libraries, decoded.
//!
//! Each file in `traces/` is one connection, in the order of its reads: `>` from the client, `<`
//! from the server, then the bytes. One of the two was rsbinder.

use std::fs;
use std::path::Path;

use binder_rpc::handshake;
use binder_rpc::{
    Address, CallDirection, Inbox, ProtocolVersion, RpcMessage, SessionLimits, SessionSide,
    special, wire,
};

fn unhex(text: &str) -> Vec<u8> {
    let digits: Vec<u32> = text.chars().map(|digit| digit.to_digit(16).expect("hex")).collect();
    let byte = |pair: &[u32]| u8::try_from(pair[0] * 16 + pair[1]).expect("two digits");
    digits.chunks(2).map(byte).collect()
}

/// One direction of a connection.
#[derive(Default)]
struct TestSide {
    inbox: Inbox<()>,
    messages: Vec<RpcMessage<()>>,
}

impl TestSide {
    fn take(&mut self, bytes: &[u8]) {
        self.inbox.room().extend_from_slice(bytes);
    }

    fn decode(&mut self, version: ProtocolVersion) {
        let limits = SessionLimits::default();
        while let Some(message) = self.inbox.next(version, &limits).expect("a good message") {
            self.messages.push(message);
        }
        assert!(self.inbox.bytes().is_empty(), "the connection ended within a message");
    }
}

fn is_call(message: &RpcMessage<()>, owner: SessionSide, is_oneway: bool) -> bool {
    matches!(message, RpcMessage::Transact(call)
        if call.address.is_some_and(|it| it.owner == owner) && call.is_oneway() == is_oneway)
}

fn check(name: &str, text: &str) {
    let (mut client, mut server) = (TestSide::default(), TestSide::default());
    for line in text.lines() {
        match line.split_once(' ').expect("a direction and bytes") {
            (">", bytes) => client.take(&unhex(bytes)),
            ("<", bytes) => server.take(&unhex(bytes)),
            _ => panic!("{name}: {line}"),
        }
    }
    let expected = match name.as_bytes()[1] {
        b'0' => ProtocolVersion::V0,
        b'1' => ProtocolVersion::V1,
        _ => ProtocolVersion::V2,
    };

    let (opening, taken) =
        handshake::read_header(client.inbox.bytes()).expect("a header").expect("all of it");
    assert_eq!((opening.offered, opening.joins), (expected.word(), None), "{name}");
    assert_eq!(opening.direction, CallDirection::Incoming);
    client.inbox.consume(taken);
    let taken = handshake::read_init(client.inbox.bytes()).expect("a greeting");
    client.inbox.consume(taken.expect("all of it"));
    let response = handshake::read_response(server.inbox.bytes(), expected).expect("an answer");
    let (version, taken) = response.expect("all of it");
    assert_eq!(version, expected);
    server.inbox.consume(taken);

    client.decode(version);
    server.decode(version);
    let count = |side: &TestSide, kind: &dyn Fn(&RpcMessage<()>) -> bool| {
        side.messages.iter().filter(|message| kind(message)).count()
    };
    // The special calls come first, or soon.
    let is_special = |message: &RpcMessage<()>| matches!(message, RpcMessage::Transact(call) if call.address.is_none());
    assert!(count(&client, &is_special) >= 1, "{name}");
    // Calls there and back, one-ways, answers, and what is given back.
    assert!(count(&client, &|it| is_call(it, SessionSide::Server, false)) >= 5, "{name}");
    assert_eq!(count(&client, &|it| is_call(it, SessionSide::Server, true)), 1, "{name}");
    let calls_back = count(&server, &|it| is_call(it, SessionSide::Client, false));
    assert!(calls_back >= 1, "{name}");
    let replies = |it: &RpcMessage<()>| matches!(it, RpcMessage::Reply(reply) if reply.status == 0);
    let calls = count(&client, &|it| is_call(it, SessionSide::Server, false));
    assert_eq!(count(&server, &replies), calls + count(&client, &is_special), "{name}");
    assert_eq!(count(&client, &replies), calls_back, "{name}");
    for side in [&client, &server] {
        let given_back = |it: &RpcMessage<()>| {
            matches!(it, RpcMessage::DecStrong { address: Some(_), amount: 1.. })
        };
        assert!(count(side, &given_back) >= 1, "{name}");
    }
    // The root is an object of the server's; other answers begin with "no exception", which is 0.
    let holds_root = |it: &RpcMessage<()>| {
        let RpcMessage::Reply(reply) = it else {
            return false;
        };
        let Some((kind, rest)) = reply.body.data().split_first_chunk() else {
            return false;
        };
        let word = rest.first_chunk().map(|word| Address::from_word(u64::from_le_bytes(*word)));
        u32::from_le_bytes(*kind) == special::BINDER
            && word.is_some_and(|it| it.is_ok_and(|it| it.owner == SessionSide::Server))
    };
    assert_eq!(count(&server, &holds_root), 1, "{name}");
    let lists_binders = |it: &RpcMessage<()>| match it {
        RpcMessage::Transact(call) => call.body.objects().next().is_some(),
        RpcMessage::Reply(reply) => reply.body.objects().next().is_some(),
        RpcMessage::DecStrong { .. } => false,
    };
    assert_eq!(count(&client, &lists_binders) > 0, version.lists_binders(), "{name}");
    let pings = |it: &RpcMessage<()>| {
        matches!(it, RpcMessage::Transact(call)
        if call.code == wire::PING_TRANSACTION)
    };
    assert_eq!(count(&server, &pings), 0, "{name}");
}

#[test]
fn what_two_libraries_said_is_understood() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/traces");
    let mut read = 0;
    for file in fs::read_dir(directory).expect("traces are part of the repository") {
        let path = file.expect("a readable directory").path();
        let name = path.file_name().expect("a file").to_string_lossy().into_owned();
        check(&name, &fs::read_to_string(&path).expect("text"));
        read += 1;
    }
    assert_eq!(read, 6, "three versions, each library as the client");
}
