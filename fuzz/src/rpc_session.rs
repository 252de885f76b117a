//! Bytes as what a peer sends on one connection of an RPC session.
//!
//! The first byte chooses the version, the side and what is under way; the second how the rest is
//! cut. The front end here is the simplest one: it runs what it may, and drops what it gets.

use binder_rpc::handshake;
use binder_rpc::{
    Address, CallDirection, CallStack, Ending, Entered, Inbox, Listed, Oneway, ProtocolVersion,
    Released, RpcMessage, RpcTransaction, SessionLimits, SessionObjects, SessionSide, encode,
    special,
};

/// Small, so that they are reached.
const LIMITS: SessionLimits = SessionLimits {
    max_received_bytes: 4 << 10,
    max_sent_bytes: 4 << 10,
    max_objects: 8,
    max_depth: 4,
    max_queued_oneways: 8,
    warn_queued_oneways: 2,
    max_queued_bytes: 4 << 10,
    max_queued_files: 4,
    max_connections: 2,
    // No clock runs here.
    max_stall: std::time::Duration::ZERO,
};

struct Peer {
    session: SessionObjects<u32, Address, u32>,
    turns: CallStack,
    inbox: Inbox<u32>,
    to_send: Vec<u8>,
}

/// Lets a session read the bytes, and checks what holds whatever they are.
///
/// # Panics
///
/// Panics if the session does, or if a bound does not hold.
pub fn check(bytes: &[u8]) {
    let [choice, cut, stream @ ..] = bytes else {
        return;
    };
    open(stream);
    let version =
        [ProtocolVersion::V0, ProtocolVersion::V1, ProtocolVersion::V2, ProtocolVersion::V2]
            [usize::from(choice & 3)];
    let (role, direction) = match choice & 4 {
        0 => (SessionSide::Server, CallDirection::Incoming),
        _ => (SessionSide::Client, CallDirection::Outgoing),
    };
    let mut peer = Peer {
        session: SessionObjects::new(role, version, LIMITS),
        turns: CallStack::new(direction),
        inbox: Inbox::default(),
        to_send: Vec::new(),
    };
    for id in 0..2 {
        peer.session.send_own(u64::from(id), || id).expect("there is room");
    }
    if choice & 8 != 0 && peer.turns.may_call(&LIMITS) {
        peer.turns.call();
    }
    let ending = stream
        .chunks(usize::from(*cut).max(1))
        .find_map(|chunk| peer.take(chunk).err())
        .unwrap_or_else(|| peer.inbox.closed());
    assert!(!ending.to_string().is_empty());
    let (ours, theirs) = peer.session.objects();
    assert!(ours <= 2 && theirs <= LIMITS.max_objects + 1, "{ours} and {theirs} objects");
    let remains = peer.session.end(ending.clone()).expect("it goes on until here");
    assert!(remains.objects.len() <= ours && remains.proxies.len() <= theirs);
    assert!(peer.session.end(Ending::ShutDown).is_none());
    assert_eq!(peer.session.ended(), Some(&ending));
    assert_eq!(peer.session.objects(), (0, 0));
}

/// Reads the bytes as the opening of a connection.
fn open(stream: &[u8]) {
    if let Ok(Some((opening, taken))) = handshake::read_header(stream) {
        assert!(taken <= stream.len());
        assert!(opening.joins.is_some() || opening.direction == CallDirection::Incoming);
    }
    let _ = handshake::read_init(stream);
    let _ = handshake::read_response(stream, ProtocolVersion::V1);
    let _ = special::read_max_threads(stream);
    let _ = special::read_session_id(stream);
}

impl Peer {
    fn take(&mut self, mut chunk: &[u8]) -> Result<(), Ending> {
        while !chunk.is_empty() {
            let room = self.inbox.room();
            let stored = (room.capacity() - room.len()).min(chunk.len());
            room.extend_from_slice(&chunk[..stored]);
            chunk = &chunk[stored..];
            // Some bytes bring a descriptor.
            let file = (stored.is_multiple_of(5)).then_some(7);
            self.inbox.add_files(file);
            while let Some(message) = self.inbox.next(self.session.version(), &LIMITS)? {
                self.handle(message)?;
            }
            // Twice what has come, and the buffer is never smaller than its first size.
            assert!(self.inbox.bytes().len() <= LIMITS.max_received_bytes + (32 << 10));
        }
        Ok(())
    }

    fn handle(&mut self, message: RpcMessage<u32>) -> Result<(), Ending> {
        match message {
            RpcMessage::DecStrong { address, amount } => {
                let released = self.session.returned(address, amount)?;
                self.settle(&released)
            }
            RpcMessage::Reply(reply) => {
                self.turns.replied()?;
                assert!(reply.status == 0 || reply.body.data().is_empty());
                Ok(())
            }
            RpcMessage::Transact(transaction) => self.call(transaction),
        }
    }

    fn call(&mut self, transaction: RpcTransaction<u32>) -> Result<(), Ending> {
        self.turns.called(&LIMITS)?;
        let has_answer = !transaction.is_oneway();
        for (position, listed) in transaction.body.objects() {
            assert!(transaction.body.data().len() > position as usize + 4);
            if let Listed::Binder(address) = listed? {
                match self.session.enter(address)? {
                    Entered::Own(id, release) => {
                        assert!(id < 2);
                        encode::dec_strong(&release, &mut self.to_send);
                    }
                    Entered::Foreign(address) => self.session.hold(address, address),
                }
            }
        }
        let positions = transaction.body.lists.as_ref().map_or(0, |lists| lists.positions.len());
        assert!(transaction.body.files() <= positions);
        match transaction.address {
            None => {}
            Some(address) if has_answer => {
                self.session.accept(address)?;
                let released = self.session.answered(address);
                self.settle(&released)?;
            }
            Some(address) => match self.session.accept_oneway(address, transaction)? {
                // It never ends, so that others wait for it.
                Oneway::Run(0, _) => {}
                Oneway::Run(..) => loop {
                    if let Err(released) = self.session.oneway_ran(address) {
                        self.settle(&released)?;
                        break;
                    }
                },
                Oneway::Wait(queued) => assert!(queued.waiting <= LIMITS.max_queued_oneways),
            },
        }
        self.turns.answered();
        if has_answer {
            let head = encode::reply(self.session.version(), 0, encode::Extent::default(), &LIMITS);
            self.to_send.extend_from_slice(&head.expect("an empty answer"));
        }
        Ok(())
    }

    fn settle(&mut self, released: &Released<u32>) -> Result<(), Ending> {
        if let Some(release) = &released.release {
            encode::dec_strong(release, &mut self.to_send);
        }
        if released.is_last { Err(Ending::LastObjectGone) } else { Ok(()) }
    }
}
