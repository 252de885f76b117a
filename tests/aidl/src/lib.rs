//! Test interfaces, as the stock AIDL compiler generates them, and services that serve them.
//!
//! The generated code is checked in, so that building needs no compiler. After a change of the
//! `.aidl` files: `UPDATE_AIDL=1 AIDL=/path/to/aidl cargo test -p aidl-tests --test all generated`.
//!
//! [`suite::run`] calls every method of `ITest` with every type and compares what comes back: over
//! whatever transport the given object is reached by.

#[path = "../generated/mod.rs"]
pub mod aidl;
pub mod service;
pub mod suite;

#[doc(hidden)]
pub use aidl::mangled;
