//! What a service and its client are told of the container that one of them is in.

/// Its callers as a service in a container sees them, as variables of clients: their process and their user.
pub const CALLER_PID: &str = "FOREIGN_CALLER_PID";
/// See [`CALLER_PID`].
pub const CALLER_UID: &str = "FOREIGN_CALLER_UID";
