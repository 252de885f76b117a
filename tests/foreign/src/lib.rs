//! Binder programs that know nothing of this project, and the ground they are tested on.
//!
//! `rsbinder_service` and `rsbinder_client` are written for [rsbinder](https://docs.rs/rsbinder), an independent
//! Binder library, over the interfaces in `aidl/`; `library_service` and `library_client` are the same for our own.
//! `foreign_scenario` plays any of them against each other and against rsbinder's service manager. Any kernel with
//! Binder can run all of them; `tests/` runs them, and C programs that use the bare driver, inside `anybinder run`.

#![allow(clippy::duplicate_mod, reason = "both libraries are checked by one source")]

/// The Rust that rsbinder's AIDL compiler makes of `aidl/`.
#[allow(
    missing_docs,
    unreachable_pub,
    unused_qualifications,
    reason = "generated: its shape is not ours to choose"
)]
mod interfaces {
    rsbinder::include_aidl!("interfaces");
}

/// The same of the interfaces of the AIDL tests.
#[allow(
    missing_docs,
    non_snake_case,
    unreachable_pub,
    unused,
    unused_qualifications,
    clippy::all,
    clippy::pedantic,
    reason = "generated: its shape is not ours to choose"
)]
pub mod types {
    rsbinder::include_aidl!("types");
}

pub mod client;
pub mod container;
pub mod host;
pub mod library;
pub mod outcome;
pub mod stage;
pub mod test_service;

pub use interfaces::foreign::{IHost, ISession, IVisitor};

/// The name under which services register their [`IHost`].
pub const HOST_NAME: &str = "foreign.IHost/default";

/// The name of a service behind a socket, and that of the accessor that opens connections to it.
pub const SOCKET_NAME: &str = "foreign.IVisitor/socket";
/// See [`SOCKET_NAME`].
pub const SOCKET_ACCESSOR_NAME: &str = "foreign.IVisitor/accessor";

/// What a program prints, alone on a line, once others may rely on it.
pub const READY: &str = "ready";
