//! Speaks to etcd for a member of a cluster: its effects become requests, and the answers events.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use binder_cluster::{
    Claim, ClaimOutcome, ClusterEffect, ClusterEvent, ClusterMember, DirectoryChange, LeaseId,
    MachineAddress, RequestId, ServiceKey, StoreChange, StoredKey,
};
use etcd_client::{
    Client, Compare, CompareOp, ConnectOptions, Error, EventType, GetOptions, KeyValue, PutOptions,
    SortOrder, SortTarget, Txn, TxnOp, TxnOpResponse, WatchOptions,
};
use tokio::sync::mpsc;
use tokio::task::{JoinHandle, JoinSet};

use crate::clock;
use crate::options::StoreAddress;

/// How long etcd may take for an answer.
const REQUEST_TIME: Duration = Duration::from_secs(2);
/// How long it may take to connect to one of its members, and to answer a ping.
const CONNECT_TIME: Duration = Duration::from_secs(1);
/// How many keys are listed at once.
const PAGE: i64 = 1000;
/// gRPC's number for a lease that has ended.
const NOT_FOUND: i32 = 5;
/// Its number for an answer that is longer than this program takes.
const OUT_OF_RANGE: i32 = 11;
/// The bytes of a key or a value that are looked at: more than any of ours has, so that longer ones are seen to be.
const SEEN_BYTES: usize = 2048;
/// Its numbers for a user that etcd refuses: a wrong password, no right, no users at all, no token.
const REFUSALS: [i32; 4] = [3, 7, 9, 16];

/// The receiver of the member's findings.
pub(crate) trait ClusterListener: Send {
    /// The lease is lost: what was given to other machines is to be taken back.
    fn stop_all(&self);
    /// This machine's ownership of a name has ended.
    fn stop_serving(&self, name: &str, generation: i64);
    /// An instance is there, or is gone.
    fn changed(&self, change: &DirectoryChange);
}

/// A member of a cluster, as all threads see it.
#[derive(Debug, Clone)]
pub(crate) struct SharedMember(Arc<Mutex<ClusterMember>>);

impl SharedMember {
    pub(crate) fn new(member: ClusterMember) -> Self {
        Self(Arc::new(Mutex::new(member)))
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, ClusterMember> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The connection to the store.
pub(crate) struct Store {
    member: SharedMember,
    client: Client,
    prefix: String,
    address: MachineAddress,
    ttl: Duration,
    answers: mpsc::UnboundedSender<ClusterEvent>,
    watch: Option<JoinHandle<()>>,
    /// Leases that are being given back.
    revocations: JoinSet<()>,
    /// Whether the log has a line of a key that is none of ours.
    has_told: bool,
    /// What etcd refused last, and why, as the log has it.
    refusal: Arc<Mutex<String>>,
}

/// How a request failed.
enum Failed {
    /// etcd said that it knows no such lease.
    NotFound,
    /// It said something else, or nothing.
    Otherwise,
}

impl Store {
    /// How the store is connected to.
    pub(crate) fn connect_options() -> ConnectOptions {
        ConnectOptions::new()
            .with_connect_timeout(CONNECT_TIME)
            .with_keep_alive(CONNECT_TIME, CONNECT_TIME)
            .with_keep_alive_while_idle(true)
            // A member without the others answers nothing, instead of what it last knew.
            .with_require_leader(true)
    }

    /// Speaks to the store until the member has left and its lease is given back, or the receiver of events is gone.
    pub(crate) async fn run(
        member: SharedMember,
        store: &StoreAddress,
        options: ConnectOptions,
        address: MachineAddress,
        ttl: Duration,
        (answers, mut events): (
            mpsc::UnboundedSender<ClusterEvent>,
            mpsc::UnboundedReceiver<ClusterEvent>,
        ),
        listener: impl ClusterListener,
    ) -> Result<(), Error> {
        // From here on it is known for how long nothing has been heard.
        member.lock().handle(clock::now(), ClusterEvent::Tick);
        let mut early = VecDeque::new();
        let Some(client) = connect(store, &options, &mut events, &mut early).await? else {
            return Ok(());
        };
        let prefix = store.prefix.clone();
        let mut this = Self {
            member,
            client,
            prefix,
            address,
            ttl,
            answers,
            watch: None,
            revocations: JoinSet::new(),
            has_told: false,
            refusal: Arc::default(),
        };
        early.push_back(ClusterEvent::Tick);
        let mut event = early.pop_front();
        loop {
            let mut is_leaving = false;
            while let Some(next) = event {
                is_leaving |= next == ClusterEvent::Leave;
                this.member.lock().handle(clock::now(), next);
                this.carry_out(&listener);
                event = early.pop_front().or_else(|| events.try_recv().ok());
            }
            if is_leaving {
                while this.revocations.join_next().await.is_some() {}
                return Ok(());
            }
            let due = this.member.lock().poll_deadline().saturating_sub(clock::now());
            event = tokio::select! {
                next = events.recv() => match next {
                    Some(next) => Some(next),
                    None => return Ok(()),
                },
                () = tokio::time::sleep(due) => Some(ClusterEvent::Tick),
            };
        }
    }

    fn carry_out(&mut self, listener: &impl ClusterListener) {
        loop {
            let Some(effect) = self.member.lock().poll_effect() else { return };
            match effect {
                ClusterEffect::StopAll => listener.stop_all(),
                ClusterEffect::Serve { name, generation } => {
                    tracing::info!(name, generation, "this machine owns a name");
                }
                ClusterEffect::StopServing { name, generation } => {
                    tracing::info!(name, generation, "this machine does not own a name any more");
                    listener.stop_serving(&name, generation);
                }
                ClusterEffect::Directory(change) => listener.changed(&change),
                ClusterEffect::Rejected { key, error } => {
                    // Escaped, for others may have written anything there.
                    let key = String::from_utf8_lossy(&key);
                    // Who writes many, again and again, is not to fill the log.
                    if std::mem::replace(&mut self.has_told, true) {
                        tracing::debug!(?key, %error, "a further key of the store is none of ours");
                    } else {
                        tracing::warn!(?key, %error, "a key of the store is none of ours");
                    }
                }
                ClusterEffect::Grant { request, ttl } => self.grant(request, ttl),
                ClusterEffect::KeepAlive { request, lease } => self.keep_alive(request, lease),
                ClusterEffect::Revoke { lease } => self.revoke(lease),
                ClusterEffect::Claim { request, key, lease } => self.claim(request, &key, lease),
                ClusterEffect::Withdraw { request, key, generation } => {
                    self.withdraw(request, &key, generation);
                }
                ClusterEffect::List { request } => self.list(request),
                ClusterEffect::Watch { request, from } => self.watch(request, from),
            }
        }
    }

    fn key(&self, key: &ServiceKey) -> String {
        format!("{}{key}", self.prefix)
    }

    /// Makes a request, and tells its answer.
    fn ask<T: Send + 'static>(
        &self,
        request: RequestId,
        made: impl Future<Output = Result<T, Error>> + Send + 'static,
        event: impl FnOnce(Result<T, Failed>) -> ClusterEvent + Send + 'static,
    ) {
        let (answers, refusal) = (self.answers.clone(), Arc::clone(&self.refusal));
        tokio::spawn(async move {
            let answered = match tokio::time::timeout(REQUEST_TIME, made).await {
                Ok(Ok(answer)) => Ok(answer),
                Ok(Err(error)) if is_not_found(&error) => Err(Failed::NotFound),
                Ok(Err(error)) => {
                    tracing::debug!(?request, %error, "the store refuses a request");
                    let error = error.to_string();
                    let mut refusal = refusal.lock().unwrap_or_else(PoisonError::into_inner);
                    // It is asked again and again.
                    if *refusal != error {
                        tracing::warn!(error, "etcd refuses what this machine asks");
                        *refusal = error;
                    }
                    Err(Failed::Otherwise)
                }
                Err(_) => {
                    tracing::debug!(?request, "the store does not answer");
                    Err(Failed::Otherwise)
                }
            };
            // A program that is ending hears nothing.
            let _ = answers.send(event(answered));
        });
    }

    fn grant(&self, request: RequestId, ttl: Duration) {
        let mut client = self.client.clone();
        let seconds = i64::try_from(ttl.as_secs()).unwrap_or(i64::MAX);
        let made = async move { client.lease_grant(seconds, None).await };
        self.ask(request, made, move |answer| match answer {
            // The owner's clock counts what was asked for.
            Ok(granted) if granted.ttl() < seconds => {
                tracing::warn!(granted = granted.ttl(), seconds, "etcd grants too short a lease");
                ClusterEvent::Failed { request }
            }
            Ok(granted) => {
                let lease = LeaseId(granted.id());
                tracing::info!(lease = lease.0, "this machine has a lease");
                ClusterEvent::Leased { request, lease, ttl }
            }
            Err(_) => ClusterEvent::Failed { request },
        });
    }

    fn keep_alive(&self, request: RequestId, lease: LeaseId) {
        let mut client = self.client.clone();
        let made = async move { client.lease_keep_alive(lease.0).await };
        let ttl = self.ttl;
        self.ask(request, made, move |answer| match answer {
            Ok(_) => ClusterEvent::Leased { request, lease, ttl },
            Err(Failed::NotFound) => ClusterEvent::LeaseGone { request },
            Err(Failed::Otherwise) => ClusterEvent::Failed { request },
        });
    }

    fn revoke(&mut self, lease: LeaseId) {
        let mut client = self.client.clone();
        while self.revocations.try_join_next().is_some() {}
        self.revocations.spawn(async move {
            let revoked = tokio::time::timeout(REQUEST_TIME, client.lease_revoke(lease.0)).await;
            tracing::debug!(lease = lease.0, is_done = matches!(revoked, Ok(Ok(_))), "revoked");
        });
    }

    fn claim(&self, request: RequestId, key: &ServiceKey, lease: LeaseId) {
        let mut client = self.client.clone();
        let claim = Claim { address: self.address.clone(), since_s: clock::wall_seconds() };
        let (key, put) = (self.key(key), PutOptions::new().with_lease(lease.0));
        let transaction = Txn::new()
            .when([Compare::create_revision(key.clone(), CompareOp::Equal, 0)])
            .and_then([TxnOp::put(key.clone(), claim.to_value(), Some(put))])
            .or_else([TxnOp::get(key, None)]);
        let made = async move { client.txn(transaction).await };
        self.ask(request, made, move |answer| {
            let answer = match answer {
                Ok(answer) => answer,
                Err(Failed::NotFound) => {
                    return ClusterEvent::Claimed { request, outcome: ClaimOutcome::NoLease };
                }
                Err(Failed::Otherwise) => return ClusterEvent::Failed { request },
            };
            let revision = answer.header().map(etcd_client::ResponseHeader::revision);
            let outcome = match (answer.succeeded(), revision, &answer.op_responses()[..]) {
                (true, Some(revision), _) => ClaimOutcome::Won(revision),
                (false, _, [TxnOpResponse::Get(found)]) if !found.kvs().is_empty() => {
                    let found = &found.kvs()[0];
                    ClaimOutcome::Taken(LeaseId(found.lease()), found.create_revision())
                }
                _ => return ClusterEvent::Failed { request },
            };
            ClusterEvent::Claimed { request, outcome }
        });
    }

    fn withdraw(&self, request: RequestId, key: &ServiceKey, generation: i64) {
        let mut client = self.client.clone();
        let key = self.key(key);
        let transaction = Txn::new()
            .when([Compare::create_revision(key.clone(), CompareOp::Equal, generation)])
            .and_then([TxnOp::delete(key, None)]);
        let made = async move { client.txn(transaction).await };
        self.ask(request, made, move |answer| match answer {
            Ok(_) => ClusterEvent::Withdrawn { request },
            Err(_) => ClusterEvent::Failed { request },
        });
    }

    fn list(&self, request: RequestId) {
        let (mut client, prefix) = (self.client.clone(), self.prefix.clone());
        let answers = self.answers.clone();
        tokio::spawn(async move {
            let listed = tokio::time::timeout(REQUEST_TIME * 5, list_all(&mut client, &prefix));
            let event = match listed.await {
                Ok(Ok((revision, keys))) => ClusterEvent::Listed { request, revision, keys },
                Ok(Err(error)) => {
                    tracing::debug!(%error, "the store does not list its keys");
                    ClusterEvent::Failed { request }
                }
                Err(_) => ClusterEvent::Failed { request },
            };
            let _ = answers.send(event);
        });
    }

    fn watch(&mut self, request: RequestId, from: i64) {
        if let Some(before) = self.watch.take() {
            before.abort();
        }
        let (mut client, prefix) = (self.client.clone(), self.prefix.clone());
        let answers = self.answers.clone();
        self.watch = Some(tokio::spawn(async move {
            let end = watch_from(&mut client, &prefix, request, from, &answers).await;
            let event = match end {
                Ok(event) => event,
                // They are never told from here on; a list has its pages.
                Err(error) if is_too_long(&error) => ClusterEvent::Compacted { request },
                Err(error) => {
                    tracing::info!(%error, "changes are not told any more");
                    ClusterEvent::Failed { request }
                }
            };
            let _ = answers.send(event);
        }));
    }
}

/// Connects, which waits for nothing but the store's word on a user. Keeps what happens meanwhile; `None` if this machine
/// leaves.
async fn connect(
    store: &StoreAddress,
    options: &ConnectOptions,
    events: &mut mpsc::UnboundedReceiver<ClusterEvent>,
    early: &mut VecDeque<ClusterEvent>,
) -> Result<Option<Client>, Error> {
    let mut is_told = false;
    loop {
        let error = match Client::connect(&store.endpoints, Some(options.clone())).await {
            Ok(client) => return Ok(Some(client)),
            Err(error) if is_final(&error) => return Err(error),
            Err(error) => error,
        };
        if !std::mem::replace(&mut is_told, true) {
            tracing::warn!(%error, "etcd does not say who this machine is");
        }
        tokio::time::sleep(CONNECT_TIME).await;
        while let Ok(event) = events.try_recv() {
            if event == ClusterEvent::Leave {
                return Ok(None);
            }
            early.push_back(event);
        }
    }
}

/// Whether the answer will be the same another time: it is etcd's own, or the options are wrong.
fn is_final(error: &Error) -> bool {
    match error {
        Error::TransportError(_) | Error::IoError(_) => false,
        Error::GRpcStatus(status) => REFUSALS.contains(&(status.code() as i32)),
        _ => true,
    }
}

/// Whether an answer is longer than this program takes at once.
fn is_too_long(error: &Error) -> bool {
    matches!(error, Error::GRpcStatus(status) if status.code() as i32 == OUT_OF_RANGE)
}

fn is_not_found(error: &Error) -> bool {
    match error {
        Error::GRpcStatus(status) => status.code() as i32 == NOT_FOUND,
        // The client's own words for an answer that says so.
        Error::LeaseKeepAliveError(words) => words == "lease not found",
        _ => false,
    }
}

/// Lists all keys as of one revision, a page at a time.
async fn list_all(client: &mut Client, prefix: &str) -> Result<(i64, Vec<StoredKey>), Error> {
    let mut keys = Vec::new();
    let (mut from, mut revision, mut limit) = (prefix.as_bytes().to_vec(), 0, PAGE);
    loop {
        let options = GetOptions::new()
            .with_range(end_of(prefix))
            .with_limit(limit)
            .with_revision(revision)
            .with_sort(SortTarget::Key, SortOrder::Ascend);
        let page = match client.get(from.clone(), Some(options)).await {
            // There are long values: fewer at once, so that they do not hide all others.
            Err(error) if is_too_long(&error) && limit > 1 => {
                limit /= 2;
                continue;
            }
            page => page?,
        };
        if revision == 0 {
            revision = page.header().map_or(0, etcd_client::ResponseHeader::revision);
        }
        keys.extend(page.kvs().iter().map(|found| stored(found, prefix)));
        match page.kvs().last() {
            Some(last) if page.more() => {
                from = last.key().to_vec();
                from.push(0);
            }
            Some(_) | None => return Ok((revision, keys)),
        }
    }
}

/// The first key behind all that begin so.
fn end_of(prefix: &str) -> Vec<u8> {
    let mut end = prefix.as_bytes().to_vec();
    // A prefix ends with a slash, so there is a next byte.
    if let Some(last) = end.last_mut() {
        *last += 1;
    }
    end
}

fn stored(found: &KeyValue, prefix: &str) -> StoredKey {
    StoredKey {
        key: seen(found.key().get(prefix.len()..).unwrap_or_default()),
        value: seen(found.value()),
        created: found.create_revision(),
        lease: LeaseId(found.lease()),
    }
}

fn seen(bytes: &[u8]) -> Vec<u8> {
    bytes[..bytes.len().min(SEEN_BYTES)].to_vec()
}

/// Tells changes as they come; returns how that ended.
async fn watch_from(
    client: &mut Client,
    prefix: &str,
    request: RequestId,
    from: i64,
    answers: &mpsc::UnboundedSender<ClusterEvent>,
) -> Result<ClusterEvent, Error> {
    let options =
        WatchOptions::new().with_prefix().with_start_revision(from).with_progress_notify();
    let begun = tokio::time::timeout(REQUEST_TIME, client.watch(prefix, Some(options)));
    let Ok(begun) = begun.await else { return Ok(ClusterEvent::Failed { request }) };
    let mut stream = begun?;
    while let Some(told) = stream.message().await? {
        if told.compact_revision() > 0 {
            return Ok(ClusterEvent::Compacted { request });
        }
        if told.canceled() {
            break;
        }
        // One answer has all changes of its revisions, and of each all.
        let mut changes: Vec<(i64, Vec<StoreChange>)> = Vec::new();
        for event in told.events() {
            let Some(found) = event.kv() else { continue };
            let revision = found.mod_revision();
            let change = match event.event_type() {
                EventType::Put => StoreChange::Put(stored(found, prefix)),
                EventType::Delete => StoreChange::Deleted { key: stored(found, prefix).key },
            };
            match changes.last_mut() {
                Some((last, changes)) if *last == revision => changes.push(change),
                Some(_) | None => changes.push((revision, vec![change])),
            }
        }
        for (revision, changes) in changes {
            let _ = answers.send(ClusterEvent::Changed { request, revision, changes });
        }
    }
    Ok(ClusterEvent::Failed { request })
}
