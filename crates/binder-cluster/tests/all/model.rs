//! Members, a store, and a network between them that delays, loses and is cut; each member has a clock of its own.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use binder_cluster::{
    Claim, ClusterEffect, ClusterEvent, ClusterMember, DirectoryChange, MachineAddress,
    MemberOptions, Ownership, RequestId, ServiceKey,
};

use crate::store::Store;

pub(crate) const TTL: Duration = Duration::from_secs(4);
pub(crate) const NAMES: [&str; 3] = ["a", "b", "c"];

/// What may happen next.
#[derive(Debug, Clone)]
pub(crate) enum Step {
    /// Time passes, in milliseconds.
    Pass(u16),
    /// A message that waits for a member, or of one, arrives.
    Deliver {
        member: usize,
        which: usize,
    },
    /// One is lost; its sender hears nothing, or hears that it failed.
    Lose {
        member: usize,
        which: usize,
        is_told: bool,
    },
    /// A member takes no part for a while: it is stopped.
    Stop(usize),
    Wake(usize),
    /// Its messages wait.
    Cut(usize),
    Heal(usize),
    /// Its clock jumps ahead, in milliseconds.
    Jump {
        member: usize,
        by: u16,
    },
    Add {
        member: usize,
        name: usize,
    },
    Remove {
        member: usize,
        name: usize,
    },
    Compact,
    /// All watches end.
    BreakWatches,
}

/// On its way to the store, or back.
enum Message {
    Request(ClusterEffect),
    Answer(ClusterEvent),
}

pub(crate) struct Node {
    pub(crate) member: ClusterMember,
    address: MachineAddress,
    messages: Vec<Message>,
    /// A watch, the next revision that it tells.
    watch: Option<(RequestId, i64)>,
    is_stopped: bool,
    is_cut: bool,
    clock_ahead: Duration,
    has: BTreeSet<usize>,
    /// By what it said: who owns what, and which instances there are.
    serves: BTreeMap<String, i64>,
    instances: BTreeSet<(String, i64)>,
    deaths: BTreeSet<(String, i64)>,
}

pub(crate) struct World {
    pub(crate) store: Store,
    now: Duration,
    pub(crate) nodes: Vec<Node>,
    /// All generations that there were, and who had them.
    owners: BTreeMap<(String, i64), usize>,
}

impl World {
    pub(crate) fn new(members: usize) -> Self {
        let node = |number| {
            let address: MachineAddress = format!("tls://m{number}:1").parse().unwrap();
            let options = MemberOptions { address: address.clone(), ttl: TTL };
            Node {
                member: ClusterMember::new(options),
                address,
                messages: Vec::new(),
                watch: None,
                is_stopped: false,
                is_cut: false,
                clock_ahead: Duration::ZERO,
                has: BTreeSet::new(),
                serves: BTreeMap::new(),
                instances: BTreeSet::new(),
                deaths: BTreeSet::new(),
            }
        };
        let nodes = (0..members).map(node).collect();
        let (store, now) = (Store::default(), Duration::from_secs(100));
        Self { store, now, nodes, owners: BTreeMap::new() }
    }

    pub(crate) fn step(&mut self, step: &Step) {
        let count = self.nodes.len();
        match *step {
            Step::Pass(ms) => self.pass(Duration::from_millis(ms.into())),
            Step::Deliver { member, which } => self.deliver(member % count, which),
            Step::Lose { member, which, is_told } => self.lose(member % count, which, is_told),
            Step::Stop(member) => self.nodes[member % count].is_stopped = true,
            Step::Wake(member) => self.nodes[member % count].is_stopped = false,
            Step::Cut(member) => self.nodes[member % count].is_cut = true,
            Step::Heal(member) => self.nodes[member % count].is_cut = false,
            Step::Jump { member, by } => {
                self.nodes[member % count].clock_ahead += Duration::from_millis(by.into());
            }
            Step::Add { member, name } => {
                let (member, name) = (member % count, name % NAMES.len());
                if !self.nodes[member].is_stopped && self.nodes[member].has.insert(name) {
                    let event = ClusterEvent::ServiceAdded {
                        name: NAMES[name].into(),
                        ownership: ownership(name),
                    };
                    self.handle(member, event);
                }
            }
            Step::Remove { member, name } => {
                let (member, name) = (member % count, name % NAMES.len());
                if !self.nodes[member].is_stopped && self.nodes[member].has.remove(&name) {
                    self.handle(member, ClusterEvent::ServiceRemoved { name: NAMES[name].into() });
                }
            }
            Step::Compact => self.store.compact(),
            Step::BreakWatches => {
                for number in 0..count {
                    if let Some((request, _)) = self.nodes[number].watch.take() {
                        let failed = Message::Answer(ClusterEvent::Failed { request });
                        self.nodes[number].messages.push(failed);
                    }
                }
            }
        }
        self.tell_watches();
        self.check_owners();
    }

    /// All members are awake and within reach, until nothing happens any more.
    pub(crate) fn settle(&mut self) {
        for node in &mut self.nodes {
            node.is_stopped = false;
            node.is_cut = false;
        }
        for _ in 0..400 {
            self.step(&Step::Pass(50));
            for member in 0..self.nodes.len() {
                while !self.nodes[member].messages.is_empty() {
                    self.step(&Step::Deliver { member, which: 0 });
                }
            }
        }
    }

    fn pass(&mut self, time: Duration) {
        self.now += time;
        self.store.expire(self.now);
        for member in 0..self.nodes.len() {
            let node = &self.nodes[member];
            if !node.is_stopped && self.clock(member) >= node.member.poll_deadline() {
                self.handle(member, ClusterEvent::Tick);
            }
        }
    }

    fn clock(&self, member: usize) -> Duration {
        self.now + self.nodes[member].clock_ahead
    }

    fn deliver(&mut self, member: usize, which: usize) {
        let node = &mut self.nodes[member];
        if node.messages.is_empty() || node.is_cut {
            return;
        }
        let which = which % node.messages.len();
        if node.is_stopped && matches!(node.messages[which], Message::Answer(_)) {
            return;
        }
        match node.messages.remove(which) {
            Message::Answer(event) => self.handle(member, event),
            Message::Request(effect) => self.serve(member, effect),
        }
    }

    fn lose(&mut self, member: usize, which: usize, is_told: bool) {
        let node = &mut self.nodes[member];
        if node.messages.is_empty() {
            return;
        }
        let lost = node.messages.remove(which % node.messages.len());
        // The executor tells of the end of each watch, also of one that never began.
        let must_tell = match &lost {
            Message::Request(effect) => matches!(effect, ClusterEffect::Watch { .. }),
            Message::Answer(event) => {
                matches!(event, ClusterEvent::Failed { .. } | ClusterEvent::Compacted { .. })
            }
        };
        let request = match lost {
            Message::Request(effect) => request_of(&effect),
            Message::Answer(event) => answered_by(&event),
        };
        if let Some(request) = request.filter(|_| is_told || must_tell) {
            node.messages.push(Message::Answer(ClusterEvent::Failed { request }));
        }
    }

    /// Does what a member asks the store for.
    fn serve(&mut self, member: usize, effect: ClusterEffect) {
        let now = self.now;
        let node = &mut self.nodes[member];
        let answer = match effect {
            ClusterEffect::Grant { request, ttl } => {
                ClusterEvent::Leased { request, lease: self.store.grant(now, ttl), ttl }
            }
            ClusterEffect::KeepAlive { request, lease } => {
                if self.store.keep_alive(now, lease) {
                    ClusterEvent::Leased { request, lease, ttl: TTL }
                } else {
                    ClusterEvent::LeaseGone { request }
                }
            }
            ClusterEffect::Revoke { lease } => return self.store.revoke(lease),
            ClusterEffect::Claim { request, key, lease } => {
                let value = Claim { address: node.address.clone(), since_s: 0 }.to_value();
                let bytes = key.to_string().into_bytes();
                let outcome = self.store.claim(bytes, value.into_bytes(), lease);
                if let binder_cluster::ClaimOutcome::Won(generation) = outcome {
                    let before = self.owners.insert((key.to_string(), generation), member);
                    assert_eq!(before, None, "a generation has one owner");
                }
                ClusterEvent::Claimed { request, outcome }
            }
            ClusterEffect::Withdraw { request, key, generation } => {
                self.store.withdraw(key.to_string().as_bytes(), generation);
                ClusterEvent::Withdrawn { request }
            }
            ClusterEffect::List { request } => ClusterEvent::Listed {
                request,
                revision: self.store.revision,
                keys: self.store.keys.values().cloned().collect(),
            },
            ClusterEffect::Watch { request, from } => {
                node.watch = Some((request, from));
                return;
            }
            ClusterEffect::Serve { .. }
            | ClusterEffect::StopServing { .. }
            | ClusterEffect::StopAll
            | ClusterEffect::Directory(_)
            | ClusterEffect::Rejected { .. } => unreachable!("none of the store's"),
        };
        node.messages.push(Message::Answer(answer));
    }

    /// Watches tell in order: what they have to tell is handed over at once, as over one connection.
    fn tell_watches(&mut self) {
        for member in 0..self.nodes.len() {
            let node = &self.nodes[member];
            let Some((request, from)) = node.watch.filter(|_| !node.is_cut && !node.is_stopped)
            else {
                continue;
            };
            let Some(changes) = self.store.changes_from(from) else {
                self.nodes[member].watch = None;
                self.handle(member, ClusterEvent::Compacted { request });
                continue;
            };
            self.nodes[member].watch = Some((request, self.store.revision + 1));
            for (revision, change) in changes {
                let event = ClusterEvent::Changed { request, revision, changes: vec![change] };
                self.handle(member, event);
            }
        }
    }

    fn handle(&mut self, member: usize, event: ClusterEvent) {
        let now = self.clock(member);
        let node = &mut self.nodes[member];
        node.member.handle(now, event);
        while let Some(effect) = node.member.poll_effect() {
            match effect {
                ClusterEffect::Serve { name, generation } => {
                    node.serves.insert(name, generation);
                }
                ClusterEffect::StopServing { name, generation } => {
                    assert_eq!(node.serves.remove(&name), Some(generation), "it served that");
                }
                ClusterEffect::StopAll => assert!(node.serves.is_empty(), "each was told of"),
                ClusterEffect::Directory(DirectoryChange::Added(it)) => {
                    let key = (it.name, it.generation);
                    assert!(!node.deaths.contains(&key), "nobody comes back from the dead");
                    assert!(node.instances.insert(key), "it is told of once");
                }
                ClusterEffect::Directory(DirectoryChange::Removed(it)) => {
                    let key = (it.name, it.generation);
                    assert!(node.instances.remove(&key), "only what was there ends, and once");
                    node.deaths.insert(key);
                }
                ClusterEffect::Rejected { key, error } => panic!("{key:?}: {error}"),
                ClusterEffect::Grant { .. }
                | ClusterEffect::KeepAlive { .. }
                | ClusterEffect::Revoke { .. }
                | ClusterEffect::Claim { .. }
                | ClusterEffect::Withdraw { .. }
                | ClusterEffect::List { .. }
                | ClusterEffect::Watch { .. } => {
                    if matches!(effect, ClusterEffect::Watch { .. }) {
                        node.watch = None;
                    }
                    node.messages.push(Message::Request(effect));
                }
            }
        }
    }

    /// A member that acts as the owner of a name with one owner is it by the store's word, and no other acts so.
    fn check_owners(&self) {
        for (number, name) in NAMES.iter().enumerate() {
            let key_of = |node: &Node| ServiceKey::of(name, ownership(number), &node.address);
            let mut acting = Vec::new();
            for (member, node) in self.nodes.iter().enumerate() {
                let Some(generation) = node.member.generation(name, self.clock(member)) else {
                    continue;
                };
                let of = self.owners.get(&(key_of(node).to_string(), generation));
                assert_eq!(of, Some(&member), "{name}: it never owned generation {generation}");
                let stored = self.store.keys.get(key_of(node).to_string().as_bytes());
                let stored = stored.map(|stored| stored.created);
                assert_eq!(
                    stored,
                    Some(generation),
                    "{name}: member {member} acts without the key"
                );
                acting.push(member);
            }
            let is_one = ownership(number) == Ownership::Single;
            assert!(!is_one || acting.len() <= 1, "{name} has the owners {acting:?}");
        }
    }

    /// After all is quiet each name that has an owner is served, and all know the same.
    pub(crate) fn check_settled(&self) {
        let stored: BTreeSet<(String, i64)> = self
            .store
            .keys
            .values()
            .map(|stored| (ServiceKey::parse(&stored.key).unwrap().name, stored.created))
            .collect();
        for (member, node) in self.nodes.iter().enumerate() {
            assert_eq!(node.instances, stored, "what member {member} has heard of");
            for &name in &node.has {
                let owns = node.member.generation(NAMES[name], self.clock(member)).is_some();
                assert!(
                    owns || ownership(name) == Ownership::Single,
                    "{} of {member}",
                    NAMES[name]
                );
            }
        }
        for (number, name) in NAMES.iter().enumerate() {
            let has_any = self.nodes.iter().any(|node| node.has.contains(&number));
            let is_served = stored.iter().any(|(of, _)| of == name);
            assert_eq!(has_any, is_served, "{name} is served if somebody has it");
        }
    }
}

/// One of the names is of many.
fn ownership(name: usize) -> Ownership {
    if name == 2 { Ownership::Many } else { Ownership::Single }
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

fn answered_by(event: &ClusterEvent) -> Option<RequestId> {
    match event {
        ClusterEvent::Leased { request, .. }
        | ClusterEvent::LeaseGone { request }
        | ClusterEvent::Claimed { request, .. }
        | ClusterEvent::Withdrawn { request }
        | ClusterEvent::Listed { request, .. }
        | ClusterEvent::Changed { request, .. }
        | ClusterEvent::Compacted { request }
        | ClusterEvent::Failed { request } => Some(*request),
        ClusterEvent::Tick
        | ClusterEvent::Leave
        | ClusterEvent::ServiceAdded { .. }
        | ClusterEvent::ServiceRemoved { .. } => None,
    }
}
