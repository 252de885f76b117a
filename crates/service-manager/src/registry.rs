//! The services of a device, the callbacks that wait for them, and those that are told of their clients.

mod clients;
mod effect;
mod ledger;
mod objects;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use binder::service_manager::ServiceDebugInfo;

use crate::access::{AccessAction, AccessPolicy};
use crate::declarations::Declarations;
use crate::figures::RegistryCounts;
use crate::request::{
    CallingContext, Denial, FoundService, ManagerAnswer, ManagerRequest, ObjectId,
};
use ledger::EntryLedger;

pub use effect::RegistryEffect;
pub use objects::ObjectTable;

/// The service may end when it has no clients, and be started again.
const FLAG_IS_LAZY_SERVICE: i32 = 1 << 30;
/// The bytes of a name at most.
const NAME_MAX_BYTES: usize = 127;
/// How many listeners of one user may be for one name: each is called whenever that is registered.
const LISTENERS_PER_NAME: usize = 256;

/// The names of a device, and what is registered by them.
#[derive(Debug)]
pub struct ServiceRegistry {
    policy: AccessPolicy,
    declarations: Declarations,
    services: BTreeMap<String, ServiceEntry>,
    listeners: BTreeMap<String, Vec<Listener>>,
    client_listeners: BTreeMap<String, Vec<Listener>>,
    ledger: EntryLedger,
    /// Processes that stand for services of other machines: what these may have here was decided before they began.
    importers: BTreeSet<i32>,
    effects: VecDeque<RegistryEffect>,
    /// How often a caller who may not find a service was told that there is none.
    hidden_finds: u64,
}

#[derive(Debug)]
struct ServiceEntry {
    object: ObjectId,
    flags: i32,
    owner: CallingContext,
    /// Whether its listeners were told last that it has clients.
    has_clients: bool,
    /// A caller is about to get it, and counts as a client until clients are counted.
    is_awaited: bool,
    /// It stands for a service of another machine.
    is_import: bool,
}

#[derive(Debug, Clone)]
struct Listener {
    callback: ObjectId,
    caller: CallingContext,
}

impl ServiceRegistry {
    /// A registry without services.
    #[must_use]
    pub fn new(policy: AccessPolicy, declarations: Declarations) -> Self {
        Self {
            policy,
            declarations,
            services: BTreeMap::new(),
            listeners: BTreeMap::new(),
            client_listeners: BTreeMap::new(),
            ledger: EntryLedger::default(),
            importers: BTreeSet::new(),
            effects: VecDeque::new(),
            hidden_finds: 0,
        }
    }

    /// Says whether services that a process registers from now on are those of other machines.
    pub fn set_importer(&mut self, pid: i32, is_one: bool) {
        if is_one {
            self.importers.insert(pid);
        } else {
            self.importers.remove(&pid);
        }
    }

    /// The policy.
    #[must_use]
    pub fn policy(&self) -> &AccessPolicy {
        &self.policy
    }

    /// Decides by another policy from now on. What is registered stays, but for callbacks of those who may not find what they
    /// wait for any more; other machines hear of services of this one again, as others may share them now.
    pub fn set_policy(&mut self, policy: AccessPolicy) {
        let mut refused = Vec::new();
        for (name, listeners) in &mut self.listeners {
            let may_not = |it: &mut Listener| !policy.permits(&it.caller, AccessAction::Find, name);
            refused.push((name.clone(), listeners.extract_if(.., may_not).collect::<Vec<_>>()));
        }
        self.listeners.retain(|_, listeners| !listeners.is_empty());
        refused.iter().for_each(|(name, gone)| self.refund(name, gone));
        self.policy = policy;
        let local = self.services.iter().filter(|(_, service)| !service.is_import);
        let told = local
            .map(|(name, _)| RegistryEffect::LocalChanged { name: name.clone(), is_there: true });
        self.effects.extend(told);
    }

    /// The declared services, running or not.
    #[must_use]
    pub fn declarations(&self) -> &Declarations {
        &self.declarations
    }

    /// Whether a caller may find a service of that name.
    #[must_use]
    pub fn may_find(&self, caller: &CallingContext, name: &str) -> bool {
        self.permits(caller, AccessAction::Find, name)
    }

    /// The name of the accessor that a caller who knows of accessors gets in the place of a service.
    #[must_use]
    pub fn accessor_of(&self, name: &str, takes_accessor: bool) -> Option<String> {
        let declared = self.declarations.get(name).filter(|_| takes_accessor);
        declared.and_then(|it| it.accessor.clone())
    }

    /// Whether a callback waits for a service of that name, and none is registered.
    #[must_use]
    pub fn is_awaited(&self, name: &str) -> bool {
        self.listeners.contains_key(name) && !self.services.contains_key(name)
    }

    /// The service of this machine that is registered by a name, and the user who registered it.
    #[must_use]
    pub fn local_service(&self, name: &str) -> Option<(ObjectId, u32)> {
        let service = self.services.get(name).filter(|service| !service.is_import);
        service.map(|service| (service.object, service.owner.uid))
    }

    /// Forgets what a process has registered for another machine, before its death is told.
    pub fn withdraw_import(&mut self, name: &str, pid: i32) {
        let is_it = |service: &ServiceEntry| service.is_import && service.owner.pid == pid;
        if self.services.get(name).is_some_and(is_it) {
            self.remove_service(name);
        }
    }

    fn permits(&self, caller: &CallingContext, action: AccessAction, name: &str) -> bool {
        let is_import = action == AccessAction::Add && self.importers.contains(&caller.pid);
        is_import || self.policy.permits(caller, action, name)
    }

    /// Handles a request.
    ///
    /// # Errors
    ///
    /// [`Denial`], and then nothing has changed but that a service, which its process wanted to take out and may not,
    /// counts as awaited.
    pub fn handle(
        &mut self,
        caller: &CallingContext,
        request: ManagerRequest<ObjectId>,
        objects: &mut impl ObjectTable,
    ) -> Result<ManagerAnswer<ObjectId>, Denial> {
        use ManagerRequest as Asked;
        match request {
            Asked::Find { name, takes_accessor } => {
                Ok(ManagerAnswer::Found(self.find(caller, &name, takes_accessor, objects)))
            }
            Asked::Add { name, service, flags } => {
                self.add(caller, name, service, flags, objects).map(|()| ManagerAnswer::Done)
            }
            Asked::List { flags } => self.list(caller, flags).map(ManagerAnswer::Names),
            Asked::Listen { name, callback } => {
                self.listen(caller, name, callback, objects).map(|()| ManagerAnswer::Done)
            }
            Asked::Unlisten { name, callback } => {
                self.unlisten(caller, &name, callback).map(|()| ManagerAnswer::Done)
            }
            Asked::IsDeclared { name } => {
                self.require(caller, AccessAction::Find, &name)?;
                Ok(ManagerAnswer::Truth(self.declarations.get(&name).is_some()))
            }
            Asked::DeclaredInstances { interface } => {
                let name_of = |instance: &str| format!("{interface}/{instance}");
                let all: Vec<_> = self.declarations.instances(&interface).collect();
                self.found_of(caller, &all, name_of)
            }
            Asked::UpdatableViaApex { name } => {
                self.require(caller, AccessAction::Find, &name)?;
                let declared = self.declarations.get(&name);
                Ok(ManagerAnswer::Name(declared.and_then(|it| it.updatable_via_apex.clone())))
            }
            Asked::UpdatableNames { apex } => {
                let all: Vec<_> = self.declarations.updatable_via(&apex).collect();
                self.found_of(caller, &all, str::to_owned)
            }
            Asked::Address { name } => {
                self.require(caller, AccessAction::Find, &name)?;
                let declared = self.declarations.get(&name);
                Ok(ManagerAnswer::Address(declared.and_then(|it| it.address.clone())))
            }
            Asked::ListenForClients { name, service, callback } => self
                .listen_for_clients(caller, name, service, callback, objects)
                .map(|()| ManagerAnswer::Done),
            Asked::TryUnregister { name, service } => {
                self.try_unregister(caller, &name, service, objects).map(|()| ManagerAnswer::Done)
            }
            Asked::DebugInfo => self.debug_info(caller).map(ManagerAnswer::DebugInfo),
        }
    }

    /// Forgets an object whose process has ended, in all its roles.
    pub fn object_died(&mut self, object: ObjectId) {
        let names = self.ledger.names_of(object);
        for name in &names {
            if self.services.get(name).is_some_and(|service| service.object == object) {
                tracing::info!(name, "a service has died");
                self.remove_service(name);
            }
        }
        for name in &names {
            let mut gone = remove_callback(&mut self.listeners, name, object);
            gone.append(&mut remove_callback(&mut self.client_listeners, name, object));
            self.refund(name, &gone);
        }
    }

    /// Whether callers have to show their security label.
    #[must_use]
    pub fn wants_labels(&self) -> bool {
        self.policy.wants_labels()
    }

    /// Whether the registry refers to an object.
    #[must_use]
    pub fn refers_to(&self, object: ObjectId) -> bool {
        self.ledger.refers_to(object)
    }

    /// Takes the next effect.
    pub fn poll_effect(&mut self) -> Option<RegistryEffect> {
        self.effects.pop_front()
    }

    /// Says how much there is of everything, for people.
    ///
    /// # Errors
    ///
    /// [`Denial`] if the caller may not list services.
    pub fn describe(&self, caller: &CallingContext) -> Result<String, Denial> {
        self.require(caller, AccessAction::List, "")?;
        let mut text = format!("{} services:\n", self.services.len());
        for (name, service) in &self.services {
            let CallingContext { pid, uid, .. } = service.owner;
            text.push_str(&format!("  {name}: process {pid} of user {uid}\n"));
        }
        let counts = self.counts();
        text.push_str(&format!("{} listeners for registrations\n", counts.listeners));
        text.push_str(&format!("{} listeners for clients\n", counts.client_listeners));
        Ok(text)
    }

    /// How much there is of everything.
    pub(crate) fn counts(&self) -> RegistryCounts {
        let count =
            |map: &BTreeMap<String, Vec<Listener>>| map.values().map(Vec::len).sum::<usize>();
        let remote_services = self.services.values().filter(|it| it.is_import).count();
        RegistryCounts {
            local_services: self.services.len() - remote_services,
            remote_services,
            listeners: count(&self.listeners),
            client_listeners: count(&self.client_listeners),
            declarations: self.declarations.len(),
            hidden_finds: self.hidden_finds,
        }
    }

    fn find(
        &mut self,
        caller: &CallingContext,
        name: &str,
        takes_accessor: bool,
        objects: &mut impl ObjectTable,
    ) -> FoundService<ObjectId> {
        match self.accessor_of(name, takes_accessor) {
            Some(accessor) => {
                let is_permitted = self.permits(caller, AccessAction::Find, name);
                let found = is_permitted.then(|| self.find_registered(caller, &accessor, objects));
                FoundService::Accessor(found.flatten().map(|(object, _)| object))
            }
            None => match self.find_registered(caller, name, objects) {
                Some((service, is_lazy)) => FoundService::Service { service, is_lazy },
                None => FoundService::Nothing,
            },
        }
    }

    /// A caller who may not find a service gets the answer for a name that is not registered.
    fn find_registered(
        &mut self,
        caller: &CallingContext,
        name: &str,
        objects: &mut impl ObjectTable,
    ) -> Option<(ObjectId, bool)> {
        if !self.permits(caller, AccessAction::Find, name) {
            tracing::info!(name, pid = caller.pid, uid = caller.uid, "may not find a service");
            self.hidden_finds += 1;
            return None;
        }
        let service = self.services.get(name)?;
        let found = (service.object, service.flags & FLAG_IS_LAZY_SERVICE != 0);
        self.await_client(name, objects);
        Some(found)
    }

    fn add(
        &mut self,
        caller: &CallingContext,
        name: String,
        object: ObjectId,
        flags: i32,
        objects: &mut impl ObjectTable,
    ) -> Result<(), Denial> {
        self.require(caller, AccessAction::Add, &name)?;
        require_valid(&name)?;
        let must_be_declared = !self.declarations.is_empty() && objects.is_vintf_stable(object);
        if must_be_declared && self.declarations.get(&name).is_none() {
            return Err(Denial::illegal_argument("VINTF declaration error."));
        }
        let is_import = self.importers.contains(&caller.pid);
        let before = self.services.get(&name);
        if is_import && before.is_some_and(|before| !before.is_import) {
            return Err(Denial::illegal_state("There is a service of this machine."));
        }
        let is_own = before.is_some_and(|before| before.owner.uid == caller.uid);
        if !is_own {
            self.ledger.require_room(caller.uid)?;
        }
        self.ledger.add(caller.uid, object, &name, objects)?;
        let has_clients = before_has_clients(self.services.get(&name));
        if let Some(before) = self.services.get(&name).map(|before| before.owner.clone()) {
            tracing::info!(name, before = before.pid, by = caller.pid, "a service is replaced");
            self.remove_service(&name);
        }
        let owner = caller.clone();
        let is_awaited = false;
        let service = ServiceEntry { object, flags, owner, has_clients, is_awaited, is_import };
        self.services.insert(name.clone(), service);
        if !is_import {
            let name = name.clone();
            self.effects.push_back(RegistryEffect::LocalChanged { name, is_there: true });
        }
        if let Some(listeners) = self.listeners.get(&name).cloned() {
            self.await_client(&name, objects);
            for Listener { callback, .. } in listeners {
                let (name, service) = (name.clone(), object);
                self.effects.push_back(RegistryEffect::Registered { callback, name, service });
            }
        }
        Ok(())
    }

    fn list(&self, caller: &CallingContext, flags: i32) -> Result<Vec<String>, Denial> {
        self.require(caller, AccessAction::List, "")?;
        let listed = self.services.iter().filter(|(_, service)| service.flags & flags != 0);
        Ok(listed.map(|(name, _)| name.clone()).collect())
    }

    fn listen(
        &mut self,
        caller: &CallingContext,
        name: String,
        callback: ObjectId,
        objects: &mut impl ObjectTable,
    ) -> Result<(), Denial> {
        self.require(caller, AccessAction::Find, &name)?;
        require_valid(&name)?;
        self.ledger.require_room(caller.uid)?;
        require_room_in(&self.listeners, caller, &name)?;
        self.ledger.add(caller.uid, callback, &name, objects)?;
        if let Some(service) = self.services.get(&name) {
            let (name, service) = (name.clone(), service.object);
            self.effects.push_back(RegistryEffect::Registered { callback, name, service });
        } else {
            self.effects.push_back(RegistryEffect::Awaited { name: name.clone() });
        }
        let listener = Listener { callback, caller: caller.clone() };
        self.listeners.entry(name).or_default().push(listener);
        Ok(())
    }

    fn unlisten(
        &mut self,
        caller: &CallingContext,
        name: &str,
        callback: ObjectId,
    ) -> Result<(), Denial> {
        self.require(caller, AccessAction::Find, name)?;
        let gone = remove_callback(&mut self.listeners, name, callback);
        if gone.is_empty() {
            return Err(Denial::illegal_state("Nothing to unregister."));
        }
        self.refund(name, &gone);
        Ok(())
    }

    fn debug_info(&self, caller: &CallingContext) -> Result<Vec<ServiceDebugInfo>, Denial> {
        self.require(caller, AccessAction::List, "")?;
        let info = |(name, service): (&String, &ServiceEntry)| ServiceDebugInfo {
            name: name.clone(),
            debug_pid: service.owner.pid,
        };
        Ok(self.services.iter().map(info).collect())
    }

    /// Those of `all` that the caller may find; refused if these are none of some.
    fn found_of(
        &self,
        caller: &CallingContext,
        all: &[&str],
        name_of: impl Fn(&str) -> String,
    ) -> Result<ManagerAnswer<ObjectId>, Denial> {
        let is_permitted =
            |it: &&&str| self.policy.permits(caller, AccessAction::Find, &name_of(it));
        let found: Vec<_> = all.iter().filter(is_permitted).map(|it| (*it).to_owned()).collect();
        if found.is_empty() && !all.is_empty() {
            return Err(Denial::BY_POLICY);
        }
        Ok(ManagerAnswer::Names(found))
    }

    fn remove_service(&mut self, name: &str) {
        if let Some(service) = self.services.remove(name) {
            let owned = || name.to_owned();
            if !service.is_import {
                let (name, is_there) = (owned(), false);
                self.effects.push_back(RegistryEffect::LocalChanged { name, is_there });
            }
            if self.listeners.contains_key(name) {
                self.effects.push_back(RegistryEffect::Awaited { name: owned() });
            }
            self.refund(name, &[Listener { callback: service.object, caller: service.owner }]);
        }
    }

    /// Forgets entries of a name that are gone.
    fn refund(&mut self, name: &str, gone: &[Listener]) {
        for Listener { callback: object, caller } in gone {
            if self.ledger.remove(caller.uid, *object, name) {
                self.effects.push_back(RegistryEffect::Forget(*object));
            }
        }
    }

    fn require(
        &self,
        caller: &CallingContext,
        action: AccessAction,
        name: &str,
    ) -> Result<(), Denial> {
        if self.permits(caller, action, name) {
            return Ok(());
        }
        tracing::info!(%action, name, pid = caller.pid, uid = caller.uid, "denied by the policy");
        Err(Denial::BY_POLICY)
    }
}

/// What a service that takes the place of another has of it: its listeners were told of its clients, and are not
/// told twice.
fn before_has_clients(before: Option<&ServiceEntry>) -> bool {
    before.is_some_and(|before| before.has_clients)
}

/// Takes a callback out of the list of a name, and returns what was taken.
fn remove_callback(
    lists: &mut BTreeMap<String, Vec<Listener>>,
    name: &str,
    callback: ObjectId,
) -> Vec<Listener> {
    let Some(list) = lists.get_mut(name) else { return Vec::new() };
    let gone = list.extract_if(.., |listener| listener.callback == callback).collect();
    if list.is_empty() {
        lists.remove(name);
    }
    gone
}

/// Refuses a listener of a user who has many for the name.
fn require_room_in(
    lists: &BTreeMap<String, Vec<Listener>>,
    caller: &CallingContext,
    name: &str,
) -> Result<(), Denial> {
    let own = lists.get(name).into_iter().flatten().filter(|it| it.caller.uid == caller.uid);
    let has_room = own.count() < LISTENERS_PER_NAME;
    has_room
        .then_some(())
        .ok_or(Denial::illegal_state("Too many listeners of this user for the name."))
}

fn require_valid(name: &str) -> Result<(), Denial> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-./".contains(&byte);
    let is_valid = (1..=NAME_MAX_BYTES).contains(&name.len()) && name.bytes().all(is_plain);
    is_valid.then_some(()).ok_or(Denial::illegal_argument("Invalid service name."))
}
