//! Who is told whether a service has clients, and services that end when they have none.

use std::ops::Bound;

use super::effect::RegistryEffect;
use super::objects::ObjectTable;
use super::{Listener, ServiceRegistry, require_room_in};
use crate::access::AccessAction;
use crate::request::{CallingContext, Denial, ObjectId};

/// Of how many names clients are counted at once: the driver is asked about each.
const NAMES_PER_COUNT: usize = 256;

/// When clients are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Occasion {
    /// In a call: news of clients is told, but not of their absence.
    Call,
    /// After a while: all news are told.
    Interval,
}

impl Occasion {
    /// How many of the strong references on a service are no client's: the manager has one, and a transaction that
    /// names the service to its owner another. That is how a service hears that it has no clients, and it takes itself
    /// out before that transaction is over.
    const fn known_references(self) -> u32 {
        match self {
            Self::Call => 2,
            Self::Interval => 1,
        }
    }
}

impl ServiceRegistry {
    /// Tells client callbacks of some services, of names behind `after`, whether these have clients now; returns the last
    /// of the names, if there may be more. To be called for all every few seconds.
    pub fn count_clients(
        &mut self,
        after: Option<&str>,
        objects: &mut impl ObjectTable,
    ) -> Option<String> {
        let behind = (after.map_or(Bound::Unbounded, Bound::Excluded), Bound::Unbounded);
        let names = self.client_listeners.range::<str, _>(behind).map(|(name, _)| name.clone());
        let names: Vec<_> = names.take(NAMES_PER_COUNT).collect();
        for name in &names {
            self.settle_clients(name, Occasion::Interval, objects);
        }
        (names.len() == NAMES_PER_COUNT).then(|| names.last().cloned()).flatten()
    }

    /// Whether there is a client callback.
    #[must_use]
    pub fn has_client_listeners(&self) -> bool {
        !self.client_listeners.is_empty()
    }

    pub(super) fn listen_for_clients(
        &mut self,
        caller: &CallingContext,
        name: String,
        object: ObjectId,
        callback: ObjectId,
        objects: &mut impl ObjectTable,
    ) -> Result<(), Denial> {
        self.require(caller, AccessAction::Add, &name)?;
        let service =
            self.services.get(&name).ok_or(Denial::illegal_argument("Service doesn't exist."))?;
        if service.owner.pid != caller.pid {
            return Err(Denial::unsupported(
                "Only service can register client callback for itself.",
            ));
        }
        if service.object != object {
            return Err(Denial::illegal_argument("Service mismatch."));
        }
        let has_clients = service.has_clients;
        self.ledger.require_room(caller.uid)?;
        require_room_in(&self.client_listeners, caller, &name)?;
        self.ledger.add(caller.uid, callback, &name, objects)?;
        if has_clients {
            let told = RegistryEffect::Clients { callback, service: object, has_clients };
            self.effects.push_back(told);
        }
        let listener = Listener { callback, caller: caller.clone() };
        self.client_listeners.entry(name.clone()).or_default().push(listener);
        self.settle_clients(&name, Occasion::Call, objects);
        Ok(())
    }

    pub(super) fn try_unregister(
        &mut self,
        caller: &CallingContext,
        name: &str,
        object: ObjectId,
        objects: &mut impl ObjectTable,
    ) -> Result<(), Denial> {
        self.require(caller, AccessAction::Add, name)?;
        let service =
            self.services.get(name).ok_or(Denial::illegal_state("Service not registered."))?;
        if service.owner.pid != caller.pid {
            return Err(Denial::unsupported("Service can only unregister itself."));
        }
        if service.object != object {
            return Err(Denial::illegal_state("Different service registered under this name."));
        }
        if service.is_awaited {
            return Err(Denial::illegal_state("Can't unregister, pending client."));
        }
        if self.settle_clients(name, Occasion::Call, objects) {
            if let Some(service) = self.services.get_mut(name) {
                service.is_awaited = true;
            }
            return Err(Denial::illegal_state("Can't unregister, known client."));
        }
        self.remove_service(name);
        Ok(())
    }

    /// Counts a caller who is about to get a service as a client of it.
    pub(super) fn await_client(&mut self, name: &str, objects: &mut impl ObjectTable) {
        self.set_awaited(name);
        // Listeners are told now; the mark stays until clients are counted the next time.
        self.settle_clients(name, Occasion::Call, objects);
        self.set_awaited(name);
    }

    fn set_awaited(&mut self, name: &str) {
        if let Some(service) = self.services.get_mut(name) {
            service.is_awaited = true;
        }
    }

    /// Counts a service's clients, tells what is new, and says whether it has any. One without a client
    /// callback counts as having some.
    fn settle_clients(
        &mut self,
        name: &str,
        occasion: Occasion,
        objects: &mut impl ObjectTable,
    ) -> bool {
        let Some(service) = self.services.get_mut(name) else { return true };
        if !self.client_listeners.contains_key(name) {
            return true;
        }
        let Some(count) = objects.strong_count(service.object) else { return true };
        let is_held = count > occasion.known_references();
        let is_awaited = std::mem::take(&mut service.is_awaited);
        let is_used = is_held || is_awaited;
        // An awaited client has had no whole interval yet to take hold of the service.
        if is_used != service.has_clients && (is_used || occasion == Occasion::Interval) {
            self.tell_clients(name, is_used);
        }
        self.services.get(name).is_none_or(|service| service.has_clients)
    }

    fn tell_clients(&mut self, name: &str, has_clients: bool) {
        let Some(service) = self.services.get_mut(name) else { return };
        service.has_clients = has_clients;
        tracing::debug!(name, has_clients, "a service is told");
        for Listener { callback, .. } in self.client_listeners.get(name).into_iter().flatten() {
            let (callback, service) = (*callback, service.object);
            self.effects.push_back(RegistryEffect::Clients { callback, service, has_clients });
        }
    }
}
