//! What is to be done after a call of the registry's.

use crate::request::ObjectId;

/// Work for the caller of the registry after a call, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RegistryEffect {
    /// Tell a callback that a service is registered.
    Registered {
        /// The `IServiceCallback`.
        callback: ObjectId,
        /// The name.
        name: String,
        /// The service.
        service: ObjectId,
    },
    /// Tell a callback whether a service has clients.
    Clients {
        /// The `IClientCallback`.
        callback: ObjectId,
        /// The service.
        service: ObjectId,
        /// Whether it has.
        has_clients: bool,
    },
    /// The registry does not refer to the object any more.
    Forget(ObjectId),
    /// A service of this machine was registered, or is gone.
    LocalChanged {
        /// Its name.
        name: String,
        /// Whether it is registered.
        is_there: bool,
    },
    /// A callback waits for a service that is not registered.
    Awaited {
        /// Its name.
        name: String,
    },
}
