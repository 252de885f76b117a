//! A proxy that stands for many instances of a service, whose root has no state.

use std::any::Any;
use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use binder::binder_impl::{Parcel, TransactionCode, TransactionFlags};
use binder::transport::{DeathNotice, ObjectCodec, ProxyFacts, RemoteObject};
use binder::{SpIBinder, StatusCode};
use binder_cluster::MachineAddress;
use service_manager::Balancing;

use crate::counted::CallCounts;

/// Which instance it is: where, and of which generation.
pub(crate) type InstanceKey = (MachineAddress, i64);

/// One of them.
pub(crate) struct BalancedInstance {
    key: InstanceKey,
    object: Arc<dyn RemoteObject>,
    /// Calls under way.
    calls: AtomicUsize,
    counts: Arc<CallCounts>,
    /// What it needs to live.
    _kept: Box<dyn Any + Send + Sync>,
}

impl BalancedInstance {
    /// `None` for an object of this process.
    pub(crate) fn new(
        key: InstanceKey,
        object: &SpIBinder,
        counts: Arc<CallCounts>,
        kept: Box<dyn Any + Send + Sync>,
    ) -> Option<Self> {
        let object = Arc::clone(object.as_remote()?);
        Some(Self { key, object, calls: AtomicUsize::new(0), counts, _kept: kept })
    }
}

/// Which instance a call goes to is chosen when its parcel is begun. No call is made twice.
///
/// A call of an instance that is gone fails with [`StatusCode::FAILED_TRANSACTION`], and so does one while there is none:
/// clients take `DEAD_OBJECT` for the end of the service, and do not call it again. Its end is that of this process.
pub(crate) struct BalancedProxy {
    balancing: Balancing,
    instances: Mutex<Vec<Arc<BalancedInstance>>>,
    next: AtomicUsize,
    facts: ProxyFacts,
    /// How parcels are begun while there is no instance.
    last_codec: Mutex<Option<Arc<dyn ObjectCodec>>>,
}

impl BalancedProxy {
    pub(crate) fn new(balancing: Balancing) -> Self {
        Self {
            balancing,
            instances: Mutex::default(),
            next: AtomicUsize::new(0),
            facts: ProxyFacts::default(),
            last_codec: Mutex::default(),
        }
    }

    fn instances(&self) -> MutexGuard<'_, Vec<Arc<BalancedInstance>>> {
        self.instances.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How often each instance was called.
    pub(crate) fn counts(&self) -> Vec<(InstanceKey, Arc<CallCounts>)> {
        self.instances().iter().map(|it| (it.key.clone(), Arc::clone(&it.counts))).collect()
    }

    pub(crate) fn add(&self, instance: BalancedInstance) {
        *self.last_codec.lock().unwrap_or_else(PoisonError::into_inner) =
            Some(instance.object.codec());
        self.instances().push(Arc::new(instance));
    }

    pub(crate) fn retain(&self, is_meant: impl Fn(&InstanceKey) -> bool) {
        let gone: Vec<_> = self.instances().extract_if(.., |it| !is_meant(&it.key)).collect();
        // Sessions end without the lock.
        drop(gone);
    }

    fn choose(&self) -> Option<Arc<BalancedInstance>> {
        let instances = self.instances();
        let alive: Vec<_> = instances.iter().filter(|it| it.object.is_alive()).collect();
        let chosen = match self.balancing {
            Balancing::PickFirst => alive.first().copied(),
            Balancing::RoundRobin => {
                let turn = self.next.fetch_add(1, Ordering::Relaxed);
                turn.checked_rem(alive.len()).map(|at| alive[at])
            }
            Balancing::LeastBusy => {
                // Of those that are alike, the next.
                let turn = self.next.fetch_add(1, Ordering::Relaxed);
                let begin = turn.checked_rem(alive.len()).unwrap_or(0);
                let (before, behind) = alive.split_at(begin);
                let in_turn = behind.iter().chain(before).copied();
                in_turn.min_by_key(|it| it.calls.load(Ordering::Relaxed))
            }
        };
        chosen.cloned()
    }

    fn target_of(&self, data: &Parcel) -> Result<Arc<BalancedInstance>, StatusCode> {
        let codec = data.codec().ok_or(StatusCode::INVALID_OPERATION)?;
        let is_for = |it: &&Arc<BalancedInstance>| Arc::ptr_eq(codec, &it.object.codec());
        self.instances().iter().find(is_for).cloned().ok_or(StatusCode::FAILED_TRANSACTION)
    }
}

impl RemoteObject for BalancedProxy {
    fn codec(&self) -> Arc<dyn ObjectCodec> {
        let last = || self.last_codec.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let chosen = self.choose().map(|it| it.object.codec());
        chosen.or_else(last).expect("it is given away when there was an instance")
    }

    fn facts(&self) -> &ProxyFacts {
        &self.facts
    }

    fn submit_transact(
        &self,
        code: TransactionCode,
        data: Parcel,
        flags: TransactionFlags,
    ) -> Result<Parcel, StatusCode> {
        let target = self.target_of(&data)?;
        target.calls.fetch_add(1, Ordering::Relaxed);
        let answer = target.object.submit_transact(code, data, flags);
        target.calls.fetch_sub(1, Ordering::Relaxed);
        answer.map_err(|status| match status {
            StatusCode::DEAD_OBJECT => StatusCode::FAILED_TRANSACTION,
            status => status,
        })
    }

    fn link_to_death(&self, _: &Arc<DeathNotice>) -> Result<(), StatusCode> {
        Err(StatusCode::INVALID_OPERATION)
    }

    fn unlink_to_death(&self, _: &Arc<DeathNotice>) -> Result<(), StatusCode> {
        Err(StatusCode::NAME_NOT_FOUND)
    }

    fn is_alive(&self) -> bool {
        self.instances().iter().any(|it| it.object.is_alive())
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn number(&self) -> u64 {
        0
    }
}

impl fmt::Debug for BalancedProxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = self.instances().len();
        f.debug_struct("BalancedProxy").field("instances", &count).finish_non_exhaustive()
    }
}
