//! Android's service manager: the services of one binder device by their names.
//!
//! A transaction comes to [`ManagerServer`], which owns context 0 of a device; `manager` makes a request of it, by
//! `dialects` (whose release of the interface the caller speaks) and `wire` (parcels to requests and back). The
//! [`ServiceRegistry`] decides: it is a state machine without system calls, which takes requests, notices of deaths and
//! the passing of time, and leaves effects behind - callbacks to be told, objects to be forgotten. [`AccessPolicy`] and
//! [`Declarations`] are what its user configured. [`RemoteNames`] are those of other machines, where there is a
//! cluster (`anybinder-cluster`).

#![forbid(unsafe_code)]

mod access;
mod declarations;
mod dialects;
mod figures;
mod manager;
mod registry;
mod remote;
mod request;
mod server;
mod wire;

pub use access::{AccessAction, AccessPolicy, PolicyError};
pub use declarations::{Balancing, Declaration, DeclarationError, Declarations};
pub use dialects::DialectChoice;
pub use manager::{ClientCounter, Elsewhere, Manager, TransactOutcome};
pub use registry::{ObjectTable, RegistryEffect, ServiceRegistry};
pub use remote::{
    INSTANCES_PER_ANSWER, InstanceCalls, LIST_INSTANCES_TRANSACTION, RemoteNames, ServiceInstance,
};
pub use request::{
    CallingContext, Denial, FoundService, ManagerAnswer, ManagerRequest, ObjectId, ServiceAddress,
};
pub use server::{LabelsNotShown, ManagerOptions, ManagerServer};
