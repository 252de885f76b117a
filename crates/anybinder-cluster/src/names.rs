//! What the manager, the store and the importers tell each other.

use std::collections::BTreeSet;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use binder::transport::rpc::RpcServer;
use binder_cluster::{
    ClusterEvent, DirectoryChange, Instance, MachineAddress, Ownership, ServiceKey,
};
use service_manager::{
    AccessAction, AccessPolicy, Declarations, INSTANCES_PER_ANSWER, ManagerServer, RemoteNames,
    ServiceInstance,
};
use tokio::sync::mpsc;

use crate::counted::OwnCalls;
use crate::importers::Importers;
use crate::options::{ClusterError, failed};
use crate::store::{ClusterListener, SharedMember};
use crate::users::CallingUsers;

/// The manager's own name, which each machine has.
const MANAGER_NAME: &str = "manager";
/// How often an awaited service that could not be reached is looked for again.
const RETRY_TIME: Duration = Duration::from_millis(500);

/// The names of all machines, for this one's manager.
pub(crate) struct ClusterNames {
    pub(crate) member: SharedMember,
    pub(crate) importers: Importers,
    pub(crate) own_calls: Arc<OwnCalls>,
    pub(crate) users: CallingUsers,
    pub(crate) declarations: Declarations,
    pub(crate) events: mpsc::UnboundedSender<ClusterEvent>,
    pub(crate) follower: Follower,
}

/// A thread that may wait for the manager, as those that tell it something may not.
#[derive(Debug, Clone)]
pub(crate) struct Follower(Arc<Mutex<Sender<Followed>>>);

/// A change to be followed.
enum Followed {
    /// The directory or the manager has another for this name.
    Changed(String),
    /// A callback waits for this name.
    Awaited(String),
}

impl Follower {
    pub(crate) fn start(
        importers: &Importers,
        manager: &ManagerServer,
    ) -> Result<Self, ClusterError> {
        let (sender, receiver) = channel();
        let (importers, manager) = (importers.clone(), manager.clone());
        let run = move || follow(&receiver, &importers, &manager);
        let started = thread::Builder::new().name("follower".into()).spawn(run);
        started.map_err(failed("starting a thread"))?;
        Ok(Self(Arc::new(Mutex::new(sender))))
    }

    fn tell(&self, followed: Followed) {
        // It lasts as long as the process.
        let _ = self.0.lock().unwrap_or_else(PoisonError::into_inner).send(followed);
    }
}

fn follow(receiver: &Receiver<Followed>, importers: &Importers, manager: &ManagerServer) {
    let mut awaited = BTreeSet::new();
    loop {
        let next = if awaited.is_empty() {
            receiver.recv().map_err(|_| RecvTimeoutError::Disconnected)
        } else {
            receiver.recv_timeout(RETRY_TIME)
        };
        match next {
            Ok(Followed::Changed(name)) => {
                importers.update(&name);
                awaited.insert(name);
            }
            Ok(Followed::Awaited(name)) => drop(awaited.insert(name)),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
        awaited.retain(|name| manager.with_registry(|registry| registry.is_awaited(name)));
        for name in &awaited {
            importers.begin(name);
        }
    }
}

impl RemoteNames for ClusterNames {
    fn local_changed(&self, policy: &AccessPolicy, name: &str, is_there: bool) {
        if name == MANAGER_NAME {
            return;
        }
        if is_there {
            self.follower.tell(Followed::Changed(name.to_owned()));
        } else {
            self.own_calls.forget(name);
        }
        let is_shared = is_there && self.shares(policy, name);
        let name = name.to_owned();
        let ownership = match self.declarations.get(&name).and_then(|it| it.balancing) {
            Some(_) => Ownership::Many,
            None => Ownership::Single,
        };
        let event = if is_shared {
            ClusterEvent::ServiceAdded { name, ownership }
        } else {
            ClusterEvent::ServiceRemoved { name }
        };
        // It lasts as long as the process.
        let _ = self.events.send(event);
    }

    fn awaited(&self, name: &str) {
        self.follower.tell(Followed::Awaited(name.to_owned()));
    }

    fn bring(&self, name: &str) -> bool {
        self.importers.bring(name)
    }

    fn instances(&self, after: Option<&ServiceInstance>) -> Vec<ServiceInstance> {
        let after = after.map(|it| {
            let machine = if it.is_shared { it.address.parse().ok() } else { None };
            ServiceKey { name: it.name.clone(), instance: machine }
        });
        if after.is_none() {
            self.importers.ask_for_calls();
        }
        let found: Vec<Instance> = {
            let member = self.member.lock();
            let behind = member.directory().behind(after.as_ref());
            behind.take(INSTANCES_PER_ANSWER).cloned().collect()
        };
        found.into_iter().map(|instance| self.told(instance)).collect()
    }
}

impl ClusterNames {
    /// Whether there is a machine, or a user of one, who may call services of a name.
    fn shares(&self, policy: &AccessPolicy, name: &str) -> bool {
        let users = || self.users.named_by(policy, AccessAction::Call, name);
        policy.shares(name) || !users().is_empty()
    }

    fn told(&self, instance: Instance) -> ServiceInstance {
        let calls = if instance.address == *self.importers.own_address() {
            Some(self.own_calls.of(&instance.name))
        } else {
            self.importers.calls(&instance)
        };
        ServiceInstance {
            name: instance.name,
            address: instance.address.to_string(),
            generation: instance.generation,
            since_s: instance.since_s,
            is_shared: instance.ownership == Ownership::Many,
            calls,
        }
    }
}

/// What follows from what the store tells.
pub(crate) struct StoreListener {
    pub(crate) follower: Follower,
    pub(crate) gateway: Arc<RpcServer>,
    pub(crate) address: MachineAddress,
}

impl ClusterListener for StoreListener {
    fn stop_all(&self) {
        tracing::warn!("this machine has no lease any more: it serves no other machine");
        self.gateway.end_sessions();
    }

    fn stop_serving(&self, _name: &str, _generation: i64) {}

    fn changed(&self, change: &DirectoryChange) {
        let (DirectoryChange::Added(instance) | DirectoryChange::Removed(instance)) = change;
        if instance.address != self.address {
            self.follower.tell(Followed::Changed(instance.name.clone()));
        }
    }
}
