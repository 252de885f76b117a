//! Two sessions that speak to each other over several connections, in any order of delivery.
//!
//! Connections keep the order of their own messages and nothing else. Whatever is sent, called and
//! dropped meanwhile: neither side finds fault with the other, one-ways run in their order, and when
//! all has been delivered and dropped, neither holds anything of the other.

use std::collections::{BTreeMap, VecDeque};

use binder_rpc::{
    Address, Entered, Inbox, Listed, Oneway, PendingRelease, ProtocolVersion, ReceivedParcel,
    Released, RpcMessage, RpcTransaction, SessionLimits, SessionObjects, SessionSide, encode,
    special, wire,
};
use proptest::prelude::*;

const CONNECTIONS: usize = 3;
const OWN_OBJECTS: u64 = 3;

#[derive(Clone, Debug)]
enum Step {
    /// A side calls one of the objects that it has, and sends others along.
    Call { side: usize, connection: usize, target: usize, is_oneway: bool, with: Vec<usize> },
    /// The next message on a connection arrives at a side.
    Deliver { side: usize, connection: usize },
    /// A side finishes one of its one-way calls.
    Finish { side: usize, which: usize },
    /// A side drops one of the objects that it has.
    Drop { side: usize, which: usize },
}

fn step() -> impl Strategy<Value = Step> {
    let (side, connection, which) = (0..2_usize, 0..CONNECTIONS, 0..16_usize);
    prop_oneof![
        3 => (side.clone(), connection.clone(), which.clone(), any::<bool>(),
            proptest::collection::vec(which.clone(), 0..3))
            .prop_map(|(side, connection, target, is_oneway, with)| {
                Step::Call { side, connection, target, is_oneway, with }
            }),
        6 => (side.clone(), connection).prop_map(|(side, connection)| {
            Step::Deliver { side, connection }
        }),
        2 => (side.clone(), which.clone()).prop_map(|(side, which)| Step::Finish { side, which }),
        2 => (side, which).prop_map(|(side, which)| Step::Drop { side, which }),
    ]
}

struct TestSide {
    session: SessionObjects<u64, Address, u32>,
    /// What it has of the other side; each counts as a proxy that the program holds.
    held: Vec<Address>,
    /// One-ways that run.
    running: Vec<(usize, Address, RpcTransaction<u32>)>,
    /// The next one-way call to each object: the numbers that arrive must be these.
    due: BTreeMap<Address, u64>,
    inboxes: Vec<Inbox<u32>>,
    /// What the other side has sent on each connection.
    wires: Vec<VecDeque<Vec<u8>>>,
    was_last: bool,
}

impl TestSide {
    fn new(role: SessionSide, version: ProtocolVersion) -> Self {
        Self {
            session: SessionObjects::new(role, version, SessionLimits::default()),
            held: Vec::new(),
            running: Vec::new(),
            due: BTreeMap::new(),
            inboxes: (0..CONNECTIONS).map(|_| Inbox::default()).collect(),
            wires: vec![VecDeque::new(); CONNECTIONS],
            was_last: false,
        }
    }
}

struct Pair([TestSide; 2]);

impl Pair {
    fn send(&mut self, from: usize, connection: usize, bytes: Vec<u8>) {
        self.0[1 - from].wires[connection].push_back(bytes);
    }

    fn release(&mut self, from: usize, connection: usize, release: &PendingRelease) {
        let mut bytes = Vec::new();
        encode::dec_strong(release, &mut bytes);
        self.send(from, connection, bytes);
    }

    fn settle(&mut self, from: usize, connection: usize, released: Released<u64>) {
        self.0[from].was_last |= released.is_last;
        if let Some(release) = &released.release {
            self.release(from, connection, release);
        }
    }

    /// Makes a parcel of objects: the side's own first, then those that it holds.
    fn parcel(&mut self, side: usize, with: &[usize]) -> (Vec<u8>, Vec<u32>) {
        let side = &mut self.0[side];
        let (mut parcel, mut positions) = (Vec::new(), Vec::new());
        for which in with {
            let address = match u64::try_from(*which).expect("small") {
                id @ 0..OWN_OBJECTS => side.session.send_own(id, || id).expect("room"),
                _ if side.held.is_empty() => continue,
                _ => {
                    let address = side.held[which % side.held.len()];
                    side.session.send_back(address).expect("held");
                    address
                }
            };
            positions.push(u32::try_from(parcel.len()).expect("short"));
            parcel.extend_from_slice(&special::BINDER.to_le_bytes());
            parcel.extend_from_slice(&address.word().to_le_bytes());
            parcel.extend_from_slice(&0_u32.to_le_bytes());
        }
        (parcel, positions)
    }

    fn call(
        &mut self,
        side: usize,
        connection: usize,
        target: usize,
        oneway: bool,
        with: &[usize],
    ) {
        if self.0[side].held.is_empty() {
            return;
        }
        let address = self.0[side].held[target % self.0[side].held.len()];
        let (parcel, positions) = self.parcel(side, with);
        let start = self.0[side].session.start(address, oneway).expect("held");
        let call = encode::OutgoingCall {
            address: Some(address),
            code: 1,
            flags: if oneway { wire::FLAG_ONEWAY } else { 0 },
            async_number: start.async_number,
            timeout_us: 0,
            trace_id: 0,
            caller_uid: None,
        };
        let extent = encode::Extent { parcel_bytes: parcel.len(), positions: positions.len() };
        let head = encode::transact(&call, extent, &SessionLimits::default()).expect("short");
        let list: Vec<u8> = positions.iter().flat_map(|word| word.to_le_bytes()).collect();
        self.send(side, connection, [&head, &parcel[..], &list].concat());
    }

    /// Takes the objects of a parcel: all are listed.
    fn enter(&mut self, at: usize, connection: usize, body: &ReceivedParcel<u32>) {
        for (_, listed) in body.objects() {
            let Listed::Binder(address) = listed.expect("an address") else {
                panic!("no descriptors were sent");
            };
            match self.0[at].session.enter(address).expect("known") {
                Entered::Own(id, release) => {
                    assert!(id < OWN_OBJECTS);
                    self.release(at, connection, &release);
                }
                Entered::Foreign(address) => {
                    self.0[at].session.hold(address, address);
                    self.0[at].held.push(address);
                }
            }
        }
    }

    fn deliver(&mut self, at: usize, connection: usize) {
        let Some(bytes) = self.0[at].wires[connection].pop_front() else {
            return;
        };
        let side = &mut self.0[at];
        let inbox = &mut side.inboxes[connection];
        inbox.room().extend_from_slice(&bytes);
        let version = side.session.version();
        let message = inbox.next(version, &SessionLimits::default()).expect("good").expect("whole");
        match message {
            RpcMessage::DecStrong { address, amount } => {
                let released = side.session.returned(address, amount).expect("an object");
                self.settle(at, connection, released);
            }
            RpcMessage::Transact(transaction) => {
                self.enter(at, connection, &transaction.body);
                let address = transaction.address.expect("an object");
                let session = &mut self.0[at].session;
                if !transaction.is_oneway() {
                    session.accept(address).expect("known");
                    let released = session.answered(address);
                    self.settle(at, connection, released);
                    return;
                }
                match session.accept_oneway(address, transaction).expect("known") {
                    Oneway::Run(_, transaction) => {
                        self.0[at].running.push((connection, address, transaction));
                    }
                    Oneway::Wait(_) => {}
                }
            }
            RpcMessage::Reply(reply) => panic!("{reply:?}"),
        }
    }

    fn finish(&mut self, at: usize, which: usize) {
        let side = &mut self.0[at];
        if side.running.is_empty() {
            return;
        }
        let which = which % side.running.len();
        let (connection, address, transaction) = side.running.swap_remove(which);
        let due = side.due.entry(address).or_insert(0);
        assert_eq!(transaction.async_number, *due);
        *due += 1;
        match side.session.oneway_ran(address) {
            Ok((_, next)) => side.running.push((connection, address, next)),
            Err(released) => self.settle(at, connection, released),
        }
    }

    fn drop_held(&mut self, at: usize, which: usize) {
        if self.0[at].held.is_empty() {
            return;
        }
        let which = which % self.0[at].held.len();
        let address = self.0[at].held.swap_remove(which);
        let released = self.0[at].session.let_go(address);
        self.settle(at, which % CONNECTIONS, released);
    }

    /// Lets everything happen that has been begun.
    fn settle_down(&mut self) {
        while self
            .0
            .iter()
            .any(|side| !side.running.is_empty() || side.wires.iter().any(|wire| !wire.is_empty()))
        {
            for side in 0..2 {
                for connection in 0..CONNECTIONS {
                    self.deliver(side, connection);
                }
                self.finish(side, 0);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn nothing_is_lost_and_nothing_stays(steps in proptest::collection::vec(step(), 0..120)) {
        let mut pair = Pair([
            TestSide::new(SessionSide::Client, ProtocolVersion::V2),
            TestSide::new(SessionSide::Server, ProtocolVersion::V2),
        ]);
        // The root object, as the answer to a special call would bring it.
        let root = pair.0[1].session.send_own(0, || 0).expect("room");
        let entered = pair.0[0].session.enter(root).expect("known");
        prop_assert_eq!(entered, Entered::Foreign(root));
        pair.0[0].session.hold(root, root);
        pair.0[0].held.push(root);
        for step in steps {
            match step {
                Step::Call { side, connection, target, is_oneway, with } => {
                    pair.call(side, connection, target, is_oneway, &with);
                }
                Step::Deliver { side, connection } => pair.deliver(side, connection),
                Step::Finish { side, which } => pair.finish(side, which),
                Step::Drop { side, which } => pair.drop_held(side, which),
            }
        }
        loop {
            pair.settle_down();
            let held = pair.0.iter().map(|side| side.held.len()).sum::<usize>();
            if held == 0 {
                break;
            }
            pair.drop_held(0, 0);
            pair.drop_held(1, 0);
        }
        for side in &pair.0 {
            prop_assert_eq!(side.session.objects(), (0, 0));
            prop_assert!(side.was_last);
        }
    }
}
