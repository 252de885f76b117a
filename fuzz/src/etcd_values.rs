//! Bytes as what a store tells a member of a cluster: keys, values, leases and revisions, and answers to what was not
//! asked.
//!
//! Each step begins with a byte that says what it is, and one that says how much time has passed.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use binder_cluster::{
    Claim, ClaimOutcome, ClusterEffect, ClusterEvent, ClusterMember, DirectoryChange, Instance,
    LeaseId, MachineAddress, MemberOptions, Ownership, RequestId, ServiceKey, StoreChange,
    StoredKey,
};

const NAMES: [&str; 4] = ["a", "b.IFoo/default", "c", "not plain"];
const OWN: &str = "tls://here:1";
const MACHINES: [&str; 3] = [OWN, "tls://there:2", "tls://[::1]:3"];
const TTL: Duration = Duration::from_secs(10);

/// Has a member be told the bytes, and checks what holds whatever they are.
///
/// # Panics
///
/// Panics if the member does, tells of changes that do not make its directory, or owns names without a lease.
pub fn check(bytes: &[u8]) {
    let mut bytes = InputBytes(bytes);
    let address: MachineAddress = OWN.parse().expect("it is an address");
    let mut watched = WatchedMember {
        member: ClusterMember::new(MemberOptions { address, ttl: TTL }),
        now: Duration::from_secs(1000),
        asked: VecDeque::new(),
        told: BTreeMap::new(),
        served: BTreeMap::new(),
    };
    watched.handle(ClusterEvent::Tick);
    while !bytes.0.is_empty() {
        let event = watched.event(&mut bytes);
        watched.now += Duration::from_millis(u64::from(bytes.next() % 32) * 100);
        watched.handle(event);
    }
}

/// A member, and what it has told so far.
struct WatchedMember {
    member: ClusterMember,
    now: Duration,
    /// What waits for an answer.
    asked: VecDeque<ClusterEffect>,
    told: BTreeMap<String, Instance>,
    served: BTreeMap<String, i64>,
}

impl WatchedMember {
    fn event(&mut self, bytes: &mut InputBytes<'_>) -> ClusterEvent {
        let kind = bytes.next() % 10;
        let name = NAMES[usize::from(bytes.next()) % NAMES.len()].to_owned();
        match kind {
            0 => ClusterEvent::Tick,
            1 => ClusterEvent::ServiceAdded { name, ownership: bytes.ownership() },
            2 => ClusterEvent::ServiceRemoved { name },
            3 => {
                let request = RequestId(u64::from(bytes.next()));
                answer(&bytes.unasked(request), request, bytes)
            }
            4 => ClusterEvent::Changed {
                request: self.watch(),
                revision: bytes.number(),
                changes: (0..bytes.next() % 4).map(|_| bytes.change()).collect(),
            },
            5 => ClusterEvent::Compacted { request: self.watch() },
            6 => match self.asked.pop_front().and_then(|effect| request_of(&effect)) {
                Some(request) => ClusterEvent::Failed { request },
                None => ClusterEvent::Tick,
            },
            _ => match self.asked.pop_front() {
                Some(effect) => match request_of(&effect) {
                    Some(request) => answer(&effect, request, bytes),
                    None => ClusterEvent::Tick,
                },
                None => ClusterEvent::Tick,
            },
        }
    }

    /// The watch that was asked for last.
    fn watch(&self) -> RequestId {
        let watches = self.asked.iter().rev();
        let found = watches.filter(|it| matches!(it, ClusterEffect::Watch { .. }));
        found.filter_map(request_of).next().unwrap_or(RequestId(0))
    }

    fn handle(&mut self, event: ClusterEvent) {
        self.member.handle(self.now, event);
        while let Some(effect) = self.member.poll_effect() {
            match effect {
                ClusterEffect::Directory(DirectoryChange::Added(instance)) => {
                    let before = self.told.insert(key_of(&instance), instance);
                    assert_eq!(before, None, "it is there already");
                }
                ClusterEffect::Directory(DirectoryChange::Removed(instance)) => {
                    let before = self.told.remove(&key_of(&instance));
                    assert_eq!(before, Some(instance), "it was another");
                }
                ClusterEffect::Serve { name, generation } => {
                    assert_eq!(self.served.insert(name, generation), None, "it is served already");
                }
                ClusterEffect::StopServing { name, generation } => {
                    assert_eq!(self.served.remove(&name), Some(generation), "it was not served");
                }
                ClusterEffect::StopAll => assert!(self.served.is_empty()),
                // Others may have written anything.
                ClusterEffect::Rejected { .. } => {}
                asked => self.asked.push_back(asked),
            }
        }
        self.check_directory();
        let is_open = self.member.fence().is_open(self.now);
        for name in NAMES {
            let owned = self.member.generation(name, self.now);
            assert!(is_open || owned.is_none(), "it is owned without a lease");
            assert_eq!(owned, self.served.get(name).copied().filter(|_| is_open));
        }
        let status = self.member.status(self.now);
        assert_eq!(status.single + status.many, self.told.len());
        assert!(status.lease_left <= TTL);
        assert!(self.member.poll_deadline() > Duration::ZERO);
    }

    fn check_directory(&self) {
        let directory = self.member.directory();
        assert_eq!(directory.behind(None).count(), self.told.len(), "it is not what was told");
        for (key, instance) in &self.told {
            let parsed = ServiceKey::parse(key.as_bytes()).expect("it was read as a key");
            assert_eq!((parsed.to_string(), directory.get(&parsed)), (key.clone(), Some(instance)));
            let claim = Claim { address: instance.address.clone(), since_s: instance.since_s };
            assert_eq!(Claim::parse(&parsed, claim.to_value().as_bytes()), Ok(claim));
            assert!(directory.of(&instance.name).any(|it| it == instance));
        }
    }
}

fn key_of(instance: &Instance) -> String {
    ServiceKey::of(&instance.name, instance.ownership, &instance.address).to_string()
}

fn request_of(effect: &ClusterEffect) -> Option<RequestId> {
    match effect {
        ClusterEffect::Grant { request, .. }
        | ClusterEffect::KeepAlive { request, .. }
        | ClusterEffect::Claim { request, .. }
        | ClusterEffect::Withdraw { request, .. }
        | ClusterEffect::List { request }
        | ClusterEffect::Watch { request, .. } => Some(*request),
        ClusterEffect::Revoke { .. }
        | ClusterEffect::Serve { .. }
        | ClusterEffect::StopServing { .. }
        | ClusterEffect::StopAll
        | ClusterEffect::Directory(_)
        | ClusterEffect::Rejected { .. } => None,
    }
}

/// An answer of the kind that is wanted, whatever it says.
fn answer(effect: &ClusterEffect, request: RequestId, bytes: &mut InputBytes<'_>) -> ClusterEvent {
    match effect {
        ClusterEffect::Grant { .. } => {
            let ttl = Duration::from_secs(u64::from(bytes.next() % 11));
            ClusterEvent::Leased { request, lease: bytes.lease(), ttl }
        }
        ClusterEffect::KeepAlive { lease, .. } => match bytes.next() % 4 {
            0 => ClusterEvent::LeaseGone { request },
            1 => ClusterEvent::Leased { request, lease: bytes.lease(), ttl: TTL },
            _ => ClusterEvent::Leased { request, lease: *lease, ttl: TTL },
        },
        ClusterEffect::Claim { .. } => {
            let outcome = match bytes.next() % 4 {
                0 => ClaimOutcome::NoLease,
                1 => ClaimOutcome::Taken(bytes.lease(), bytes.number()),
                _ => ClaimOutcome::Won(bytes.number()),
            };
            ClusterEvent::Claimed { request, outcome }
        }
        ClusterEffect::Withdraw { .. } => ClusterEvent::Withdrawn { request },
        ClusterEffect::List { .. } => ClusterEvent::Listed {
            request,
            revision: bytes.number(),
            keys: (0..bytes.next() % 6).map(|_| bytes.stored()).collect(),
        },
        _ => ClusterEvent::Failed { request },
    }
}

/// What is left of the input; zeros at its end.
struct InputBytes<'a>(&'a [u8]);

impl InputBytes<'_> {
    fn next(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        *first
    }

    fn take(&mut self, len: usize) -> Vec<u8> {
        (0..len).map(|_| self.next()).collect()
    }

    fn number(&mut self) -> i64 {
        match self.next() {
            255 => i64::MAX,
            254 => i64::MIN,
            small => i64::from(small),
        }
    }

    fn lease(&mut self) -> LeaseId {
        LeaseId(i64::from(self.next() % 4))
    }

    fn ownership(&mut self) -> Ownership {
        if self.next().is_multiple_of(2) { Ownership::Single } else { Ownership::Many }
    }

    fn unasked(&mut self, request: RequestId) -> ClusterEffect {
        let lease = self.lease();
        match self.next() % 4 {
            0 => ClusterEffect::Grant { request, ttl: TTL },
            1 => ClusterEffect::KeepAlive { request, lease },
            2 => ClusterEffect::List { request },
            _ => {
                let key = ServiceKey { name: NAMES[0].to_owned(), instance: None };
                ClusterEffect::Claim { request, key, lease }
            }
        }
    }

    fn change(&mut self) -> StoreChange {
        if self.next().is_multiple_of(3) {
            StoreChange::Deleted { key: self.key() }
        } else {
            StoreChange::Put(self.stored())
        }
    }

    fn stored(&mut self) -> StoredKey {
        let (key, value) = (self.key(), self.value());
        StoredKey { key, value, created: self.number(), lease: self.lease() }
    }

    fn machine(&mut self) -> &'static str {
        MACHINES[usize::from(self.next()) % MACHINES.len()]
    }

    /// A key that may be one of ours, or none.
    fn key(&mut self) -> Vec<u8> {
        let name = NAMES[usize::from(self.next()) % NAMES.len()];
        match self.next() % 8 {
            0 => {
                let len = usize::from(self.next() % 64);
                self.take(len)
            }
            1..=4 => format!("one:{name}").into_bytes(),
            _ => format!("many:{name}:{}", self.machine()).into_bytes(),
        }
    }

    /// A value that may be a claim, or have something wrong.
    fn value(&mut self) -> Vec<u8> {
        let (machine, since) = (self.machine(), self.next());
        let mut value = format!("anybinder 1\nat {machine}\nsince {since}\n").into_bytes();
        match self.next() % 8 {
            0 => {
                let len = usize::from(self.next());
                self.take(len)
            }
            1 => {
                let at = usize::from(self.next()) % value.len();
                value[at] = self.next();
                value
            }
            2 => {
                value.extend(b"of a later version\n");
                value
            }
            _ => value,
        }
    }
}
