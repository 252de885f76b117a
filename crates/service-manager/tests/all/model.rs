//! A registry as one would write it on a napkin: lists, and no counts.

use std::collections::{BTreeMap, BTreeSet};

use binder::ExceptionCode;
use service_manager::{
    CallingContext, FoundService, ManagerAnswer, ManagerRequest, ObjectId, ObjectTable,
    RegistryEffect,
};

/// What the driver knows of objects.
#[derive(Debug, Default)]
pub(crate) struct World {
    pub(crate) dead: BTreeSet<ObjectId>,
    pub(crate) clients: BTreeMap<ObjectId, u32>,
    pub(crate) stable: BTreeSet<ObjectId>,
}

impl ObjectTable for World {
    fn link_to_death(&mut self, object: ObjectId) -> bool {
        !self.dead.contains(&object)
    }

    fn strong_count(&mut self, object: ObjectId) -> Option<u32> {
        Some(1 + self.clients.get(&object).copied().unwrap_or_default())
    }

    fn is_vintf_stable(&self, object: ObjectId) -> bool {
        self.stable.contains(&object)
    }
}

#[derive(Debug, Clone)]
struct Entry {
    name: String,
    object: ObjectId,
    pid: i32,
    flags: i32,
    has_clients: bool,
    is_awaited: bool,
}

/// For a policy that allows users 0 and 1000 all, and others to find names that begin with `open`.
#[derive(Debug, Default)]
pub(crate) struct Model {
    services: Vec<Entry>,
    listeners: Vec<(String, ObjectId)>,
    client_listeners: Vec<(String, ObjectId)>,
    pub(crate) effects: Vec<RegistryEffect>,
}

pub(crate) const POLICY: &str = "allow * uid=0\nallow * uid=1000\nallow find * open*\n";

type Answer = Result<ManagerAnswer<ObjectId>, ExceptionCode>;

fn may(caller: &CallingContext, name: &str) -> bool {
    caller.uid != 2000 || name.starts_with("open")
}

fn is_valid(name: &str) -> bool {
    !name.is_empty() && name.len() <= 127 && !name.contains([' ', '~'])
}

impl Model {
    /// The names that are registered.
    pub(crate) fn names(&self) -> BTreeSet<String> {
        self.services.iter().map(|entry| entry.name.clone()).collect()
    }

    pub(crate) fn refers_to(&self, object: ObjectId) -> bool {
        let callbacks = self.listeners.iter().chain(&self.client_listeners);
        self.services.iter().any(|it| it.object == object)
            || callbacks.into_iter().any(|it| it.1 == object)
    }

    fn entry(&mut self, name: &str) -> Option<&mut Entry> {
        self.services.iter_mut().find(|it| it.name == name)
    }

    pub(crate) fn handle(
        &mut self,
        caller: &CallingContext,
        request: ManagerRequest<ObjectId>,
        world: &World,
    ) -> Answer {
        use ManagerRequest as Asked;
        let is_stranger = caller.uid == 2000;
        let security = Err(ExceptionCode::SECURITY);
        match request {
            Asked::Find { name, .. } => {
                let found = self.entry(&name).map(|it| (it.object, it.flags & 1 << 30 != 0));
                let found = found.filter(|_| may(caller, &name));
                if found.is_some() {
                    self.expect_client(&name, world);
                }
                Ok(ManagerAnswer::Found(match found {
                    Some((service, is_lazy)) => FoundService::Service { service, is_lazy },
                    None => FoundService::Nothing,
                }))
            }
            Asked::Add { .. } if is_stranger => security,
            Asked::Add { name, .. } if !is_valid(&name) => Err(ExceptionCode::ILLEGAL_ARGUMENT),
            Asked::Add { service, .. }
                if !self.refers_to(service) && world.dead.contains(&service) =>
            {
                Err(ExceptionCode::ILLEGAL_STATE)
            }
            Asked::Add { name, service, flags } => {
                let has_clients = self.entry(&name).is_some_and(|it| it.has_clients);
                self.services.retain(|it| it.name != name);
                self.services.push(Entry {
                    name: name.clone(),
                    object: service,
                    pid: caller.pid,
                    flags,
                    has_clients,
                    is_awaited: false,
                });
                let waiting = self.listeners.iter().filter(|it| it.0 == name);
                let waiting: Vec<_> = waiting.map(|it| it.1).collect();
                if !waiting.is_empty() {
                    self.expect_client(&name, world);
                }
                self.effects.extend(waiting.into_iter().map(|callback| {
                    RegistryEffect::Registered { callback, name: name.clone(), service }
                }));
                Ok(ManagerAnswer::Done)
            }
            Asked::List { .. } | Asked::DebugInfo if is_stranger => security,
            Asked::List { flags } => {
                let listed = self.services.iter().filter(|it| it.flags & flags != 0);
                let mut names: Vec<_> = listed.map(|it| it.name.clone()).collect();
                names.sort();
                Ok(ManagerAnswer::Names(names))
            }
            Asked::Listen { name, .. } | Asked::Unlisten { name, .. } if !may(caller, &name) => {
                security
            }
            Asked::Listen { name, .. } if !is_valid(&name) => Err(ExceptionCode::ILLEGAL_ARGUMENT),
            Asked::Listen { callback, .. }
                if !self.refers_to(callback) && world.dead.contains(&callback) =>
            {
                Err(ExceptionCode::ILLEGAL_STATE)
            }
            Asked::Listen { name, callback } => {
                if let Some(service) = self.entry(&name).map(|it| it.object) {
                    let name = name.clone();
                    self.effects.push(RegistryEffect::Registered { callback, name, service });
                }
                self.listeners.push((name, callback));
                Ok(ManagerAnswer::Done)
            }
            Asked::Unlisten { name, callback } => {
                let before = self.listeners.len();
                self.listeners.retain(|it| *it != (name.clone(), callback));
                let is_gone = self.listeners.len() < before;
                is_gone.then_some(ManagerAnswer::Done).ok_or(ExceptionCode::ILLEGAL_STATE)
            }
            Asked::ListenForClients { .. } | Asked::TryUnregister { .. } if is_stranger => security,
            Asked::ListenForClients { name, service, callback } => {
                let Some(entry) = self.entry(&name).cloned() else {
                    return Err(ExceptionCode::ILLEGAL_ARGUMENT);
                };
                if entry.pid != caller.pid {
                    return Err(ExceptionCode::UNSUPPORTED_OPERATION);
                }
                if entry.object != service {
                    return Err(ExceptionCode::ILLEGAL_ARGUMENT);
                }
                if !self.refers_to(callback) && world.dead.contains(&callback) {
                    return Err(ExceptionCode::ILLEGAL_STATE);
                }
                if entry.has_clients {
                    let has_clients = true;
                    self.effects.push(RegistryEffect::Clients { callback, service, has_clients });
                }
                self.client_listeners.push((name.clone(), callback));
                self.look(&name, world, false);
                Ok(ManagerAnswer::Done)
            }
            Asked::TryUnregister { name, service } => {
                let Some(entry) = self.entry(&name).cloned() else {
                    return Err(ExceptionCode::ILLEGAL_STATE);
                };
                if entry.pid != caller.pid {
                    return Err(ExceptionCode::UNSUPPORTED_OPERATION);
                }
                if entry.object != service || entry.is_awaited {
                    return Err(ExceptionCode::ILLEGAL_STATE);
                }
                let is_asked_for = self.client_listeners.iter().any(|it| it.0 == name);
                self.look(&name, world, false);
                let has_clients = self.entry(&name).unwrap().has_clients;
                if !is_asked_for || has_clients {
                    self.entry(&name).unwrap().is_awaited = true;
                    return Err(ExceptionCode::ILLEGAL_STATE);
                }
                self.services.retain(|it| it.name != name);
                Ok(ManagerAnswer::Done)
            }
            other => unreachable!("{other:?} is not generated"),
        }
    }

    pub(crate) fn die(&mut self, object: ObjectId) {
        self.services.retain(|it| it.object != object);
        self.listeners.retain(|it| it.1 != object);
        self.client_listeners.retain(|it| it.1 != object);
    }

    pub(crate) fn count(&mut self, world: &World) {
        let mut names: Vec<_> = self.client_listeners.iter().map(|it| it.0.clone()).collect();
        names.sort();
        names.dedup();
        for name in names {
            self.look(&name, world, true);
        }
    }

    fn expect_client(&mut self, name: &str, world: &World) {
        self.entry(name).unwrap().is_awaited = true;
        self.look(name, world, false);
        self.entry(name).unwrap().is_awaited = true;
    }

    /// Tells those who listen for clients what is new, as far as it may be told.
    fn look(&mut self, name: &str, world: &World, may_tell_of_none: bool) {
        let listeners = self.client_listeners.iter().filter(|it| it.0 == name);
        let listeners: Vec<_> = listeners.map(|it| it.1).collect();
        let Some(entry) = self.services.iter_mut().find(|it| it.name == name) else { return };
        if listeners.is_empty() {
            return;
        }
        // In a call, one who holds the service may be its owner, who is just told of it.
        let ignored = if may_tell_of_none { 0 } else { 1 };
        let is_held = world.clients.get(&entry.object).is_some_and(|count| *count > ignored);
        let is_used = is_held || entry.is_awaited;
        entry.is_awaited = false;
        let is_news = is_used != entry.has_clients && (is_used || may_tell_of_none);
        if is_news {
            entry.has_clients = is_used;
            let service = entry.object;
            self.effects.extend(listeners.into_iter().map(|callback| RegistryEffect::Clients {
                callback,
                service,
                has_clients: is_used,
            }));
        }
    }
}
