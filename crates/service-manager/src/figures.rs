//! A manager in numbers: what it has, and how often it was asked for what.

use binder::SpIBinder;
use binder_http::MetricFamilies;

use crate::request::{Denial, FoundService, ManagerAnswer, ManagerRequest};

/// Kinds of requests, as the figures tell them apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RequestGroup {
    Find,
    Add,
    List,
    Listen,
    Declared,
    Clients,
    DebugInfo,
}

impl RequestGroup {
    const ALL: [(Self, &'static str); 7] = [
        (Self::Find, "find"),
        (Self::Add, "add"),
        (Self::List, "list"),
        (Self::Listen, "listen"),
        (Self::Declared, "declared"),
        (Self::Clients, "clients"),
        (Self::DebugInfo, "debug_info"),
    ];

    pub(crate) fn of<O>(request: &ManagerRequest<O>) -> Self {
        match request {
            ManagerRequest::Find { .. } => Self::Find,
            ManagerRequest::Add { .. } => Self::Add,
            ManagerRequest::List { .. } => Self::List,
            ManagerRequest::Listen { .. } | ManagerRequest::Unlisten { .. } => Self::Listen,
            ManagerRequest::IsDeclared { .. }
            | ManagerRequest::DeclaredInstances { .. }
            | ManagerRequest::UpdatableViaApex { .. }
            | ManagerRequest::UpdatableNames { .. }
            | ManagerRequest::Address { .. } => Self::Declared,
            ManagerRequest::ListenForClients { .. } | ManagerRequest::TryUnregister { .. } => {
                Self::Clients
            }
            ManagerRequest::DebugInfo => Self::DebugInfo,
        }
    }
}

/// How often a manager was asked, and refused.
#[derive(Debug, Clone, Default)]
pub(crate) struct RequestCounts {
    requests: [u64; RequestGroup::ALL.len()],
    refusals: [u64; RequestGroup::ALL.len()],
    found: u64,
    not_found: u64,
}

impl RequestCounts {
    /// Counts a request that is answered.
    pub(crate) fn note(
        &mut self,
        kind: RequestGroup,
        answer: &Result<ManagerAnswer<SpIBinder>, Denial>,
    ) {
        self.requests[kind as usize] += 1;
        match answer {
            Err(_) => self.refusals[kind as usize] += 1,
            Ok(ManagerAnswer::Found(FoundService::Nothing | FoundService::Accessor(None))) => {
                self.not_found += 1;
            }
            Ok(ManagerAnswer::Found(_)) => self.found += 1,
            Ok(_) => {}
        }
    }
}

/// What a registry has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RegistryCounts {
    pub(crate) local_services: usize,
    pub(crate) remote_services: usize,
    pub(crate) listeners: usize,
    pub(crate) client_listeners: usize,
    pub(crate) declarations: usize,
    /// How often a caller who may not find a service was told that there is none.
    pub(crate) hidden_finds: u64,
}

/// Writes the figures of a manager.
pub(crate) fn write(
    registry: RegistryCounts,
    counts: &RequestCounts,
    objects: usize,
    families: &mut MetricFamilies,
) {
    let services = families.gauge("anybinder_manager_services", "Services that are registered.");
    services.add(&[("origin", "local")], registry.local_services);
    services.add(&[("origin", "remote")], registry.remote_services);
    let help = "Services that are declared, running or not.";
    families.gauge("anybinder_manager_declared_services", help).add(&[], registry.declarations);
    let help = "Callbacks that are told of registrations, as of those who wait for a service.";
    families.gauge("anybinder_manager_waiters", help).add(&[], registry.listeners);
    let help = "Callbacks that are told whether a service has clients.";
    families.gauge("anybinder_manager_client_callbacks", help).add(&[], registry.client_listeners);
    let help = "Objects of other processes that the manager holds.";
    families.gauge("anybinder_manager_objects", help).add(&[], objects);
    let by_kind = |of: &[u64; RequestGroup::ALL.len()]| {
        let of = *of;
        RequestGroup::ALL.map(|(kind, name)| (name, of[kind as usize]))
    };
    let help = "Requests that were answered, by what they asked for.";
    let requests = families.counter("anybinder_manager_requests", help);
    by_kind(&counts.requests).iter().for_each(|(kind, it)| requests.add(&[("request", kind)], *it));
    let help = "Requests that were refused, and look-ups of services that the caller may not find.";
    let refusals = families.counter("anybinder_manager_refusals", help);
    for (kind, mut count) in by_kind(&counts.refusals) {
        if kind == "find" {
            count += registry.hidden_finds;
        }
        refusals.add(&[("request", kind)], count);
    }
    let lookups = families.counter("anybinder_manager_lookups", "Look-ups of services by name.");
    lookups.add(&[("result", "found")], counts.found);
    lookups.add(&[("result", "not_found")], counts.not_found);
}
