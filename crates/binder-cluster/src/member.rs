//! What one machine knows and wants of the store.

mod status;

use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use alloc::string::String;
use alloc::vec::Vec;
use core::time::Duration;

use crate::directory::{Directory, DirectoryChange, Instance};
use crate::event::{ClusterEffect, ClusterEvent};
use crate::fence::Fence;
use crate::keys::{MachineAddress, Ownership, ServiceKey};
use crate::store::{ClaimOutcome, LeaseId, RequestId, StoreChange, StoredKey};

use alloc::sync::Arc;

pub use status::MemberStatus;

/// How long a request may take before it counts as failed.
const REQUEST_TIME: Duration = Duration::from_secs(2);
/// How long after a failure the next try is made.
const RETRY_TIME: Duration = Duration::from_millis(250);
/// How many claims and withdrawals may be under way.
const WRITES_MAX: usize = 64;

/// How a member is to be.
#[derive(Debug, Clone)]
pub struct MemberOptions {
    /// Where this machine's gateway is to be found.
    pub address: MachineAddress,
    /// How long a lease lasts without a word from here.
    pub ttl: Duration,
}

/// One machine's part in a cluster.
///
/// It owns a name from when the store says that it made the name's key until its lease ends by its own clock, which is
/// before it ends by the store's: a lease counts from when the request was made, and a tenth of it is left for clocks
/// that do not run alike. The [`Fence`] is open for as long.
#[derive(Debug)]
pub struct ClusterMember {
    options: MemberOptions,
    fence: Arc<Fence>,
    lease: LeaseState,
    services: BTreeMap<String, OwnService>,
    /// Services whose key is to be written or deleted, as soon as that is possible.
    unsettled: BTreeSet<String>,
    writes: BTreeMap<RequestId, PendingWrite>,
    retry_writes_at: Option<Duration>,
    sync: SyncState,
    directory: Directory,
    revision: i64,
    last_request: u64,
    effects: VecDeque<ClusterEffect>,
    /// Since when the directory may be old; `None` while the store tells of changes.
    stale_since: Option<Duration>,
    /// How often a lease has ended before this machine wanted that.
    lost_leases: u64,
}

/// The lease of all keys of this machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LeaseState {
    /// There is none, and the next is asked for then.
    None { retry_at: Duration },
    /// One was asked for.
    Asking { request: RequestId, asked_at: Duration },
    /// This one, until then; whether it is being kept alive, and when that is to be tried.
    Held {
        lease: LeaseId,
        until: Duration,
        renew_at: Duration,
        renewal: Option<(RequestId, Duration)>,
    },
}

/// A service of this machine, or the key of one that was.
#[derive(Debug, Clone, Copy)]
struct OwnService {
    /// `None` once it is gone and its key is not deleted yet.
    wanted: Option<Ownership>,
    /// Of the key that was written last.
    ownership: Ownership,
    phase: ServicePhase,
    /// The generation whose withdrawal was asked for last, and whether that is known to be done. The directory may have
    /// it still, but it is never acted for again.
    withdrawal: Option<(i64, bool)>,
}

/// The next step with a service's key.
enum KeyStep {
    /// Make it.
    Claim(Ownership),
    /// Delete it, if it is of this generation.
    Withdraw(i64),
    /// It is ours, as the directory knows.
    Own(i64),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ServicePhase {
    /// The key is not ours.
    Idle,
    /// A claim or a withdrawal is under way.
    Writing,
    /// It is ours.
    Owned { generation: i64 },
}

#[derive(Debug, Clone)]
struct PendingWrite {
    name: String,
    lease: LeaseId,
    /// The generation that it ends.
    withdraws: Option<i64>,
    asked_at: Duration,
}

/// How the directory is kept up to date.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SyncState {
    /// All is to be listed then.
    Unlisted { retry_at: Duration },
    /// It is being listed.
    Listing { request: RequestId, asked_at: Duration },
    /// Changes are told.
    Watching { request: RequestId },
    /// They are not, and are to be asked for then.
    Unwatched { retry_at: Duration },
}

impl ClusterMember {
    /// A member without a lease, that has not been heard of.
    #[must_use]
    pub fn new(options: MemberOptions) -> Self {
        Self {
            options,
            fence: Arc::new(Fence::default()),
            lease: LeaseState::None { retry_at: Duration::ZERO },
            services: BTreeMap::new(),
            unsettled: BTreeSet::new(),
            writes: BTreeMap::new(),
            retry_writes_at: None,
            sync: SyncState::Unlisted { retry_at: Duration::ZERO },
            directory: Directory::default(),
            revision: 0,
            last_request: 0,
            effects: VecDeque::new(),
            stale_since: None,
            lost_leases: 0,
        }
    }

    /// Until when it may act as an owner.
    #[must_use]
    pub fn fence(&self) -> &Arc<Fence> {
        &self.fence
    }

    /// The services of all machines, by all that the store has told.
    #[must_use]
    pub fn directory(&self) -> &Directory {
        &self.directory
    }

    /// Whether the directory may be old: the store is out of reach.
    #[must_use]
    pub fn is_stale(&self) -> bool {
        !matches!(self.sync, SyncState::Watching { .. })
    }

    /// The generation by which this machine owns a name at that time.
    #[must_use]
    pub fn generation(&self, name: &str, now: Duration) -> Option<i64> {
        match self.services.get(name)?.phase {
            ServicePhase::Owned { generation } if self.fence.is_open(now) => Some(generation),
            ServicePhase::Owned { .. } | ServicePhase::Idle | ServicePhase::Writing => None,
        }
    }

    /// Takes the next effect.
    pub fn poll_effect(&mut self) -> Option<ClusterEffect> {
        self.effects.pop_front()
    }

    /// When [`ClusterEvent::Tick`] is due at the latest.
    #[must_use]
    pub fn poll_deadline(&self) -> Duration {
        let lease = match self.lease {
            LeaseState::None { retry_at } => retry_at,
            LeaseState::Asking { asked_at, .. } => asked_at + REQUEST_TIME,
            LeaseState::Held { until, renew_at, renewal, .. } => {
                until.min(renewal.map_or(renew_at, |(_, asked_at)| asked_at + REQUEST_TIME))
            }
        };
        let sync = match self.sync {
            SyncState::Unlisted { retry_at } | SyncState::Unwatched { retry_at } => Some(retry_at),
            SyncState::Listing { asked_at, .. } => Some(asked_at + REQUEST_TIME * 5),
            SyncState::Watching { .. } => None,
        };
        let writes = self.writes.values().map(|write| write.asked_at + REQUEST_TIME).min();
        [sync, writes, self.retry_writes_at].into_iter().flatten().fold(lease, Duration::min)
    }

    /// Takes what has happened, at `now` by a clock that never goes back and goes on while the machine sleeps.
    pub fn handle(&mut self, now: Duration, event: ClusterEvent) {
        // First of all: a process that wakes up late learns from the clock what it has missed.
        self.end_lease_by_clock(now);
        match event {
            ClusterEvent::Tick => {}
            ClusterEvent::Leave => self.leave(now),
            ClusterEvent::ServiceAdded { name, ownership } => self.want(name, ownership),
            ClusterEvent::ServiceRemoved { name } => self.unwant(&name),
            ClusterEvent::Leased { request, lease, ttl } => self.leased(now, request, lease, ttl),
            ClusterEvent::LeaseGone { request } => self.lease_gone(now, request),
            ClusterEvent::Claimed { request, outcome } => self.claimed(now, request, outcome),
            ClusterEvent::Withdrawn { request } => {
                if let Some(write) = self.finish_write(request) {
                    if let Some(service) = self.services.get_mut(&write.name) {
                        service.withdrawal = write.withdraws.map(|generation| (generation, true));
                    }
                    self.settle(&write.name);
                }
            }
            ClusterEvent::Listed { request, revision, keys } => {
                self.listed(request, revision, keys);
            }
            ClusterEvent::Changed { request, revision, changes } => {
                if self.sync == (SyncState::Watching { request }) && revision > self.revision {
                    self.revision = revision;
                    changes.into_iter().for_each(|change| self.apply(revision, change));
                }
            }
            ClusterEvent::Compacted { request } => {
                if self.sync == (SyncState::Watching { request }) {
                    self.sync = SyncState::Unlisted { retry_at: now };
                }
            }
            ClusterEvent::Failed { request } => self.failed(now, request),
        }
        self.go_on(now);
        self.stale_since = self.is_stale().then(|| self.stale_since.unwrap_or(now));
    }

    fn next_request(&mut self) -> RequestId {
        self.last_request += 1;
        RequestId(self.last_request)
    }

    /// Does the work that is due.
    fn go_on(&mut self, now: Duration) {
        self.fail_late_requests(now);
        self.go_on_with_lease(now);
        self.go_on_with_sync(now);
        self.go_on_with_writes(now);
    }

    fn fail_late_requests(&mut self, now: Duration) {
        let is_late = |asked_at: Duration| now >= asked_at + REQUEST_TIME;
        let mut late: Vec<RequestId> = self
            .writes
            .iter()
            .filter(|(_, write)| is_late(write.asked_at))
            .map(|(request, _)| *request)
            .collect();
        match self.lease {
            LeaseState::Asking { request, asked_at }
            | LeaseState::Held { renewal: Some((request, asked_at)), .. }
                if is_late(asked_at) =>
            {
                late.push(request);
            }
            LeaseState::None { .. } | LeaseState::Asking { .. } | LeaseState::Held { .. } => {}
        }
        if let SyncState::Listing { request, asked_at } = self.sync
            && now >= asked_at + REQUEST_TIME * 5
        {
            late.push(request);
        }
        late.into_iter().for_each(|request| self.failed(now, request));
    }

    fn failed(&mut self, now: Duration, request: RequestId) {
        let retry_at = now + RETRY_TIME;
        match &mut self.lease {
            LeaseState::Asking { request: asked, .. } if *asked == request => {
                self.lease = LeaseState::None { retry_at };
            }
            LeaseState::Held { renewal, renew_at, .. }
                if renewal.is_some_and(|(asked, _)| asked == request) =>
            {
                *renewal = None;
                *renew_at = retry_at;
            }
            LeaseState::None { .. } | LeaseState::Asking { .. } | LeaseState::Held { .. } => {}
        }
        match self.sync {
            SyncState::Listing { request: asked, .. } if asked == request => {
                self.sync = SyncState::Unlisted { retry_at };
            }
            SyncState::Watching { request: asked } if asked == request => {
                self.sync = SyncState::Unwatched { retry_at };
            }
            SyncState::Unlisted { .. }
            | SyncState::Listing { .. }
            | SyncState::Watching { .. }
            | SyncState::Unwatched { .. } => {}
        }
        if let Some(write) = self.finish_write(request) {
            // Whether it was carried out is not known. Both writes may be made again.
            self.settle(&write.name);
            self.retry_writes_at = Some(retry_at);
        }
    }

    // The lease.

    fn leased(&mut self, now: Duration, request: RequestId, lease: LeaseId, ttl: Duration) {
        let asked_at = match self.lease {
            LeaseState::Asking { request: asked, asked_at } if asked == request => asked_at,
            LeaseState::Held { lease: held, renewal: Some((asked, asked_at)), .. }
                if asked == request && held == lease =>
            {
                asked_at
            }
            LeaseState::Held { lease: held, .. } if held == lease => return,
            LeaseState::None { .. } | LeaseState::Asking { .. } | LeaseState::Held { .. } => {
                // Too late to be of use.
                return self.effects.push_back(ClusterEffect::Revoke { lease });
            }
        };
        let until = asked_at + ttl.saturating_sub(ttl / 10);
        if now >= until {
            self.lease = LeaseState::None { retry_at: now };
            return self.effects.push_back(ClusterEffect::Revoke { lease });
        }
        self.fence.open_until(until);
        let is_new = !matches!(self.lease, LeaseState::Held { .. });
        self.lease = LeaseState::Held { lease, until, renew_at: asked_at + ttl / 3, renewal: None };
        if is_new {
            self.unsettled.extend(self.services.keys().cloned());
        }
    }

    fn lease_gone(&mut self, now: Duration, request: RequestId) {
        if let LeaseState::Held { renewal: Some((asked, _)), .. } = self.lease
            && asked == request
        {
            self.lost_leases += 1;
            self.lose_lease(now);
        }
    }

    fn end_lease_by_clock(&mut self, now: Duration) {
        if let LeaseState::Held { until, lease, .. } = self.lease
            && now >= until
        {
            self.lost_leases += 1;
            self.lose_lease(now);
            // Others need not wait until the store's clock has come as far.
            self.effects.push_back(ClusterEffect::Revoke { lease });
        }
    }

    fn lose_lease(&mut self, now: Duration) {
        self.fence.close();
        self.lease = LeaseState::None { retry_at: now };
        // Requests under way were for keys of that lease.
        self.writes.clear();
        self.services.retain(|_, service| service.wanted.is_some());
        for (name, service) in &mut self.services {
            if let ServicePhase::Owned { generation } = service.phase {
                let name = name.clone();
                self.effects.push_back(ClusterEffect::StopServing { name, generation });
            }
            service.phase = ServicePhase::Idle;
        }
        self.unsettled.clear();
        self.effects.push_back(ClusterEffect::StopAll);
    }

    fn leave(&mut self, now: Duration) {
        if let LeaseState::Held { lease, .. } = self.lease {
            self.lose_lease(now);
            self.effects.push_back(ClusterEffect::Revoke { lease });
        }
        self.lease = LeaseState::None { retry_at: Duration::MAX };
    }

    fn go_on_with_lease(&mut self, now: Duration) {
        match self.lease {
            LeaseState::None { retry_at } if now >= retry_at => {
                let request = self.next_request();
                self.lease = LeaseState::Asking { request, asked_at: now };
                let ttl = self.options.ttl;
                self.effects.push_back(ClusterEffect::Grant { request, ttl });
            }
            LeaseState::Held { lease, until, renew_at, renewal: None } if now >= renew_at => {
                let request = self.next_request();
                let renewal = Some((request, now));
                self.lease = LeaseState::Held { lease, until, renew_at, renewal };
                self.effects.push_back(ClusterEffect::KeepAlive { request, lease });
            }
            LeaseState::None { .. } | LeaseState::Asking { .. } | LeaseState::Held { .. } => {}
        }
    }

    // The services of this machine.

    fn want(&mut self, name: String, ownership: Ownership) {
        let idle =
            OwnService { wanted: None, ownership, phase: ServicePhase::Idle, withdrawal: None };
        let service = self.services.entry(name.clone()).or_insert(idle);
        service.wanted = Some(ownership);
        self.unsettled.insert(name);
    }

    fn unwant(&mut self, name: &str) {
        let Some(service) = self.services.get_mut(name) else { return };
        service.wanted = None;
        self.give_up(name);
        self.unsettled.insert(name.into());
    }

    /// Stops acting as the owner of a name; its key may be there still.
    fn give_up(&mut self, name: &str) {
        if let Some(service) = self.services.get_mut(name)
            && let ServicePhase::Owned { generation } = service.phase
        {
            service.phase = ServicePhase::Idle;
            let name = name.into();
            self.effects.push_back(ClusterEffect::StopServing { name, generation });
        }
    }

    fn finish_write(&mut self, request: RequestId) -> Option<PendingWrite> {
        let write = self.writes.remove(&request)?;
        if let Some(service) = self.services.get_mut(&write.name)
            && service.phase == ServicePhase::Writing
        {
            service.phase = ServicePhase::Idle;
        }
        Some(write)
    }

    fn claimed(&mut self, now: Duration, request: RequestId, outcome: ClaimOutcome) {
        let Some(write) = self.finish_write(request) else { return };
        match outcome {
            ClaimOutcome::Won(generation) => self.own(&write.name, generation),
            ClaimOutcome::Taken(lease, generation) if lease == write.lease => {
                self.own(&write.name, generation);
            }
            // Once the directory knows that the owner is gone, the next claim is made.
            ClaimOutcome::Taken(..) => self.retry_writes_at = Some(now + RETRY_TIME),
            ClaimOutcome::NoLease => {
                self.lost_leases += 1;
                self.lose_lease(now);
            }
        }
        self.settle(&write.name);
    }

    fn own(&mut self, name: &str, generation: i64) {
        let Some(service) = self.services.get_mut(name) else { return };
        if service.wanted != Some(service.ownership) {
            // Its service went, or is another now: the key goes, too.
            return;
        }
        service.phase = ServicePhase::Owned { generation };
        self.effects.push_back(ClusterEffect::Serve { name: name.into(), generation });
    }

    /// Notes that a service's key may have to be written.
    fn settle(&mut self, name: &str) {
        self.unsettled.insert(name.into());
    }

    fn go_on_with_writes(&mut self, now: Duration) {
        let LeaseState::Held { lease, .. } = self.lease else { return };
        if self.retry_writes_at.is_some_and(|at| now < at) {
            return;
        }
        self.retry_writes_at = None;
        // Before the first list it is unknown which names are free; claims that fail cost as much as lists.
        if matches!(self.sync, SyncState::Unlisted { .. } | SyncState::Listing { .. })
            && self.revision == 0
        {
            return;
        }
        while self.writes.len() < WRITES_MAX
            && let Some(name) = self.unsettled.pop_first()
        {
            self.write(now, &name, lease);
        }
    }

    /// Claims a name, or withdraws it, or does neither.
    fn write(&mut self, now: Duration, name: &str, lease: LeaseId) {
        let Some(&service) = self.services.get(name) else { return };
        let OwnService { wanted, ownership, phase, withdrawal } = service;
        let key_of = |ownership| ServiceKey::of(name, ownership, &self.options.address);
        let found = |ownership| self.directory.get(&key_of(ownership));
        let ours = found(ownership).filter(|found| found.lease == lease).map(|it| it.generation);
        let step = match (phase, wanted) {
            (ServicePhase::Writing, _) => return,
            (ServicePhase::Owned { .. }, Some(wanted)) if wanted == ownership => return,
            (ServicePhase::Owned { generation }, _) => KeyStep::Withdraw(generation),
            (ServicePhase::Idle, _)
                if let Some((generation, is_done)) = withdrawal
                    && ours == Some(generation) =>
            {
                if is_done {
                    // It is gone, but the watch has not told so yet.
                    return;
                }
                KeyStep::Withdraw(generation)
            }
            (ServicePhase::Idle, None) => match ours {
                Some(generation) => KeyStep::Withdraw(generation),
                // A claim that is still on its way is withdrawn when it is heard of.
                None => {
                    self.services.remove(name);
                    return;
                }
            },
            (ServicePhase::Idle, Some(wanted)) => match (ours, found(wanted)) {
                (Some(generation), _) if wanted == ownership => KeyStep::Own(generation),
                (Some(generation), _) => KeyStep::Withdraw(generation),
                (None, None) => KeyStep::Claim(wanted),
                (None, Some(found)) if found.lease == lease => KeyStep::Claim(wanted),
                // Another's; its end has this be looked at again.
                (None, Some(_)) => return,
            },
        };
        self.give_up(name);
        let ownership = match step {
            KeyStep::Claim(wanted) => wanted,
            KeyStep::Withdraw(_) | KeyStep::Own(_) => ownership,
        };
        let key = ServiceKey::of(name, ownership, &self.options.address);
        let request = self.next_request();
        let (effect, withdraws) = match step {
            KeyStep::Own(generation) => return self.own(name, generation),
            KeyStep::Claim(_) => (ClusterEffect::Claim { request, key, lease }, None),
            KeyStep::Withdraw(generation) => {
                (ClusterEffect::Withdraw { request, key, generation }, Some(generation))
            }
        };
        self.effects.push_back(effect);
        if let Some(service) = self.services.get_mut(name) {
            service.phase = ServicePhase::Writing;
            service.ownership = ownership;
            if let Some(generation) = withdraws {
                service.withdrawal = Some((generation, false));
            }
        }
        let write = PendingWrite { name: name.into(), lease, withdraws, asked_at: now };
        self.writes.insert(request, write);
    }

    // The directory.

    fn go_on_with_sync(&mut self, now: Duration) {
        match self.sync {
            SyncState::Unlisted { retry_at } if now >= retry_at => {
                let request = self.next_request();
                self.sync = SyncState::Listing { request, asked_at: now };
                self.effects.push_back(ClusterEffect::List { request });
            }
            SyncState::Unwatched { retry_at } if now >= retry_at => self.watch(),
            SyncState::Unlisted { .. }
            | SyncState::Listing { .. }
            | SyncState::Watching { .. }
            | SyncState::Unwatched { .. } => {}
        }
    }

    fn watch(&mut self) {
        let request = self.next_request();
        self.sync = SyncState::Watching { request };
        self.effects
            .push_back(ClusterEffect::Watch { request, from: self.revision.saturating_add(1) });
    }

    fn listed(&mut self, request: RequestId, revision: i64, keys: Vec<StoredKey>) {
        match self.sync {
            SyncState::Listing { request: asked, .. } if asked == request => {}
            _ => return,
        }
        self.revision = revision;
        for change in self.directory.missing_in(&keys) {
            self.apply(revision, change);
        }
        for stored in keys {
            self.apply(revision, StoreChange::Put(stored));
        }
        self.give_up_unlisted(revision);
        self.watch();
    }

    /// Gives up names whose key was gone before the watch told that it was there.
    fn give_up_unlisted(&mut self, revision: i64) {
        let is_unlisted = |name: &str, service: &OwnService| match service.phase {
            ServicePhase::Owned { generation } if generation <= revision => {
                let key = ServiceKey::of(name, service.ownership, &self.options.address);
                self.directory.get(&key).is_none_or(|found| found.generation != generation)
            }
            ServicePhase::Owned { .. } | ServicePhase::Idle | ServicePhase::Writing => false,
        };
        let unlisted: Vec<String> = self
            .services
            .iter()
            .filter(|(name, service)| is_unlisted(name, service))
            .map(|(name, _)| name.clone())
            .collect();
        for name in unlisted {
            self.give_up(&name);
            self.settle(&name);
        }
    }

    fn apply(&mut self, revision: i64, change: StoreChange) {
        let mut changed = Vec::new();
        if let Err((key, error)) = self.directory.apply(change, &mut changed) {
            self.effects.push_back(ClusterEffect::Rejected { key, error });
        }
        for change in changed {
            match &change {
                DirectoryChange::Added(instance) => self.compare_own(instance),
                DirectoryChange::Removed(instance) => self.compare_removed(revision, instance),
            }
            self.effects.push_back(ClusterEffect::Directory(change));
        }
    }

    /// A key that is there under our lease and whose service is not there any more: an early claim came late.
    fn compare_own(&mut self, instance: &Instance) {
        let LeaseState::Held { lease, .. } = self.lease else { return };
        if instance.lease != lease {
            return;
        }
        if !self.services.contains_key(&instance.name) {
            let (ownership, phase) = (instance.ownership, ServicePhase::Idle);
            let gone = OwnService { wanted: None, ownership, phase, withdrawal: None };
            self.services.insert(instance.name.clone(), gone);
        }
        self.settle(&instance.name);
    }

    fn compare_removed(&mut self, revision: i64, instance: &Instance) {
        let Some(service) = self.services.get(&instance.name) else { return };
        if let ServicePhase::Owned { generation } = service.phase
            && instance.generation == generation
            && revision > generation
        {
            // Our key was deleted by another.
            self.give_up(&instance.name);
        }
        self.settle(&instance.name);
    }
}
